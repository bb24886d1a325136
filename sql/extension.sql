-- What every object of the extension has to have.
CREATE VIEW objects AS
SELECT classid, objid, pg_describe_object(classid, objid, 0) AS object FROM pg_depend
 WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
   AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dynamo_table');

-- a comment: types, tables, operators, access methods and functions
SELECT object FROM objects
 WHERE classid = 'pg_operator'::regclass AND obj_description(objid, 'pg_operator') IS NULL
    OR classid = 'pg_type'::regclass AND obj_description(objid, 'pg_type') IS NULL
       AND (SELECT typcategory FROM pg_type t WHERE t.oid = objid) NOT IN ('A', 'C')
    OR classid = 'pg_class'::regclass AND obj_description(objid, 'pg_class') IS NULL
    OR classid = 'pg_am'::regclass AND obj_description(objid, 'pg_am') IS NULL
    OR classid = 'pg_proc'::regclass AND obj_description(objid, 'pg_proc') IS NULL
 ORDER BY 1;

-- C functions, or calls of these that were parsed when they were made (but for the one that catches errors), with labels that go
-- together, nobody else's rights, no setting; what is random writes nothing, nor does what tries what may fail
SELECT p.oid::regprocedure, l.lanname, p.provolatile, p.proparallel, p.prosecdef, p.proconfig
  FROM objects JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid JOIN pg_language l ON l.oid = p.prolang
 WHERE l.lanname <> 'c' AND p.prosqlbody IS NULL OR p.prosecdef OR p.proconfig IS NOT NULL
 	OR (p.proparallel = 'u') <> (p.provolatile = 'v' AND p.proname <> 'dyn_ksuid'
 		OR p.proname IN ('dyn_check_entities', 'dyn_check_table', 'tables', 'key_grants')) ORDER BY 1;

-- the item layer is pure
SELECT count(*) > 30 AS some, bool_and(provolatile = 'i' AND proparallel = 's') AS pure
  FROM objects JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
 WHERE proname ~ '^(dyn_)?(item|value|attribute|element|path|has|size)' AND NOT (proname = 'attribute' AND pronargs = 4);

-- only operator classes give types an order or a hash
SELECT object FROM objects WHERE classid = 'pg_opclass'::regclass ORDER BY 1;
DROP VIEW objects;
