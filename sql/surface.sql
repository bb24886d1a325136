-- All that SQL sees of the extension and that docs/compatibility.md says stays.  From the release on, lines are added here,
-- and none is changed or lost.
CREATE TEMP VIEW ours AS SELECT classid, objid FROM pg_depend
	WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dynamo_table');
\pset format unaligned
\pset tuples_only on
SELECT concat(CASE p.prokind WHEN 'p' THEN 'CALL ' END, p.proname, '(', pg_get_function_arguments(p.oid), ')',
		' → ' || pg_get_function_result(p.oid))
	FROM ours JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
	WHERE p.pronamespace <> 'dynamo_internal'::regnamespace
	ORDER BY p.proname COLLATE "C", pg_get_function_arguments(p.oid) COLLATE "C";
SELECT format('%s.%s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod))
	FROM ours JOIN pg_class c ON classid = 'pg_class'::regclass AND objid = c.oid JOIN pg_attribute a ON a.attrelid = c.oid
	WHERE c.relkind = 'v' AND c.relnamespace <> 'dynamo_internal'::regnamespace AND a.attnum > 0 ORDER BY c.relname COLLATE "C", a.attnum;
SELECT line FROM (SELECT format('%s %s %s → %s', o.oprleft::regtype, o.oprname, o.oprright::regtype, o.oprresult::regtype) AS line
	FROM ours JOIN pg_operator o ON classid = 'pg_operator'::regclass AND objid = o.oid) l ORDER BY line COLLATE "C";
SELECT line FROM (SELECT format('%s as %s %s', c.castsource::regtype, c.casttarget::regtype, c.castcontext) AS line
	FROM ours JOIN pg_cast c ON classid = 'pg_cast'::regclass AND objid = c.oid) l ORDER BY line COLLATE "C";
SELECT format('%s %s', m.amname, c.opcname) FROM ours JOIN pg_opclass c ON classid = 'pg_opclass'::regclass AND objid = c.oid
	JOIN pg_am m ON m.oid = c.opcmethod ORDER BY m.amname COLLATE "C", c.opcname COLLATE "C";
-- what dumps name
SELECT line FROM (SELECT 'dynamo_internal.' || p.proname || '(' || pg_get_function_arguments(p.oid) || ') → ' || pg_get_function_result(p.oid) AS line
	FROM ours JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
	WHERE p.pronamespace = 'dynamo_internal'::regnamespace
		AND p.proname IN ('keys_match', 'shard_takes', 'derive_keys', 'model_check', 'entity_view_change', 'migration_changed',
			'migration_truncated', 'attribute', 'domain_attribute', 'is_entity', 'is_entity_in_index')) l ORDER BY line COLLATE "C";
-- settings
SELECT count(dyn_size('{}')) > 0;
SELECT concat_ws(' ', name, vartype, unit, context, enumvals::text) FROM pg_settings WHERE name LIKE 'dynamo\_table.%' ORDER BY name COLLATE "C";
