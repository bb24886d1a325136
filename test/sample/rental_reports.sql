-- Reports in plain SQL: over the relations of rental.sql (search_path = rental), and over views of the items that these
-- have become, with the same names and columns (search_path = video_views).  Each is a statement that ends with a semicolon.

-- revenue by month and store
SELECT s.name, date_trunc('month', p.paid AT TIME ZONE 'UTC') AS month, sum(p.amount) AS revenue, count(*) AS payments
FROM payment p JOIN rental r USING (rental_id) JOIN inventory i USING (inventory_id) JOIN store s USING (store_id)
GROUP BY 1, 2 ORDER BY 1, 2;

-- the films that earn most, by category
SELECT * FROM (
	SELECT c.name AS category, f.title, sum(p.amount) AS earned, rank() OVER (PARTITION BY c.name ORDER BY sum(p.amount) DESC, f.film_id) AS place
	FROM payment p JOIN rental r USING (rental_id) JOIN inventory i USING (inventory_id) JOIN film f USING (film_id)
		JOIN film_category fc USING (film_id) JOIN category c USING (category_id)
	GROUP BY c.name, f.film_id, f.title) t WHERE place <= 5 ORDER BY category, place;

-- customers and their mean age in days by country
SELECT co.name, count(*) AS customers, count(*) FILTER (WHERE cu.active) AS active, round(avg(date '2025-01-01' - cu.birthday), 1) AS age
FROM customer cu JOIN address a USING (address_id) JOIN city ci USING (city_id) JOIN country co ON co.code = ci.country_code
GROUP BY co.code, co.name ORDER BY co.code;

-- overdue rentals
SELECT r.rental_id, cu.name, cu.email, f.title, timestamptz '2025-01-15 00:00+00' - r.due AS late
FROM rental r JOIN customer cu USING (customer_id) JOIN inventory i USING (inventory_id) JOIN film f USING (film_id)
WHERE r.returned IS NULL AND r.due < timestamptz '2025-01-15 00:00+00' ORDER BY late DESC, r.rental_id LIMIT 200;

-- what staff have sold, by method of payment
SELECT st.name, st.badge, p.method, count(*), sum(p.amount) AS amount, st.hired, st.salary
FROM staff st LEFT JOIN payment p USING (staff_id) GROUP BY st.staff_id, st.name, st.badge, p.method, st.hired, st.salary ORDER BY st.staff_id, p.method;

-- actors by the ratings of their films
SELECT a.name, a.born, count(DISTINCT f.film_id) AS films, round(avg(rv.stars), 3) AS stars, max(f.rating) AS highest
FROM actor a JOIN film_actor fa USING (actor_id) JOIN film f USING (film_id) JOIN review rv USING (film_id)
GROUP BY a.actor_id, a.name, a.born HAVING count(*) > 20 ORDER BY stars DESC, a.actor_id;

-- wishes that a store could meet
SELECT s.name, count(*) AS wishes, count(DISTINCT w.customer_id) AS customers
FROM wish w JOIN customer cu USING (customer_id) JOIN inventory i ON i.film_id = w.film_id AND i.store_id = cu.store_id JOIN store s ON s.store_id = i.store_id
WHERE w.added >= date '2024-08-01' GROUP BY s.store_id, s.name ORDER BY s.store_id;

-- films by studio and language: json, arrays, ranges, intervals
SELECT f.details ->> 'studio' AS studio, l.name, count(*), sum(f.playing_time) AS playing_time,
	count(*) FILTER (WHERE 'commentary' = ANY (f.features)) AS commentary,
	count(*) FILTER (WHERE f.available @> timestamptz '2026-06-01 00:00+00') AS available, sum(f.replacement_cost) AS cost, avg(f.scores[1]) AS score
FROM film f JOIN language l USING (language_id) GROUP BY 1, 2 ORDER BY 1, 2;
