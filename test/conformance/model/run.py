"""Each member of each request that DynamoDB's API has is taken as docs/deviations.md says.

members.json has the members (see extract.cjs for its form), samples.json requests that have each of them.
A member is refused if its request is refused by name.  Otherwise the request works, and fails if the
member has another JSON type, so that it was read; one that is "stored" is found in DescribeTable.
What a document says of a member holds for those within it, unless it says something else of these.
Members that the API does not have are ignored at each level.  The operations that are listed as not
there are unknown.
"""

import copy
import json
import os
import re
import sys

import psycopg2

FOLDER = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = os.path.join(FOLDER, "../../../docs/deviations.md")
KINDS = ("works", "stored", "refused")
# names of members in descriptions that are not those of the request, with what they hold
DESCRIBED = {"SSESpecification.Enabled": ("Status", "ENABLED")}

passed = failed = 0
cur = None


def load(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
        return json.load(f)


def report(problem, what):
    global passed, failed
    passed += problem is None
    failed += problem is not None
    if problem is not None:
        print("not ok - %s: %s" % (what, problem))


# The model.  A path is a tuple of names, in which "*" stands for the keys of a map; elements of
# lists have no name.

def without_mark(members):
    """Members of a structure; those that are needed are marked."""
    return {name.rstrip("!"): kind for name, kind in members.items()}


def paths(kind, path=()):
    if isinstance(kind, list):
        yield from paths(kind[0], path)
    elif isinstance(kind, dict):
        for name, member in without_mark(kind).items():
            if name != "*":
                yield path + (name,)
            yield from paths(member, path + (name,))


def structures(kind, path=()):
    """The paths of what has members that the API names."""
    if isinstance(kind, list):
        yield from structures(kind[0], path)
    elif isinstance(kind, dict):
        if "*" not in kind:
            yield path
        for name, member in without_mark(kind).items():
            yield from structures(member, path + (name,))


def kind_at(kind, path):
    while isinstance(kind, list) and path:
        kind = kind[0]
    return kind_at(without_mark(kind)[path[0]], path[1:]) if path else kind


# Requests.

def places(value, path):
    """Whatever is at a path of a request: the containers, with key or index."""
    if isinstance(value, list):
        for element in value:
            yield from places(element, path)
    elif isinstance(value, dict):
        for name in list(value) if path[0] == "*" else [path[0]] if path[0] in value else []:
            if len(path) == 1:
                yield value, name
            else:
                yield from places(value[name], path[1:])


def objects(value, path):
    """The objects at a path of a request."""
    if path:
        found = [container[name] for container, name in places(value, path)]
    else:
        found = [value]
    for value in found:
        yield from value if isinstance(value, list) else [value]


def wrong(kind):
    """A value of another JSON type."""
    return 7 if kind == "string" or kind == "binary" else "x"


def call(operation, request):
    cur.execute("SELECT dyn_request(%s, %s)::text", (operation, json.dumps(request)))
    return json.loads(cur.fetchone()[0])


def tried(operation, request):
    """An answer, or a pair of an error's name and text."""
    cur.execute("SAVEPOINT request")
    try:
        return call(operation, request)
    except psycopg2.Error as e:
        cur.execute("ROLLBACK TO request")
        cur.execute("SELECT dyn_error_name(%s)", (e.pgcode,))
        return cur.fetchone()[0] or e.pgcode, "%s %s" % (e.diag.message_primary, e.diag.message_detail or "")


def alone(operation, request, and_then=None):
    """The same in a transaction of its own, which is rolled back."""
    cur.execute("BEGIN")
    try:
        answer = tried(operation, request)
        return answer if and_then is None or isinstance(answer, tuple) else and_then(request)
    finally:
        cur.execute("ROLLBACK")


def describe(request):
    return call("DescribeTable", {"TableName": request["TableName"]})


def holds(value, name, wanted):
    """Whether there is a member of that name and value anywhere."""
    if isinstance(value, list):
        return any(holds(v, name, wanted) for v in value)
    return isinstance(value, dict) and (value.get(name) == wanted or any(holds(v, name, wanted) for v in value.values()))


# What is checked.

def refusal(operation, sample, path):
    """None if the request is refused by a name of the path."""
    answer = alone(operation, sample)
    if not isinstance(answer, tuple):
        return "is taken"
    error, text = answer
    return None if error == "ValidationException" and path[-1] in text else "%s: %s" % answer


def reading(operation, sample, path, kind):
    """None if the request works, and does not if the member has another type."""
    answer = alone(operation, sample)
    if isinstance(answer, tuple):
        return "%s: %s" % answer
    spoilt = copy.deepcopy(sample)
    for container, name in places(spoilt, path):
        container[name] = wrong(kind)
    answer = alone(operation, spoilt)
    if not isinstance(answer, tuple):
        return "is ignored"
    return None if answer[0] == "SerializationException" else "of another type: %s: %s" % answer


def description(operation, sample, path):
    """None if a scalar is described back."""
    described = alone(operation, sample, describe)
    for container, name in places(sample, path):
        value = container[name]
        if isinstance(value, (dict, list)):
            continue
        if not holds(described, *DESCRIBED.get(".".join(path), (name, value))):
            return "is not in %s" % json.dumps(described)
    return None


def ignorance(operation, sample, path):
    """None if unknown members at a level change nothing."""
    more = copy.deepcopy(sample)
    for container in objects(more, path):
        container["NoSuchMember"] = {"x": [1, None, {"y": "z"}]}
    answer = alone(operation, more)
    return "%s: %s" % answer if isinstance(answer, tuple) else None


def sample_of(samples, path):
    """The first that has it."""
    return next((s for s in samples if path and any(places(s, path)) or not path), None)


def documented():
    """Of each operation the members of each kind, and the operations that are not there."""
    kinds, operation, absent = {}, None, set()
    with open(DOCUMENT, encoding="utf-8") as f:
        for line in f:
            row = re.fullmatch(r"\| *(\w*) *\| *(%s) *\| *(.*?) *\|" % "|".join(KINDS), line.strip())
            if row:
                operation = row[1] or operation
                for member in re.findall(r"`([^`]+)`", row[3]):
                    kinds.setdefault(operation, {})[tuple(member.split("."))] = row[2]
                kinds.setdefault(operation, {})
            else:
                operation = None
            row = re.fullmatch(r"\| *(.*?) *\| *not there *\|.*", line.strip())
            if row:
                absent |= set(re.findall(r"\w+", row[1]))
    return kinds, absent


def kind_of(path, kinds):
    """What the document says of the member, or of what it is in."""
    while path and path not in kinds:
        path = path[:-1]
    return kinds.get(path)


def check_member(operation, members, samples, kinds, path):
    treatment = kind_of(path, kinds)
    if treatment is None:
        return "docs/deviations.md says nothing"
    if treatment == "refused" and kind_of(path[:-1], kinds) == "refused":
        return None
    sample = sample_of(samples, path)
    if sample is None:
        return "no sample has it"
    if treatment == "refused":
        return refusal(operation, sample, path)
    return (reading(operation, sample, path, kind_at(members, path)) or
            (description(operation, sample, path) if treatment == "stored" else None))


def check_operation(operation, members, samples, kinds):
    there = set(paths(members))
    for path in kinds:
        if path not in there:
            report("the API has no such member", "%s.%s" % (operation, ".".join(path)))
    for path in sorted(there):
        report(check_member(operation, members, samples, kinds, path), "%s.%s" % (operation, ".".join(path)))
    for path in structures(members):
        if kind_of(path, kinds) == "refused":
            continue
        sample = sample_of(samples, path)
        report(ignorance(operation, sample, path) if sample is not None else "no sample has it",
               "an unknown member in %s" % ".".join((operation,) + path))


def fill(value, known):
    if isinstance(value, dict):
        return {k: fill(v, known) for k, v in value.items()}
    if isinstance(value, list):
        return [fill(v, known) for v in value]
    return known.get(value, value) if isinstance(value, str) else value


def prepare(samples):
    """Make the tables, and put names of what the server has made into the requests."""
    for table in samples["tables"]:
        call("CreateTable", table)
    for item in samples["items"]:
        call("PutItem", item)
    table = call("DescribeTable", {"TableName": "model"})["Table"]
    stream = table["LatestStreamArn"]
    shard = call("DescribeStream", {"StreamArn": stream})["StreamDescription"]["Shards"][0]
    iterator = call("GetShardIterator", {"StreamArn": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"})
    page = call("ExecuteStatement", {"Statement": "SELECT n FROM model WHERE pk = ?", "Parameters": [{"S": "1"}], "Limit": 1})
    known = {"$token": page["NextToken"], "$table": table["TableArn"], "$stream": stream, "$shard": shard["ShardId"],
             "$sequence": shard["SequenceNumberRange"]["StartingSequenceNumber"], "$iterator": iterator["ShardIterator"]}
    result = {}
    for operation, requests in samples["requests"].items():
        filled = [fill(request, known) for request in requests]
        for request in filled:
            if "from" in request:
                request.update({k: v for k, v in filled[request.pop("from")].items() if k not in request})
        result[operation] = filled
    return result


def main():
    global cur
    connection = psycopg2.connect("")
    connection.autocommit = True
    cur = connection.cursor()
    cur.execute("CREATE EXTENSION dynamo_table; CREATE EXTENSION vector")
    cur.execute("CALL dyn_setup_streams()")
    model = load("members.json")["operations"]
    samples = prepare(load("samples.json"))
    kinds, absent = documented()
    for operation, members in model.items():
        answer = alone(operation, {})
        unknown = isinstance(answer, tuple) and answer[0] == "UnknownOperationException"
        report(None if unknown == (operation in absent) else "docs/deviations.md says otherwise", "whether there is %s" % operation)
        if not unknown:
            check_operation(operation, members, samples.get(operation, []), kinds.get(operation, {}))
    for operation in sorted((set(kinds) | absent) - set(model)):
        report("the API has no such operation", operation)
    print("model: %d passed, %d failed" % (passed, failed))
    return failed == 0


sys.exit(not main())
