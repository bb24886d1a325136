\set ECHO all
-- Code hosting: accounts, repositories, issues, pull requests, stars, comments and reactions.
-- It teaches: a parent in the middle of its children, numbers that sort in strings, numbers given one after the other,
-- one namespace for two kinds of things, order by a time that changes, and reactions that count once.

SELECT dyn_create_table('hosting', 'PK S', 'SK S', global_indexes => '{
  "GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}, "GSI2": {"partition_key": "GSI2PK S", "sort_key": "GSI2SK S"},
  "GSI3": {"partition_key": "GSI3PK S", "sort_key": "GSI3SK S"}}');

SELECT count(dyn_create_entity('hosting', entity, keys::jsonb, attributes)) AS entities FROM (VALUES
  -- Users and organizations have the same key, so they share one namespace: only one of them can be "lumen".  GSI3 has an account
  -- after its repositories ("#" < "A"), which lie there by the time of their last change.
  ('User', '{"PK": "ACCOUNT#<Account>", "SK": "ACCOUNT#<Account>", "GSI3PK": "ACCOUNT#<Account>", "GSI3SK": "ACCOUNT#<Account>"}',
     '{"Account": "S", "Organizations": "M", "PaymentPlan": "M"}'),
  ('Organization', '{"PK": "ACCOUNT#<Account>", "SK": "ACCOUNT#<Account>", "GSI3PK": "ACCOUNT#<Account>", "GSI3SK": "ACCOUNT#<Account>"}',
     '{"Account": "S", "PaymentPlan": "M"}'),
  -- Members follow their organization.  A user's few organizations are a map on the user.
  ('Membership', '{"PK": "ACCOUNT#<Organization>", "SK": "MEMBERSHIP#<Username>"}', '{"Organization": "S", "Username": "S", "Role": "S"}'),
  -- A repository lies in the middle of its collection: ISSUE# < REPO# < STAR#.  Backward from it are the newest issues,
  -- forward are the stars.  In GSI1 its pull requests come before it, in GSI2 its forks after it.
  ('Repo', '{"PK": "REPO#<Owner>#<Repo>", "SK": "REPO#<Owner>#<Repo>", "GSI1PK": "REPO#<Owner>#<Repo>", "GSI1SK": "REPO#<Owner>#<Repo>",
       "GSI2PK": [{"when": {"ForkOf": null}, "template": "REPO#<Owner>#<Repo>"}, {"template": "REPO#<ForkOf>#<Repo>"}],
       "GSI2SK": [{"when": {"ForkOf": null}, "template": "#REPO#<Owner>#<Repo>"}, {"template": "FORK#<Owner>"}],
       "GSI3PK": "ACCOUNT#<Owner>", "GSI3SK": "#<UpdatedAt>"}',
     '{"Owner": "S", "Repo": "S", "ForkOf": "S", "UpdatedAt": "S timestamptz(0)", "StarCount": "N integer", "ForkCount": "N integer", "Numbers": "N integer"}'),
  -- Without the zeros, 10 would sort before 9.
  ('Issue', '{"PK": "REPO#<Owner>#<Repo>", "SK": "ISSUE#<Number:07>"}',
     '{"Owner": "S", "Repo": "S", "Number": "N integer", "Title": "S", "Status": "S", "Reactions": "M"}'),
  ('PullRequest', '{"PK": "PR#<Owner>#<Repo>#<Number:07>", "SK": "PR#<Owner>#<Repo>#<Number:07>", "GSI1PK": "REPO#<Owner>#<Repo>", "GSI1SK": "PR#<Number:07>"}',
     '{"Owner": "S", "Repo": "S", "Number": "N integer", "Title": "S", "Status": "S", "Reactions": "M"}'),
  -- Comments are read by their issue or pull request alone, so they are collections of their own.
  ('IssueComment', '{"PK": "ISSUECOMMENT#<Owner>#<Repo>#<Number>", "SK": "ISSUECOMMENT#<CommentId>"}',
     '{"Owner": "S", "Repo": "S", "Number": "N integer", "CommentId": {"type": "S", "default": "ksuid"}, "Author": "S", "Text": "S"}'),
  ('PRComment', '{"PK": "PRCOMMENT#<Owner>#<Repo>#<Number>", "SK": "PRCOMMENT#<CommentId>"}',
     '{"Owner": "S", "Repo": "S", "Number": "N integer", "CommentId": {"type": "S", "default": "ksuid"}, "Author": "S", "Text": "S"}'),
  -- What a user has done to an issue, a pull request or a comment: a set of kinds.
  ('Reaction', '{"PK": "<On>REACTION#<Owner>#<Repo>#<Target>#<Username>", "SK": "<On>REACTION#<Owner>#<Repo>#<Target>#<Username>"}',
     '{"On": "S", "Owner": "S", "Repo": "S", "Target": "S", "Username": "S", "Kinds": "SS"}'),
  ('Star', '{"PK": "REPO#<Owner>#<Repo>", "SK": "STAR#<Username>"}', '{"Owner": "S", "Repo": "S", "Username": "S"}')
) v (entity, keys, attributes);
-- The warning is what is meant: a user and an organization of one name cannot both be.

-- Reads.  With a parent in the middle, each read has a bound at the parent and a direction away from it.
SELECT count(dyn_create_access_pattern('hosting', name, operation, request::jsonb, entity, notes)) AS access_patterns FROM (VALUES
  ('repo', 'GetItem', '{"Key": {"PK": {"S": "REPO#<Owner>#<Repo>"}, "SK": {"S": "REPO#<Owner>#<Repo>"}}}', 'Repo', NULL),
  ('repo_and_issues', 'Query', '{"KeyConditionExpression": "PK = :r AND SK <= :r", "ScanIndexForward": false, "Limit": 25,
     "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}}}', 'Repo, Issue', 'newest first'),
  ('repo_and_issues_of_status', 'Query', '{"KeyConditionExpression": "PK = :r AND SK <= :r", "ScanIndexForward": false,
     "FilterExpression": "attribute_not_exists(#status) OR #status = :s", "ExpressionAttributeNames": {"#status": "Status"},
     "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}, ":s": {"S": "<Status>"}}}', 'Repo, Issue', 'the filter lets the repository through; it reads all issues'),
  ('repo_and_stars', 'Query', '{"KeyConditionExpression": "PK = :r AND SK >= :r", "Limit": 25,
     "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}}}', 'Repo, Star', 'by name'),
  ('issue', 'GetItem', '{"Key": {"PK": {"S": "REPO#<Owner>#<Repo>"}, "SK": {"S": "ISSUE#<Number:07>"}}}', 'Issue', NULL),
  ('repo_and_pull_requests', 'Query', '{"IndexName": "GSI1", "KeyConditionExpression": "GSI1PK = :r", "ScanIndexForward": false, "Limit": 25,
     "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}}}', 'Repo, PullRequest', 'newest first'),
  ('pull_request', 'GetItem', '{"Key": {"PK": {"S": "PR#<Owner>#<Repo>#<Number:07>"}, "SK": {"S": "PR#<Owner>#<Repo>#<Number:07>"}}}', 'PullRequest', NULL),
  ('comments_of_issue', 'Query', '{"KeyConditionExpression": "PK = :i", "ExpressionAttributeValues": {":i": {"S": "ISSUECOMMENT#<Owner>#<Repo>#<Number>"}}}', 'IssueComment', 'oldest first'),
  ('comments_of_pull_request', 'Query', '{"KeyConditionExpression": "PK = :p", "ExpressionAttributeValues": {":p": {"S": "PRCOMMENT#<Owner>#<Repo>#<Number>"}}}', 'PRComment', 'oldest first'),
  ('repo_and_forks', 'Query', '{"IndexName": "GSI2", "KeyConditionExpression": "GSI2PK = :r", "ExpressionAttributeValues": {":r": {"S": "REPO#<Owner>#<Repo>"}}}', 'Repo', 'the original first'),
  ('account', 'GetItem', '{"Key": {"PK": {"S": "ACCOUNT#<Account>"}, "SK": {"S": "ACCOUNT#<Account>"}}}', 'User, Organization', 'a user has a map of organizations'),
  ('account_and_repos', 'Query', '{"IndexName": "GSI3", "KeyConditionExpression": "GSI3PK = :a", "ScanIndexForward": false, "Limit": 25,
     "ExpressionAttributeValues": {":a": {"S": "ACCOUNT#<Account>"}}}', 'User, Organization, Repo', 'changed last first'),
  ('members', 'Query', '{"KeyConditionExpression": "PK = :a AND begins_with(SK, :m)",
     "ExpressionAttributeValues": {":a": {"S": "ACCOUNT#<Account>"}, ":m": {"S": "MEMBERSHIP#"}}}', 'Membership', 'by name'),
-- Writes of several items.
  ('star_repo', 'TransactWriteItems', '{"TransactItems": [
     {"Put": {"Item": {"PK": {"S": "REPO#<Owner>#<Repo>"}, "SK": {"S": "STAR#<Username>"}, "Type": {"S": "Star"}, "Owner": {"S": "<Owner>"}, "Repo": {"S": "<Repo>"}, "Username": {"S": "<Username>"}},
              "ConditionExpression": "attribute_not_exists(PK)"}},
     {"Update": {"Key": {"PK": {"S": "REPO#<Owner>#<Repo>"}, "SK": {"S": "REPO#<Owner>#<Repo>"}}, "ConditionExpression": "attribute_exists(PK)",
                 "UpdateExpression": "SET StarCount = StarCount + :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}}]}', 'Star', 'once a user; the count agrees'),
  ('heart_issue', 'TransactWriteItems', '{"TransactItems": [
     {"Update": {"Key": {"PK": {"S": "ISSUEREACTION#<Owner>#<Repo>#<Target>#<Username>"}, "SK": {"S": "ISSUEREACTION#<Owner>#<Repo>#<Target>#<Username>"}},
                 "ConditionExpression": "attribute_not_exists(Kinds) OR NOT contains(Kinds, :kind)", "UpdateExpression": "ADD Kinds :kinds SET #type = :type, #on = :on, #owner = :o, Repo = :r, Target = :n, Username = :u",
                 "ExpressionAttributeNames": {"#type": "Type", "#on": "On", "#owner": "Owner"}, "ExpressionAttributeValues": {":kind": {"S": "Heart"}, ":kinds": {"SS": ["Heart"]},
                   ":type": {"S": "Reaction"}, ":on": {"S": "ISSUE"}, ":o": {"S": "<Owner>"}, ":r": {"S": "<Repo>"}, ":n": {"S": "<Target>"}, ":u": {"S": "<Username>"}}}},
     {"Update": {"Key": {"PK": {"S": "REPO#<Owner>#<Repo>"}, "SK": {"S": "ISSUE#<Number:07>"}}, "ConditionExpression": "attribute_exists(PK)",
                 "UpdateExpression": "SET Reactions.Heart = Reactions.Heart + :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}}]}', 'Reaction', 'once a user')
) v (name, operation, request, entity, notes);

-- Create user, create organization: refused if either has the name.  Payment plan: one to one, so a map on the account.
SELECT dyn_put_entity('hosting', entity, attributes, 'attribute_not_exists(PK)') IS NULL AS created FROM (VALUES
  ('User', '{"Account": "ann", "Organizations": {}}'::jsonb), ('User', '{"Account": "bob", "Organizations": {}}'),
  ('Organization', '{"Account": "lumen"}')) v (entity, attributes);
SELECT dyn_put_entity('hosting', 'User', '{"Account": "lumen", "Organizations": {}}'::jsonb, 'attribute_not_exists(PK)');
SELECT dyn_update_entity('hosting', 'Organization', '{"Account": "lumen"}'::jsonb, 'SET PaymentPlan = :plan', 'attribute_exists(PK)',
  vals => '{":plan": {"Type": "Enterprise", "Seats": 10}}'::jsonb, return_values => 'ALL_NEW')::jsonb AS organization;

-- Add user to organization: the membership, and the entry in the user's map, if it has room and the target is an organization.
PREPARE add_member(text, text) AS SELECT dyn_transact(jsonb_build_array(
  jsonb_build_object('CheckEntity', jsonb_build_object('TableName', 'hosting', 'Entity', 'Organization', 'Attributes', jsonb_build_object('Account', jsonb_build_object('S', $1)),
    'ConditionExpression', 'attribute_exists(PK)')),
  jsonb_build_object('PutEntity', jsonb_build_object('TableName', 'hosting', 'Entity', 'Membership', 'ConditionExpression', 'attribute_not_exists(PK)', 'Attributes',
    jsonb_build_object('Organization', jsonb_build_object('S', $1), 'Username', jsonb_build_object('S', $2), 'Role', '{"S": "member"}'::jsonb))),
  jsonb_build_object('UpdateEntity', jsonb_build_object('TableName', 'hosting', 'Entity', 'User', 'Attributes', jsonb_build_object('Account', jsonb_build_object('S', $2)),
    'ConditionExpression', 'size(Organizations) < :max', 'UpdateExpression', 'SET Organizations.#o = :role', 'ExpressionAttributeNames', jsonb_build_object('#o', $1),
    'ExpressionAttributeValues', '{":max": {"N": "40"}, ":role": {"S": "member"}}'::jsonb)))) AS added;
EXECUTE add_member('lumen', 'ann');
EXECUTE add_member('lumen', 'bob');
EXECUTE add_member('lumen', 'nobody');
EXECUTE add_member('ann', 'bob');
-- Users of an organization, organizations of a user.
SELECT item->>'Username' AS member, item->>'Role' AS role FROM dyn_run_access_pattern('hosting', 'members', '{"Account": "lumen"}'::jsonb) item;
SELECT item->'Organizations' AS organizations FROM dyn_run_access_pattern('hosting', 'account', '{"Account": "bob"}'::jsonb) item;

-- Create repo.
SELECT dyn_create_entity_view('hosting', 'Repo'), dyn_create_entity_view('hosting', 'Issue'), dyn_create_entity_view('hosting', 'Star');
INSERT INTO "Repo" ("Owner", "Repo", "UpdatedAt", "StarCount", "ForkCount", "Numbers") VALUES
  ('ann', 'flux', '2024-01-05 10:00Z', 0, 0, 0), ('ann', 'flux-db', '2024-01-20 10:00Z', 0, 0, 0), ('lumen', 'lamp', '2024-01-10 10:00Z', 0, 0, 0);
-- Fork repo: the fork, and the count of the original.
SELECT dyn_transact('[
  {"PutEntity": {"TableName": "hosting", "Entity": "Repo", "ConditionExpression": "attribute_not_exists(PK)", "Attributes": {"Owner": {"S": "bob"}, "Repo": {"S": "flux"}, "ForkOf": {"S": "ann"},
     "UpdatedAt": {"S": "2024-02-01T09:00:00Z"}, "StarCount": {"N": "0"}, "ForkCount": {"N": "0"}, "Numbers": {"N": "0"}}}},
  {"UpdateEntity": {"TableName": "hosting", "Entity": "Repo", "Attributes": {"Owner": {"S": "ann"}, "Repo": {"S": "flux"}}, "ConditionExpression": "attribute_exists(PK)",
     "UpdateExpression": "SET ForkCount = ForkCount + :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}}]') AS forked;

-- Create issue, create pull request: one counter numbers both.  The update returns the new number, which nobody else gets; then the
-- item is put under it.  Whoever stops in between leaves a gap, never a number twice.
CREATE FUNCTION create_issue(owner text, repo text, title text, entity text DEFAULT 'Issue') RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  number integer := dyn_update_entity('hosting', 'Repo', jsonb_build_object('Owner', owner, 'Repo', repo), 'SET Numbers = Numbers + :one',
    'attribute_exists(PK)', vals => '{":one": 1}'::jsonb, return_values => 'UPDATED_NEW') ->> 'Numbers';
BEGIN
  PERFORM dyn_put_entity('hosting', entity, jsonb_build_object('Owner', owner, 'Repo', repo, 'Number', number, 'Title', title, 'Status', 'Open',
    'Reactions', '{"Heart": 0, "Smile": 0}'::jsonb), 'attribute_not_exists(PK)');
  RETURN number;
END $$;
SELECT create_issue('ann', 'flux', title, entity) AS number, entity, title FROM (VALUES ('It squeaks', 'Issue'), ('Oil the hinge', 'PullRequest'),
  ('It leaks', 'Issue'), ('It is too loud', 'Issue'), ('Mend the leak', 'PullRequest')) v (title, entity);
SELECT create_issue('ann', 'nothing', 'Of no repository');
-- Get issue, get pull request, by number.
SELECT item->>'Title' AS title FROM dyn_run_access_pattern('hosting', 'issue', '{"Owner": "ann", "Repo": "flux", "Number": 3}'::jsonb) item;
SELECT item->>'Title' AS title FROM dyn_run_access_pattern('hosting', 'pull_request', '{"Owner": "ann", "Repo": "flux", "Number": 5}'::jsonb) item;

-- Star repo, once.
SELECT dyn_run_access_pattern('hosting', 'star_repo', '{"Owner": "ann", "Repo": "flux", "Username": "bob"}'::jsonb);
SELECT dyn_run_access_pattern('hosting', 'star_repo', '{"Owner": "ann", "Repo": "flux", "Username": "ann"}'::jsonb);
SELECT dyn_run_access_pattern('hosting', 'star_repo', '{"Owner": "ann", "Repo": "flux", "Username": "bob"}'::jsonb);

-- Get repo.
SELECT item->>'StarCount' AS stars, item->>'ForkCount' AS forks, item->>'UpdatedAt' AS updated FROM dyn_run_access_pattern('hosting', 'repo', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;
-- The repository and its newest issues: backward from the middle.  The stars are not read.
UPDATE "Issue" SET "Status" = 'Closed' WHERE "Owner" = 'ann' AND "Repo" = 'flux' AND "Number" = 3;
SELECT item->>'Type' AS type, item->>'Number' AS number, item->>'Title' AS title, item->>'Status' AS status
  FROM dyn_run_access_pattern('hosting', 'repo_and_issues', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;
SELECT direction, items_read FROM dyn_explain('hosting', 'PK = :r AND SK <= :r', forward => false, vals => '{":r": "REPO#ann#flux"}'::jsonb);
-- Open ones only: a filter, which reads the others too.
SELECT item->>'Type' AS type, item->>'Number' AS number FROM dyn_run_access_pattern('hosting', 'repo_and_issues_of_status', '{"Owner": "ann", "Repo": "flux", "Status": "Open"}'::jsonb) item;
-- Stargazers: forward from the middle.
SELECT item->>'Type' AS type, item->>'Username' AS username FROM dyn_run_access_pattern('hosting', 'repo_and_stars', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;
-- List pull requests, get forks.
SELECT item->>'Type' AS type, item->>'Number' AS number, item->>'Title' AS title FROM dyn_run_access_pattern('hosting', 'repo_and_pull_requests', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;
SELECT item->>'Owner' AS owner, item->>'ForkOf' AS fork_of FROM dyn_run_access_pattern('hosting', 'repo_and_forks', '{"Owner": "ann", "Repo": "flux"}'::jsonb) item;

-- Add comment, if the issue is there; list the comments.
SELECT dyn_transact('[
  {"CheckEntity": {"TableName": "hosting", "Entity": "Issue", "Attributes": {"Owner": {"S": "ann"}, "Repo": {"S": "flux"}, "Number": {"N": "1"}}, "ConditionExpression": "attribute_exists(PK)"}},
  {"PutEntity": {"TableName": "hosting", "Entity": "IssueComment", "ConditionExpression": "attribute_not_exists(PK)", "Attributes":
     {"Owner": {"S": "ann"}, "Repo": {"S": "flux"}, "Number": {"N": "1"}, "CommentId": {"S": "2cLbqzp3La9KN81TAQjebe23WUz"}, "Author": {"S": "bob"}, "Text": {"S": "Mine too"}}}}]') AS added;
SELECT dyn_put_entity('hosting', 'PRComment', '{"Owner": "ann", "Repo": "flux", "Number": 2, "CommentId": "2cMCL2FiWYFcv1PNoVzwcchuZKx", "Author": "ann", "Text": "Thank you"}'::jsonb) IS NULL AS added;
SELECT item->>'Author' AS author, item->>'Text' AS text FROM dyn_run_access_pattern('hosting', 'comments_of_issue', '{"Owner": "ann", "Repo": "flux", "Number": 1}'::jsonb) item;
SELECT item->>'Author' AS author, item->>'Text' AS text FROM dyn_run_access_pattern('hosting', 'comments_of_pull_request', '{"Owner": "ann", "Repo": "flux", "Number": 2}'::jsonb) item;

-- Add reaction: the set remembers how a user has reacted, the map counts.  The same again is refused.  (The kind is part of the path
-- Reactions.Heart, and paths are no parameters of a pattern: each kind has a pattern, or the application sends the request itself.)
SELECT dyn_run_access_pattern('hosting', 'heart_issue', '{"Owner": "ann", "Repo": "flux", "Number": 1, "Target": "1", "Username": "bob"}'::jsonb);
SELECT dyn_run_access_pattern('hosting', 'heart_issue', '{"Owner": "ann", "Repo": "flux", "Number": 1, "Target": "1", "Username": "bob"}'::jsonb);
SELECT item->'Reactions' AS reactions FROM dyn_run_access_pattern('hosting', 'issue', '{"Owner": "ann", "Repo": "flux", "Number": 1}'::jsonb) item;

-- Repos of an account, changed last first.  A push changes UpdatedAt, and with it the key in GSI3, in one step.
SELECT item->>'Type' AS type, item->>'Repo' AS repo, item->>'UpdatedAt' AS updated FROM dyn_run_access_pattern('hosting', 'account_and_repos', '{"Account": "ann"}'::jsonb) item;
UPDATE "Repo" SET "UpdatedAt" = '2024-02-10 08:00Z' WHERE "Owner" = 'ann' AND "Repo" = 'flux';
SELECT item->>'Type' AS type, item->>'Repo' AS repo, item->>'UpdatedAt' AS updated FROM dyn_run_access_pattern('hosting', 'account_and_repos', '{"Account": "ann"}'::jsonb) item;

-- What was declared, and what the table and its indexes hold.
\pset tuples_only on
SELECT dyn_entity_chart('hosting');
SELECT dyn_table_chart('hosting');
SELECT dyn_table_chart('hosting', 'GSI1');
SELECT dyn_table_chart('hosting', 'GSI2');
SELECT dyn_table_chart('hosting', 'GSI3');
SELECT dyn_access_pattern_chart('hosting');
\pset tuples_only off

-- In SQL, what no key serves: open issues of all repositories, by owner, and whether the counts agree.
SELECT "Owner", count(*) FILTER (WHERE "Status" = 'Open') AS open, count(*) AS issues FROM "Issue" GROUP BY 1 ORDER BY 1;
SELECT r."Owner", r."Repo", r."StarCount", count(s."Username") AS stars FROM "Repo" r LEFT JOIN "Star" s USING ("Owner", "Repo") GROUP BY 1, 2, 3 ORDER BY 1, 2;
SELECT count(*) AS problems FROM dyn_check_entities('hosting');
