\echo Use "CREATE EXTENSION dynamo_table" to load this file. \quit

-- What constraints, triggers, views, operators, casts, statements of the store, workers and the planner need, and users do
-- not call.  Its name is fixed, so that a dump can be restored wherever the extension is.  If there is a schema of that name
-- already, it is another owner's, and the extension is not installed.
CREATE SCHEMA dynamo_internal;
COMMENT ON SCHEMA dynamo_internal IS 'what the extension dynamo_table needs for itself';
GRANT USAGE ON SCHEMA dynamo_internal TO PUBLIC;

-- Each script begins with this, whatever version it comes from.
CREATE FUNCTION dynamo_internal.require_library(version text) RETURNS void
	AS 'MODULE_PATHNAME', 'dyn_require_library' LANGUAGE C STRICT;
COMMENT ON FUNCTION dynamo_internal.require_library(text) IS
	'an error if the library that is loaded is older than that version';
REVOKE ALL ON FUNCTION dynamo_internal.require_library(text) FROM PUBLIC;
SELECT dynamo_internal.require_library('0.2.0');

-- errors

CREATE FUNCTION dyn_error_name(sqlstate text) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dyn_error_name(text) IS
	'name of the DynamoDB exception that an SQLSTATE of this extension stands for, or NULL';

-- dyn_item, an item, and dyn_value, one attribute value of any type

CREATE TYPE dyn_item;
CREATE TYPE dyn_value;
CREATE FUNCTION dynamo_internal.item_in(cstring) RETURNS dyn_item
	AS 'MODULE_PATHNAME', 'dyn_item_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_in(cstring) IS 'I/O';

CREATE FUNCTION dynamo_internal.item_out(dyn_item) RETURNS cstring
	AS 'MODULE_PATHNAME', 'dyn_item_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_out(dyn_item) IS 'I/O';

CREATE FUNCTION dynamo_internal.item_recv(internal) RETURNS dyn_item
	AS 'MODULE_PATHNAME', 'dyn_item_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_recv(internal) IS 'I/O';

CREATE FUNCTION dynamo_internal.item_send(dyn_item) RETURNS bytea
	AS 'MODULE_PATHNAME', 'dyn_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_send(dyn_item) IS 'I/O';

CREATE TYPE dyn_item (
	INPUT = dynamo_internal.item_in,
	OUTPUT = dynamo_internal.item_out,
	RECEIVE = dynamo_internal.item_recv,
	SEND = dynamo_internal.item_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = int4,
	STORAGE = main
);

CREATE FUNCTION dynamo_internal.value_in(cstring) RETURNS dyn_value
	AS 'MODULE_PATHNAME', 'dyn_value_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_in(cstring) IS 'I/O';

CREATE FUNCTION dynamo_internal.value_out(dyn_value) RETURNS cstring
	AS 'MODULE_PATHNAME', 'dyn_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_out(dyn_value) IS 'I/O';

CREATE FUNCTION dynamo_internal.value_recv(internal) RETURNS dyn_value
	AS 'MODULE_PATHNAME', 'dyn_value_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_recv(internal) IS 'I/O';

CREATE FUNCTION dynamo_internal.value_send(dyn_value) RETURNS bytea
	AS 'MODULE_PATHNAME', 'dyn_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_send(dyn_value) IS 'I/O';

CREATE TYPE dyn_value (
	INPUT = dynamo_internal.value_in,
	OUTPUT = dynamo_internal.value_out,
	RECEIVE = dynamo_internal.value_recv,
	SEND = dynamo_internal.value_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = int4,
	STORAGE = main
);

COMMENT ON TYPE dyn_item IS 'item: a map of attribute names to typed values; text form is DynamoDB JSON';
COMMENT ON TYPE dyn_value IS 'typed attribute value; text form is DynamoDB JSON';

-- DynamoDB has UTF-8 only.  The input function says so, here rather than at first use.
SELECT dynamo_internal.item_in('{}');


-- casts: json and jsonb are plain JSON

CREATE FUNCTION dynamo_internal.item_from_json(json) RETURNS dyn_item
	AS 'MODULE_PATHNAME', 'dyn_item_from_json' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (json AS dyn_item) WITH FUNCTION dynamo_internal.item_from_json(json) AS IMPLICIT;
COMMENT ON FUNCTION dynamo_internal.item_from_json(json) IS 'item of a plain JSON object';

CREATE FUNCTION dynamo_internal.item_from_jsonb(jsonb) RETURNS dyn_item
	AS 'MODULE_PATHNAME', 'dyn_item_from_jsonb' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (jsonb AS dyn_item) WITH FUNCTION dynamo_internal.item_from_jsonb(jsonb) AS IMPLICIT;
COMMENT ON FUNCTION dynamo_internal.item_from_jsonb(jsonb) IS 'item of a plain JSON object';

CREATE FUNCTION dynamo_internal.items_from_json(json) RETURNS dyn_item[]
	AS 'MODULE_PATHNAME', 'dyn_items_from_json' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (json AS dyn_item[]) WITH FUNCTION dynamo_internal.items_from_json(json) AS IMPLICIT;
COMMENT ON FUNCTION dynamo_internal.items_from_json(json) IS 'items of an array of plain JSON objects';

CREATE FUNCTION dynamo_internal.items_from_jsonb(jsonb) RETURNS dyn_item[]
	AS 'MODULE_PATHNAME', 'dyn_items_from_jsonb' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (jsonb AS dyn_item[]) WITH FUNCTION dynamo_internal.items_from_jsonb(jsonb) AS IMPLICIT;
COMMENT ON FUNCTION dynamo_internal.items_from_jsonb(jsonb) IS 'items of an array of plain JSON objects';

CREATE FUNCTION dynamo_internal.items_from_text(text) RETURNS dyn_item[]
	AS 'MODULE_PATHNAME', 'dyn_items_from_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.items_from_text(text) IS 'items of a JSON array of DynamoDB JSON, or of the text form of an array of items';

CREATE FUNCTION dynamo_internal.values_from_json(json) RETURNS dyn_value[]
	AS 'MODULE_PATHNAME', 'dyn_values_from_json' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (json AS dyn_value[]) WITH FUNCTION dynamo_internal.values_from_json(json) AS IMPLICIT;
COMMENT ON FUNCTION dynamo_internal.values_from_json(json) IS 'values of an array of plain JSON';

CREATE FUNCTION dynamo_internal.values_from_jsonb(jsonb) RETURNS dyn_value[]
	AS 'MODULE_PATHNAME', 'dyn_values_from_jsonb' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (jsonb AS dyn_value[]) WITH FUNCTION dynamo_internal.values_from_jsonb(jsonb) AS IMPLICIT;
COMMENT ON FUNCTION dynamo_internal.values_from_jsonb(jsonb) IS 'values of an array of plain JSON';

CREATE FUNCTION dynamo_internal.item_to_json(dyn_item) RETURNS json
	AS 'MODULE_PATHNAME', 'dyn_value_to_json' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (dyn_item AS json) WITH FUNCTION dynamo_internal.item_to_json(dyn_item);
COMMENT ON FUNCTION dynamo_internal.item_to_json(dyn_item) IS 'item as plain JSON: sets become arrays, bytes base64';

CREATE FUNCTION dynamo_internal.item_to_jsonb(dyn_item) RETURNS jsonb
	AS 'MODULE_PATHNAME', 'dyn_value_to_jsonb' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (dyn_item AS jsonb) WITH FUNCTION dynamo_internal.item_to_jsonb(dyn_item);
COMMENT ON FUNCTION dynamo_internal.item_to_jsonb(dyn_item) IS 'item as plain JSON: sets become arrays, bytes base64';

CREATE FUNCTION dynamo_internal.value_to_json(dyn_value) RETURNS json
	AS 'MODULE_PATHNAME', 'dyn_value_to_json' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (dyn_value AS json) WITH FUNCTION dynamo_internal.value_to_json(dyn_value);
COMMENT ON FUNCTION dynamo_internal.value_to_json(dyn_value) IS 'value as plain JSON: sets become arrays, bytes base64';

CREATE FUNCTION dynamo_internal.value_to_jsonb(dyn_value) RETURNS jsonb
	AS 'MODULE_PATHNAME', 'dyn_value_to_jsonb' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (dyn_value AS jsonb) WITH FUNCTION dynamo_internal.value_to_jsonb(dyn_value);
COMMENT ON FUNCTION dynamo_internal.value_to_jsonb(dyn_value) IS 'value as plain JSON: sets become arrays, bytes base64';

-- as jsonb has them, so they are explicit
CREATE FUNCTION dynamo_internal.value_to_numeric(dyn_value) RETURNS numeric
	AS 'MODULE_PATHNAME', 'dyn_value_to_numeric' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (dyn_value AS numeric) WITH FUNCTION dynamo_internal.value_to_numeric(dyn_value);
COMMENT ON FUNCTION dynamo_internal.value_to_numeric(dyn_value) IS 'value of type N as numeric';

CREATE FUNCTION dynamo_internal.value_to_integer(dyn_value) RETURNS integer
	AS 'MODULE_PATHNAME', 'dyn_value_to_integer' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (dyn_value AS integer) WITH FUNCTION dynamo_internal.value_to_integer(dyn_value);
COMMENT ON FUNCTION dynamo_internal.value_to_integer(dyn_value) IS 'value of type N, rounded to an integer';

CREATE FUNCTION dynamo_internal.value_to_bigint(dyn_value) RETURNS bigint
	AS 'MODULE_PATHNAME', 'dyn_value_to_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (dyn_value AS bigint) WITH FUNCTION dynamo_internal.value_to_bigint(dyn_value);
COMMENT ON FUNCTION dynamo_internal.value_to_bigint(dyn_value) IS 'value of type N, rounded to a bigint';

CREATE FUNCTION dynamo_internal.value_to_float(dyn_value) RETURNS double precision
	AS 'MODULE_PATHNAME', 'dyn_value_to_float' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (dyn_value AS double precision) WITH FUNCTION dynamo_internal.value_to_float(dyn_value);
COMMENT ON FUNCTION dynamo_internal.value_to_float(dyn_value) IS 'value of type N as double precision';

CREATE FUNCTION dynamo_internal.value_to_boolean(dyn_value) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_to_boolean' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (dyn_value AS boolean) WITH FUNCTION dynamo_internal.value_to_boolean(dyn_value);
COMMENT ON FUNCTION dynamo_internal.value_to_boolean(dyn_value) IS 'value of type BOOL as boolean';

-- access

CREATE FUNCTION dynamo_internal.get_attribute(item dyn_item, attribute text) RETURNS dyn_value
	AS 'MODULE_PATHNAME', 'dyn_attribute' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.get_attribute(dyn_item, text) IS 'attribute of the item';
CREATE OPERATOR -> (LEFTARG = dyn_item, RIGHTARG = text, FUNCTION = dynamo_internal.get_attribute);
COMMENT ON OPERATOR -> (dyn_item, text) IS 'attribute of the item';

CREATE FUNCTION dynamo_internal.get_attribute_text(item dyn_item, attribute text) RETURNS text
	AS 'MODULE_PATHNAME', 'dyn_attribute_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.get_attribute_text(dyn_item, text) IS 'attribute of the item as text';
CREATE OPERATOR ->> (LEFTARG = dyn_item, RIGHTARG = text, FUNCTION = dynamo_internal.get_attribute_text);
COMMENT ON OPERATOR ->> (dyn_item, text) IS 'attribute of the item as text';

CREATE FUNCTION dynamo_internal.get_path(item dyn_item, path text[]) RETURNS dyn_value
	AS 'MODULE_PATHNAME', 'dyn_path' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.get_path(dyn_item, text[]) IS 'value at a path of attribute names and list indexes';
CREATE OPERATOR #> (LEFTARG = dyn_item, RIGHTARG = text[], FUNCTION = dynamo_internal.get_path);
COMMENT ON OPERATOR #> (dyn_item, text[]) IS 'value at a path of attribute names and list indexes';

CREATE FUNCTION dynamo_internal.get_path_text(item dyn_item, path text[]) RETURNS text
	AS 'MODULE_PATHNAME', 'dyn_path_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.get_path_text(dyn_item, text[]) IS 'value at a path of attribute names and list indexes, as text';
CREATE OPERATOR #>> (LEFTARG = dyn_item, RIGHTARG = text[], FUNCTION = dynamo_internal.get_path_text);
COMMENT ON OPERATOR #>> (dyn_item, text[]) IS 'value at a path of attribute names and list indexes, as text';

CREATE FUNCTION dynamo_internal.has_attribute(item dyn_item, attribute text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_has_attribute' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.has_attribute(dyn_item, text) IS 'whether the item has the attribute';
CREATE OPERATOR ? (LEFTARG = dyn_item, RIGHTARG = text, FUNCTION = dynamo_internal.has_attribute);
COMMENT ON OPERATOR ? (dyn_item, text) IS 'whether the item has the attribute';

CREATE FUNCTION dynamo_internal.get_attribute(value dyn_value, attribute text) RETURNS dyn_value
	AS 'MODULE_PATHNAME', 'dyn_attribute' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.get_attribute(dyn_value, text) IS 'attribute of the map';
CREATE OPERATOR -> (LEFTARG = dyn_value, RIGHTARG = text, FUNCTION = dynamo_internal.get_attribute);
COMMENT ON OPERATOR -> (dyn_value, text) IS 'attribute of the map';

CREATE FUNCTION dynamo_internal.get_attribute_text(value dyn_value, attribute text) RETURNS text
	AS 'MODULE_PATHNAME', 'dyn_attribute_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.get_attribute_text(dyn_value, text) IS 'attribute of the map as text';
CREATE OPERATOR ->> (LEFTARG = dyn_value, RIGHTARG = text, FUNCTION = dynamo_internal.get_attribute_text);
COMMENT ON OPERATOR ->> (dyn_value, text) IS 'attribute of the map as text';

CREATE FUNCTION dynamo_internal.get_element(value dyn_value, element integer) RETURNS dyn_value
	AS 'MODULE_PATHNAME', 'dyn_element' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.get_element(dyn_value, integer) IS 'element of the list';
CREATE OPERATOR -> (LEFTARG = dyn_value, RIGHTARG = integer, FUNCTION = dynamo_internal.get_element);
COMMENT ON OPERATOR -> (dyn_value, integer) IS 'element of the list';

CREATE FUNCTION dynamo_internal.get_element_text(value dyn_value, element integer) RETURNS text
	AS 'MODULE_PATHNAME', 'dyn_element_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.get_element_text(dyn_value, integer) IS 'element of the list as text';
CREATE OPERATOR ->> (LEFTARG = dyn_value, RIGHTARG = integer, FUNCTION = dynamo_internal.get_element_text);
COMMENT ON OPERATOR ->> (dyn_value, integer) IS 'element of the list as text';

CREATE FUNCTION dynamo_internal.get_path(value dyn_value, path text[]) RETURNS dyn_value
	AS 'MODULE_PATHNAME', 'dyn_path' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.get_path(dyn_value, text[]) IS 'value at a path of attribute names and list indexes';
CREATE OPERATOR #> (LEFTARG = dyn_value, RIGHTARG = text[], FUNCTION = dynamo_internal.get_path);
COMMENT ON OPERATOR #> (dyn_value, text[]) IS 'value at a path of attribute names and list indexes';

CREATE FUNCTION dynamo_internal.get_path_text(value dyn_value, path text[]) RETURNS text
	AS 'MODULE_PATHNAME', 'dyn_path_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.get_path_text(dyn_value, text[]) IS 'value at a path of attribute names and list indexes, as text';
CREATE OPERATOR #>> (LEFTARG = dyn_value, RIGHTARG = text[], FUNCTION = dynamo_internal.get_path_text);
COMMENT ON OPERATOR #>> (dyn_value, text[]) IS 'value at a path of attribute names and list indexes, as text';

CREATE FUNCTION dynamo_internal.has_attribute(value dyn_value, attribute text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_has_attribute' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.has_attribute(dyn_value, text) IS 'whether the map has the attribute';
CREATE OPERATOR ? (LEFTARG = dyn_value, RIGHTARG = text, FUNCTION = dynamo_internal.has_attribute);
COMMENT ON OPERATOR ? (dyn_value, text) IS 'whether the map has the attribute';

-- equality and order

CREATE FUNCTION dynamo_internal.item_eq(dyn_item, dyn_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_eq(dyn_item, dyn_item) IS 'implementation of = operator';
CREATE FUNCTION dynamo_internal.item_ne(dyn_item, dyn_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_ne(dyn_item, dyn_item) IS 'implementation of <> operator';
CREATE FUNCTION dynamo_internal.item_hash(dyn_item) RETURNS integer
	AS 'MODULE_PATHNAME', 'dyn_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_hash(dyn_item) IS 'hash';
CREATE FUNCTION dynamo_internal.item_hash_extended(dyn_item, bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'dyn_value_hash_extended' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_hash_extended(dyn_item, bigint) IS 'hash';

CREATE OPERATOR = (
	LEFTARG = dyn_item, RIGHTARG = dyn_item, FUNCTION = dynamo_internal.item_eq, COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (dyn_item, dyn_item) IS 'equal by value';
CREATE OPERATOR <> (
	LEFTARG = dyn_item, RIGHTARG = dyn_item, FUNCTION = dynamo_internal.item_ne, COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (dyn_item, dyn_item) IS 'not equal by value';
CREATE OPERATOR CLASS dyn_item_ops DEFAULT FOR TYPE dyn_item USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 dynamo_internal.item_hash(dyn_item),
	FUNCTION 2 dynamo_internal.item_hash_extended(dyn_item, bigint);

CREATE FUNCTION dynamo_internal.item_lt(dyn_item, dyn_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_lt(dyn_item, dyn_item) IS 'implementation of < operator';
CREATE FUNCTION dynamo_internal.item_le(dyn_item, dyn_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_le(dyn_item, dyn_item) IS 'implementation of <= operator';
CREATE FUNCTION dynamo_internal.item_gt(dyn_item, dyn_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_gt(dyn_item, dyn_item) IS 'implementation of > operator';
CREATE FUNCTION dynamo_internal.item_ge(dyn_item, dyn_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_ge(dyn_item, dyn_item) IS 'implementation of >= operator';
CREATE FUNCTION dynamo_internal.item_cmp(dyn_item, dyn_item) RETURNS integer
	AS 'MODULE_PATHNAME', 'dyn_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.item_cmp(dyn_item, dyn_item) IS 'less-equal-greater';

CREATE OPERATOR < (
	LEFTARG = dyn_item, RIGHTARG = dyn_item, FUNCTION = dynamo_internal.item_lt, COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (dyn_item, dyn_item) IS 'less than';
CREATE OPERATOR <= (
	LEFTARG = dyn_item, RIGHTARG = dyn_item, FUNCTION = dynamo_internal.item_le, COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (dyn_item, dyn_item) IS 'less than or equal';
CREATE OPERATOR > (
	LEFTARG = dyn_item, RIGHTARG = dyn_item, FUNCTION = dynamo_internal.item_gt, COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (dyn_item, dyn_item) IS 'greater than';
CREATE OPERATOR >= (
	LEFTARG = dyn_item, RIGHTARG = dyn_item, FUNCTION = dynamo_internal.item_ge, COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (dyn_item, dyn_item) IS 'greater than or equal';
CREATE OPERATOR CLASS dyn_item_ops DEFAULT FOR TYPE dyn_item USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 dynamo_internal.item_cmp(dyn_item, dyn_item), FUNCTION 4 btequalimage(oid);

CREATE FUNCTION dynamo_internal.value_eq(dyn_value, dyn_value) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_eq(dyn_value, dyn_value) IS 'implementation of = operator';
CREATE FUNCTION dynamo_internal.value_ne(dyn_value, dyn_value) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_ne(dyn_value, dyn_value) IS 'implementation of <> operator';
CREATE FUNCTION dynamo_internal.value_hash(dyn_value) RETURNS integer
	AS 'MODULE_PATHNAME', 'dyn_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_hash(dyn_value) IS 'hash';
CREATE FUNCTION dynamo_internal.value_hash_extended(dyn_value, bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'dyn_value_hash_extended' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_hash_extended(dyn_value, bigint) IS 'hash';

CREATE OPERATOR = (
	LEFTARG = dyn_value, RIGHTARG = dyn_value, FUNCTION = dynamo_internal.value_eq, COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (dyn_value, dyn_value) IS 'equal by value';
CREATE OPERATOR <> (
	LEFTARG = dyn_value, RIGHTARG = dyn_value, FUNCTION = dynamo_internal.value_ne, COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (dyn_value, dyn_value) IS 'not equal by value';
CREATE OPERATOR CLASS dyn_value_ops DEFAULT FOR TYPE dyn_value USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 dynamo_internal.value_hash(dyn_value),
	FUNCTION 2 dynamo_internal.value_hash_extended(dyn_value, bigint);

CREATE FUNCTION dynamo_internal.value_lt(dyn_value, dyn_value) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_lt(dyn_value, dyn_value) IS 'implementation of < operator';
CREATE FUNCTION dynamo_internal.value_le(dyn_value, dyn_value) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_le(dyn_value, dyn_value) IS 'implementation of <= operator';
CREATE FUNCTION dynamo_internal.value_gt(dyn_value, dyn_value) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_gt(dyn_value, dyn_value) IS 'implementation of > operator';
CREATE FUNCTION dynamo_internal.value_ge(dyn_value, dyn_value) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_ge(dyn_value, dyn_value) IS 'implementation of >= operator';
CREATE FUNCTION dynamo_internal.value_cmp(dyn_value, dyn_value) RETURNS integer
	AS 'MODULE_PATHNAME', 'dyn_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.value_cmp(dyn_value, dyn_value) IS 'less-equal-greater';

CREATE OPERATOR < (
	LEFTARG = dyn_value, RIGHTARG = dyn_value, FUNCTION = dynamo_internal.value_lt, COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (dyn_value, dyn_value) IS 'less than';
CREATE OPERATOR <= (
	LEFTARG = dyn_value, RIGHTARG = dyn_value, FUNCTION = dynamo_internal.value_le, COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (dyn_value, dyn_value) IS 'less than or equal';
CREATE OPERATOR > (
	LEFTARG = dyn_value, RIGHTARG = dyn_value, FUNCTION = dynamo_internal.value_gt, COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (dyn_value, dyn_value) IS 'greater than';
CREATE OPERATOR >= (
	LEFTARG = dyn_value, RIGHTARG = dyn_value, FUNCTION = dynamo_internal.value_ge, COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (dyn_value, dyn_value) IS 'greater than or equal';
CREATE OPERATOR CLASS dyn_value_ops DEFAULT FOR TYPE dyn_value USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 dynamo_internal.value_cmp(dyn_value, dyn_value), FUNCTION 4 btequalimage(oid);

-- numbers beside attributes: the planner puts the cast and numeric's operator in the place of these

CREATE FUNCTION dynamo_internal.value_eq_numeric(dyn_value, numeric) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN dynamo_internal.value_to_numeric($1) OPERATOR(pg_catalog.=) $2;
COMMENT ON FUNCTION dynamo_internal.value_eq_numeric(dyn_value, numeric) IS 'implementation of = operator';
CREATE OPERATOR = (LEFTARG = dyn_value, RIGHTARG = numeric, FUNCTION = dynamo_internal.value_eq_numeric, NEGATOR = <>);
COMMENT ON OPERATOR = (dyn_value, numeric) IS 'equal, of an attribute that is a number';
CREATE FUNCTION dynamo_internal.value_ne_numeric(dyn_value, numeric) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN dynamo_internal.value_to_numeric($1) OPERATOR(pg_catalog.<>) $2;
COMMENT ON FUNCTION dynamo_internal.value_ne_numeric(dyn_value, numeric) IS 'implementation of <> operator';
CREATE OPERATOR <> (LEFTARG = dyn_value, RIGHTARG = numeric, FUNCTION = dynamo_internal.value_ne_numeric, NEGATOR = =);
COMMENT ON OPERATOR <> (dyn_value, numeric) IS 'not equal, of an attribute that is a number';
CREATE FUNCTION dynamo_internal.value_lt_numeric(dyn_value, numeric) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN dynamo_internal.value_to_numeric($1) OPERATOR(pg_catalog.<) $2;
COMMENT ON FUNCTION dynamo_internal.value_lt_numeric(dyn_value, numeric) IS 'implementation of < operator';
CREATE OPERATOR < (LEFTARG = dyn_value, RIGHTARG = numeric, FUNCTION = dynamo_internal.value_lt_numeric, NEGATOR = >=);
COMMENT ON OPERATOR < (dyn_value, numeric) IS 'less than, of an attribute that is a number';
CREATE FUNCTION dynamo_internal.value_le_numeric(dyn_value, numeric) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN dynamo_internal.value_to_numeric($1) OPERATOR(pg_catalog.<=) $2;
COMMENT ON FUNCTION dynamo_internal.value_le_numeric(dyn_value, numeric) IS 'implementation of <= operator';
CREATE OPERATOR <= (LEFTARG = dyn_value, RIGHTARG = numeric, FUNCTION = dynamo_internal.value_le_numeric, NEGATOR = >);
COMMENT ON OPERATOR <= (dyn_value, numeric) IS 'less than or equal, of an attribute that is a number';
CREATE FUNCTION dynamo_internal.value_gt_numeric(dyn_value, numeric) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN dynamo_internal.value_to_numeric($1) OPERATOR(pg_catalog.>) $2;
COMMENT ON FUNCTION dynamo_internal.value_gt_numeric(dyn_value, numeric) IS 'implementation of > operator';
CREATE OPERATOR > (LEFTARG = dyn_value, RIGHTARG = numeric, FUNCTION = dynamo_internal.value_gt_numeric, NEGATOR = <=);
COMMENT ON OPERATOR > (dyn_value, numeric) IS 'greater than, of an attribute that is a number';
CREATE FUNCTION dynamo_internal.value_ge_numeric(dyn_value, numeric) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN dynamo_internal.value_to_numeric($1) OPERATOR(pg_catalog.>=) $2;
COMMENT ON FUNCTION dynamo_internal.value_ge_numeric(dyn_value, numeric) IS 'implementation of >= operator';
CREATE OPERATOR >= (LEFTARG = dyn_value, RIGHTARG = numeric, FUNCTION = dynamo_internal.value_ge_numeric, NEGATOR = <);
COMMENT ON OPERATOR >= (dyn_value, numeric) IS 'greater than or equal, of an attribute that is a number';

-- size

CREATE FUNCTION dyn_size(item dyn_item) RETURNS integer
	AS 'MODULE_PATHNAME', 'dyn_size' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dyn_size(dyn_item) IS 'size of the item in bytes by the rules of DynamoDB';

-- expressions

CREATE FUNCTION dyn_matches(item dyn_item, condition text, names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL)
	RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_matches' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dyn_matches(dyn_item, text, jsonb, dyn_item) IS
	'whether the item, or with NULL an item that does not exist, meets the condition expression';

CREATE FUNCTION dyn_project(item dyn_item, projection text, names jsonb DEFAULT NULL) RETURNS dyn_item
	AS 'MODULE_PATHNAME', 'dyn_project' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dyn_project(dyn_item, text, jsonb) IS 'the part of the item that the projection expression picks';

CREATE FUNCTION dyn_apply(item dyn_item, update text, names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL,
	return_values text DEFAULT 'ALL_NEW') RETURNS dyn_item
	AS 'MODULE_PATHNAME', 'dyn_apply' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dyn_apply(dyn_item, text, jsonb, dyn_item, text) IS
	'the item, or with NULL an item that does not exist, after the update expression';

-- table access method

CREATE FUNCTION dynamo_internal.table_am_handler(internal) RETURNS table_am_handler
	AS 'MODULE_PATHNAME', 'dynamo_table_am_handler' LANGUAGE C;
COMMENT ON FUNCTION dynamo_internal.table_am_handler(internal) IS
	'handler of the table access method dynamo_table';

CREATE ACCESS METHOD dynamo_table TYPE TABLE HANDLER dynamo_internal.table_am_handler;
COMMENT ON ACCESS METHOD dynamo_table IS
	'heap for item collections';

-- tables

CREATE FUNCTION dynamo_internal.derive_keys() RETURNS trigger
	AS 'MODULE_PATHNAME', 'dyn_derive_keys' LANGUAGE C;
COMMENT ON FUNCTION dynamo_internal.derive_keys() IS
	'trigger function: key columns from the item; arguments: the keys of the table, each as "name TYPE", then its indexes as JSON';

CREATE FUNCTION dynamo_internal.keys_match(item dyn_item, keys text[], VARIADIC columns "any") RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_keys_match' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.keys_match(dyn_item, text[], "any") IS
	'whether the columns are what the keys, each as "name TYPE", derive from the item';

CREATE FUNCTION dynamo_internal.shard_takes(relation oid, partition_key anyelement) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_shard_takes' LANGUAGE C STABLE PARALLEL SAFE STRICT;
COMMENT ON FUNCTION dynamo_internal.shard_takes(oid, anyelement) IS
	'whether a row with the partition key belongs to the relation, if that is a shard of a distributed table';

CREATE FUNCTION dynamo_internal.entries_kept(item dyn_item) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_entries_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE STRICT;
COMMENT ON FUNCTION dynamo_internal.entries_kept(dyn_item) IS
	'called by the store''s own writes of items in shards, whose entries in vector indexes and in indexes that are distributed by their keys it keeps';

CREATE FUNCTION dynamo_internal.keys_missing(table_oid oid, item dyn_item, VARIADIC columns "any") RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_keys_missing' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION dynamo_internal.keys_missing(oid, dyn_item, "any") IS
	'whether a row lacks key columns of indexes that its item should have there';

CREATE FUNCTION dyn_create_table(table_name text, partition_key text, sort_key text DEFAULT NULL,
		global_indexes jsonb DEFAULT NULL, local_indexes jsonb DEFAULT NULL, fillfactor bigint DEFAULT 90,
		distributed boolean DEFAULT false, colocate_with text DEFAULT NULL, shard_count bigint DEFAULT NULL,
		if_not_exists boolean DEFAULT false)
	RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_create_table(text, text, text, jsonb, jsonb, bigint, boolean, text, bigint, boolean) IS
	'create a table of items with its indexes; keys as "name TYPE" with type S, N or B';

CREATE FUNCTION dyn_alter_table(table_name text, settings jsonb) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_alter_table(text, jsonb) IS
	'change settings of a table of items: tags, deletion protection, billing mode, capacity, class, placement';

CREATE FUNCTION dyn_drop_table(table_name text, cascade boolean DEFAULT false) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_drop_table(text, boolean) IS 'drop a table of items, with cascade what depends on it too';

CREATE FUNCTION dyn_distribute_table(table_name text, colocate_with text DEFAULT NULL, shard_count bigint DEFAULT NULL)
	RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_distribute_table(text, text, bigint) IS
	'distribute a table of items over the nodes of Citus by its partition key';

CREATE FUNCTION dyn_undistribute_table(table_name text) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_undistribute_table(text) IS 'make a distributed table of items a table of one node again';

CREATE FUNCTION dyn_describe_table(table_name text) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION dyn_describe_table(text) IS 'keys, settings and sizes of a table of items, in the shape of DescribeTable';

CREATE FUNCTION dynamo_internal.tables()
	RETURNS TABLE (relation regclass, partition_key text, sort_key text, distributed boolean, description jsonb)
	AS 'MODULE_PATHNAME', 'dyn_list_tables' LANGUAGE C STABLE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.tables() IS 'tables of items that the caller may read, each as dyn_describe_table() describes it; null while it is locked';

CREATE VIEW dyn_tables AS
	SELECT n.nspname AS schema_name, coalesce(t.description ->> 'TableName', c.relname) AS table_name, t.relation, t.partition_key, t.sort_key,
		CASE WHEN t.description IS NOT NULL THEN ARRAY(SELECT x ->> 'IndexName' FROM pg_catalog.jsonb_array_elements(
			coalesce(t.description -> 'GlobalSecondaryIndexes', '[]') || coalesce(t.description -> 'LocalSecondaryIndexes', '[]')) x ORDER BY 1) END AS indexes,
		(t.description ->> 'ItemCount')::bigint AS items, (t.description ->> 'TableSizeBytes')::bigint AS bytes,
		t.description #>> '{TimeToLiveDescription,AttributeName}'::pg_catalog.text[] AS ttl_attribute, t.description #>> '{StreamSpecification,StreamViewType}'::pg_catalog.text[] AS stream_view_type,
		CASE WHEN t.description IS NOT NULL THEN coalesce((t.description ->> 'Placement')::boolean, t.distributed OR a.amname = 'dynamo_table'::pg_catalog.name) END AS placement,
		t.distributed
	FROM dynamo_internal.tables() t JOIN pg_catalog.pg_class c ON c.oid = t.relation::pg_catalog.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_catalog.pg_am a ON a.oid = c.relam;
COMMENT ON VIEW dyn_tables IS 'tables of items that the caller may read, or all for pg_monitor: keys, indexes, size and settings; null while another session has locked a table';
GRANT SELECT ON dyn_tables TO PUBLIC;

CREATE FUNCTION dynamo_internal.key_granted(key "any", actions text, index text, leading_keys text[]) RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_key_granted' LANGUAGE C STABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION dynamo_internal.key_granted("any", text, text, text[]) IS 'whether a partition key is one of the leading keys; in policies that dyn_grant_keys() makes';

CREATE FUNCTION dyn_grant_keys(table_name text, role regrole, actions text[], leading_keys text[] DEFAULT NULL, index_name text DEFAULT NULL) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_grant_keys(text, regrole, text[], text[], text) IS 'let a role act on the items of leading keys only, of a table or an index';

CREATE FUNCTION dyn_revoke_keys(table_name text, role regrole, actions text[] DEFAULT NULL, leading_keys text[] DEFAULT NULL, index_name text DEFAULT NULL) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_revoke_keys(text, regrole, text[], text[], text) IS 'take back what dyn_grant_keys() has granted: actions on those keys, or all';

CREATE FUNCTION dynamo_internal.key_grants()
	RETURNS TABLE (relation regclass, role regrole, index_name text, leading_keys text[], actions text)
	AS 'MODULE_PATHNAME', 'dyn_list_key_grants' LANGUAGE C STABLE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.key_grants() IS 'grants by leading keys of tables that the caller may read';

CREATE VIEW dyn_key_grants AS
	SELECT g.relation, g.role, g.index_name, g.leading_keys, pg_catalog.array_agg(a.action ORDER BY a.action COLLATE pg_catalog."C") AS actions
	FROM dynamo_internal.key_grants() g, LATERAL pg_catalog.string_to_table(g.actions, ',') a (action)
	GROUP BY g.relation, g.role, g.index_name, g.leading_keys;
COMMENT ON VIEW dyn_key_grants IS 'what roles may do with items of leading keys, of tables that the caller may read, or of all for pg_monitor';
GRANT SELECT ON dyn_key_grants TO PUBLIC;

CREATE FUNCTION dyn_table_statistics(table_name text, max_collections bigint DEFAULT 10, total_segments bigint DEFAULT 1)
	RETURNS TABLE (kind text, name text, partition_key dyn_value, items bigint, bytes bigint, disk_bytes bigint, index_scans bigint, hot_share double precision,
		pages double precision, ideal_pages double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 20;
COMMENT ON FUNCTION dyn_table_statistics(text, bigint, bigint) IS
	'items and bytes of a table, of its entities, indexes and largest collections, and how its indexes are used; reads the whole table';

CREATE FUNCTION dynamo_internal.operations() RETURNS TABLE (relation regclass, operation text, index_name text, calls bigint, errors bigint,
		conditional_failures bigint, conflicts bigint, items_read bigint, items_returned bigint, items_written bigint, stats_since timestamptz)
	AS 'MODULE_PATHNAME', 'dyn_operations' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 100;
COMMENT ON FUNCTION dynamo_internal.operations() IS 'calls on the tables that the caller has a privilege on';

CREATE VIEW dyn_operations AS SELECT * FROM dynamo_internal.operations();
COMMENT ON VIEW dyn_operations IS
	'calls on the tables that the caller has a privilege on, or on all for pg_monitor, by table, operation and index, since the server was started';
GRANT SELECT ON dyn_operations TO PUBLIC;

CREATE FUNCTION dynamo_internal.reset_operations() RETURNS void
	AS 'MODULE_PATHNAME', 'dyn_reset_operations' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.reset_operations() IS 'forget what dyn_operations has counted in this database';

CREATE FUNCTION dyn_check_table(table_name text, max_problems bigint DEFAULT 100)
	RETURNS TABLE (relation regclass, object text, problem text, advice text, key dyn_item, place tid)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION dyn_check_table(text, bigint) IS
	'what of a table of items is damaged, in its triggers, constraints, columns, indexes and items, and what to do about it';

CREATE FUNCTION dynamo_internal.keep_vectors() RETURNS trigger
	AS 'MODULE_PATHNAME', 'dyn_keep_vectors' LANGUAGE C;
COMMENT ON FUNCTION dynamo_internal.keep_vectors() IS
	'write the entries of a vector index';

CREATE FUNCTION dynamo_internal.vectors_truncated() RETURNS trigger
	AS 'MODULE_PATHNAME', 'dyn_vectors_truncated' LANGUAGE C;
COMMENT ON FUNCTION dynamo_internal.vectors_truncated() IS
	'empty the entries of vector indexes of a table that is truncated';

CREATE FUNCTION dynamo_internal.vector_entries(relation regclass, index_name text) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'dyn_vector_entries' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION dynamo_internal.vector_entries(regclass, text) IS
	'the entries that a vector index must have, for the owner of its table';

CREATE FUNCTION dynamo_internal.model_check() RETURNS trigger
	AS 'MODULE_PATHNAME', 'dyn_model_check' LANGUAGE C;
COMMENT ON FUNCTION dynamo_internal.model_check() IS
	'trigger function: refuses items that are none of the entities that are declared of the table';

-- the item store

CREATE FUNCTION dynamo_internal.store_change(bigint, dyn_item) RETURNS dyn_item
	AS 'MODULE_PATHNAME', 'dyn_store_change' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.store_change(bigint, dyn_item) IS 'what an item becomes, in an UPDATE of the store';

-- Tokens of transactions, those of PartiQL statements by themselves: what was done, remembered for ten minutes.  The functions
-- reach it with the rights of its owner; no other role has any, whatever default privileges are set.  It is not dumped: a
-- restored database has done nothing yet.
CREATE TABLE dynamo_internal.transact_tokens (
	role oid NOT NULL,
	statements boolean NOT NULL,
	token text COLLATE "C" NOT NULL,
	request bytea NOT NULL,
	expires timestamptz NOT NULL,
	returned bytea,
	PRIMARY KEY (role, statements, token)
);
CREATE INDEX ON dynamo_internal.transact_tokens (role, expires);
COMMENT ON TABLE dynamo_internal.transact_tokens IS 'tokens of transactions: which requests were done in the last minutes';

-- The same for requests on distributed tables.  It is distributed with the first of these, by a bucket of tokens, so that
-- all nodes share it and each statement is routed to one shard.  Roles have other OIDs on other nodes.
CREATE TABLE dynamo_internal.shared_tokens (
	bucket smallint NOT NULL,
	role text COLLATE "C" NOT NULL,
	statements boolean NOT NULL,
	token text COLLATE "C" NOT NULL,
	request bytea NOT NULL,
	expires timestamptz NOT NULL,
	returned bytea,
	PRIMARY KEY (bucket, role, statements, token)
);
CREATE INDEX ON dynamo_internal.shared_tokens (bucket, role, expires);
COMMENT ON TABLE dynamo_internal.shared_tokens IS 'tokens of transactions on distributed tables: which requests were done in the last minutes';

-- actions

CREATE FUNCTION dyn_get(table_name text, key dyn_item, names jsonb DEFAULT NULL, projection text DEFAULT NULL,
		consistent_read boolean DEFAULT false)
	RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION dyn_get(text, dyn_item, jsonb, text, boolean) IS 'item of a key, or NULL';

CREATE FUNCTION dyn_put(table_name text, item dyn_item, condition text DEFAULT NULL, names jsonb DEFAULT NULL,
		vals dyn_item DEFAULT NULL, return_values text DEFAULT 'NONE',
		return_values_on_condition_check_failure text DEFAULT 'NONE')
	RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_put(text, dyn_item, text, jsonb, dyn_item, text, text) IS
	'create an item or replace it, if the condition holds';

CREATE FUNCTION dyn_update(table_name text, key dyn_item, update text DEFAULT NULL, condition text DEFAULT NULL,
		names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL, return_values text DEFAULT 'NONE',
		return_values_on_condition_check_failure text DEFAULT 'NONE')
	RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_update(text, dyn_item, text, text, jsonb, dyn_item, text, text) IS
	'change attributes of an item, or create it, if the condition holds';

CREATE FUNCTION dyn_delete(table_name text, key dyn_item, condition text DEFAULT NULL, names jsonb DEFAULT NULL,
		vals dyn_item DEFAULT NULL, return_values text DEFAULT 'NONE',
		return_values_on_condition_check_failure text DEFAULT 'NONE')
	RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_delete(text, dyn_item, text, jsonb, dyn_item, text, text) IS
	'delete an item, if it is there and the condition holds';

CREATE FUNCTION dyn_query(table_name text, key_condition text, index_name text DEFAULT NULL, filter text DEFAULT NULL,
		names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL, projection text DEFAULT NULL,
		max_items bigint DEFAULT NULL, start_key dyn_item DEFAULT NULL, forward boolean DEFAULT true,
		select_mode text DEFAULT NULL, consistent_read boolean DEFAULT false)
	RETURNS SETOF dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 100;
COMMENT ON FUNCTION dyn_query(text, text, text, text, jsonb, dyn_item, text, bigint, dyn_item, boolean, text, boolean) IS
	'items of one collection in the order of their sort keys';

CREATE FUNCTION dyn_scan(table_name text, index_name text DEFAULT NULL, filter text DEFAULT NULL, names jsonb DEFAULT NULL,
		vals dyn_item DEFAULT NULL, projection text DEFAULT NULL, max_items bigint DEFAULT NULL,
		segment bigint DEFAULT NULL, total_segments bigint DEFAULT NULL, start_key dyn_item DEFAULT NULL,
		select_mode text DEFAULT NULL, consistent_read boolean DEFAULT false)
	RETURNS SETOF dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION dyn_scan(text, text, text, jsonb, dyn_item, text, bigint, bigint, bigint, dyn_item, text, boolean) IS
	'all items of a table or an index, or one segment of them';

CREATE FUNCTION dyn_search(table_name text, index_name text, vector real[], top_k bigint DEFAULT 10,
		condition text DEFAULT NULL, names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL, projection text DEFAULT NULL)
	RETURNS TABLE(item dyn_item, score real)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION dyn_search(text, text, real[], bigint, text, jsonb, dyn_item, text) IS
	'items whose vectors are nearest to one, the nearest first';

CREATE FUNCTION dyn_query_page(table_name text, key_condition text, index_name text DEFAULT NULL, filter text DEFAULT NULL,
		names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL, projection text DEFAULT NULL,
		page_size bigint DEFAULT NULL, start_key dyn_item DEFAULT NULL, forward boolean DEFAULT true,
		select_mode text DEFAULT NULL, consistent_read boolean DEFAULT false,
		OUT items dyn_item[], OUT item_count bigint, OUT scanned_count bigint, OUT last_evaluated_key dyn_item)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION dyn_query_page(text, text, text, text, jsonb, dyn_item, text, bigint, dyn_item, boolean, text, boolean) IS
	'one page of a query, as DynamoDB''s Query returns it';

CREATE FUNCTION dyn_scan_page(table_name text, index_name text DEFAULT NULL, filter text DEFAULT NULL, names jsonb DEFAULT NULL,
		vals dyn_item DEFAULT NULL, projection text DEFAULT NULL, page_size bigint DEFAULT NULL,
		segment bigint DEFAULT NULL, total_segments bigint DEFAULT NULL, start_key dyn_item DEFAULT NULL,
		select_mode text DEFAULT NULL, consistent_read boolean DEFAULT false,
		OUT items dyn_item[], OUT item_count bigint, OUT scanned_count bigint, OUT last_evaluated_key dyn_item)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION dyn_scan_page(text, text, text, jsonb, dyn_item, text, bigint, bigint, bigint, dyn_item, text, boolean) IS
	'one page of a scan, as DynamoDB''s Scan returns it';

CREATE FUNCTION dyn_explain(table_name text, key_condition text DEFAULT NULL, index_name text DEFAULT NULL,
		filter text DEFAULT NULL, names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL, projection text DEFAULT NULL,
		max_items bigint DEFAULT NULL, page_size bigint DEFAULT NULL, start_key dyn_item DEFAULT NULL,
		forward boolean DEFAULT true, select_mode text DEFAULT NULL,
		OUT index_name text, OUT postgres_index regclass, OUT range text, OUT direction text, OUT items_read bigint,
		OUT items_returned bigint, OUT bytes_read bigint, OUT pages_read bigint, OUT index_only boolean,
		OUT store text, OUT store_reason text, OUT write_store text, OUT write_store_reason text, OUT rows_skipped bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION dyn_explain(text, text, text, text, jsonb, dyn_item, text, bigint, bigint, dyn_item, boolean, text) IS
	'what a query, or a scan without a key condition, reads, and which stores serve the table';

CREATE FUNCTION dyn_batch_get(table_name text, keys dyn_item[], names jsonb DEFAULT NULL, projection text DEFAULT NULL,
		consistent_read boolean DEFAULT false)
	RETURNS SETOF dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 25;
COMMENT ON FUNCTION dyn_batch_get(text, dyn_item[], jsonb, text, boolean) IS 'items of up to 100 keys, as far as they are there';

CREATE FUNCTION dyn_batch_get(table_name text, keys text, names jsonb DEFAULT NULL, projection text DEFAULT NULL,
		consistent_read boolean DEFAULT false)
	RETURNS SETOF dyn_item LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 25
BEGIN ATOMIC
	SELECT dyn_batch_get(table_name, dynamo_internal.items_from_text(keys), names, projection, consistent_read);
END;
COMMENT ON FUNCTION dyn_batch_get(text, text, jsonb, text, boolean) IS
	'items of up to 100 keys, which are a JSON array of DynamoDB JSON, as far as they are there';

CREATE FUNCTION dyn_batch_write(table_name text, puts dyn_item[] DEFAULT NULL, deletes dyn_item[] DEFAULT NULL,
		entities jsonb DEFAULT NULL)
	RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_batch_write(text, dyn_item[], dyn_item[], jsonb) IS
	'create or replace items, and delete those of keys, up to 25 together';

CREATE FUNCTION dyn_batch_write(table_name text, puts dyn_item[], deletes dyn_item[], entities text) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_batch_write(text, dyn_item[], dyn_item[], text) IS
	'create or replace items, and delete those of keys, up to 25 together, with entities as text';

CREATE FUNCTION dyn_batch_write(table_name text, puts text DEFAULT NULL, deletes text DEFAULT NULL, entities text DEFAULT NULL)
	RETURNS void LANGUAGE sql VOLATILE PARALLEL UNSAFE
	RETURN dyn_batch_write(table_name, dynamo_internal.items_from_text(puts), dynamo_internal.items_from_text(deletes), entities);
COMMENT ON FUNCTION dyn_batch_write(text, text, text, text) IS
	'create or replace items, and delete those of keys, up to 25 together, of JSON arrays of DynamoDB JSON';

CREATE FUNCTION dyn_transact(actions text, token text DEFAULT NULL) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION dyn_transact(actions json, token text DEFAULT NULL) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION dyn_transact(actions jsonb, token text DEFAULT NULL) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE RETURN dyn_transact(actions::text, token);
COMMENT ON FUNCTION dyn_transact(text, text) IS
	'all of up to 100 puts, updates, deletes and condition checks, or none; false if the token says that it was done before';
COMMENT ON FUNCTION dyn_transact(json, text) IS
	'all of up to 100 puts, updates, deletes and condition checks, or none; false if the token says that it was done before';
COMMENT ON FUNCTION dyn_transact(jsonb, text) IS
	'all of up to 100 puts, updates, deletes and condition checks, or none; false if the token says that it was done before';

CREATE FUNCTION dyn_transact_returning(actions text, token text DEFAULT NULL, OUT action integer, OUT item dyn_item)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
CREATE FUNCTION dyn_transact_returning(actions json, token text DEFAULT NULL, OUT action integer, OUT item dyn_item)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10;
CREATE FUNCTION dyn_transact_returning(actions jsonb, token text DEFAULT NULL, OUT action integer, OUT item dyn_item)
	RETURNS SETOF record LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
	SELECT r.action, r.item FROM dyn_transact_returning(actions::text, token) AS r;
END;
COMMENT ON FUNCTION dyn_transact_returning(text, text) IS
	'the same as dyn_transact(), and the new items of those actions on entities that ask for them';
COMMENT ON FUNCTION dyn_transact_returning(json, text) IS
	'the same as dyn_transact(), and the new items of those actions on entities that ask for them';
COMMENT ON FUNCTION dyn_transact_returning(jsonb, text) IS
	'the same as dyn_transact(), and the new items of those actions on entities that ask for them';

CREATE FUNCTION dyn_transact_get(gets text) RETURNS SETOF dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 10;
CREATE FUNCTION dyn_transact_get(gets json) RETURNS SETOF dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 10;
CREATE FUNCTION dyn_transact_get(gets jsonb) RETURNS SETOF dyn_item
	LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 10
BEGIN ATOMIC
	SELECT dyn_transact_get(gets::text);
END;
COMMENT ON FUNCTION dyn_transact_get(text) IS 'items of up to 100 keys in order, NULL for one that is not there';
COMMENT ON FUNCTION dyn_transact_get(json) IS 'items of up to 100 keys in order, NULL for one that is not there';
COMMENT ON FUNCTION dyn_transact_get(jsonb) IS 'items of up to 100 keys in order, NULL for one that is not there';

-- PartiQL.  The parameters are an array of DynamoDB JSON, as text, or values; json and jsonb are cast to these.

CREATE FUNCTION dyn_execute(statement text, parameters text DEFAULT NULL,
		return_values_on_condition_check_failure text DEFAULT 'NONE', max_items bigint DEFAULT NULL,
		consistent_read boolean DEFAULT false)
	RETURNS SETOF dyn_item
	AS 'MODULE_PATHNAME', 'dyn_execute_statement' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100;
COMMENT ON FUNCTION dyn_execute(text, text, text, bigint, boolean) IS
	'run a PartiQL statement, with parameters that are DynamoDB JSON in a JSON array';

CREATE FUNCTION dyn_execute(statement text, parameters dyn_value[],
		return_values_on_condition_check_failure text DEFAULT 'NONE', max_items bigint DEFAULT NULL,
		consistent_read boolean DEFAULT false)
	RETURNS SETOF dyn_item
	AS 'MODULE_PATHNAME', 'dyn_execute_statement' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100;
COMMENT ON FUNCTION dyn_execute(text, dyn_value[], text, bigint, boolean) IS
	'run a PartiQL statement, with parameters that are values, or plain JSON';

CREATE FUNCTION dyn_execute_page(statement text, parameters text DEFAULT NULL,
		return_values_on_condition_check_failure text DEFAULT 'NONE', page_size bigint DEFAULT NULL,
		consistent_read boolean DEFAULT false, next_token text DEFAULT NULL,
		OUT items dyn_item[], OUT item_count bigint, OUT scanned_count bigint, OUT next_token text)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_execute_page(text, text, text, bigint, boolean, text) IS
	'run a PartiQL statement for one page of its items, with parameters that are DynamoDB JSON in a JSON array';

CREATE FUNCTION dyn_execute_page(statement text, parameters dyn_value[],
		return_values_on_condition_check_failure text DEFAULT 'NONE', page_size bigint DEFAULT NULL,
		consistent_read boolean DEFAULT false, next_token text DEFAULT NULL,
		OUT items dyn_item[], OUT item_count bigint, OUT scanned_count bigint, OUT next_token text)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_execute_page(text, dyn_value[], text, bigint, boolean, text) IS
	'run a PartiQL statement for one page of its items, with parameters that are values, or plain JSON';

CREATE FUNCTION dyn_explain_statement(statement text, parameters text DEFAULT NULL,
		max_items bigint DEFAULT NULL, page_size bigint DEFAULT NULL, next_token text DEFAULT NULL)
	RETURNS TABLE (action text, index_name text, postgres_index regclass, range text, direction text, condition text,
		items_read bigint, items_returned bigint, bytes_read bigint, pages_read bigint, index_only boolean, store text,
		store_reason text, rows_skipped bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 5;
COMMENT ON FUNCTION dyn_explain_statement(text, text, bigint, bigint, text) IS
	'what a PartiQL statement reads, or the write that it would do, with parameters that are DynamoDB JSON in a JSON array';

CREATE FUNCTION dyn_explain_statement(statement text, parameters dyn_value[],
		max_items bigint DEFAULT NULL, page_size bigint DEFAULT NULL, next_token text DEFAULT NULL)
	RETURNS TABLE (action text, index_name text, postgres_index regclass, range text, direction text, condition text,
		items_read bigint, items_returned bigint, bytes_read bigint, pages_read bigint, index_only boolean, store text,
		store_reason text, rows_skipped bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 5;
COMMENT ON FUNCTION dyn_explain_statement(text, dyn_value[], bigint, bigint, text) IS
	'what a PartiQL statement reads, or the write that it would do, with parameters that are values, or plain JSON';

CREATE FUNCTION dyn_table_chart(table_name text, index_name text DEFAULT NULL, max_items bigint DEFAULT 100, max_attributes bigint DEFAULT 8,
		value_width bigint DEFAULT 32, format text DEFAULT 'text', width bigint DEFAULT 79)
	RETURNS SETOF text
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 100;
COMMENT ON FUNCTION dyn_table_chart(text, text, bigint, bigint, bigint, text, bigint) IS
	'item collections of a table or an index, drawn as text or Markdown';

-- indexes

CREATE PROCEDURE dyn_create_index(table_name text, index_name text, partition_key text, sort_key text DEFAULT NULL,
		projection text DEFAULT 'ALL', non_key_attributes text[] DEFAULT NULL, covering boolean DEFAULT false, if_not_exists boolean DEFAULT false,
		distribution text DEFAULT 'table')
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_create_index(text, text, text, text, text, text[], boolean, boolean, text) IS
	'create a global secondary index on a table in use, with keys as "name TYPE"; commits by itself';

CREATE PROCEDURE dyn_create_index(table_name text, index_name text, partition_key text[], sort_key text[] DEFAULT NULL,
		projection text DEFAULT 'ALL', non_key_attributes text[] DEFAULT NULL, covering boolean DEFAULT false, if_not_exists boolean DEFAULT false,
		distribution text DEFAULT 'table')
	AS 'MODULE_PATHNAME', 'dyn_create_index_multi' LANGUAGE C;
COMMENT ON PROCEDURE dyn_create_index(text, text, text[], text[], text, text[], boolean, boolean, text) IS
	'create a global secondary index whose keys have up to four attributes each; commits by itself';

CREATE PROCEDURE dyn_create_vector_index(table_name text, index_name text, attribute text, dimensions bigint,
		distance text DEFAULT 'COSINE', method text DEFAULT 'exact', hash_key text DEFAULT NULL, filters text[] DEFAULT NULL,
		projection text DEFAULT 'ALL', non_key_attributes text[] DEFAULT NULL, if_not_exists boolean DEFAULT false)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_create_vector_index(text, text, text, bigint, text, text, text, text[], text, text[], boolean) IS
	'create an index of vectors on a table in use, with keys and filters as "name TYPE"; commits by itself';

CREATE PROCEDURE dyn_drop_index(table_name text, index_name text, cascade boolean DEFAULT false)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_drop_index(text, text, boolean) IS
	'drop a global secondary index of a table in use, with cascade what depends on its columns too; commits by itself';

CREATE FUNCTION dynamo_internal.shard_sizes(shards text[], sizes integer) RETURNS bigint[]
	AS 'MODULE_PATHNAME', 'dyn_shard_sizes' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION dynamo_internal.shard_sizes(text[], integer) IS
	'items and bytes of shards of a distributed table, and of each of its indexes';

CREATE FUNCTION dynamo_internal.coordinator_request(operation text, request text, search_path text, region text) RETURNS text
	AS 'MODULE_PATHNAME', 'dyn_coordinator_request' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.coordinator_request(text, text, text, text) IS 'a request for a table that a worker of Citus has the coordinator carry out';

CREATE FUNCTION dynamo_internal.scan_shard(table_name text, shard bigint, from_hash integer, to_hash integer, index_name text, start_key dyn_item, want integer,
		max_items bigint, max_bytes bigint) RETURNS dyn_item[]
	AS 'MODULE_PATHNAME', 'dyn_scan_shard' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.scan_shard(text, bigint, integer, integer, text, dyn_item, integer, bigint, bigint) IS
	'entries of a shard of a distributed table, for a scan at any node';

CREATE FUNCTION dynamo_internal.get_items(table_name text, keys dyn_item[]) RETURNS dyn_item[]
	AS 'MODULE_PATHNAME', 'dyn_get_items' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.get_items(text, dyn_item[]) IS 'items of keys, of shards of this node';

CREATE FUNCTION dynamo_internal.fill_shard(shard regclass, index_name text, filenode oid, from_block bigint, to_block bigint, one boolean) RETURNS text
	AS 'MODULE_PATHNAME', 'dyn_fill_shard' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.fill_shard(regclass, text, oid, bigint, bigint, boolean) IS
	'fill in the columns of an index in some rows of a shard of a distributed table';

CREATE FUNCTION dynamo_internal.check_vectors(shard regclass, index_name text) RETURNS text
	AS 'MODULE_PATHNAME', 'dyn_check_vectors' LANGUAGE C VOLATILE PARALLEL UNSAFE STRICT;
COMMENT ON FUNCTION dynamo_internal.check_vectors(regclass, text) IS
	'how many entries of a vector index in a shard of a distributed table are missing, wrong, and of no item';

CREATE FUNCTION dynamo_internal.nearest(internal) RETURNS tsm_handler
	AS 'MODULE_PATHNAME', 'dyn_nearest' LANGUAGE C VOLATILE PARALLEL UNSAFE STRICT;
COMMENT ON FUNCTION dynamo_internal.nearest(internal) IS
	'the method of samples that are the items nearest to a vector in a shard of a distributed table, or their entries';

CREATE FUNCTION dynamo_internal.vector_distance(item dyn_item, definition text, vector real[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'dyn_vector_distance' LANGUAGE C STABLE PARALLEL SAFE STRICT;
COMMENT ON FUNCTION dynamo_internal.vector_distance(dyn_item, text, real[]) IS
	'the distance of the vector of an item by the definition of a vector index';

CREATE PROCEDURE dynamo_internal.resume_index(relation regclass, index_name text)
	AS 'MODULE_PATHNAME', 'dyn_resume_index' LANGUAGE C;
COMMENT ON PROCEDURE dynamo_internal.resume_index(regclass, text) IS
	'finish the creation or the deletion of a global secondary index that was begun; commits by itself';

CREATE FUNCTION dyn_index_violations(table_name text, index_name text DEFAULT NULL)
	RETURNS TABLE (key dyn_item, index_name text, attribute text, reason text)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 100;
COMMENT ON FUNCTION dyn_index_violations(text, text) IS
	'items that an index leaves out although they have its attributes, and why';

-- time to live

CREATE PROCEDURE dyn_enable_ttl(table_name text, attribute text, hide_expired boolean DEFAULT NULL, if_not_exists boolean DEFAULT false)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_enable_ttl(text, text, boolean, boolean) IS
	'let items of a table expire at the time, in Unix seconds, that an attribute has; commits by itself';

CREATE PROCEDURE dyn_disable_ttl(table_name text, cascade boolean DEFAULT false)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_disable_ttl(text, boolean) IS
	'let items of a table expire no longer, with cascade drop what depends on its column too; commits by itself';

CREATE PROCEDURE dynamo_internal.resume_ttl(relation regclass)
	AS 'MODULE_PATHNAME', 'dyn_ttl_resume' LANGUAGE C;
COMMENT ON PROCEDURE dynamo_internal.resume_ttl(regclass) IS
	'finish what dyn_enable_ttl, dyn_disable_ttl or UpdateTimeToLive has begun; commits by itself';

CREATE PROCEDURE dyn_sweep_ttl(table_name text DEFAULT NULL, batch_size bigint DEFAULT NULL, time_budget interval DEFAULT NULL,
		from_start boolean DEFAULT NULL, INOUT deleted bigint DEFAULT NULL)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_sweep_ttl(text, bigint, interval, boolean, bigint) IS
	'remove expired items of a table, or of all tables; commits by itself';

CREATE PROCEDURE dynamo_internal.sweep_shards(relation regclass, batch_size integer, milliseconds integer, from_start boolean, INOUT deleted bigint DEFAULT NULL)
	AS 'MODULE_PATHNAME', 'dyn_ttl_sweep_shards' LANGUAGE C;
COMMENT ON PROCEDURE dynamo_internal.sweep_shards(regclass, integer, integer, boolean, bigint) IS
	'remove expired items from the shards of a distributed table on this node, for dyn_sweep_ttl on any node; commits by itself';

CREATE FUNCTION dynamo_internal.wake_sweepers() RETURNS void
	AS 'MODULE_PATHNAME', 'dyn_wake_sweepers' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.wake_sweepers() IS 'has background workers of this node look at once for tables with time to live';

-- How far sweeps came, and what they did.  The functions reach it with the rights of its owner; no other role has any,
-- whatever default privileges are set.  It is not dumped: relations get other OIDs, and the first sweep begins at the start.
CREATE TABLE dynamo_internal.ttl_sweeps (
	relation oid PRIMARY KEY,
	next bigint NOT NULL,
	dead bigint NOT NULL,
	from_start timestamptz NOT NULL,
	swept timestamptz NOT NULL,
	deleted bigint NOT NULL,
	errors bigint NOT NULL,
	last_error text,
	failures integer NOT NULL,
	retry_at timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE dynamo_internal.ttl_sweeps IS 'sweeps of tables with time to live';

-- What UpdateTable and UpdateTimeToLive have begun, and background workers go on with: for whom, and since when.
CREATE TABLE dynamo_internal.index_requests (
	relation oid PRIMARY KEY,
	session_role oid NOT NULL,
	role oid NOT NULL,
	requested_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
	attempts integer NOT NULL DEFAULT 0,
	begun_at timestamptz
);
COMMENT ON TABLE dynamo_internal.index_requests IS 'tables with indexes, or time to live, that background workers are to make or remove';

CREATE FUNCTION dynamo_internal.ttl_tables() RETURNS TABLE (relation regclass, attribute text, status text, hide_expired boolean, locked boolean, reads_all boolean, parts oid[])
	AS 'MODULE_PATHNAME', 'dyn_ttl_list' LANGUAGE C;
COMMENT ON FUNCTION dynamo_internal.ttl_tables() IS 'tables with time to live that the caller may read';

CREATE FUNCTION dynamo_internal.ttl_due(relation regclass, from_second bigint, OUT due_items bigint, OUT oldest_due timestamptz, OUT never_due bigint)
	AS 'MODULE_PATHNAME', 'dyn_ttl_due' LANGUAGE C STRICT;
COMMENT ON FUNCTION dynamo_internal.ttl_due(regclass, bigint) IS 'how many items of a table have expired, counted up to 10,000, when the first did, and how many never will by their time';

-- A barrier: what others' sweeps have met is not for functions in a query's conditions.
CREATE VIEW dyn_ttl_tables WITH (security_barrier) AS
	SELECT t.relation, t.attribute, t.status, t.hide_expired, p.due_items, p.oldest_due, p.never_due, p.swept AS last_sweep, p.deleted, p.errors,
		CASE WHEN t.reads_all THEN p.last_error END AS last_error, p.retry_at, t.locked
	FROM dynamo_internal.ttl_tables() t CROSS JOIN LATERAL (
		SELECT pg_catalog.sum(d.due_items)::bigint AS due_items, pg_catalog.min(d.oldest_due) AS oldest_due, pg_catalog.sum(d.never_due)::bigint AS never_due, pg_catalog.max(s.swept) AS swept,
			coalesce(pg_catalog.sum(s.deleted), 0)::bigint AS deleted, coalesce(pg_catalog.sum(s.errors), 0)::bigint AS errors,
			(pg_catalog.array_agg(s.last_error ORDER BY s.swept DESC) FILTER (WHERE s.last_error IS NOT NULL))[1] AS last_error, pg_catalog.max(s.retry_at) AS retry_at
		FROM pg_catalog.unnest(t.parts) part LEFT JOIN dynamo_internal.ttl_sweeps s ON s.relation = part
			CROSS JOIN LATERAL dynamo_internal.ttl_due(part, CASE WHEN s.dead > 200 THEN s.next ELSE 0 END) d) p;
COMMENT ON VIEW dyn_ttl_tables IS 'time to live of the tables that the caller may read, or of all for pg_monitor: what is due, and what was removed; of distributed tables on this node';
GRANT SELECT ON dyn_ttl_tables TO PUBLIC;

-- streams

-- What was collected of changes, how far that has come, and what is missing.  The functions reach these tables with the
-- rights of their owner; no other role has any, whatever default privileges are set.  They are not dumped: a position in the WAL
-- means nothing elsewhere.  A partition is a span of time, made and dropped as time goes on.
CREATE TABLE dynamo_internal.stream_records (
	relation oid NOT NULL,
	stream bigint NOT NULL,
	shard smallint NOT NULL,
	event "char" NOT NULL,
	expired boolean NOT NULL,
	incomplete boolean NOT NULL,
	lsn pg_lsn NOT NULL,
	ordinal bigint NOT NULL,
	committed timestamptz NOT NULL,
	collected timestamptz NOT NULL,
	size integer NOT NULL,
	keys dyn_item,
	new_image dyn_item,
	old_image dyn_item
) PARTITION BY RANGE (collected);
CREATE INDEX ON dynamo_internal.stream_records (relation, stream, lsn, ordinal, shard);
COMMENT ON TABLE dynamo_internal.stream_records IS 'records of changes of items, as collected from the WAL';

-- At most one row.  All records of commits that begin in the WAL before "collected" were collected; the database tells a
-- copy of one that has streams from it.  "collected_at" is what the clock said, "records_at" the time that records got:
-- it never goes back, but goes on where it was if the clock does.
CREATE TABLE dynamo_internal.stream_state (
	database oid PRIMARY KEY,
	slot name NOT NULL,
	collected pg_lsn NOT NULL,
	collected_at timestamptz NOT NULL,
	records_at timestamptz NOT NULL,
	last_commit timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE dynamo_internal.stream_state IS 'how far changes of items were collected';

-- What was committed from "after_lsn" to before "before_lsn" is in no stream that was enabled when that was noticed; of
-- one table's streams, unless "relation" is 0.
CREATE TABLE dynamo_internal.stream_gaps (
	after_lsn pg_lsn NOT NULL,
	before_lsn pg_lsn,
	noticed timestamptz NOT NULL,
	relation oid DEFAULT 0,
	PRIMARY KEY (before_lsn, relation)
);
COMMENT ON TABLE dynamo_internal.stream_gaps IS 'where changes of items were not collected';

-- The last record of a stream that was dropped with its partition.
CREATE TABLE dynamo_internal.stream_trimmed (
	relation oid NOT NULL,
	stream bigint NOT NULL,
	lsn pg_lsn NOT NULL,
	ordinal bigint NOT NULL,
	PRIMARY KEY (relation, stream)
);
COMMENT ON TABLE dynamo_internal.stream_trimmed IS 'up to where streams were trimmed';

-- The last place at which closed shards of a stream may have records: written once, when their closing is collected.  They are
-- closed with their stream, which is disabled, or get children.
CREATE TABLE dynamo_internal.stream_ends (
	relation oid NOT NULL,
	stream bigint NOT NULL,
	generation smallint NOT NULL,
	lsn pg_lsn NOT NULL,
	ordinal bigint NOT NULL,
	collected timestamptz NOT NULL,
	PRIMARY KEY (relation, stream, generation)
);
COMMENT ON TABLE dynamo_internal.stream_ends IS 'where closed shards of streams have ended';

-- The shards of distributed tables that are, or were, on this node while their tables have a stream: each is a shard of the stream.
-- "relation" is that of the shard, and what the tables above have of it; another one if the shard leaves the node and comes back.
-- "leaving" is a place in the WAL behind its last change; when all before that is collected, it has an end in stream_ends.
CREATE TABLE dynamo_internal.stream_placements (
	relation oid NOT NULL,
	stream bigint NOT NULL,
	distributed oid NOT NULL,
	shard bigint NOT NULL,
	lower integer NOT NULL,
	upper integer NOT NULL,
	began timestamptz NOT NULL,
	leaving pg_lsn,
	PRIMARY KEY (relation, stream)
);
COMMENT ON TABLE dynamo_internal.stream_placements IS 'shards of distributed tables on this node as shards of their streams';

-- streams: the secret of marks

-- One row, made here and never changed; a dump has none of it, so a restored database has another.  What the extension
-- itself writes is marked in the WAL, and the marks are signed with it.  Logical decoding reads it as it was.
CREATE TABLE dynamo_internal.stream_secret (secret bytea NOT NULL) USING heap WITH (user_catalog_table = true);
COMMENT ON TABLE dynamo_internal.stream_secret IS 'what marks of the extension in the WAL are signed with';
INSERT INTO dynamo_internal.stream_secret VALUES (pg_catalog.sha256(pg_catalog.uuid_send(pg_catalog.gen_random_uuid())
	OPERATOR(pg_catalog.||) pg_catalog.uuid_send(pg_catalog.gen_random_uuid())));

-- streams: enabling, the slot

CREATE FUNCTION dyn_enable_stream(table_name text, view_type text DEFAULT 'NEW_AND_OLD_IMAGES', shards bigint DEFAULT NULL, if_not_exists boolean DEFAULT false)
	RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_enable_stream(text, text, bigint, boolean) IS 'let changes of a table''s items go to a stream; returns its ARN';

CREATE FUNCTION dyn_alter_stream(table_name text, shards bigint) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_alter_stream(text, bigint) IS 'split the shards of a table''s stream, so that it has a multiple of them';

CREATE FUNCTION dyn_disable_stream(table_name text) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_disable_stream(text) IS 'let changes of a table''s items go to its stream no longer';

CREATE PROCEDURE dyn_setup_streams(failover boolean DEFAULT NULL)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_setup_streams(boolean) IS
	'make what change streams need in this database: a replication slot, also in the place of a broken one; commits by itself';

CREATE PROCEDURE dyn_teardown_streams(force boolean DEFAULT false)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_teardown_streams(boolean) IS 'remove the replication slot of change streams, and all that was collected; commits by itself';

-- Has the library loaded in a session that may drop the extension, so that it can warn of the slot that is left.
CREATE FUNCTION dynamo_internal.extension_dropping() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dynamo_internal.require_library('0.2.0');
EXCEPTION WHEN others THEN
	-- the library may be lost, or the role may not drop this extension: it warns of nothing then
	NULL;
END $$;
COMMENT ON FUNCTION dynamo_internal.extension_dropping() IS 'load the library, if it can be had, before an extension is dropped';
CREATE EVENT TRIGGER dynamo_table_drop ON ddl_command_start WHEN TAG IN ('DROP EXTENSION')
	EXECUTE FUNCTION dynamo_internal.extension_dropping();
COMMENT ON EVENT TRIGGER dynamo_table_drop IS 'DROP EXTENSION dynamo_table warns of a replication slot that is left';

-- One row.  Only this view determines the state of the slot.  From 19 on a slot makes "replica" write what decoding needs.  The setting for output plugins came with a minor version, and is
-- visible to some roles only.  A collector that is at work confirms what it has committed
-- since this snapshot was taken, so only a slot that no process reads can be ahead.  A column that only some versions of
-- pg_replication_slots have is taken from its row.  Whether a standby has the slot is known there, and to the primary by what the
-- standby has reserved of the catalogs.
CREATE FUNCTION dynamo_internal.stream_progress(OUT reached pg_lsn, OUT reached_at timestamptz, OUT trouble text, OUT error text, OUT failed_at timestamptz)
	AS 'MODULE_PATHNAME', 'dyn_stream_progress' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.stream_progress() IS 'up to where the collector at work in this database has read the WAL, and what keeps it from its work';

CREATE VIEW dynamo_internal.stream_slot WITH (security_barrier) AS
	SELECT d.slot_name,
		CASE WHEN pg_catalog.current_setting('wal_level') = 'minimal' OR pg_catalog.current_setting('wal_level') = 'replica'
				AND pg_catalog.current_setting('server_version_num')::int < 190000 THEN 'wal_level too low'
			WHEN EXISTS (SELECT FROM pg_catalog.pg_settings WHERE name = 'output_plugin_libraries'
				AND pg_catalog.strpos(',' || pg_catalog.regexp_replace(setting, '[[:space:]"]', '', 'g') || ',', ',dynamo_table,') = 0) THEN 'plugin not allowed'
			WHEN s.database IS NULL THEN 'not set up'
			WHEN pg_catalog.pg_is_in_recovery() THEN 'standby'
			WHEN r.slot_name IS NULL THEN 'slot missing'
			WHEN r.wal_status = 'lost' OR r.confirmed_flush_lsn IS NULL THEN 'slot lost'
			WHEN r.confirmed_flush_lsn > s.collected AND r.active_pid IS NULL THEN 'slot ahead'
			ELSE coalesce(p.trouble, 'ready') END AS state,
		r.active_pid, r.wal_status, (d.wal - r.restart_lsn)::bigint AS retained_wal_bytes, r.safe_wal_size,
		(pg_catalog.to_jsonb(r) ->> 'failover')::boolean AS failover,
		CASE WHEN pg_catalog.pg_is_in_recovery() THEN (pg_catalog.to_jsonb(r) ->> 'synced')::boolean AND NOT r.temporary
			WHEN (pg_catalog.to_jsonb(r) ->> 'failover')::boolean THEN EXISTS (SELECT FROM pg_catalog.pg_replication_slots y WHERE y.slot_type = 'physical'
				AND pg_catalog.age(y.catalog_xmin) >= pg_catalog.age(r.catalog_xmin)) END AS synced,
		r.confirmed_flush_lsn AS confirmed_lsn,
		s.collected AS collected_lsn,
		CASE WHEN s.database IS NOT NULL THEN greatest((d.wal - greatest(s.collected, p.reached))::bigint, 0) END AS lag_bytes,
		s.collected_at, s.last_commit,
		CASE WHEN d.wal <= greatest(s.collected, p.reached) THEN interval '0'
			ELSE pg_catalog.clock_timestamp() - greatest(s.collected_at, p.reached_at) END AS lag,
		p.error AS last_error, p.failed_at AS last_error_at
	FROM (SELECT oid AS database, datname, ('dynamo_table_' || oid::text)::name AS slot_name,
			CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_lsn() END AS wal
			FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) d
		LEFT JOIN dynamo_internal.stream_state s ON s.database = d.database
		LEFT JOIN dynamo_internal.stream_progress() p ON s.database IS NOT NULL
		LEFT JOIN pg_catalog.pg_replication_slots r ON r.slot_name = d.slot_name AND r.plugin = 'dynamo_table' AND r.database = d.datname;
COMMENT ON VIEW dynamo_internal.stream_slot IS 'the row of dyn_stream_slots of this node';
GRANT SELECT ON dynamo_internal.stream_slot TO PUBLIC;
CREATE FUNCTION dynamo_internal.stream_slots_of_nodes() RETURNS TABLE (node text, slot text)
	AS 'MODULE_PATHNAME', 'dyn_stream_slots_of_nodes' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.stream_slots_of_nodes() IS 'rows of dyn_stream_slots of the other nodes of Citus, as JSON';
CREATE VIEW dyn_stream_slots WITH (security_barrier) AS
	SELECT s.*, NULL::text AS node FROM dynamo_internal.stream_slot s
	UNION ALL SELECT s.*, n.node FROM dynamo_internal.stream_slots_of_nodes() n,
		pg_catalog.json_populate_record(NULL::dynamo_internal.stream_slot, n.slot::json) s;
COMMENT ON VIEW dyn_stream_slots IS 'whether changes of items are collected in this database, and how far, also of other nodes of Citus';
GRANT SELECT ON dyn_stream_slots TO PUBLIC;

CREATE FUNCTION dynamo_internal.stream_tables() RETURNS TABLE (relation regclass, stream_arn text, label text, view_type text, shards integer, status text,
		enabled_at timestamptz, disabled_at timestamptz, identity_suffices boolean, locked boolean)
	AS 'MODULE_PATHNAME', 'dyn_stream_tables' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.stream_tables() IS 'change streams of the tables that the caller may read';

CREATE VIEW dyn_streams AS SELECT * FROM dynamo_internal.stream_tables();
COMMENT ON VIEW dyn_streams IS 'change streams of the tables that the caller may read, or of all for pg_monitor';
GRANT SELECT ON dyn_streams TO PUBLIC;

-- streams: the collector

CREATE PROCEDURE dyn_collect_streams(INOUT collected bigint DEFAULT NULL)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_collect_streams(bigint) IS 'collect the changes of items that were committed; commits by itself';

-- streams: reading

CREATE FUNCTION dyn_stream_position() RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_stream_position() IS 'the position in all streams after which comes what commits from now on';

CREATE FUNCTION dyn_read_stream(table_name text, start_position text DEFAULT 'TRIM_HORIZON', shard bigint DEFAULT NULL,
		stream text DEFAULT NULL, max_records bigint DEFAULT 1000, max_wait interval DEFAULT NULL, format text DEFAULT NULL)
	RETURNS TABLE (sequence_number text, event_name text, keys dyn_item, new_image dyn_item, old_image dyn_item,
		committed_at timestamptz, expired boolean, incomplete boolean, shard bigint, size_bytes bigint, record json)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000;
COMMENT ON FUNCTION dyn_read_stream(text, text, bigint, text, bigint, interval, text) IS
	'records of changes of a table''s items, in the order of commits; with a format also as JSON, in the shape of DynamoDB''s events';

-- streams of distributed tables: what a node tells another about what it has collected, by the rights of the caller

CREATE FUNCTION dynamo_internal.stream_node_shards(distributed regclass, label bigint) RETURNS json
	AS 'MODULE_PATHNAME', 'dyn_stream_node_shards' LANGUAGE C VOLATILE PARALLEL UNSAFE STRICT;
COMMENT ON FUNCTION dynamo_internal.stream_node_shards(regclass, bigint) IS 'the shards of a distributed table''s stream on this node, or an error';

CREATE FUNCTION dynamo_internal.stream_node_records(distributed regclass, label bigint, shard oid, start_position text, max_records bigint, name text, region text)
	RETURNS json
	AS 'MODULE_PATHNAME', 'dyn_stream_node_records' LANGUAGE C VOLATILE PARALLEL UNSAFE STRICT;
COMMENT ON FUNCTION dynamo_internal.stream_node_records(regclass, bigint, oid, text, bigint, text, text) IS
	'records of such a shard as GetRecords has them, or an error';

-- entities

CREATE FUNCTION dyn_ksuid(at timestamptz DEFAULT NULL) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE FUNCTION dyn_ksuid_time(ksuid text) RETURNS timestamptz
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION dyn_ksuid(at timestamptz, bytes bytea) RETURNS text
	AS 'MODULE_PATHNAME', 'dyn_ksuid_of_bytes' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION dyn_ksuid_bytes(ksuid text) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dyn_ksuid(timestamptz) IS 'a new unique string that sorts by the second, of now or of a given time';
COMMENT ON FUNCTION dyn_ksuid_time(text) IS 'the second in which a KSUID was made';
COMMENT ON FUNCTION dyn_ksuid(timestamptz, bytea) IS 'the KSUID of a second and its other 16 bytes, or of all 20';
COMMENT ON FUNCTION dyn_ksuid_bytes(text) IS 'the 20 bytes of a KSUID';

CREATE FUNCTION dyn_to_value(value anyelement, type text DEFAULT NULL) RETURNS dyn_value
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dyn_to_value(anyelement, text) IS 'an SQL value as an attribute of an entity has it';

-- for statements of the extension's own, since no role can create an overload there
CREATE FUNCTION dynamo_internal.to_value(value anyelement, type text) RETURNS dyn_value
	AS 'MODULE_PATHNAME', 'dyn_to_value' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.to_value(anyelement, text) IS 'an SQL value as an attribute of an entity has it';

CREATE FUNCTION dynamo_internal.render(template text, vals dyn_item) RETURNS text
	AS 'MODULE_PATHNAME', 'dyn_render' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.render(text, dyn_item) IS 'what a key template makes of attributes; NULL if one of them is not there';

-- An untyped literal is a text: of a string's category among types that are not.  It has an order, as json has; jsonb has none.
CREATE FUNCTION dyn_create_entity(table_name text, entity text, keys jsonb, attributes text,
		type_attribute text DEFAULT 'Type', type_value text DEFAULT NULL, if_not_exists boolean DEFAULT false)
	RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION dyn_create_entity(table_name text, entity text, keys jsonb, attributes json,
		type_attribute text DEFAULT 'Type', type_value text DEFAULT NULL, if_not_exists boolean DEFAULT false)
	RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION dyn_create_entity(table_name text, entity text, keys jsonb, attributes jsonb,
		type_attribute text DEFAULT 'Type', type_value text DEFAULT NULL, if_not_exists boolean DEFAULT false)
	RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION dyn_drop_entity(table_name text, entity text) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION dyn_enforce_entities(table_name text, enabled boolean DEFAULT true) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION dyn_entities(table_name text, OUT entity text, OUT type_attribute text, OUT type_value text,
		OUT keys jsonb, OUT attributes json)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION dyn_create_entity(text, text, jsonb, text, text, text, boolean) IS
	'declare a kind of items: how their keys are made, and the types of their attributes';
COMMENT ON FUNCTION dyn_create_entity(text, text, jsonb, json, text, text, boolean) IS
	'declare a kind of items: how their keys are made, and the types of their attributes';
COMMENT ON FUNCTION dyn_create_entity(text, text, jsonb, jsonb, text, text, boolean) IS
	'declare a kind of items: how their keys are made, and the types of their attributes';
COMMENT ON FUNCTION dyn_drop_entity(text, text) IS 'forget what was declared of a kind of items; the items stay';
COMMENT ON FUNCTION dyn_enforce_entities(text, boolean) IS
	'refuse what is written and is none of the declared entities, or allow it again';
COMMENT ON FUNCTION dyn_entities(text) IS 'the entities that are declared of a table';

CREATE FUNCTION dyn_entity_keys(table_name text, entity text, attributes dyn_item) RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
CREATE FUNCTION dyn_entity_item(table_name text, entity text, attributes dyn_item) RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION dyn_entity_attributes(table_name text, item dyn_item) RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION dyn_entity_keys(text, text, dyn_item) IS 'the key attributes that an entity makes of others';
COMMENT ON FUNCTION dyn_entity_item(text, text, dyn_item) IS 'the item that dyn_put_entity() stores';
COMMENT ON FUNCTION dyn_entity_attributes(text, dyn_item) IS
	'an item by the names of its entity, without what the entity makes; NULL if it is of none';

CREATE FUNCTION dyn_put_entity(table_name text, entity text, attributes dyn_item, condition text DEFAULT NULL,
		names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL, return_values text DEFAULT 'NONE',
		return_values_on_condition_check_failure text DEFAULT 'NONE')
	RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION dyn_get_entity(table_name text, entity text, attributes dyn_item, consistent_read boolean DEFAULT false)
	RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED;
CREATE FUNCTION dyn_update_entity(table_name text, entity text, attributes dyn_item, update text DEFAULT NULL,
		condition text DEFAULT NULL, names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL,
		return_values text DEFAULT 'NONE', return_values_on_condition_check_failure text DEFAULT 'NONE')
	RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
CREATE FUNCTION dyn_delete_entity(table_name text, entity text, attributes dyn_item, condition text DEFAULT NULL,
		names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL, return_values text DEFAULT 'NONE',
		return_values_on_condition_check_failure text DEFAULT 'NONE')
	RETURNS dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_put_entity(text, text, dyn_item, text, jsonb, dyn_item, text, text) IS
	'store an item of an entity, with the keys that its attributes make';
COMMENT ON FUNCTION dyn_get_entity(text, text, dyn_item, boolean) IS
	'the item of an entity with the key that these attributes make, by the names of the entity';
COMMENT ON FUNCTION dyn_update_entity(text, text, dyn_item, text, text, jsonb, dyn_item, text, text) IS
	'change an item of an entity, and make its index keys again in the same step';
COMMENT ON FUNCTION dyn_delete_entity(text, text, dyn_item, text, jsonb, dyn_item, text, text) IS
	'delete the item of an entity with the key that these attributes make';

-- entity views

CREATE FUNCTION dynamo_internal.attribute(item dyn_item, name text, type text, sample anyelement) RETURNS anyelement
	AS 'MODULE_PATHNAME', 'dyn_attribute_value' LANGUAGE C STABLE PARALLEL SAFE COST 2;
COMMENT ON FUNCTION dynamo_internal.attribute(dyn_item, text, text, anyelement) IS 'an attribute of an item as a value of the sample''s type, or NULL';

CREATE FUNCTION dynamo_internal.domain_attribute(item dyn_item, name text, type text, sample anyarray) RETURNS anyelement
	AS 'MODULE_PATHNAME', 'dyn_attribute_value' LANGUAGE C STABLE PARALLEL SAFE COST 2;
COMMENT ON FUNCTION dynamo_internal.domain_attribute(dyn_item, text, text, anyarray) IS 'an attribute of an item as a value of the type of the sample''s elements, a domain, or NULL';

CREATE FUNCTION dynamo_internal.is_entity_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'dyn_is_entity_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.is_entity_support(internal) IS 'what the planner is told of dynamo_internal.is_entity()';

CREATE FUNCTION dynamo_internal.is_entity(item dyn_item, definition text, key "any") RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_is_entity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 8 SUPPORT dynamo_internal.is_entity_support;
COMMENT ON FUNCTION dynamo_internal.is_entity(dyn_item, text, "any") IS 'whether an item is one of an entity''s; in views that dyn_create_entity_view() makes';

CREATE FUNCTION dynamo_internal.is_entity_in_index(item dyn_item, definition text, key "any") RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_is_entity' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 8 SUPPORT dynamo_internal.is_entity_support;
COMMENT ON FUNCTION dynamo_internal.is_entity_in_index(dyn_item, text, "any") IS 'whether an item is in an index if it has the attributes of its keys; in views that dyn_create_entity_view() makes';

-- What plans have of the definition: the planner's support function puts it there, so that EXPLAIN shows the entity's name.
CREATE TYPE dynamo_internal.entity;
CREATE FUNCTION dynamo_internal.entity_in(cstring) RETURNS dynamo_internal.entity
	AS 'MODULE_PATHNAME', 'dyn_entity_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.entity_in(cstring) IS 'I/O';
CREATE FUNCTION dynamo_internal.entity_out(dynamo_internal.entity) RETURNS cstring
	AS 'MODULE_PATHNAME', 'dyn_entity_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.entity_out(dynamo_internal.entity) IS 'I/O';
CREATE TYPE dynamo_internal.entity (INPUT = dynamo_internal.entity_in, OUTPUT = dynamo_internal.entity_out, INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended);
COMMENT ON TYPE dynamo_internal.entity IS 'definition of an entity''s items as a constant in plans, shown by the entity''s name';

CREATE FUNCTION dynamo_internal.is_entity(item dyn_item, definition dynamo_internal.entity, key "any") RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_is_entity' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 8 SUPPORT dynamo_internal.is_entity_support;
COMMENT ON FUNCTION dynamo_internal.is_entity(dyn_item, dynamo_internal.entity, "any") IS 'whether an item is one of an entity''s; in plans';

CREATE FUNCTION dynamo_internal.is_entity_in_index(item dyn_item, definition dynamo_internal.entity, key "any") RETURNS boolean
	AS 'MODULE_PATHNAME', 'dyn_is_entity' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 8 SUPPORT dynamo_internal.is_entity_support;
COMMENT ON FUNCTION dynamo_internal.is_entity_in_index(dyn_item, dynamo_internal.entity, "any") IS 'whether an item is in an index if it has the attributes of its keys; in plans';

CREATE FUNCTION dynamo_internal.entity_key(sample anyelement, definition dynamo_internal.entity, parts integer, upper boolean, VARIADIC "values" "any") RETURNS anyelement
	AS 'MODULE_PATHNAME', 'dyn_entity_key' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.entity_key(anyelement, dynamo_internal.entity, integer, boolean, "any") IS 'what a key template makes of values; in conditions that the planner derives from dynamo_internal.is_entity()';

CREATE FUNCTION dynamo_internal.entity_key(sample anyelement, definition text, parts integer, upper boolean, VARIADIC "values" "any") RETURNS anyelement
	AS 'MODULE_PATHNAME', 'dyn_entity_key' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dynamo_internal.entity_key(anyelement, text, integer, boolean, "any") IS 'what a key template makes of values; in conditions that the planner derives from dynamo_internal.is_entity()';

CREATE FUNCTION dynamo_internal.entity_view_change() RETURNS trigger
	AS 'MODULE_PATHNAME', 'dyn_entity_view_change' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.entity_view_change() IS 'write to a view that dyn_create_entity_view() has made';

CREATE FUNCTION dyn_create_entity_view(table_name text, entity text, view_name text DEFAULT NULL, unnest text DEFAULT NULL, index_name text DEFAULT NULL, use_indexes boolean DEFAULT true)
	RETURNS regclass
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_create_entity_view(text, text, text, text, text, boolean) IS 'make a view of an entity''s items, with a typed column for each attribute';

CREATE FUNCTION dynamo_internal.draw_chart(cells text[], format text, width bigint, title text DEFAULT NULL, code boolean DEFAULT false)
	RETURNS SETOF text
	AS 'MODULE_PATHNAME', 'dyn_draw_chart' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 20;
COMMENT ON FUNCTION dynamo_internal.draw_chart(text[], text, bigint, text, boolean) IS
	'rows of cells as a table below its title, the header first, as text or Markdown, which may have cells of code';

-- For each index its title, its header, and the entities that have all of its keys: by templates, or by attributes of these names.
CREATE FUNCTION dyn_entity_chart(table_name text, format text DEFAULT 'text', width bigint DEFAULT 79) RETURNS SETOF text
	LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 20
BEGIN ATOMIC
	WITH description AS (SELECT dyn_describe_table(table_name) AS d),
	indexes AS (
		SELECT NULL::text AS title, d -> 'KeySchema'::text AS keys FROM description
		UNION ALL SELECT i ->> 'IndexName'::text, i -> 'KeySchema'::text
			FROM description, (VALUES ('GlobalSecondaryIndexes'::text), ('LocalSecondaryIndexes')) l (list), LATERAL pg_catalog.jsonb_array_elements(d -> list) i),
	keys AS (
		SELECT i.n AS index, i.title, k.n, k.key ->> 'AttributeName'::text AS name
			FROM (SELECT *, pg_catalog.row_number() OVER () AS n FROM indexes) i, LATERAL pg_catalog.jsonb_array_elements(i.keys) WITH ORDINALITY k (key, n)),
	entities AS (SELECT * FROM dyn_entities(table_name) WITH ORDINALITY e (entity, type_attribute, type_value, keys, attributes, place)),
	templates AS (
		SELECT e.place, e.entity, k.key AS name, CASE pg_catalog.jsonb_typeof(k.value) WHEN 'array'::text
			THEN (SELECT pg_catalog.string_agg(pg_catalog.concat(t ->> 'template'::text, ' if ' || (t -> 'when'::text)::dyn_item::json::text), ', or ' ORDER BY n)
				FROM pg_catalog.jsonb_array_elements(k.value) WITH ORDINALITY c (t, n)) ELSE k.value #>> '{}'::text[] END AS template
			FROM entities e, LATERAL pg_catalog.jsonb_each(e.keys) k
		UNION ALL SELECT e.place, e.entity, coalesce(a.value ->> 'stored'::text, a.key), pg_catalog.concat('<', a.key, '>')
			FROM entities e, LATERAL pg_catalog.json_each(e.attributes) a WHERE NOT e.keys ? coalesce(a.value ->> 'stored'::text, a.key)),
	headers AS (SELECT index, title, pg_catalog.array_agg(name ORDER BY n) AS names FROM keys GROUP BY index, title),
	cells AS (
		SELECT index, 0::bigint AS place, pg_catalog.array_prepend('Entity'::text, names) AS row FROM headers
		UNION ALL SELECT k.index, t.place, pg_catalog.array_prepend(t.entity, pg_catalog.array_agg(t.template ORDER BY k.n))
			FROM keys k JOIN templates t ON t.name = k.name JOIN headers h ON h.index = k.index GROUP BY k.index, t.place, t.entity, h.names
			HAVING pg_catalog.count(*)::integer = pg_catalog.cardinality(h.names))
	SELECT l.line FROM (SELECT index, pg_catalog.array_agg(row ORDER BY place) AS cells FROM cells GROUP BY index) c JOIN headers h ON h.index = c.index,
		LATERAL (SELECT ''::text, 0::bigint WHERE h.title IS NOT NULL
			UNION ALL SELECT * FROM dynamo_internal.draw_chart(c.cells, format, width, coalesce('Index ' || h.title, 'Main table'), true) WITH ORDINALITY) l (line, n)
		ORDER BY h.index, l.n;
END;
COMMENT ON FUNCTION dyn_entity_chart(text, text, bigint) IS 'the chart of a table''s entities and their keys, as text or Markdown';

CREATE FUNCTION dyn_check_entities(table_name text, max_problems bigint DEFAULT 1000)
	RETURNS TABLE (key dyn_item, entity text, problem text, detail text)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL UNSAFE ROWS 100;
COMMENT ON FUNCTION dyn_check_entities(text, bigint) IS 'items that are not what is declared, and views that are out of date';

-- access patterns

CREATE FUNCTION dyn_create_access_pattern(table_name text, access_pattern text, operation text, request jsonb, entity text DEFAULT NULL, notes text DEFAULT NULL)
	RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_create_access_pattern(text, text, text, jsonb, text, text) IS 'declare an access pattern: a request with a name and parameters';

CREATE FUNCTION dyn_drop_access_pattern(table_name text, access_pattern text) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_drop_access_pattern(text, text) IS 'remove an access pattern';

CREATE FUNCTION dyn_access_patterns(table_name text)
	RETURNS TABLE (entity text, access_pattern text, operation text, index_name text, parameters text[], notes text, request jsonb)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 20;
COMMENT ON FUNCTION dyn_access_patterns(text) IS 'a table''s access patterns';

CREATE FUNCTION dyn_access_pattern_chart(table_name text, format text DEFAULT 'text', width bigint DEFAULT 79) RETURNS SETOF text
	LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 20
BEGIN ATOMIC
	SELECT dynamo_internal.draw_chart(pg_catalog.array_cat(ARRAY['Entity', 'Access pattern', 'Index', 'Parameters', 'Notes'], (SELECT pg_catalog.array_agg(ARRAY[p.entity, p.access_pattern,
		coalesce(p.index_name, 'Main table'), pg_catalog.array_to_string(p.parameters, ', '), p.notes]) FROM dyn_access_patterns(table_name) p)), format, width);
END;
COMMENT ON FUNCTION dyn_access_pattern_chart(text, text, bigint) IS 'the chart of a table''s access patterns, as text or Markdown';

CREATE FUNCTION dyn_run_access_pattern(table_name text, access_pattern text, parameters dyn_item DEFAULT NULL) RETURNS SETOF dyn_item
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100;
COMMENT ON FUNCTION dyn_run_access_pattern(text, text, dyn_item) IS 'do what an access pattern says; returns items';

-- jobs

-- Work on a table in many transactions, its chunks, and its problems.  The functions reach these
-- tables with the rights of their owner; no other role has any, whatever default privileges are set.  They are not dumped: a job
-- that is begun again changes what is left to change.  A chunk is the keys after "position" up to and with "upper".
CREATE TABLE dynamo_internal.jobs (
	job bigint PRIMARY KEY,
	kind text NOT NULL,
	relation oid NOT NULL,
	name text NOT NULL,
	fingerprint bytea NOT NULL,
	role oid NOT NULL,
	steps text[] NOT NULL,
	expected bigint[] NOT NULL DEFAULT '{}',
	chunks bigint NOT NULL DEFAULT 0,
	started timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
	finished timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE dynamo_internal.jobs IS 'backfills, refreshes and migrations, finished ones for some days';
CREATE UNIQUE INDEX ON dynamo_internal.jobs (kind, relation, fingerprint) WHERE finished IS NULL;

CREATE TABLE dynamo_internal.job_chunks (
	job bigint NOT NULL,
	step integer NOT NULL,
	number bigint NOT NULL,
	position text[],
	upper text[],
	done bigint NOT NULL DEFAULT 0,
	skipped bigint NOT NULL DEFAULT 0,
	complete boolean NOT NULL DEFAULT false,
	worked interval NOT NULL DEFAULT '0',
	updated timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
	PRIMARY KEY (job, step, number)
) WITH (fillfactor = 50);
COMMENT ON TABLE dynamo_internal.job_chunks IS 'ranges of keys that jobs are divided into, and how far each is';
CREATE INDEX ON dynamo_internal.job_chunks (job, step, number) WHERE NOT complete;

CREATE TABLE dynamo_internal.job_notes (
	job bigint NOT NULL,
	step integer NOT NULL,
	what text NOT NULL,
	"row" text NOT NULL,
	message text NOT NULL,
	noted timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);
COMMENT ON TABLE dynamo_internal.job_notes IS 'rows that jobs could not deal with';
CREATE INDEX ON dynamo_internal.job_notes (job, step);

-- The jobs that the current user may see: it has the rights of the role that began the job, or owns the table.  A session that takes part has a lock on
-- the job, and one on the chunk that it works on; 17498 is their class.  The rate is that of the sessions at work.
CREATE VIEW dynamo_internal.job_steps WITH (security_barrier) AS
	SELECT j.job, j.kind, j.relation::regclass AS relation, j.name, s.number::integer AS number, s.step,
		CASE WHEN j.finished IS NOT NULL OR (w.cut AND w.open = 0) THEN 'finished' WHEN w.sessions > 0 THEN 'running'
			WHEN w.chunks IS NULL THEN 'waiting' ELSE 'interrupted' END AS state,
		coalesce(w.done, 0) AS rows_done, coalesce(w.skipped, 0) AS rows_skipped, j.expected[s.number] AS rows_expected,
		coalesce(p.problems, 0) AS problems, pg_catalog.round(w.rate::numeric, 1) AS rate,
		CASE WHEN w.rate > '0' AND j.expected[s.number] IS NOT NULL THEN pg_catalog.date_trunc('second',
			pg_catalog.make_interval(secs => greatest(j.expected[s.number] - w.done - w.skipped, 0)::float8 / w.rate)) END AS time_left,
		coalesce(w.sessions, 0) AS sessions, w.pids, j.started AS started_at, w.updated AS updated_at, j.finished AS finished_at
	FROM dynamo_internal.jobs j JOIN pg_catalog.pg_class c ON c.oid = j.relation
		CROSS JOIN LATERAL pg_catalog.unnest(j.steps) WITH ORDINALITY s (step, number)
		LEFT JOIN (SELECT k.job, k.step, pg_catalog.count(*) AS chunks, pg_catalog.bool_or(k.upper IS NULL) AS cut,
				pg_catalog.count(*) FILTER (WHERE NOT k.complete) AS open,
				pg_catalog.sum(k.done)::bigint AS done, pg_catalog.sum(k.skipped)::bigint AS skipped, pg_catalog.max(k.updated) AS updated,
				pg_catalog.count(l.objid) AS sessions, pg_catalog.array_agg(l.pid) FILTER (WHERE l.pid IS NOT NULL) AS pids,
				CASE WHEN pg_catalog.count(l.objid) > 0 THEN pg_catalog.sum(k.done + k.skipped)::float8
					/ nullif(EXTRACT(epoch FROM pg_catalog.sum(k.worked)), '0')::float8 * pg_catalog.count(l.objid)::float8 END AS rate
			FROM dynamo_internal.job_chunks k LEFT JOIN pg_catalog.pg_locks l ON l.locktype = 'advisory' AND l.granted AND l.objsubid = 17498
				AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
				AND l.classid::bigint = k.job AND l.objid::bigint = k.number
			GROUP BY k.job, k.step) w ON w.job = j.job AND w.step = s.number
		LEFT JOIN (SELECT n.job, n.step, pg_catalog.count(*) AS problems FROM dynamo_internal.job_notes n GROUP BY n.job, n.step) p
			ON p.job = j.job AND p.step = s.number
	WHERE pg_catalog.pg_has_role(j.role, 'USAGE') OR pg_catalog.pg_has_role(c.relowner, 'USAGE')
		OR pg_catalog.pg_has_role('pg_monitor', 'USAGE');
COMMENT ON VIEW dynamo_internal.job_steps IS 'backfills, refreshes, regroupings and migrations that were begun';
GRANT SELECT ON dynamo_internal.job_steps TO PUBLIC;

CREATE FUNCTION dynamo_internal.migration_steps() RETURNS TABLE (relation regclass, name text, number integer, step text, followed boolean)
	AS 'MODULE_PATHNAME', 'dyn_list_migration_steps' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.migration_steps() IS 'steps of migrations into the tables that the caller may read';

-- What creates and drops indexes and time to live shows its progress as CREATE INDEX does, by a number that no command has.
CREATE VIEW dyn_jobs AS
	SELECT j.job, coalesce(j.kind, 'migration') AS kind, coalesce(j.relation, m.relation) AS relation, coalesce(j.name, m.name) AS name,
		coalesce(j.number, m.number) AS number, coalesce(j.step, m.step) AS step, coalesce(j.state, 'not begun') AS state,
		j.rows_done, j.rows_skipped, j.rows_expected, CASE WHEN j.state = 'finished' THEN '100' WHEN j.rows_expected > 0 THEN least('100',
			pg_catalog.round('100' * (j.rows_done + j.rows_skipped)::numeric / j.rows_expected::numeric, 1)) END AS percent,
		j.problems, j.rate, j.time_left, j.sessions, j.pids, j.started_at, j.updated_at, j.finished_at, m.followed
	FROM dynamo_internal.job_steps j FULL JOIN dynamo_internal.migration_steps() m
		ON CASE j.kind WHEN 'migration' THEN j.name END = m.name AND j.relation::oid = m.relation::oid AND j.step = m.step
	UNION ALL
	SELECT NULL, CASE s.param20 WHEN 1 THEN 'time to live' ELSE 'index' END, s.relid::regclass, NULL, s.param18::integer,
		CASE s.param18 WHEN 1 THEN 'declaring columns' WHEN 2 THEN 'filling columns'
			WHEN 3 THEN 'filling columns of items that were locked' WHEN 4 THEN 'vacuuming'
			WHEN 5 THEN 'validating columns' WHEN 6 THEN 'building'
			WHEN 7 THEN 'activating' WHEN 8 THEN 'dropping' END, 'running',
		s.param13, NULL, NULL, CASE WHEN s.param16 > 0 THEN least('100', pg_catalog.round('100' * s.param17::numeric / s.param16::numeric, 1)) END,
		s.param19, NULL, NULL, 1, ARRAY[s.pid], NULL, NULL, NULL, NULL
	FROM pg_catalog.pg_stat_get_progress_info('CREATE INDEX') s JOIN pg_catalog.pg_database d ON d.oid = s.datid
	WHERE s.param1 = 4479310 AND d.datname = pg_catalog.current_database()
	ORDER BY 1, 4, 5;
COMMENT ON VIEW dyn_jobs IS
	'backfills, refreshes, regroupings, migrations, and the creation and removal of indexes and of time to live: how far they are';
GRANT SELECT ON dyn_jobs TO PUBLIC;

CREATE VIEW dyn_job_problems WITH (security_barrier) AS
	SELECT j.job, j.kind, j.relation::regclass AS relation, j.name, j.steps[n.step] AS step, n.what, n."row" AS source_row, n.message AS problem, n.noted AS noted_at
	FROM dynamo_internal.jobs j JOIN pg_catalog.pg_class c ON c.oid = j.relation JOIN dynamo_internal.job_notes n ON n.job = j.job
	WHERE pg_catalog.pg_has_role(j.role, 'USAGE') OR pg_catalog.pg_has_role(c.relowner, 'USAGE');
COMMENT ON VIEW dyn_job_problems IS 'rows that backfills, refreshes and migrations could not deal with';
GRANT SELECT ON dyn_job_problems TO PUBLIC;
-- import and export

CREATE FUNCTION dyn_import_lines(table_name text, lines text, condition text DEFAULT NULL, names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL,
		on_conflict text DEFAULT 'replace', on_error text DEFAULT 'stop', format text DEFAULT 'auto', types jsonb DEFAULT NULL,
		delimiter text DEFAULT NULL, header text DEFAULT NULL, from_table text DEFAULT NULL, from_keys boolean DEFAULT false,
		OUT items bigint, OUT written bigint, OUT kept bigint, OUT skipped bigint, OUT errors jsonb)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_import_lines(text, text, text, jsonb, dyn_item, text, text, text, jsonb, text, text, text, boolean) IS
	'put the items of lines of JSON, of CSV or of a JSON document into a table';

CREATE PROCEDURE dyn_import(table_name text, source regclass, column_name text DEFAULT NULL, condition text DEFAULT NULL,
		names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL, batch_size bigint DEFAULT NULL,
		on_conflict text DEFAULT 'replace', on_error text DEFAULT 'stop', format text DEFAULT 'auto', types jsonb DEFAULT NULL,
		delimiter text DEFAULT NULL, header text DEFAULT NULL, from_table text DEFAULT NULL, refused regclass DEFAULT NULL,
		from_keys boolean DEFAULT false, INOUT items bigint DEFAULT NULL, INOUT written bigint DEFAULT NULL, INOUT kept bigint DEFAULT NULL, INOUT skipped bigint DEFAULT NULL,
		INOUT errors jsonb DEFAULT NULL)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_import(text, regclass, text, text, jsonb, dyn_item, bigint, text, text, text, jsonb, text, text, text, regclass,
	boolean, bigint, bigint, bigint, bigint, jsonb) IS
	'put the items of lines or of a file, which are rows of another table, into a table; commits by itself';

CREATE FUNCTION dyn_export(table_name text, entity text DEFAULT NULL, filter text DEFAULT NULL, names jsonb DEFAULT NULL,
		vals dyn_item DEFAULT NULL, wrapped boolean DEFAULT true)
	RETURNS SETOF text
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION dyn_export(text, text, text, jsonb, dyn_item, boolean) IS
	'the items of a table, or of an entity, as lines of DynamoDB JSON, in the order of their keys';

CREATE PROCEDURE dyn_backfill(table_name text, update text, filter text, condition text DEFAULT NULL, names jsonb DEFAULT NULL,
		vals dyn_item DEFAULT NULL, batch_size bigint DEFAULT 500, max_rate bigint DEFAULT NULL, restart boolean DEFAULT false,
		wait boolean DEFAULT true, from_keys boolean DEFAULT false)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_backfill(text, text, text, text, jsonb, dyn_item, bigint, bigint, boolean, boolean, boolean) IS
	'update all items that a filter takes, in many transactions; commits by itself';

CREATE PROCEDURE dyn_refresh_entity(table_name text, entity text, batch_size bigint DEFAULT 500, max_rate bigint DEFAULT NULL,
		restart boolean DEFAULT false, wait boolean DEFAULT true, from_keys boolean DEFAULT false)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_refresh_entity(text, text, bigint, bigint, boolean, boolean, boolean) IS
	'give all items of an entity the keys that its templates make now, and the copies that it declares, in many transactions; commits by itself';

CREATE PROCEDURE dyn_regroup(table_name text, max_rate bigint DEFAULT NULL, restart boolean DEFAULT false)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_regroup(text, bigint, boolean) IS
	'move the items of collections that lie on many pages to fewer, in many transactions; commits by itself';

-- migrations

CREATE FUNCTION dyn_create_migration(table_name text, migration text, steps jsonb) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_create_migration(text, text, jsonb) IS 'declare how rows of relations become items of a table';

CREATE FUNCTION dyn_drop_migration(migration text) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_drop_migration(text) IS 'remove the declaration of a migration; its items stay';

CREATE PROCEDURE dyn_migrate(migration text, step text DEFAULT NULL, batch_size bigint DEFAULT NULL, restart boolean DEFAULT false,
		wait boolean DEFAULT true)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE dyn_migrate(text, text, bigint, boolean, boolean) IS 'make items of rows, in batches, or go on with that; commits by itself';

CREATE FUNCTION dynamo_internal.migration_items(migration text, step text DEFAULT NULL)
	RETURNS TABLE (step text, source_row text, key dyn_item, item dyn_item, problem text)
	AS 'MODULE_PATHNAME', 'dyn_migration_items' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100000;
COMMENT ON FUNCTION dynamo_internal.migration_items(text, text) IS 'the items that rows make, and what is wrong with rows';

CREATE FUNCTION dynamo_internal.migration_key(migration text, item dyn_item, any_entity boolean) RETURNS dyn_item
	AS 'MODULE_PATHNAME', 'dyn_migration_key' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION dynamo_internal.migration_key(text, dyn_item, boolean) IS 'the key of an item of a migration''s entities';

CREATE FUNCTION dyn_preview_migration(migration text, samples bigint DEFAULT 3)
	RETURNS TABLE (step text, entity text, source_row text, item dyn_item, problem text)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20;
COMMENT ON FUNCTION dyn_preview_migration(text, bigint) IS 'samples of the items that a migration would make, or all of them, and all problems';

CREATE FUNCTION dyn_verify_migration(migration text)
	RETURNS TABLE (step text, entity text, source_row text, key dyn_item, difference text)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100;
COMMENT ON FUNCTION dyn_verify_migration(text) IS 'rows whose items are missing or different, and items that no row makes';

CREATE FUNCTION dyn_propose_migration(target text, sources text[], owners jsonb DEFAULT NULL, queries text[] DEFAULT NULL) RETURNS SETOF text
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 50;
COMMENT ON FUNCTION dyn_propose_migration(text, text[], jsonb, text[]) IS
	'SQL that makes one table of items of relational tables, to be read, edited and run';

CREATE FUNCTION dyn_follow_migration(migration text, enabled boolean DEFAULT true) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_follow_migration(text, boolean) IS
	'keep items in step with the tables that a migration reads, by triggers, or no longer';

CREATE FUNCTION dynamo_internal.migration_changed() RETURNS trigger
	AS 'MODULE_PATHNAME', 'dyn_migration_changed' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.migration_changed() IS 'trigger of followed tables, which makes items again';

CREATE FUNCTION dynamo_internal.migration_truncated() RETURNS trigger
	AS 'MODULE_PATHNAME', 'dyn_migration_truncated' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.migration_truncated() IS 'trigger of followed tables, which refuses TRUNCATE';

-- leaving

CREATE FUNCTION dyn_detach(table_name text, format text DEFAULT 'jsonb', dry_run boolean DEFAULT false) RETURNS SETOF text
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20;
COMMENT ON FUNCTION dyn_detach(text, text, boolean) IS
	'make a table of items an ordinary table in place, which needs nothing of the extension; returns what is done, or with dry_run what would be';

-- requests

CREATE FUNCTION dyn_request(operation text, request text) RETURNS json
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
CREATE FUNCTION dyn_request(operation text, request json) RETURNS json
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
CREATE FUNCTION dyn_request(operation text, request jsonb) RETURNS json
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE RETURN dyn_request(operation, request::text);
COMMENT ON FUNCTION dyn_request(text, text) IS 'an operation of DynamoDB''s low-level API, word for word';
COMMENT ON FUNCTION dyn_request(text, json) IS 'an operation of DynamoDB''s low-level API, word for word';
COMMENT ON FUNCTION dyn_request(text, jsonb) IS 'an operation of DynamoDB''s low-level API, word for word';

-- gateways

-- A request of a gateway is one statement: SELECT dynamo_internal.request_as($1, $2, $3, $4).  A role becomes a gateway's login by
-- GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO ...
CREATE FUNCTION dynamo_internal.request_as(key_role regrole, operation text, request text, region text DEFAULT '',
		tables text[] DEFAULT '{}') RETURNS json
	AS 'MODULE_PATHNAME', 'dyn_request_as' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.request_as(regrole, text, text, text, text[]) IS
	'dyn_request with the rights of a role that the session user may set, for gateways; leaves nothing of the role in the session';

-- What a gateway asks whether it has to read Citus' catalogs again: a count of this session's.
CREATE FUNCTION dynamo_internal.gateway_changes() RETURNS bigint
	AS 'MODULE_PATHNAME', 'dyn_gateway_changes' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.gateway_changes() IS
	'number of changes of relations, schemas and roles that this session has been told of since its first call';

-- access keys of gateways

-- Whose key it is, and its secret, encrypted by the gateway's program.  A key is usable as long as a role has both the name and
-- the OID.  The functions reach the table with the rights of its owner; no other role has any, whatever default privileges are set.
CREATE TABLE dynamo_internal.access_key (
	key_id text COLLATE "C" PRIMARY KEY CHECK (key_id ~ '^[A-Za-z0-9_]{1,128}$'),
	role name NOT NULL,
	role_oid oid,
	encrypted_secret bytea NOT NULL CHECK (pg_catalog.length(encrypted_secret) BETWEEN 1 AND 1024),
	enabled boolean NOT NULL DEFAULT true,
	valid_until timestamptz NOT NULL DEFAULT 'infinity',
	created_at timestamptz NOT NULL DEFAULT pg_catalog.now()
);
COMMENT ON TABLE dynamo_internal.access_key IS 'access keys of gateways, and the roles that they stand for';

CREATE FUNCTION dynamo_internal.access_key_role() RETURNS trigger
	AS 'MODULE_PATHNAME', 'dyn_access_key_role' LANGUAGE C;
COMMENT ON FUNCTION dynamo_internal.access_key_role() IS 'binds an access key to the role that has the name now';
CREATE TRIGGER access_key_role BEFORE INSERT OR UPDATE OF role ON dynamo_internal.access_key
	FOR EACH ROW EXECUTE FUNCTION dynamo_internal.access_key_role();

CREATE FUNCTION dynamo_internal.access_key_changed() RETURNS trigger
	AS 'MODULE_PATHNAME', 'dyn_access_key_changed' LANGUAGE C;
COMMENT ON FUNCTION dynamo_internal.access_key_changed() IS 'tells gateways that access keys have changed: NOTIFY dynamo_access_key';
CREATE TRIGGER access_key_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON dynamo_internal.access_key
	FOR EACH STATEMENT EXECUTE FUNCTION dynamo_internal.access_key_changed();

-- What gateways read.
CREATE FUNCTION dynamo_internal.gateway_keys(OUT key_id text, OUT role oid, OUT role_name name, OUT encrypted_secret bytea, OUT enabled boolean,
		OUT valid_until timestamptz) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'dyn_gateway_keys' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.gateway_keys() IS 'access keys that can be used, with their encrypted secrets, for gateways';

CREATE FUNCTION dyn_create_access_key(key_id text, role regrole, encrypted_secret bytea, enabled boolean DEFAULT true,
		valid_until timestamptz DEFAULT 'infinity') RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_create_access_key(text, regrole, bytea, boolean, timestamptz) IS
	'create an access key, with which a gateway''s callers act as a role; its secret is encrypted by the gateway''s program';

-- for gateways' own programs, since no role can rename this schema, or create an overload there
CREATE FUNCTION dynamo_internal.create_access_key(key_id text, role regrole, encrypted_secret bytea, enabled boolean, valid_until timestamptz) RETURNS void
	AS 'MODULE_PATHNAME', 'dyn_create_access_key' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dynamo_internal.create_access_key(text, regrole, bytea, boolean, timestamptz) IS 'dyn_create_access_key of dynamo_gateway --setup and --create-key';

CREATE FUNCTION dyn_alter_access_key(key_id text, enabled boolean DEFAULT NULL, valid_until timestamptz DEFAULT NULL) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_alter_access_key(text, boolean, timestamptz) IS 'enable or disable an access key, or set until when it is valid';

CREATE FUNCTION dyn_drop_access_key(key_id text) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dyn_drop_access_key(text) IS 'drop an access key';

-- A dump has no keys: of the tables above nobody but the owner may copy rows, and each dump would fail.
-- They are exported by name and OID of the role: in another cluster, which has other OIDs, the name alone counts.
CREATE VIEW dynamo_internal.exported_keys WITH (security_barrier) AS
	SELECT k.key_id, k.role, k.role_oid, s.system_identifier::text AS cluster, k.encrypted_secret, k.enabled, k.valid_until
	FROM dynamo_internal.access_key k JOIN pg_catalog.pg_roles r ON r.oid = k.role_oid AND r.rolname = k.role, pg_catalog.pg_control_system() s
	WHERE NOT r.rolsuper AND pg_catalog.pg_has_role(r.oid, 'MEMBER WITH ADMIN OPTION');
COMMENT ON VIEW dynamo_internal.exported_keys IS 'access keys that can be used, of the roles whose keys the caller could create';
GRANT SELECT ON dynamo_internal.exported_keys TO PUBLIC;
CREATE FUNCTION dyn_export_access_keys() RETURNS jsonb LANGUAGE sql VOLATILE PARALLEL UNSAFE
	RETURN (SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.to_jsonb(k) ORDER BY k.key_id), '[]') FROM dynamo_internal.exported_keys k);
COMMENT ON FUNCTION dyn_export_access_keys() IS 'the usable access keys that the caller could create, with their encrypted secrets';
CREATE FUNCTION dyn_import_access_keys(keys jsonb) RETURNS bigint LANGUAGE sql VOLATILE PARALLEL UNSAFE BEGIN ATOMIC
	SELECT pg_catalog.count(*)
	FROM pg_catalog.jsonb_to_recordset(keys) k (key_id text, role text, role_oid oid, cluster text, encrypted_secret bytea, enabled boolean,
			valid_until timestamptz), pg_catalog.pg_control_system() s,
		LATERAL (SELECT pg_catalog.quote_ident(k.role)::pg_catalog.regrole AS found) r,
		LATERAL dyn_create_access_key(k.key_id, CASE WHEN k.cluster IS DISTINCT FROM s.system_identifier::text OR r.found::oid = k.role_oid
			THEN r.found END, k.encrypted_secret, k.enabled, k.valid_until);
END;
COMMENT ON FUNCTION dyn_import_access_keys(jsonb) IS 'create the access keys of an export, of roles with the same names';

-- A barrier: keys of others are not for functions in a query's conditions.
CREATE VIEW dyn_access_keys WITH (security_barrier) AS
	SELECT k.key_id, k.role,
		CASE WHEN r.oid IS NULL THEN 'role missing' WHEN r.rolsuper THEN 'role is superuser' WHEN NOT k.enabled THEN 'disabled'
			WHEN k.valid_until <= pg_catalog.now() THEN 'expired' ELSE 'active' END AS state,
		k.enabled, k.valid_until, k.created_at
	FROM dynamo_internal.access_key k LEFT JOIN pg_catalog.pg_roles r ON r.oid = k.role_oid AND r.rolname = k.role
	WHERE pg_catalog.pg_has_role(r.oid, 'MEMBER') OR EXISTS (SELECT FROM pg_catalog.pg_roles u WHERE u.rolname = current_user AND u.rolsuper);
COMMENT ON VIEW dyn_access_keys IS 'access keys of the roles that the caller is a member of, or of all for superusers';
GRANT SELECT ON dyn_access_keys TO PUBLIC;

-- rights

-- Of what is internal PUBLIC may execute what is executed with the privileges of whoever uses a table, or makes one: functions of
-- constraints, triggers, views, operators, casts and of statements that the extension makes.  The rest the server alone calls, and
-- asks nobody's privileges then.
REVOKE ALL ON ALL ROUTINES IN SCHEMA dynamo_internal FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
	-- constraints, triggers and policies
	dynamo_internal.key_granted, dynamo_internal.keys_match, dynamo_internal.shard_takes, dynamo_internal.entries_kept, dynamo_internal.derive_keys, dynamo_internal.model_check,
	dynamo_internal.keep_vectors, dynamo_internal.vectors_truncated, dynamo_internal.vector_entries,
	dynamo_internal.entity_view_change, dynamo_internal.migration_changed, dynamo_internal.migration_truncated,
	-- views
	dynamo_internal.attribute, dynamo_internal.domain_attribute, dynamo_internal.is_entity(dyn_item, text, "any"), dynamo_internal.is_entity(dyn_item, dynamo_internal.entity, "any"),
	dynamo_internal.is_entity_in_index(dyn_item, text, "any"), dynamo_internal.is_entity_in_index(dyn_item, dynamo_internal.entity, "any"),
	dynamo_internal.entity_key(anyelement, text, integer, boolean, "any"), dynamo_internal.entity_key(anyelement, dynamo_internal.entity, integer, boolean, "any"),
	dynamo_internal.tables, dynamo_internal.key_grants, dynamo_internal.ttl_tables,
	dynamo_internal.ttl_due, dynamo_internal.operations, dynamo_internal.stream_tables, dynamo_internal.stream_progress, dynamo_internal.stream_slots_of_nodes,
	dynamo_internal.stream_node_shards,
	dynamo_internal.stream_node_records, dynamo_internal.migration_steps,
	-- statements
	dynamo_internal.to_value, dynamo_internal.store_change, dynamo_internal.keys_missing, dynamo_internal.fill_shard, dynamo_internal.scan_shard, dynamo_internal.get_items, dynamo_internal.check_vectors, dynamo_internal.nearest, dynamo_internal.vector_distance, dynamo_internal.shard_sizes, dynamo_internal.wake_sweepers,
	dynamo_internal.coordinator_request, dynamo_internal.draw_chart,
	dynamo_internal.migration_key, dynamo_internal.migration_items,
	-- types, casts, operators and what sorts and hashes by them
	dynamo_internal.item_in, dynamo_internal.item_out, dynamo_internal.item_recv, dynamo_internal.item_send,
	dynamo_internal.value_in, dynamo_internal.value_out, dynamo_internal.value_recv, dynamo_internal.value_send,
	dynamo_internal.get_attribute(dyn_item, text), dynamo_internal.get_attribute(dyn_value, text),
	dynamo_internal.has_attribute(dyn_item, text), dynamo_internal.has_attribute(dyn_value, text),
	dynamo_internal.get_attribute_text(dyn_item, text), dynamo_internal.get_attribute_text(dyn_value, text),
	dynamo_internal.get_path(dyn_item, text[]), dynamo_internal.get_path(dyn_value, text[]),
	dynamo_internal.get_path_text(dyn_item, text[]), dynamo_internal.get_path_text(dyn_value, text[]),
	dynamo_internal.get_element, dynamo_internal.get_element_text,
	dynamo_internal.item_from_json, dynamo_internal.item_from_jsonb, dynamo_internal.item_to_json, dynamo_internal.item_to_jsonb,
	dynamo_internal.items_from_json, dynamo_internal.items_from_jsonb, dynamo_internal.items_from_text,
	dynamo_internal.values_from_json, dynamo_internal.values_from_jsonb,
	dynamo_internal.value_to_json, dynamo_internal.value_to_jsonb, dynamo_internal.value_to_numeric, dynamo_internal.value_to_integer,
	dynamo_internal.value_to_bigint, dynamo_internal.value_to_float, dynamo_internal.value_to_boolean, dynamo_internal.item_eq, dynamo_internal.item_ne,
	dynamo_internal.item_lt, dynamo_internal.item_le, dynamo_internal.item_gt, dynamo_internal.item_ge, dynamo_internal.item_cmp,
	dynamo_internal.item_hash, dynamo_internal.item_hash_extended, dynamo_internal.value_eq, dynamo_internal.value_ne,
	dynamo_internal.value_lt, dynamo_internal.value_le, dynamo_internal.value_gt, dynamo_internal.value_ge, dynamo_internal.value_cmp,
	dynamo_internal.value_hash, dynamo_internal.value_hash_extended,
	dynamo_internal.value_eq_numeric, dynamo_internal.value_ne_numeric, dynamo_internal.value_lt_numeric, dynamo_internal.value_le_numeric,
	dynamo_internal.value_gt_numeric, dynamo_internal.value_ge_numeric,
	-- gateways' own programs, by those who could grant the key's role
	dynamo_internal.create_access_key,
	-- gateways
	dynamo_internal.gateway_changes
	TO PUBLIC;
GRANT EXECUTE ON PROCEDURE dynamo_internal.resume_index, dynamo_internal.resume_ttl, dynamo_internal.sweep_shards TO PUBLIC;

-- What follows creates nothing in the extension's schema, in which others may have functions and operators by the names of those
-- that it calls.
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

-- Only the owner has privileges on the tables above and on routines of dynamo_internal that not everybody may execute, and may create
-- what that schema has; what default privileges have granted is revoked.  A role that is granted SELECT later, with all tables of a
-- schema, sees no row: there is no policy, and the owner needs none.
DO $$
DECLARE
	object record;
	grantee text;
BEGIN
	FOR object IN SELECT o.* FROM pg_depend d JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
		JOIN (SELECT tableoid AS class, oid, 'TABLE' AS kind, oid::regclass::text AS name, 'ALL' AS rights, relacl AS acl, relowner AS owner
				FROM pg_class WHERE relkind IN ('r', 'p')
			UNION ALL SELECT tableoid, oid, 'ROUTINE', oid::regprocedure::text, 'ALL', proacl, proowner
				FROM pg_proc WHERE pronamespace = 'dynamo_internal'::regnamespace
					AND NOT EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) a WHERE a.grantee = 0)
			UNION ALL SELECT tableoid, oid, 'SCHEMA', quote_ident(nspname), 'CREATE', nspacl, nspowner FROM pg_namespace) o
			ON d.classid = o.class AND d.objid = o.oid
		WHERE e.extname = 'dynamo_table' AND d.deptype = 'e'
	LOOP
		FOR grantee IN SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
			FROM aclexplode(object.acl) a WHERE a.grantee <> object.owner
		LOOP
			EXECUTE format('REVOKE %s ON %s %s FROM %s CASCADE', object.rights, object.kind, object.name, grantee);
		END LOOP;
		IF object.kind = 'TABLE' THEN
			EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', object.name);
		END IF;
	END LOOP;
END $$;
