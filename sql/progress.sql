-- How far long work is: a NOTICE every so often, here at every opportunity.
SELECT dyn_create_table('app', 'PK S', 'SK S');
SELECT dyn_create_entity('app', 'User', '{"PK": "USER#<Id>", "SK": "USER"}', '{"Id": {"type": "N integer", "required": true}}');
SELECT count(dyn_put_entity('app', 'User', jsonb_build_object('Id', i))) FROM generate_series(1, 1500) i;
-- statistics, if there are any, say how many there are
ALTER TABLE app SET (autovacuum_enabled = off);
SET dynamo_table.progress_interval = 0;
SELECT count(*) FROM dyn_export('app');
ANALYZE app;
SELECT count(*) FROM dyn_export('app');
SELECT count(*) FROM dyn_export('app', 'User');
SELECT count(*) FROM dyn_export('app', filter => 'PK = :p', vals => '{":p": {"S": "USER#1"}}');
SELECT count(*) FROM dyn_check_entities('app');
SELECT count(*) FROM dyn_check_table('app');
-- more items than the statistics know
INSERT INTO app SELECT jsonb_build_object('PK', 'A', 'SK', i::text) FROM generate_series(1, 600) i;
SELECT count(*) FROM dyn_export('app');

-- rows that are made into items, and compared
SET client_min_messages = warning;
CREATE TABLE people (id integer PRIMARY KEY);
INSERT INTO people VALUES (1), (2), (2000);
ANALYZE people;
SELECT dyn_create_migration('app', 'crm', '[{"name": "everybody", "entity": "User", "from": "people", "attributes": {"Id": "id"}}]');
RESET client_min_messages;
SELECT source_row, difference FROM dyn_verify_migration('crm') WHERE source_row IS NOT NULL;
SELECT step, source_row FROM dyn_preview_migration('crm', 1);
-- as long as it is not due, and where nobody wants it
SET dynamo_table.progress_interval = '1h';
SELECT count(*) FROM dyn_export('app');
SET dynamo_table.progress_interval = -1;
SELECT count(*) FROM dyn_export('app');
\set VERBOSITY sqlstate
SET dynamo_table.progress_interval = -2;
\set VERBOSITY default
RESET dynamo_table.progress_interval;

-- steps of jobs have names where there can be several, and figures have as many digits as people read
CALL dyn_migrate('crm');
CALL dyn_backfill('app', 'SET Seen = Id', 'attribute_exists(Id)');
SELECT kind, name, step, state FROM dyn_jobs WHERE relation = 'app'::regclass ORDER BY job;
SELECT step, state, rows_done FROM dyn_jobs WHERE name = 'crm';
-- so have problems
INSERT INTO people VALUES (3000);
SELECT dyn_drop_migration('crm');
SELECT dyn_create_migration('app', 'crm', '[{"name": "everybody", "entity": "User", "from": "people",
	"attributes": {"Id": "CASE WHEN id < 3000 THEN id ELSE 1 / (id - 3000) END"}}]');
CALL dyn_migrate('crm');
SELECT step, what, source_row FROM dyn_job_problems WHERE name = 'crm';
SELECT step, what, source_row FROM dyn_job_problems WHERE relation = 'app'::regclass;
SELECT dyn_drop_migration('crm');

-- an index: the blocks that are read, not items, which may be unevenly spread
SELECT dyn_create_table('few', 'PK S');
INSERT INTO few SELECT jsonb_build_object('PK', i::text, 'Name', 'n') FROM generate_series(1, 10) i;
SET dynamo_table.progress_interval = 0;
CALL dyn_create_index('few', 'ByName', 'Name S');
RESET dynamo_table.progress_interval;
DROP TABLE app, people, few;
