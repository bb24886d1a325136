-- What the tests of expressions share: the item BX, and functions that call dyn_matches,
-- dyn_project and dyn_apply with just the names and values that the expression uses, from two dictionaries.
-- The result is a value, or "V: " and the message of a ValidationException.
SET client_min_messages = warning;
CREATE SCHEMA expr;
SET search_path = expr, public;

CREATE FUNCTION bx() RETURNS dyn_item IMMUTABLE AS $$ SELECT '{"p":{"S":"x"},"n":{"N":"5"},"two":{"N":"2"},"s":{"S":"hello"},
  "b":{"B":"AAECAwQFBgc="},"t":{"BOOL":true},"z":{"NULL":true},"l":{"L":[{"N":"1"},{"S":"two"},{"M":{"k":{"N":"3"}}}]},
  "m":{"M":{"a":{"N":"1"},"q":{"M":{"c":{"S":"d"}}}}},"ss":{"SS":["a","b","c"]},"ns":{"NS":["1","2"]},"bs":{"BS":["AQ==","Ag=="]},
  "el":{"L":[]},"em":{"M":{}},"utf":{"S":"é"},"remove":{"S":"no reserved word"},"Year":{"N":"1994"},"a.b":{"N":"1"},
  "a":{"M":{"b":{"N":"2"}}}}'::dyn_item $$ LANGUAGE sql;

CREATE FUNCTION all_vals() RETURNS jsonb IMMUTABLE AS $$ SELECT '{":v":{"S":"v"},":x":{"S":"x"},":y":{"S":"y"},":1":{"N":"1"},
  ":2":{"N":"2"},":3":{"N":"3"},":5":{"N":"5"},":5e0":{"N":"5.00"},":0":{"N":"0"},":9":{"N":"9"},":10":{"N":"10"},":n1":{"N":"-1"},":s5":{"S":"5"},
  ":hello":{"S":"hello"},":hel":{"S":"hel"},":ell":{"S":"ell"},":empty":{"S":""},":two":{"S":"two"},":a":{"S":"a"},":d":{"S":"d"},
  ":t":{"BOOL":true},":f":{"BOOL":false},":null":{"NULL":true},":el":{"L":[]},":list":{"L":[{"N":"7"}]},":em":{"M":{}},":k":{"M":{"k":{"N":"3"}}},
  ":bin":{"B":"AAEC"},":mid":{"B":"AgME"},":byte":{"B":"AQ=="},":ss":{"SS":["c","b","a"]},":ss1":{"SS":["a"]},":cd":{"SS":["c","d"]},":az":{"SS":["a","z"]},
  ":ns":{"NS":["2.0","1"]},":ns5":{"NS":["5"]},":bs":{"BS":["Ag==","AQ=="]},":N":{"S":"N"},":S":{"S":"S"},":NULL":{"S":"NULL"},":BOOL":{"S":"BOOL"},
  ":B":{"S":"B"},":L":{"S":"L"},":M":{"S":"M"},":SS":{"S":"SS"},":NS":{"S":"NS"},":BS":{"S":"BS"},":DOG":{"S":"DOG"},":lower":{"S":"n"},
  ":l":{"L":[{"N":"1.0"},{"S":"two"},{"M":{"k":{"N":"3e0"}}}]},":m":{"M":{"q":{"M":{"c":{"S":"d"}}},"a":{"N":"1"}}},":A":{"S":"A"},":Z":{"S":"Z"},
  ":p1":{"N":"0.1"},":p2":{"N":"0.2"},":e22":{"N":"1e22"},":e50":{"N":"1e50"},":9e125":{"N":"9e125"}}'::jsonb $$ LANGUAGE sql;

CREATE FUNCTION all_names() RETURNS jsonb IMMUTABLE AS $$ SELECT '{"#n":"n","#y":"Year","#x":"a.b","#m":"m","#q":"q","#nope":"nope",
  "#1":"n","#l":"l","#two":"two","#odd":"hi-there $"}'::jsonb $$ LANGUAGE sql;

CREATE FUNCTION used_of(dictionary jsonb, expression text) RETURNS jsonb IMMUTABLE AS $$
	SELECT jsonb_object_agg(key, value) FROM jsonb_each(dictionary) WHERE expression ~ (key || '($|[^A-Za-z0-9_])') $$ LANGUAGE sql;
CREATE FUNCTION vals_of(expression text) RETURNS dyn_item IMMUTABLE AS $$ SELECT used_of(all_vals(), expression)::text::dyn_item $$ LANGUAGE sql;
CREATE FUNCTION names_of(expression text) RETURNS jsonb IMMUTABLE AS $$ SELECT used_of(all_names(), expression) $$ LANGUAGE sql;

CREATE FUNCTION why(state text, message text) RETURNS text IMMUTABLE AS $$
	SELECT CASE state WHEN 'YD001' THEN 'V' ELSE state END || ': ' || regexp_replace(message, '\(\(\(+|aaaa+', '...') $$ LANGUAGE sql;
CREATE FUNCTION matches(expression text, item dyn_item DEFAULT bx(), vals dyn_item DEFAULT NULL, names jsonb DEFAULT NULL) RETURNS text AS $$
BEGIN
	RETURN dyn_matches(item, expression, coalesce(names, names_of(expression)), coalesce(vals, vals_of(expression)));
EXCEPTION WHEN OTHERS THEN RETURN why(SQLSTATE, SQLERRM);
END $$ LANGUAGE plpgsql;
CREATE FUNCTION project(expression text, item dyn_item DEFAULT bx(), names jsonb DEFAULT NULL) RETURNS text AS $$
BEGIN
	RETURN dyn_project(item, expression, coalesce(names, names_of(expression)));
EXCEPTION WHEN OTHERS THEN RETURN why(SQLSTATE, SQLERRM);
END $$ LANGUAGE plpgsql;
CREATE FUNCTION apply(item dyn_item, expression text, return_values text DEFAULT 'ALL_NEW', vals dyn_item DEFAULT NULL) RETURNS text AS $$
BEGIN
	RETURN dyn_apply(item, expression, names_of(expression), coalesce(vals, vals_of(expression)), return_values);
EXCEPTION WHEN OTHERS THEN RETURN why(SQLSTATE, SQLERRM);
END $$ LANGUAGE plpgsql;
-- what an update of BX changes: attributes that it adds or changes, and the names of those that are gone
CREATE FUNCTION change(expression text) RETURNS text AS $$
DECLARE
	new text := apply(bx(), expression);
BEGIN
	IF new LIKE 'V: %' THEN RETURN new; END IF;
	RETURN (SELECT coalesce(string_agg(key || '=' || value, ', ' ORDER BY key), '') FROM jsonb_each(new::jsonb)
	        WHERE value IS DISTINCT FROM bx()::text::jsonb->key) ||
	       (SELECT coalesce(string_agg(' -' || key, '' ORDER BY key), '') FROM jsonb_object_keys(bx()::text::jsonb) key WHERE NOT new::jsonb ? key);
END $$ LANGUAGE plpgsql;
