-- Items of some 300 bytes in collections of 100, in random order, :items of them in each table, with three indexes that are there from the start.
\set QUIET on
CREATE EXTENSION dynamo_table;
SELECT setseed(0.5) \g /dev/null
CREATE TABLE sizes (keys text, layout text, part text, n int, bytes bigint);
CREATE TABLE layouts (layout text, n serial);
INSERT INTO layouts (layout) VALUES ('ours'), ('covering INCLUDE of 24 bytes'), ('covering INCLUDE of 54 bytes'), ('covering ALL'),
	('indexes over expressions'), ('indexes over columns');

-- more: what the first index has beside its keys
CREATE FUNCTION create_ours(name text, more jsonb DEFAULT '{}') RETURNS void LANGUAGE sql AS $$
	SELECT dyn_create_table(name, 'pk S', 'sk S', global_indexes => jsonb_build_object('GSI1', '{"partition_key": "gsi1pk S", "sort_key": "gsi1sk S"}'::jsonb ||
		more,
		'GSI2', '{"partition_key": "gsi2pk S", "sort_key": "gsi2sk S"}'::jsonb, 'GSI3', '{"partition_key": "gsi3pk S", "sort_key": "gsi3sk S"}'::jsonb)) $$;

-- distinct: each index key is a value of its own; overloaded: index keys repeat the table's keys, or are few
CREATE FUNCTION keys_of(keys text, c int, i int) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT CASE keys WHEN 'distinct' THEN (SELECT jsonb_object_agg(format('gsi%s%s', n, k), substr(md5(format('%s %s %s %s', c, i, n, k)), 1, 16))
		FROM generate_series(1, 3) n, (VALUES ('pk'), ('sk')) v (k))
		ELSE jsonb_build_object('gsi1pk', format('order#%s', i), 'gsi1sk', format('customer#%s', c), 'gsi2pk', 'ORDER', 'gsi2sk', format('customer#%s', c),
			'gsi3pk', format('status#%s', i % 5), 'gsi3sk', format('2024-01-%s', i % 28 + 1)) END $$;

CREATE PROCEDURE measure(keys text, items int) LANGUAGE plpgsql AS $$
DECLARE
	p text; s text;
BEGIN
	PERFORM create_ours('ours');
	PERFORM create_ours('covering INCLUDE of 24 bytes', '{"projection": "INCLUDE", "non_key_attributes": ["n", "status"], "covering": true}');
	PERFORM create_ours('covering INCLUDE of 54 bytes', '{"projection": "INCLUDE", "non_key_attributes": ["address", "status"], "covering": true}');
	PERFORM create_ours('covering ALL', '{"covering": true}');
	CREATE TABLE "indexes over expressions" (pk text, sk text, data jsonb NOT NULL, PRIMARY KEY (pk, sk)) WITH (fillfactor = 90);
	CREATE TABLE "indexes over columns" (pk text, sk text, data jsonb NOT NULL, gsi1pk text GENERATED ALWAYS AS (data->>'gsi1pk') STORED,
		gsi1sk text GENERATED ALWAYS AS (data->>'gsi1sk') STORED,
		gsi2pk text GENERATED ALWAYS AS (data->>'gsi2pk') STORED, gsi2sk text GENERATED ALWAYS AS (data->>'gsi2sk') STORED,
		gsi3pk text GENERATED ALWAYS AS (data->>'gsi3pk') STORED, gsi3sk text GENERATED ALWAYS AS (data->>'gsi3sk') STORED,
		PRIMARY KEY (pk, sk)) WITH (fillfactor = 90);
	FOR n IN 1 .. 3 LOOP
		p := format('gsi%spk', n);
		s := format('gsi%ssk', n);
		EXECUTE format('CREATE INDEX ON "indexes over expressions" ((data->>%L), (data->>%L)) WHERE data->>%1$L IS NOT NULL', p, s);
		EXECUTE format('CREATE INDEX ON "indexes over columns" (%I, %I) WHERE %1$I IS NOT NULL', p, s);
	END LOOP;
	CREATE TEMP TABLE source ON COMMIT DROP AS
	SELECT jsonb_build_object('pk', 'customer#' || c, 'sk', 'order#' || i, 'n', 0, 'status', 'open', 'note', repeat('x', 60), 'address',
		format('Main Street %s, Springfield', i)) || keys_of(keys, c, i) AS item
	FROM (SELECT n % greatest(items / 100, 1) AS c, n / greatest(items / 100, 1) AS i FROM generate_series(0, items - 1) n ORDER BY random()) v;
	INSERT INTO ours (item) SELECT item::dyn_item FROM source;
	INSERT INTO "covering INCLUDE of 24 bytes" (item) SELECT item::dyn_item FROM source;
	INSERT INTO "covering INCLUDE of 54 bytes" (item) SELECT item::dyn_item FROM source;
	INSERT INTO "covering ALL" (item) SELECT item::dyn_item FROM source;
	INSERT INTO "indexes over expressions" SELECT item->>'pk', item->>'sk', item FROM source;
	INSERT INTO "indexes over columns" SELECT item->>'pk', item->>'sk', item FROM source;
END $$;

-- the indexes of a table in the order in which they were made; the primary key is the first
CREATE PROCEDURE note_sizes(keys text) LANGUAGE sql AS $$
	INSERT INTO sizes SELECT keys, layout, 'table', 0, pg_table_size(quote_ident(layout)::regclass) FROM layouts;
	INSERT INTO sizes SELECT keys, layout, CASE WHEN indisprimary THEN 'primary key' ELSE 'index ' || (row_number() OVER w - 1) END, row_number() OVER w,
		pg_relation_size(indexrelid)
		FROM layouts JOIN pg_index ON indrelid = quote_ident(layout)::regclass WINDOW w AS (PARTITION BY layout ORDER BY NOT indisprimary, indexrelid);
	DROP TABLE ours, "covering INCLUDE of 24 bytes", "covering INCLUDE of 54 bytes", "covering ALL", "indexes over expressions", "indexes over columns" $$;

SET client_min_messages = warning;
CALL measure('distinct', :items);
VACUUM;
CALL note_sizes('distinct');
CALL measure('overloaded', :items);
VACUUM;
CALL note_sizes('overloaded');

CREATE VIEW parts AS SELECT keys, l.n AS layout_n, layout, s.n AS part_n, part, bytes / :items::numeric AS bytes FROM sizes s JOIN layouts l USING (layout);
CREATE VIEW results AS
SELECT keys AS "index keys", layout, round(sum(bytes) FILTER (WHERE part_n = 0)) AS "table", round(sum(bytes) FILTER (WHERE part_n = 1)) AS "primary key",
	round(sum(bytes) FILTER (WHERE part_n = 2)) AS "index 1",
	round(sum(bytes) FILTER (WHERE part_n = 3)) AS "index 2", round(sum(bytes) FILTER (WHERE part_n = 4)) AS "index 3", round(sum(bytes)) AS "together",
	round((SELECT sum(bytes) FROM parts o WHERE o.keys = p.keys AND layout = 'ours') / sum(bytes), 2) AS "ours / this"
FROM parts p GROUP BY keys, layout_n, layout ORDER BY keys, layout_n;
