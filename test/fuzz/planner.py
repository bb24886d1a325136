"""Random indexes under random queries of views of entities: planner.py ROUNDS SEED FIRST DATABASE…

A round makes an index on a table of planner.sql, of the next operator class that there is, and asks for the same as two
roles might: by any collation, order, predicate, expression, and setting of the planner.  What comes back must be what the
same query says of a copy of the tables and views that has no index.  The indexes of every fourth round are hypothetical,
and its queries explained.  A difference, an internal error and the end of the server are failures, which are printed with
the statements that repeat them on planner.sql.
"""

import json
import random
import re
import sys
from collections import Counter

import psycopg2
import psycopg2.extensions

ROUNDS, SEED, FIRST = map(int, sys.argv[1:4])
HYPOTHETICAL = ["btree", "hash", "brin", "bloom"]  # what HypoPG can do
SCHEMAS = ["dynamo", "heap", "plain", "plain", "byhand", "parted"]
INTERNAL = re.compile("cache lookup|could not find|unsupported|unrecognized|unexpected|missing")
SWITCHES = ["enable_" + s for s in "seqscan indexscan indexonlyscan bitmapscan sort incremental_sort hashjoin mergejoin nestloop hashagg material "
    "memoize".split()]
SETTINGS = ["plan_cache_mode = force_generic_plan", "plan_cache_mode = force_custom_plan", "random_page_cost = 0.1", "cpu_operator_cost = 1",
            "cpu_tuple_cost = 10", "join_collapse_limit = 1", "geqo_threshold = 2", "work_mem = '64kB'",
            "constraint_exclusion = on", "enable_partitionwise_join = on", "enable_partitionwise_aggregate = on",
            "parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0"]
EXPRESSIONS = {"app": ["lower(pk)", "pk || sk", "pk::varchar", "pk::char(20)", "pk::name", "pk::bytea", "left(pk, 1)::\"char\"", "md5(pk)::uuid",
                       "string_to_array(pk, '#')", "to_tsvector('simple', pk)", "text2ltree('a.b' || replace(md5(pk), '7', '.c'))",
                       "ARRAY[text2ltree(md5(pk))]", "plainto_tsquery('simple', pk)", "ROW(pk, 1)::pair",
                       "item -> 'o'", "item ->> 'OrgId'", "item", "dynamo_internal.get_attribute_text(item, 'Kind')",
                       "dynamo_internal.get_path_text(item, '{Map,City}')", "dynamo_internal.has_attribute(item, 'Lead')",
                       "dyn_matches(item, 'size(pk) > :n', vals => '{\":n\": {\"N\": \"6\"}}')",
                       "hashtext(pk)::bit(32)", "hashtext(sk)::bit(32)::varbit", "ARRAY[dyn_size(item)]", "string_to_array(sk, '#')::varchar[]"],
               "num": ["-pk", "pk::text || sk::text", "item -> 'pk'", "item ->> 'Of'", "dyn_size(item) > 60"]}
NUMBERS = {"app": "first_number(sk)", "num": "mod(pk, 1000)::int"}
OF_NUMBER = ["%s", "%s::int2", "%s::int8", "%s::float4", "%s::float8", "%s::numeric", "%s::oid", "money '$1' * %s", "date '2024-01-01' + %s",
             "timestamp '2024-01-01' + %s * interval '1 hour'", "to_timestamp(%s)",
             "time '00:00' + %s * interval '7 minutes'", "timetz '00:00Z' + %s * interval '7 minutes'", "%s * interval '1 hour'", "'10.0.0.0'::inet + %s",
             "('10.0.0.0'::inet + %s)::cidr", "point(%s, 1)", "box(point(%s, 1), point(2, 3))",
             "circle(point(%s, 1), 2)", "polygon(box(point(%s, 1), point(2, 3)))", "int4range(%s, NULL)", "int4multirange(int4range(%s, NULL))",
             "ARRAY[%s, 1]", "('0/' || to_hex(%s))::pg_lsn", "('(' || %s::text || ',1)')::tid",
             "trunc('08:00:2b:01:02:03'::macaddr)", "macaddr8 '08:00:2b:01:02:03:04:05'", "%s::text::jsonb", "('{\"a\": [' || %s::text || ']}')::jsonb",
             "%s::text::oidvector", "%s::text::xid", "%s::text::xid8", "%s::text::cid", "makeaclitem(10, %s::oid, 'SELECT', true)"]
PREDICATES = {"app": ["pk LIKE 'ORG#%'", "pk >= 'ORG#1' AND pk < 'ORG#2'", "pk > 'LOG#'", "sk = '#METADATA#'", "sk LIKE 'LINE#%'", "g1 IS NOT NULL",
                      "h1 IS NULL", "starts_with(pk, 'ORG#1')", "item ->> 'Type' = 'Project'", "NOT dynamo_internal.has_attribute(item, 'Lead')",
                      "pk = ANY ('{ORG#1,ORG#2}')", "pk COLLATE \"POSIX\" > 'ORG#2'", "false"],
                      "num": ["pk > 5", "sk < 10 AND pk IS NOT NULL", "item ->> 'Of' = 'of 1'"]}
ORDERED = ["text", "integer", "bigint", "smallint", "numeric", "date", "character varying", "timestamp with time zone", "color"]
MADE = r"(dynamo_internal\.%s\((?:t\.)?item, '(?:[^']|'')*'::text, (?:'\w+'::text, NULL::[^()]*|(?:t\.)?\w+)\))"
counts = Counter()
indexed = set()  # operator classes
failures = 0
psycopg2.extensions.register_type(psycopg2.extensions.new_type((17,), "BYTEA", lambda text, cursor: text))


def quote(text):
    return "'%s'" % text.replace("'", "''")


class Ended(Exception):
    pass


class World:
    """A database: its sessions, and what can be asked and indexed there."""

    def __init__(self, name):
        self.name = name
        self.sessions = {role: psycopg2.connect(dbname=name, user=role) for role in ("postgres", "fuzz_reader")}
        for session in self.sessions.values():
            session.autocommit = True
        ask = self.ask
        self.icu = [c for c, in ask("SELECT quote_ident(collname) FROM pg_collation WHERE collprovider = 'i' AND collname ~ '^(und|de|tr|ja)-x-icu$'")]
        if self.icu:
            # one to which letters of either case are equal, and one that passes over punctuation
            for name, locale, exact in (("loose", "und-u-ks-level2", "false"), ("shifted", "und-u-ka-shifted", "true")):
                ask("CREATE COLLATION IF NOT EXISTS %s (provider = icu, locale = '%s', deterministic = %s)" % (name, locale, exact))
                self.icu.append(name)
        self.collations = ['"C"', '"POSIX"', '"default"', "fuzz_posix"] + self.icu
        self.columns = {}
        for relation, column, kind in ask("SELECT relname, quote_ident(attname), format_type(atttypid, NULL) FROM pg_attribute JOIN pg_class c ON c.oid = "
            "attrelid WHERE relnamespace = 'dynamo'::regnamespace AND relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped ORDER BY 1, attnum"):
            self.columns.setdefault(relation, []).append((column, kind))
        self.bases = ["app", "num"]
        self.views = sorted(set(self.columns) - set(self.bases))
        self.parts = {}  # of the keys of a view's items, the columns that they are made of
        self.views_of, self.expressions, self.predicates, self.attributes = {}, {}, {}, {}
        for base in self.bases:
            views = dict(ask("SELECT relname, pg_get_viewdef(oid) FROM pg_class WHERE relnamespace = 'dynamo'::regnamespace AND relkind = 'v' AND "
                "pg_get_viewdef(oid) ~ %s", r"\mdynamo\." + base + r"\M"))
            self.views_of[base] = sorted(views)
            for view, text in views.items():
                templates = [t for d in re.findall(r"is_entity\((?:t\.)?item, '((?:[^']|'')*)'", text)
                    for t in json.loads(d.replace("''", "'"))["keys"].values()]
                named = [re.findall(r"<(\w+)", t) if isinstance(t, str) else [] for t in templates]
                self.parts[view] = [p for p in [a + b for a, b in zip(named, named[1:])][::2] if p]
            attributes, calls = [sorted({m.replace("t.", "") for m in re.findall(MADE % f, "\n".join(views.values()))}) for f in ("attribute", "is_entity")]
            sql = [c for c, _ in self.columns[base]] + calls + EXPRESSIONS[base] + [e.replace("%s", NUMBERS[base]) for e in OF_NUMBER]
            self.expressions[base] = [(s, ask("SELECT pg_typeof(%s)::text FROM (SELECT * FROM dynamo.%s LIMIT 1) t" % (s, base))[0][0]) for s in sql]
            self.predicates[base] = PREDICATES[base] + calls * 3 + ["NOT " + c for c in calls]
            self.attributes[base] = attributes
        self.classes = [(c, method, kind, family)
            for c, method, kind, family in ask("SELECT format('%I.%I', nspname, opcname), quote_ident(amname), opcintype::regtype::text, opcfamily FROM "
            "pg_opclass c JOIN pg_am a ON a.oid = opcmethod JOIN pg_namespace n ON n.oid = opcnamespace ORDER BY opcname, amname")]
        self.coercible = {(a, b) for a, b in ask("SELECT castsource::regtype::text, casttarget::regtype::text FROM pg_cast WHERE castmethod = 'b' AND "
            "castcontext = 'i'")}
        self.families = {("anyenum", "color"), ("record", "pair")} | {(t, k)
            for t, k in ask("SELECT CASE WHEN typcategory = 'A' THEN 'anyarray' WHEN typtype = 'r' THEN 'anyrange' ELSE 'anymultirange' END, "
            "format_type(oid, NULL) FROM pg_type WHERE typcategory = 'A' OR typtype IN ('r', 'm')")}
        self.operators = {}
        for family, kind, name in ask("SELECT DISTINCT amopfamily, amoplefttype::regtype::text, format('OPERATOR(%I.%s)', nspname, oprname) FROM pg_amop "
            "JOIN pg_operator o ON o.oid = amopopr JOIN pg_namespace n ON n.oid = oprnamespace WHERE amoppurpose = 's' AND amoplefttype = amoprighttype "
            "ORDER BY 1, 2, 3"):
            self.operators.setdefault((family, kind), []).append(name)
        self.fixed = {i for i, in ask("SELECT indexrelid FROM pg_index")}
        self.hypothetical = ask("SELECT to_regproc('public.hypopg_create_index') IS NOT NULL")[0][0]
        self.samples = {}

    def run(self, role, sql, *parameters):
        """Rows and None, or None and an error."""
        self.last = sql
        try:
            with self.sessions[role].cursor() as cur:
                cur.execute(sql, parameters or None)
                return (cur.fetchall() if cur.description else []), None
        except psycopg2.Error as e:
            if self.sessions[role].closed:
                raise Ended(str(e))
            return None, e

    def ask(self, sql, *parameters):
        rows, error = self.run("postgres", sql, *parameters)
        if error is not None:
            raise error
        return rows

    def values(self, relation, expression):
        """What an expression is in the copy, as texts."""
        key = relation, expression
        if key not in self.samples:
            rows, error = self.run("postgres",
                "SET search_path = dynamo_postgres, public; SELECT DISTINCT (%s)::text FROM \"%s\" WHERE (%s) IS NOT NULL ORDER BY 1 LIMIT 60" %
                (expression, relation, expression))
            self.samples[key] = [v for v, in rows or []]
        return self.samples[key]

    def rows(self, relation):
        """Rows of the copy, as texts."""
        if relation not in self.samples:
            self.samples[relation] = self.ask("SELECT %s FROM dynamo_postgres.\"%s\" ORDER BY hashtext(%s::text) LIMIT 60" %
                (", ".join(c + "::text" for c, _ in self.columns[relation]), relation, self.columns[relation][0][0]))
        return self.samples[relation]

    def takes(self, opclass, kind):
        _, _, wanted, _ = opclass
        return wanted == kind or (kind, wanted) in self.coercible or (wanted, kind) in self.families


class Round:
    def __init__(self, world, number):
        self.world = world
        self.rng = random.Random("%d %d" % (SEED, number))
        self.number = number
        self.schema = self.rng.choice(SCHEMAS)
        self.base = self.rng.choice(["app", "app", "app", "num"])
        self.role = self.rng.choice(["postgres", "fuzz_reader"])
        self.hypothetical = world.hypothetical and self.rng.random() < 0.25
        self.statements = []
        self.indexed = []  # (expression, type, operators)
        self.parameters = None
        self.some = lambda p: self.rng.random() < p

    # --- indexes

    def element(self, expression, opclass):
        rng = self.rng
        sql, kind = expression
        text = sql if re.fullmatch(r'\w+|".*"', sql) else "(%s)" % sql
        if kind in ("text", "character varying", "character", "name") and self.some(0.3) or self.some(0.01):
            text += " COLLATE " + rng.choice(self.world.collations)
        if opclass is not None:
            text += " " + opclass[0]
            self.indexed.append((sql, kind, self.world.operators.get((opclass[3], opclass[2]), [])))
        if opclass is not None and opclass[1] == "btree" and self.some(0.4):
            text += rng.choice([" DESC", " ASC NULLS FIRST", " DESC NULLS LAST", " NULLS FIRST"])
        return text

    def index(self, opclass, of_key):
        rng = self.rng
        name, method, wanted, _ = opclass
        expressions = self.world.expressions[self.base]
        fitting = [e for e in expressions if self.world.takes(opclass, e[1])]
        keys = [e for e in fitting if e[0] in ("pk", "g1") or e[0] in ("sk", "h1", "day") and self.some(0.3)]
        first = rng.choice(keys) if keys and self.some(of_key) else rng.choice(fitting) if fitting and self.some(0.98) else rng.choice(expressions)
        elements = [self.element(first, opclass)]
        while method not in ("hash", "spgist") and len(elements) < 4:
            after = {"pk": "sk", "g1": "h1"}.get(first[0])
            if self.some(0.3 if after else 0.6):
                break
            first = next(e for e in expressions if e[0] == after) if after and self.some(0.9) else rng.choice(expressions)
            others = [c for c in self.world.classes if c[1] == method and self.world.takes(c, first[1])]
            elements.append(self.element(first, opclass if after and opclass in others and self.some(0.8) else rng.choice(others) if others else None))
        sql = "CREATE %sINDEX ON %s.%s USING %s (%s)" % ("UNIQUE " if method == "btree" and self.some(0.15) else "", self.schema, self.base, method,
            ", ".join(elements))
        if method in ("btree", "gist", "spgist") and self.some(0.2):
            sql += " INCLUDE (%s)" % ", ".join(c for c, _ in rng.sample(self.world.columns[self.base], 2))
        # HypoPG reads beyond an array for a predicate of a table that is not the first of a query
        if self.some(0.3) and not self.hypothetical:
            sql += " WHERE " + rng.choice(self.world.predicates[self.base])
        return sql

    def make(self, opclass, of_key=0.4):
        """An index, real or hypothetical; how likely it is one of keys, if they are of that type."""
        sql = self.index(opclass, of_key)
        if self.hypothetical:
            _, error = self.world.run(self.role, "SET search_path = public; SELECT hypopg_create_index(%s)", sql)
            if error is not None and str(error).startswith("hypopg:"):
                return
        else:
            _, error = self.world.run("postgres", "SET search_path = public; " + sql)
        if error is None:
            self.statements.append(sql)
            indexed.add(opclass)
            counts["hypothetical indexes" if self.hypothetical else "indexes"] += 1
            return
        counts["indexes refused"] += 1
        counts["refused " + str(error.pgcode)] += 1
        self.judge(sql, error)

    # --- queries

    def literal(self, text, kind):
        if self.parameters is not None and kind != "unknown":
            self.parameters.append((quote(text), kind))
            return "$%d" % len(self.parameters)
        return "%s::%s" % (quote(text), kind)

    def value(self, relation, expression, kind):
        rng = self.rng
        known = self.world.values(relation, expression)
        text = rng.choice(known) if known else "1"
        if self.some(0.15) and kind in ("text", "character varying"):
            text = rng.choice([text + "#", text.upper(), text[:-1], text + "\u00e9", "", "ORG#1", text.lower(), "_%"])
        elif self.some(0.1) and kind in ("integer", "bigint", "smallint", "numeric"):
            text = rng.choice(["-1", "0", "32767", "99"])
        return text

    def condition(self, alias, relation, column, kind):
        rng = self.rng
        name = "%s.%s" % (alias, column)
        value = lambda: self.literal(self.value(relation, column, kind), kind)
        textual = kind in ("text", "character varying")
        choice = rng.randrange(16)
        if choice < 5:
            return "%s = %s" % (name, value())
        if choice == 5 and kind not in ("dyn_item", "dyn_value"):
            return "%s %s %s" % (name, rng.choice(["<", "<=", ">", ">=", "<>"]), value())
        if choice == 6 and kind not in ("dyn_item", "dyn_value"):
            return "%s BETWEEN %s AND %s" % (name, value(), value())
        if choice == 7:
            return "%s IN (%s)" % (name, ", ".join(value() for _ in range(rng.randint(1, 4))))
        if choice == 8 and kind in ("text", "integer", "bigint", "date", "numeric", "uuid", "character varying"):
            return "%s = ANY (%s)" % (name, self.literal("{%s}" %
                ",".join('"%s"' % self.value(relation, column, kind).replace("\\", "\\\\").replace('"', '\\"') for _ in range(rng.randint(0, 5))), kind + "[]"))
        if choice == 9:
            return "%s IS %sNULL" % (name, rng.choice(["", "NOT "]))
        if choice in (10, 11) and textual:
            return "%s %s %s" % (name, rng.choice(["LIKE", "LIKE", "ILIKE", "^@", "NOT LIKE", "SIMILAR TO"]),
                self.literal(self.value(relation, column, kind)[:rng.randint(1, 9)] + rng.choice(["%", "%", "_%", ""]), "text"))
        if choice in (12, 13) and textual:
            return "%s COLLATE %s %s %s" % (name, rng.choice(self.world.collations), rng.choice(["=", "<", ">="]), value())
        if choice == 14:
            return "%s = (SELECT %s)" % (name, value())
        if choice == 15:
            return "(%s = %s OR %s IS NULL)" % (name, value(), name)
        return "%s IS NOT DISTINCT FROM %s" % (name, value())

    def conditions(self, alias, relation, most=3):
        rng = self.rng
        columns = self.world.columns[relation]
        out = [self.condition(alias, relation, *rng.choice(columns[:rng.choice([1, 2, 3, len(columns)])])) for _ in range(rng.randint(0, most))]
        return " AND ".join(out) or "true"

    def source(self, relation):
        """A relation; of a table, perhaps those rows of it for which something indexed holds."""
        rng = self.rng
        out = []
        if relation == self.base and self.indexed and self.some(0.7):
            sql, kind, operators = rng.choice(self.indexed)
            if operators:
                out.append("(%s) %s %s" % (sql, rng.choice(operators), self.literal(self.value(relation, sql, kind), kind)))
        if relation in self.world.predicates and self.some(0.4):
            out.append(rng.choice(self.world.predicates[relation]))
        return '(SELECT * FROM "%s" WHERE %s)' % (relation, " AND ".join(out)) if out else '"%s"' % relation

    def relation(self):
        """The round's table, one of its views, or seldom another."""
        if self.some(0.35):
            return self.base
        return self.rng.choice(self.world.views if self.some(0.1) else self.world.views_of[self.base])

    def sortable(self, relation):
        return [(c, k) for c, k in self.world.columns[relation] if k not in ("dyn_item", "dyn_value")]

    def partner(self, a, b):
        """Columns of two relations that have one type, those that have one name first."""
        pairs = [(c, d) for c, k in self.sortable(a) for d, m in self.sortable(b) if k == m]
        named = [p for p in pairs if p[0] == p[1]]
        return self.rng.choice(named if named and self.some(0.7) else pairs) if pairs else None

    def collection(self, relation):
        """The first or last rows of those that have some values in common, as keys begin with them."""
        rng = self.rng
        columns = self.world.columns[relation]
        row = rng.choice(self.world.rows(relation))
        parts = self.world.parts.get(relation)
        if parts and self.some(0.7):
            parts = rng.choice(parts)
            parts = parts[:rng.randint(min(2, len(parts)), len(parts))]
            filled = [i for i, (column, _) in enumerate(columns) for p in parts if column.strip('"') == p and row[i] is not None]
            filled.sort(key=lambda i: parts.index(columns[i][0].strip('"')))
        else:
            filled = [i for i, (_, kind) in enumerate(columns[:4]) if row[i] is not None and kind != "dyn_item"]
            rng.shuffle(filled)
            filled = filled[:rng.choice([2, 2, 3])]
        *known, last = filled or [1]
        where = " AND ".join("%s = %s" % (columns[i][0], self.literal(row[i], columns[i][1])) for i in known) or "true"
        return f'SELECT {columns[last][0]} FROM "{relation}" WHERE {where} ORDER BY 1{rng.choice(["", " DESC"])} LIMIT {rng.randint(1, 9)}'

    def query(self):
        """A query, and whether its rows come in an order."""
        rng = self.rng
        pick = rng.choice
        a, b = self.relation(), self.relation()
        columns = self.sortable(a)
        c, kind = pick(columns)
        d, _ = pick(columns)
        e, _ = pick(self.sortable(b))
        pair = self.partner(a, b)
        on = "b.%s = a.%s AND %s" % (pair[1], pair[0], self.conditions("b", b, 1)) if pair else ""
        form = rng.randrange(19 if pair else 15)
        of_a, of_b, where = self.source(a) + " a", self.source(b) + " b", self.conditions("a", a)
        if form < 5:
            return self.collection(a), True
        form -= 5
        if form < 3:
            return "SELECT %s FROM %s WHERE %s" % (pick(["a.*", "a", "a.%s, a.%s" % (c, d), "count(*)"]), of_a, where), False
        if form < 6:
            order = "1%s, 2%s%s" % (pick(["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"]), pick(["", " DESC"]),
                pick(["", " LIMIT 3", " LIMIT 7 OFFSET 2"]))
            return f"SELECT a.{c}, a.{d} FROM {of_a} WHERE {where} ORDER BY {order}", True
        if form == 6:
            return f"SELECT a.{c}, count(*), count(a.{d}) FROM {of_a} WHERE {where} GROUP BY 1", False
        if form == 7:
            return f"SELECT DISTINCT a.{c}, a.{d} FROM {of_a} WHERE {where}", False
        if form == 8:
            of = [c for c, k in columns if k in ORDERED]
            return f"SELECT min(a.{pick(of)}), max(a.{pick(of)}) FROM {of_a} WHERE {where}", False
        if form == 9:
            values = ", ".join("(%s)" % self.literal(self.value(a, c, kind), kind) for _ in range(3))
            return f"SELECT v.x, a.{d} FROM (VALUES {values}, (NULL)) v (x) {pick(['', 'LEFT '])}JOIN {of_a} ON a.{c} = v.x AND {where}", False
        if form == 10:
            few = f"SELECT b.{e} FROM {of_b} WHERE {on} ORDER BY 1{pick(['', ' DESC'])} LIMIT 2"
            return f"SELECT a.{c}, x.* FROM {of_a}, LATERAL ({few}) x WHERE {where}", False
        if form == 11:
            return f"SELECT a.{c}, a.{d} FROM {of_a} WHERE {where} AND {pick(['', 'NOT '])}EXISTS (SELECT FROM {of_b} WHERE {on})", False
        return f"SELECT a.{c}, a.{d}, b.{e} FROM {of_a} {pick(['', '', 'LEFT ', 'RIGHT '])}JOIN {of_b} ON {on} WHERE {where}", False

    def settings(self):
        rng = self.rng
        out = ["%s = off" % s for s in rng.sample(SWITCHES, rng.choice([0, 1, 2, 4]))] + rng.sample(SETTINGS, rng.choice([0, 0, 1, 2]))
        if self.some(0.7):
            out.append("enable_seqscan = off")
        return "".join("SET %s; " % s for s in out)

    def fail(self, what, *details):
        global failures
        failures += 1
        print("not ok - %s (seed %d, round %d, database %s, role %s)" % (what, SEED, self.number, self.world.name, self.role))
        for line in self.statements + [str(d)[:2000] for d in details]:
            print("    " + line)

    def judge(self, sql, error):
        """Whether an error is one of what was asked for."""
        if error.pgcode is None or error.pgcode[:2] in ("XX", "57") or INTERNAL.search(str(error)):
            self.fail("an internal error", sql, error)
            return False
        return True

    def ask(self):
        self.parameters = [] if self.some(0.3) else None
        query, ordered = self.query()
        prepare = ""
        if self.parameters is not None:
            prepare = "DEALLOCATE ALL; PREPARE q%s AS %s; " % (" (%s)" % ", ".join(k for _, k in self.parameters) if self.parameters else "", query)
            query = "EXECUTE q%s" % ("(%s)" % ", ".join(v for v, _ in self.parameters) if self.parameters else "")
        asked = "RESET ALL; SET search_path = %s, public; %s%s" % (self.schema, self.settings(), prepare)
        plan, error = self.world.run(self.role, asked + "EXPLAIN (COSTS OFF) " + query)
        if error is None:
            used = any(name in line for line, in plan for name in self.names)
            if self.hypothetical:
                counts["hypothetical plans"] += 1
                counts["of hypothetical indexes"] += used
                return
            found, error = self.world.run(self.role, asked + query)
        if error is not None:
            counts["queries refused"] += 1
            if not self.judge(asked + query, error) or self.hypothetical:
                return
        expected, refused = self.world.run(self.role, "RESET ALL; SET search_path = %s_%s, public; %s%s" % (self.schema, self.role, prepare, query))
        if (error is None) != (refused is None):
            self.fail("an error", asked + query, error or refused)
        if error is not None or refused is not None:
            return
        if not ordered:
            found, expected = sorted(map(repr, found)), sorted(map(repr, expected))
        counts["queries"] += 1
        counts["with rows"] += bool(expected) and expected != ["(0,)"]
        counts["by an index of a round"] += used
        if found != expected:
            self.fail("other rows", asked + query, "%d rows: %s" % (len(found), found), "expected %d: %s" % (len(expected), expected),
                *(line for line, in plan))

    def go(self, opclass):
        rng = self.rng
        world = self.world
        if self.hypothetical:
            opclass = rng.choice([c for c in world.classes if c[1] in HYPOTHETICAL])
        self.make(opclass)
        # what entities are found by is the keys, of texts or of numbers
        kind = "text" if self.base == "app" else "numeric"
        for _ in range(rng.choice([0, 1, 1, 2]) if self.statements else 2):
            fitting = [c for c in world.classes if world.takes(c, kind) and (c[1] in HYPOTHETICAL or not self.hypothetical)]
            own = next(c for c in fitting if c[:2] == ("pg_catalog.%s_ops" % kind, "btree"))
            self.make(own if self.some(0.5) else rng.choice(fitting), 0.9)
        if not self.statements:
            return
        if not self.hypothetical and self.some(0.7):
            # with dependencies of expressions, two conditions on one of them fail an assertion of PostgreSQL 15 (dependencies.c)
            statistics = "CREATE STATISTICS %s.s (ndistinct, mcv) ON (%s), (%s) FROM %s.%s" % (self.schema, *rng.sample(world.attributes[self.base], 2),
                self.schema, self.base)
            world.ask("RESET ALL")
            for sql in [statistics] * self.some(0.3) + ["%s %s.%s" % (rng.choice(["ANALYZE", "VACUUM ANALYZE"]), self.schema, self.base)]:
                world.ask(sql)
                self.statements.append(sql)
        made = [i for i in world.ask("SELECT oid, relname, relispartition FROM pg_class WHERE relkind IN ('i', 'I') AND relnamespace = '%s'::regnamespace" %
            self.schema) if i[0] not in world.fixed]
        self.names = [name for _, name, _ in made] or [">btree_", ">hash_", ">brin_", ">bloom_"]
        for _ in range(20):
            self.ask()
        for oid, name, part in made:
            if not part:
                world.ask('DROP INDEX %s."%s"' % (self.schema, name))
        world.ask("DROP STATISTICS IF EXISTS %s.s" % self.schema)
        if self.hypothetical:
            world.run(self.role, "SET search_path = public; SELECT hypopg_reset()")


print("seed %d" % SEED)
worlds = [World(name) for name in sys.argv[4:]]
classes = random.Random(SEED).sample(worlds[0].classes, len(worlds[0].classes))
for number in range(FIRST, FIRST + ROUNDS):
    one = Round(worlds[number % len(worlds)], number)
    try:
        one.go(classes[number % len(classes)])
    except Ended as e:
        one.fail("the server has ended", one.world.last, e)
        break
    if failures > 20:
        break
print("%d of %d operator classes" % (len(indexed), len(classes)))
print(", ".join("%s: %d" % c for c in sorted(counts.items())))
if counts["queries"] < 10 * ROUNDS or min(counts["by an index of a round"], counts["with rows"]) * 20 < counts["queries"]:
    failures += 1
    print("not ok - too little was compared")
print("planner: %d passed, %d failed" % (counts["queries"] + counts["hypothetical plans"], failures))
sys.exit(failures > 0)
