-- Access keys: who may create, alter, drop and see them, and that a key never comes to stand for another role.
\set SHOW_CONTEXT never
CREATE ROLE regress_key_gateway;
CREATE ROLE regress_key_tenant;
CREATE ROLE regress_key_other;
CREATE ROLE regress_key_admin;
CREATE ROLE regress_key_super SUPERUSER;
GRANT regress_key_tenant TO regress_key_admin WITH ADMIN OPTION;
GRANT regress_key_tenant TO regress_key_gateway;
GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO regress_key_gateway;

-- who may
SELECT dyn_create_access_key('REGRESS1', 'regress_key_tenant', '\x0102');
SET ROLE regress_key_admin;
SELECT dyn_create_access_key('REGRESS2', 'regress_key_tenant', '\x0103');
SELECT dyn_alter_access_key('REGRESS1', enabled => false);
SELECT dyn_create_access_key('REGRESS3', 'regress_key_other', '\x0103');
SELECT dyn_create_access_key('REGRESS3', 'regress_key_admin', '\x0103');
SET ROLE regress_key_tenant;
SELECT dyn_create_access_key('REGRESS3', 'regress_key_tenant', '\x0103');
SELECT dyn_alter_access_key('REGRESS1', enabled => true);
SELECT dyn_drop_access_key('REGRESS1');
-- not by the rights of whom the caller is a member of alone
SET ROLE regress_key_gateway;
SELECT dyn_create_access_key('REGRESS3', 'regress_key_tenant', '\x0103');
RESET ROLE;
SELECT dyn_create_access_key('REGRESS4', 'regress_key_other', '\x04');

-- who sees what: no secrets but for gateways
SELECT key_id, role, state, enabled, valid_until, created_at <= now() AS created FROM dyn_access_keys ORDER BY key_id;
SELECT attname FROM pg_attribute WHERE attrelid = 'dyn_access_keys'::regclass AND attnum > 0 ORDER BY attnum;
SET ROLE regress_key_admin;
SELECT key_id, role, state FROM dyn_access_keys ORDER BY key_id;
SELECT * FROM dynamo_internal.gateway_keys();
SELECT * FROM dynamo_internal.access_key;
SELECT dynamo_internal.request_as('regress_key_tenant', 'ListTables', '{}');
SET ROLE regress_key_tenant;
SELECT key_id, role, state FROM dyn_access_keys ORDER BY key_id;
SET ROLE regress_key_other;
SELECT key_id, role, state FROM dyn_access_keys ORDER BY key_id;
SET ROLE regress_key_gateway;
SELECT key_id, role = role_name::regrole AS role, role_name, encrypted_secret, enabled, valid_until FROM dynamo_internal.gateway_keys() ORDER BY key_id;
SELECT * FROM dynamo_internal.access_key;
RESET ROLE;
-- a privilege that is granted with all tables shows no row
GRANT SELECT ON ALL TABLES IN SCHEMA dynamo_internal TO regress_key_other;
SET ROLE regress_key_other;
SELECT count(*) FROM dynamo_internal.access_key;
RESET ROLE;
REVOKE SELECT ON ALL TABLES IN SCHEMA dynamo_internal FROM regress_key_other;

-- what is not given stays
SELECT dyn_alter_access_key('REGRESS2', valid_until => '2001-01-01 00:00+00');
SELECT dyn_alter_access_key('REGRESS1', true);
SELECT key_id, state, enabled, valid_until AT TIME ZONE 'UTC' AS valid_until FROM dyn_access_keys ORDER BY key_id;
SELECT dyn_alter_access_key('REGRESS2', NULL, 'infinity');
SELECT dyn_alter_access_key('REGRESS2', false, NULL);
SELECT dyn_alter_access_key('REGRESS2');
SELECT key_id, state, enabled, valid_until FROM dyn_access_keys ORDER BY key_id;

-- arguments
SELECT dyn_create_access_key('REGRESS1', 'regress_key_tenant', '\x01');
SELECT dyn_create_access_key('REGRESS5', 'regress_key_nobody', '\x01');
SELECT dyn_create_access_key('REGRESS5', 1, '\x01');
SELECT dyn_create_access_key('REGRESS5', 'regress_key_super', '\x01');
SELECT dyn_create_access_key(id, 'regress_key_tenant', '\x01') FROM (VALUES ('')) v (id);
SELECT dyn_create_access_key('a/b', 'regress_key_tenant', '\x01');
SELECT dyn_create_access_key(repeat('a', 129), 'regress_key_tenant', '\x01');
SELECT dyn_create_access_key('REGRESS5', 'regress_key_tenant', '');
SELECT dyn_create_access_key('REGRESS5', 'regress_key_tenant', decode(repeat('00', 1025), 'hex'));
SELECT dyn_create_access_key(NULL, 'regress_key_tenant', '\x01');
SELECT dyn_create_access_key('REGRESS5', NULL, '\x01');
SELECT dyn_create_access_key('REGRESS5', 'regress_key_tenant', NULL);
SELECT dyn_alter_access_key('REGRESS5', true);
SELECT dyn_alter_access_key(NULL);
SELECT dyn_drop_access_key('REGRESS5');
SELECT dyn_drop_access_key(NULL);

-- another role of the name
CREATE ROLE "regress ""key"; CREATE ROLE regress_key_renamed;
SELECT dyn_create_access_key('REGRESS6', '"regress ""key"', '\x06');
SELECT dyn_create_access_key('REGRESS7', 'regress_key_renamed', '\x07');
SELECT key_id, role_name FROM dynamo_internal.gateway_keys() ORDER BY key_id;
DROP ROLE "regress ""key";
SELECT key_id, state FROM dyn_access_keys ORDER BY key_id;
CREATE ROLE "regress ""key";
SELECT key_id, state FROM dyn_access_keys ORDER BY key_id;
SELECT key_id, role_name FROM dynamo_internal.gateway_keys() ORDER BY key_id;
-- another role of the OID
ALTER ROLE regress_key_renamed RENAME TO regress_key_new;
SELECT key_id, state FROM dyn_access_keys ORDER BY key_id;
SELECT key_id, role_name FROM dynamo_internal.gateway_keys() ORDER BY key_id;
SELECT dyn_alter_access_key('REGRESS7', enabled => true);
SELECT dyn_alter_access_key('REGRESS6', enabled => true);
SELECT key_id, role_name FROM dynamo_internal.gateway_keys() ORDER BY key_id;
-- until somebody says so
UPDATE dynamo_internal.access_key SET role = 'regress_key_new' WHERE role = 'regress_key_renamed';
SELECT key_id, role_name, role = role_name::regrole AS role FROM dynamo_internal.gateway_keys() ORDER BY key_id;
-- whatever OID is written
UPDATE dynamo_internal.access_key SET role = 'regress_key_new', role_oid = 'regress_key_tenant'::regrole WHERE key_id = 'REGRESS7';
INSERT INTO dynamo_internal.access_key (key_id, role, role_oid, encrypted_secret)
	VALUES ('REGRESS8', 'regress_key_nobody', 'regress_key_tenant'::regrole, '\x08');
SELECT key_id, role_name, role = role_name::regrole AS role FROM dynamo_internal.gateway_keys() ORDER BY key_id;
SELECT key_id, role, state FROM dyn_access_keys ORDER BY key_id;
-- nor does its owner keep what a role has become
ALTER ROLE regress_key_new SUPERUSER;
SELECT key_id, role, state FROM dyn_access_keys WHERE key_id = 'REGRESS7';
SELECT key_id, role_name FROM dynamo_internal.gateway_keys() ORDER BY key_id;
-- whose role is gone can be dropped by superusers only
SET ROLE regress_key_admin;
SELECT dyn_drop_access_key('REGRESS6');
SELECT dyn_drop_access_key('REGRESS2');
RESET ROLE;
SELECT dyn_drop_access_key('REGRESS6');

-- a dump has none
SELECT extconfig FROM pg_extension WHERE extname = 'dynamo_table';

-- Export and import: keys of roles whose keys the caller may create, whatever is written in the export.
DELETE FROM dynamo_internal.access_key;
SELECT dyn_export_access_keys();
SELECT dyn_create_access_key('REGRESS1', 'regress_key_tenant', '\x0102'), dyn_create_access_key('REGRESS4', 'regress_key_other', '\x5c27'),
	dyn_create_access_key('REGRESS6', '"regress ""key"', '\x06');
SELECT dyn_alter_access_key('REGRESS4', false, '2001-01-01 00:00+00');
INSERT INTO dynamo_internal.access_key (key_id, role, encrypted_secret) VALUES ('REGRESS5', 'regress_key_super', '\x05'),
	('REGRESS8', 'regress_key_nobody', '\x08');
SET timezone = 'UTC';
SELECT jsonb_pretty(dyn_export_access_keys() #- '{0,cluster}' #- '{1,cluster}' #- '{2,cluster}' #- '{0,role_oid}' #- '{1,role_oid}' #- '{2,role_oid}');
SELECT dyn_export_access_keys() AS all_keys \gset
SET ROLE regress_key_admin;
SELECT jsonb_path_query_array(dyn_export_access_keys(), '$[*].key_id');
SET ROLE regress_key_tenant;
SELECT dyn_export_access_keys();
RESET ROLE;
CREATE TEMP TABLE before AS TABLE dynamo_internal.access_key;
DELETE FROM dynamo_internal.access_key;
-- all or none
SET ROLE regress_key_admin;
SELECT dyn_import_access_keys(:'all_keys');
SELECT key_id FROM dyn_access_keys;
SELECT dyn_import_access_keys(jsonb_path_query_array(:'all_keys', '$[0]'));
SELECT key_id, role, state FROM dyn_access_keys;
SELECT dyn_drop_access_key('REGRESS1');
RESET ROLE;
SET bytea_output = 'escape';
SELECT dyn_import_access_keys(:'all_keys'), dyn_import_access_keys('[]');
RESET bytea_output;
SELECT key_id, role, role_oid, encrypted_secret, enabled, valid_until FROM before WHERE key_id NOT IN ('REGRESS5', 'REGRESS8') EXCEPT SELECT key_id, role,
	role_oid, encrypted_secret, enabled, valid_until FROM dynamo_internal.access_key;
SELECT count(*) FROM dynamo_internal.access_key;
SELECT dyn_import_access_keys(:'all_keys');
DELETE FROM dynamo_internal.access_key;
-- another role that has the name: here roles have OIDs, elsewhere names alone
SELECT dyn_import_access_keys(jsonb_set(:'all_keys', '{0,role_oid}', '"1"'));
SELECT dyn_import_access_keys(jsonb_set(:'all_keys', '{0,role}', '"regress_key_other"'));
SELECT dyn_import_access_keys(jsonb_set(jsonb_set(:'all_keys', '{0,role_oid}', '"1"'), '{0,cluster}', '"1"'));
SELECT key_id, role FROM dyn_access_keys ORDER BY key_id;
DELETE FROM dynamo_internal.access_key;
-- whatever is written there
SELECT dyn_import_access_keys(jsonb_set(:'all_keys', '{0,role}', '"regress_key_nobody"'));
SELECT dyn_import_access_keys(jsonb_set(:'all_keys', '{0,role}', to_jsonb(repeat('x', 63) || 'yz')));
SELECT dyn_import_access_keys(jsonb_set(:'all_keys' #- '{0,cluster}', '{0,role}', '"regress_key_super"'));
SELECT dyn_import_access_keys(jsonb_set(:'all_keys', '{0,key_id}', '"a/b"'));
SELECT dyn_import_access_keys(jsonb_set(:'all_keys', '{0,key_id}', '"REGRESS4"'));
SELECT dyn_import_access_keys(jsonb_set(:'all_keys', '{0,encrypted_secret}', '""'));
SELECT dyn_import_access_keys(jsonb_set(:'all_keys', '{0,encrypted_secret}', '"\\x0"'));
SELECT dyn_import_access_keys(:'all_keys' #- '{0,key_id}');
SELECT dyn_import_access_keys(:'all_keys' #- '{0,enabled}');
SELECT dyn_import_access_keys(jsonb_set(:'all_keys', '{0}', '1'));
SELECT dyn_import_access_keys('{}');
SELECT dyn_import_access_keys('[null]');
SELECT dyn_import_access_keys(NULL);
SELECT count(*) FROM dynamo_internal.access_key;

-- no trigger but the extension's own
CREATE FUNCTION regress_key_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'as %', current_user; RETURN new; END $$;
CREATE TRIGGER regress_key_trigger BEFORE INSERT ON dynamo_internal.access_key FOR EACH ROW EXECUTE FUNCTION regress_key_trigger();
SELECT dyn_create_access_key('REGRESS9', 'regress_key_tenant', '\x09');
DROP TRIGGER regress_key_trigger ON dynamo_internal.access_key;
DROP FUNCTION regress_key_trigger;
SELECT dynamo_internal.access_key_role();
SELECT dynamo_internal.access_key_changed();

DELETE FROM dynamo_internal.access_key;
DROP OWNED BY regress_key_gateway;
DROP ROLE regress_key_gateway, regress_key_tenant, regress_key_other, regress_key_admin, regress_key_super, regress_key_new, "regress ""key";
