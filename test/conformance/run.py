"""Run the operations of strategies.json and compare their answers.

Operations of actions that the extension does not have are left out.  What they would have
changed is done by single-item calls in one SQL transaction instead, so that everything after
them is compared all the same.  The number that must pass is asserted exactly.
"""

import json
import sys

import psycopg2

strategies = json.load(open(sys.argv[1]))
only = sys.argv[2] if len(sys.argv) > 2 else None
conn = psycopg2.connect("")
conn.autocommit = True
cur = conn.cursor()
cur.execute("CREATE EXTENSION IF NOT EXISTS dynamo_table")


PASSES = 381

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


def update_table(table, r):
    only_with(r, "AttributeDefinitions", "GlobalSecondaryIndexUpdates")
    types = {a["AttributeName"]: a["AttributeType"] for a in r["AttributeDefinitions"]}
    cur.execute("COMMIT")
    for update in r["GlobalSecondaryIndexUpdates"]:
        index = update["Create"]
        keys = {k["KeyType"]: "%s %s" % (k["AttributeName"], types[k["AttributeName"]]) for k in index["KeySchema"]}
        cur.execute("CALL dyn_create_index(%s, %s, %s, sort_key => %s, projection => %s, non_key_attributes => %s)",
                    (table, index["IndexName"], keys["HASH"], keys.get("RANGE"), index["Projection"]["ProjectionType"],
                     index["Projection"].get("NonKeyAttributes")))
    cur.execute("BEGIN")
    return {}


READ = ("ProjectionExpression", "FilterExpression", "ExpressionAttributeNames", "ExpressionAttributeValues", "IndexName", "Limit",
        "ExclusiveStartKey", "Select", "ConsistentRead")


def page(function, table, r, **arguments):
    """One page, word for word."""
    arguments.update(projection=r.get("ProjectionExpression"), filter=r.get("FilterExpression"), names=r.get("ExpressionAttributeNames"),
                     vals=r.get("ExpressionAttributeValues"), index=r.get("IndexName"), page_size=r.get("Limit"),
                     start_key=r.get("ExclusiveStartKey"), select_mode=r.get("Select"), consistent_read=r.get("ConsistentRead", False))
    cur.execute("SELECT items::text[], item_count, scanned_count, last_evaluated_key FROM %s(%%s, %s)"
                % (function, ", ".join("%s => %%s" % a for a in arguments)),
                [table] + [json.dumps(a) if isinstance(a, dict) else a for a in arguments.values()])
    items, count, scanned, key = cur.fetchone()
    answer = {"Count": count, "ScannedCount": scanned}
    if items is not None:
        answer["Items"] = [json.loads(i) for i in items]
    if key is not None:
        answer["LastEvaluatedKey"] = json.loads(key)
    return answer


def query(table, r):
    only_with(r, *READ, "KeyConditionExpression", "ScanIndexForward")
    return page("dyn_query_page", table, r, key_condition=r["KeyConditionExpression"], forward=r.get("ScanIndexForward"))


def scan(table, r):
    only_with(r, *READ, "Segment", "TotalSegments")
    return page("dyn_scan_page", table, r, segment=r.get("Segment"), total_segments=r.get("TotalSegments"))


def add(sum_, answer):
    """Put an answer behind what was answered before."""
    for member in ("Items", "Count", "ScannedCount"):
        if member in answer:
            sum_[member] = sum_[member] + answer[member] if member in sum_ else answer[member]


def paginate(op, table, r):
    """All pages, of which the last one has no key."""
    sum_ = {}
    while True:
        answer = OPERATIONS[op](table, r)
        add(sum_, answer)
        if "LastEvaluatedKey" not in answer:
            return sum_
        r = dict(r, ExclusiveStartKey=answer["LastEvaluatedKey"])


def answer_of(table, operation):
    op, r = operation["op"], operation["request"]
    if op not in OPERATIONS:
        raise Unsupported
    read = (lambda r: paginate(op, table, r)) if operation.get("paginate") else (lambda r: OPERATIONS[op](table, r))
    segments = operation.get("all_segments")
    if not segments:
        return read(r)
    sum_ = {}
    for segment in range(segments):
        add(sum_, read(dict(r, Segment=segment, TotalSegments=segments)))
    return sum_


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


OPERATIONS = {"GetItem": get_item, "PutItem": put_item, "DeleteItem": delete_item, "UpdateItem": update_item, "Query": query,
              "Scan": scan, "UpdateTable": update_table}
def normal(value):
    """Sets in one order, so that they compare as sets."""
    if isinstance(value, dict):
        return {k: sorted(v) if k in ("SS", "NS", "BS") and isinstance(v, list) else normal(v) for k, v in value.items()}
    return [normal(v) for v in value] if isinstance(value, list) else value


MEMBERS = ("Item", "Attributes", "Items", "Count", "ScannedCount", "LastEvaluatedKey")


def run(table, operation):
    """None, or what is different."""
    expect = operation["expect"]
    try:
        answer = answer_of(table, operation)
    except psycopg2.Error as e:
        cur.execute("ROLLBACK")
        cur.execute("SELECT dyn_error_name(%s)", (e.pgcode,))
        name = cur.fetchone()[0] or e.pgcode
        if "ErrorItem" in expect and normal(json.loads(e.diag.message_detail)) != normal(expect["ErrorItem"]):
            return "the item of the error is %s" % e.diag.message_detail
        return None if expect.get("Error") == name else "error %s: %s" % (name, e)
    if "Error" in expect:
        return "no error, but %s expected" % expect["Error"]
    if operation["request"].get("Select") == "COUNT" and "Items" in answer:
        return "there are items"
    if operation.get("all_segments"):
        # none of these has two equal items
        texts = [json.dumps(i, sort_keys=True) for i in answer.get("Items", [])]
        if len(texts) != len(set(texts)):
            return "an item comes twice"
    for member in MEMBERS:
        if member not in expect:
            continue
        got, want = normal(answer.get(member)), normal(expect[member])
        if member == "Items" and expect.get("unordered"):
            got, want = [sorted(json.dumps(i, sort_keys=True) for i in items) for items in (got, want)]
        if got != want:
            return "%s is %s, not %s" % (member, json.dumps(got), json.dumps(want))
    return None


def key_text(key):
    return "%s %s" % (key["name"], key["type"])


def projection(index):
    result = {"projection": index["projection"]["ProjectionType"]}
    if "NonKeyAttributes" in index["projection"]:
        result["non_key_attributes"] = index["projection"]["NonKeyAttributes"]
    return result


def global_index(index):
    definition = dict(projection(index), partition_key=key_text(index["pk"]))
    if index["sk"]:
        definition["sort_key"] = key_text(index["sk"])
    return definition


def create(n, strategy):
    name = "strategy_%d" % n
    keys = strategy["table"]
    call("dyn_create_table(%s, %s, %s, global_indexes => %s, local_indexes => %s)", name, key_text(keys["pk"]), keys["sk"] and key_text(keys["sk"]),
         {i["name"]: global_index(i) for i in strategy["gsis"]} or None,
         {i["name"]: dict(projection(i), sort_key=key_text(i["sk"])) for i in strategy["lsis"]} or None)
    for item in strategy["items"]:
        call("dyn_put(%s, %s)", name, item)
    return name


def main():
    passed = left_out = failed = 0
    for n, strategy in enumerate(strategies):
        if only and strategy["id"] != only:
            continue
        table = create(n, strategy)
        for i, operation in enumerate(strategy["operations"]):
            cur.execute("BEGIN")
            try:
                difference = run(table, operation)
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
