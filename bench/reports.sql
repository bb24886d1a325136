-- Reports over the views of a migrated schema, and the same over its own tables.  In a query, {track} is the table track or the view
-- track_item.
\set QUIET on
\pset pager off
CREATE SCHEMA bench;
SET search_path = public, bench;
SET max_parallel_workers_per_gather = 0;

CREATE TABLE bench.targets (kind text PRIMARY KEY, times numeric, pages numeric);
INSERT INTO bench.targets VALUES ('read', 2, 1.5), ('join', 4, 5), ('aggregate', 4, 5), ('whole', 4, NULL), ('whole, enforced', 3, NULL);

CREATE TABLE bench.reports (schema text, n int GENERATED ALWAYS AS IDENTITY, kind text REFERENCES bench.targets, report text, query text);
INSERT INTO bench.reports (schema, kind, report, query) VALUES
	('chinook', 'read', 'a track by its key',
		'SELECT t.track_id, t.name, t.composer, t.milliseconds, t.unit_price FROM {track} t WHERE t.track_id = 1234'),
	('chinook', 'read', 'the tracks of an album',
		'SELECT t.track_id, t.name, t.composer, t.milliseconds FROM {track} t WHERE t.album_id = 141'),
	('chinook', 'read', 'an artist with its albums',
		'SELECT ar.name, al.album_id, al.title FROM {artist} ar JOIN {album} al USING (artist_id) WHERE ar.artist_id = 90'),
	('chinook', 'read', 'the tracks in a playlist',
		'SELECT pt.track_id FROM {playlist_track} pt WHERE pt.playlist_id = 12'),
	('chinook', 'read', 'the playlists with a track',
		'SELECT pt.playlist_id FROM {playlist_track} pt WHERE pt.track_id = 1234'),
	('chinook', 'read', 'a range of the tracks in a playlist',
		'SELECT pt.track_id FROM {playlist_track} pt WHERE pt.playlist_id = 1 AND pt.track_id BETWEEN 1000 AND 1100'),
	('chinook', 'read', 'the last three invoices of a customer',
		'SELECT i.invoice_id, i.invoice_date, i.total FROM {invoice} i WHERE i.customer_id = 23 ORDER BY i.invoice_id DESC LIMIT 3'),
	('chinook', 'join', 'an artist with albums with tracks',
		'SELECT ar.name AS artist, al.title, t.name FROM {artist} ar JOIN {album} al USING (artist_id) JOIN {track} t USING (album_id)
			WHERE ar.artist_id = 90'),
	('chinook', 'join', 'a playlist with tracks, many-to-many',
		'SELECT p.name AS playlist, t.name FROM {playlist} p JOIN {playlist_track} pt USING (playlist_id) JOIN {track} t USING (track_id)
			WHERE p.name = ''Grunge'''),
	('chinook', 'join', 'playlists with tracks of an album, many-to-many',
		'SELECT t.name AS track, p.name FROM {track} t JOIN {playlist_track} pt USING (track_id) JOIN {playlist} p USING (playlist_id)
			WHERE t.album_id = 141'),
	('chinook', 'join', 'the lines of an invoice with track, album and artist',
		'SELECT l.quantity, t.name AS track, al.title, ar.name AS artist FROM {invoice_line} l JOIN {track} t USING (track_id)
			JOIN {album} al USING (album_id) JOIN {artist} ar USING (artist_id) WHERE l.invoice_id = 300'),
	('chinook', 'join', 'employees with their managers, left join',
		'SELECT e.last_name, e.title, m.last_name AS manager FROM {employee} e LEFT JOIN {employee} m ON m.employee_id = e.reports_to'),
	('chinook', 'join', 'tracks that nobody bought, anti-join',
		'SELECT t.track_id, t.name FROM {track} t WHERE NOT EXISTS (SELECT FROM {invoice_line} l WHERE l.track_id = t.track_id)'),
	('chinook', 'join', 'customers who bought jazz, semi-join',
		'SELECT c.customer_id, c.last_name FROM {customer} c WHERE EXISTS (SELECT FROM {invoice} i JOIN {invoice_line} l USING (invoice_id)
			JOIN {track} t USING (track_id) WHERE i.customer_id = c.customer_id AND t.genre_id = 2)'),
	('chinook', 'join', 'all tracks with all albums',
		'SELECT t.name, al.title FROM {track} t JOIN {album} al USING (album_id)'),
	('chinook', 'aggregate', 'sales by genre',
		'SELECT g.name, count(*), sum(l.unit_price * l.quantity) FROM {invoice_line} l JOIN {track} t USING (track_id) JOIN {genre} g USING (genre_id)
			GROUP BY g.name'),
	('chinook', 'aggregate', 'top ten artists, four joined',
		'SELECT ar.name, sum(l.unit_price * l.quantity) FROM {invoice_line} l JOIN {track} t USING (track_id) JOIN {album} al USING (album_id)
			JOIN {artist} ar USING (artist_id) GROUP BY ar.name ORDER BY 2 DESC, 1 LIMIT 10'),
	('chinook', 'aggregate', 'albums of each artist, left join',
		'SELECT ar.name, count(al.album_id) FROM {artist} ar LEFT JOIN {album} al USING (artist_id) GROUP BY ar.artist_id, ar.name'),
	('chinook', 'whole', 'the number of tracks', 'SELECT count(*) FROM {track}'),
	('chinook', 'whole', 'the sum of a column of tracks', 'SELECT sum(milliseconds) FROM {track}'),

	('northwind', 'read', 'an order with its lines',
		'SELECT o.order_date, o.ship_city, d.product_id, d.quantity, d.unit_price FROM {orders} o JOIN {order_details} d USING (order_id)
			WHERE o.order_id = 10250'),
	('northwind', 'read', 'the orders of a customer',
		'SELECT o.order_id, o.order_date, o.freight FROM {orders} o WHERE o.customer_id = ''SAVEA'''),
	('northwind', 'read', 'a range of the orders of a product',
		'SELECT d.order_id, d.quantity FROM {order_details} d WHERE d.product_id = 11 AND d.order_id BETWEEN 10300 AND 10600'),
	('northwind', 'read', 'the last five orders of an employee',
		'SELECT o.order_id, o.order_date, o.ship_city FROM {orders} o WHERE o.employee_id = 4 ORDER BY o.order_id DESC LIMIT 5'),
	('northwind', 'join', 'the orders of a customer with employee, lines and products',
		'SELECT o.order_id, e.last_name, p.product_name, d.quantity FROM {orders} o JOIN {employees} e USING (employee_id)
			JOIN {order_details} d USING (order_id) JOIN {products} p USING (product_id) WHERE o.customer_id = ''SAVEA'''),
	('northwind', 'join', 'employees with their managers, self-join',
		'SELECT e.last_name, m.last_name AS manager FROM {employees} e JOIN {employees} m ON m.employee_id = e.reports_to'),
	('northwind', 'join', 'customers without orders, anti-join',
		'SELECT c.customer_id, c.company_name FROM {customers} c WHERE NOT EXISTS (SELECT FROM {orders} o WHERE o.customer_id = c.customer_id)'),
	('northwind', 'join', 'products sold at a discount, semi-join',
		'SELECT p.product_id, p.product_name FROM {products} p WHERE EXISTS (SELECT FROM {order_details} d WHERE d.product_id = p.product_id
			AND d.discount >= 0.25)'),
	('northwind', 'join', 'employees with territories and regions, left join',
		'SELECT e.last_name, t.territory_description, r.region_description FROM {employees} e LEFT JOIN {employee_territories} et USING (employee_id)
			LEFT JOIN {territories} t USING (territory_id) LEFT JOIN {region} r USING (region_id)'),
	('northwind', 'aggregate', 'sales by category and country, five joined',
		'SELECT c.category_name, u.country, sum((d.unit_price * d.quantity * (1 - d.discount))::numeric) FROM {order_details} d
			JOIN {orders} o USING (order_id) JOIN {customers} u USING (customer_id) JOIN {products} p USING (product_id)
			JOIN {categories} c USING (category_id) GROUP BY 1, 2'),
	('northwind', 'aggregate', 'orders of each customer, left join',
		'SELECT c.company_name, count(o.order_id), max(o.order_date) FROM {customers} c LEFT JOIN {orders} o USING (customer_id)
			GROUP BY c.customer_id, c.company_name'),
	('northwind', 'aggregate', 'top ten products',
		'SELECT p.product_name, sum(d.quantity) FROM {products} p JOIN {order_details} d USING (product_id) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10'),
	('northwind', 'whole', 'the number of orders', 'SELECT count(*) FROM {orders}'),
	('northwind', 'whole', 'the sum of a column of order lines', 'SELECT sum(quantity) FROM {order_details}'),

	('pagila', 'read', 'a film by its key',
		'SELECT f.film_id, f.title, f.description, f.length, f.rating FROM {film} f WHERE f.film_id = 508'),
	('pagila', 'read', 'the copies of a film',
		'SELECT i.inventory_id, i.store_id FROM {inventory} i WHERE i.film_id = 508'),
	('pagila', 'read', 'the rentals of a customer',
		'SELECT r.rental_id, r.inventory_id, r.rental_period FROM {rental} r WHERE r.customer_id = 148'),
	('pagila', 'read', 'the last five rentals of a copy',
		'SELECT r.rental_id, r.customer_id, r.rental_period FROM {rental} r WHERE r.inventory_id = 2346 ORDER BY r.rental_id DESC LIMIT 5'),
	('pagila', 'read', 'an actor with the numbers of films',
		'SELECT a.first_name, a.last_name, fa.film_id FROM {actor} a JOIN {film_actor} fa USING (actor_id) WHERE a.actor_id = 107'),
	('pagila', 'read', 'the numbers of the actors of a film',
		'SELECT fa.actor_id FROM {film_actor} fa WHERE fa.film_id = 508'),
	('pagila', 'join', 'an actor with films, many-to-many',
		'SELECT a.last_name, f.title, f.length FROM {actor} a JOIN {film_actor} fa USING (actor_id) JOIN {film} f USING (film_id)
			WHERE a.actor_id = 107'),
	('pagila', 'join', 'the rentals of a customer with copy, film and language',
		'SELECT r.rental_id, i.store_id, f.title, l.name FROM {rental} r JOIN {inventory} i USING (inventory_id) JOIN {film} f USING (film_id)
			JOIN {language} l USING (language_id) WHERE r.customer_id = 148'),
	('pagila', 'join', 'all customers with address, city and country',
		'SELECT c.last_name, a.address, y.city, o.country FROM {customer} c JOIN {address} a USING (address_id) JOIN {city} y USING (city_id)
			JOIN {country} o USING (country_id)'),
	('pagila', 'join', 'films without copies, anti-join',
		'SELECT f.film_id, f.title FROM {film} f WHERE NOT EXISTS (SELECT FROM {inventory} i WHERE i.film_id = f.film_id)'),
	('pagila', 'join', 'customers who rented a film, semi-join',
		'SELECT c.customer_id, c.last_name FROM {customer} c WHERE c.customer_id IN (SELECT r.customer_id FROM {inventory} i
			JOIN {rental} r USING (inventory_id) WHERE i.film_id = 508)'),
	('pagila', 'join', 'all rentals with all copies',
		'SELECT r.rental_id, r.customer_id, i.film_id, i.store_id FROM {rental} r JOIN {inventory} i USING (inventory_id)'),
	('pagila', 'aggregate', 'copies of each film, left join',
		'SELECT f.title, count(i.inventory_id) FROM {film} f LEFT JOIN {inventory} i USING (film_id) GROUP BY f.film_id, f.title'),
	('pagila', 'aggregate', 'payments by category, five joined',
		'SELECT c.name, sum(p.amount) FROM {payment} p JOIN {rental} r USING (rental_id) JOIN {inventory} i USING (inventory_id)
			JOIN {film_category} fc USING (film_id) JOIN {category} c USING (category_id) GROUP BY c.name'),
	('pagila', 'aggregate', 'top ten customers',
		'SELECT c.first_name, c.last_name, sum(p.amount) FROM {customer} c JOIN {payment} p USING (customer_id) GROUP BY c.customer_id, 1, 2
			ORDER BY 3 DESC, 2, 1 LIMIT 10'),
	('pagila', 'whole', 'the number of rentals', 'SELECT count(*) FROM {rental}'),
	('pagila', 'whole', 'the sum of a column of payments', 'SELECT sum(amount) FROM {payment}');
DELETE FROM bench.reports WHERE schema <> :'schema';
INSERT INTO bench.reports (schema, kind, report, query) SELECT schema, 'whole, enforced', report, query FROM bench.reports WHERE kind = 'whole' ORDER BY n;

-- What runs: side 0 is the own tables, 1 the views of the entities.
CREATE TABLE bench.sides AS SELECT n, 0 AS side, regexp_replace(query, '{(\w+)}', '\1', 'g') AS query FROM bench.reports
	UNION ALL SELECT n, 1, regexp_replace(query, '{(\w+)}', '\1_item', 'g') FROM bench.reports;
CREATE TABLE bench.results (n int, side int, ms float8, planned_ms float8, planning_ms float8, pages bigint);

-- One function for each, so that its plan is kept.
DO $do$
DECLARE
	s bench.sides;
BEGIN
	FOR s IN SELECT * FROM bench.sides LOOP
		EXECUTE format($f$CREATE FUNCTION bench.run_%s_%s(times int) RETURNS float8 LANGUAGE plpgsql AS $body$
			#variable_conflict use_column
			DECLARE
				started timestamptz := clock_timestamp();
			BEGIN
				FOR turn IN 1 .. times LOOP
					PERFORM * FROM (%s) AS rows;
				END LOOP;
				RETURN extract(epoch FROM clock_timestamp() - started) * 1e3 / times;
			END $body$$f$, s.n, s.side, s.query);
	END LOOP;
END $do$;

CREATE FUNCTION bench.run_planned(query text, times int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
BEGIN
	FOR turn IN 1 .. times LOOP
		EXECUTE query;
	END LOOP;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e3 / times;
END $$;

CREATE FUNCTION bench.explain(query text, options text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	result jsonb;
BEGIN
	EXECUTE format('EXPLAIN (%s, SUMMARY, FORMAT JSON) %s', options, query) INTO result;
	RETURN result -> 0;
END $$;

-- A report has rows, and the same ones on each side.
CREATE PROCEDURE bench.compare() LANGUAGE plpgsql AS $$
DECLARE
	q record;
	rows bigint;
	differ bigint;
BEGIN
	FOR q IN SELECT n, o.query AS own, v.query AS over FROM bench.sides o JOIN bench.sides v USING (n) WHERE o.side = 0 AND v.side = 1 ORDER BY n LOOP
		EXECUTE format('SELECT (SELECT count(*) FROM (%1$s) AS a), (SELECT count(*) FROM (((%1$s) EXCEPT ALL (%2$s)) UNION ALL ((%2$s) EXCEPT ALL (%1$s))) AS b)',
			q.own, q.over) INTO rows, differ;
		IF rows = 0 OR differ > 0 THEN
			RAISE EXCEPTION 'report % of %: % rows, % of them not the same over views', q.n, current_database(), rows, differ USING DETAIL = q.over;
		END IF;
	END LOOP;
END $$;

CREATE PROCEDURE bench.measure(enforced boolean, rounds int) LANGUAGE plpgsql AS $$
DECLARE
	r bench.reports;
	s bench.sides;
	ms float8;
	times int;
	result jsonb;
BEGIN
	FOR r IN SELECT * FROM bench.reports WHERE (kind LIKE '%enforced') = enforced ORDER BY n LOOP
		FOR i IN 0 .. rounds LOOP
			-- what takes over a second is not measured again
			FOR s IN SELECT * FROM bench.sides WHERE n = r.n AND (n, side) NOT IN (SELECT n, side FROM bench.results o WHERE o.ms > 1000)
				ORDER BY side * (CASE WHEN i % 2 = 0 THEN 1 ELSE -1 END) LOOP
				EXECUTE format('SELECT bench.run_%s_%s(1)', s.n, s.side) INTO ms;
				times := greatest(1, least(50, 5 / ms));
				EXECUTE format('SELECT bench.run_%s_%s(%s)', s.n, s.side, times) INTO ms;
				-- the first round is to get warm
				IF i > 0 THEN
					INSERT INTO bench.results VALUES (s.n, s.side, ms, bench.run_planned(s.query, times),
						(bench.explain(s.query, 'COSTS') ->> 'Planning Time')::float8,
						(SELECT (p ->> 'Shared Hit Blocks')::bigint + (p ->> 'Shared Read Blocks')::bigint
							FROM (SELECT bench.explain(s.query, 'ANALYZE, BUFFERS, TIMING OFF') -> 'Plan') AS e (p)));
				END IF;
			END LOOP;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;

CALL bench.compare();
CALL bench.measure(false, :rounds);
SELECT dyn_enforce_entities('app_items') \g /dev/null
CALL bench.measure(true, :rounds);

CREATE VIEW bench.medians AS SELECT n, side, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY planned_ms) AS planned_ms,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY planning_ms) AS planning_ms, percentile_cont(0.5) WITHIN GROUP (ORDER BY pages) AS pages
	FROM bench.results GROUP BY n, side;
CREATE VIEW bench.judged AS SELECT n, kind, report, v.ms, o.ms AS own_ms, v.ms / o.ms AS times, v.pages, o.pages AS own_pages,
	v.pages / o.pages AS pages_times,
	v.planning_ms, o.planning_ms AS own_planning_ms, v.planned_ms / o.planned_ms AS planned_times,
	concat_ws(', ', CASE WHEN v.ms / o.ms > t.times THEN 'time' END, CASE WHEN v.pages / o.pages > t.pages THEN 'pages' END,
		CASE WHEN v.planning_ms > 3 AND (SELECT count(*) FROM regexp_matches(r.query, '{', 'g')) <= 4 THEN 'planning' END) AS misses
	FROM bench.reports r JOIN bench.targets t USING (kind) JOIN bench.medians v USING (n)
		JOIN (SELECT n, ms, planned_ms, planning_ms, pages FROM bench.medians WHERE side = 0) o USING (n)
	WHERE v.side = 1;
CREATE VIEW bench.printed AS SELECT kind, report, round(ms::numeric, 3) AS ms, round(own_ms::numeric, 3) AS "own ms",
	round(times::numeric, 1) AS "times",
	pages, own_pages AS "own pages", round(pages_times::numeric, 1) AS "times the pages",
	round(planning_ms::numeric, 2) AS "planning, ms", round(own_planning_ms::numeric, 2) AS "own planning",
	round(planned_times::numeric, 1) AS "times, with planning",
	CASE WHEN misses = '' THEN 'no' ELSE misses END AS misses FROM bench.judged ORDER BY n;
CREATE VIEW bench.summary AS SELECT kind, count(*) AS reports, count(*) FILTER (WHERE misses = '') AS "within target",
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY times)::numeric, 1) AS "median of times",
	round(max(times)::numeric, 1) AS "at most", round(percentile_cont(0.5) WITHIN GROUP (ORDER BY planned_times)::numeric, 1) AS "with planning",
	round(max(planned_times)::numeric, 1) AS "planned, at most", round(max(pages_times)::numeric, 1) AS "times the pages, at most"
	FROM bench.judged GROUP BY kind ORDER BY min(n);
