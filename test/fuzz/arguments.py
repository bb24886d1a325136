"""Arguments for functions.py, as SQL: by the parameter's name where there is a corpus for it, else by its type.

The corpora are the arguments of the calls in the SQL tests and the requests of the conformance tests, so a new test is a
new seed; beside them, what no test gives: other objects of the database, other types, texts and JSON that are mutated.
"""

import glob
import json
import os
import re

import partiql_seeds

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

TABLES = ["app", "app", "app", "num", "solo", "multi", "target", "sup", "granted", "secured", "triggered", "forged", "renamed", "parent", "child", "parted",
          "part",
          "handmade", "heaped", "empty", "plain", "view_app", "mat_app", "seq", "far", "people", "orders", "app_pkey", "Org", "Ticket", "odd %s '\\ \"name",
          "nosuch", "",
          " ", "fuzz.app", "a.b.c", "pg_class", "pg_catalog.pg_class", "pg_toast.pg_toast_1262", "information_schema.tables", "dynamo_internal.jobs",
          "dynamo_internal.stream_records", "dyn_streams",
          "pg_temp.x", "arn:aws:dynamodb:local:1:table/app", "x" * 70, "%s%n%2$s", "é"]
OURS = ["app", "app", "app", "num", "solo", "multi", "target"]
RELATIONS = [t for t in TABLES if re.fullmatch(r"[a-z_]+|pg_[a-z_.0-9]+|information_schema\.tables", t) and t != "nosuch"]
INTEGERS = ["0", "1", "-1", "2", "3", "10", "100", "1000", "2147483647", "-2147483648"]
WORDS = ["org", "users", "priority", "people", "Person", "Order", "Org", "User", "Ticket", "GSI1", "ByStatus", "Turned", "Keys", "LSI1", "pk", "sk", "item",
         "ctid", "expires", "Type", "text",
         "markdown", "NONE", "ALL_OLD", "ALL_NEW", "UPDATED_NEW", "ALL", "KEYS_ONLY", "INCLUDE", "COUNT", "NEW_AND_OLD_IMAGES", "TRIM_HORIZON", "LATEST",
         "replace", "keep", "skip", "stop", "S", "N",
         "SS", "pk S", "sk N", "h B", "S date", "N integer", "S fuzz.mood", "L fuzz.small[]", "S fuzz.pair", "S nosuch", "N numeric(5,2)",
         "S timestamptz(3)", "<OrgId>", "ORG#<OrgId>#<Name:upper>",
         "<Number:06>", "<m.x.y>", "<a><b>", "<", "<<a>", "00000000000000000000000000", "aWgEPTl1tmebfsQzFP4bxwgy80V"]
SPECIALS = ["<", ">", "#", ":", "\"", "'", "\\", "{", "}", "[", "]", ",", ".", "(", ")", " ", "\n", "\t", "%s", "%n", "\u00e9", "\U0001f600", "\\u0000",
            "\\ud800", "0", "9" * 40, "1e999", "-",
            "null", "true", "{}", "[]", "\"\"", "AND", "size(", "#a", ":a", "[99999999999]", "\x01", "\x7f"]

# any type there is, with values that are unusual of it
SAMPLES = ["NULL", "'abc'", "'abc'::text", "''::text", "NULL::text", "1::integer", "NULL::integer", "(-1)::smallint", "9223372036854775807::bigint",
           "1.5::numeric", "'NaN'::numeric", "'Infinity'::numeric",
           "1e130::numeric", "NULL::numeric", "'NaN'::float8", "1e300::float8", "0.1::real", "true", "NULL::boolean", "'\\x0102'::bytea", "''::bytea",
           "'\\x01ff0178170100ff7f017903'::bytea", "NULL::bytea",
           "'2024-02-29'::date", "'infinity'::date", "'2024-05-01 10:00+02'::timestamptz", "'-infinity'::timestamptz", "'294276-12-31'::timestamp",
           "'4714-11-24 BC'::timestamp", "'10:00'::time",
           "'10:00+01'::timetz", "'1 year -3 days'::interval", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "'{\"a\":[1,null]}'::json",
           "'{\"a\":[1,{\"b\":2}]}'::jsonb", "'1'::jsonb", "'null'::json",
           "ARRAY[1,NULL,3]", "ARRAY[['a','b'],['c',NULL]]", "'{}'::text[]", "'[3:4]={7,8}'::integer[]", "ARRAY[NULL]::text[]", "NULL::text[]",
           "ARRAY['\\x00'::bytea]", "ARRAY[ROW(1,'a')::fuzz.pair]",
           "ARRAY[1,2]::fuzz.small[]", "'{1,2}'::fuzz.smalls", "NULL::fuzz.smalls", "ROW(1,'a')", "ROW()", "ROW(1,'a')::fuzz.pair", "NULL::fuzz.pair",
           "ARRAY[ROW(1,2)]", "'calm'::fuzz.mood", "NULL::fuzz.mood",
           "5::fuzz.small", "'{\"a\":{\"S\":\"x\"}}'::dyn_item", "'{\"N\":\"1\"}'::dyn_value", "NULL::dyn_item", "NULL::dyn_value",
           "ARRAY['{}'::dyn_item, NULL]", "'[1,5)'::int4range",
           "'{[1,2),[5,6)}'::int4multirange", "'(1,2)'::point", "'fuzz.app'::regclass", "0::oid", "99999999::oid", "'text'::regtype", "'x'::\"char\"",
           "'name'::name", "'ab '::char(5)", "'a'::varchar(3)",
           "'1.2.3.4/8'::inet", "B'101'", "'$1.50'::money", "'a b'::tsvector", "'1 2'::int2vector", "'1 2'::oidvector", "'x'::cstring", "'0/1'::pg_lsn",
           "'(0,1)'::tid", "'5'::xid", "'{1,2}'::int2[]",
           "(SELECT p FROM fuzz.people p LIMIT 1)", "(SELECT o FROM fuzz.orders o LIMIT 1)", "'08:00:2b:01:02:03'::macaddr", "'fuzz.noted'::regproc",
           "pg_catalog.repeat('abc', 100000)",
           "pg_catalog.decode(pg_catalog.repeat('01ff', 10), 'hex')"]
SMALL = {"parts", "segment", "total_segments", "shards", "shard", "samples", "batch_size"}
EMPTY = ["NULL::%s" % t for t in "text text text bytea bytea numeric numeric integer smallint bigint date timestamptz uuid jsonb boolean text[] integer[] "
    "fuzz.mood fuzz.small".split()]
ITEMS = ['{"pk":{"S":"ORG#1"},"sk":{"S":"#METADATA#"}}', '{"pk":{"S":"a"},"sk":{"S":"1"},"g":{"S":"x"},"h":{"N":"1"}}',
         '{"pk":{"N":"1"},"sk":{"B":"AAEC"}}', '{"pk":{"S":"1"}}',
         '{"pk":{"S":"1"},"sk":{"N":"4"}}', '{"pk":{"S":"k"},"sk":{"S":"2"},"Type":{"S":"Org"},"GSI1PK":{"N":"1"}}', '{}', '{"a":{"S":"\\u0000"}}',
         '{"pk":{"S":"x\\u0000"},"sk":{"S":"\\u0001"}}',
         '{":a":{"S":"x"},":b":{"N":"1"}}', '{":o":{"S":"ORG#1"},":s":{"S":"USER#"}}', '{"OrgId":{"S":"1"},"Name":{"S":"x"}}',
         '{"Number":{"N":"7"},"OrgId":{"S":"1"}}', '{"OrgId":{"S":"1"},"UserId":{"S":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}}']
DEFINITIONS = ['{"entity":"X","keys":{"pk":"A#<n>"},"attributes":{"n":"N"}}', '{"entity":"X","keys":{"pk":"<m.x.y>"},"attributes":{"m":"M"}}',
               '{"entity":"Org","keys":{"pk":"ORG#<OrgId>","sk":"#METADATA#"},"attributes":{"OrgId":"S","Name":"S"}}',
               '{"entity":"T","keys":{"pk":"T#<Number:06>#<At>"},"attributes":{"Number":"N integer","At":"S date"}}',
               '{"entity":"U","keys":{"pk":"<U>#<B>"},"attributes":{"U":"S uuid","B":"B"}}', '{"entity":"L","keys":{"pk":"<L>"},"attributes":{"L":"SS"}}',
               '{"entity":"W","keys":{"pk":[{"when":{"a":null},"template":"X#<b>"},{"template":"Y#<b>"}]},"attributes":{"a":"BOOL","b":"N"},'
                '"type_attribute":"Type","type_value":"W"}']
JSONB = "dyn_item json jsonb".split()


def quote(text):
    text = text.replace("\0", "")
    return "E'%s'" % text.replace("\\", "\\\\").replace("'", "''") if "\\" in text else "'%s'" % text.replace("'", "''")


def split_arguments(text):
    """What stands between commas on the first level, up to the closing parenthesis; None if that is not there."""
    out, at, depth, quoted = [""], 0, 0, False
    while at < len(text):
        c = text[at]
        quoted ^= c == "'"
        if not quoted:
            depth += (c in "([") - (c in ")]")
            if depth < 0:
                return [a.strip() for a in out]
        if c == "," and depth == 0 and not quoted:
            out.append("")
        else:
            out[-1] += c
        at += 1
    return None


def literal(text):
    m = re.fullmatch(r"'((?:[^']|'')*)'(::\w+)?", text, re.S)
    return m.group(1).replace("''", "'") if m else None


def typed(text, kind):
    """A literal; an item whose attributes have no type codes goes by way of JSON."""
    if kind == "dyn_item":
        try:
            tree = json.loads(text)
            if isinstance(tree, dict) and not all(isinstance(v, dict) and len(v) == 1 for v in tree.values()):
                return "%s::jsonb::dyn_item" % quote(text)
        except (ValueError, RecursionError):
            pass
    return "%s::%s" % (quote(text), kind)


class Corpus:
    """Texts by the names of parameters, requests by operations, and calls as they are."""

    def __init__(self, routines):
        self.by_name = {}
        self.requests = {}
        self.calls = {}
        self.json = list(ITEMS)
        for path in sorted(glob.glob(os.path.join(TOP, "sql", "*.sql"))):
            with open(path, encoding="utf-8") as f:
                self.read(f.read(), routines)
        with open(os.path.join(TOP, "test", "conformance", "strategies.json"), encoding="utf-8") as f:
            self.read_requests(json.load(f))
        for operation, request in partiql_seeds.requests("app"):
            self.requests.setdefault(operation, []).append(json.dumps(request))
        self.by_name["definition"] = DEFINITIONS
        with open(os.path.join(TOP, "src", "api", "request", "request.c"), encoding="utf-8") as f:
            operations = re.findall(r'\{"(\w+)", request_', f.read())
        self.requests = {o: sorted(set(self.requests.get(o, ["{}"]))) for o in operations}
        for name, texts in list(self.by_name.items()):
            self.by_name[name] = sorted(set(texts))
        self.json = sorted(set(self.json))

    def read(self, text, routines):
        for m in re.finditer(r"'([{\[](?:[^']|'')+)'", text):
            self.json.append(m.group(1).replace("''", "'"))
        for m in re.finditer(r"'([A-Z]\w+)', *'(\{(?:[^']|'')*\})'", text):
            self.requests.setdefault(m.group(1), []).append(m.group(2).replace("''", "'"))
        for m in re.finditer(r"\b((?:dynamo_internal\.|dyn_)\w+)\(", text):
            arguments = split_arguments(text[m.end():m.end() + 4000])
            if arguments is not None and m.group(1) in routines:
                self.take(m.group(1), arguments, routines[m.group(1)])

    def take(self, name, arguments, parameters):
        """Under the parameter's name, and under its name and type; the names are those of the first of several functions."""
        types = dict(parameters)
        parameters = [p for p, _ in parameters]
        taken = {}
        for i, argument in enumerate(arguments):
            named = re.match(r"(\w+) => (.*)", argument, re.S)
            parameter = named.group(1) if named else parameters[i] if i < len(parameters) else ""
            value = literal(named.group(2) if named else argument)
            if value is not None and parameter:
                for key in (parameter, (parameter, types.get(parameter))):
                    self.by_name.setdefault(key, []).append(value)
                taken[parameter] = value
        if taken:
            self.calls.setdefault(name, []).append(taken)

    def read_requests(self, node):
        if isinstance(node, dict):
            for name in [n for n in ("operation", "op", "call") if isinstance(node.get(n), str)]:
                for value in node.values():
                    if isinstance(value, dict):
                        self.requests.setdefault(node[name], []).append(json.dumps(value))
            node = list(node.values())
        if isinstance(node, list):
            for value in node:
                self.read_requests(value)


class Arguments:
    """Random arguments; the same for the same random numbers."""

    def __init__(self, rng, corpus):
        self.rng = rng
        self.corpus = corpus
        self.operations = sorted(corpus.requests)

    def mutated(self, text):
        rng = self.rng
        for _ in range(rng.choice([1, 1, 2, 4])):
            at = rng.randint(0, len(text))
            to = min(len(text), at + rng.randint(0, 8))
            choice = rng.random()
            if choice < 0.4:
                text = text[:at] + rng.choice(SPECIALS) + text[to if choice < 0.2 else at:]
            elif choice < 0.6:
                text = text[:at] + text[to:]
            elif choice < 0.8:
                text = text[:at] + text[at:to] * rng.choice([2, 3, 100]) + text[to:]
            else:
                other = rng.choice(self.corpus.json)
                text = text[:at] + other[rng.randint(0, len(other)):]
        return text[:20000]

    def mutated_json(self, text):
        """A change of the tree that is in the text."""
        try:
            tree = json.loads(text)
        except (ValueError, RecursionError):
            return self.mutated(text)
        for _ in range(self.rng.choice([1, 1, 2])):
            tree = self.changed(tree)
        try:
            return json.dumps(tree, ensure_ascii=self.rng.random() < 0.5)
        except (ValueError, RecursionError):
            return text

    def changed(self, node):
        rng = self.rng
        if isinstance(node, (dict, list)) and node and rng.random() < 0.8:
            at = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
            choice = rng.random()
            if choice < 0.15:
                del node[at]
            elif choice < 0.25 and isinstance(node, dict):
                node[rng.choice(WORDS)] = node.pop(at)
            elif choice < 0.3 and isinstance(node, list):
                node.extend([node[at]] * rng.choice([1, 3, 120]))
            elif choice < 0.4 and isinstance(node, dict):
                node[rng.choice(WORDS)] = node[at]
            else:
                node[at] = self.changed(node[at])
            return node
        return self.leaf(node)

    def leaf(self, node):
        rng = self.rng
        choice = rng.random()
        if choice < 0.3 and isinstance(node, str):
            return self.mutated(node)
        if choice < 0.4:
            return [node]
        if choice < 0.5:
            return {rng.choice(["S", "N", "L", "M", "B", "SS", "a", ""]): node}
        if choice < 0.55:
            for _ in range(rng.choice([30, 40, 500])):
                node = {"M": {"a": node}} if rng.random() < 0.5 else [node]
            return node
        return rng.choice([None, True, False, 0, -1, 1.5, 2147483648, 10 ** 40, "", "x" * 3000, [], {}, "S", {"S": ""}, {"N": "x"}, {"NULL": True},
            rng.choice(WORDS), json.loads(rng.choice(ITEMS))])

    def text(self, name):
        rng = self.rng
        known = self.corpus.by_name.get(name)
        if name == "table_name" and rng.random() < 0.9:
            return rng.choice(OURS if rng.random() < 0.6 else TABLES)
        if name == "operation" and rng.random() < 0.9:
            return rng.choice(self.operations)
        if name == "sqlstate":
            return rng.choice(["YD001", "00000", "", "é", "XX000", rng.choice(WORDS)])
        text = rng.choice(known) if known and rng.random() < 0.93 else rng.choice(WORDS)
        choice = rng.random()
        if choice < 0.2:
            return self.mutated_json(text) if rng.random() < 0.8 else self.mutated(text)
        if choice < 0.22:
            return rng.choice(self.corpus.json)
        return text

    def document(self, name, kind):
        """Of an item, json or jsonb."""
        rng = self.rng
        known = self.corpus.by_name.get((name, kind)) or self.corpus.by_name.get(name)
        if kind == "dyn_item" and name != "vals" and rng.random() < 0.6:
            text = rng.choice(ITEMS)
        else:
            text = rng.choice(known) if known and rng.random() < 0.85 else rng.choice(self.corpus.json)
        choice = rng.random()
        if choice < (0.15 if kind == "dyn_item" else 0.35):
            text = self.mutated_json(text)
        elif choice < 0.38 and kind != "dyn_item":
            text = self.mutated(text)
        if rng.random() < 0.1:
            text = re.sub(r"\b(projects|beta|alpha|gamma|tab)\b", rng.choice(["app", "num", "multi"]), text)
        return typed(text, kind)

    def request(self, operation):
        rng = self.rng
        text = rng.choice(self.corpus.requests.get(operation) or self.corpus.json)
        if rng.random() < 0.7:
            text = re.sub(r'"TableName": ?"[^"]*"', lambda _: '"TableName":%s' % json.dumps(rng.choice(TABLES)), text)
        if rng.random() < 0.6:
            text = self.mutated_json(text)
        return "%s::json" % quote(text)

    def array(self, name, kind):
        rng = self.rng
        if rng.random() < 0.05:
            return rng.choice(["'{}'::%s[]", "'{{},{}}'::%s[]", "NULL::%s[]", "ARRAY[NULL,NULL]::%s[]"]) % kind
        if name == "keys" and kind == "text":
            one = lambda: quote(rng.choice(["pk S", "sk S", "h N", "b B", "pk", "S", "", "pk S S", "%s S", "é N", "~ttl N", "x" * 300 + " S"]))
        else:
            one = lambda: "NULL" if rng.random() < 0.05 else self.plain(name, kind)
        members = [one() for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 30]))]
        text = "ARRAY[%s]::%s[]" % (",".join(members), kind)
        if rng.random() < 0.05:
            text = "ARRAY[%s,%s]" % (text, text)
        return text

    def plain(self, name, kind):
        """An argument of its type."""
        rng = self.rng
        if kind.endswith("[]"):
            return self.array(name, kind[:-2])
        if kind in ("dyn_item", "json", "jsonb"):
            return self.document(name, kind)
        if kind == "dyn_value":
            return "%s::dyn_value" % quote(self.mutated_json(rng.choice(['{"S":"x"}', '{"N":"1"}', '{"L":[{"S":"a"},{"M":{"x":{"N":"1"}}}]}',
                '{"M":{"a":{"SS":["x"]}}}', '{"B":"AAEC"}', '{"NULL":true}', '{"NS":["1","2"]}'])))
        if kind in ("text", "cstring"):
            return "%s::%s" % (quote(self.text(name)), kind)
        if kind == "anyelement" and name == "sample" and rng.random() < 0.8:
            return rng.choice(EMPTY)
        if name == "max_rate":
            return rng.choice(["0", "-1", "1000", "2147483647"])
        if kind in ("integer", "bigint") and name in SMALL and rng.random() < 0.8:
            return "%d::%s" % (rng.randint(0, 4), kind)
        if kind in ("integer", "bigint"):
            return "(%s)::%s" % (rng.choice(INTEGERS + (["9223372036854775807", "-9223372036854775808"] if kind == "bigint" else [])), kind)
        if kind == "boolean":
            return rng.choice(["true", "false"])
        if kind == "interval":
            return "%s::interval" % rng.choice(["'0'", "'10 ms'", "'-1 s'"])
        if kind == "regclass":
            return "%s::regclass" % quote(rng.choice(RELATIONS) if rng.random() < 0.8 else rng.choice(["0", "1", "99999999", "4294967295"]))
        if kind == "oid":
            return rng.choice(["0::oid", "1::oid", "99999999::oid", "4294967295::oid", "'fuzz.%s'::regclass::oid" %
                rng.choice(["app", "num", "multi", "parted", "view_app", "far", "plain", "app_pkey"])])
        if kind == "timestamp with time zone":
            return "%s::timestamptz" % rng.choice(["'2024-05-01'", "'infinity'", "'-infinity'", "'1970-01-01'", "'2014-05-13 16:53:20+00'",
                "'2150-06-19 23:21:35+00'", "'4713-01-01 BC'", "pg_catalog.now()"])
        if kind == "bytea":
            return "pg_catalog.decode(pg_catalog.repeat('%02x', %s), 'hex')" % (rng.randrange(256), rng.choice(["0", "1", "19", "20", "21", "1000"]))
        return rng.choice(SAMPLES)

    def argument(self, name, kind):
        rng = self.rng
        choice = rng.random()
        if choice < 0.02:
            return "NULL::%s" % kind if kind not in ("anyelement", '"any"') else rng.choice(SAMPLES)
        if choice < 0.025 and kind in ("text", "cstring"):
            return "pg_catalog.repeat(%s, %d)::%s" % (quote(self.text(name)), rng.choice([1000, 100000]), kind)
        if choice < 0.035:
            return rng.choice(SAMPLES)
        return self.plain(name, kind)

    def variadic(self):
        rng = self.rng
        if rng.random() < 0.2:
            return ["VARIADIC " + rng.choice(["NULL::text[]", "ARRAY['a',NULL]", "'{}'::text[]", "ARRAY[1,2]", "ARRAY[['a'],['b']]", "ARRAY['\\x01'::bytea]"])]
        return [rng.choice(EMPTY if rng.random() < 0.1 else SAMPLES) for _ in range(rng.choice([0] + [1, 1, 2, 2, 3, 5] * 4))]
