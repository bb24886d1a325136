-- Requests of gateways: who may make them, as whom, and when.  test/t/081_gateway_session.pl has what code in tables tries.
\set SHOW_CONTEXT never
CREATE ROLE regress_gateway;
CREATE ROLE regress_tenant;
CREATE ROLE "regress ""tenant" NOINHERIT;
CREATE ROLE regress_group;
CREATE ROLE regress_indirect;
CREATE ROLE regress_other;
CREATE ROLE regress_super SUPERUSER;
GRANT regress_tenant, "regress ""tenant", regress_group, regress_super TO regress_gateway;
GRANT regress_indirect TO regress_group;
CREATE SCHEMA gateway;
GRANT CREATE, USAGE ON SCHEMA gateway TO regress_tenant;
GRANT USAGE ON SCHEMA gateway TO PUBLIC;
CREATE FUNCTION gateway.whoami() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		RAISE NOTICE 'current user %, role %, search_path %', current_user, current_setting('role'), current_setting('search_path');
		RETURN new;
	END $$;
SET ROLE regress_tenant;
SET search_path = gateway, public;
SELECT dyn_create_table('app', 'pk S');
CREATE TRIGGER whoami BEFORE INSERT ON app FOR EACH ROW EXECUTE FUNCTION gateway.whoami();
RESET ROLE;
CREATE FUNCTION put(role regrole, item text DEFAULT '{"pk":{"S":"a"}}') RETURNS json LANGUAGE sql SET search_path = gateway, public
	AS $$ SELECT dynamo_internal.request_as(role, 'PutItem', format('{"TableName":"app","Item":%s}', item)) $$;

-- a right that has to be granted
SELECT has_function_privilege('regress_gateway', 'dynamo_internal.request_as(regrole, text, text, text, text[])', 'EXECUTE');
SET SESSION AUTHORIZATION regress_gateway;
SELECT dynamo_internal.request_as('regress_tenant', 'ListTables', '{}');
RESET SESSION AUTHORIZATION;
GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO regress_gateway;

-- the roles that the session user may set
SET SESSION AUTHORIZATION regress_gateway;
SET search_path = gateway, public;
SELECT put('regress_tenant');
SELECT current_user, current_setting('role');
SELECT put('"regress ""tenant"');
SELECT put('regress_group');
SELECT put('regress_indirect');
SELECT put('regress_gateway');
SELECT put('regress_other');
SELECT put('regress_super');
SELECT put(0);
SELECT put('-');
SELECT put(4294967295);
SELECT put('regress_nobody');
SELECT put('none');
SELECT put('pg_monitor');
SELECT dynamo_internal.request_as(NULL, 'ListTables', '{}'), dynamo_internal.request_as('regress_tenant', NULL, '{}'),
	dynamo_internal.request_as('regress_tenant', 'ListTables', NULL);

-- requests and errors are those of dyn_request
SELECT dynamo_internal.request_as('regress_tenant', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"a"}}}');
SELECT dynamo_internal.request_as('regress_tenant', 'Nothing', '{}');
SELECT dynamo_internal.request_as('regress_tenant', 'GetItem', '{"TableName":');
SELECT dynamo_internal.request_as('regress_tenant', 'GetItem', '{"TableName":"nothing","Key":{"pk":{"S":"a"}}}');
SELECT dynamo_internal.request_as('regress_tenant', 'PutItem',
	'{"TableName":"app","Item":{"pk":{"S":"a"}},"ConditionExpression":"attribute_not_exists(pk)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}');
PREPARE request AS SELECT dynamo_internal.request_as($1, $2, $3);
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'request';
EXECUTE request ('regress_tenant', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"a"}}}');

-- a membership, and what comes with it, counts when the request is made
RESET SESSION AUTHORIZATION;
REVOKE regress_tenant FROM regress_gateway;
SET SESSION AUTHORIZATION regress_gateway;
EXECUTE request ('regress_tenant', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"a"}}}');
RESET SESSION AUTHORIZATION;
GRANT regress_tenant TO regress_gateway;
ALTER ROLE regress_tenant SUPERUSER;
SET SESSION AUTHORIZATION regress_gateway;
EXECUTE request ('regress_tenant', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"a"}}}');
RESET SESSION AUTHORIZATION;
ALTER ROLE regress_tenant NOSUPERUSER;
-- 16 and later: membership without the right to set the role
SELECT current_setting('server_version_num')::int >= 160000 AS can_withhold_set \gset
\if :can_withhold_set
GRANT regress_tenant TO regress_gateway WITH SET FALSE, INHERIT TRUE;
\else
REVOKE regress_tenant FROM regress_gateway;
\endif
SET SESSION AUTHORIZATION regress_gateway;
EXECUTE request ('regress_tenant', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"a"}}}');
RESET SESSION AUTHORIZATION;
\if :can_withhold_set
GRANT regress_tenant TO regress_gateway WITH SET TRUE;
\else
GRANT regress_tenant TO regress_gateway;
\endif

-- the session user counts, not the role that is set; and a role that is set stays
SET SESSION AUTHORIZATION regress_other;
SET ROLE regress_other;
SELECT put('regress_tenant');
RESET SESSION AUTHORIZATION;
SET ROLE regress_gateway;
SELECT put('regress_other');
SELECT current_user, session_user = current_user AS same;
RESET ROLE;

-- a request is a transaction of its own
SET SESSION AUTHORIZATION regress_gateway;
SET search_path = gateway, public;
BEGIN;
SELECT put('regress_tenant');
ROLLBACK;
SELECT put('regress_tenant', '{"pk":{"S":"b"}}')\; SELECT 1 AS one;
DO $$ BEGIN
	PERFORM put('regress_tenant');
EXCEPTION WHEN active_sql_transaction THEN
	RAISE NOTICE '%: %, %', SQLERRM, current_user, current_setting('search_path');
END $$;
-- not with the rights of somebody else
RESET SESSION AUTHORIZATION;
CREATE FUNCTION gateway.definer() RETURNS json LANGUAGE sql SECURITY DEFINER AS $$ SELECT dynamo_internal.request_as('regress_tenant', 'ListTables', '{}') $$;
ALTER FUNCTION gateway.definer() OWNER TO regress_gateway;
SET SESSION AUTHORIZATION regress_other;
SELECT gateway.definer();
SET SESSION AUTHORIZATION regress_gateway;
SELECT gateway.definer();
\c -
SET search_path = gateway, public;

-- constraints that are deferred otherwise are checked by the request
CREATE TABLE parent (pk text PRIMARY KEY);
GRANT SELECT ON parent TO PUBLIC;
ALTER TABLE app ADD FOREIGN KEY (pk) REFERENCES parent DEFERRABLE INITIALLY DEFERRED NOT VALID;
SET SESSION AUTHORIZATION regress_gateway;
SET search_path = gateway, public;
SELECT put('regress_tenant', '{"pk":{"S":"child"}}');
RESET SESSION AUTHORIZATION;

-- a request that is meant for certain distributed tables is for no other, and tells no more than that there is none
SELECT dynamo_internal.request_as('regress_tenant', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"one"}}}', '', '{gateway,app}');
SELECT dynamo_internal.request_as('regress_tenant', 'GetItem', '{"TableName":"none","Key":{"pk":{"S":"one"}}}', '', '{gateway,app}');
SELECT dynamo_internal.request_as('regress_tenant', 'ListTables', '{}', '', '{gateway,app}');
SELECT dynamo_internal.request_as('regress_tenant', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"one"}}}', '', '{}') IS NOT NULL AS any;

-- whether something has changed
SELECT dynamo_internal.gateway_changes() AS before \gset
CREATE TABLE changed ();
SELECT dynamo_internal.gateway_changes() > :before AS a_table;
SELECT dynamo_internal.gateway_changes() AS before \gset
ALTER ROLE regress_tenant CONNECTION LIMIT 7;
SELECT dynamo_internal.gateway_changes() > :before AS a_role;
SELECT dynamo_internal.gateway_changes() AS before \gset
CREATE SCHEMA changes;
SELECT dynamo_internal.gateway_changes() > :before AS a_schema;
DROP SCHEMA changes;
DROP TABLE changed;

-- row-level security is that of the role
ALTER TABLE app DROP CONSTRAINT app_pk_fkey;
CREATE POLICY own ON app USING (item ->> 'owner' = current_user);
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
ALTER TABLE app FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON app TO "regress ""tenant";
SET SESSION AUTHORIZATION regress_gateway;
SET search_path = gateway, public;
SET client_min_messages = warning;
SELECT put('regress_tenant', '{"pk":{"S":"one"},"owner":{"S":"regress_tenant"}}');
SELECT put('"regress ""tenant"', '{"pk":{"S":"two"},"owner":{"S":"regress \"tenant"}}');
SELECT put('"regress ""tenant"', '{"pk":{"S":"three"},"owner":{"S":"regress_tenant"}}');
SELECT put('"regress ""tenant"', '{"pk":{"S":"one"},"owner":{"S":"regress \"tenant"}}');
PREPARE request AS SELECT dynamo_internal.request_as($1, $2, $3);
EXECUTE request ('regress_tenant', 'Scan', '{"TableName":"app"}');
EXECUTE request ('"regress ""tenant"', 'Scan', '{"TableName":"app"}');
EXECUTE request ('regress_tenant', 'Scan', '{"TableName":"app"}');
EXECUTE request ('"regress ""tenant"', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"one"}}}');
EXECUTE request ('"regress ""tenant"', 'DeleteItem', '{"TableName":"app","Key":{"pk":{"S":"one"}},"ReturnValues":"ALL_OLD"}');
EXECUTE request ('regress_tenant', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"one"}}}');
RESET SESSION AUTHORIZATION;

DROP SCHEMA gateway CASCADE;
DROP OWNED BY regress_gateway;
DROP ROLE regress_gateway, regress_tenant, "regress ""tenant", regress_group, regress_indirect, regress_other, regress_super;
