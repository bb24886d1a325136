-- What planner.py asks: tables of items, and the views of their entities, in a schema for each kind of table.  What a role
-- must see there is in the schema NAME_ROLE, as plain tables without indexes.
\set ON_ERROR_STOP on
\pset tuples_only on
SET client_min_messages = error;
SET TIME ZONE 'UTC';
CREATE EXTENSION dynamo_table;
-- their operator classes, of types that are indexed here
CREATE EXTENSION pg_trgm;
CREATE EXTENSION btree_gin;
CREATE EXTENSION btree_gist;
CREATE EXTENSION bloom;
CREATE EXTENSION ltree;
CREATE TYPE pair AS (a text, b integer);
CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE COLLATION fuzz_posix FROM "POSIX";
CREATE FUNCTION first_number(text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
	AS $$ SELECT pg_catalog.substring($1, '[0-9]{1,8}')::pg_catalog.int4 $$;
CREATE SCHEMA dynamo;
CREATE SCHEMA heap;
CREATE SCHEMA plain;
CREATE SCHEMA byhand;
CREATE SCHEMA parted;

CREATE PROCEDURE tables(s text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dyn_create_table(s || '.app', 'pk S', 'sk S',
		global_indexes => '{"GSI1": {"partition_key": "g1 S", "sort_key": "h1 S"}, "ByDay": {"partition_key": "day S", "sort_key": "No N"},
		"ByCode": {"partition_key": "code B", "covering": true}}', local_indexes => '{"ByPrice": {"sort_key": "Price N"}}');
	PERFORM dyn_create_table(s || '.num', 'pk N', 'sk N');
	PERFORM dyn_create_entity(s || '.app', e, k::jsonb, a::json) FROM (VALUES
		('Org', '{"pk": "ORG#<OrgId>", "sk": "#METADATA#", "g1": "ORGANIZATIONS", "h1": "<Name:upper>"}',
			'{"OrgId": "S", "Name": {"type": "S", "required": true}, "Founded": "S date"}'),
		('Project', '{"pk": "ORG#<OrgId>", "sk": "PRO#<Kind>#<ProjectId:05>", "g1": "LEAD#<Lead>",
			"h1": [{"when": {"Closed": null}, "template": "OPEN#<ProjectId:05>"}, {"template": "CLOSED#<ProjectId:05>"}]}',
			'{"OrgId": {"type": "S", "stored": "o"}, "Kind": "S varchar(20)", "ProjectId": "N integer", "Lead": "S uuid", "Closed": "BOOL", "Status": "S",
				"Priority": "N bigint", "Due": "S date", "Color": "S color"}'),
		('Line', '{"pk": "ORG#<OrgId>", "sk": "LINE#<No:03>", "g1": "PRO#<ProjectId>", "h1": "LINE#<No:-03>"}',
			'{"OrgId": "S", "No": "N integer", "ProjectId": {"type": "N integer", "required": true}, "Price": {"type": "N", "required": true},
				"Day": {"type": "S date", "stored": "day", "required": true}, "code": "B", "Tags": "L jsonb", "Words": "SS"}'),
		('Event', '{"pk": "LOG#<Host>", "sk": "<At>#<Id>"}', '{"Host": "S", "At": "S timestamptz", "Id": "N integer", "Map": "M"}'),
		('Visit', '{"pk": "VISIT#<Month:month>", "sk": "<Place:03>#<Rank:-04>#<At:hour>", "g1": "CITY#<Map.City>", "h1": "<Month:month>"}',
			'{"Month": "S date", "Place": "N smallint", "Rank": "N integer", "At": "S timestamp", "Map": "M", "Loose": "S char(10)"}')) v (e, k, a);
	PERFORM dyn_create_entity(s || '.num', 'Count', '{"pk": "<Id>", "sk": "<Seq>"}', '{"Id": "N integer", "Seq": "N numeric", "Of": "S"}', type_attribute => NULL);
	PERFORM dyn_create_entity_view(s || '.app', e) FROM unnest('{Org,Project,Line,Event,Visit}'::text[]) e;
	PERFORM dyn_create_entity_view(s || '.app', e, index_name => 'GSI1') FROM unnest('{Org,Project,Line,Visit}'::text[]) e;
	PERFORM dyn_create_entity_view(s || '.app', 'Line', index_name => 'ByDay'), dyn_create_entity_view(s || '.app', 'Line', unnest => 'Tags'),
		dyn_create_entity_view(s || '.app', 'Line', 'Line_few', use_indexes => false), dyn_create_entity_view(s || '.num', 'Count');
END $$;
CALL tables('dynamo');

INSERT INTO dynamo."Org" SELECT o, 'Name ' || o % 7, CASE WHEN o % 3 <> 0 THEN date '1990-01-01' + o * 100 END FROM generate_series(1, 30) o;
INSERT INTO dynamo."Project" SELECT i % 25, CASE i % 3 WHEN 0 THEN 'agile' ELSE 'fixed bid' END, i, CASE WHEN i % 5 <> 0 THEN md5((i % 6)::text)::uuid END,
	CASE WHEN i % 4 <> 0 THEN i % 4 = 1 END,
	'st ' || i % 5, i % 10 - 5, date '2024-01-01' + i % 60, ('{red,green,blue}'::color[])[i % 4] FROM generate_series(1, 150) i;
INSERT INTO dynamo."Line" SELECT i % 20, i, i % 40, i % 13 / 4.0, date '2024-01-01' + i % 30, decode(md5((i % 50)::text), 'hex'),
	to_jsonb(ARRAY[i % 3, i % 5]), ARRAY['w' || i % 7, 'v'] FROM generate_series(1, 200) i;
SELECT count(dyn_put('dynamo.app', jsonb_build_object('Type', 'Event', 'pk', 'LOG#h' || i % 3, 'sk', at || '#' || i, 'Host', 'h' || i % 3, 'At', at, 'Id', i,
	'Map', jsonb_build_object('City', 'c' || i % 4))))
	FROM generate_series(1, 120) i, LATERAL (SELECT timestamptz '2024-02-25 22:30:30Z' + i * interval '67 minutes' AS t) t,
		LATERAL (SELECT CASE i % 4 WHEN 0 THEN to_char(t, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
	WHEN 1 THEN to_char(t + interval '15:59', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+15:59"') WHEN 2 THEN to_char(t, 'YYYY-MM-DD HH24:MI:SS.MS')
		ELSE to_char(t, 'YYYY-MM-DD') END AS at) x;
INSERT INTO dynamo."Visit" SELECT date '2024-01-15' + i * 5 % 400, i % 20, i * 7 % 100, timestamp '2024-01-15 00:10:20.5' + i * 5 % 400 * interval '25 hours',
	jsonb_build_object('City', ('{Berlin,berlin,"Émile",emile,_,%}'::text[])[i % 7]), 'l' || i % 4 FROM generate_series(1, 120) i WHERE i % 7 > 0;
SELECT count(dyn_put('dynamo.num', jsonb_build_object('pk', i % 30, 'sk', i / 4.0, 'Id', i % 30, 'Seq', i / 4.0, 'Of', 'of ' || i % 6)))
	FROM generate_series(1, 150) i;
-- of no entity, or not in an index: attributes are missing, of another type or contradict their keys
SELECT count(dyn_put('dynamo.app', i::dyn_item)) FROM unnest(ARRAY[
	'{"Type": {"S": "Org"}, "pk": {"S": "ORG#1"}, "sk": {"S": "other"}, "OrgId": {"S": "1"}}',
	'{"Type": {"S": "Org"}, "pk": {"S": "ORG#2#"}, "sk": {"S": "#METADATA#"}, "OrgId": {"S": "2"}}',
	'{"Type": {"S": "Org"}, "pk": {"S": "ORG#99"}, "sk": {"S": "#METADATA#"}, "OrgId": {"N": "99"}, "Name": {"S": "n"}}',
	'{"pk": {"S": "org#1"}, "sk": {"S": "#metadata#"}}', '{"pk": {"S": "ORG"}, "sk": {"S": "é"}}',
	'{"Type": {"S": "Org"}, "pk": {"S": "ORG#É"}, "sk": {"S": "#METADATA#"}, "g1": {"S": "ORGANIZATIONS"}, "h1": {"S": "NÄ"}, "OrgId": {"S": "É"},
		"Name": {"S": "nä"}}',
	'{"Type": {"S": "Org"}, "pk": {"S": "ORG#é"}, "sk": {"S": "#METADATA#"}, "g1": {"S": "ORGANIZATIONS"}, "h1": {"S": "NAME 1"}, "OrgId": {"S": "é"},
		"Name": {"S": "name 1"}}',
	'{"Type": {"S": "Project"}, "pk": {"S": "ORG#3"}, "sk": {"S": "PRO#agile#00007"}, "o": {"S": "3"}, "Kind": {"S": "agile"}, "ProjectId": {"N": "8"}}',
	'{"Type": {"S": "Line"}, "pk": {"S": "ORG#1"}, "sk": {"S": "LINE#900"}, "OrgId": {"S": "1"}, "No": {"N": "900"}, "ProjectId": {"N": "7"},
		"Price": {"N": "1"}, "day": {"S": "2024-01-01"}}',
	'{"Type": {"S": "Line"}, "pk": {"S": "ORG#1"}, "sk": {"S": "LINE#901"}, "OrgId": {"S": "1"}, "No": {"N": "901"}, "ProjectId": {"N": "7"},
		"Price": {"N": "1"}, "day": {"S": "d"}, "g1": {"S": "PRO#8"}, "h1": {"S": "LINE#098"}}',
	'{"Type": {"S": "Line"}, "pk": {"S": "ORG#1"}, "sk": {"S": "LINE#902"}, "OrgId": {"S": "1"}, "No": {"N": "902"}, "ProjectId": {"N": "5000000000"},
		"Price": {"N": "1"}, "day": {"S": "20240101"}, "g1": {"S": "PRO#5000000000"}, "h1": {"S": "LINE#097"}}']) i;
SELECT count(dyn_put('dynamo.num', i::dyn_item))
	FROM unnest(ARRAY['{"pk": {"N": "1"}, "sk": {"N": "1e100"}, "Id": {"N": "1"}, "Seq": {"N": "1e100"}}',
	'{"pk": {"N": "5000000000"}, "sk": {"N": "0"}, "Id": {"N": "5000000000"}, "Seq": {"N": "0"}}',
	'{"pk": {"N": "2"}, "sk": {"N": "-1"}, "Id": {"N": "3"}, "Seq": {"N": "-1"}}']) i;

-- dyn_create_table()'s in heap; made by hand in both access methods, with no trigger, partly in the database's collation; partitioned
CALL tables('heap');
INSERT INTO heap.app (item) SELECT item FROM dynamo.app;
INSERT INTO heap.num (item) SELECT item FROM dynamo.num;
ALTER TABLE heap.app SET ACCESS METHOD heap;
ALTER TABLE heap.num SET ACCESS METHOD heap;
DO $$
DECLARE
	t text; s text; v record;
BEGIN
	FOREACH s IN ARRAY '{plain,byhand,parted}'::text[] LOOP
		FOREACH t IN ARRAY '{app,num}'::text[] LOOP
			EXECUTE format('CREATE TABLE %s.%s (LIKE dynamo.%2$s) %s', s, t, CASE s WHEN 'parted' THEN 'PARTITION BY HASH (pk)'
				WHEN 'byhand' THEN 'USING dynamo_table' END);
			IF s = 'byhand' AND t = 'app' THEN
				ALTER TABLE byhand.app ALTER sk TYPE text COLLATE "default", ALTER g1 TYPE text COLLATE fuzz_posix;
			END IF;
			FOR i IN 0 .. CASE s WHEN 'parted' THEN 2 ELSE -1 END LOOP
				EXECUTE format('CREATE TABLE parted.%s_%s PARTITION OF parted.%1$s FOR VALUES WITH (MODULUS 3, REMAINDER %2$s)', t, i);
			END LOOP;
			EXECUTE format('INSERT INTO %s.%s SELECT * FROM dynamo.%2$s', s, t);
		END LOOP;
		FOR v IN SELECT * FROM pg_class WHERE relnamespace = 'dynamo'::regnamespace AND relkind = 'v' LOOP
			EXECUTE format('CREATE VIEW %s.%I WITH (security_invoker = true) AS %s', s, v.relname, regexp_replace(pg_get_viewdef(v.oid), '\mdynamo\.', s || '.', 'g'));
		END LOOP;
	END LOOP;
END $$;

-- what each role sees, where no index is used
SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fuzz_reader') AS new \gset
\if :new
CREATE ROLE fuzz_reader LOGIN;
\endif
CREATE PROCEDURE copies(s text, r text) LANGUAGE plpgsql AS $$
DECLARE v name;
BEGIN
	FOR v IN SELECT relname FROM pg_class WHERE relnamespace = s::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition LOOP
		EXECUTE format('CREATE TABLE %I.%I AS SELECT * FROM %I.%2$I', s || '_' || r, v, s);
	END LOOP;
END $$;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SET default_table_access_method = heap;
SELECT format('GRANT USAGE ON SCHEMA %1$s TO fuzz_reader; GRANT SELECT ON ALL TABLES IN SCHEMA %1$s TO fuzz_reader;
	ALTER TABLE %1$s.app ENABLE ROW LEVEL SECURITY; ALTER TABLE %1$s.num ENABLE ROW LEVEL SECURITY;
	CREATE POLICY few ON %1$s.app USING (right(pk, 1) <> ''3'' AND sk <> ''LINE#001''); CREATE POLICY few ON %1$s.num USING (sk > 2);
	CREATE SCHEMA %1$s_postgres; CALL copies(%1$L, ''postgres'');
	CREATE SCHEMA %1$s_fuzz_reader AUTHORIZATION fuzz_reader; SET ROLE fuzz_reader; CALL copies(%1$L, ''fuzz_reader''); RESET ROLE', s)
	FROM unnest('{dynamo,heap,plain,byhand,parted}'::text[]) s \gexec
VACUUM ANALYZE;
