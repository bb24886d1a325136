\set QUIET on
CREATE EXTENSION dynamo_table;

CREATE TABLE counter_results ("20,000 updates of 100 counters" text, "HOT" bigint, "table before, kB" bigint, after bigint, "primary key before, kB" bigint,
	"after " bigint);
CREATE PROCEDURE count_up(what text, name text, fill int) LANGUAGE plpgsql AS $$
DECLARE
	pages bigint; entries bigint;
BEGIN
	PERFORM dyn_create_table(name, 'pk S');
	EXECUTE format('ALTER TABLE %I SET (fillfactor = %s)', name, fill);
	PERFORM dyn_put(name, jsonb_build_object('pk', 'c' || i, 'n', 0, 'pad', repeat('x', 200))::dyn_item) FROM generate_series(1, 1000) i;
	COMMIT;
	pages := pg_table_size(name::regclass);
	entries := pg_indexes_size(name::regclass);
	FOR i IN 1 .. 20000 LOOP
		PERFORM dyn_update(name, format('{"pk":{"S":"c%s"}}', i * 7919 % 100 + 1)::dyn_item, 'ADD n :n', vals => '{":n":{"N":"1"}}');
		COMMIT;
	END LOOP;
	INSERT INTO counter_results VALUES (what, NULL, pages / 1024, pg_table_size(name::regclass) / 1024, entries / 1024, pg_indexes_size(name::regclass) / 1024);
END $$;
CREATE PROCEDURE note_hot(what text, name text) LANGUAGE sql AS $$
	UPDATE counter_results SET "HOT" = pg_stat_get_tuples_hot_updated(name::regclass) WHERE "20,000 updates of 100 counters" = what $$;

CREATE TABLE expiring_sizes (name text, pages bigint, entries bigint);
CREATE TABLE expiring_results ("VACUUM after so many of 50,000" int, "table before, MB" numeric, after numeric, "indexes before, MB" numeric, "after " numeric);
CREATE FUNCTION make_expiring(name text, first int, n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I (item) SELECT jsonb_build_object(''pk'', ''user'' || i * 7919 %% 5000, ''sk'', ''s'' || i, ''g'', ''g'' || i * 31 %% 50000,
		''pad'', repeat(md5(i::text), 6), ''e'', 2000000000 + i)::dyn_item FROM generate_series($1, $1 + $2 - 1) i', name) USING first, n;
END $$;
CREATE FUNCTION fill_expiring(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM make_expiring(name, 0, 50000);
	INSERT INTO expiring_sizes SELECT name, pg_table_size(name::regclass), pg_indexes_size(name::regclass);
END $$;
-- n items come, and as many of the oldest go, as a sweep deletes them
CREATE FUNCTION replace_expiring(name text, first int, n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM make_expiring(name, first, n);
	EXECUTE format('DELETE FROM %I WHERE (item ->> ''e'')::int < 2000000000 + $1', name) USING first + n - 50000;
END $$;
CREATE PROCEDURE note_expiring(name text, step int) LANGUAGE sql AS $$
	INSERT INTO expiring_results SELECT step, round(pages / 1e6, 1), round(pg_table_size(name::regclass) / 1e6, 1), round(entries / 1e6, 1),
		round(pg_indexes_size(name::regclass) / 1e6, 1)
		FROM expiring_sizes s WHERE s.name = note_expiring.name $$;

-- of each of 20,000 items a put and an update
CREATE TABLE record_results (view_type text, "bytes of an item" int, "bytes of a record" int);
CREATE FUNCTION change_streamed(view_type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dyn_create_table(view_type, 'pk S', 'sk S');
	PERFORM dyn_enable_stream(view_type, view_type);
	EXECUTE format('INSERT INTO %I (item) SELECT jsonb_build_object(''pk'', ''customer#'' || i %% 200, ''sk'', ''order#'' || i, ''n'', 0, ''status'', ''open'',
		''pad'', (SELECT string_agg(md5(i || '' '' || j), '''') FROM generate_series(1, 7) j))::dyn_item FROM generate_series(1, 20000) i', view_type);
END $$;
CREATE FUNCTION update_streamed(view_type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('UPDATE %I SET item = dyn_apply(item, ''SET n = n + :one'', vals => ''{":one": {"N": "1"}}'')', view_type);
END $$;
CREATE TABLE collected (bytes bigint);
INSERT INTO collected VALUES (0);
CREATE PROCEDURE note_records(view_type text) LANGUAGE plpgsql AS $$
DECLARE
	now_bytes bigint := (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'dynamo_internal.stream_records'::regclass);
	size int;
BEGIN
	EXECUTE format('SELECT avg(dyn_size(item)) FROM %I', view_type) INTO size;
	INSERT INTO record_results SELECT view_type, size, (now_bytes - bytes) / 40000 FROM collected;
	UPDATE collected SET bytes = now_bytes;
END $$;
