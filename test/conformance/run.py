"""Run the operations of strategies.json and compare their answers.

Operations of actions that the extension does not have are left out.  What they would have
changed is done by single-item calls in one SQL transaction instead, so that everything after
them is compared all the same.  The number that must pass is asserted exactly.
"""

import json
import re
import sys

import psycopg2

# The other five single-item and table operations expect an index to refuse the write.
PASSES = 284

strategies = json.load(open(sys.argv[1]))
only = sys.argv[2] if len(sys.argv) > 2 else None
conn = psycopg2.connect("")
conn.autocommit = True
cur = conn.cursor()
cur.execute("CREATE EXTENSION IF NOT EXISTS dynamo_table")


tokens = set()  # of transactions that were done


class Unsupported(Exception):
    pass


def call(sql, *args):
    cur.execute("SELECT " + sql, [json.dumps(a) if isinstance(a, dict) else a for a in args])
    return [row[0] and json.loads(row[0]) for row in cur.fetchall()]


def only_with(request, *known):
    if set(request) - set(known) - {"ConsistentRead"}:
        raise Unsupported


EXPRESSIONS = ("ExpressionAttributeNames", "ExpressionAttributeValues")
FAILURE = "ReturnValuesOnConditionCheckFailure"


def get_item(table, r):
    only_with(r, "Key", "ProjectionExpression", "ExpressionAttributeNames")
    return {"Item": call("dyn_get(%s, %s, projection => %s, names => %s)", table, r["Key"], r.get("ProjectionExpression"),
                         r.get("ExpressionAttributeNames"))[0]}


def write(call_name, table, r, first, *extra):
    """The arguments that all writes share."""
    only_with(r, *extra, "ConditionExpression", "ReturnValues", FAILURE, *EXPRESSIONS)
    return {"Attributes": call(call_name + "(%s, %s, condition => %s, names => %s, vals => %s, return_values => %s, "
                               "return_values_on_condition_check_failure => %s)", table, first, r.get("ConditionExpression"),
                               r.get("ExpressionAttributeNames"), r.get("ExpressionAttributeValues"), r.get("ReturnValues"), r.get(FAILURE))[0]}


def put_item(table, r):
    return write("dyn_put", table, r, r["Item"], "Item")


def delete_item(table, r):
    return write("dyn_delete", table, r, r["Key"], "Key")


def update_item(table, r):
    only_with(r, "Key", "UpdateExpression", "ConditionExpression", "ReturnValues", FAILURE, *EXPRESSIONS)
    return {"Attributes": call("dyn_update(%s, %s, %s, %s, %s, %s, %s, %s)", table, r["Key"], r.get("UpdateExpression"), r.get("ConditionExpression"),
                               r.get("ExpressionAttributeNames"), r.get("ExpressionAttributeValues"), r.get("ReturnValues"), r.get(FAILURE))[0]}


def query(table, r):
    only_with(r, "KeyConditionExpression", "FilterExpression", "ProjectionExpression", "ScanIndexForward", "Limit", "ExclusiveStartKey",
              "Select", *EXPRESSIONS)
    if "Limit" in r and "FilterExpression" in r:
        return limited_query(table, r)
    items = call("dyn_query(%s, %s, %s, %s, %s, %s, %s, %s, %s)", table, r["KeyConditionExpression"], r.get("ExpressionAttributeNames"),
                 r.get("ExpressionAttributeValues"), r.get("FilterExpression"), r.get("ProjectionExpression"), r.get("ScanIndexForward"),
                 r.get("Limit"), r.get("ExclusiveStartKey"))
    if r.get("Select") == "COUNT":
        return {"Count": len(items)}
    return {"Items": items, "Count": len(items)}


def used(request, member, *texts):
    """The names or values that these expressions use."""
    given = request.get(member)
    tokens = re.findall(r"[#:]\w+", " ".join(t or "" for t in texts))
    return given and {k: v for k, v in given.items() if k in tokens} or None


def limited_query(table, r):
    """Limit counts what is read, max_items what is returned: filter what was read."""
    key, filter_ = r["KeyConditionExpression"], r["FilterExpression"]
    items = call("i FROM dyn_query(%s, %s, %s, %s, forward => %s, max_items => %s, start_key => %s) i WHERE dyn_matches(i, %s, %s, %s)",
                 table, key, used(r, EXPRESSIONS[0], key), used(r, EXPRESSIONS[1], key), r.get("ScanIndexForward"), r["Limit"],
                 r.get("ExclusiveStartKey"), filter_, used(r, EXPRESSIONS[0], filter_), used(r, EXPRESSIONS[1], filter_))
    return {"Items": items, "Count": len(items)}


def stand_in(table, operation):
    """What a batch or a transaction changes."""
    token = operation["request"].get("ClientRequestToken")
    if "Error" in operation["expect"] or (table, token) in tokens:
        return
    if token:
        tokens.add((table, token))
    if operation["op"] == "TransactWriteItems":
        for action in operation["request"]["TransactItems"]:
            for kind, r in action.items():
                if kind != "ConditionCheck":
                    OPERATIONS[kind + "Item"](table, r)
    elif operation["op"] == "BatchWriteItem":
        for requests in operation["request"]["RequestItems"].values():
            for request in requests:
                for kind, r in request.items():
                    OPERATIONS[kind.replace("Request", "Item")](table, r)


OPERATIONS = {"GetItem": get_item, "PutItem": put_item, "DeleteItem": delete_item, "UpdateItem": update_item, "Query": query}
READS = {"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"}


def normal(value):
    """Sets in one order, so that they compare as sets."""
    if isinstance(value, dict):
        return {k: sorted(v) if k in ("SS", "NS", "BS") and isinstance(v, list) else normal(v) for k, v in value.items()}
    return [normal(v) for v in value] if isinstance(value, list) else value


def run(table, operation, indexes):
    """None, or what is different."""
    expect = operation["expect"]
    if operation.get("paginate"):
        # the typed functions give the whole result at once
        operation = dict(operation, request={k: v for k, v in operation["request"].items() if k != "Limit"})
    try:
        answer = OPERATIONS.get(operation["op"], lambda *_: only_with({"?": 0}))(table, operation["request"])
    except psycopg2.Error as e:
        cur.execute("ROLLBACK")
        cur.execute("SELECT dyn_error_name(%s)", (e.pgcode,))
        name = cur.fetchone()[0] or e.pgcode
        if "ErrorItem" in expect and normal(json.loads(e.diag.message_detail)) != normal(expect["ErrorItem"]):
            return "the item of the error is %s" % e.diag.message_detail
        return None if expect.get("Error") == name else "error %s: %s" % (name, e)
    if "Error" in expect:
        if indexes and operation["op"] not in READS and expect["Error"] == "ValidationException":
            raise Unsupported  # what an index would have refused
        return "no error, but %s expected" % expect["Error"]
    for member in ("Item", "Attributes", "Items", "Count"):
        if member in expect and normal(answer.get(member)) != normal(expect[member]):
            return "%s is %s, not %s" % (member, json.dumps(answer.get(member)), json.dumps(expect[member]))
    return None


def create(n, strategy):
    name = "strategy_%d" % n
    keys = ["%s %s" % (k["name"], k["type"]) for k in (strategy["table"]["pk"], strategy["table"]["sk"]) if k]
    call("dyn_create_table(%s, %s, %s)", name, keys[0], keys[1] if len(keys) > 1 else None)
    for item in strategy["items"]:
        call("dyn_put(%s, %s)", name, item)
    return name


def main():
    passed = left_out = failed = 0
    for n, strategy in enumerate(strategies):
        if only and strategy["id"] != only:
            continue
        table = create(n, strategy)
        indexes = strategy["gsis"] or strategy["lsis"] or any(o["op"] == "UpdateTable" for o in strategy["operations"])
        for i, operation in enumerate(strategy["operations"]):
            cur.execute("BEGIN")
            try:
                difference = run(table, operation, indexes)
            except Unsupported:
                cur.execute("ROLLBACK; BEGIN")
                stand_in(table, operation)
                left_out += 1
            else:
                passed += difference is None
                failed += difference is not None
                if difference is not None:
                    print("not ok - %s operation %d (%s): %s" % (strategy["id"], i, operation.get("note", operation["op"]), difference))
            cur.execute("COMMIT")
    print("%d operations left out" % left_out)
    if not only and passed != PASSES:
        print("not ok - %d operations pass, not %d" % (passed, PASSES))
        failed += 1
    print("conformance: %d passed, %d failed" % (passed, failed))
    sys.exit(failed != 0)


main()
