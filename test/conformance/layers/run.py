"""Send every operation each bad value and each bad expression, in each place where it takes one, and compare
the words with the rule of docs/semantics.md, "Words by layer", which is written down here once more: by both
stores, for a table that is there and for one that is not, since all of these errors come before the look-up.

The operations are those of the table in src/api/request/layers.c, so one that is added there is missing here.
"""

import json
import os
import re
import sys

import psycopg2

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
ENVELOPE = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "

# The rule: whose words values have, whether names or values without an expression are told with the expressions
# that could be there, and what the envelope stands before.
WRITES = {"value", "placeholder", "expression", "none", "expected", "return values"}
RULES = {
    "BatchGetItem": ("current", True, set()),
    "BatchWriteItem": ("older", True, set()),
    "DeleteItem": ("current", False, WRITES),
    "GetItem": ("current", True, set()),
    "PutItem": ("current", False, WRITES),
    "Query": ("current", True, {"select"}),
    "Scan": ("older", True, set()),
    "TransactGetItems": ("older", True, set()),
    "TransactWriteItems": ("older", True, set()),
    "UpdateItem": ("current", False, WRITES),
}


def rows_of_source():
    source = open(os.path.join(TOP, "src/api/request/layers.c"), encoding="utf-8").read()
    return re.findall(r'\{"(\w+)", ITEM_LAYER_\w+, \w+,\s+"[xk-]+"\}', source)


# Bad values.  Each has its words in both layers, and whether the older one, or any, tells which value of the
# expressions it is.

def not_numeric(text):
    return "The parameter cannot be converted to a numeric value" + (": " + text if text else "")


OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
PRECISION = "Attempting to store more than 38 significant digits in a Number"
NUMBERS = [("abc", not_numeric("abc")), ("1.2.3", not_numeric("1.2.3")), (" 1", not_numeric(" 1")), ("1 ", not_numeric("1 ")), ("0x10", not_numeric("0x10")),
           ("1e", not_numeric("1e")), ("NaN", not_numeric("NaN")), ("Infinity", not_numeric("Infinity")), ("1e126", OVERFLOW), ("-1e126", OVERFLOW),
           ("1e-131", UNDERFLOW), ("1" * 39, PRECISION)]


# Of expressions' values the first part alone is told, but for checks; of a transacted update it is a reason (SV03).
DEEP = "a deep value"
NESTING = "Nesting Levels have exceeded supported limits"


def values():
    """Of each: a name, the value, the words in the older and in the current layer, and which layers name it."""
    for text, words in NUMBERS:
        yield "the number " + text, {"N": text}, words, words, {"older"}
        yield "in a set " + text, {"NS": ["1", text]}, words, words, {"older"}
        yield "nested " + text, {"M": {"x": {"L": [{"N": text}]}}}, words, words, {"older"}
    yield "an empty number", {"N": ""}, not_numeric(""), not_numeric("") + ": ", {"older"}
    yield "an empty number in a set", {"NS": ["", "1"]}, not_numeric(""), not_numeric("") + ": ", {"older"}
    yield "NULL of false", {"NULL": False}, *[INVALID + "Null attribute value types must have the value of true"] * 2, {"older"}
    for kind, members, older, current in (
            ("SS", ["b", "a", "b"], "[b, a, b]", '["a", "b", "b"]'),
            ("SS", ["b", "a", "b", "c", "a"], "[b, a, b, c, a]", '["a", "b", "b", "c", "a"]'),
            ("SS", ["d", "c", "c", "a"], "[d, c, c, a]", '["c", "d", "c", "a"]'),
            ("BS", ["/w==", "AA==", "AA=="], "[/w==, AA==, AA==]of type BS", '["AA==","/w==","AA=="]of type BS')):
        yield f"twice in {kind} {members}", {kind: members}, *[f"{INVALID}Input collection {m} contains duplicates." for m in (older, current)], {"older"}
    yield "twice in NS", {"NS": ["2", "1", "2.0"]}, "Input collection contains duplicates", INVALID + "Input collection contains duplicates.", {"older"}
    yield "twice in a nested set", {"L": [{"SS": ["a", "a"]}]}, *[f"{INVALID}Input collection {m} contains duplicates."
        for m in ("[a, a]", '["a", "a"]')], {"older"}
    for kind, words in (("SS", "An string set  may not be empty"), ("NS", "An number set  may not be empty"), ("BS", "Binary sets should not be empty")):
        yield "an empty " + kind, {kind: []}, *[INVALID + words] * 2, {"older"}
    supplied = "Supplied AttributeValue %s, must contain exactly one of the supported datatypes"
    yield "a value without a type", {}, *[supplied % "is empty"] * 2, {"older", "current"}
    yield "a value with two types", {"S": "a", "N": "1"}, *[supplied % "has more than one datatypes set"] * 2, {"older", "current"}
    deep = {"S": "leaf"}
    for _ in range(40):
        deep = {"M": {"n": deep}}
    yield DEEP, deep, *[NESTING + ": Attributes in the item have nested levels beyond supported limit"] * 2, set()


# Where a value stands, by operation: a name, whether it is one of ExpressionAttributeValues, and the request.

KEY = {"pk": {"S": "a"}}


def given(condition, value):
    return {"ConditionExpression": condition, "ExpressionAttributeValues": {":v": value}}


def places(operation, table):
    def one(member, **members):
        return dict({"TableName": table, member: KEY}, **members)

    def write(request):
        return {"RequestItems": {table: [request]}}

    def transact(kind, **members):
        return {"TransactItems": [{kind: dict(members, TableName=table)}]}

    update = {"UpdateExpression": "SET a = :v"}
    by_key = {"KeyConditionExpression": "pk = :p"}
    equals = {"ComparisonOperator": "EQ"}
    return {
        "BatchGetItem": [("a key", False, lambda v: {"RequestItems": {table: {"Keys": [{"pk": v}]}}})],
        "BatchWriteItem": [("an item", False, lambda v: write({"PutRequest": {"Item": dict(KEY, a=v)}})),
            ("a key", False, lambda v: write({"DeleteRequest": {"Key": {"pk": v}}}))],
        "DeleteItem": [("the key", False, lambda v: one("Key", Key={"pk": v})), ("a condition", True, lambda v: one("Key", **given("a = :v", v))),
                       ("Expected", False, lambda v: one("Key", Expected={"a": {"Value": v}}))],
        "GetItem": [("the key", False, lambda v: one("Key", Key={"pk": v}))],
        "PutItem": [("the item", False, lambda v: one("Item", Item=dict(KEY, a=v))), ("a condition", True, lambda v: one("Item", **given("a = :v", v))),
                    ("Expected", False, lambda v: one("Item", Expected={"a": {"Value": v}})),
                    ("a list of Expected", False, lambda v: one("Item", Expected={"a": dict(equals, AttributeValueList=[v])}))],
        "Query": [("the key condition", True, lambda v: {"TableName": table, "KeyConditionExpression": "pk = :v", "ExpressionAttributeValues": {":v": v}}),
                  ("the filter", True, lambda v: {"TableName": table, **by_key, "FilterExpression": "a = :v",
                      "ExpressionAttributeValues": {":p": {"S": "a"}, ":v": v}}),
                  ("the start key", False, lambda v: {"TableName": table, **by_key, "ExpressionAttributeValues": {":p": {"S": "a"}},
                      "ExclusiveStartKey": {"pk": v}}),
                  ("KeyConditions", False, lambda v: {"TableName": table, "KeyConditions": {"pk": dict(equals, AttributeValueList=[v])}}),
                  ("QueryFilter", False, lambda v: {"TableName": table, "KeyConditions": {"pk": dict(equals, AttributeValueList=[{"S": "a"}])},
                                                    "QueryFilter": {"a": dict(equals, AttributeValueList=[v])}})],
        "Scan": [("the filter", True, lambda v: {"TableName": table, "FilterExpression": "a = :v", "ExpressionAttributeValues": {":v": v}}),
                 ("the start key", False, lambda v: {"TableName": table, "ExclusiveStartKey": {"pk": v}}),
                 ("ScanFilter", False, lambda v: {"TableName": table, "ScanFilter": {"a": dict(equals, AttributeValueList=[v])}})],
        "TransactGetItems": [("a key", False, lambda v: transact("Get", Key={"pk": v}))],
        "TransactWriteItems": [("an item", False, lambda v: transact("Put", Item=dict(KEY, a=v))),
                               ("the condition of a put", True, lambda v: transact("Put", Item=KEY, **given("a = :v", v))),
                               ("an update", True, lambda v: transact("Update", Key=KEY, **update, ExpressionAttributeValues={":v": v})),
                               ("the key of an update", False, lambda v: transact("Update", Key={"pk": v}, UpdateExpression="REMOVE a")),
                               ("the condition of a deletion", True, lambda v: transact("Delete", Key=KEY, **given("a = :v", v))),
                               ("the key of a deletion", False, lambda v: transact("Delete", Key={"pk": v})),
                               ("a check", True, lambda v: transact("ConditionCheck", Key=KEY, **given("a = :v", v)))],
        "UpdateItem": [("the key", False, lambda v: one("Key", Key={"pk": v})),
                       ("an update", True, lambda v: one("Key", **update, ExpressionAttributeValues={":v": v})),
                       ("a condition", True, lambda v: one("Key", **given("a = :v", v))),
                       ("AttributeUpdates", False, lambda v: one("Key", AttributeUpdates={"a": {"Value": v}})),
                       ("Expected", False, lambda v: one("Key", Expected={"a": {"Value": v}}))],
    }[operation]


def value_cases(operation, table):
    layer = RULES[operation][0]
    for place, in_values, request in places(operation, table):
        for name, value, older, current, named in values():
            words = older if layer == "older" else current
            if name == DEEP and in_values:
                if (operation, place) == ("TransactWriteItems", "an update"):
                    continue
                words = words if place == "a check" else NESTING
            if in_values and layer in named:
                words = f"ExpressionAttributeValues contains invalid value: {words} for key :v"
            yield f"{name} in {place}", request(value), "value", words


# Expressions: the members of a request around one, what stands in its place, and what is said.

CONDITIONS = [
    ("", "The expression can not be empty;"),
    ("a = = b", 'Syntax error; token: "=", near: "= = b"'),
    ("attribute_exists(", 'Syntax error; token: "<EOF>", near: "("'),
    ("a = :missing", "An expression attribute value used in expression is not defined; attribute value: :missing"),
    ("#missing = a", "An expression attribute name used in the document path is not defined; attribute name: #missing"),
    ("name = a", "Attribute name is a reserved keyword; reserved keyword: name"),
    ("nothing(a)", "Invalid function name; function: nothing"),
    ("size(a, b) = a", "Incorrect number of operands for operator or function; operator or function: size, number of operands: 2"),
    ("((a = b))", "The expression has redundant parentheses;"),
    ("contains(a, a)", "The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [a]"),
    ("a = b" + " OR a = b" * 500, "Expression size has exceeded the maximum allowed size; expression size: 4505"),
]
UPDATES = [
    ("", "The expression can not be empty;"),
    ("INVALID SYNTAX HERE", 'Syntax error; token: "INVALID", near: "INVALID SYNTAX"'),
    ("SET a = :missing", "An expression attribute value used in expression is not defined; attribute value: :missing"),
    ("SET #missing = a", "An expression attribute name used in the document path is not defined; attribute name: #missing"),
    ("SET a = b, a.c = b", "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a, c]"),
    ("SET a.b = c, a[0] = c", "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [a, b], path two: [a, [0]]"),
    ("SET a = b SET c = d", 'The "SET" section can only be used once in an update expression;'),
]
PROJECTIONS = [
    ("", "The expression can not be empty;"),
    ("a,", 'Syntax error; token: "<EOF>", near: ","'),
    ("#missing", "An expression attribute name used in the document path is not defined; attribute name: #missing"),
    ("a, a.b", "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a, b]"),
]
TEXTS = {"ConditionExpression": CONDITIONS, "FilterExpression": CONDITIONS, "UpdateExpression": UPDATES, "ProjectionExpression": PROJECTIONS,
         "KeyConditionExpression": CONDITIONS[:5]}


def requests(operation, table):
    """Of each expression that it takes: its name, whether it takes values, and the request with some members."""
    def around(**members):
        return dict({"TableName": table}, **members)

    def in_transaction(kind, **fixed):
        return lambda m: {"TransactItems": [{kind: dict(fixed, TableName=table, **m)}]}

    condition = ("ConditionExpression", True)
    query = {"KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}}}
    return {
        "BatchGetItem": [("ProjectionExpression", False, lambda m: {"RequestItems": {table: dict(m, Keys=[KEY])}})],
        "BatchWriteItem": [],
        "DeleteItem": [(*condition, lambda m: around(Key=KEY, **m))],
        "GetItem": [("ProjectionExpression", False, lambda m: around(Key=KEY, **m))],
        "PutItem": [(*condition, lambda m: around(Item=KEY, **m))],
        "Query": [("KeyConditionExpression", True, lambda m: around(**m)), ("FilterExpression", True, lambda m: around(**query, **m)),
                  ("ProjectionExpression", False, lambda m: around(**query, **m))],
        "Scan": [("FilterExpression", True, lambda m: around(**m)), ("ProjectionExpression", False, lambda m: around(**m))],
        "TransactGetItems": [("ProjectionExpression", False, in_transaction("Get", Key=KEY))],
        "TransactWriteItems": [(*condition, in_transaction("Put", Item=KEY)), (*condition, in_transaction("Delete", Key=KEY)),
                               (*condition, in_transaction("ConditionCheck", Key=KEY)),
                               ("UpdateExpression", True, in_transaction("Update", Key=KEY))],
        "UpdateItem": [(*condition, lambda m: around(Key=KEY, **m)), ("UpdateExpression", True, lambda m: around(Key=KEY, **m))],
    }[operation]


# The expressions that may have values, as they are told where there is none.
POSSIBLE = {"Query": "FilterExpression is null and KeyConditionExpression is null", "Scan": "FilterExpression is null"}


def valid(expression):
    return {"UpdateExpression": "SET a = b", "ProjectionExpression": "a"}.get(expression, "a = b")


def expression_cases(operation, table):
    for expression, takes_values, request in requests(operation, table):
        for text, words in TEXTS[expression]:
            yield f"{expression} {text[:30]}", request({expression: text}), "expression", f"Invalid {expression}: {words}"
        wanted = valid(expression)
        if expression == "KeyConditionExpression":
            wanted = "pk = :p"
        used = {":p": {"S": "a"}} if wanted == "pk = :p" else {}

        def placeholders(parameter, map_, words):
            members = {expression: wanted, parameter: map_}
            if used and parameter != "ExpressionAttributeValues":
                members["ExpressionAttributeValues"] = used
            return f"{parameter} {str(map_)[:30]} with {expression}", request(members), "placeholder", words

        for parameter, sign, value in (("ExpressionAttributeNames", "#", "a"), ("ExpressionAttributeValues", ":", {"S": "a"})):
            if parameter == "ExpressionAttributeValues" and not takes_values:
                continue
            some = used if parameter == "ExpressionAttributeValues" else {}
            yield placeholders(parameter, {}, f"{parameter} must not be empty")
            yield placeholders(parameter, dict(some, **{sign + "u": value, sign + "t": value}),
                f"Value provided in {parameter} unused in expressions: keys: {{{sign}t, {sign}u}}")
            yield placeholders(parameter, {"bad": value}, f'{parameter} contains invalid key: Syntax error; key: "bad"')
            # before an empty expression
            yield f"{parameter} and {expression} empty", request({expression: "", parameter: {}}), "placeholder", f"{parameter} must not be empty"
        yield placeholders("ExpressionAttributeNames", {"#a": ""}, "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a")
        if takes_values:
            yield "both empty", request({expression: "", "ExpressionAttributeNames": {},
                "ExpressionAttributeValues": {}}), "placeholder", "ExpressionAttributeNames must not be empty"
    yield from no_expression_cases(operation, table)


def no_expression_cases(operation, table):
    for expression, takes_values, request in requests(operation, table):
        if operation == "TransactWriteItems" and (expression == "UpdateExpression" or "ConditionCheck" in str(request({}))):
            continue
        words = "%s can only be specified when using expressions"
        yield "names alone", request({"ExpressionAttributeNames": {"#a": "a"}}), "none", words % "ExpressionAttributeNames"
        # an operation without expressions that take values has no such parameter
        if takes_values and not (operation == "Query" and expression == "KeyConditionExpression"):
            possible = POSSIBLE.get(operation, "UpdateExpression is null and ConditionExpression is null" if operation == "UpdateItem"
                else "ConditionExpression is null")
            tail = ": " + possible if RULES[operation][1] else ""
            yield "values alone", request({"ExpressionAttributeValues": {":v": {"S": "a"}}}), "none", words % "ExpressionAttributeValues" + tail


def parameter_cases(operation, table):
    """Expected, ReturnValues, Select."""
    around = {"TableName": table, **({"Item": KEY} if operation == "PutItem" else {"Key": KEY})}
    if operation in ("PutItem", "UpdateItem", "DeleteItem"):
        for expected, words in (
                ({"Exists": True}, "Value must be provided when Exists is true for Attribute: a"),
                ({}, "Value must be provided when Exists is null for Attribute: a"),
                ({"Exists": False, "Value": {"S": "x"}}, "Value cannot be used when Exists is false for Attribute: a"),
                ({"Value": {"S": "x"}, "ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]},
                    "Value and AttributeValueList cannot be used together for Attribute: a"),
                ({"ComparisonOperator": "EQ"}, "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a"),
                ({"ComparisonOperator": "EQ", "Exists": True}, "Exists and ComparisonOperator cannot be used together for Attribute: a"),
                ({"AttributeValueList": [{"S": "x"}]}, "AttributeValueList can only be used with a ComparisonOperator for Attribute: a"),
                ({"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"S": "x"}]}, "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
                ({"ComparisonOperator": "LT", "AttributeValueList": [{"BOOL": True}]}, "ComparisonOperator LT is not valid for BOOL AttributeValue type")):
            yield f"Expected {expected}", dict(around, Expected={"a": expected}), "expected", INVALID + words
    if operation in ("PutItem", "DeleteItem"):
        for choice in ("ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"):
            yield "ReturnValues " + choice, dict(around, ReturnValues=choice), "return values", "ReturnValues can only be ALL_OLD or NONE"
    if operation in ("Query", "Scan"):
        read = {"TableName": table}
        if operation == "Query":
            read.update({"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}})
        for members, words in (
                ({"Select": "ALL_PROJECTED_ATTRIBUTES"}, "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"),
                ({"Select": "SPECIFIC_ATTRIBUTES"}, "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"),
                ({"Select": "COUNT", "ProjectionExpression": "a"}, "Cannot specify the ProjectionExpression when choosing to get only the Count"),
                ({"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "a"}, "Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES")):
            yield f"{members}", dict(read, **members), "select", words


def cases(operation, table):
    yield from value_cases(operation, table)
    yield from expression_cases(operation, table)
    yield from parameter_cases(operation, table)


def answer(cur, direct, operation, request):
    cur.execute("SELECT set_config('dynamo_table.direct_store', %s, false)", (direct,))
    try:
        cur.execute("SELECT dyn_request(%s, %s)::text", (operation, json.dumps(request)))
        return "an answer: " + cur.fetchone()[0]
    except psycopg2.Error as e:
        return e.diag.message_primary if e.pgcode == "YD001" else f"{e.pgcode}: {e.diag.message_primary}"


def main():
    passed = failed = 0
    connection = psycopg2.connect(dbname="postgres")
    connection.autocommit = True
    cur = connection.cursor()
    cur.execute("CREATE EXTENSION dynamo_table")
    cur.execute("SELECT dyn_request('CreateTable', %s)", (json.dumps({
        "TableName": "layers", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}),))
    if sorted(rows_of_source()) != sorted(RULES):
        print("not ok - src/api/request/layers.c has other operations: %s" % ", ".join(set(rows_of_source()) ^ set(RULES)))
        failed += 1
    for operation, (_, _, enveloped) in RULES.items():
        for table in "layers", "layers_missing":
            for name, request, kind, words in cases(operation, table):
                want = (ENVELOPE if kind in enveloped else "") + words
                for direct in "on", "off":
                    got = answer(cur, direct, operation, request)
                    passed += got == want
                    if got != want:
                        failed += 1
                        print("not ok - %s of table %s, direct store %s: %s\n    is   %s\n    not  %s" %
                            (operation, table, direct, name, got[:300], want[:300]))
    cur.execute("SELECT count(*) FROM layers")
    if cur.fetchone()[0] != 0:
        print("not ok - something was written")
        failed += 1
    print("layers: %d passed, %d failed" % (passed, failed))
    return failed == 0


sys.exit(not main())
