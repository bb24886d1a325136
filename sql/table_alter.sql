-- dyn_alter_table(): the settings that UpdateTable and TagResource change, and placement.
CREATE SCHEMA alter_table;
SET search_path = alter_table, public;
\set VERBOSITY terse
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g S"}, "GSI2": {"partition_key": "h S"}}');
CREATE FUNCTION settings() RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_strip_nulls(jsonb_build_object('billing', t #> '{BillingModeSummary,BillingMode}', 'units', t -> 'ProvisionedThroughput', 'protected',
		t -> 'DeletionProtectionEnabled',
		'class', t #> '{TableClassSummary,TableClass}', 'placement', t -> 'Placement', 'tags',
		dyn_request('ListTagsOfResource', json_build_object('ResourceArn', t ->> 'TableArn')) -> 'Tags',
		'indexes', (SELECT jsonb_object_agg(i ->> 'IndexName', i -> 'ProvisionedThroughput') FROM jsonb_array_elements(t -> 'GlobalSecondaryIndexes') i)))
	FROM dyn_describe_table('app') t $$;
SELECT settings();
SELECT dyn_alter_table('app', '{"deletion_protection": true, "tags": {"team": "a", "stage": "b"},
	"table_class": "STANDARD_INFREQUENT_ACCESS", "placement": false}');
SELECT settings();
-- what is not given stays
SELECT dyn_alter_table('app', '{}'), dyn_alter_table('app', '{"tags": {}, "global_indexes": {}}');
SELECT dyn_alter_table('app', '{"tags": {"team": "c", "stage": null, "none": null}}');
-- where there are as many tags as there may be, one takes the place of another
SELECT dyn_create_table('full', 'pk S');
SELECT dyn_alter_table('full', jsonb_build_object('tags', (SELECT jsonb_object_agg('t' || i, '') FROM generate_series(1, 50) i)));
SELECT dyn_alter_table('full', '{"tags": {"a": ""}}');
SELECT dyn_alter_table('full', '{"tags": {"a": "", "t1": null}}');
SELECT dyn_drop_table('full');
SELECT dyn_drop_table('app');
SELECT dyn_alter_table('app', '{"deletion_protection": false, "placement": true, "table_class": "STANDARD"}');
SELECT settings();
-- units of all, or of none
SELECT dyn_alter_table('app', '{"billing_mode": "PROVISIONED"}');
SELECT dyn_alter_table('app', '{"billing_mode": "PROVISIONED", "read_capacity_units": 5, "write_capacity_units": 6}');
SELECT dyn_alter_table('app', '{"billing_mode": "PROVISIONED", "read_capacity_units": 5, "write_capacity_units": 6,
	"global_indexes": {"GSI1": {"read_capacity_units": 1, "write_capacity_units": 2}}}');
SELECT dyn_alter_table('app', '{"billing_mode": "PROVISIONED", "read_capacity_units": 5, "write_capacity_units": 6,
	"global_indexes": {"GSI1": {"read_capacity_units": 1, "write_capacity_units": 2}, "GSI2": {"read_capacity_units": 3, "write_capacity_units": 4}}}');
SELECT settings();
SELECT dyn_alter_table('app', '{"write_capacity_units": 7, "global_indexes": {"GSI2": {"read_capacity_units": 30}}}');
SELECT settings();
SELECT dyn_alter_table('app', '{"write_capacity_units": 0}');
SELECT dyn_alter_table('app', '{"global_indexes": {"GSI2": {"read_capacity_units": 0}}}');
SELECT dyn_alter_table('app', '{"billing_mode": "PAY_PER_REQUEST", "read_capacity_units": 5, "write_capacity_units": 6}');
SELECT dyn_alter_table('app', '{"billing_mode": "PAY_PER_REQUEST"}');
SELECT settings();
-- the same by requests
SELECT dyn_request('UpdateTable', '{"TableName": "app", "DeletionProtectionEnabled": true}') #> '{TableDescription,DeletionProtectionEnabled}' AS protected;
SELECT dyn_alter_table('app', '{"deletion_protection": false}');

-- errors
\set VERBOSITY default
SELECT dyn_alter_table('app', '{"deletion_protektion": true}');
SELECT dyn_alter_table('app', '{"deletion_protection": 1}');
SELECT dyn_alter_table('app', '{"placement": null}');
SELECT dyn_alter_table('app', '{"table_class": "GLACIER"}');
SELECT dyn_alter_table('app', '{"table_class": ""}');
SELECT dyn_alter_table('app', '{"read_capacity_units": -1}');
SELECT dyn_alter_table('app', '{"tags": ["a"]}');
SELECT dyn_alter_table('app', '{"tags": {"a": 1}}');
SELECT dyn_alter_table('app', '{"tags": {"aws:a": "b"}}');
SELECT dyn_alter_table('app', '{"global_indexes": {"GSI1": {"projection": "ALL"}}}');
SELECT dyn_alter_table('app', '{"global_indexes": {"GSI3": {"read_capacity_units": 1}}}');
SELECT dyn_alter_table('app', '[]');
SELECT dyn_alter_table('app', '1');
SELECT dyn_alter_table('app', NULL);
SELECT dyn_alter_table(NULL, '{}');
SELECT dyn_alter_table('nope', '{}');
SELECT dyn_alter_table('pg_class', '{}');
SELECT settings();
CREATE ROLE alter_stranger;
GRANT USAGE ON SCHEMA alter_table TO alter_stranger;
GRANT SELECT, INSERT, UPDATE, DELETE ON app TO alter_stranger;
SET ROLE alter_stranger;
SELECT dyn_alter_table('app', '{"deletion_protection": true}');
RESET ROLE;
DROP SCHEMA alter_table CASCADE;
DROP ROLE alter_stranger;
