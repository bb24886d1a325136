-- A new access pattern by templates: docs/semantics.md, M29.
\set SHOW_CONTEXT never
SELECT dyn_create_table('app', 'PK S', 'SK S');
SELECT dyn_create_entity('app', 'Post', '{"PK": "POST#<PostId>", "SK": "POST#<PostId>"}', '{"PostId": "S", "Owner": "S", "At": "S"}');
SELECT dyn_create_entity('app', 'User', '{"PK": "USER#<Name>", "SK": "USER#<Name>"}', '{"Name": "S", "Email": "S", "Joined": "S"}');
SELECT count(*) FILTER (WHERE dyn_put_entity('app', 'Post', jsonb_build_object('PostId', 'p' || i, 'Owner', 'u' || i % 4, 'At', '2024-01-' ||
	10 + i)) IS NULL) FROM generate_series(1, 9) i;
SELECT count(*) FILTER (WHERE dyn_put_entity('app', 'User', jsonb_strip_nulls(jsonb_build_object('Name', 'u' || i, 'Email', CASE WHEN i <> 2 THEN 'u' || i ||
	'@example.org' END))) IS NULL) FROM generate_series(0, 3) i;
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK S');

-- 15.4: users come into the index, posts stay out; a user without an e-mail address as well
SELECT dyn_create_entity('app', 'User', '{"PK": "USER#<Name>", "SK": "USER#<Name>", "GSI1PK": "EMAIL#<Email>", "GSI1SK": "USER#<Name>"}',
	'{"Name": "S", "Email": "S", "Joined": "S"}');
SELECT count(*) FROM dyn_scan('app', index_name => 'GSI1');
CALL dyn_refresh_entity('app', 'User');
SELECT i ->> 'GSI1PK' AS pk, i ->> 'GSI1SK' AS sk FROM dyn_scan('app', index_name => 'GSI1') i ORDER BY 1;
SELECT count(*) FROM app WHERE item ->> 'Type' = 'Post' AND item ? 'GSI1PK';
-- again: nothing is written
SELECT sum(xmin::text::bigint) AS before FROM app \gset
CALL dyn_refresh_entity('app', 'User');
SELECT sum(xmin::text::bigint) = :before AS unchanged FROM app;
SELECT kind, relation, name, state, rows_done, rows_skipped FROM dyn_jobs ORDER BY job;

-- 15.5: two kinds of items come together in one collection; what has wrong keys there gets right ones
UPDATE app SET item = dyn_apply(item, 'SET GSI1PK = :x', vals => '{":x":{"S":"by hand"}}') WHERE "PK" = 'POST#p3';
SELECT dyn_create_entity('app', 'Post', '{"PK": "POST#<PostId>", "SK": "POST#<PostId>", "GSI1PK": "FEED#<Owner>", "GSI1SK": "<At>"}',
	'{"PostId": "S", "Owner": "S", "At": "S"}');
SELECT dyn_create_entity('app', 'User', '{"PK": "USER#<Name>", "SK": "USER#<Name>", "GSI1PK": "FEED#<Name>", "GSI1SK": "#USER"}',
	'{"Name": "S", "Email": "S", "Joined": "S"}');
CALL dyn_refresh_entity('app', 'Post', batch_size => 1);
CALL dyn_refresh_entity('app', 'User', batch_size => 2);
SELECT i ->> 'Type' AS type, i ->> 'GSI1SK' AS sk FROM dyn_query('app', 'GSI1PK = :p', vals => '{":p":{"S":"FEED#u1"}}', index_name => 'GSI1') i;
SELECT count(*) FROM dyn_scan('app', index_name => 'GSI1');

-- keys that the templates do not make any more go
SELECT dyn_create_entity('app', 'Post', '{"PK": "POST#<PostId>", "SK": "POST#<PostId>", "GSI1PK": [{"when": {"Owner": "u1"},
	"template": "FIRST"}], "GSI1SK": "<At>"}', '{"PostId": "S", "Owner": "S", "At": "S"}');
CALL dyn_refresh_entity('app', 'Post');
SELECT i ->> 'PK' AS pk, i ->> 'GSI1PK' AS gsi1pk FROM dyn_scan('app', index_name => 'GSI1') i WHERE i ->> 'Type' = 'Post' ORDER BY 1;

-- items whose attributes make no key, or another key of the table, are noted and left
UPDATE app SET item = dyn_apply(item, 'SET #o = :x', '{"#o":"Owner"}', '{":x":{"N":"1"}}') WHERE "PK" = 'POST#p1';
UPDATE app SET item = dyn_apply(item, 'SET PostId = :x', vals => '{":x":{"S":"p3"}}') WHERE "PK" = 'POST#p2';
UPDATE app SET item = dyn_apply(item, 'REMOVE PostId') WHERE "PK" = 'POST#p4';
SELECT dyn_create_entity('app', 'Post', '{"PK": "POST#<PostId>", "SK": "POST#<PostId>", "GSI1PK": "OWNER#<Owner>", "GSI1SK": "<At>"}',
	'{"PostId": "S", "Owner": "S", "At": "S"}');
CALL dyn_refresh_entity('app', 'Post');
SELECT source_row, problem FROM dyn_job_problems ORDER BY 1;
SELECT i ->> 'PK' AS pk, i ->> 'GSI1PK' AS gsi1pk FROM dyn_scan('app', index_name => 'GSI1') i WHERE i ->> 'Type' = 'Post' ORDER BY 1;

-- enforced entities: the job's writes are right, so they pass
DELETE FROM app WHERE "PK" IN ('POST#p1', 'POST#p2', 'POST#p4');
SELECT dyn_enforce_entities('app');
SELECT dyn_create_entity('app', 'Post', '{"PK": "POST#<PostId>", "SK": "POST#<PostId>", "GSI1PK": "BY#<Owner>", "GSI1SK": "<At>"}',
	'{"PostId": "S", "Owner": "S", "At": "S"}');
CALL dyn_refresh_entity('app', 'Post');
SELECT DISTINCT i ->> 'GSI1PK' AS gsi1pk FROM dyn_scan('app', index_name => 'GSI1') i WHERE i ->> 'Type' = 'Post' ORDER BY 1;
-- and a backfill that makes an item none of its entity is refused item by item
CALL dyn_backfill('app', 'SET GSI1PK = :x', 'begins_with(PK, :p)', vals => '{":x":{"S":"wrong"},":p":{"S":"POST#p5"}}');
SELECT source_row, problem FROM dyn_job_problems WHERE kind = 'backfill' ORDER BY 1;
SELECT dyn_enforce_entities('app', false);

-- what cannot be
BEGIN;
CALL dyn_refresh_entity('app', 'Post');
\echo :SQLSTATE
ROLLBACK;
CALL dyn_refresh_entity('app', 'Nothing');
\echo :SQLSTATE
CALL dyn_refresh_entity('nothing', 'Post');
\echo :SQLSTATE
CALL dyn_refresh_entity('app', NULL);
\echo :SQLSTATE
CALL dyn_refresh_entity(NULL, 'Post');
CALL dyn_refresh_entity('app', 'Post', batch_size => 0);
CREATE ROLE refresher;
SET ROLE refresher;
CALL dyn_refresh_entity('app', 'Post');
\echo :SQLSTATE
RESET ROLE;
GRANT SELECT, UPDATE ON app TO refresher;
SET ROLE refresher;
CALL dyn_refresh_entity('app', 'Post');
RESET ROLE;
DROP TABLE app;
DROP ROLE refresher;
