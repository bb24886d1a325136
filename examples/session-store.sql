\set ECHO all
-- A session store: one kind of item, found by its token, and by its user to log that user out everywhere.
-- It teaches: a simple primary key, a key that must not be used twice, an index of keys only, and time to live.

-- The token is the whole primary key: there is never more than one session of a token, so no sort key
-- is needed.  UserIndex turns the relation round: it finds the tokens of a user.  It has nothing but
-- keys (KEYS_ONLY), since whoever asks it wants to delete sessions, not to read them.
SELECT dyn_create_table('sessions', 'SessionToken S',
  global_indexes => '{"UserIndex": {"partition_key": "Username S", "projection": "KEYS_ONLY"}}');

-- The keys are attributes as they are.  ExpiresAt is for people; TTL is the same time in Unix seconds, for
-- time to live.  A session without a user is allowed: it lacks the index's key, so it is not in the index.
SELECT dyn_create_entity('sessions', 'Session',
  '{"SessionToken": "<SessionToken>", "Username": "<Username>"}',
  '{"SessionToken": "S uuid", "Username": "S", "CreatedAt": "S timestamptz(0)", "ExpiresAt": "S timestamptz(0)", "TTL": "N timestamptz"}');

-- The access patterns, as requests with parameters.
SELECT count(dyn_create_access_pattern('sessions', name, operation, request::jsonb, 'Session', notes)) AS access_patterns FROM (VALUES
  ('create_session', 'PutItem', '{"Item": {"SessionToken": {"S": "<Token>"}, "Username": {"S": "<Username>"}, "Type": {"S": "Session"},
       "CreatedAt": {"S": "<CreatedAt>"}, "ExpiresAt": {"S": "<ExpiresAt>"}, "TTL": {"N": "<TTL>"}},
     "ConditionExpression": "attribute_not_exists(SessionToken)"}', 'refused if the token is in use'),
  ('get_session', 'Query', '{"KeyConditionExpression": "SessionToken = :token", "FilterExpression": "#ttl > :now",
     "ExpressionAttributeNames": {"#ttl": "TTL"}, "ExpressionAttributeValues": {":token": {"S": "<Token>"}, ":now": {"N": "<Now>"}}}',
     'hides a session that has expired and is still there'),
  ('tokens_of_user', 'Query', '{"IndexName": "UserIndex", "KeyConditionExpression": "Username = :user",
     "ExpressionAttributeValues": {":user": {"S": "<Username>"}}}', 'first half of: log a user out everywhere'),
  ('delete_session', 'DeleteItem', '{"Key": {"SessionToken": {"S": "<Token>"}}}', 'second half, and: log out')
) v (name, operation, request, notes);
-- The warning is right for most tables.  get_session is a Query for the sake of the filter: GetItem has none.

-- The view makes items of rows.  Sessions last a week; these begin in 2099, so that this script prints the same every day.
SELECT dyn_create_entity_view('sessions', 'Session');
INSERT INTO "Session" ("SessionToken", "Username", "CreatedAt", "ExpiresAt", "TTL")
  SELECT token, username, created, created + interval '7 days', created + interval '7 days' FROM (VALUES
    ('0bc6bdf8-6dac-4212-b11a-81f784297c78'::uuid, 'ann', '2099-12-01 08:30:00Z'::timestamptz),
    ('23a1bbad-3e2f-4d3c-a1d6-6d7a1f1a8d52', 'ann', '2099-12-02 19:00:00Z'),
    ('5f3d6a5e-3b8c-4a9f-8a0e-0d1a5ce1b1f7', 'bob', '2099-12-03 10:15:00Z'),
    ('c8a9e2b0-70d4-4a8b-9d57-4f5d0f6f8f21', NULL, '2099-12-03 11:45:00Z')) v (token, username, created);

-- Create Session: the same token again is an error, not another session.
SELECT dyn_run_access_pattern('sessions', 'create_session', '{"Token": "9f0ad1c4-1d67-4c56-9a0c-4ffbcb5a6e11", "Username": "carol",
  "CreatedAt": "2099-12-04T07:00:00Z", "ExpiresAt": "2099-12-11T07:00:00Z", "TTL": 4100655600}'::jsonb);
SELECT dyn_run_access_pattern('sessions', 'create_session', '{"Token": "9f0ad1c4-1d67-4c56-9a0c-4ffbcb5a6e11", "Username": "bob",
  "CreatedAt": "2099-12-04T07:00:00Z", "ExpiresAt": "2099-12-11T07:00:00Z", "TTL": 4100655600}'::jsonb);

-- Get Session: there before it expires, and not afterwards.
SELECT item->>'Username' AS username FROM dyn_run_access_pattern('sessions', 'get_session',
  jsonb_build_object('Token', '0bc6bdf8-6dac-4212-b11a-81f784297c78', 'Now', extract(epoch FROM '2099-12-02 00:00:00Z'::timestamptz))) item;
SELECT item->>'Username' AS username FROM dyn_run_access_pattern('sessions', 'get_session',
  jsonb_build_object('Token', '0bc6bdf8-6dac-4212-b11a-81f784297c78', 'Now', extract(epoch FROM '2099-12-09 00:00:00Z'::timestamptz))) item;

-- Delete Session (time): nobody calls anything.  A background worker deletes what has expired; where
-- the library is not preloaded, dyn_sweep_ttl() does.  Here is a session that ended an hour ago.
INSERT INTO "Session" ("SessionToken", "Username", "TTL") VALUES ('00000000-0000-4000-8000-000000000000', 'bob', now() - interval '1 hour');
CALL dyn_enable_ttl('sessions', 'TTL');
CALL dyn_sweep_ttl('sessions');
SELECT dyn_get('sessions', '{"SessionToken": "00000000-0000-4000-8000-000000000000"}'::jsonb) IS NULL AS swept;

-- The table, and its index without the session of no user.
\pset tuples_only on
SELECT dyn_entity_chart('sessions');
SELECT dyn_table_chart('sessions');
SELECT dyn_table_chart('sessions', 'UserIndex');
SELECT dyn_access_pattern_chart('sessions');
\pset tuples_only off

-- An index of keys has keys only.  It is an error to ask it for more: nothing is looked up behind your back.
SELECT * FROM dyn_query('sessions', 'Username = :u', index_name => 'UserIndex', vals => '{":u": "ann"}'::jsonb, projection => 'CreatedAt');

-- Delete Sessions for User: find the tokens, then delete each.  In SQL the two are one statement.
SELECT item->>'SessionToken' AS token FROM dyn_run_access_pattern('sessions', 'tokens_of_user', '{"Username": "ann"}'::jsonb) item;
SELECT count(dyn_delete('sessions', dyn_project(item, 'SessionToken'), return_values => 'ALL_OLD')) AS deleted
  FROM dyn_query('sessions', 'Username = :user', index_name => 'UserIndex', vals => '{":user": "ann"}'::jsonb) item;
SELECT count(*) AS sessions_of_ann FROM dyn_run_access_pattern('sessions', 'tokens_of_user', '{"Username": "ann"}'::jsonb);

-- Log out: one session.
SELECT dyn_run_access_pattern('sessions', 'delete_session', '{"Token": "9f0ad1c4-1d67-4c56-9a0c-4ffbcb5a6e11"}'::jsonb);
SELECT "Username", count(*), min("ExpiresAt" AT TIME ZONE 'UTC') AS first_to_expire FROM "Session" GROUP BY 1 ORDER BY 1;
