"""Run the operations of partiql.json by dyn_request() and compare their answers: by the direct store and
by the SPI store, each in a database of its own; with $DISTRIBUTED all tables are distributed, and in one
database (see ../distributed.py).  The operations of a model follow each other: what one
writes the next one reads.

What an operation expects:
    Items                  the items, of all pages with "paginate"; in any order with "unordered"
    NextToken              "present", or null where there must be none
    Item                   of GetItem; null where there must be none
    Responses              of a batch or a transaction; TableName and Error.Message are compared where they are given
    Error, Message         the exception and its text; "{at:x#2}" is the line, column and length of the second x in the statement
    CancellationReasons, CancellationMessages
                           of a cancelled transaction: codes, and texts, of which null is none
"$TABLE" is the table's name, "$TOKEN:name" the NextToken of the operation with "save_token": name.
Numbers are compared as text, since answers have them in one form only; sets have no order.

The number of operations is asserted exactly.  Where an operation says nothing of the text of an error or
of the order of items, both stores must still say the same.
"""

import json
import os
import re
import sys

import psycopg2

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
import distributed

OPERATIONS = 243  # of the file, each run by both stores
PAGES = 1000  # no operation has more: one that goes on does not end
MEMBERS = {"ExecuteStatement": {"Items", "NextToken"}, "BatchExecuteStatement": {"Responses"}, "ExecuteTransaction": {"Responses"}, "GetItem": {"Item"}}
EXPECT = {"Items", "unordered", "NextToken", "Item", "Responses", "Error", "Message", "CancellationReasons", "CancellationMessages"}


class Different(Exception):
    """From what is expected."""


class Refused(Exception):
    """By dyn_request()."""

    def __init__(self, name, message, detail):
        super().__init__("%s: %s (%s)" % (name, message, detail))
        self.name, self.message, self.detail = name, message, detail


def text_of(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def connect(database):
    connection = psycopg2.connect(dbname=database)
    connection.autocommit = True
    return connection.cursor()


# --- requests

def send(cur, operation, request):
    try:
        cur.execute("SELECT dyn_request(%s, %s)::text", (operation, json.dumps(request, ensure_ascii=False)))
        return json.loads(cur.fetchone()[0])
    except psycopg2.Error as e:
        cur.execute("SELECT dyn_error_name(%s)", (e.pgcode,))
        raise Refused(cur.fetchone()[0] or e.pgcode, e.diag.message_primary, e.diag.message_detail)


def filled(value, table, tokens):
    """With the names of the table and the tokens in place."""
    if isinstance(value, dict):
        return {filled(k, table, tokens): filled(v, table, tokens) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(v, table, tokens) for v in value]
    if not isinstance(value, str):
        return value
    if value.startswith("$TOKEN:"):
        if value[7:] not in tokens:
            raise Different("there is no token %s, since an operation before did not answer one" % value[7:])
        return tokens[value[7:]]
    return value.replace("$TABLE", table)


def all_pages(cur, operation, request):
    """The first page with the items of all of them."""
    items = []
    for _ in range(PAGES):
        answer = send(cur, operation, request)
        page = answer.get("Items", [])
        if len(page) > request.get("Limit", len(page)):
            raise Different("a page has %d items" % len(page))
        items += page
        if "NextToken" not in answer:
            return {"Items": items}
        request = dict(request, NextToken=answer["NextToken"])
    raise Different("the pages do not end")


# --- comparisons

def at(statement, what):
    """LINE:COLUMN:LENGTH of a part of the statement; "x#2" is the second x."""
    found = re.fullmatch(r"(.+)#([0-9]+)", what, re.S)
    word, times = (found[1], int(found[2])) if found else (what, 1)
    place = -1
    for _ in range(times):
        place = statement.index(word, place + 1)
    before = statement[:place]
    return "%d:%d:%d" % (before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1, len(word))


def located(message, statement):
    return re.sub(r"\{at:([^}]+)\}", lambda found: at(statement, found[1]), message)


def normal(value):
    """Sets in one order, so that they compare as sets.  An item's attribute may have the name of a type: that is no set."""
    if isinstance(value, dict):
        if len(value) == 1:
            (kind, members), = value.items()
            if kind in ("SS", "NS", "BS") and isinstance(members, list):
                return {kind: sorted(members)}
        return {k: normal(v) for k, v in value.items()}
    return [normal(v) for v in value] if isinstance(value, list) else value


def same(what, got, want):
    if got != want:
        raise Different("%s is %s, not %s" % (what, text_of(got), text_of(want)))


def compare_items(got, want, unordered):
    if not isinstance(got, list):
        raise Different("Items is %s" % text_of(got))
    got, want = normal(got), normal(want)
    if unordered:
        got, want = sorted(got, key=text_of), sorted(want, key=text_of)
    same("Items", got, want)


def compare_token(answer, want):
    if want is None:
        if "NextToken" in answer:
            raise Different("there is a NextToken")
    elif not isinstance(answer.get("NextToken"), str) or not 1 <= len(answer["NextToken"]) <= 32768:
        raise Different("NextToken is %s" % text_of(answer.get("NextToken")))


def compare_item(what, answer, want):
    """An item, or that there is none."""
    if want is None:
        if "Item" in answer:
            raise Different("%s is there: %s" % (what, text_of(answer["Item"])))
    else:
        same(what, normal(answer.get("Item")), normal(want))


def compare_response(what, got, want, statement):
    if set(got) - {"Item", "TableName", "Error"}:
        raise Different("%s has %s" % (what, text_of(got)))
    compare_item("Item of %s" % what, got, want.get("Item"))
    if "TableName" in want:
        same("TableName of %s" % what, got.get("TableName"), want["TableName"])
    if ("Error" in got) != ("Error" in want):
        raise Different("%s is %s" % (what, text_of(got)))
    if "Error" in want:
        same("the code of %s" % what, got["Error"].get("Code"), want["Error"]["Code"])
        if "Message" in want["Error"]:
            same("the message of %s" % what, got["Error"].get("Message"), located(want["Error"]["Message"], statement))
        elif not isinstance(got["Error"].get("Message"), str):
            raise Different("%s has no message" % what)


def compare_responses(got, want, statements):
    if not isinstance(got, list) or len(got) != len(want):
        raise Different("Responses is %s" % text_of(got))
    for i, (one, other) in enumerate(zip(got, want)):
        compare_response("response %d" % i, one, other, statements[i])


def statements_of(request):
    lists = request.get("Statements", request.get("TransactStatements"))
    return [request.get("Statement", "")] if lists is None else [s.get("Statement", "") for s in lists]


def compare_answer(operation, request, answer, expect):
    if "Error" in expect:
        raise Different("there is no error, but %s" % text_of(answer))
    if set(answer) - MEMBERS[operation]:
        raise Different("the answer has %s" % ", ".join(sorted(set(answer) - MEMBERS[operation])))
    if "Items" in expect:
        compare_items(answer.get("Items"), expect["Items"], expect.get("unordered"))
    if "NextToken" in expect:
        compare_token(answer, expect["NextToken"])
    if "Item" in expect:
        compare_item("Item", answer, expect["Item"])
    if "Responses" in expect:
        compare_responses(answer.get("Responses"), expect["Responses"], statements_of(request))


def compare_reasons(error, expect):
    """Those of a cancelled transaction, which its message names as well."""
    reasons = json.loads(error.detail)["CancellationReasons"]
    codes = [r["Code"] for r in reasons]
    same("CancellationReasons", codes, expect["CancellationReasons"])
    if "CancellationMessages" in expect:
        same("the messages of CancellationReasons", [r.get("Message") for r in reasons], expect["CancellationMessages"])
    if not error.message.endswith("[%s]" % ", ".join(codes)):
        raise Different("the message is \"%s\"" % error.message)


def compare_error(request, error, expect):
    if error.name != expect.get("Error"):
        raise Different(str(error))
    if "Message" in expect:
        same("the message", error.message, located(expect["Message"], "".join(statements_of(request)[:1])))
    if "CancellationReasons" in expect:
        compare_reasons(error, expect)


# --- models

SHORTEST = 3  # name of an index that CreateTable takes


def with_long_names(model):
    """The model with its indexes' names as long as they have to be."""
    text = json.dumps(model)
    for index in model["gsis"] + model["lsis"]:
        if len(index["name"]) < SHORTEST:
            longer = index["name"].ljust(SHORTEST, "_")
            text = text.replace('"name": "%s"' % index["name"], '"name": "%s"' % longer).replace('$TABLE\\".\\"%s\\"' % index["name"], '$TABLE\\".\\"%s\\"'
                % longer)
    return json.loads(text)


def attribute_definitions(keys):
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in {k["name"]: k["type"] for k in keys if k}.items()]


def key_schema(pk, sk):
    return [{"AttributeName": k["name"], "KeyType": t} for k, t in ((pk, "HASH"), (sk, "RANGE")) if k]


def create_table(cur, ddl, model):
    pk, sk = model["table"]["pk"], model["table"]["sk"]
    keys = [pk, sk] + [k for i in model["gsis"] for k in (i["pk"], i["sk"])] + [i["sk"] for i in model["lsis"]]
    request = {"TableName": model["id"], "BillingMode": "PAY_PER_REQUEST", "KeySchema": key_schema(pk, sk), "AttributeDefinitions": attribute_definitions(keys)}
    for member, indexes in (("GlobalSecondaryIndexes", model["gsis"]), ("LocalSecondaryIndexes", model["lsis"])):
        if indexes:
            request[member] = [{"IndexName": i["name"], "KeySchema": key_schema(i.get("pk", pk), i["sk"]), "Projection": i["projection"]} for i in indexes]
    send(ddl, "CreateTable", request)
    for item in model["items"]:
        send(cur, "PutItem", {"TableName": model["id"], "Item": item})


def run_operation(cur, store, table, operation, tokens, transcript):
    """Raises Different unless the answer is what is expected."""
    op = operation["op"]
    request = filled(operation["request"], table, tokens)
    if "ClientRequestToken" in request:
        # the other store's, which may be in the same database, are remembered
        request["ClientRequestToken"] += store
    expect = filled(operation["expect"], table, {})
    if set(expect) - EXPECT:
        raise Different("it expects %s, which nothing compares" % ", ".join(set(expect) - EXPECT))
    if op == "GetItem":
        request = dict(request, TableName=table)
    try:
        answer = all_pages(cur, op, request) if operation.get("paginate") else send(cur, op, request)
    except Refused as e:
        transcript.append(str(e))
        compare_error(request, e, expect)
        return
    transcript.append(text_of(dict(answer, NextToken="present") if "NextToken" in answer else answer))
    compare_answer(op, request, answer, expect)
    if "save_token" in operation:
        compare_token(answer, "present")
        tokens[operation["save_token"]] = answer["NextToken"]


def run_model(cur, ddl, store, model, transcript):
    """How many operations pass and fail."""
    passed = failed = 0
    tokens = {}
    try:
        create_table(cur, ddl, model)
    except Refused as e:
        print("not ok - %s, %s store: the table is not made: %s" % (model["id"], store, e))
        return 0, len(model["operations"])
    cur.execute("SELECT store FROM dyn_explain(%s)", (model["id"],))
    if cur.fetchone() != (store,) and not distributed.NODE:
        print("not ok - %s is read by another store than %s" % (model["id"], store))
        failed += 1
    for number, operation in enumerate(model["operations"]):
        answers = len(transcript)
        try:
            run_operation(cur, store, model["id"], operation, tokens, transcript)
            passed += 1
        except Different as e:
            failed += 1
            print("not ok - %s, operation %d (%s; %s), %s store: %s\n    %s\n    %s" %
                  (model["id"], number, ", ".join(operation["rows"]), operation["note"], store, operation["op"], text_of(operation["request"])[:1000], e))
        if len(transcript) == answers:
            transcript.append(None)
    return passed, failed


def run_store(admin, store, models):
    database = "postgres"
    if distributed.NODE is None:
        database = "partiql_" + store
        admin.execute("CREATE DATABASE " + database)
    cur = connect(database)
    ddl = distributed.maker(cur)
    ddl.execute("CREATE EXTENSION IF NOT EXISTS dynamo_table")
    cur.execute("SELECT set_config('dynamo_table.direct_store', %s, false)", ("on" if store == "direct" else "off",))
    transcript = []
    results = [run_model(cur, ddl, store, model, transcript) for model in models]
    for model in models:
        ddl.execute("SELECT dyn_drop_table(table_name) FROM dyn_tables WHERE table_name = %s", (model["id"],))
    cur.connection.close()
    return sum(r[0] for r in results), sum(r[1] for r in results), transcript


def main(only):
    models = [with_long_names(m) for m in json.load(open(os.path.join(FOLDER, "partiql.json"), encoding="utf-8")) if only in (None, m["id"])]
    count = sum(len(m["operations"]) for m in models)
    admin = connect("postgres")
    passed = failed = 0
    transcripts = []
    for store in ("direct", "sql"):
        some_passed, some_failed, transcript = run_store(admin, store, models)
        passed, failed = passed + some_passed, failed + some_failed
        transcripts.append(transcript)
        if len(transcript) != (count if only else OPERATIONS):
            print("not ok - the %s store answered %d operations, not %d" % (store, len(transcript), count if only else OPERATIONS))
            failed += 1
    for one, other in zip(*transcripts):
        if one != other:
            print("not ok - the direct store says %s\n    the SPI store %s" % (one, other))
            failed += 1
    if not models or not only and passed + failed < 2 * OPERATIONS:
        print("not ok - %d operations are too few" % count)
        failed += 1
    print("partiql: %d passed, %d failed" % (passed, failed))
    return failed == 0


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1] if len(sys.argv) > 1 else None))
