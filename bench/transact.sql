\set QUIET on
CREATE EXTENSION dynamo_table;
CREATE TABLE ratios (what text, ours float, theirs float);
SELECT dyn_create_table('app', 'pk S', 'sk S') \g /dev/null
CREATE TABLE hand (pk text, sk text, data jsonb, PRIMARY KEY (pk, sk)) WITH (fillfactor = 90);

-- an item as a client would send it
CREATE FUNCTION typed(k int, n int DEFAULT 12345) RETURNS text LANGUAGE sql AS $$
	SELECT format('{"pk":{"S":"p%s"},"sk":{"S":"s%s"},"name":{"S":"a name of some length"},"n":{"N":"%s"},'
		'"pad":{"S":"0123456789012345678901234567890123456789"}}', k / 10, k, n) $$;
CREATE FUNCTION plain(k int, n int DEFAULT 12345) RETURNS text LANGUAGE sql AS $$
	SELECT format('{"pk":"p%s","sk":"s%s","name":"a name of some length","n":%s,"pad":"0123456789012345678901234567890123456789"}', k / 10, k, n) $$;
CREATE FUNCTION typed_key(k int) RETURNS text LANGUAGE sql AS $$ SELECT format('{"pk":{"S":"p%s"},"sk":{"S":"s%s"}}', k / 10, k) $$;

INSERT INTO app (item) SELECT typed(k)::dyn_item FROM (SELECT k FROM generate_series(10000, 109999, 2) k ORDER BY random()) r;
INSERT INTO hand SELECT 'p' || k / 10, 's' || k, plain(k)::jsonb FROM (SELECT k FROM generate_series(10000, 109999, 2) k ORDER BY random()) r;
VACUUM ANALYZE app;
VACUUM ANALYZE hand;

-- n batches of 25, by turns, each a transaction of its own; the arrays are made before the clock starts, and hold text, as parameters do
CREATE PROCEDURE batches(n int) LANGUAGE plpgsql AS $$
DECLARE
	keys int[];
	number int;
	items text[];
	item_keys text[];
	pks text[];
	sks text[];
	jsons text[];
	t0 timestamptz;
	ours interval[] := '{0s,0s}';
	theirs interval[] := '{0s,0s}';
BEGIN
	FOR i IN 1..n LOOP
		number := 10000 + random() * 89999;
		SELECT array_agg(DISTINCT 10000 + (random() * 99999)::int) INTO keys FROM generate_series(1, 25);
		SELECT array_agg(typed(k, number)), array_agg(typed_key(k)), array_agg('p' || k / 10), array_agg('s' || k), array_agg(plain(k, number)) INTO items,
			item_keys, pks, sks, jsons FROM unnest(keys) k;
		COMMIT;
		t0 := clock_timestamp();
		PERFORM dyn_batch_write('app', items::dyn_item[]);
		COMMIT;
		ours[1] := ours[1] + (clock_timestamp() - t0);
		t0 := clock_timestamp();
		INSERT INTO hand SELECT * FROM unnest(pks, sks, jsons::jsonb[]) ON CONFLICT (pk, sk) DO UPDATE SET data = EXCLUDED.data;
		COMMIT;
		theirs[1] := theirs[1] + (clock_timestamp() - t0);
		t0 := clock_timestamp();
		PERFORM dyn_batch_write('app', deletes => item_keys::dyn_item[]);
		COMMIT;
		ours[2] := ours[2] + (clock_timestamp() - t0);
		t0 := clock_timestamp();
		DELETE FROM hand USING unnest(pks, sks) u (pk, sk) WHERE hand.pk = u.pk AND hand.sk = u.sk;
		COMMIT;
		theirs[2] := theirs[2] + (clock_timestamp() - t0);
		-- as many as before
		PERFORM dyn_batch_write('app', items::dyn_item[]);
		INSERT INTO hand SELECT * FROM unnest(pks, sks, jsons::jsonb[]);
		COMMIT;
	END LOOP;
	INSERT INTO ratios VALUES
		('dyn_batch_write of 25 puts / INSERT of 25, calls a second', n / extract(epoch FROM ours[1]), n / extract(epoch FROM theirs[1])),
		('dyn_batch_write of 25 deletes / DELETE of 25, calls a second', n / extract(epoch FROM ours[2]), n / extract(epoch FROM theirs[2]));
END $$;
