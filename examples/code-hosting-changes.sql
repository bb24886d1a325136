\set ECHO all
-- The application of code-hosting.sql, which must have been run before, a year later: four changes of a table that is in use.
-- It teaches: what needs no work on existing items, what does, and how that work is done while others read and write.

-- 1. A new attribute: repositories get a code of conduct.  It is written from now on; items without it are as good as before.
SELECT dyn_update_entity('hosting', 'Repo', '{"Owner": "ann", "Repo": "flux"}'::jsonb, 'SET CodeOfConduct = :code', 'attribute_exists(PK)',
  vals => '{":code": {"Name": "Be kind", "Url": "https://lumen.example/kind"}}'::jsonb, return_values => 'UPDATED_NEW')::jsonb AS changed;

-- 2. A new entity in a collection that is there: gists of users.  "#GIST#" < "ACCOUNT#", so they come before their user.
SELECT dyn_create_entity('hosting', 'Gist', '{"PK": "ACCOUNT#<Username>", "SK": "#GIST#<GistId>"}',
  '{"Username": "S", "GistId": {"type": "S", "default": "ksuid"}, "Title": "S"}');
-- The upper bound keeps out what follows the account: an organization's members.
SELECT dyn_create_access_pattern('hosting', 'user_and_gists', 'Query', '{"KeyConditionExpression": "PK = :a AND SK <= :a", "ScanIndexForward": false, "Limit": 25,
  "ExpressionAttributeValues": {":a": {"S": "ACCOUNT#<Account>"}}}', 'User, Gist', 'newest first');
-- Create gist, if the account is a user's; view gists for user.
SELECT dyn_transact('[
  {"CheckEntity": {"TableName": "hosting", "Entity": "User", "Attributes": {"Account": {"S": "ann"}}, "ConditionExpression": "attribute_exists(PK)"}},
  {"PutEntity": {"TableName": "hosting", "Entity": "Gist", "ConditionExpression": "attribute_not_exists(PK)",
     "Attributes": {"Username": {"S": "ann"}, "GistId": {"S": "2cLbqzp3La9KN81TAQjebe23WUz"}, "Title": {"S": "Notes"}}}}]') AS created;
SELECT dyn_put_entity('hosting', 'Gist', '{"Username": "ann", "GistId": "2cOYH276U169atIohl4upPKOsV9", "Title": "More notes"}'::jsonb) IS NULL AS created;
SELECT item->>'Type' AS type, item->>'Title' AS title FROM dyn_run_access_pattern('hosting', 'user_and_gists', '{"Account": "ann"}'::jsonb) item;
SELECT dyn_transact('[
  {"CheckEntity": {"TableName": "hosting", "Entity": "User", "Attributes": {"Account": {"S": "lumen"}}, "ConditionExpression": "attribute_exists(PK)"}},
  {"PutEntity": {"TableName": "hosting", "Entity": "Gist", "Attributes": {"Username": {"S": "lumen"}, "Title": {"S": "Of an organization"}}}}]');

-- 3. A new entity in a new collection: apps of accounts, and where they are installed.  GSI1 has an account before its apps, so
-- existing accounts need a key there.  An installation lies in two collections: after its app in the table, after its
-- repository in GSI1.  Its key allows one installation of an app in a repository.
SELECT count(dyn_create_entity('hosting', entity, keys::jsonb, attributes)) AS entities FROM (VALUES
  ('User', '{"PK": "ACCOUNT#<Account>", "SK": "ACCOUNT#<Account>", "GSI1PK": "ACCOUNT#<Account>", "GSI1SK": "ACCOUNT#<Account>", "GSI3PK": "ACCOUNT#<Account>", "GSI3SK": "ACCOUNT#<Account>"}',
     '{"Account": "S", "Organizations": "M", "PaymentPlan": "M"}'),
  ('Organization', '{"PK": "ACCOUNT#<Account>", "SK": "ACCOUNT#<Account>", "GSI1PK": "ACCOUNT#<Account>", "GSI1SK": "ACCOUNT#<Account>", "GSI3PK": "ACCOUNT#<Account>", "GSI3SK": "ACCOUNT#<Account>"}',
     '{"Account": "S", "PaymentPlan": "M"}'),
  ('App', '{"PK": "APP#<Account>#<App>", "SK": "APP#<Account>#<App>", "GSI1PK": "ACCOUNT#<Account>", "GSI1SK": "APP#<App>"}', '{"Account": "S", "App": "S"}'),
  ('Installation', '{"PK": "APP#<Account>#<App>", "SK": "REPO#<Owner>#<Repo>", "GSI1PK": "REPO#<Owner>#<Repo>", "GSI1SK": "REPOAPP#<Account>#<App>"}',
     '{"Account": "S", "App": "S", "Owner": "S", "Repo": "S"}')) v (entity, keys, attributes);
-- From here on, writes make the new keys.  Items of before get theirs by a job, which may be interrupted and called again at will:
-- it changes each item under its lock, and what is done is not done again.
CALL dyn_refresh_entity('hosting', 'User');
CALL dyn_refresh_entity('hosting', 'Organization');
CALL dyn_refresh_entity('hosting', 'User');

SELECT count(dyn_create_access_pattern('hosting', name, operation, request::jsonb, entity, notes)) AS access_patterns FROM (VALUES
  ('account_and_apps', 'Query', '{"IndexName": "GSI1", "KeyConditionExpression": "GSI1PK = :a", "ExpressionAttributeValues": {":a": {"S": "ACCOUNT#<Account>"}}}', 'User, Organization, App', 'the account first'),
  ('app_and_installations', 'Query', '{"KeyConditionExpression": "PK = :a", "ExpressionAttributeValues": {":a": {"S": "APP#<Account>#<App>"}}}', 'App, Installation', 'the app first'),
  ('repo_and_apps', 'Query', '{"IndexName": "GSI1", "KeyConditionExpression": "GSI1PK = :r AND GSI1SK >= :r", "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}}}', 'Repo, Installation', NULL),
  -- Installations lie behind the repository now, and a backward read of the whole collection would begin with them.  So the
  -- pattern of before needs the bound that it could do without.
  ('repo_and_pull_requests', 'Query', '{"IndexName": "GSI1", "KeyConditionExpression": "GSI1PK = :r AND GSI1SK <= :r", "ScanIndexForward": false, "Limit": 25,
     "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}}}', 'Repo, PullRequest', 'newest first')) v (name, operation, request, entity, notes);

-- Create app, install app: once in a repository.
SELECT dyn_put_entity('hosting', 'App', '{"Account": "lumen", "App": "checker"}'::jsonb, 'attribute_not_exists(PK)') IS NULL AS created;
PREPARE install AS SELECT dyn_transact('[
  {"CheckEntity": {"TableName": "hosting", "Entity": "App", "Attributes": {"Account": {"S": "lumen"}, "App": {"S": "checker"}}, "ConditionExpression": "attribute_exists(PK)"}},
  {"CheckEntity": {"TableName": "hosting", "Entity": "Repo", "Attributes": {"Owner": {"S": "ann"}, "Repo": {"S": "flux"}}, "ConditionExpression": "attribute_exists(PK)"}},
  {"PutEntity": {"TableName": "hosting", "Entity": "Installation", "ConditionExpression": "attribute_not_exists(PK)",
     "Attributes": {"Account": {"S": "lumen"}, "App": {"S": "checker"}, "Owner": {"S": "ann"}, "Repo": {"S": "flux"}}}}]') AS installed;
EXECUTE install;
EXECUTE install;
-- Account and its apps, installations of an app, apps of a repo, and the pull requests as before.
SELECT item->>'Type' AS type, item->>'App' AS app FROM dyn_run_access_pattern('hosting', 'account_and_apps', '{"Account": "lumen"}'::jsonb) item;
SELECT item->>'Type' AS type, item->>'Owner' AS owner, item->>'Repo' AS repo FROM dyn_run_access_pattern('hosting', 'app_and_installations', '{"Account": "lumen", "App": "checker"}'::jsonb) item;
SELECT item->>'Type' AS type, item->>'App' AS app FROM dyn_run_access_pattern('hosting', 'repo_and_apps', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;
SELECT item->>'Type' AS type, item->>'Number' AS number FROM dyn_run_access_pattern('hosting', 'repo_and_pull_requests', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;

-- 4. A changed pattern: open issues, and closed ones, without reading the others.  The filter of before reads all of them.  So the
-- status goes into the keys of two new indexes: closed < repository < open.  Closed ones are read backward from
-- the repository.  Open ones are read forward, so to have the newest first their number is subtracted from 99999999.
CALL dyn_create_index('hosting', 'GSI4', 'GSI4PK S', 'GSI4SK S');
CALL dyn_create_index('hosting', 'GSI5', 'GSI5PK S', 'GSI5SK S');
SELECT count(dyn_create_entity('hosting', entity, keys::jsonb, attributes)) AS entities FROM (VALUES
  ('Repo', '{"PK": "REPO#<Owner>#<Repo>", "SK": "REPO#<Owner>#<Repo>", "GSI1PK": "REPO#<Owner>#<Repo>", "GSI1SK": "REPO#<Owner>#<Repo>",
       "GSI2PK": [{"when": {"ForkOf": null}, "template": "REPO#<Owner>#<Repo>"}, {"template": "REPO#<ForkOf>#<Repo>"}],
       "GSI2SK": [{"when": {"ForkOf": null}, "template": "#REPO#<Owner>#<Repo>"}, {"template": "FORK#<Owner>"}],
       "GSI3PK": "ACCOUNT#<Owner>", "GSI3SK": "#<UpdatedAt>", "GSI4PK": "REPO#<Owner>#<Repo>", "GSI4SK": "#REPO#<Owner>#<Repo>", "GSI5PK": "REPO#<Owner>#<Repo>", "GSI5SK": "#REPO#<Owner>#<Repo>"}',
     '{"Owner": "S", "Repo": "S", "ForkOf": "S", "UpdatedAt": "S timestamptz(0)", "StarCount": "N integer", "ForkCount": "N integer", "Numbers": "N integer", "CodeOfConduct": "M"}'),
  ('Issue', '{"PK": "REPO#<Owner>#<Repo>", "SK": "ISSUE#<Number:07>", "GSI4PK": "REPO#<Owner>#<Repo>",
       "GSI4SK": [{"when": {"Status": "Closed"}, "template": "#ISSUE#CLOSED#<Number:08>"}, {"when": {"Status": "Open"}, "template": "ISSUE#OPEN#<Number:-08>"}]}',
     '{"Owner": "S", "Repo": "S", "Number": "N integer", "Title": "S", "Status": "S", "Reactions": "M"}'),
  ('PullRequest', '{"PK": "PR#<Owner>#<Repo>#<Number:07>", "SK": "PR#<Owner>#<Repo>#<Number:07>", "GSI1PK": "REPO#<Owner>#<Repo>", "GSI1SK": "PR#<Number:07>", "GSI5PK": "REPO#<Owner>#<Repo>",
       "GSI5SK": [{"when": {"Status": "Closed"}, "template": "#PR#CLOSED#<Number:08>"}, {"when": {"Status": "Open"}, "template": "PR#OPEN#<Number:-08>"}]}',
     '{"Owner": "S", "Repo": "S", "Number": "N integer", "Title": "S", "Status": "S", "Reactions": "M"}')) v (entity, keys, attributes);
CALL dyn_refresh_entity('hosting', 'Repo');
CALL dyn_refresh_entity('hosting', 'Issue');
CALL dyn_refresh_entity('hosting', 'PullRequest');

SELECT count(dyn_create_access_pattern('hosting', name, operation, request::jsonb, entity, notes)) AS access_patterns FROM (VALUES
  ('repo_and_open_issues', 'Query', '{"IndexName": "GSI4", "KeyConditionExpression": "GSI4PK = :r AND GSI4SK >= :s", "Limit": 25,
     "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}, ":s": {"S": "#REPO#<Owner>#<Repo>"}}}', 'Repo, Issue', 'newest first'),
  ('repo_and_closed_issues', 'Query', '{"IndexName": "GSI4", "KeyConditionExpression": "GSI4PK = :r AND GSI4SK <= :s", "ScanIndexForward": false, "Limit": 25,
     "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}, ":s": {"S": "#REPO#<Owner>#<Repo>"}}}', 'Repo, Issue', 'newest first'),
  ('repo_and_open_pull_requests', 'Query', '{"IndexName": "GSI5", "KeyConditionExpression": "GSI5PK = :r AND GSI5SK >= :s", "Limit": 25,
     "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}, ":s": {"S": "#REPO#<Owner>#<Repo>"}}}', 'Repo, PullRequest', 'newest first'),
  ('repo_and_closed_pull_requests', 'Query', '{"IndexName": "GSI5", "KeyConditionExpression": "GSI5PK = :r AND GSI5SK <= :s", "ScanIndexForward": false, "Limit": 25,
     "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}, ":s": {"S": "#REPO#<Owner>#<Repo>"}}}', 'Repo, PullRequest', 'newest first')) v (name, operation, request, entity, notes);

-- Repo and open issues, closed issues, and the same for pull requests.
SELECT item->>'Type' AS type, item->>'Number' AS number, item->>'Status' AS status FROM dyn_run_access_pattern('hosting', 'repo_and_open_issues', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;
SELECT item->>'Type' AS type, item->>'Number' AS number, item->>'Status' AS status FROM dyn_run_access_pattern('hosting', 'repo_and_closed_issues', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;
SELECT item->>'Type' AS type, item->>'Number' AS number, item->>'Status' AS status FROM dyn_run_access_pattern('hosting', 'repo_and_open_pull_requests', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;
SELECT item->>'Type' AS type, item->>'Number' AS number, item->>'Status' AS status FROM dyn_run_access_pattern('hosting', 'repo_and_closed_pull_requests', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;

-- The new way and the old one give the same.
SELECT count(*) AS differences FROM (
  (SELECT dyn_run_access_pattern('hosting', 'repo_and_open_issues', '{"Owner": "ann", "Repo": "flux"}'::jsonb)::text
   EXCEPT SELECT dyn_run_access_pattern('hosting', 'repo_and_issues_of_status', '{"Owner": "ann", "Repo": "flux", "Status": "Open"}'::jsonb)::text)
  UNION ALL
  (SELECT dyn_run_access_pattern('hosting', 'repo_and_issues_of_status', '{"Owner": "ann", "Repo": "flux", "Status": "Open"}'::jsonb)::text
   EXCEPT SELECT dyn_run_access_pattern('hosting', 'repo_and_open_issues', '{"Owner": "ann", "Repo": "flux"}'::jsonb)::text)) d;

-- Close and reopen: one update, guarded by the status of before.  The entry moves to the other side of the repository.
SELECT dyn_update_entity('hosting', 'Issue', '{"Owner": "ann", "Repo": "flux", "Number": 1}'::jsonb, 'SET #s = :new', '#s = :old', names => '{"#s": "Status"}',
  vals => '{":old": "Open", ":new": "Closed"}'::jsonb);
-- Closing it again is refused.
SELECT dyn_update_entity('hosting', 'Issue', '{"Owner": "ann", "Repo": "flux", "Number": 1}'::jsonb, 'SET #s = :new', '#s = :old', names => '{"#s": "Status"}',
  vals => '{":old": "Open", ":new": "Closed"}'::jsonb);
-- Opening another one again.
SELECT dyn_update_entity('hosting', 'Issue', '{"Owner": "ann", "Repo": "flux", "Number": 3}'::jsonb, 'SET #s = :new', '#s = :old', names => '{"#s": "Status"}',
  vals => '{":old": "Closed", ":new": "Open"}'::jsonb);
SELECT item->>'Type' AS type, item->>'Number' AS number, item->>'Status' AS status FROM dyn_run_access_pattern('hosting', 'repo_and_open_issues', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;
SELECT item->>'Type' AS type, item->>'Number' AS number, item->>'Status' AS status FROM dyn_run_access_pattern('hosting', 'repo_and_closed_issues', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;

-- What was declared in the end, and what the new index holds.
\pset tuples_only on
SELECT dyn_entity_chart('hosting');
SELECT dyn_table_chart('hosting', 'GSI4');
\pset tuples_only off
-- The views of before work as they did.  Made again, they have the new attribute as a column.
SELECT dyn_create_entity_view('hosting', 'Repo'), dyn_create_entity_view('hosting', 'Issue');
SELECT "Owner", "Repo", "CodeOfConduct"->>'Name' AS code FROM "Repo" WHERE "CodeOfConduct" IS NOT NULL;
SELECT count(*) AS problems FROM dyn_check_entities('hosting');
