"""Parameters through psycopg2, which writes them into the statement as literals."""

import decimal
import json
import os
import sys

import psycopg2
from psycopg2.extras import Json

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../examples/python"))
from items import from_text, to_text

spec = json.load(open(sys.argv[1]))
conn = psycopg2.connect("")
conn.autocommit = True
failures = 0


def report(ok, what, got=""):
    global failures
    print("%s - psycopg: %s%s" % ("ok" if ok else "not ok", what, "" if ok else ": %s" % (got,)))
    failures += not ok


def run(what, parameter, expression, expected):
    with conn.cursor() as cur:
        try:
            cur.execute("INSERT INTO params VALUES (%s) RETURNING item" % expression, (parameter,))
            got = cur.fetchone()[0]
            report(got == expected, what, got)
        except psycopg2.Error as e:
            report(expected == "hint" and e.diag.message_hint, what, e)


for type_, text, expression, expected in spec["cases"]:
    # psycopg2 sends no types: a cast in the statement is what its users write
    literal = "%s" if type_ == "unknown" else "%%s::%s" % type_
    run("%s as %s %s" % (spec[text], type_, expression), spec[text], expression.replace("$1", literal),
        spec.get(expected, expected))
run("Json(plain dict)", Json({"pk": "a", "n": 5.0}), "%s::jsonb", spec["item"])
run("Json(DynamoDB JSON)", Json(json.loads(spec["typed"])), "%s", spec["item"])
run("Json(DynamoDB JSON) as jsonb", Json(json.loads(spec["typed"])), "%s::jsonb", "hint")


# Dicts by examples/python/items.py: what has no type in an item is refused, and nothing arrives as something else.
item = {"s": "a\0\U0001f642", "n": 10 ** 38 - 1, "d": decimal.Decimal("-1.5"), "b": b"\0\xff", "t": True, "z": None, "l": [None, [], {}],
        "m": {"x": {"y": ""}}, "ss": {"a", ""}, "ns": frozenset({1, decimal.Decimal("2.5")}), "bs": {b"", b"x"}}
with conn.cursor() as cur:
    cur.execute("INSERT INTO params VALUES (%s) RETURNING item", (to_text(item),))
    got = from_text(cur.fetchone()[0])
    report(got == item, "a dict", got)
for value in (set(), {"a", 1}, {"1", 1}, {b"YQ==", "YQ=="}, {True}, {None}, (1, 2), object()):
    try:
        report(False, "%r is refused" % (value,), to_text({"x": value}))
    except TypeError:
        report(True, "%s is refused" % type(value).__name__)


def run_statement(statement, parameters, expected):
    with conn.cursor() as cur:
        cur.execute("SELECT dyn_execute(%s, %s)", (statement, parameters))
        got = "".join(item for (item,) in cur.fetchall())
        report(got == expected, "%s %s" % (statement, parameters), got)


for statement, parameters, expected in spec["statements"]:
    run_statement(statement, parameters, expected)
run_statement("SELECT * FROM orders WHERE id = ?", json.dumps([{"S": "a"}]), "")
run_statement("SELECT * FROM orders WHERE id = ?", Json([{"S": "a"}]), "")
sys.exit(failures != 0)
