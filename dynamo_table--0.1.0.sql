\echo Use "CREATE EXTENSION dynamo_table" to load this file. \quit

-- errors

CREATE FUNCTION dyn_error_name(sqlstate text) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dyn_error_name(text) IS
	'name of the DynamoDB exception that an SQLSTATE of this extension stands for, or NULL';

-- table access method

CREATE FUNCTION dynamo_table_am_handler(internal) RETURNS table_am_handler
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION dynamo_table_am_handler(internal) IS
	'handler of the table access method dynamo_table';

CREATE ACCESS METHOD dynamo_table TYPE TABLE HANDLER dynamo_table_am_handler;
COMMENT ON ACCESS METHOD dynamo_table IS
	'heap for item collections';
