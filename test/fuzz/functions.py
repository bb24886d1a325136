"""Random calls of every function, procedure, operator and cast of the extension, by three roles.

A superuser, the owner of tables and a role that may log in and nothing else call them with arguments that are right, wrong,
NULL, huge or mutated (arguments.py), in all ways that SQL has: in transactions and subtransactions of each kind, prepared,
over rows, in views, index expressions, cursors and triggers, and with a search_path full of traps.  A call may do what it
likes and fail as it likes; but the server goes on, no call hangs, none ends with an internal error (SQLSTATE XX…), and no
name is looked up where the caller has put another.  The server's log says what happened in background workers.

    SEED=n test/fuzz/functions             the same calls again
    FUZZ_IGNORE=regex test/fuzz/functions  to go on where a finding is known
"""

import itertools
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import psycopg2

from arguments import Arguments, Corpus, ITEMS, RELATIONS, SAMPLES, TABLES, quote, typed

HERE = os.path.dirname(os.path.abspath(__file__))
ROLES = ["fuzz_super", "fuzz_owner", "fuzz_stranger"]
STATEMENT_SECONDS = 150
HANG_SECONDS = 450
VERBOSE = "FUZZ_VERBOSE" in os.environ
ROUND = 150  # scripts on one fixture

FOREIGN = re.compile(os.environ.get("FUZZ_IGNORE", r"^(?!)$"))
ROUTINES = """
SELECT CASE WHEN p.pronamespace = 'dynamo_internal'::regnamespace THEN 'dynamo_internal.' ELSE '' END || p.proname, p.prokind::text, p.provolatile::text,
    p.pronargdefaults, p.provariadic <> 0, p.proretset, coalesce(p.proargnames, '{}'),
       ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY u (t, n) ORDER BY n), p.prorettype::regtype::text
  FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid AND e.extname = 'dynamo_table' ORDER BY p.oid"""
OPERATORS = """
SELECT o.oprname, format_type(o.oprleft, NULL), format_type(o.oprright, NULL) FROM pg_operator o JOIN pg_depend d ON d.classid = 'pg_operator'::regclass
    AND d.objid = o.oid AND d.deptype = 'e'
  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid AND e.extname = 'dynamo_table' ORDER BY o.oid"""
CASTS = """
SELECT format_type(c.castsource, NULL), format_type(c.casttarget, NULL) FROM pg_cast c JOIN pg_depend d ON d.classid = 'pg_cast'::regclass
    AND d.objid = c.oid AND d.deptype = 'e'
  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid AND e.extname = 'dynamo_table' ORDER BY c.oid"""


class Routine:
    """Something to call: how its call is written, and what for arguments it has."""

    def __init__(self, label, kind, types, names=(), defaults=0, variadic=False, volatile="i", result="text"):
        self.label = label
        self.kind = kind  # f, p, o, c
        self.types = types
        self.names = list(names) + [""] * (len(types) - len(names))
        self.defaults = defaults
        self.variadic = variadic
        self.volatile = volatile
        self.result = result
        self.calls = self.accepted = 0

    @property
    def name(self):
        return self.label.split("(")[0]

    def expression(self, arguments):
        if self.kind == "o":
            return "(%s OPERATOR(public.%s) %s)" % (arguments[0], self.name, arguments[1])
        if self.kind == "c":
            return "(%s)::%s" % (arguments[0], self.label.split(" AS ")[1])
        return "%s%s(%s)" % ("" if "." in self.name else "public.", self.name, ", ".join(arguments))

    def statement(self, arguments):
        if self.kind == "p":
            return "CALL " + self.expression(arguments)
        return "SELECT (%s)::text" % self.expression(arguments)


def routines(cur):
    cur.execute(ROUTINES)
    out = [Routine("%s(%s)" % (name, ", ".join(types)), "p" if kind == "p" else "f", types, names[:len(types)], defaults, variadic, volatile, result)
           for name, kind, volatile, defaults, variadic, _, names, types, result in cur.fetchall()]
    cur.execute(OPERATORS)
    out += [Routine("%s(%s, %s)" % (name, left, right), "o", [left, right]) for name, left, right in cur.fetchall()]
    cur.execute(CASTS)
    return out + [Routine("CAST %s AS %s" % row, "c", [row[0]]) for row in cur.fetchall()]


class Finding(Exception):
    """What may not happen; kind and text."""

    def __init__(self, kind, text):
        super().__init__(kind, text)
        self.kind = kind
        self.text = text


class Sessions:
    """A connection for each role, and one that ends a statement that hangs."""

    def __init__(self, database):
        self.database = database
        self.connections = {}
        self.since = None
        self.hung = self.seen = None
        threading.Thread(target=self.watch, daemon=True).start()

    def get(self, role):
        if role not in self.connections:
            conn = psycopg2.connect(dbname=self.database, user=role, options="-c statement_timeout=%ds -c lock_timeout=3s" % STATEMENT_SECONDS)
            conn.autocommit = True
            self.connections[role] = conn
        return self.connections[role]

    def drop(self, role):
        conn = self.connections.pop(role, None)
        if conn is not None:
            conn.close()

    def drop_all(self):
        for role in list(self.connections):
            self.drop(role)

    def watch(self):
        while True:
            time.sleep(1)
            since = self.since
            if since is not None and since is not self.seen and time.time() - since[0] > HANG_SECONDS:
                stack = subprocess.run(["gdb", "-p", str(since[1]), "-batch", "-ex", "bt 40"], capture_output=True,
                    text=True).stdout if os.path.exists("/usr/bin/gdb") else ""
                self.hung = stack[-6000:] or "no stack: gdb is not there"
                self.seen = since
                os.kill(since[1], signal.SIGQUIT)

    def run(self, role, sql):
        """SQLSTATE, None if there was no error; a Finding if the connection is gone, or a statement took too long."""
        conn = self.get(role)
        self.since = (time.time(), conn.info.backend_pid)
        try:
            with conn.cursor() as cur:
                cur.execute(sql)
                if cur.description is not None:
                    cur.fetchall()
            return None, ""
        except psycopg2.Error as e:
            if conn.closed:
                raise Finding("hang" if self.hung else "lost connection", self.hung or str(e))
            return e.pgcode, str(e)
        except (ValueError, UnicodeError, OverflowError) as e:
            return "client", str(e)
        finally:
            if VERBOSE and time.time() - self.since[0] > 2:
                print("# %.1f s: %s" % (time.time() - self.since[0], sql[:300]), flush=True)
            self.since = None
            self.hung = None


def judge(state, text):
    if state is None:
        return
    if state[:2] in ("XX", "HS") or state in ("53200",):
        if not FOREIGN.search(text):
            raise Finding(state, text)
    if state == "57014" and "statement timeout" in text:
        raise Finding("slow", "over %d s: %s" % (STATEMENT_SECONDS, text))


class Log:
    """What is new in the server's log and should not be there."""

    # The one error that ends a session on purpose; psycopg2 does not tell it.
    MEANT = b" %s FATAL:  a session with temporary objects cannot make requests of gateways"
    BAD = re.compile(r"PANIC|TRAP:|terminated by signal|^XX[0-9A-Z]{3} |stack smashing|invalid memory alloc", re.M)

    def __init__(self, path, database):
        self.path = path
        self.meant = self.MEANT % database.encode()
        self.at = os.path.getsize(path)
        self.ends = self.at  # what stands before has been told by was_meant()

    def was_meant(self):
        """Whether a session that is gone since the last call of this has been ended on purpose."""
        with open(self.path, "rb") as f:
            f.seek(self.ends)
            new = f.read()
        self.ends += len(new)
        return self.meant in new

    def look(self):
        with open(self.path, "rb") as f:
            f.seek(self.at)
            new = f.read()
        self.at += len(new)
        lines = new.decode(errors="replace").splitlines()
        # what a process was doing when it ended stands in the line after
        return [(line + " " + following if "terminated by signal" in line else line)[:3000] for line, following in zip(lines, lines[1:] + [""])
            if self.BAD.search(line) and not FOREIGN.search(line)]


class Fuzzer:
    def __init__(self, number, seed, seconds, database):
        self.number = number
        self.seed = seed
        self.rng = random.Random(seed)
        self.end = time.time() + seconds
        self.database = database
        self.sessions = Sessions(database)
        self.log = Log(os.environ["FUZZ_LOG"], database)
        self.findings = {}
        self.calls = 0
        with self.sessions.get("fuzz_super").cursor() as cur:
            self.routines = routines(cur)
        by_name = {}
        for r in self.routines:
            by_name.setdefault(r.name, list(zip(r.names, r.types)))
        self.corpus = Corpus(by_name)
        self.make = Arguments(self.rng, self.corpus)
        self.ways = [(self.batch, 40), (self.single, 20), (self.transaction, 10), (self.prepared, 6), (self.over_rows, 8), (self.in_view, 3),
                     (self.in_index, 4), (self.cursor, 3),
                     (self.over_table, 5), (self.trigger, 4), (self.forged, 5), (self.through_view, 6), (self.write, 5), (self.binary, 4),
                     (self.hostile, 5), (self.parallel, 2)]

    # --- calls

    def pick(self):
        return self.rng.choice(self.routines)

    def arguments(self, routine):
        rng = self.rng
        known = self.corpus.calls.get(routine.name)
        like = rng.choice(known) if known and rng.random() < 0.6 else {}
        least = len(routine.types) - routine.defaults - (1 if routine.variadic else 0)
        count = len(routine.types) if routine.variadic or rng.random() < 0.5 else rng.randint(least, len(routine.types))
        out = []
        for i in range(count):
            name, kind = routine.names[i], routine.types[i]
            if routine.variadic and i == len(routine.types) - 1:
                out += self.make.variadic()
            elif name == "request" and len(out) > 0 and rng.random() < 0.9:
                operation = re.match(r"'(\w+)'", out[-1])
                out.append(self.make.request(operation.group(1) if operation else "").replace("::json", "::" + kind))
            elif name in like and rng.random() < 0.9 and name != "table_name":
                out.append(typed(like[name], kind))
            else:
                out.append(self.make.argument(name, kind))
        if rng.random() < 0.02 and out and routine.kind in "fp":
            out = out[:-1] if rng.random() < 0.5 else out + [rng.choice(SAMPLES)]
        return out

    def call(self, routine=None):
        routine = routine or self.pick()
        routine.calls += 1
        self.calls += 1
        return routine.statement(self.arguments(routine))

    # --- ways to call: each gives statements, which run one after the other whatever becomes of them

    def single(self):
        return [self.call()]

    def batch(self):
        """Many calls in one statement, each a subtransaction of its own; internal errors are told at the end."""
        calls = [s for s in (self.call() for _ in range(25)) if not s.startswith("CALL")]
        body = "".join("BEGIN EXECUTE %s; EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS m = MESSAGE_TEXT; IF SQLSTATE ~ '^(XX|HS|53200)' THEN bad := "
            "bad || (SQLSTATE || ': ' || m); END IF; END;\n" % quote(c) for c in calls)
        return ["DO %s" % quote("DECLARE bad text[] := '{}'; m text; BEGIN\n%sIF bad <> '{}' THEN RAISE 'internal errors: %%', bad USING ERRCODE = 'XX999'; "
            "END IF; END" % body)]

    def transaction(self):
        rng = self.rng
        out = ["BEGIN ISOLATION LEVEL %s %s" % (rng.choice(["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]),
            rng.choice(["", "", "READ ONLY", "READ WRITE", "READ ONLY, DEFERRABLE"]))]
        for _ in range(rng.choice([2, 4, 8])):
            out += ["SAVEPOINT s", self.call(), "ROLLBACK TO s" if rng.random() < 0.4 else "RELEASE s", "ROLLBACK TO s"]
        return out + [rng.choice(["COMMIT", "ROLLBACK"])]

    def prepared(self):
        """The same plan with other arguments, which becomes a generic one."""
        routine = self.rng.choice([r for r in self.routines if r.kind != "p" and not r.variadic and r.types
            and not {"anyelement", '"any"', "internal", "cstring"} & set(r.types)])
        types = ", ".join(routine.types)
        out = ["PREPARE p (%s) AS %s" % (types, routine.statement(["$%d" % (i + 1) for i in range(len(routine.types))]))]
        for _ in range(7):
            routine.calls += 1
            self.calls += 1
            arguments = [self.make.plain(n, t) if self.rng.random() < 0.95 else "NULL" for n, t in zip(routine.names, routine.types)]
            out.append("EXECUTE p(%s)" % ", ".join(arguments))
        return out + ["DEALLOCATE p"]

    def rows_of(self, routine, count):
        """A VALUES list of arguments; of a polymorphic one the same sample, or NULL, in each row."""
        rng = self.rng
        types = list(routine.types)
        if routine.variadic:
            types = types[:-1] + ["sample"] * rng.choice([1, 2, 3])
        names = routine.names + [""] * len(types)
        kinds = [rng.choice(SAMPLES) if t in ("anyelement", '"any"', "sample") else None for t in types]
        rows = [["%s" % (k if rng.random() < 0.8 else "NULL") if k else self.make.plain(n, t) if rng.random() < 0.93 else "NULL::" + t
            for n, t, k in zip(names, types, kinds)] for _ in range(count)]
        routine.calls += count
        self.calls += count
        return rows, ["c%d" % i for i in range(len(types))]

    def callable(self, only=None):
        return self.rng.choice([r for r in self.routines if r.kind != "p" and r.types and not {"internal", "cstring"} & set(r.types)
            and (only is None or r.volatile in only)])

    def over_rows(self):
        """What a function keeps from row to row has to do for other arguments."""
        routine = self.callable()
        rows, columns = self.rows_of(routine, 12)
        values = ", ".join("(%s)" % ", ".join(row) for row in rows)
        return ["SELECT (%s)::text FROM (VALUES %s) v (%s)" % (routine.expression(columns), values, ", ".join(columns))]

    def over_table(self):
        routine = self.callable()
        arguments = self.arguments(routine)
        table = self.rng.choice(["app", "multi", "num", "solo", "target"])
        for i, kind in enumerate(routine.types[:len(arguments)]):
            if kind == "dyn_item" and self.rng.random() < 0.8:
                arguments[i] = "t.item"
            elif kind in ("text", "anyelement", '"any"') and self.rng.random() < 0.3:
                arguments[i] = "t.pk" if kind != "text" else "t.pk::text"
        routine.calls += 1
        self.calls += 1
        return ["SELECT (%s)::text FROM fuzz.%s t" % (routine.expression(arguments), table), "SELECT 1 FROM fuzz.%s t WHERE (%s)::text <> ''" %
            (table, routine.expression(arguments))]

    def in_view(self):
        routine = self.callable()
        routine.calls += 1
        self.calls += 1
        return ["CREATE OR REPLACE TEMP VIEW v AS %s AS a" % routine.statement(self.arguments(routine)), "SELECT * FROM v",
            "SELECT pg_get_viewdef('v'::regclass)", "DROP VIEW IF EXISTS v"]

    def in_index(self):
        """An immutable function of columns in an index, a constraint and a generated column."""
        routine = self.callable(only="i")
        rows, columns = self.rows_of(routine, 6)
        call = routine.expression(columns)
        kind = self.rng.choice(["CREATE INDEX ON i (pg_catalog.md5((%s)::text))", "ALTER TABLE i ADD CHECK ((%s) IS NOT NULL)",
                                "ALTER TABLE i ADD g text GENERATED ALWAYS AS ((%s)::text) STORED",
                                "CREATE INDEX ON i (c0) WHERE (%s) IS NULL", "CREATE STATISTICS fuzz.st ON (%s), c0 FROM i"])
        return (["CREATE TEMP TABLE i AS SELECT * FROM (VALUES %s) v (%s)" % ("(%s)" % ", ".join(rows[0]), ", ".join(columns)), kind % call] +
                ["INSERT INTO i VALUES (%s)" % ", ".join(row) for row in rows[1:]] +
                ["ANALYZE i", "SELECT count(*) FROM i WHERE (%s) IS NULL" % call, "DROP TABLE IF EXISTS i"])

    def cursor(self):
        routine = self.rng.choice([r for r in self.routines if r.kind == "f" and r.volatile != "i"])
        routine.calls += 1
        self.calls += 1
        return ["BEGIN", "DECLARE c %s CURSOR %s FOR SELECT * FROM %s" %
                (self.rng.choice(["SCROLL", "NO SCROLL", "BINARY"]), self.rng.choice(["", "WITH HOLD"]), routine.expression(self.arguments(routine))),
                "FETCH 1 FROM c", "SAVEPOINT s", self.call(), "ROLLBACK TO s", "FETCH 2 FROM c", "FETCH BACKWARD 2 FROM c",
                self.rng.choice(["CLOSE c", "COMMIT", "ROLLBACK"]), "ROLLBACK", "CLOSE ALL"]

    def trigger(self):
        """A trigger function of the extension on any table, of any kind and with any arguments."""
        rng = self.rng
        function = rng.choice([r.name for r in self.routines if r.result == "trigger"])
        each = rng.choice(["FOR EACH ROW", "FOR EACH ROW", "FOR EACH STATEMENT"])
        texts = [self.trigger_argument() for _ in range(rng.choice([0, 1, 1, 2, 3]))]
        table = rng.choice(["app", "multi", "num", "solo", "plain", "people", "orders", "empty", "handmade", "heaped", "part", "view_app", '"Org"', "lines",
            "mat_app"])
        when = rng.choice(["BEFORE", "AFTER", "INSTEAD OF"])
        self.calls += 1
        return ["BEGIN", "CREATE TRIGGER %s %s %s ON fuzz.%s %s EXECUTE FUNCTION %s(%s)" %
                (rng.choice(["a", '"~dynamo_keys"', '"~dynamo_model_check"', '"~~~"']), when,
                rng.choice(["INSERT OR UPDATE", "DELETE", "INSERT OR UPDATE OR DELETE", "TRUNCATE", "UPDATE"]), table, each, function,
                ", ".join(map(quote, texts))),
                "SAVEPOINT s", self.dml(table), "ROLLBACK TO s", self.dml(table), "ROLLBACK TO s", "TRUNCATE fuzz." + table, "ROLLBACK TO s", self.call(),
                "ROLLBACK"]

    def trigger_argument(self):
        rng = self.rng
        text = rng.choice(["pk S", "sk S", "h N", "x Q", "people", "[0]", "people 0", '{"settings":{}}',
            '{"settings":{"ttl_attribute":"a","ttl_status":"ENABLED"}}', '{"name":"GSI1","partition_key":["g S"]}', rng.choice(self.corpus.json)])
        return self.make.mutated_json(text) if rng.random() < 0.6 else text

    def forged(self):
        """What the owner may make of the trigger's arguments; then calls on that table."""
        rng = self.rng
        name, function, table = rng.choice([("~dynamo_keys", "dynamo_internal.derive_keys", "forged"),
                                            ("~dynamo_keys", "dynamo_internal.derive_keys", "solo"), ("~dynamo_keys", "dynamo_internal.derive_keys", "num"),
                                            ("~dynamo_model", "dynamo_internal.model_check", "app"),
                                            ("~dynamo_model", "dynamo_internal.model_check", "target")])
        known = self.trigger_arguments(table, name)
        at = rng.randrange(len(known)) if known else 0
        known[at:at + 1] = [self.make.mutated_json(known[at]) if rng.random() < 0.85 else self.trigger_argument()] if known else [self.trigger_argument()]
        out = ["BEGIN", "CREATE OR REPLACE TRIGGER \"%s\" BEFORE INSERT OR UPDATE ON fuzz.%s FOR EACH ROW EXECUTE FUNCTION public.%s(%s)" %
            (name, table, function, ", ".join(map(quote, known)))]
        out.append("ALTER TABLE fuzz.%s %s TRIGGER \"%s\"" % (table, rng.choice(["ENABLE ALWAYS", "DISABLE", "ENABLE REPLICA"]), name))
        for _ in range(6):
            call = self.call(rng.choice([r for r in self.routines if "table_name" in r.names or "migration" in r.names or r.name == "dyn_request"]))
            out += ["SAVEPOINT s", call.replace(quote(rng.choice(TABLES)), quote(table)) if rng.random() < 0.5
                else re.sub(r"^(SELECT \(public\.\w+\()'[^']*'::text", lambda m: m.group(1) + quote(table) + "::text", call), "ROLLBACK TO s"]
        return out + [self.dml(table), rng.choice(["ROLLBACK", "ROLLBACK", "ROLLBACK", "COMMIT"])]

    def trigger_arguments(self, table, name):
        try:
            with self.sessions.get("fuzz_super").cursor() as cur:
                cur.execute("SELECT tgargs FROM pg_trigger WHERE tgrelid = to_regclass(%s) AND tgname = %s", ("fuzz." + table, name))
                row = cur.fetchone()
                return bytes(row[0]).decode().split("\0")[:-1] if row else []
        except psycopg2.Error:
            return []

    def item(self):
        return self.make.document("item", "dyn_item")

    def dml(self, table):
        rng = self.rng
        return rng.choice(["INSERT INTO fuzz.%s (item) VALUES (%s)" % (table, self.item()), "INSERT INTO fuzz.%s SELECT * FROM fuzz.%s" % (table, table),
                           "DELETE FROM fuzz.%s" % table,
                           "UPDATE fuzz.%s SET item = %s" % (table, self.item()), "INSERT INTO fuzz.%s DEFAULT VALUES" % table,
                           "UPDATE fuzz.%s SET name = 'x', id = id + 1" % table,
                           "UPDATE fuzz.%s SET pk = %s" % (table, rng.choice(SAMPLES)), "INSERT INTO fuzz.%s (item, pk) VALUES (%s, %s)" %
                           (table, self.item(), rng.choice(SAMPLES)),
                           "INSERT INTO fuzz.%s (item) VALUES (%s) ON CONFLICT DO NOTHING" % (table, self.item()), "SELECT * FROM fuzz.%s FOR UPDATE" % table])

    def write(self):
        table = self.rng.choice(["app", "multi", "num", "solo", "target", "forged", "secured", "triggered", "people", "orders", "handmade", "heaped"])
        self.calls += 2
        return [self.dml(table), self.dml(table),
            self.rng.choice(["VACUUM fuzz.%s", "ANALYZE fuzz.%s", "VACUUM FULL fuzz.%s", "TRUNCATE fuzz.%s", "CLUSTER fuzz.%s", "REINDEX TABLE fuzz.%s"]) %
            table]

    def through_view(self):
        """Reads with conditions, for which the planner is told of keys, and writes; the entity may have changed since."""
        rng = self.rng
        view = rng.choice(['"Org"', '"User"', '"Ticket"', '"Ticket_GSI1"', '"User_Nicks"'])
        column = lambda: '"%s"' % rng.choice(["OrgId", "Name", "Founded", "UserId", "Mood", "Emails", "Number", "Title", "Closed", "Lines", "Hours",
            "Priority", "Status", "Address", "Nicks", "position", "element"])
        sample = lambda: rng.choice(SAMPLES + ["'1'", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "7", "'calm'", "'2001-02-03'"])
        clause = lambda: "%s %s %s" % (column(), rng.choice(["=", "=", "=", "<", ">=", "<>", "IS NOT DISTINCT FROM"]), sample())
        change = []
        if rng.random() < 0.4:
            entity = rng.choice(["Org", "User", "Ticket"])
            change = ["SELECT dyn_create_entity('app', %s, %s, %s)" %
                (quote(entity), self.make.document("keys", "jsonb"), self.make.document("attributes", "jsonb"))]
            if rng.random() < 0.5:
                kind = rng.choice(["S", "N", "M", "B", "L", "NS", "BOOL", "S date", "N integer"])
                keys = {"Org": '{"pk":"ORG#<OrgId>","sk":"#METADATA#"}', "User": '{"pk":"ORG#<OrgId>","sk":"USER#<UserId>"}',
                    "Ticket": '{"pk":"TICKET#<Number>","sk":"TICKET"}'}[entity]
                change = ["SELECT dyn_create_entity('app', %s, %s, %s)" %
                    (quote(entity), quote(keys), quote(json.dumps({"OrgId": "S", "UserId": "S", "Number": "N", column().strip('"'): kind})))]
        self.calls += 4
        return change + ["SELECT * FROM fuzz.%s WHERE %s AND %s" % (view, clause(), clause()), "SELECT * FROM fuzz.%s a JOIN fuzz.%s b ON a.%s = b.%s" %
                         (view, rng.choice(['"Org"', '"Ticket"']), column(), column()),
                         "INSERT INTO fuzz.%s (%s, %s) VALUES (%s, %s)" % (view, column(), column(), sample(), sample()),
                         "UPDATE fuzz.%s SET %s = %s WHERE %s" % (view, column(), sample(), clause()),
                         "DELETE FROM fuzz.%s WHERE %s" % (view, clause()), "SELECT item FROM fuzz.app", "SELECT * FROM fuzz.%s" % view]

    def binary(self):
        """Mutated binary, which only COPY takes: see server.py for items; here arrays and records of them too."""
        rng = self.rng
        kind = rng.choice(["dyn_item", "dyn_value", "dyn_item[]", "text[]"])
        value = self.make.plain("item", kind) if kind != "text[]" else "ARRAY['a']"
        name = {"dyn_item": "dynamo_internal.item_send", "dyn_value": "dynamo_internal.value_send"}.get(kind, "array_send")
        self.calls += 1
        return [("copy", kind, "SELECT %s(%s)" % (name, value))]

    def hostile(self):
        path = self.rng.choice(["hostile, pg_catalog, public, fuzz", "''", "hostile, fuzz, public, pg_catalog", '"$user"', "hostile, pg_catalog"])
        return ["SET search_path = %s" % path] + [self.call() for _ in range(5)] + ["SET search_path = fuzz, public"]

    def parallel(self):
        routine = self.callable(only="is")
        arguments = self.arguments(routine)
        setting = "force_parallel_mode" if self.version < 160000 else "debug_parallel_query"
        for i, kind in enumerate(routine.types[:len(arguments)]):
            if kind == "dyn_item":
                arguments[i] = "t.item"
        self.calls += 1
        return ["SET %s = on" % setting, "SET parallel_setup_cost = 0", "SELECT count((%s)::text) FROM fuzz.multi t" % routine.expression(arguments),
            "RESET %s" % setting, "RESET parallel_setup_cost"]

    # --- running

    @property
    def version(self):
        return self.sessions.get("fuzz_super").server_version

    def fixture(self, fresh=True):
        """Made by a superuser; what is left of the last one may be locked by workers that have not ended."""
        if fresh:
            self.sessions.drop_all()
        for _ in range(60):
            began = time.time()
            done = subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.database, "-f", os.path.join(HERE, "functions.sql")],
                capture_output=True, text=True)
            if VERBOSE and (done.returncode != 0 or time.time() - began > 2):
                print("# fixture: %.1f s %s" % (time.time() - began, done.stderr), flush=True)
            if done.returncode == 0:
                break
            time.sleep(1)
        else:
            raise Finding("the tables to call functions on could not be made", done.stderr)
        with self.sessions.get("fuzz_super").cursor() as cur:
            cur.execute("SELECT 1")
        for role in ROLES:
            self.sessions.run(role, "SET search_path = fuzz, public")

    def copy(self, role, kind, sql):
        """Binary of a value, mutated, into a table of that type."""
        import io
        import struct
        conn = self.sessions.get(role)
        try:
            with conn.cursor() as cur:
                cur.execute(sql)
                datum = bytearray(cur.fetchone()[0])
                for _ in range(self.rng.choice([1, 1, 3])):
                    at = self.rng.randrange(len(datum))
                    datum[at:at + self.rng.choice([0, 1, 1, 2])] = bytes([self.rng.randrange(256)] * self.rng.choice([0, 1, 1]))
                cur.execute("CREATE TEMP TABLE IF NOT EXISTS w_%s (a %s)" % (kind.replace("[]", "s"), kind))
                stream = b"PGCOPY\n\xff\r\n\0" + struct.pack("!IIhi", 0, 0, 1, len(datum)) + datum + struct.pack("!h", -1)
                cur.copy_expert("COPY w_%s FROM STDIN (FORMAT binary)" % kind.replace("[]", "s"), io.BytesIO(stream))
                cur.execute("SELECT a::text FROM w_%s" % kind.replace("[]", "s"))
            return None, ""
        except psycopg2.Error as e:
            if conn.closed:
                raise Finding("lost connection", str(e))
            return e.pgcode, str(e)
        except (ValueError, TypeError):
            return "client", ""

    def run(self, role, script):
        """The first finding of a script, or None; transactions that it has left open are ended."""
        found = None
        for sql in script:
            try:
                state, text = self.copy(role, *sql[1:]) if isinstance(sql, tuple) else self.sessions.run(role, sql)
                judge(state, text)
            except Finding as f:
                if f.kind == "lost connection" and self.log.was_meant():
                    self.sessions.drop(role)
                    self.sessions.run(role, "SET search_path = fuzz, public")
                    break
                found = found or f
                if f.kind in ("lost connection", "hang"):
                    self.sessions.drop_all()
                    self.wait()
                    break
        conn = self.sessions.connections.get(role)
        if conn is not None and conn.info.transaction_status != 0:
            self.sessions.run(role, "ROLLBACK")
        return found

    def wait(self):
        """Until the server takes connections again."""
        for _ in range(600):
            try:
                self.sessions.get("fuzz_super")
                return
            except psycopg2.OperationalError:
                time.sleep(1)

    def again(self, role, script):
        """A finding of the script on a new fixture, by new sessions."""
        try:
            self.fixture()
            return self.run(role, script)
        except Finding as f:
            return f

    def report(self, role, script, finding, history):
        logged = self.log.look()
        key = (finding.kind, re.sub(r"[0-9]+|\"[^\"]*\"", "", finding.text.splitlines()[0])[:90] if finding.kind[:2] in ("XX", "HS") else script[-1][:60]
            if isinstance(script[-1], str) else "copy")
        if key in self.findings:
            self.findings[key] += 1
            return
        self.findings[key] = 1
        small, alone = self.minimal(role, script, finding)
        print("not ok - %s (session %d, role %s%s)\n  %s" %
            (finding.kind, self.number, role, "" if alone else "; not by this script alone", finding.text.strip().replace("\n", "\n  ")))
        if not alone:
            print("  -- before it:\n" + "\n".join("  -- %s" % str(h)[:1000] for h in history[-6:]))
        print("\n".join("  %s;" % (s if len(str(s)) < 4000 else str(s)[:4000] + " …") if isinstance(s, str) else "  -- %r" % (s,) for s in small), flush=True)
        for line in logged[:5] + self.log.look()[:5]:
            print("  log: " + line)
        sys.stdout.flush()

    def minimal(self, role, script, finding):
        """Fewer statements that still end so."""
        if "DO " == script[0][:3]:
            inner = [eval_literal(m) for m in re.findall(r"BEGIN EXECUTE (E?'(?:[^'\\]|''|\\.)*'); EXCEPTION", eval_literal(script[0][3:]), re.S)]
            for call in inner:
                f = self.again(role, [call])
                if f is not None:
                    return [call], True
        f = self.again(role, script)
        if f is None:
            return script, False
        at = 0
        while at < len(script) and len(script) > 1:
            less = script[:at] + script[at + 1:]
            f = self.again(role, less)
            if f is not None and f.kind == finding.kind:
                script = less
            else:
                at += 1
        return script, True

    def first(self):
        """Each routine by each role."""
        for role in ROLES:
            for routine in self.routines:
                yield role, [self.call(routine)]

    def scripts(self):
        yield from self.first()
        ways = [w for w, weight in self.ways for _ in range(weight)]
        for n in itertools.count():
            if time.time() > self.end:
                return
            # a script is the same whatever became of those before it
            self.rng.seed("%d %d" % (self.seed, n))
            yield self.rng.choice(ROLES), self.rng.choice(ways)()

    def main(self):
        self.fixture()
        history = []
        for n, (role, script) in enumerate(self.scripts()):
            if n % ROUND == ROUND - 1:
                self.look(history)
                self.fixture(self.rng.random() < 0.5)
                history = []
            finding = self.run(role, script)
            if finding is not None:
                self.report(role, script, finding, history)
                self.fixture()
                history = []
            history += script
            if len(self.findings) >= 25:
                break
        self.look(history)

    def look(self, history):
        for line in self.log.look():
            key = re.sub(r"[0-9]+|\"[^\"]*\"", "", line)[:120]
            if key not in self.findings:
                self.findings[key] = 1
                print("not ok - in the log of the server (session %d): %s\n%s" %
                    (self.number, line, "\n".join("  -- %s" % str(h)[:500] for h in history[-30:])), flush=True)


def eval_literal(text):
    if text.startswith("E"):
        return re.sub(r"\\(.)", r"\1", text[2:-1].replace("''", "'"), flags=re.S)
    return text[1:-1].replace("''", "'")


def session(number, seed, seconds, results):
    os.environ["PGDATABASE"] = database = "fuzz%d" % number
    fuzzer = Fuzzer(number, seed + number, seconds, database)
    try:
        fuzzer.main()
    except Finding as f:
        fuzzer.findings[f.kind] = 1
        print("not ok - %s (session %d): %s" % (f.kind, number, f.text), flush=True)
    finally:
        results.put((fuzzer.calls, sum(fuzzer.findings.values()), {r.label: r.calls for r in fuzzer.routines}))


def setup(sessions):
    conn = psycopg2.connect("")
    conn.autocommit = True
    cur = conn.cursor()
    for role, rights in zip(ROLES, ["SUPERUSER", "", ""]):
        cur.execute("CREATE ROLE %s LOGIN %s" % (role, rights))
    for n in range(sessions):
        cur.execute("CREATE DATABASE fuzz%d" % n)
        other = psycopg2.connect(dbname="fuzz%d" % n)
        other.autocommit = True
        other.cursor().execute("CREATE EXTENSION dynamo_table")
        if os.environ["FUZZ_STREAMS"] == "logical":
            other.cursor().execute("CALL dyn_setup_streams()")
        other.close()


def main():
    seconds, sessions = float(sys.argv[1]), int(sys.argv[2])
    seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
    print("seed %d" % seed, flush=True)
    setup(sessions)
    results = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=session, args=(n, seed, seconds, results)) for n in range(sessions)]
    for p in processes:
        p.start()
    total, found, called = 0, 0, {}
    for _ in processes:
        calls, findings, each = results.get()
        total, found = total + calls, found + findings
        for label, n in each.items():
            called[label] = called.get(label, 0) + n
    missed = [label for label, n in called.items() if n == 0]
    for label in missed:
        print("not ok - never called: %s" % label)
    print("%d calls of %d functions, procedures, operators and casts, %d findings" % (total, len(called), found))
    print("functions: %d passed, %d failed" % (int(not found and not missed), int(bool(found or missed))))
    sys.exit(bool(found or missed))


if __name__ == "__main__":
    main()
