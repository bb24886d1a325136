-- A video rental in third normal form: 17 tables, 27 foreign keys, about 60,000 rows at scale 1 (psql -v scale=2 for twice
-- that).  All values come of a hash of what they are for, so each run makes the same rows.
\if :{?scale}
\else
\set scale 1
\endif
CREATE SCHEMA rental;
SET search_path = rental, public;

-- 0 … n - 1, by what it is for and a number
CREATE FUNCTION pick(what text, i bigint, n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT ('x' || substr(md5(what || i), 1, 7))::bit(28)::int::bigint % n $$;
CREATE FUNCTION word(what text, i bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT (ARRAY['Amber', 'Bitter', 'Clever', 'Distant', 'Early', 'Frozen', 'Gentle', 'Hollow', 'Iron', 'Jolly', 'Kind', 'Lost', 'Misty', 'Noble', 'Open',
	'Pale'])[1 + pick(what || 'a', i, 16)]
	|| ' ' || (ARRAY['Anchor', 'Bridge', 'Castle', 'Desert', 'Engine', 'Forest', 'Garden', 'Harbour', 'Island', 'Journey', 'Kitchen', 'Letter', 'Mirror',
		'Night', 'Orchard', 'Piano'])[1 + pick(what || 'b', i, 16)] $$;
CREATE FUNCTION person(what text, i bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT (ARRAY['Ada', 'Boris', 'Chiara', 'Dmitri', 'Élise', 'Farid', 'Greta', 'Hugo', 'Ines', 'Jonas', 'Keiko', 'Lars', 'Mei', 'Nils', 'Olga',
	'Pablo'])[1 + pick(what || 'f', i, 16)]
	|| ' ' || (ARRAY['Abel', 'Brandt', 'Castro', 'Duval', 'Ekman', 'Fischer', 'García', 'Holm', 'Ito', 'Jansen', 'Kovač', 'Lindt', 'Moreau', 'Novak',
		'O''Neil', 'Petit'])[1 + pick(what || 'l', i, 16)] $$;

CREATE TYPE rating AS ENUM ('all', '6+', '12+', '16+', '18+');
CREATE TYPE method AS ENUM ('cash', 'card', 'voucher');
CREATE DOMAIN money_amount AS numeric(8, 2) CHECK (VALUE >= 0);

CREATE TABLE language (language_id int PRIMARY KEY, name text NOT NULL UNIQUE, iso char(2));
CREATE TABLE category (category_id int PRIMARY KEY, name varchar(40) NOT NULL, parent_id int REFERENCES category);
CREATE TABLE actor (actor_id int PRIMARY KEY, name text NOT NULL, born date, aliases text[]);
CREATE TABLE film (
	film_id int PRIMARY KEY, title text NOT NULL, description text, released date, language_id int NOT NULL REFERENCES language,
	original_language_id int REFERENCES language, length_minutes smallint, rating rating NOT NULL, daily_rate money_amount NOT NULL,
	replacement_cost numeric(8, 2), features text[], scores real[], details jsonb, poster bytea, playing_time interval, available tstzrange);
CREATE TABLE film_actor (film_id int REFERENCES film ON DELETE CASCADE, actor_id int REFERENCES actor, role text, billing smallint NOT NULL,
	PRIMARY KEY (film_id, actor_id));
CREATE TABLE film_category (film_id int REFERENCES film ON DELETE CASCADE, category_id int REFERENCES category, PRIMARY KEY (film_id, category_id));
CREATE TABLE country (code char(2) PRIMARY KEY, name text NOT NULL);
CREATE TABLE city (city_id int PRIMARY KEY, name text NOT NULL, country_code char(2) NOT NULL REFERENCES country, population bigint);
CREATE TABLE address (address_id int PRIMARY KEY, street text NOT NULL, postal_code varchar(12), city_id int NOT NULL REFERENCES city, phone text);
CREATE TABLE store (store_id int PRIMARY KEY, name text NOT NULL, address_id int NOT NULL REFERENCES address, manager_id int, opens time, network inet);
CREATE TABLE staff (
	staff_id int PRIMARY KEY, name text NOT NULL, store_id int NOT NULL REFERENCES store, address_id int NOT NULL REFERENCES address, email text,
	active boolean NOT NULL, hired date NOT NULL, salary numeric(10, 2), badge uuid NOT NULL);
ALTER TABLE store ADD FOREIGN KEY (manager_id) REFERENCES staff;
CREATE TABLE customer (
	customer_id int PRIMARY KEY, store_id int NOT NULL REFERENCES store, address_id int NOT NULL REFERENCES address, name text NOT NULL, email text,
	active boolean NOT NULL, joined timestamp NOT NULL, birthday date, preferences json);
CREATE TABLE inventory (
	inventory_id int PRIMARY KEY, film_id int NOT NULL REFERENCES film, store_id int NOT NULL REFERENCES store, bought date NOT NULL, note text);
CREATE TABLE rental (
	rental_id bigint PRIMARY KEY, inventory_id int NOT NULL REFERENCES inventory, customer_id int NOT NULL REFERENCES customer,
	staff_id int NOT NULL REFERENCES staff, rented timestamptz NOT NULL, due timestamptz NOT NULL, returned timestamptz);
CREATE TABLE payment (
	payment_id bigint PRIMARY KEY, rental_id bigint NOT NULL REFERENCES rental, customer_id int NOT NULL REFERENCES customer,
	staff_id int NOT NULL REFERENCES staff, amount money_amount NOT NULL, method method NOT NULL, paid timestamptz NOT NULL);
CREATE TABLE review (
	film_id int REFERENCES film, customer_id int REFERENCES customer, stars smallint NOT NULL CHECK (stars BETWEEN 1 AND 5), body text,
	written timestamptz NOT NULL,
	PRIMARY KEY (film_id, customer_id));
CREATE TABLE wish (customer_id int REFERENCES customer, film_id int REFERENCES film, added date NOT NULL, PRIMARY KEY (customer_id, film_id));

INSERT INTO language SELECT i, (ARRAY['Danish', 'English', 'French', 'German', 'Italian', 'Japanese', 'Polish', 'Spanish'])[i],
	(ARRAY['da', 'en', 'fr', 'de', NULL, 'ja', 'pl', 'es'])[i] FROM generate_series(1, 8) i;
INSERT INTO category SELECT i, (ARRAY['Fiction', 'Documentary', 'Drama', 'Comedy', 'Crime', 'Western', 'Nature', 'History', 'Music', 'Romance', 'Satire',
	'Noir'])[i],
	(ARRAY[NULL, NULL, 1, 1, 1, 1, 2, 2, 2, 3, 4, 5])[i] FROM generate_series(1, 12) i;
INSERT INTO actor SELECT i, person('actor', i), CASE WHEN i % 7 > 0 THEN date '1930-01-01' + pick('born', i, 25000)::int END,
	CASE i % 5 WHEN 0 THEN ARRAY[person('alias', i), NULL] WHEN 1 THEN '{}' END FROM generate_series(1, 250 * :scale) i;
INSERT INTO film SELECT i, word('film', i) || ' ' || i,
	CASE WHEN i % 9 > 0 THEN repeat(word('plot', i) || ' and the ' || word('plot2', i) || '. ', 1 + i % 4) END,
	CASE WHEN i % 31 > 0 THEN date '1950-01-01' + pick('released', i, 27000)::int END, 1 + pick('language', i, 8),
	CASE WHEN i % 6 = 0 THEN 1 + pick('original', i, 8) END,
	CASE WHEN i % 40 > 0 THEN 60 + pick('length', i, 120) END, (enum_range(NULL::rating))[1 + pick('rating', i, 5)], (99 + 100 * pick('rate', i, 5)) / 100.0,
	CASE WHEN i % 13 > 0 THEN 9.99 + pick('cost', i, 20) END,
	CASE i % 4 WHEN 0 THEN ARRAY['trailer', 'commentary'] WHEN 1 THEN ARRAY['deleted scenes'] WHEN 2 THEN '{}' END,
	CASE WHEN i % 3 = 0 THEN ARRAY[1.5, pick('score', i, 40) / 4.0, NULL]::real[] END,
	CASE WHEN i % 2 = 0 THEN jsonb_build_object('studio', word('studio', i % 20), 'awards', jsonb_build_array(i % 5, NULL, true), 'crew',
		jsonb_build_object('director', person('director', i))) END,
	CASE WHEN i % 10 = 0 THEN decode(md5('poster' || i), 'hex') END, make_interval(mins => (60 + pick('length', i, 120))::int),
	tstzrange(timestamptz '2024-01-01 00:00+00' + i * interval '1 day', CASE WHEN i % 2 = 0 THEN timestamptz '2030-01-01 00:00+00' END)
	FROM generate_series(1, 1200 * :scale) i;
INSERT INTO film_actor SELECT DISTINCT ON (f, a) f, a, CASE WHEN a % 3 > 0 THEN word('role', f * 1000 + a) END, n FROM
	(SELECT f, n, 1 + pick('cast' || n, f, 250 * :scale) AS a FROM generate_series(1, 1200 * :scale) f, generate_series(1, 5) n) c ORDER BY f, a, n;
INSERT INTO film_category SELECT DISTINCT f, 1 + pick('category' || n, f, 12) FROM generate_series(1, 1200 * :scale) f, generate_series(1, 2) n;
INSERT INTO country SELECT chr(65 + i / 5) || chr(65 + i), 'Republic of ' || word('country', i) FROM generate_series(1, 25) i;
INSERT INTO city SELECT i, word('city', i) || ' Town', chr(65 + (1 + i % 25) / 5) || chr(65 + 1 + i % 25),
	CASE WHEN i % 4 > 0 THEN 1000 + pick('people', i, 9000000) END FROM generate_series(1, 150) i;
INSERT INTO address SELECT i, pick('house', i, 200) || ' ' || word('street', i) || ' Street',
	CASE WHEN i % 8 > 0 THEN lpad(pick('postal', i, 99999)::text, 5, '0') END,
	1 + pick('city', i, 150), CASE WHEN i % 3 > 0 THEN '+' || (10000000 + pick('phone', i, 80000000)) END FROM generate_series(1, 900 * :scale) i;
INSERT INTO store SELECT i, word('store', i) || ' Video', i, NULL, time '08:00' + i * interval '15 min', ('10.' || i || '.0.0/16')::inet
	FROM generate_series(1, 5) i;
INSERT INTO staff SELECT i, person('staff', i), 1 + i % 5, 5 + i, CASE WHEN i % 5 > 0 THEN 'staff' || i || '@video.example' END, i % 6 > 0,
	date '2015-01-01' + i * 40,
	CASE WHEN i % 4 > 0 THEN 2100 + 12.5 * i END, md5('badge' || i)::uuid FROM generate_series(1, 25) i;
UPDATE store SET manager_id = 5 + store_id - 1 WHERE store_id < 5;
INSERT INTO customer SELECT i, 1 + pick('store', i, 5), 31 + pick('home', i, 900 * :scale - 31), person('customer', i), CASE WHEN i % 6 > 0 THEN 'customer' ||
	i || '@mail.example' END,
	i % 10 > 0, timestamp '2020-01-01' + pick('joined', i, 1000) * interval '1 day 7 minutes',
	CASE WHEN i % 3 > 0 THEN date '1950-01-01' + pick('birth', i, 18000)::int END,
	CASE WHEN i % 4 = 0 THEN json_build_object('newsletter', i % 8 = 0, 'genres', json_build_array('Drama', i % 3)) END FROM generate_series(1, 700 * :scale) i;
INSERT INTO inventory SELECT i, 1 + pick('film', i, 1200 * :scale), 1 + pick('where', i, 5), date '2019-01-01' + pick('bought', i, 1800)::int,
	CASE WHEN i % 20 = 0 THEN 'case #' || i || ' is broken' END FROM generate_series(1, 5000 * :scale) i;
INSERT INTO rental SELECT i, 1 + pick('copy', i, 5000 * :scale), 1 + pick('customer', i, 700 * :scale), 1 + pick('staff', i, 25), at, at + interval '3 days',
	CASE WHEN i % 17 > 0 THEN at + interval '1 hour' * (10 + pick('back', i, 100)) END
	FROM (SELECT i, timestamptz '2024-01-01 09:00+00' + pick('at', i, 365 * 24 * 60) * interval '1 minute' AS at FROM generate_series(1, 16000 * :scale) i) r;
INSERT INTO payment SELECT rental_id, rental_id, customer_id, staff_id, (99 + 100 * pick('amount', rental_id, 9)) / 100.0,
	(enum_range(NULL::method))[1 + pick('method', rental_id, 3)],
	rented + interval '5 minutes' FROM rental WHERE rental_id % 20 > 0;
INSERT INTO payment SELECT 1000000000 + rental_id, rental_id, customer_id, 1 + pick('late', rental_id, 25), 1.50, 'cash', returned FROM rental
	WHERE returned > due AND rental_id % 2 = 0;
INSERT INTO review SELECT DISTINCT ON (f, c) f, c, 1 + pick('stars', i, 5), CASE WHEN i % 3 > 0 THEN 'It was ' || word('review', i) END,
	timestamptz '2024-02-01 00:00+00' + i * interval '37 minutes'
	FROM (SELECT i, 1 + pick('reviewed', i, 1200 * :scale) AS f, 1 + pick('reviewer', i, 700 * :scale) AS c FROM generate_series(1, 4000 * :scale) i) r
		ORDER BY f, c, i;
INSERT INTO wish SELECT DISTINCT ON (c, f) c, f, date '2024-03-01' + i % 200
	FROM (SELECT i, 1 + pick('wisher', i, 700 * :scale) AS c, 1 + pick('wished', i, 1200 * :scale) AS f
	FROM generate_series(1, 3000 * :scale) i) w ORDER BY c, f, i;

-- what a relational design has its indexes for
CREATE INDEX ON film_actor (actor_id);
CREATE INDEX ON film_category (category_id);
CREATE INDEX ON customer (address_id);
CREATE INDEX ON inventory (film_id);
CREATE INDEX ON rental (inventory_id);
CREATE INDEX ON rental (customer_id);
CREATE INDEX ON payment (rental_id);
CREATE INDEX ON payment (customer_id);
CREATE INDEX ON review (customer_id);
CREATE INDEX ON wish (film_id);
ANALYZE;
RESET search_path;
