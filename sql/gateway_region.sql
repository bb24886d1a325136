-- The region that a gateway's request is for: in the ARNs of answers, and which ARNs are names here
\set SHOW_CONTEXT never
CREATE ROLE regress_region;
CREATE SCHEMA region;
GRANT CREATE, USAGE ON SCHEMA region TO regress_region;
SET search_path = region, public;
SELECT dyn_create_table('app', 'pk S', global_indexes => '{"by":{"partition_key":["a S"]}}');
ALTER TABLE app OWNER TO regress_region;
CREATE FUNCTION arns(answer json) RETURNS text LANGUAGE sql AS
  $$ SELECT string_agg(arn[1], E'\n') FROM regexp_matches(answer::text, 'arn:[^"]*', 'g') arn $$;
CREATE FUNCTION arn(region text) RETURNS text LANGUAGE sql AS $$ SELECT format('arn:aws:dynamodb:%s:000000000000:table/app', region) $$;
CREATE FUNCTION get(table_name text) RETURNS text LANGUAGE sql AS $$ SELECT format('{"TableName":"%s","Key":{"pk":{"S":"a"}}}', table_name) $$;

-- answers
SELECT region, arns(dynamo_internal.request_as('regress_region', 'DescribeTable', '{"TableName":"app"}', region))
	FROM unnest(ARRAY['eu-west-1', '', 'local']) region;
SELECT arns(dynamo_internal.request_as('regress_region', 'DescribeTable', '{"TableName":"app"}')) AS none,
	arns(dyn_request('DescribeTable', '{"TableName":"app"}')) AS sql;

-- names: ARNs of the region, and of "local", where nothing was known; those of another one are not ours
SELECT region, dynamo_internal.request_as('regress_region', operation, request, 'eu-west-1')
  FROM unnest(ARRAY['eu-west-1', 'local']) region, LATERAL (VALUES ('GetItem', get(arn(region))),
    ('ListTagsOfResource', json_build_object('ResourceArn', arn(region))::text),
  ('ExecuteStatement', json_build_object('Statement', format('SELECT * FROM "%s"."by" WHERE a = ''x''', arn(region)))::text)) v (operation, request);
SELECT get(arn('us-east-1')) AS other, json_build_object('ResourceArn', arn('us-east-1')) AS other_resource, get(arn('eu-west-1')) AS ours \gset
SELECT dynamo_internal.request_as('regress_region', 'GetItem', :'other', 'eu-west-1');
SELECT dynamo_internal.request_as('regress_region', 'ListTagsOfResource', :'other_resource', 'eu-west-1');
SELECT dynamo_internal.request_as('regress_region', 'GetItem', :'ours', 'local');
SELECT dynamo_internal.request_as('regress_region', 'GetItem', :'ours');

-- nothing is left of it: neither after an answer nor after an error; a denial names the region
REVOKE ALL ON app FROM regress_region;
SELECT dynamo_internal.request_as('regress_region', 'GetItem', :'other', 'eu-west-1');
SELECT dynamo_internal.request_as('regress_region', 'Scan', '{"TableName":"app"}', 'eu-west-1');
SELECT dyn_request('GetItem', :'ours');

-- a setting fixes the region
SET dynamo_table.arn_region = 'us-east-1';
SELECT arns(dynamo_internal.request_as('regress_region', 'DescribeTable', '{"TableName":"app"}', 'eu-west-1'));
SELECT dynamo_internal.request_as('regress_region', 'DescribeTable', json_build_object('TableName', arn('eu-west-1'))::text, 'eu-west-1');
SELECT dynamo_internal.request_as('regress_region', 'DescribeTable', json_build_object('TableName', arn('local'))::text, 'eu-west-1');
RESET dynamo_table.arn_region;
SHOW dynamo_table.arn_region;
SET dynamo_table.arn_region = 'EU';
SET dynamo_table.arn_account = '';

-- only what can be a name
SELECT arns(dynamo_internal.request_as('regress_region', 'DescribeTable', '{"TableName":"app"}', repeat('x', 63))) LIKE 'arn:aws:dynamodb:xxx%' AS longest;
SELECT dynamo_internal.request_as('regress_region', 'ListTables', '{}', repeat('x', 64));
SELECT dynamo_internal.request_as('regress_region', 'ListTables', '{}', 'EU-west-1');
SELECT dynamo_internal.request_as('regress_region', 'ListTables', '{}', 'eu:1');
SELECT dynamo_internal.request_as('regress_region', 'ListTables', '{}', '"');
SELECT arns(dyn_request('DescribeTable', '{"TableName":"app"}')) AS after_errors;

\set VERBOSITY terse
DROP SCHEMA region CASCADE;
DROP ROLE regress_region;
