"""Run the operations of strategies.json and compare their answers.

An operation that the extension cannot do yet is left out.  If it would have changed
something, what follows in its strategy may differ for that reason alone: such differences
are counted apart and are no failures.  The number that must pass is asserted exactly.
"""

import json
import sys

import psycopg2

PASSES = 140

strategies = json.load(open(sys.argv[1]))
only = sys.argv[2] if len(sys.argv) > 2 else None
conn = psycopg2.connect("")
conn.autocommit = True
cur = conn.cursor()
cur.execute("CREATE EXTENSION IF NOT EXISTS dynamo_table")


class Unsupported(Exception):
    pass


def call(sql, *args):
    cur.execute("SELECT " + sql, [json.dumps(a) if isinstance(a, dict) else a for a in args])
    return [row[0] and json.loads(row[0]) for row in cur.fetchall()]


def only_with(request, *known):
    if set(request) - set(known) - {"ConsistentRead"}:
        raise Unsupported


def get_item(table, r):
    only_with(r, "Key")
    return {"Item": call("dyn_get(%s, %s)", table, r["Key"])[0]}


def put_item(table, r):
    only_with(r, "Item", "ReturnValues")
    return {"Attributes": call("dyn_put(%s, %s, return_values => %s)", table, r["Item"], r.get("ReturnValues"))[0]}


def delete_item(table, r):
    only_with(r, "Key", "ReturnValues")
    return {"Attributes": call("dyn_delete(%s, %s, return_values => %s)", table, r["Key"], r.get("ReturnValues"))[0]}


def query(table, r):
    only_with(r, "KeyConditionExpression", "ExpressionAttributeValues", "ExpressionAttributeNames", "ScanIndexForward", "Limit",
              "ExclusiveStartKey")
    items = call("dyn_query(%s, %s, vals => %s, names => %s, forward => %s, max_items => %s, start_key => %s)", table,
                 r["KeyConditionExpression"], r.get("ExpressionAttributeValues"), r.get("ExpressionAttributeNames"),
                 r.get("ScanIndexForward"), r.get("Limit"), r.get("ExclusiveStartKey"))
    return {"Items": items, "Count": len(items), "ScannedCount": len(items)}


OPERATIONS = {"GetItem": get_item, "PutItem": put_item, "DeleteItem": delete_item, "Query": query}
READS = {"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"}


def normal(value):
    """Sets in one order, so that they compare as sets."""
    if isinstance(value, dict):
        return {k: sorted(v) if k in ("SS", "NS", "BS") and isinstance(v, list) else normal(v) for k, v in value.items()}
    return [normal(v) for v in value] if isinstance(value, list) else value


def run(table, operation):
    """None, or what is different."""
    expect = operation["expect"]
    try:
        answer = OPERATIONS.get(operation["op"], lambda *_: only_with({"?": 0}))(table, operation["request"])
    except psycopg2.Error as e:
        cur.execute("SELECT dyn_error_name(%s)", (e.pgcode,))
        name = cur.fetchone()[0] or e.pgcode
        return None if expect.get("Error") == name else "error %s: %s" % (name, e)
    if "Error" in expect:
        return "no error, but %s expected" % expect["Error"]
    for member in ("Item", "Attributes", "Items", "Count", "ScannedCount"):
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
    passed = left_out = changed = failed = 0
    for n, strategy in enumerate(strategies):
        if only and strategy["id"] != only:
            continue
        table = create(n, strategy)
        diverged = False
        for i, operation in enumerate(strategy["operations"]):
            try:
                difference = run(table, operation)
            except Unsupported:
                left_out += 1
                diverged |= operation["op"] not in READS and "Error" not in operation["expect"]
                continue
            if difference is None:
                passed += 1
            elif diverged:
                changed += 1
            else:
                failed += 1
                print("not ok - %s operation %d (%s): %s" % (strategy["id"], i, operation.get("note", operation["op"]), difference))
    print("%d operations left out, %d differ after one that was left out" % (left_out, changed))
    if not only and passed != PASSES:
        print("not ok - %d operations pass, not %d" % (passed, PASSES))
        failed += 1
    print("conformance: %d passed, %d failed" % (passed, failed))
    sys.exit(failed != 0)


main()
