-- The grammar of what SQL sees of the extension (CONTRIBUTING.md): a new function, view or argument has to fit in here.
CREATE TEMP TABLE ours AS SELECT p.*, p.oid::regprocedure::text AS routine, obj_description(p.oid, 'pg_proc') AS comment FROM pg_proc p
	JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'dynamo_table';
CREATE TEMP TABLE views AS SELECT c.*, obj_description(c.oid, 'pg_class') AS comment FROM pg_class c
	JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'dynamo_table' WHERE c.relkind = 'v'
		AND c.relname ~ '^dyn_';
-- What people call: neither of the schema of internal functions, nor behind a type, a cast, an operator class or an equality.
CREATE TEMP TABLE public_functions AS SELECT * FROM ours o WHERE o.pronamespace = (SELECT typnamespace FROM pg_type WHERE oid = 'dyn_item'::regtype)
	AND NOT EXISTS (SELECT FROM pg_type t WHERE o.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend))
	AND NOT EXISTS (SELECT FROM pg_cast c WHERE c.castfunc = o.oid)
	AND NOT EXISTS (SELECT FROM pg_amproc a WHERE a.amproc = o.oid) AND NOT EXISTS (SELECT FROM pg_operator x WHERE x.oprcode = o.oid
	AND x.oprname IN ('=', '<>'));
SELECT count(*) > 80 AS functions FROM public_functions;
-- and all of them are there: what is left behind a type has its name
SELECT routine FROM ours o WHERE o.pronamespace = (SELECT typnamespace FROM pg_type WHERE oid = 'dyn_item'::regtype) AND o.proname !~ '^dyn_(item|items|value)_'
	AND NOT EXISTS (SELECT FROM public_functions p WHERE p.oid = o.oid);

-- Names.  Bare verbs are DynamoDB's operations, and those whose object is no object of a schema.  With an object: verb_object.
CREATE TEMP TABLE bare (verb text PRIMARY KEY);
INSERT INTO bare SELECT unnest('{put,get,update,delete,query,query_page,scan,scan_page,batch_get,batch_write,transact,transact_get,request,execute,
	execute_page,explain,matches,project,apply,
	migrate,import,export,backfill,regroup,detach}'::text[]);
CREATE TEMP TABLE verbs (verb text PRIMARY KEY);
INSERT INTO verbs SELECT unnest('{create,alter,drop,grant,revoke,describe,put,get,update,delete,enable,disable,enforce,sweep,setup,teardown,collect,read,check,
	preview,propose,verify,follow,refresh,
	run,import,export,explain,distribute,undistribute}'::text[]);
-- other words for these, and what is no name of a function at all
CREATE TEMP TABLE refused (word text PRIMARY KEY);
INSERT INTO refused SELECT unnest('{set,add,remove,show,list,make,new,declare,define,start,stop,begin,end,resume,finish,status,progress,state,init,configure,
	change,modify,destroy,kill,clear,purge,do,call,exec}'::text[]);
CREATE FUNCTION pg_temp.name_problem(name text, kind text, result oid) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN name !~ '^dyn_[a-z]+(_[a-z]+)*$' THEN 'not dyn_ and words'
		WHEN substr(name, 5) IN (SELECT verb FROM bare) THEN NULL
		WHEN EXISTS (SELECT FROM refused WHERE word = ANY (words)) THEN 'has a word for which the grammar has another'
		WHEN words[1] IN (SELECT verb FROM verbs) AND words[2] IS NOT NULL THEN NULL
		WHEN kind = 'p' OR result = 'void'::regtype THEN 'does something, and does not begin with a verb'
		WHEN EXISTS (SELECT FROM verbs WHERE verb = ANY (words)) THEN 'has a verb, which is not its first word' END
	FROM (SELECT string_to_array(substr(name, 5), '_') AS words) w $$;
SELECT routine, pg_temp.name_problem(proname, prokind::text, prorettype) AS problem FROM public_functions
	WHERE pg_temp.name_problem(proname, prokind::text, prorettype) IS NOT NULL;
-- which finds what does not fit
SELECT name, pg_temp.name_problem(name, kind, result) AS problem FROM (VALUES ('dyn_foo_create', 'f', 'void'::regtype), ('dyn_foo_create', 'f', 'text'),
	('dyn_show', 'f', 'text'), ('dyn_foo_status', 'f', 'text'),
	('dyn_things', 'p', 'void'), ('dyn_create', 'f', 'void'), ('dyn_createFoo', 'f', 'void'), ('foo', 'f', 'text'), ('dyn_create_foo', 'f', 'void'),
	('dyn_foo_items', 'f', 'text')) v (name, kind, result);

-- what lists state is a view with a plural noun, for everybody; nothing is both a view and a function
SELECT relname FROM views WHERE relname !~ '^dyn_[a-z]+(_[a-z]+)*s$' OR NOT has_table_privilege('pg_read_all_settings', oid, 'SELECT')
	OR pg_temp.name_problem(relname, 'f', 'text'::regtype) IS NOT NULL OR EXISTS (SELECT FROM ours WHERE proname = relname);
SELECT relname FROM views ORDER BY 1;
-- what draws returns a line each
SELECT routine FROM ours WHERE (proname ~ '_chart$') <> (prorettype = 'text'::regtype AND proretset
	AND proname NOT IN ('dyn_detach', 'dyn_export', 'dyn_propose_migration'));

-- Arguments: table_name, what, filter, condition, names, vals, projection, return_values, limits, options, results.  An argument has one name and
-- one type wherever it is, or those types that are forms of one thing.
CREATE TEMP TABLE words (place int, name text PRIMARY KEY, types text[]);
INSERT INTO words (place, name, types) VALUES
	(0, 'table_name', '{text}'), (0, 'target', '{text}'),
	(1, 'access_pattern', '{text}'), (1, 'actions', '{text,json,jsonb,text[]}'), (1, 'attribute', '{text}'), (1, 'attributes', '{dyn_item,text,json,jsonb}'),
	(1, 'column_name', '{text}'), (1, 'deletes', '{dyn_item[],text}'),
	(1, 'encrypted_secret', '{bytea}'), (1, 'entities', '{jsonb,text}'), (1, 'entity', '{text}'), (1, 'gets', '{text,json,jsonb}'),
	(1, 'global_indexes', '{jsonb}'), (1, 'index_name', '{text}'), (1, 'item', '{dyn_item}'), (1, 'key', '{dyn_item}'),
	(1, 'key_condition', '{text}'), (1, 'key_id', '{text}'), (1, 'keys', '{dyn_item[],text,jsonb}'), (1, 'leading_keys', '{text[]}'), (1, 'lines', '{text}'),
	(1, 'local_indexes', '{jsonb}'),
	(1, 'migration', '{text}'),
	(1, 'operation', '{text}'), (1, 'owners', '{jsonb}'), (1, 'parameters', '{dyn_item,text,dyn_value[]}'), (1, 'partition_key', '{text,text[]}'),
	(1, 'puts', '{dyn_item[],text}'), (1, 'queries', '{text[]}'), (1, 'role', '{regrole}'), (1, 'request', '{text,json,jsonb}'),
	(1, 'settings', '{jsonb}'), (1, 'shard', '{bigint}'), (1, 'sort_key', '{text,text[]}'), (1, 'source', '{regclass}'), (1, 'sources', '{text[]}'),
	(1, 'start_position', '{text}'), (1, 'statement', '{text}'), (1, 'step', '{text}'), (1, 'steps', '{jsonb}'),
	(1, 'stream', '{text}'), (1, 'unnest', '{text}'), (1, 'update', '{text}'), (1, 'value', '{dyn_value,anyelement}'),
	(1, 'view_name', '{text}'), (1, 'view_type', '{text}'),
	(1, 'dimensions', '{bigint}'), (1, 'distance', '{text}'), (1, 'filters', '{text[]}'), (1, 'hash_key', '{text}'), (1, 'method', '{text}'),
	(1, 'top_k', '{bigint}'), (1, 'vector', '{real[]}'),
	(2, 'filter', '{text}'), (3, 'condition', '{text}'), (4, 'names', '{jsonb}'), (5, 'vals', '{dyn_item}'), (6, 'projection', '{text}'),
	(7, 'return_values', '{text}'), (7, 'return_values_on_condition_check_failure', '{text}'),
	(8, 'batch_size', '{bigint}'), (8, 'max_attributes', '{bigint}'), (8, 'max_collections', '{bigint}'), (8, 'max_items', '{bigint}'),
	(8, 'max_problems', '{bigint}'), (8, 'max_rate', '{bigint}'), (8, 'max_records', '{bigint}'),
	(8, 'max_wait', '{interval}'), (8, 'page_size', '{bigint}'), (8, 'samples', '{bigint}'), (8, 'segment', '{bigint}'), (8, 'time_budget', '{interval}'),
	(8, 'total_segments', '{bigint}'), (8, 'value_width', '{bigint}'),
	(9, 'at', '{timestamp with time zone}'), (9, 'bytes', '{bytea}'), (9, 'consistent_read', '{boolean}'), (9, 'covering', '{boolean}'),
	(9, 'distribution', '{text}'),
	(9, 'dry_run', '{boolean}'), (9, 'enabled', '{boolean}'), (9, 'failover', '{boolean}'), (9, 'fillfactor', '{bigint}'), (9, 'force', '{boolean}'),
	(9, 'delimiter', '{text}'), (9, 'distributed', '{boolean}'), (9, 'from_keys', '{boolean}'), (9, 'from_table', '{text}'), (9, 'header', '{text}'),
	(9, 'refused', '{regclass}'),
	(9, 'colocate_with', '{text}'), (9, 'shard_count', '{bigint}'),
	(9, 'cascade', '{boolean}'), (9, 'if_not_exists', '{boolean}'), (9, 'format', '{text}'), (9, 'forward', '{boolean}'), (9, 'from_start', '{boolean}'),
	(9, 'hide_expired', '{boolean}'), (9, 'ksuid', '{text}'), (9, 'next_token', '{text}'), (9, 'non_key_attributes', '{text[]}'), (9, 'notes', '{text}'),
	(9, 'on_conflict', '{text}'), (9, 'on_error', '{text}'), (9, 'restart', '{boolean}'), (9, 'select_mode', '{text}'), (9, 'shards', '{bigint}'),
	(9, 'sqlstate', '{text}'),
	(9, 'start_key', '{dyn_item}'), (9, 'token', '{text}'), (9, 'type', '{text}'), (9, 'type_attribute', '{text}'), (9, 'type_value', '{text}'),
	(9, 'types', '{jsonb}'), (9, 'use_indexes', '{boolean}'), (9, 'valid_until', '{timestamp with time zone}'), (9, 'wait', '{boolean}'),
	(9, 'width', '{bigint}'), (9, 'wrapped', '{boolean}');
CREATE TEMP VIEW arguments AS SELECT p.oid, p.routine, a.n, a.name, format_type(a.type, NULL) AS type, a.n > p.pronargs - p.pronargdefaults AS optional,
	coalesce(p.proargmodes[a.n], 'i') = 'b' AS result
	FROM public_functions p, LATERAL unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[]) WITH ORDINALITY a (name, type, n);
-- INOUT arguments of procedures are results, and so come last
SELECT a.routine, a.n, a.name, a.type FROM arguments a LEFT JOIN words w ON w.name = a.name WHERE NOT a.result AND (w.name IS NULL OR a.type <> ALL (w.types));
SELECT a.routine, a.name FROM arguments a JOIN arguments b USING (oid) WHERE a.result AND NOT b.result AND b.n > a.n;
-- no word is unknown to all functions
SELECT name FROM words w WHERE NOT EXISTS (SELECT FROM arguments a WHERE a.name = w.name);
-- the order; an argument without a default cannot come behind one with it
SELECT a.routine, a.name AS "this", b.name AS "is before" FROM arguments a JOIN arguments b USING (oid) JOIN words x ON x.name = a.name
	JOIN words y ON y.name = b.name
	WHERE a.n < b.n AND a.optional = b.optional AND x.place > y.place;
-- no name has to be quoted
SELECT a.routine, a.name FROM arguments a JOIN pg_get_keywords() k ON k.word = a.name WHERE k.catcode IN ('C', 'R');
-- which finds what does not fit
CREATE FUNCTION dyn_foo_create("limit" integer DEFAULT 1, max_items integer DEFAULT 1, filter text DEFAULT NULL) RETURNS void LANGUAGE sql AS '';
INSERT INTO public_functions SELECT p.*, p.oid::regprocedure FROM pg_proc p WHERE proname = 'dyn_foo_create';
SELECT a.n, a.name, a.type FROM arguments a LEFT JOIN words w ON w.name = a.name WHERE NOT a.result AND (w.name IS NULL OR a.type <> ALL (w.types));
SELECT a.name AS "this", b.name AS "is before" FROM arguments a JOIN arguments b USING (oid) JOIN words x ON x.name = a.name JOIN words y ON y.name = b.name
	WHERE a.n < b.n AND a.optional = b.optional AND x.place > y.place;
DELETE FROM public_functions WHERE proname = 'dyn_foo_create';
DROP FUNCTION dyn_foo_create;
-- one index is described alike by dyn_create_index() and by dyn_create_table()
SELECT array_agg(DISTINCT name ORDER BY name) AS members FROM arguments WHERE routine ~ '^dyn_create_index' AND name NOT IN ('table_name', 'index_name');
SELECT dyn_create_table('names_of_indexes', 'pk S', 'sk S',
	global_indexes => '{"i": {"partition_key": "a S", "sort_key": "b S", "projection": "INCLUDE", "non_key_attributes": ["c"], "covering": true}}');
DROP TABLE names_of_indexes;

-- What is called by CALL commits by itself, and says so; a function does not.
SELECT routine FROM public_functions WHERE (prokind = 'p') <> (comment ~ '; commits by itself$');
-- Each has a comment: a sentence without capital letter and period.  No comment is that of a function with another name.
SELECT routine, comment FROM public_functions WHERE comment IS NULL OR comment ~ '^(?!DynamoDB)[A-Z][a-z]|\.$';
SELECT relname FROM views WHERE comment IS NULL OR comment ~ '^(?!DynamoDB)[A-Z][a-z]|\.$';
SELECT a.routine, b.routine FROM public_functions a JOIN public_functions b ON a.comment = b.comment AND a.proname < b.proname;

-- Volatility: what changes something is volatile, what reads a table is stable, what needs its arguments alone is immutable, or stable where
-- it depends on settings or types.  Waiting for records, and what reads others' tables by their SQL, is volatile as well.
SELECT routine, provolatile FROM public_functions WHERE prokind = 'f' AND provolatile <> CASE
	WHEN proname ~ '^dyn_(create|alter|drop|grant|revoke|put|update|delete|enable|disable|detach|distribute|undistribute|enforce|follow|'
		'run|import|export_access_keys|read|preview|propose|reset|verify|batch_write|transact$|transact_returning|'
		'request|execute|entity_item|stream_position)' OR proname = 'dyn_ksuid' AND pronargs = 1 THEN 'v'
	WHEN 'table_name' = ANY (proargnames[:pronargs]) OR proname IN ('dyn_transact_get', 'dyn_to_value', 'dyn_explain_statement') THEN 's'
		ELSE 'i' END;
-- NULL for a table or a migration is an error, and no reason to do nothing
SELECT routine FROM public_functions WHERE proisstrict AND ('table_name' = ANY (proargnames) OR 'migration' = ANY (proargnames) OR 'statement' =
	ANY (proargnames));
DO $$
DECLARE
	called record;
BEGIN
	FOR called IN SELECT routine, proname, (SELECT string_agg('NULL::' || format_type(t, NULL), ', ' ORDER BY n)
		FROM unnest(proargtypes::oid[]) WITH ORDINALITY a (t, n)) AS nulls
			FROM public_functions WHERE prokind = 'f' AND proargnames[1] IN ('table_name', 'migration', 'statement') LOOP
		BEGIN
			EXECUTE format('SELECT %I(%s)', called.proname, called.nulls);
			RAISE NOTICE '% does nothing', called.routine;
		EXCEPTION WHEN SQLSTATE 'YD001' THEN
			IF SQLERRM !~ 'must not be null$' THEN
				RAISE NOTICE '%: %', called.routine, SQLERRM;
			END IF;
		END;
	END LOOP;
END $$;
-- a set says how large it is; the default of 1000 is that of
SELECT proname FROM public_functions WHERE proretset AND prorows = 1000 ORDER BY 1;
