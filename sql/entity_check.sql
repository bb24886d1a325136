-- dyn_check_entities(): what in a table is not as it is declared.
\pset format unaligned
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');
SELECT * FROM dyn_check_entities('app');
SELECT dyn_create_entity('app', 'Org', '{"pk":"ORG#<OrgId>","sk":"#METADATA#"}', '{"OrgId":"S","Name":{"type":"S","required":true}}');
SELECT dyn_create_entity('app', 'User', '{"pk":"ORG#<OrgId>","sk":"USER#<UserId>","GSI1PK":"USER#<UserId>","GSI1SK":"<Email>"}',
	'{"OrgId":"S","UserId":"S uuid","Age":"N integer","Email":"S"}');
-- without a type attribute: by the form of the keys
SELECT dyn_create_entity('app', 'Link', '{"pk":"LINK#<A>","sk":"LINK#<B>"}', '{"A":"S","B":"N"}', type_attribute => NULL);
SELECT dyn_create_entity('app', 'Any', '{"pk":"LINK#<A>","sk":"<B>"}', '{"A":"S","B":"S"}', type_attribute => NULL);
SELECT dyn_drop_entity('app', 'Any');
SELECT count(*) FROM (VALUES ('Org', '{"OrgId":"1","Name":"n"}'::jsonb), ('Link', '{"A":"a","B":1}'),
	('User', '{"OrgId":"1","UserId":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","Email":"a@x"}'),
  ('User', '{"OrgId":"1","UserId":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"}')) v (e, a), dyn_put_entity('app', e, a);
SELECT * FROM dyn_check_entities('app');
SELECT count(*) FROM (VALUES ('{"pk":{"S":"else"},"sk":{"S":"x"}}'::dyn_item),
	('{"pk":{"S":"ORG#2"},"sk":{"S":"#METADATA#"},"OrgId":{"S":"2"},"Name":{"S":"x"}}'),
  ('{"pk":{"S":"ORG#3"},"sk":{"S":"#METADATA#"},"Type":{"S":"Org"},"OrgId":{"S":"3"}}'),
  ('{"pk":{"S":"ORG#4"},"sk":{"S":"#METADATA#"},"Type":{"S":"Org"},"OrgId":{"S":"5"},"Name":{"N":"1"}}'),
  ('{"pk":{"S":"ORG#1"},"sk":{"S":"USER#a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a13"},"Type":{"S":"User"},"OrgId":{"S":"1"},
    "UserId":{"S":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a13"},"Age":{"N":"1.5"},"Email":{"S":"m"},"GSI1PK":{"S":"USER#x"},"GSI1SK":{"S":"m"}}'),
  ('{"pk":{"S":"ORG#1"},"sk":{"S":"USER#a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a14"},"Type":{"S":"User"},"OrgId":{"S":"1"},
    "UserId":{"S":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a14"},"GSI1SK":{"S":"left over"}}'),
  ('{"pk":{"S":"ORG#1"},"sk":{"S":"USER#A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A15"},"Type":{"S":"User"},"OrgId":{"S":"1"},
    "UserId":{"S":"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A15"},"GSI1PK":{"S":"USER#A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A15"}}'),
  ('{"pk":{"S":"LINK#b"},"sk":{"S":"LINK#2"},"Type":{"S":"Org"},"A":{"S":"b"},"B":{"N":"2"}}'),
  ('{"pk":{"S":"LINK#c"},"sk":{"S":"LINK#3"},"A":{"S":"c"},"B":{"N":"4"}}')) v (item), dyn_put('app', item);
SELECT * FROM dyn_check_entities('app');
SELECT problem FROM dyn_check_entities('app', 2);
SELECT problem, count(*) FROM dyn_check_entities('app') GROUP BY 1 ORDER BY 1;
SELECT * FROM dyn_check_entities('app', 0);
SELECT * FROM dyn_check_entities('app', NULL);
SELECT * FROM dyn_check_entities('nope');
-- views that are older than what is declared
SELECT dyn_create_entity_view('app', 'Org'), dyn_create_entity_view('app', 'User'), dyn_create_entity_view('app', 'User', 'by_email', index_name => 'GSI1'),
	dyn_create_entity_view('app', 'Link');
SELECT count(*) FROM dyn_check_entities('app') WHERE key IS NULL;
SELECT dyn_create_entity('app', 'User', '{"pk":"ORG#<OrgId>","sk":"USER#<UserId>","GSI1PK":"U#<UserId>","GSI1SK":"<Email>"}',
	'{"OrgId":"S","UserId":"S uuid","Age":"N integer","Email":"S"}');
SELECT dyn_drop_entity('app', 'Link');
SELECT key, entity, problem, detail FROM dyn_check_entities('app') WHERE key IS NULL;
-- pages of it, and no more than is asked for
SELECT dyn_create_table('large', 'k S');
SELECT dyn_create_entity('large', 'Thing', '{"k":"T#<Id>"}', '{"Id":"N"}');
INSERT INTO large (item) SELECT jsonb_build_object('k', 'X#' || i)::dyn_item FROM generate_series(1, 3000) i;
SELECT count(*), count(DISTINCT key::text) FROM dyn_check_entities('large', 5000);
SELECT count(*) FROM dyn_check_entities('large');
-- by the rights of the caller
CREATE ROLE dyn_checker;
SET ROLE dyn_checker;
SELECT count(*) FROM dyn_check_entities('large');
RESET ROLE;
GRANT SELECT ON large TO dyn_checker;
ALTER TABLE large ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON large USING (k LIKE 'X#1%');
SET ROLE dyn_checker;
SELECT count(*) FROM dyn_check_entities('large', 5000);
RESET ROLE;
-- types with functions of their own, in queries that workers take part in: their values are read, and the check goes without workers
SELECT dyn_create_table('hosts', 'k S', 's S');
SELECT dyn_create_entity('hosts', 'Host', '{"k": "HOST#<Net>", "s": "HOST"}', '{"Net": "S inet", "Span": "S int4range"}');
SELECT count(dyn_put_entity('hosts', 'Host', jsonb_build_object('Net', '10.0.0.' || i, 'Span', '[1,2)'))) FROM generate_series(1, 20) i;
SELECT dyn_create_entity_view('hosts', 'Host');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
ANALYZE hosts;
SELECT count(*), sum(upper("Span")) FROM "Host" WHERE upper("Span") = 2;
SELECT count(DISTINCT dyn_entity_keys('hosts', 'Host', jsonb_build_object('Net', host("Net"))) ->> 'k') FROM "Host";
INSERT INTO hosts (item) VALUES (jsonb '{"k": "HOST#10.0.0.99", "s": "HOST", "Type": "Host", "Net": "10.0.0.99", "Span": "wide"}');
SELECT c.detail FROM dyn_check_entities('hosts') c, hosts h WHERE h.k = c.key ->> 'k';
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET client_min_messages = warning;
DROP TABLE app, large, hosts CASCADE;
DROP ROLE dyn_checker;
