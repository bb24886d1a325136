-- Of a server that does not archive its WAL: test/t/092_backups.pl has one that does.
SELECT current_setting('archive_mode') <> 'off' AS skipped \gset
\if :skipped
\echo skipped: the server archives its WAL
\quit
\endif
-- DescribeContinuousBackups, UpdateContinuousBackups, and who decides whether there are any
\set SHOW_CONTEXT never
CREATE ROLE regress_backups;
CREATE ROLE regress_backups_other;
CREATE SCHEMA backups;
GRANT CREATE, USAGE ON SCHEMA backups TO regress_backups;
GRANT USAGE ON SCHEMA backups TO regress_backups_other;
SET search_path = backups, public;
SET ROLE regress_backups;
SELECT dyn_create_table('app', 'pk S'), dyn_create_table('other', 'pk S');
GRANT SELECT, INSERT ON app TO regress_backups_other;
CREATE FUNCTION update(enabled boolean, days int DEFAULT NULL) RETURNS json LANGUAGE sql
	AS $$ SELECT dyn_request('UpdateContinuousBackups', json_build_object('TableName', 'app',
  'PointInTimeRecoverySpecification', json_build_object('PointInTimeRecoveryEnabled', enabled, 'RecoveryPeriodInDays', days))) $$;
CREATE FUNCTION described(name text DEFAULT 'app') RETURNS json LANGUAGE sql
	AS $$ SELECT dyn_request('DescribeContinuousBackups', json_build_object('TableName', name)) -> 'ContinuousBackupsDescription' $$;
CREATE FUNCTION label() RETURNS text LANGUAGE sql AS $$ SELECT label::json -> 'settings' ->> 'recovery_days' FROM pg_seclabel WHERE objoid =
	'backups.app'::regclass AND provider = 'dynamo_table' $$;

-- where WAL is archived, which it is not here: what is said of the table is not changed
SHOW dynamo_table.continuous_backups;
SELECT described();
SELECT update(true);
SELECT update(false);
SELECT label();
-- the administrator decides
SET dynamo_table.continuous_backups = accept;
RESET ROLE;
SET dynamo_table.continuous_backups = 'yes';
SET dynamo_table.continuous_backups = refuse;
SET ROLE regress_backups;
SELECT update(true);
RESET ROLE;
SET dynamo_table.continuous_backups = accept;
SET ROLE regress_backups;
SELECT described();
SELECT update(true);
SELECT described(), described('other'), label();
SELECT update(true, 7);
SELECT described(), label();
-- without a period it is the service's; other settings stay
SELECT dyn_request('TagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/app", "Tags": [{"Key": "a", "Value": "b"}]}');
SELECT update(true);
SELECT described(), label(), dyn_request('ListTagsOfResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/app"}');
-- what is told follows the setting, and is kept meanwhile
RESET ROLE;
SET dynamo_table.continuous_backups = refuse;
SELECT described(), label();
SET dynamo_table.continuous_backups = archive;
SELECT described(), label();
SET dynamo_table.continuous_backups = accept;
SELECT described();
-- off at all times; it belongs to the transaction
SET dynamo_table.continuous_backups = refuse;
SET ROLE regress_backups;
BEGIN;
SELECT update(false);
SELECT label();
ROLLBACK;
SELECT label();
SELECT update(false);
SELECT label();
RESET ROLE;
SET dynamo_table.continuous_backups = accept;
SELECT described();

-- rights: the owner's; others may look if they have any privilege
SET ROLE regress_backups_other;
SELECT described();
SELECT update(true);
SELECT update(false);
SELECT described('other');
RESET ROLE;
-- errors of the request come before
SELECT update(true, 36);
SELECT update(false, 7);
SELECT dyn_request('UpdateContinuousBackups', '{"TableName": "nope", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}');
-- nothing restores a table
SELECT dyn_request('RestoreTableToPointInTime', '{"SourceTableName": "app", "TargetTableName": "new", "UseLatestRestorableTime": true}');

\set VERBOSITY terse
DROP SCHEMA backups CASCADE;
DROP ROLE regress_backups, regress_backups_other;
