-- Entities: declared, listed, rendered, stored, read, changed.
\set SHOW_CONTEXT never
SELECT dyn_create_table('hub', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"},
	"GSI2": {"partition_key": "GSI2PK S", "sort_key": "GSI2SK S"}, "GSI3": {"partition_key": "GSI3PK S", "sort_key": "GSI3SK S"},
	"GSI4": {"partition_key": "GSI4PK S", "sort_key": "GSI4SK S"}}');

-- Charts of keys (M02): a repository, original or fork, in four indexes.
SELECT dyn_create_entity('hub', 'Repo', '{"PK": "REPO#<Owner>#<Name>", "SK": "REPO#<Owner>#<Name>",
		"GSI1PK": "REPO#<Owner>#<Name>", "GSI1SK": "REPO#<Owner>#<Name>",
		"GSI2PK": [{"when": {"Original": null}, "template": "REPO#<Owner>#<Name>"}, {"template": "REPO#<Original>#<Name>"}],
		"GSI2SK": [{"when": {"Original": null}, "template": "#REPO#<Owner>#<Name>"}, {"template": "FORK#<Owner>"}],
		"GSI3PK": "ACCOUNT#<Owner>", "GSI3SK": "#<UpdatedAt>",
		"GSI4PK": "REPO#<Owner>#<Name>", "GSI4SK": "#REPO#<Owner>#<Name>"}',
	'{"Owner": "S", "Name": "S", "Original": "S", "UpdatedAt": {"type": "S timestamptz(0)", "default": "now"}, "Stars": "N integer"}');
SELECT dyn_create_entity('hub', 'Issue', '{"PK": "REPO#<Owner>#<Name>", "SK": "ISSUE#<Number:07>", "GSI4PK": "REPO#<Owner>#<Name>",
		"GSI4SK": [{"when": {"Status": "OPEN"}, "template": "ISSUE#OPEN#<Number:-08>"}, {"when": {"Status": "CLOSED"}, "template": "#ISSUE#CLOSED#<Number:08>"}]}',
	'{"Owner": "S", "Name": "S", "Number": "N integer", "Status": {"type": "S", "required": true}, "Title": {"type": "S", "stored": "t"}, "Labels": "SS"}');
SELECT dyn_create_entity('hub', 'PullRequest', '{"PK": "PR#<Owner>#<Name>#<Number:07>", "SK": "PR#<Owner>#<Name>#<Number:07>",
		"GSI1PK": "REPO#<Owner>#<Name>", "GSI1SK": "PR#<Number:07>"}', '{"Owner": "S", "Name": "S", "Number": "N integer"}');
SELECT dyn_create_entity('hub', 'Star', '{"PK": "REPO#<Owner>#<Name>", "SK": "STAR#<User>"}', '{"Owner": "S", "Name": "S", "User": "S"}');
SELECT dyn_create_entity('hub', 'Reaction', '{"PK": "<Kind>REACTION#<Owner>#<Name>#<Number:07>#<User>",
	"SK": "<Kind>REACTION#<Owner>#<Name>#<Number:07>#<User>"}',
	'{"Kind": "S", "Owner": "S", "Name": "S", "Number": "N integer", "User": "S", "Reactions": "SS"}');
-- M07: users and organizations share their names on purpose, which is told all the same
SELECT dyn_create_entity('hub', 'User', '{"PK": "ACCOUNT#<Name>", "SK": "ACCOUNT#<Name>", "GSI3PK": "ACCOUNT#<Name>", "GSI3SK": "ACCOUNT#<Name>"}',
	'{"Name": "S", "Organizations": "M"}');
SELECT dyn_create_entity('hub', 'Organization', '{"PK": "ACCOUNT#<Name>", "SK": "ACCOUNT#<Name>", "GSI3PK": "ACCOUNT#<Name>", "GSI3SK": "ACCOUNT#<Name>"}',
	'{"Name": "S"}');
SELECT dyn_create_entity('hub', 'Membership', '{"PK": "ACCOUNT#<Org>", "SK": "MEMBERSHIP#<User>"}', '{"Org": "S", "User": "S"}');
SELECT dyn_create_entity('hub', 'Gist', '{"PK": "ACCOUNT#<User>", "SK": "#GIST#<Id>"}', '{"User": "S", "Id": {"type": "S", "default": "ksuid"}}');
SELECT entity, type_attribute, type_value FROM dyn_entities('hub');
SELECT jsonb_pretty(keys), jsonb_pretty(attributes::jsonb) FROM dyn_entities('hub') WHERE entity = 'Issue';

-- M03: keys of attributes; a key of an index that lacks one is left out, one of the table is not
SELECT dyn_entity_keys('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 15, "Status": "OPEN"}')::jsonb;
SELECT dyn_entity_keys('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 15, "Status": "DRAFT"}')::jsonb;
SELECT dyn_entity_keys('hub', 'Repo', jsonb '{"Owner": "o", "Name": "n"}')::jsonb;
SELECT dyn_entity_keys('hub', 'Repo', jsonb '{"Owner": "f", "Name": "n", "Original": "o", "UpdatedAt": "2024-01-01T00:00:00Z"}')::jsonb;
SELECT dyn_entity_keys('hub', 'Issue', jsonb '{"Owner": "o", "Number": 15}');
SELECT dyn_entity_keys('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 100000000}');
SELECT dyn_entity_keys('hub', 'Reaction', jsonb '{"Kind": "ISSUE", "Owner": "o", "Name": "n", "Number": 4, "User": "u"}') ->> 'PK';
SELECT dyn_entity_keys('hub', 'Reaction', jsonb '{"Kind": "xREACTION#", "Owner": "o", "Name": "n", "Number": 4, "User": "u"}');

-- M09, M12, M14: what is stored has all attributes, keys, the type, and short names
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1, "Status": "OPEN", "Title": "T", "extra": [1, null]}');
SELECT dyn_put_entity('hub', 'Issue', jsonb_build_object('Owner', 'o', 'Name', 'n', 'Number', i, 'Status', CASE WHEN i IN (2, 4) THEN 'CLOSED'
	ELSE 'OPEN' END, 'Title', 'T' || i))
	FROM generate_series(1, 12) i;
SELECT dyn_put_entity('hub', 'Repo', jsonb '{"Owner": "o", "Name": "n", "UpdatedAt": "2024-05-01T00:00:00Z"}');
SELECT dyn_put_entity('hub', 'Repo', jsonb '{"Owner": "f", "Name": "n", "Original": "o", "UpdatedAt": "2024-04-01T00:00:00Z"}');
SELECT dyn_put_entity('hub', 'Star', jsonb '{"Owner": "o", "Name": "n", "User": "u"}');
SELECT dyn_put_entity('hub', 'PullRequest', jsonb '{"Owner": "o", "Name": "n", "Number": 13}');
SELECT dyn_put_entity('hub', 'User', jsonb '{"Name": "o"}');
SELECT dyn_get('hub', '{"PK":{"S":"REPO#o#n"},"SK":{"S":"ISSUE#0000002"}}');
-- M10: read without what is made
SELECT dyn_get_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 2}');
SELECT dyn_entity_attributes('hub', i) FROM dyn_query('hub', 'PK = :p AND SK >= :s', vals => '{":p":{"S":"REPO#o#n"},":s":{"S":"REPO#"}}') i;
SELECT dyn_entity_attributes('hub', '{"Type":{"S":"Nothing"}}'), dyn_entity_attributes('hub', '{}');
SELECT dyn_get_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 99}');
-- M06: a get needs nothing but what the key is made of
SELECT dyn_get_entity('hub', 'User', jsonb '{"Name": "o"}', consistent_read => true);
-- an organization of that name is no user
SELECT dyn_put_entity('hub', 'Organization', jsonb '{"Name": "acme"}');
SELECT dyn_get_entity('hub', 'User', jsonb '{"Name": "acme"}');
SELECT dyn_update_entity('hub', 'User', jsonb '{"Name": "acme"}', 'SET x = :x', vals => '{":x":{"N":"1"}}');
SELECT dyn_delete_entity('hub', 'User', jsonb '{"Name": "acme"}');
SELECT dyn_put_entity('hub', 'User', jsonb '{"Name": "acme"}', 'attribute_not_exists(PK)');

-- M25: the repository between its issues: open ones forward, newest first; closed ones backward, newest first
SELECT i ->> 'Type', i ->> 'Number' FROM dyn_query('hub', 'GSI4PK = :p AND GSI4SK >= :r', index_name => 'GSI4', max_items => 4,
	vals => '{":p":{"S":"REPO#o#n"},":r":{"S":"#REPO#"}}') i;
SELECT i ->> 'Type', i ->> 'Number' FROM dyn_query('hub', 'GSI4PK = :p AND GSI4SK <= :r', index_name => 'GSI4', forward => false,
	vals => '{":p":{"S":"REPO#o#n"},":r":{"S":"#REPO#o#n"}}') i;
-- the original before its forks
SELECT i ->> 'Owner', i ->> 'GSI2SK' FROM dyn_query('hub', 'GSI2PK = :p', index_name => 'GSI2', vals => '{":p":{"S":"REPO#o#n"}}') i;
-- M12: the items of a type
SELECT count(*) FROM dyn_scan('hub', filter => '#t = :t', names => '{"#t": "Type"}', vals => '{":t":{"S":"Issue"}}');
-- M04: prefixes keep types apart; M20: any level of a hierarchy, delimiter included
SELECT i ->> 'SK' FROM dyn_query('hub', 'PK = :p AND begins_with(SK, :s)', vals => '{":p":{"S":"REPO#o#n"},":s":{"S":"STAR#"}}') i;

-- Updates speak of the names that are declared, and keys are made anew in the same step.
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 3}', 'SET #s = :c, Title = :t', '#s = :o AND Title = :old',
	'{"#s": "Status"}',
	'{":c":{"S":"CLOSED"},":o":{"S":"OPEN"},":t":{"S":"New"},":old":{"S":"T3"}}', 'ALL_NEW');
SELECT dyn_get('hub', '{"PK":{"S":"REPO#o#n"},"SK":{"S":"ISSUE#0000003"}}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 3}', 'SET Title = :t', vals => '{":t":{"S":"Newer"}}', return_values => r)
	FROM unnest(ARRAY['UPDATED_OLD', 'ALL_OLD', 'UPDATED_NEW']) r;
-- a status without a template: the item leaves the index
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 3}', 'SET #s = :c', names => '{"#s": "Status"}',
	vals => '{":c":{"S":"DRAFT"}}');
SELECT i ? 'GSI4SK' FROM dyn_get('hub', '{"PK":{"S":"REPO#o#n"},"SK":{"S":"ISSUE#0000003"}}') i;
-- no expression: what is there, with the keys that it should have
SELECT dyn_update('hub', '{"PK":{"S":"REPO#o#n"},"SK":{"S":"ISSUE#0000005"}}', 'SET GSI4SK = :x', vals => '{":x":{"S":"wrong"}}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 5}');
SELECT i ->> 'GSI4SK' FROM dyn_get('hub', '{"PK":{"S":"REPO#o#n"},"SK":{"S":"ISSUE#0000005"}}') i;
-- where there is none it makes one of what is given, without defaults
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 20}', 'SET #s = :c', names => '{"#s": "Status"}',
	vals => '{":c":{"S":"OPEN"}}', return_values => 'ALL_NEW');
SELECT dyn_get('hub', '{"PK":{"S":"REPO#o#n"},"SK":{"S":"ISSUE#0000020"}}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 21}', 'SET Title = :c', vals => '{":c":{"S":"OPEN"}}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 21}', 'REMOVE Title', return_values => 'ALL_NEW');
-- what is made is not to be set, and the place of an item does not change
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', 'SET GSI4SK = :x', vals => '{":x":{"S":"x"}}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', 'SET #t = :x', names => '{"#t": "Type"}',
	vals => '{":x":{"S":"x"}}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', 'SET SK = :x', vals => '{":x":{"S":"x"}}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', 'SET #n = :x', names => '{"#n": "Number"}',
	vals => '{":x":{"N":"2"}}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', 'REMOVE #n', names => '{"#n": "Number"}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', 'SET t = :x', vals => '{":x":{"S":"x"}}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', 'SET Title = :x', vals => '{":x":{"N":"1"}}');
SELECT dyn_update_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', 'SET Title = :x', 'Title = :x', vals => '{":x":{"S":"x"}}',
	return_values_on_condition_check_failure => 'ALL_OLD');

-- deletes, with a condition and what was there
SELECT dyn_delete_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', 'Title = :x', vals => '{":x":{"S":"x"}}');
SELECT dyn_delete_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', 'Title = :x', vals => '{":x":{"S":"T1"}}',
	return_values => 'ALL_OLD');
SELECT dyn_delete_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}', return_values => 'ALL_OLD');
-- puts, with what was there
SELECT dyn_put_entity('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 2, "Status": "OPEN"}', 'Title = :x', vals => '{":x":{"S":"T2"}}',
	return_values => 'ALL_OLD');

-- defaults are filled by puts; the KSUID is in the key
SELECT dyn_put_entity('hub', 'Gist', jsonb '{"User": "u"}');
SELECT i ->> 'SK' = '#GIST#' || (i ->> 'Id'), abs(extract(epoch FROM clock_timestamp() - dyn_ksuid_time(i ->> 'Id'))) < 60
	FROM dyn_query('hub', 'PK = :p', vals => '{":p":{"S":"ACCOUNT#u"}}') i;
SELECT (i ->> 'UpdatedAt')::timestamptz = date_trunc('second', now()), i ->> 'UpdatedAt' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$', i ->> 'GSI3SK' = '#' ||
	(i ->> 'UpdatedAt')
	FROM dyn_entity_item('hub', 'Repo', jsonb '{"Owner": "o", "Name": "m"}') i;

-- what is refused in items: types, values of types, what is missing, what is made otherwise
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1}');
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1, "Status": null}');
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": 1, "Name": "n", "Number": 1, "Status": "OPEN"}');
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1.5, "Status": "OPEN"}');
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 3000000000, "Status": "OPEN"}');
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1, "Status": "OPEN", "t": "x"}');
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1, "Status": "OPEN", "SK": "ISSUE#1"}');
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1, "Status": "DRAFT", "GSI4SK": "x"}');
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1, "Status": "OPEN", "Type": "Repo"}');
SELECT dyn_entity_item('hub', 'Issue', jsonb '{"Owner": "o", "Name": "n", "Number": 1, "Status": "OPEN", "SK": "ISSUE#0000001", "Type": "Issue"}') ->> 'SK';
SELECT dyn_entity_item('hub', 'Repo', jsonb '{"Owner": "o", "Name": "n", "UpdatedAt": "yesterday"}');
SELECT dyn_entity_item('hub', 'Nothing', '{}');
SELECT dyn_entity_item('nothing', 'Issue', '{}');
SELECT dyn_put_entity('hub', NULL, '{}');
SELECT dyn_put_entity('hub', 'Issue', NULL);
SELECT dyn_entity_item('hub', 'Issue', jsonb_build_object('Owner', 'o', 'Name', 'n', 'Number', 1, 'Status', 'OPEN', 'Title', repeat('x', 409600)));

-- one attribute as a key: a number, or one that is stored as the key
SELECT dyn_create_table('whole', 'pk S', 'n N', global_indexes => '{"by_date": {"partition_key": "Country S", "sort_key": "At N"}}');
SELECT dyn_create_entity('whole', 'Reading', '{"pk": "<Device>", "n": "<Seq>", "Country": "<Country>", "At": "<At>"}',
	'{"Device": {"type": "S", "stored": "pk"}, "Seq": "N bigint", "Country": "S", "At": "N timestamptz"}', type_attribute => NULL);
SELECT dyn_put_entity('whole', 'Reading', jsonb '{"Device": "d#1", "Seq": 7, "Country": "UK", "At": 1714558830.5}');
SELECT i, dyn_entity_attributes('whole', i) FROM dyn_scan('whole') i;
SELECT dyn_get_entity('whole', 'Reading', jsonb '{"Device": "d#1", "Seq": 7}');
SELECT dyn_update_entity('whole', 'Reading', jsonb '{"Device": "d#1", "Seq": 7}', 'REMOVE Country', return_values => 'ALL_NEW');
SELECT count(*) FROM dyn_scan('whole', index_name => 'by_date');
SELECT dyn_get_entity('whole', 'Reading', jsonb '{"pk": "d#1", "Seq": 7}');

-- M11, I26: an index with an attribute that is another's key; the engine allows it
SELECT dyn_create_table('shared', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "SK S"},
	"inverted": {"partition_key": "SK S", "sort_key": "PK S"}, "GSI2": {"partition_key": "GSI1PK S", "sort_key": "GSI2SK S"}}');
-- and M22: a number that does not sort in a sort key
SELECT dyn_create_entity('shared', 'A', '{"PK": "A#<Id>", "SK": "A#<N>", "GSI1PK": "G#<N>"}', '{"Id": "S", "N": "N"}');
SELECT dyn_create_entity('shared', 'B', '{"PK": "B#<Id>", "SK": "B#<N:05>"}', '{"Id": "S", "N": "N"}');

-- M07: which templates could make the same key
SELECT dyn_create_table('overlap', 'PK S');
SELECT dyn_create_entity('overlap', 'a' || n, jsonb_build_object('PK', t), '{"A": "S", "B": "S", "N": "N", "T": "S timestamptz"}')
	FROM (VALUES (1, 'USER#<A>')) v(n, t);
SELECT dyn_create_entity('overlap', 'b', '{"PK": "USER#<A>#<B>"}', '{"A": "S", "B": "S"}');
SELECT dyn_create_entity('overlap', 'c', '{"PK": "USER#1"}', '{}');
SELECT dyn_create_entity('overlap', 'd', '{"PK": "USER#<N:03>#<B>"}', '{"N": "N", "B": "S"}');
SELECT dyn_create_entity('overlap', 'e', '{"PK": "<T:day>"}', '{"T": "S timestamptz"}');
SELECT dyn_create_entity('overlap', 'f', '{"PK": "2024-<B>"}', '{"B": "S"}');
SELECT dyn_create_entity('overlap', 'g', '{"PK": "2024_<B>"}', '{"B": "S"}');
SELECT dyn_create_entity('overlap', 'h', '{"PK": "<A>"}', '{"A": "S"}');

-- replacing, dropping
SELECT dyn_create_entity('overlap', 'h', '{"PK": "H#<A>"}', '{"A": "S"}', type_attribute => 'kind', type_value => 'hh');
SELECT * FROM dyn_entities('overlap') WHERE entity >= 'g';
SELECT dyn_drop_entity('overlap', 'h');
SELECT dyn_drop_entity('overlap', 'h');
SELECT count(*) FROM dyn_entities('overlap');
SELECT dyn_drop_entity('overlap', entity) FROM dyn_entities('overlap') ORDER BY entity LIMIT 1;
DROP TABLE hub, whole, shared, overlap;
