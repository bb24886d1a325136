-- Declarations of entities that are refused, each with what is wrong.
SELECT dyn_create_table('tab', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "G N", "sort_key": "H B"}}');
\set decl 'SELECT dyn_create_entity(''tab'', ''E'', keys => jsonb ''{"PK": "P#<A>", "SK": "S"}'' || :k, attributes => jsonb ''{"A": "S"}'' || :a)'
-- arguments
SELECT dyn_create_entity(NULL, 'E', '{}', '{}');
SELECT dyn_create_entity('tab', NULL, '{}', '{}');
SELECT dyn_create_entity('tab', 'E', NULL, '{}');
SELECT dyn_create_entity('tab', 'E', '{}', NULL);
SELECT dyn_create_entity('tab', 'E', '{}', '{}', NULL, 'E');
SELECT dyn_create_entity('none', 'E', '{}', '{}');
SELECT dyn_create_entity('tab', '', '{}', '{}');
SELECT dyn_create_entity('tab', repeat('x', 256), '{}', '{}');
SELECT dyn_create_entity('tab', 'E', '[]', '{}');
SELECT dyn_create_entity('tab', 'E', '{}', '"x"');
SELECT dyn_create_entity('tab', 'E', '{}', '{}', '');
SELECT dyn_create_entity('tab', 'E', '{}', '{}', 'Type', '');
-- keys: of the table all, of others none; templates of what is declared and suits
SELECT dyn_create_entity('tab', 'E', '{"PK": "a"}', '{}');
\set a '''{}'''
\set k '''{"X": "a"}'''
:decl;
\set k '''{"PK": 1}'''
:decl;
\set k '''{"PK": []}'''
:decl;
\set k '''{"PK": "<"}'''
:decl;
\set k '''{"PK": "<B>"}'''
:decl;
\set k '''{"PK": "a<B>"}'''
:decl;
\set k '''{"PK": "<A:05>"}'''
:decl;
\set k '''{"PK": "<A.b>"}'''
:decl;
\set k '''{"PK": [{"when": {"A": "x"}}]}'''
:decl;
\set k '''{"PK": [{"template": "x"}, {"template": "y"}]}'''
:decl;
\set k '''{"PK": [{"template": "x", "if": 1}]}'''
:decl;
\set k '''{"PK": ["x"]}'''
:decl;
\set k '''{"PK": [{"template": "x", "when": {}}]}'''
:decl;
\set k '''{"PK": [{"template": "x", "when": {"B": 1}}]}'''
:decl;
\set k '''{"PK": [{"template": "x", "when": {"A": 1}}]}'''
:decl;
-- keys of type N and B are attributes as they are
\set k '''{"G": "x"}'''
:decl;
\set k '''{"G": "<A>"}'''
:decl;
\set k '''{"G": "<N:05>"}'''
\set a '''{"N": "N"}'''
:decl;
\set k '''{"H": "<N>"}'''
:decl;
\set k '''{"PK": "x<L>"}'''
\set a '''{"L": "L"}'''
:decl;
\set k '''{"PK": "<N:upper>"}'''
\set a '''{"N": "N"}'''
:decl;
\set k '''{"PK": "<B:day>"}'''
\set a '''{"B": "BOOL"}'''
:decl;
-- attributes
\set k '''{}'''
\set a '''{"B": 1}'''
:decl;
\set a '''{"B": {}}'''
:decl;
\set a '''{"B": {"type": "S", "typ": "S"}}'''
:decl;
\set a '''{"B": {"type": "S", "required": "yes"}}'''
:decl;
\set a '''{"B": {"type": "S", "default": "uuid"}}'''
:decl;
\set a '''{"B": {"type": "N", "default": "ksuid"}}'''
:decl;
\set a '''{"B": {"type": "S", "default": "now"}}'''
:decl;
\set a '''{"B": {"type": "S", "stored": ""}}'''
:decl;
\set a '''{"B": {"type": "S", "stored": "A"}}'''
:decl;
\set a '''{"B": {"type": "S", "stored": "x"}, "C": {"type": "S", "stored": "x"}}'''
:decl;
\set a '''{"B": {"type": "S", "stored": "PK"}}'''
:decl;
\set a '''{"SK": "S"}'''
:decl;
\set a '''{"Type": "S"}'''
:decl;
\set a '''{"B": {"type": "S", "stored": "Type"}}'''
:decl;
SELECT dyn_create_entity('tab', 'E', '{"PK": "P#<A>", "SK": "S"}', '{"A": "S"}', 'PK');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P#<A>", "SK": "S"}', jsonb_build_object('A', 'S', repeat('x', 256), 'S'));
-- types
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', jsonb_build_object('A', t)) FROM (VALUES ('X')) v(t);
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "text"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "S nothing"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "S nowhere.nothing"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "S anyelement"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "S setof text"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "S "}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "S text, int"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "S text[]"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "N text"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "B text"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "BOOL integer"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "NULL integer"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "M text[]"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "L text"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "NS text[]"}');
SELECT dyn_create_entity('tab', 'E', '{"PK": "P", "SK": "S"}', '{"A": "SS text"}');
-- none of these is there now
SELECT count(*) FROM dyn_entities('tab');
-- an index that is gone leaves the declaration readable, and its key is made as before
SELECT dyn_create_entity('tab', 'E', '{"PK": "P#<A>", "SK": "S", "G": "<N>"}', '{"A": "S", "N": "N"}');
CALL dyn_drop_index('tab', 'GSI1');
SELECT dyn_put_entity('tab', 'E', jsonb '{"A": "a", "N": 7}');
SELECT i FROM dyn_scan('tab') i;
SELECT dyn_create_entity('tab', 'E', '{"PK": "P#<A>", "SK": "S", "G": "<N>"}', '{"A": "S", "N": "N"}');
DROP TABLE tab;

-- a definition that anybody writes: names with U+0000 are shown as they are
SELECT dynamo_internal.is_entity('{}', '{"entity": "E", "keys": {"\u0000' || repeat('a', 20) || '": 1}, "attributes": {"A": "S"}}', 'P'::text);
