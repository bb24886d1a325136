-- Every feature with one name for all that has a name: psql's variable n.  Names of relations that must differ from the table's begin with v and s.
\set QUIET on
\set ON_ERROR_STOP on
\pset format unaligned
\pset tuples_only on
SET client_min_messages = error;
SELECT 'v' || :'n' AS v, 's' || :'n' AS s, quote_ident('i' || :'n') AS i \gset
-- from 19 on names of roles are in one line, and the schema with the role's name is named by the path only if it is the same
SELECT translate(:'n', E'\n\r', '  ') AS role \gset
CREATE ROLE :"role" LOGIN;
SELECT format('ALTER ROLE %I SET search_path = %I, public', :'role', :'n') WHERE :'role' <> :'n' \gexec
GRANT CREATE ON DATABASE :"DBNAME" TO :"role";
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO :"role";
SELECT set_config('search_path', concat_ws(', ', quote_ident(:'n'), quote_ident(nspname::text), 'public'), false) AS path
	FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'dynamo_table' \gset
CALL dyn_setup_streams();
-- so that one is made while the role is given rights on what is created
SELECT format('ALTER EXTENSION dynamo_table DROP TABLE %1$s; DROP TABLE %1$s', inhrelid::regclass) FROM pg_inherits
	WHERE inhparent = 'dynamo_internal.stream_records'::regclass \gexec
SET SESSION AUTHORIZATION :"role";
CREATE SCHEMA :"n";

-- tables and indexes
SELECT dyn_create_table('fresh', :'n' || ' S', :'s' || ' S',
	global_indexes => jsonb_build_object('GSI', jsonb_build_object('partition_key', :'v' || ' S', 'projection', 'INCLUDE', 'non_key_attributes',
		jsonb_build_array('a' || :'n'))),
	local_indexes => jsonb_build_object('LSI', jsonb_build_object('sort_key', :'v' || ' S'))) AS done \gset
ALTER TABLE fresh RENAME TO :"n";
CALL dyn_create_index(:'n', 'NEW', 'a' || :'n' || ' S', :'v' || ' S');
SELECT indexrelid::regclass AS index FROM pg_index WHERE indrelid = quote_ident(:'n')::regclass AND indisprimary \gset
ALTER INDEX :index RENAME TO :i;
SELECT dyn_enable_stream(:'n', 'NEW_AND_OLD_IMAGES') AS done \gset
SELECT dyn_describe_table(:'n') IS NOT NULL AS described;
SELECT dyn_alter_table(:'n', '{"placement": false}'), dyn_alter_table(:'n', '{"placement": true}');
SELECT dyn_request('DescribeTable', json_build_object('TableName', :'n')) -> 'Table' ->> 'TableName' = :'n' AS request;
SELECT dyn_request('TagResource', json_build_object('ResourceArn', dyn_request('DescribeTable', json_build_object('TableName', :'n')) -> 'Table' ->> 'TableArn',
	'Tags', json_build_array(json_build_object('Key', 'k', 'Value', 'v')))) IS NOT NULL AS tagged;

-- items: one of each, by its number
CREATE FUNCTION key_of(i int, name text) RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_build_object(name, 'ROW#' || i, 's' || name, '#') $$;
CREATE FUNCTION item_of(i int, name text) RETURNS jsonb LANGUAGE sql AS $$ SELECT key_of(i, name) ||
	jsonb_build_object('v' || name, 'w' || i, 'a' || name, name, 'Id', i, 'Type', name) $$;
SELECT count(dyn_put(:'n', item_of(i, :'n'))) FROM generate_series(1, 3) i;
SELECT dyn_get(:'n', key_of(1, :'n')) ->> ('a' || :'n') = :'n' AS got;
SELECT dyn_update(:'n', key_of(1, :'n'), 'SET #a = :v', condition => '#a = :v', names => jsonb_build_object('#a', 'a' || :'n'),
	vals => jsonb_build_object(':v', :'n'), return_values => 'ALL_NEW') ->> ('a' || :'n') = :'n' AS updated;
SELECT count(*) AS by_key FROM dyn_query(:'n', '#k = :k', names => jsonb_build_object('#k', :'n', '#a', 'a' || :'n'),
	vals => jsonb_build_object(':k', 'ROW#2', ':a', :'n'), filter => '#a = :a', projection => '#a');
SELECT count(*) AS by_global FROM dyn_query(:'n', '#k = :k', names => jsonb_build_object('#k', :'v'), vals => '{":k": {"S": "w2"}}', index_name => 'GSI');
SELECT count(*) AS by_local FROM dyn_query(:'n', '#p = :p AND #k = :k', names => jsonb_build_object('#p', :'n', '#k', :'v'),
	vals => '{":p": {"S": "ROW#2"}, ":k": {"S": "w2"}}', index_name => 'LSI');
SELECT count(*) AS by_new FROM dyn_query(:'n', '#k = :k', names => jsonb_build_object('#k', 'a' || :'n'), vals => jsonb_build_object(':k', :'n'),
	index_name => 'NEW');
SELECT count(*) AS scanned FROM dyn_scan(:'n', index_name => 'GSI');
SELECT item_count AS page FROM dyn_query_page(:'n', '#k = :k', names => jsonb_build_object('#k', 'a' || :'n'), vals => jsonb_build_object(':k', :'n'),
	index_name => 'NEW', page_size => 1);
SELECT item_count AS page FROM dyn_scan_page(:'n', page_size => 2);
SELECT index_name AS explained, postgres_index IS NOT NULL
	FROM dyn_explain(:'n', '#k = :k', names => jsonb_build_object('#k', :'v'), vals => '{":k": {"S": "w2"}}', index_name => 'GSI');
SELECT count(*) > 0 AS shown FROM dyn_table_chart(:'n') a, dyn_table_chart(:'n', 'GSI') b;
SELECT count(pages) AS pages FROM dyn_table_statistics(:'n');
SELECT count(*) AS violations FROM dyn_index_violations(:'n');
SELECT dyn_batch_write(:'n', ARRAY[item_of(4, :'n'), item_of(5, :'n')]::dyn_item[], ARRAY[key_of(3, :'n')]::dyn_item[]) AS done \gset
SELECT count(*) AS batch FROM dyn_batch_get(:'n', ARRAY[key_of(4, :'n'), key_of(3, :'n')]::dyn_item[], projection => '#a',
	names => jsonb_build_object('#a', 'a' || :'n'));
SELECT dyn_transact(json_build_array(json_build_object('Put', json_build_object('TableName', :'n', 'Item', item_of(3, :'n')::dyn_item::text::json)),
	json_build_object('ConditionCheck', json_build_object('TableName', :'n', 'Key', key_of(1, :'n')::dyn_item::text::json, 'ConditionExpression',
		'attribute_exists(#a)', 'ExpressionAttributeNames', json_build_object('#a', :'n')))), :'n') AS transacted;
SELECT count(*) AS transact_get FROM dyn_transact_get(json_build_array(json_build_object('Get',
	json_build_object('TableName', :'n', 'Key', key_of(3, :'n')::dyn_item::text::json))));
SELECT dyn_request('GetItem', json_build_object('TableName', :'n', 'Key', key_of(3, :'n')::dyn_item::text::json)) -> 'Item' IS NOT NULL AS request;
CREATE FUNCTION quoted(name text) RETURNS text LANGUAGE sql AS $$ SELECT '"' || replace(name, '"', '""') || '"' $$;
SELECT count(*) AS partiql FROM dyn_execute(format('SELECT %1$s, %2$s FROM %1$s."LSI" WHERE %1$s = ? AND %2$s = ?', quoted(:'n'), quoted(:'v')),
	'["ROW#2", "w2"]'::jsonb);
SELECT dyn_execute(format('UPDATE %1$s SET %2$s = ? WHERE %1$s = ? AND %3$s = ? AND %2$s = ? RETURNING MODIFIED NEW *', quoted(:'n'), quoted('a' || :'n'),
	quoted('s' || :'n')), jsonb_build_array(:'n', 'ROW#1', '#', :'n')) ->> ('a' || :'n') = :'n' AS partiql;
SELECT item_count AS page FROM dyn_execute_page(format('SELECT * FROM %s."GSI"', quoted(:'n')), page_size => 2);
SELECT action, range LIKE '% = ''ROW#2''' AS range, condition = quoted(:'n') || ' = ? AND NOT Id = 9' AS condition, items_returned
	FROM dyn_explain_statement(format('SELECT * FROM %1$s WHERE %1$s = ? AND NOT Id = 9', quoted(:'n')), '["ROW#2"]'::jsonb);
SELECT dyn_delete(:'n', key_of(3, :'n'), return_values => 'ALL_OLD') IS NOT NULL AS deleted;
SELECT count(*) AS rows FROM :"n" WHERE :"n" LIKE 'ROW#%' AND item ->> ('a' || :'n') = :'n';

-- time to live
SELECT dyn_put(:'n', item_of(9, :'n') || jsonb_build_object('t' || :'n', 1000000000 + extract(epoch FROM now())::bigint * 0)) AS done \gset
CALL dyn_enable_ttl(:'n', 't' || :'n', hide_expired => true);
SELECT due_items FROM dyn_ttl_tables WHERE relation = quote_ident(:'n')::regclass;
SELECT dyn_put(:'n', item_of(9, :'n') || jsonb_build_object('t' || :'n', extract(epoch FROM now())::bigint - 60)) AS done \gset
CALL dyn_sweep_ttl(:'n');
CALL dyn_disable_ttl(:'n');

-- entities, their views, access patterns
SELECT dyn_create_entity(:'n', :'n', jsonb_build_object(:'n', 'ROW#<Id>', :'s', '#', :'v', 'w<Id:03>'),
	jsonb_build_object('Id', 'N integer', 'a' || :'n', 'S')) AS done \gset
SELECT dyn_enforce_entities(:'n') AS done \gset
SELECT dyn_put_entity(:'n', :'n', jsonb_build_object('Id', 6, 'a' || :'n', :'n')) AS done \gset
SELECT dyn_get_entity(:'n', :'n', '{"Id": {"N": "6"}}') ->> :'n' AS entity;
SELECT dyn_update_entity(:'n', :'n', '{"Id": {"N": "6"}}', 'SET #a = :v', names => jsonb_build_object('#a', 'a' || :'n'), vals => '{":v": {"S": "x"}}',
	return_values => 'ALL_NEW') ->> ('a' || :'n') AS updated;
SELECT entity = :'n' AS entities FROM dyn_entities(:'n');
SELECT dyn_entity_keys(:'n', :'n', '{"Id": {"N": "7"}}')::text LIKE '%ROW#7%' AS keys;
SELECT dyn_create_entity_view(:'n', :'n', :'v') IS NOT NULL AS view;
SELECT column_name = 'a' || :'n' AS a_column FROM information_schema.columns WHERE table_schema = :'n' AND table_name = :'v' AND column_name LIKE 'a%';
SELECT quote_ident('a' || :'n') AS a \gset
INSERT INTO :"v" ("Id", :a) VALUES (7, :'n');
UPDATE :"v" SET :a = :a || '!' WHERE "Id" = 7;
SELECT :a = :'n' || '!' AS in_view FROM :"v" WHERE "Id" = 7;
DELETE FROM :"v" WHERE "Id" = 7;
SELECT count(*) AS problems FROM dyn_check_entities(:'n');
SELECT count(a) > 0 AS chart, count(b) > 0 AS markdown FROM dyn_entity_chart(:'n') a, dyn_entity_chart(:'n', 'markdown') b;
SELECT dyn_create_access_pattern(:'n', :'n', 'Query',
	json_build_object('IndexName', 'GSI', 'KeyConditionExpression', '#k = :k', 'ExpressionAttributeNames', json_build_object('#k', :'v'),
	'ExpressionAttributeValues', '{":k": {"S": "w<i>"}}'::json)::jsonb, :'n', :'n') AS done \gset
SELECT count(*) AS pattern FROM dyn_run_access_pattern(:'n', :'n', '{"i": {"S": "2"}}');
SELECT count(*) > 0 AS patterns FROM dyn_access_pattern_chart(:'n');
CALL dyn_refresh_entity(:'n', :'n');

-- backfill, exports and imports
CALL dyn_backfill(:'n', 'SET #b = :a', '#a = :a', names => jsonb_build_object('#a', 'a' || :'n', '#b', 'b' || :'n'), vals => jsonb_build_object(':a', :'n'));
SELECT count(*) AS filled FROM dyn_scan(:'n', filter => '#b = :a', names => jsonb_build_object('#b', 'b' || :'n'), vals => jsonb_build_object(':a', :'n'));
SELECT bool_and(finished_at IS NOT NULL) AS finished FROM dyn_jobs WHERE relation = quote_ident(:'n')::regclass;
CREATE TABLE :"s" (:"n" text);
INSERT INTO :"s" SELECT dyn_export(:'n', :'n', filter => '#a = :a', names => jsonb_build_object('#a', 'a' || :'n'), vals => jsonb_build_object(':a', :'n'));
CALL dyn_import(:'n', quote_ident(:'s')::regclass, column_name => :'n');
CALL dyn_drop_index(:'n', 'NEW');

-- migrations: source tables in a schema of the name
CREATE SCHEMA :"s";
CREATE TABLE :"s".:"n" (:"n" int PRIMARY KEY, :a text);
CREATE TABLE :"s".:"v" (:"v" int PRIMARY KEY, :"n" int REFERENCES :"s".:"n", :a text);
INSERT INTO :"s".:"n" VALUES (21, :'n'), (22, :'n');
INSERT INTO :"s".:"v" VALUES (31, 21, :'n');
SELECT dyn_create_entity(:'n', :'v', jsonb_build_object(:'n', 'CHILD#<Id>', :'s', '#'),
	jsonb_build_object('Id', 'N integer', 'a' || :'n', 'S', 'p' || :'n', 'S')) AS done \gset
SELECT dyn_create_migration(:'n', :'n', jsonb_build_array(
	jsonb_build_object('entity', :'n', 'from', quote_ident(:'s') || '.' || quote_ident(:'n'), 'attributes',
		jsonb_build_object('Id', quote_ident(:'n'), 'a' || :'n', :'a')),
	jsonb_build_object('entity', :'v', 'name', 'c' || :'n', 'from', quote_ident(:'s') || '.' || quote_ident(:'v'), 'attributes',
		jsonb_build_object('Id', quote_ident(:'v'), 'a' || :'n', 'src.' || :'a'),
		'parents', jsonb_build_object(:'n', jsonb_build_object('from', quote_ident(:'s') || '.' || quote_ident(:'n'), 'on', jsonb_build_object(:'n', :'n'),
			'attributes', jsonb_build_object('p' || :'n', :'a')))))) AS done \gset
SELECT count(*) AS dry FROM dyn_preview_migration(:'n') WHERE problem IS NULL;
CALL dyn_migrate(:'n');
SELECT count(*) AS verified FROM dyn_verify_migration(:'n');
SELECT dyn_follow_migration(:'n') AS done \gset
UPDATE :"s".:"n" SET :a = 'changed' WHERE :"n" = 21;
INSERT INTO :"s".:"v" VALUES (32, 22, :'n');
DELETE FROM :"s".:"v" WHERE :"v" = 31;
SELECT count(*) AS verified FROM dyn_verify_migration(:'n');
SELECT dyn_get_entity(:'n', :'n', '{"Id": {"N": "21"}}') ->> ('a' || :'n') AS followed,
	dyn_get_entity(:'n', :'v', '{"Id": {"N": "32"}}') ->> ('p' || :'n') = :'n' AS parent;
SELECT count(*) AS progress, bool_and(followed) AS followed FROM dyn_jobs WHERE name = :'n';
SELECT count(*) AS problems FROM dyn_job_problems WHERE name = :'n';
DELETE FROM :"s".:"v";
SELECT count(*) AS items FROM dynamo_internal.migration_items(:'n');

-- streams
RESET SESSION AUTHORIZATION;
CALL dyn_collect_streams() \gset
SET SESSION AUTHORIZATION :"role";
SELECT count(*) > 0 AS read, bool_and(keys ? :'n') AS keys FROM dyn_read_stream(:'n');
SELECT count(*) > 0 AS read_json FROM dyn_read_stream(:'n', format => 'plain') WHERE record IS NOT NULL;
SELECT relation = quote_ident(:'n')::regclass AS streams FROM dyn_streams WHERE relation = quote_ident(:'n')::regclass;
SELECT json_array_length(dyn_request('ListStreams', json_build_object('TableName', :'n')) -> 'Streams') AS streams;
SELECT dyn_disable_stream(:'n') AS done \gset
-- what names the migration can be called as it is
DO $$ BEGIN EXECUTE (SELECT format('TRUNCATE %s', tgrelid::regclass) FROM pg_trigger WHERE tgtype & 32 > 0
	AND tgrelid IN (SELECT c.oid FROM pg_class c WHERE pg_get_userbyid(relowner) = current_user) ORDER BY tgrelid DESC LIMIT 1);
EXCEPTION WHEN feature_not_supported THEN
	DECLARE hint text;
	BEGIN
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
		EXECUTE 'SELECT ' || substring(hint FROM '(?s)call (.*) first');
	END;
END $$;
SELECT count(*) AS followed FROM dyn_jobs WHERE name = :'n' AND followed;
RESET SESSION AUTHORIZATION;
SELECT pg_catalog.count(DISTINCT c.oid) AS partitions, pg_catalog.count(a) AS rights FROM pg_class c LEFT
	JOIN LATERAL aclexplode(relacl) a ON a.grantee <> c.relowner WHERE relname LIKE 'dyn\_stream\_records\__%' AND relkind = 'r';
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM :"role";
