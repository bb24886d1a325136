\echo Use "CREATE EXTENSION dynamo_table" to load this file. \quit

-- errors

CREATE FUNCTION dyn_error_name(sqlstate text) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dyn_error_name(text) IS
	'name of the DynamoDB exception that an SQLSTATE of this extension stands for, or NULL';
