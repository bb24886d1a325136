"""Send the requests of the JSON files, and compare the words of the errors: by the direct store and by
the SPI store.  A file looks so:

    {"tables": [CreateTable requests],
     "items": [{"TableName": "t", "Item": {...}}],
     "setup": ["SQL", ...],
     "cases": [{"row": "a row of rows.txt", "operation": "PutItem", "request": {...},
                "error": "ValidationException", "message": "...", "detail": "..."}]}

A case has "request", or "text": the request's JSON as it stands there.  It expects "error" with the whole
"message", and with the whole "detail" where that is given (a detail that is JSON may be an object); or
"answer", the whole answer; or "has", some members of the answer.  "before" has SQL that precedes the
request, "role" the role that sends it and "settings" the settings that are in force, both also of a file.
In each string "<<ab*3>>" stands for "ababab".

A case whose words have a row in rows.txt names it; another one has a "note" instead.  Each row has
a case, which is looked at where all files are run.
"""

import glob
import json
import os
import re
import sys

import psycopg2
from psycopg2 import sql

FOLDER = os.path.dirname(os.path.abspath(__file__))
CASE = {"row", "note", "operation", "request", "text", "error", "message", "detail", "answer", "has", "before", "role", "settings"}
FILE = {"tables", "items", "setup", "cases", "role", "settings"}


class Bad(Exception):
    """Of a file, not of an answer."""


def rows():
    lines = open(os.path.join(FOLDER, "rows.txt"), encoding="utf-8").read().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def connect(database):
    connection = psycopg2.connect(dbname=database)
    connection.autocommit = True
    return connection.cursor()


def send(cur, operation, text):
    cur.execute("SELECT dyn_request(%s, %s)::text", (operation, text))
    return json.loads(cur.fetchone()[0])


def prepare(cur, file):
    cur.execute("CREATE EXTENSION dynamo_table")
    for table in file.get("tables", []):
        send(cur, "CreateTable", json.dumps(table))
    for item in file.get("items", []):
        send(cur, "PutItem", json.dumps(item))
    for statement in file.get("setup", []):
        cur.execute(statement)


def expanded(value):
    """With the repetitions in its strings written out."""
    if isinstance(value, dict):
        return {expanded(name): expanded(member) for name, member in value.items()}
    if isinstance(value, list):
        return [expanded(element) for element in value]
    if isinstance(value, str):
        return re.sub(r"<<(.+?)\*(\d+)>>", lambda found: found[1] * int(found[2]), value)
    return value


def text_of(case):
    return case["text"] if "text" in case else json.dumps(case["request"], ensure_ascii=False)


def enter(cur, direct, file, case):
    """Whatever the case is to find, until its transaction ends."""
    for statement in case.get("before", []):
        cur.execute(statement)
    settings = dict(file.get("settings", {}), **case.get("settings", {}))
    for name, value in dict(settings, **{"dynamo_table.direct_store": direct}).items():
        cur.execute("SELECT set_config(%s, %s, true)", (name, value))
    role = case.get("role", file.get("role"))
    if role is not None:
        cur.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))


def differences(case, got):
    """Of an error, by member."""
    for member in ("error", "message", "detail"):
        want = case.get(member)
        if member == "detail" and isinstance(want, dict) and got[member] is not None:
            try:
                got[member] = json.loads(got[member])
            except ValueError:
                pass
        if member in case and got[member] != want:
            yield "%s\n    is   %s\n    not  %s" % (member, json.dumps(got[member], ensure_ascii=False), json.dumps(want, ensure_ascii=False))


def has(answer, want):
    """Whether all that is wanted is in the answer."""
    if isinstance(want, dict):
        return isinstance(answer, dict) and all(k in answer and has(answer[k], v) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(answer, list) and len(answer) == len(want) and all(map(has, answer, want))
    return answer == want


def compared(case, answer):
    """None, or how an answer differs."""
    want = case.get("answer", case.get("has"))
    if want is not None and (answer == want if "answer" in case else has(answer, want)):
        return None
    wanted = json.dumps(want, ensure_ascii=False) if want is not None else "%s: %s" % (case["error"], case["message"])
    return "the answer\n    is   %s\n    not  %s" % (json.dumps(answer, ensure_ascii=False), wanted)


def run(cur, direct, file, case):
    """None, or what is different."""
    cur.execute("BEGIN")
    try:
        enter(cur, direct, file, case)
        try:
            answer = send(cur, case["operation"], text_of(case))
        except psycopg2.Error as e:
            error = e
        else:
            return compared(case, answer)
        cur.execute("ROLLBACK")
        cur.execute("SELECT dyn_error_name(%s)", (error.pgcode,))
        got = {"error": cur.fetchone()[0] or error.pgcode, "message": error.diag.message_primary, "detail": error.diag.message_detail}
        if "error" not in case:
            return "%s: %s\n    (%s)" % (got["error"], got["message"], got["detail"])
        return "\n    ".join(differences(case, got)) or None
    finally:
        cur.execute("ROLLBACK")


def check_case(case, known):
    if set(case) - CASE:
        raise Bad("a case has %s" % ", ".join(set(case) - CASE))
    if ("row" in case) == ("note" in case) or ("request" in case) == ("text" in case):
        raise Bad("a case has a row or a note, and a request or a text: %s" % json.dumps(case))
    if sum(k in case for k in ("error", "answer", "has")) != 1 or ("error" in case) != ("message" in case):
        raise Bad("a case has an error and its message, or an answer: %s" % json.dumps(case))
    if "row" in case and case["row"] not in known:
        raise Bad("rows.txt has no row \"%s\"" % case["row"])


def load(path, known):
    file = expanded(json.load(open(path, encoding="utf-8")))
    if set(file) - FILE:
        raise Bad("the file has %s" % ", ".join(set(file) - FILE))
    if not file.get("cases"):
        raise Bad("there are no cases")
    for case in file["cases"]:
        check_case(case, known)
    return file


def run_file(admin, name, file):
    """How many cases pass and fail; in a database of their own."""
    passed = failed = 0
    admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    cur = connect(name)
    prepare(cur, file)
    for number, case in enumerate(file["cases"], 1):
        for direct in ("on", "off"):
            difference = run(cur, direct, file, case)
            passed += difference is None
            failed += difference is not None
            if difference is not None:
                print("not ok - %s, case %d, %s store: %s of \"%s\"\n    %s\n    %s" %
                      (name, number, "direct" if direct == "on" else "SPI", case["operation"], case.get("row", case.get("note")), text_of(case)[:1000],
                          difference))
    cur.connection.close()
    return passed, failed


def main(paths):
    known = rows()
    covered = set()
    passed = failed = 0
    admin = connect("postgres")
    for path in paths or sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
        name = os.path.splitext(os.path.basename(path))[0]
        try:
            file = load(path, known)
            covered |= {case["row"] for case in file["cases"] if "row" in case}
            counts = run_file(admin, name, file)
        except (Bad, OSError, ValueError, psycopg2.Error) as e:
            print("not ok - %s: %s" % (name, e))
            counts = 0, 1
        passed += counts[0]
        failed += counts[1]
    for row in known:
        if not paths and row not in covered:
            print("not ok - no case has the row \"%s\"" % row)
            failed += 1
    print("messages: %d passed, %d failed" % (passed, failed))
    return failed == 0


sys.exit(not main(sys.argv[1:]))
