"""Run the operations of strategies.json and compare their answers: once by the typed SQL functions, once
word for word by dyn_request(), and both by the direct store and by the SPI store.  What one store
answers the other must answer too, to the letter and to the order, errors included.

Operations of actions that the extension does not have are left out.  The number that must pass is
asserted exactly.  With $DISTRIBUTED all tables are distributed: see distributed.py.
"""

import json
import sys
import time

import psycopg2

import distributed

strategies = json.load(open(sys.argv[1]))
only = sys.argv[2] if len(sys.argv) > 2 else None
cur = None
ddl = None  # where tables are made: the same, unless they are distributed


def connect():
    """By the store that is meant, for writes as well."""
    global cur, ddl
    conn = psycopg2.connect("")
    conn.autocommit = True
    cur = conn.cursor()
    ddl = distributed.maker(cur)
    ddl.execute("SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS dynamo_table; RESET client_min_messages")
    cur.execute("SET dynamo_table.direct_store = %s", (direct,))


PASSES = 443

by_request = False  # by dyn_request()
direct = True  # by the direct store


class Unsupported(Exception):
    pass


def call(sql, *args, on=None):
    on = on or cur
    on.execute("SELECT " + sql, [json.dumps(a) if isinstance(a, dict) else a for a in args])
    return [row[0] and json.loads(row[0]) for row in on.fetchall()]


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
        ddl.execute("CALL dyn_create_index(%s, %s, %s, sort_key => %s, projection => %s, non_key_attributes => %s, distribution => %s)",
                    (table, index["IndexName"], keys["HASH"], keys.get("RANGE"), index["Projection"]["ProjectionType"],
                     index["Projection"].get("NonKeyAttributes"), distributed.INDEXES))
    cur.execute("BEGIN")
    return {}


READ = ("ProjectionExpression", "FilterExpression", "ExpressionAttributeNames", "ExpressionAttributeValues", "IndexName", "Limit",
        "ExclusiveStartKey", "Select", "ConsistentRead")


def page(function, table, r, **arguments):
    """One page, word for word."""
    arguments.update(projection=r.get("ProjectionExpression"), filter=r.get("FilterExpression"), names=r.get("ExpressionAttributeNames"),
                     vals=r.get("ExpressionAttributeValues"), index_name=r.get("IndexName"), page_size=r.get("Limit"),
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


def own_token(token):
    """Those of other runs are remembered."""
    return token and "%s%d%d" % (token[:34], by_request, direct)


def with_table(op, table, r):
    """The request with the table's name where it belongs."""
    if op.startswith("Batch"):
        return {"RequestItems": {table: r["RequestItems"]["$TABLE"]}}
    if op.startswith("Transact"):
        if "ClientRequestToken" in r:
            r = dict(r, ClientRequestToken=own_token(r["ClientRequestToken"]))
        return dict(r, TransactItems=[{kind: dict(action, TableName=table) for kind, action in a.items()} for a in r["TransactItems"]])
    return dict(r, TableName=table)


def low_level(op):
    """An operation by dyn_request()."""
    def send(table, r):
        answer, = call("dyn_request(%s, %s)::text", op, with_table(op, table, r), on=ddl if op == "UpdateTable" else cur)
        if op == "BatchGetItem":
            answer["Responses"] = answer["Responses"].get(table, [])
        return answer
    return send


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


def rows(sql, *args):
    """The same as call(), with arrays of items."""
    cur.execute("SELECT " + sql, [[json.dumps(i) for i in a] if isinstance(a, list) else json.dumps(a) if isinstance(a, dict) else a for a in args])
    return [row[0] and json.loads(row[0]) for row in cur.fetchall()]


def batch_get(table, r):
    (name, keys), = r["RequestItems"].items()
    assert name == "$TABLE"
    items = rows("dyn_batch_get(%s, %s::dyn_item[], projection => %s, names => %s, consistent_read => %s)", table, keys["Keys"],
                 keys.get("ProjectionExpression"),
                 keys.get("ExpressionAttributeNames"), keys.get("ConsistentRead", False))
    return {"Responses": items, "UnprocessedKeys": {}}


def batch_write(table, r):
    (name, requests), = r["RequestItems"].items()
    assert name == "$TABLE"
    cur.execute("SELECT dyn_batch_write(%s, %s::dyn_item[], %s::dyn_item[])",
                [table, [json.dumps(q["PutRequest"]["Item"]) for q in requests if "PutRequest" in q],
                 [json.dumps(q["DeleteRequest"]["Key"]) for q in requests if "DeleteRequest" in q]])
    return {"UnprocessedItems": {}}


def named(table, r):
    """The actions, each with its table's name."""
    return json.dumps([{kind: dict(action, TableName=table) for kind, action in a.items()} for a in r["TransactItems"]])


def transact_write(table, r):
    only_with(r, "TransactItems", "ClientRequestToken")
    cur.execute("SELECT dyn_transact(%s, %s)", [named(table, r), own_token(r.get("ClientRequestToken"))])
    return {}


def transact_get(table, r):
    only_with(r, "TransactItems")
    return {"Responses": [{"Item": i} if i else {} for i in call("dyn_transact_get(%s)", named(table, r))]}


TYPED = {"GetItem": get_item, "PutItem": put_item, "DeleteItem": delete_item, "UpdateItem": update_item, "Query": query,
         "Scan": scan, "UpdateTable": update_table, "BatchGetItem": batch_get, "BatchWriteItem": batch_write,
         "TransactWriteItems": transact_write, "TransactGetItems": transact_get}


def update_table_by_request(table, r):
    """Answers at once; the index is built after the commit, which waits for our snapshot."""
    answer = low_level("UpdateTable")(table, r)
    cur.execute("COMMIT")
    deadline = time.time() + 600
    while "CREATING" in (described := json.dumps(call("dyn_request('DescribeTable', %s)::text", {"TableName": table}))):
        if time.time() > deadline:
            raise TimeoutError(f"an index never becomes active: {described}")
        time.sleep(0.05)
    cur.execute("BEGIN")
    return answer


LOW_LEVEL = dict({op: low_level(op) for op in TYPED}, UpdateTable=update_table_by_request)
OPERATIONS = TYPED


def normal(value):
    """Sets in one order, so that they compare as sets."""
    if isinstance(value, dict):
        return {k: sorted(v) if k in ("SS", "NS", "BS") and isinstance(v, list) else normal(v) for k, v in value.items()}
    return [normal(v) for v in value] if isinstance(value, list) else value


MEMBERS = ("Item", "Attributes", "Items", "Count", "ScannedCount", "LastEvaluatedKey", "Responses", "UnprocessedKeys", "UnprocessedItems")


def reasons(error):
    """The codes of a cancelled transaction; its message names them as well."""
    codes = [r["Code"] for r in json.loads(error.diag.message_detail)["CancellationReasons"]]
    return codes if error.diag.message_primary.endswith("[%s]" % ", ".join(codes)) else error.diag.message_primary


def told(table, operation, said):
    """What a store said, without what no two tables have in common."""
    return json.dumps(said).replace(table, "$TABLE") if operation["op"] != "UpdateTable" else None


def run(table, operation, transcript):
    """None, or what is different."""
    expect = operation["expect"]
    try:
        answer = answer_of(table, operation)
        transcript.append(told(table, operation, answer))
    except psycopg2.Error as e:
        transcript.append(told(table, operation, [e.pgcode, e.diag.message_primary, e.diag.message_detail, e.diag.message_hint]))
        cur.execute("ROLLBACK")
        cur.execute("SELECT dyn_error_name(%s)", (e.pgcode,))
        name = cur.fetchone()[0] or e.pgcode
        if "ErrorItem" in expect:
            item = json.loads(e.diag.message_detail)
            if normal(item["Item"] if by_request else item) != normal(expect["ErrorItem"]):
                return "the item of the error is %s" % e.diag.message_detail
        if "CancellationReasons" in expect and expect.get("Error") == name and reasons(e) != expect["CancellationReasons"]:
            return "the reasons are %s" % reasons(e)
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
        if member in ("Items", "Responses") and expect.get("unordered"):
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


def key_schema(pk, sk):
    return [{"AttributeName": k["name"], "KeyType": t} for k, t in ((pk, "HASH"), (sk, "RANGE")) if k]


def create_by_request(name, strategy):
    keys = strategy["table"]
    indexes = {"GlobalSecondaryIndexes": [(i, i["pk"]) for i in strategy["gsis"]], "LocalSecondaryIndexes": [(i, keys["pk"]) for i in strategy["lsis"]]}
    attributes = [keys["pk"], keys["sk"]] + [k for kind in indexes.values() for i, pk in kind for k in (pk, i["sk"])]
    request = {"TableName": name, "BillingMode": "PAY_PER_REQUEST", "KeySchema": key_schema(keys["pk"], keys["sk"]),
               "AttributeDefinitions": [{"AttributeName": a, "AttributeType": t} for a, t in {k["name"]: k["type"] for k in attributes if k}.items()]}
    for member, kind in indexes.items():
        if kind:
            request[member] = [{"IndexName": i["name"], "KeySchema": key_schema(pk, i["sk"]), "Projection": i["projection"]} for i, pk in kind]
    call("dyn_request('CreateTable', %s)::text", request, on=ddl)
    for item in strategy["items"]:
        call("dyn_request('PutItem', %s)::text", {"TableName": name, "Item": item})
    return name


def create(n, strategy):
    name = "strategy_%d_%s_%s" % (n, "request" if by_request else "typed", "direct" if direct else "sql")
    if by_request:
        return create_by_request(name, strategy)
    keys = strategy["table"]
    call("dyn_create_table(%s, %s, %s, global_indexes => %s, local_indexes => %s, distributed => %s)",
         name, key_text(keys["pk"]), keys["sk"] and key_text(keys["sk"]),
         {i["name"]: dict(global_index(i), distribution=distributed.INDEXES) for i in strategy["gsis"]} or None,
         {i["name"]: dict(projection(i), sort_key=key_text(i["sk"])) for i in strategy["lsis"]} or None, distributed.NODE is not None, on=ddl)
    for item in strategy["items"]:
        call("dyn_put(%s, %s)", name, item)
    return name


def check_store(table):
    """That it is the one which is meant."""
    cur.execute("SELECT store FROM dyn_explain(%s)", (table,))
    return cur.fetchone() == ("direct" if direct else "sql",)


def run_all():
    """How many operations pass and fail, and what was answered."""
    connect()
    passed = left_out = skipped = failed = 0
    transcript = []
    for n, strategy in enumerate(strategies):
        if only and strategy["id"] != only:
            continue
        if not distributed.fills_indexes(cur) and any(o["op"] == "UpdateTable" for o in strategy["operations"]):
            skipped += len(strategy["operations"])
            continue
        table = create(n, strategy)
        if not distributed.NODE and not check_store(table):
            print("not ok - %s is read by another store" % table)
            failed += 1
        for i, operation in enumerate(strategy["operations"]):
            cur.execute("BEGIN")
            try:
                difference = run(table, operation, transcript)
            except Unsupported:
                cur.execute("ROLLBACK; BEGIN")
                left_out += 1
            else:
                passed += difference is None
                failed += difference is not None
                if difference is not None:
                    print("not ok - %s operation %d (%s): %s" % (strategy["id"], i, operation.get("note", operation["op"]), difference))
            cur.execute("COMMIT")
        ddl.execute("SELECT dyn_drop_table(%s)", (table,))
    print("%s, %s: %d operations left out" % ("dyn_request" if by_request else "typed functions", "direct store" if direct else "SPI store", left_out))
    if not only and passed != PASSES - skipped:
        print("not ok - %d operations pass, not %d" % (passed, PASSES - skipped))
        failed += 1
    return passed, failed, transcript


def run_both():
    """By both stores, and what they say differently."""
    global direct
    results = []
    for direct in (True, False):
        results.append(run_all())
    (passed, failed, one), (others_passed, others_failed, other) = results
    different = [pair for pair in zip(one, other) if pair[0] != pair[1]]
    for pair in different:
        print("not ok - the direct store says %s, the SPI store %s" % pair)
    failed += others_failed + len(different) + (len(one) != len(other))
    return passed + others_passed, failed


def main():
    global OPERATIONS, by_request
    typed = run_both()
    by_request, OPERATIONS = True, LOW_LEVEL
    low_level = run_both()
    passed, failed = typed[0] + low_level[0], typed[1] + low_level[1]
    print("conformance: %d passed, %d failed" % (passed, failed))
    sys.exit(failed != 0)


main()
