"""Parameters through psycopg2, which writes them into the statement as literals."""

import json
import sys

import psycopg2
from psycopg2.extras import Json

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
