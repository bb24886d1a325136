"""Random PartiQL statements, each of which is made together with the requests that do the same: Query,
Scan, PutItem, UpdateItem and DeleteItem with expressions.  Several statements are compared with
BatchGetItem, with single writes, and with TransactGetItems and TransactWriteItems.

There are two tables that are alike.  Statements go to the one, requests to the other one; their answers
must be the same, and so must the item after a write, and at the end all of both tables and their indexes.

A statement is made as what it does (reads of collections with ranges, a filter, actions of an update),
then written as text in one of its many spellings: keywords in any case, names quoted or not, values as
literals or parameters, comments.  The requests are made of the same things by other code.

Pages must be those of Query, or as full as they may be, and together have what is there.  Where somebody
asks for the capacity, both sides count the same.

Both sides must also refuse the same: by the exception's name, or for what only PartiQL has (overlapping
ranges, its own words for a missing index and others) by the whole message.
"""

import base64
import json
import os
import random
import re
import sys
import time
from decimal import Decimal

import psycopg2

seconds = float(sys.argv[1])
most = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2] else None
seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
rng = random.Random(seed)
cur = None
counts = {}
failures = 0


class Refused(Exception):
    """By dyn_request(), or by what stands for it here."""

    def __init__(self, name, message=None, detail=None):
        super().__init__("%s: %s" % (name, message))
        self.name, self.message, self.detail = name, message, detail


INVALID, FAILED, DUPLICATE, CANCELLED = "ValidationException", "ConditionalCheckFailedException", "DuplicateItemException", "TransactionCanceledException"


def count(what):
    counts[what] = counts.get(what, 0) + 1


def chance(p):
    return rng.random() < p


def text_of(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def connect(database):
    connection = psycopg2.connect(dbname=database)
    connection.autocommit = True
    return connection.cursor()


def ask(sql, *values):
    try:
        cur.execute(sql, [json.dumps(v, ensure_ascii=False) if isinstance(v, dict) else v for v in values])
        return cur.fetchone()[0]
    except psycopg2.Error as e:
        cur.execute("SELECT dyn_error_name(%s)", (e.pgcode,))
        name = cur.fetchone()[0]
        raise Refused(name or e.pgcode, e.diag.message_primary, json.loads(e.diag.message_detail) if name == CANCELLED else None)


def send(operation, request):
    return json.loads(ask("SELECT dyn_request(%s, %s)::text", operation, request))


def get_items(requests):
    """Of GetItem; all by one statement, since each takes a while where the machine has other things to do."""
    if not requests:
        return []
    sql = "SELECT json_agg(dyn_request('GetItem', r::text) ORDER BY i) FROM json_array_elements(%s) WITH ORDINALITY e(r, i)"
    return [answer.get("Item") for answer in ask(sql, json.dumps(requests))]


# --- values: few of each type, so that they meet

STRINGS = ["a", "b", "ab", "abc", "it's", "''", "-- no", "/*", "?", "é", "\ue000", "\U0010ffff", "SELECT"]
NUMBERS = ["0", "1", "2", "3", "-1", "1.5", "-1.5", "10", "1e20", "-1e20", "1e-20", "12345678901234567890123456789012345678"]
BYTES = [b"\0", b"a", b"ab", b"\xff", b"\xff\xff"]
KEYS = {"S": [{"S": s} for s in STRINGS], "N": [{"N": n} for n in NUMBERS], "B": [{"B": base64.b64encode(b).decode()} for b in BYTES]}


def key_value(kind):
    return rng.choice(KEYS[kind])


def value(kind=None, depth=0):
    kind = kind or rng.choice(["S", "S", "N", "N", "N", "B", "BOOL", "NULL", "SS", "NS", "BS"] + (["L", "M"] if depth < 2 else []))
    if kind in "SNB":
        return rng.choice(KEYS[kind])
    if kind == "BOOL":
        return {"BOOL": chance(0.5)}
    if kind == "NULL":
        return {"NULL": True}
    if kind == "L":
        return {"L": [value(None, depth + 1) for _ in range(rng.randint(0, 3))]}
    if kind == "M":
        return {"M": {name: value(None, depth + 1) for name in rng.sample(INNER, rng.randint(0, 3))}}
    return {kind: [v[kind[0]] for v in rng.sample(KEYS[kind[0]], rng.randint(1, 3))]}


def rank(v):
    """What keys are ordered by."""
    (kind, p), = v.items()
    return Decimal(p) if kind == "N" else p.encode() if kind == "S" else base64.b64decode(p)


def normal(v):
    if isinstance(v, dict):
        return {k: sorted(x) if k in ("SS", "NS", "BS") and isinstance(x, list) else normal(x) for k, x in v.items()}
    return [normal(x) for x in v] if isinstance(v, list) else v


def each(items):
    """As texts."""
    return [text_of(normal(i)) for i in items]


# --- names and paths: a tuple of names and indexes

NAMES = ["a", "b", "n", "a b", "q\"t", "select", "Year", "data", "é", "status", "A", "_u", "$d"]
INNER = ["k", "j", "size", "x y"]
TYPICAL = {"n": "N", "a": "N", "data": "L", "A": "M", "status": "SS", "_u": "NS", "$d": "S"}  # so that paths lead somewhere, and operators find what they take
QUOTED = {"select", "size", "Year"}  # the first is a keyword, the others may be


def path():
    steps = [rng.choice(NAMES)]
    if steps[0] in ("data", "A") and chance(0.6):
        steps.append(rng.randint(0, 2) if steps[0] == "data" else rng.choice(INNER))
    while chance(0.06) and len(steps) < 4:
        steps.append(rng.randint(0, 2) if chance(0.4) else rng.choice(INNER))
    return tuple(steps)


def resolve(item, steps):
    """The value at a path, or None."""
    v = {"M": item}
    for step in steps:
        v = v.get("M", {}).get(step) if isinstance(step, str) else (v.get("L", [])[step:step + 1] or [None])[0]
        if v is None:
            return None
    return v


def apart(paths):
    """Those paths of which none is the beginning of another, nor has a list where another has a map."""
    kept = []
    for p in paths:
        if all(not conflict(p, q) for q in kept):
            kept.append(p)
    return kept


def conflict(p, q):
    for one, other in zip(p, q):
        if one != other:
            return isinstance(one, int) != isinstance(other, int)
    return True


# --- the text of a statement, written from left to right, since parameters are by position

class Text:
    def __init__(self):
        self.parts, self.parameters = [], []
        self.share = rng.choice([0, 0.3, 0.3, 1])  # of values that are parameters

    def word(self, *words):
        for w in words:
            self.parts.append(rng.choice([w.upper(), w.lower(), w.title()]) if w.replace("_", "").isalpha() else w)
        return self

    def name(self, name):
        bare = re.fullmatch("[A-Za-z_$][A-Za-z0-9_$]*", name) and name not in QUOTED and chance(0.7)
        return name if bare else '"%s"' % name.replace('"', '""')

    def path(self, steps):
        self.parts.append("".join("[%d]" % s if isinstance(s, int) else (".%s" if i else "%s") % self.name(s) for i, s in enumerate(steps)))
        return self

    def number(self, n, sign=True):
        """One of the spellings of a number."""
        if chance(0.6):
            return n
        d = Decimal(n)
        digits = "".join(map(str, d.as_tuple().digits))
        exponent = d.as_tuple().exponent
        text = "%s%s%s%d" % (rng.choice([(digits, "", "e", exponent), (digits, ".0" if len(digits) < 38 else "", "E", exponent),
            ("", "." + digits, "e", exponent + len(digits))]))
        return "%s%s" % ("-" + rng.choice(["", " ", "+ "]) if d < 0 else rng.choice(["", "+", "- - "]) if sign else "", text)

    def literal(self, v, inside=False):
        (kind, p), = v.items()
        if kind == "S":
            return "'%s'" % p.replace("'", "''")
        if kind == "N":
            return self.number(p)
        if kind == "BOOL":
            return rng.choice([str(p), str(p).lower(), str(p).upper()])
        if kind == "NULL":
            return rng.choice(["null", "NULL"])
        if kind == "L":
            return "[%s]" % ", ".join(self.literal(e) for e in p)
        if kind == "M":
            return "{%s}" % ", ".join("'%s': %s" % (k.replace("'", "''"), self.literal(e)) for k, e in p.items())
        return "<<%s>>" % ", ".join(self.literal({kind[0]: e}) for e in p)

    def value(self, v):
        if has_bytes(v) or chance(self.share):
            self.parameters.append(v)
            self.parts.append("?")
        else:
            self.parts.append(self.literal(v))
        return self

    def comma(self, writers, separator=","):
        for i, write in enumerate(writers):
            if i:
                self.parts.append(separator)
            write()
        return self

    def request(self):
        text = ""
        for part in self.parts:
            text += (rng.choice([" ", " ", " ", "\n", "  ", " /* ; */ ", " -- '\n"]) if text else "") + part
        request = {"Statement": text + rng.choice(["", "", ";", " ; "])}
        if self.parameters:
            request["Parameters"] = self.parameters
        return request


def has_bytes(v):
    (kind, p), = v.items()
    return kind in ("B", "BS") or kind == "L" and any(map(has_bytes, p)) or kind == "M" and any(map(has_bytes, p.values()))


# --- the same for requests: every name and value is a placeholder

class Expression:
    def __init__(self):
        self.names, self.values = {}, {}

    def name(self, name):
        return self.names.setdefault(name, "#n%d" % len(self.names))

    def path(self, steps):
        return "".join("[%d]" % s if isinstance(s, int) else (".%s" if i else "%s") % self.name(s) for i, s in enumerate(steps))

    def value(self, v):
        placeholder = ":v%d" % len(self.values)
        self.values[placeholder] = v
        return placeholder

    def members(self):
        request = {}
        if self.names:
            request["ExpressionAttributeNames"] = {p: n for n, p in self.names.items()}
        if self.values:
            request["ExpressionAttributeValues"] = self.values
        return request


# --- conditions: trees, written for both

TYPES = {"S": ["STRING"], "N": ["NUMERIC"], "B": ["BLOB"], "BOOL": ["BOOL", "BOOLEAN"], "L": ["LIST"], "M": ["STRUCT", "TUPLE"]}
CODES = ["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"]


def operand(size=True):
    p = ("path", path())
    return ("size", p[1]) if size and chance(0.15) else p


def literal(kind=None):
    return "value", value(kind)


def ordered_literal():
    """Of a type that has an order, almost always."""
    return literal(rng.choice("SNB")) if chance(0.97) else literal()


def simple_condition(choose=operand):
    left = choose()
    kind = rng.random()
    if kind < 0.25:
        return "compare", rng.choice(["=", "=", "<>"]), left, literal()
    if kind < 0.4:
        op, right = rng.choice(["<", "<=", ">", ">="]), ordered_literal()
        return ("compare", op, left, right) if chance(0.8) else ("compare", op, right, left)
    if kind < 0.45:
        right = choose()
        return ("compare", rng.choice(["=", "<", ">="]), left, right) if right != left else ("is", left[1], "N")
    if kind < 0.55:
        bounds = [key_value(rng.choice("NNS"))]
        bounds.append(key_value(*bounds[0]))
        if chance(0.9):
            bounds.sort(key=rank)
        return "between", left, ("value", bounds[0]), ("value", bounds[1])
    if kind < 0.65:
        return "in", left, [literal() for _ in range(rng.choice([1, 2, 3, 5]))]
    p = choose(False)[1]
    if kind < 0.75:
        return rng.choice(["attribute_exists", "attribute_not_exists"]), p
    if kind < 0.8:
        return "attribute_type", p, rng.choice(CODES) if chance(0.95) else "X"
    if kind < 0.85:
        return "contains", p, literal(rng.choice("SNB"))
    if kind < 0.9:
        return "begins_with", p, literal("S" if chance(0.95) else "N")
    return "is", p, rng.choice(["MISSING", "NULL"] + list(TYPES))


def condition(depth=2, choose=operand):
    if depth == 0 or chance(0.4):
        return simple_condition(choose)
    kind = rng.choice(["and", "or", "not", "true"])
    if kind == "not":
        return "not", condition(depth - 1, choose)
    if kind == "true":
        c = simple_condition(choose)
        return (kind, c, chance(0.5)) if c[0] in ("attribute_exists", "attribute_not_exists", "attribute_type", "contains", "begins_with", "between") else c
    return kind, condition(depth - 1, choose), condition(depth - 1, choose)


def paths_of(c):
    """The paths in a condition."""
    for part in c if isinstance(c, (tuple, list)) else ():
        if isinstance(part, tuple) and part and part[0] in ("path", "size"):
            yield part[1]
        elif isinstance(part, (tuple, list)):
            yield from paths_of(part)
    if isinstance(c, tuple) and c and c[0] in ("attribute_exists", "attribute_not_exists", "attribute_type", "contains", "begins_with", "is"):
        yield c[1]


BINDING = {"or": 1, "and": 2, "not": 3}


def write_operand(t, o):
    if o[0] == "path":
        t.path(o[1])
    elif o[0] == "size":
        t.word("size", "(").path(o[1]).word(")")
    else:
        t.value(o[1])


def write_condition(t, c, outer=0):
    """As PartiQL."""
    parentheses = BINDING.get(c[0], 9) < outer or chance(0.1)
    if parentheses:
        t.word("(")
    write_bare(t, c)
    if parentheses:
        t.word(")")


def write_bare(t, c):
    kind = c[0]
    if kind in ("and", "or"):
        write_condition(t, c[1], BINDING[kind])
        t.word(kind)
        write_condition(t, c[2], BINDING[kind] + 1)
    elif kind == "not" and c[1][0] == "is" and chance(0.7):
        write_is(t, c[1], "is", "not")
    elif kind == "not":
        t.word("not")
        write_condition(t, c[1], 4)
    elif kind == "true":
        t.word("(")
        write_condition(t, c[1])
        t.word(")", "=").value({"BOOL": c[2]})
    elif kind == "compare":
        write_operand(t, c[2])
        t.word("!=" if c[1] == "<>" and chance(0.5) else c[1])
        write_operand(t, c[3])
    elif kind == "between":
        write_operand(t, c[1])
        t.word("between")
        write_operand(t, c[2])
        t.word("and")
        write_operand(t, c[3])
    elif kind == "in":
        write_operand(t, c[1])
        opening, closing = rng.choice(["[]", "()"])
        t.word("in", opening).comma([lambda v=v: t.value(v[1]) for v in c[2]]).word(closing)
    elif kind == "is":
        write_is(t, c, "is")
    else:
        t.word(kind, "(").path(c[1])
        if kind == "attribute_type":
            t.word(",").value({"S": c[2]})
        elif c[2:]:
            t.word(",").value(c[2][1])
        t.word(")")


def write_is(t, c, *words):
    t.path(c[1]).word(*words).word(c[2] if c[2] in ("MISSING", "NULL") else rng.choice(TYPES[c[2]]))


def expression_operand(e, o):
    return e.value(o[1]) if o[0] == "value" else "size(%s)" % e.path(o[1]) if o[0] == "size" else e.path(o[1])


def expression_of(e, c):
    """As a condition of a request."""
    kind = c[0]
    if kind in ("and", "or"):
        return "(%s) %s (%s)" % (expression_of(e, c[1]), kind.upper(), expression_of(e, c[2]))
    if kind == "not":
        return "NOT (%s)" % expression_of(e, c[1])
    if kind == "true":
        return expression_of(e, c[1] if c[2] else ("not", c[1]))
    if kind == "compare":
        return "%s %s %s" % (expression_operand(e, c[2]), c[1], expression_operand(e, c[3]))
    if kind == "between":
        return "%s BETWEEN %s AND %s" % tuple(expression_operand(e, o) for o in c[1:])
    if kind == "in":
        return "%s IN (%s)" % (expression_operand(e, c[1]), ", ".join(expression_operand(e, o) for o in c[2]))
    if kind == "is" and c[2] == "MISSING":
        return "attribute_not_exists(%s)" % e.path(c[1])
    if kind in ("is", "attribute_type"):
        return "attribute_type(%s, %s)" % (e.path(c[1]), e.value({"S": c[2]}))
    return "%s(%s)" % (kind, ", ".join([e.path(c[1])] + [e.value(v[1]) for v in c[2:]]))


def conjunction(conditions):
    """Of some in any order, or None."""
    whole = None
    for c in conditions:
        whole = c if whole is None else ("and", whole, c)
    return whole


def disjunction(conditions):
    whole = None
    for c in conditions:
        whole = c if whole is None else ("or", whole, c)
    return whole


# --- tables

class Table:
    def __init__(self, number):
        self.name, self.twin = "pq%d" % number, "pq%d-twin" % number
        self.keys = [("pk", rng.choice("SNB"))] + ([("sk", rng.choice("SNB"))] if chance(0.8) else [])
        self.indexes = {}  # name: (keys, projection, other projected names, whether it is global)
        attributes = {"g%d" % i: rng.choice("SNB") for i in range(4)}
        for i in range(rng.randint(0, 2)):
            names = rng.sample(sorted(attributes), rng.randint(1, 2))
            self.index("global%d" % i, [(n, attributes[n]) for n in names], True)
        if len(self.keys) == 2 and chance(0.6):
            name = rng.choice(sorted(attributes))
            self.index("local0", [self.keys[0], (name, attributes[name])], False)
        self.types = dict(self.keys, **{k: t for keys, _, _, _ in self.indexes.values() for k, t in keys})

    def index(self, name, keys, is_global):
        kind = rng.choice(["ALL", "KEYS_ONLY", "INCLUDE"])
        self.indexes[name] = (keys, kind, rng.sample(["a", "n", "data"], rng.randint(1, 3)) if kind == "INCLUDE" else [], is_global)

    def keys_of(self, index):
        return self.indexes[index][0] if index else self.keys

    def projects(self, index, name):
        if index is None or self.indexes[index][1] == "ALL":
            return True
        return name in dict(self.keys) or name in dict(self.indexes[index][0]) or name in self.indexes[index][2]

    def is_global(self, index):
        return index is not None and self.indexes[index][3]

    def create(self):
        def schema(keys):
            return [{"AttributeName": k, "KeyType": t} for (k, _), t in zip(keys, ("HASH", "RANGE"))]
        request = {"BillingMode": "PAY_PER_REQUEST", "KeySchema": schema(self.keys),
                   "AttributeDefinitions": [{"AttributeName": n, "AttributeType": t} for n, t in self.types.items()]}
        for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
            some = [{"IndexName": name, "KeySchema": schema(keys),
                    "Projection": dict({"ProjectionType": kind}, **({"NonKeyAttributes": names} if names else {}))}
                    for name, (keys, kind, names, of_all) in self.indexes.items() if of_all == is_global]
            if some:
                request[member] = some
        for name in (self.name, self.twin):
            send("CreateTable", dict(request, TableName=name))

    def item(self):
        item = {k: key_value(t) for k, t in self.keys}
        item.update({name: key_value(kind) for name, kind in self.types.items() if name not in item and chance(0.8)})
        item.update({name: value(TYPICAL.get(name) if chance(0.8) else None) for name in NAMES if chance(0.5)})
        return item

    def fill(self):
        """Few collections, so that they have items."""
        partitions = rng.sample(KEYS[self.keys[0][1]], 3)
        self.drawn = []  # keys that are there or were there
        for _ in range(rng.choice([0, 15, 40])):
            item = self.item()
            if chance(0.9):
                item["pk"] = rng.choice(partitions)
            for name in (self.name, self.twin):
                send("PutItem", {"TableName": name, "Item": item})
            self.drawn.append(item)

    def key_of(self, item):
        return {k: item[k] for k, _ in self.keys}

    def rank_of(self, item):
        """Of its key, which numbers can be written in several ways in."""
        return tuple(rank(item[k]) for k, _ in self.keys)

    def some_key(self):
        return self.key_of(rng.choice(self.drawn)) if self.drawn and chance(0.9) else self.key_of(self.item())


def matching(items, c):
    """Those of the items that a condition matches; what is wrong with it is told without items too."""
    if c is None:
        return items
    e = Expression()
    text = expression_of(e, c)
    members = e.members()
    found = ask("""SELECT json_agg(i ORDER BY i) FROM json_array_elements(%s) WITH ORDINALITY e(item, i)
                   WHERE dyn_matches(item::text::dyn_item, %s, %s, %s)""", json.dumps([{}] + items), text, members.get("ExpressionAttributeNames"),
                   members.get("ExpressionAttributeValues"))
    return [items[i - 2] for i in found or [] if i > 1]


# --- capacity, of statements and of requests

class Capacity:
    """What is asked for, and what the requests say."""

    def __init__(self, asked):
        self.asked = asked if chance(0.3) else None
        self.known = []  # ConsumedCapacity of requests; None: not the same as that of the statement

    def add_to(self, request):
        if self.asked:
            request["ReturnConsumedCapacity"] = self.asked
        return request

    def take(self, answer):
        """An answer of a request to the twin, which is what is left of it."""
        consumed = answer.pop("ConsumedCapacity", None)
        if self.known is not None and consumed is not None:
            self.known += consumed if isinstance(consumed, list) else [consumed]
        return answer

    def forget(self):
        self.known = None

    def compare(self, both, consumed):
        """What the statement says."""
        if not self.asked:
            if consumed is not None:
                both.fail("nobody asked for capacity: %s" % text_of(consumed))
            return
        if self.known is None:
            return
        count("compared by capacity")
        ours = summed(consumed if isinstance(consumed, list) else [consumed] if consumed else [])
        if ours != summed(self.known):
            both.fail("the capacity is %s, not %s" % (text_of(ours), text_of(summed(self.known))))


def summed(some):
    """The units by table, index and kind."""
    units = {}

    def add(place, part):
        for name, v in part.items():
            if isinstance(v, dict):
                add(place + (name,), v)
            elif name != "TableName":
                units["/".join(place + (name,))] = units.get("/".join(place + (name,)), 0) + v
    for one in some:
        add((), one)
    return units


# --- reads: a list of ranges with a filter for all of them

ANY = "any"  # another limit for each page


class Read:
    def __init__(self, table):
        self.table = table
        self.index = rng.choice([None, None] + list(table.indexes))
        self.keys = table.keys_of(self.index)
        self.partition, self.sort = self.keys[0], self.keys[1] if self.keys[1:] else None
        self.message = None  # that only PartiQL has
        self.ranges = None   # [(partition value, [conditions on the sort key])]; None is a scan
        self.filter = None
        self.order = []      # [(name, direction or None)]
        self.choose()
        self.columns = self.choose_columns()
        self.consistent = chance(0.03 if table.is_global(self.index) else 0.2)
        if self.ranges is not None and chance(0.85) and not all(table.projects(self.index, n) for n in self.filter_names()):
            self.filter = None
        self.limit = rng.choice([None, None, 1, 2, 7, 1000, ANY])
        self.capacity = Capacity(rng.choice(["TOTAL", "INDEXES"]) if self.limit is None else None)
        if self.ranges is not None and any(len(c) > 1 for _, c in self.ranges):
            self.capacity.forget()  # a statement reads less
        if self.message:
            self.have_one_mistake()

    def have_one_mistake(self):
        """So that it is that one which is told."""
        self.columns, self.consistent = None, False
        try:
            matching([], self.filter)
            self.check()
        except Refused:
            self.filter = None

    # what is read

    def in_sort(self, op, *values):
        p = ("path", (self.sort[0],))
        if op == "between":
            return ("between", p) + tuple(("value", v) for v in values)
        if op == "begins_with":
            return "begins_with", (self.sort[0],), ("value", values[0])
        return "compare", op, p, ("value", values[0])

    def range(self):
        """Conditions on the sort key, which narrow the read."""
        if self.sort is None or chance(0.3):
            return []
        kind = self.sort[1]
        op = rng.choice(["=", "<", "<=", ">", ">=", "between"] + (["begins_with"] if kind != "N" else []))
        if op == "between":
            return [self.in_sort(op, *sorted([key_value(kind), key_value(kind)], key=rank))]
        return [self.in_sort(op, key_value(kind))] + ([self.in_sort(rng.choice(["<", ">="]), key_value(kind))] if chance(0.2) else [])

    def disjoint(self):
        """Ranges of one collection that do not meet."""
        kind = self.sort[1]
        if chance(0.5):
            return [[self.in_sort("=", v)] for v in rng.sample(KEYS[kind], rng.randint(2, 4))]
        low, middle, high = sorted(rng.sample(KEYS[kind], 3), key=rank)
        return rng.choice([[[self.in_sort("<", low)], [self.in_sort(">", low)]], [[self.in_sort("<=", low)], [self.in_sort("between", middle, high)]],
                           [[self.in_sort("=", high)], [self.in_sort(">=", low), self.in_sort("<", middle)]]])

    def overlapping(self):
        a, b = sorted(rng.sample(KEYS[self.sort[1]], 2), key=rank)
        return rng.choice([[[self.in_sort(">=", a)], [self.in_sort("<=", b)]], [[self.in_sort("=", a)], [self.in_sort("=", a)]],
                           [[], [self.in_sort("=", b)]], [[self.in_sort("<", b)], [self.in_sort("between", a, b)]]])

    def partition_values(self, n):
        pool = KEYS[self.partition[1]]
        there = [i[self.partition[0]] for i in self.table.drawn if self.partition[0] in i]
        values = [v for v in ([rng.choice(there)] if there and chance(0.9) else []) + rng.sample(pool, min(n + 1, len(pool)))]
        distinct = [v for i, v in enumerate(values) if v not in values[:i]]
        return distinct[:n]

    def choose(self):
        shape = rng.choice(["one"] * 5 + ["in"] * 2 + ["or"] * 2 + ["disjoint"] * 2 + ["both"] * 2 + ["branches"] * 2 + ["overlap", "scan", "scan", "scan"]
            + (["many"] if chance(0.2) else []))
        if self.sort is None and shape in ("disjoint", "overlap", "both", "many") or shape == "many" and "B" in (self.partition[1], self.sort[1]):
            shape = "one"
        self.shape = shape
        if chance(0.6):
            self.filter = condition()
        if shape == "scan":
            self.choose_scan()
            return
        if shape == "one":
            self.ranges = [(self.partition_values(1)[0], self.range())]
            if self.sort and chance(0.15):
                # no range, but a filter on a key
                self.filter = ("compare", "<>", ("path", (self.sort[0],)), ("value", key_value(self.sort[1])))
                self.filter = ("not", ("compare", "=") + self.filter[2:]) if chance(0.5) else self.filter
        elif shape == "in":
            conditions = self.range()
            self.ranges = [(v, conditions) for v in self.partition_values(rng.choice([1, 2, 4]))]
        elif shape == "or":
            self.ranges = [(v, self.range()) for v in self.partition_values(rng.choice([2, 3]))]
        elif shape in ("both", "many"):
            # all combinations of their values
            partitions = self.partition_values(8 if shape == "many" else rng.choice([1, 2, 3]))
            self.sorts = rng.sample(KEYS[self.sort[1]], 8 if shape == "many" else rng.choice([1, 2, 4]))
            self.ranges = [(v, [self.in_sort("=", s)]) for v in partitions for s in self.sorts]
            if shape == "many":
                self.message = "Too many decomposed read operations for a given query."
        elif shape == "branches":
            # each with some partitions that have the same range, or with one that has several
            self.branches = [self.branch(some) for some in parts_of(self.partition_values(rng.choice([2, 3, 4])))]
            self.ranges = [r for branch in self.branches for r in branch]
        else:
            value = self.partition_values(1)[0]
            self.ranges = [(value, c) for c in (self.disjoint() if shape == "disjoint" else self.overlapping())]
            if shape == "overlap":
                self.message = "Overlapping conditions with range keys are not supported in where clause"
        self.choose_order()
        if chance(0.03):
            # of a type that is not the key's
            self.ranges = [(value_of_other(self.partition[1]), c) for _, c in self.ranges[:1]]
            self.shape, self.order = "one", []
            self.message = "Key attribute's data type should match its data type in table's schema: Key " + self.partition[0]

    def branch(self, values):
        if len(values) == 1 and self.sort and chance(0.6):
            return [(values[0], c) for c in self.disjoint()]
        conditions = self.range()
        return [(v, conditions) for v in values]

    def choose_scan(self):
        """Without `=` and IN on the partition key."""
        name, kind = self.partition
        on_key = rng.choice([("compare", rng.choice(["<", ">=", "<>"]), ("path", (name,)), ("value", key_value(kind))), ("attribute_exists", (name,)), None,
            None])
        if on_key is not None:
            self.filter = on_key if self.filter is None else (rng.choice(["and", "or"]), on_key, self.filter)
        elif self.filter is not None and chance(0.2):
            # one branch has no partition key, so there are no ranges
            self.filter = ("or", self.filter, ("compare", "=", ("path", (name,)), ("value", key_value(kind))))

    def choose_order(self):
        if chance(0.6):
            return
        directions = [None, "ASC", "DESC"]
        partition, sort = (self.partition[0], rng.choice(directions)), self.sort and (self.sort[0], rng.choice(directions))
        several = any(v != self.ranges[0][0] for v, _ in self.ranges)
        self.order = rng.choice(([[sort]] if sort and not several else []) + ([[partition, sort]] if sort else []) + [[partition]])

    def choose_columns(self):
        """Paths, or None for all; with names of their own each."""
        if chance(0.4):
            return None
        columns = apart([path() for _ in range(rng.randint(1, 4))] +
            [(k,) for k in rng.sample(sorted(self.table.types), rng.randint(0, min(2, len(self.table.types))))])
        labels = [label(p) for p in columns]
        columns = [p for i, p in enumerate(columns) if labels[i] not in labels[:i]]
        if self.index and chance(0.95):
            columns = [p for p in columns if self.table.projects(self.index, p[0])]
        return columns or None

    # as a statement

    def where(self):
        """A condition, or None."""
        key = lambda v: ("compare", "=", ("path", (self.partition[0],)), ("value", v))
        own = [self.filter] if self.filter is not None else []
        if self.ranges is None:
            return self.filter
        if self.shape in ("both", "many"):
            partitions = [v for i, (v, _) in enumerate(self.ranges) if i % len(self.sorts) == 0]
            keyed = [one_of((self.partition[0],), partitions), one_of((self.sort[0],), self.sorts)]
        elif self.shape == "branches":
            keyed = [disjunction([self.where_of_branch(b) for b in shuffled(self.branches)])]
        elif self.shape == "in":
            keyed = [("in", ("path", (self.partition[0],)), [("value", v) for v, _ in self.ranges])] + self.ranges[0][1]
        elif self.shape == "or":
            keyed = [disjunction([conjunction(shuffled([key(v)] + c)) for v, c in self.ranges])]
        elif self.shape == "one":
            keyed = [key(self.ranges[0][0])] + self.ranges[0][1]
        elif all(c and c[0][0] == "compare" and c[0][1] == "=" and len(c) == 1 for _, c in self.ranges) and chance(0.5):
            keyed = [key(self.ranges[0][0]), ("in", ("path", (self.sort[0],)), [c[0][3] for _, c in self.ranges])]
        elif all(c for _, c in self.ranges) and chance(0.7):
            keyed = [key(self.ranges[0][0]), disjunction([conjunction(c) for _, c in self.ranges])]
        else:
            keyed = [disjunction([conjunction(shuffled([key(v)] + c)) for v, c in self.ranges])]
        return conjunction(shuffled(keyed + own))

    def where_of_branch(self, branch):
        values = [v for i, (v, _) in enumerate(branch) if v not in [w for w, _ in branch[:i]]]
        ranges = [c for v, c in branch if v == values[0]]
        keyed = [one_of((self.partition[0],), values)]
        if len(ranges) == 1:
            keyed += ranges[0]
        elif len(ranges) > 1:
            keyed.append(disjunction([conjunction(c) for c in ranges]))
        return conjunction(shuffled(keyed))

    def statement(self):
        t = Text().word("select")
        if self.columns is None:
            t.word("*")
        else:
            t.comma([lambda p=p: t.path(p) for p in self.columns])
        t.word("from")
        t.parts.append('"%s"' % self.table.name + ('."%s"' % self.index if self.index else ""))
        where = self.where()
        if where is not None:
            t.word("where")
            write_condition(t, where)
        if self.order:
            t.word("order", "by").comma([lambda o=o: t.path((o[0],)).word(*([o[1]] if o[1] else [])) for o in self.order])
        request = t.request()
        if self.consistent:
            request["ConsistentRead"] = True
        return self.capacity.add_to(request)

    # as requests

    def forward(self):
        """The order in one collection; by the partition key only it is the other way round."""
        if not self.order:
            return True
        if self.sort is None or self.order[-1][0] != self.sort[0]:
            return False
        return self.order[-1][1] != "DESC"

    def query(self, value, conditions):
        e = Expression()
        c = conjunction([("compare", "=", ("path", (self.partition[0],)), ("value", value))] + conditions[:1])
        request = {"TableName": self.table.twin, "ScanIndexForward": self.forward(), "ConsistentRead": self.consistent}
        request["KeyConditionExpression"] = " AND ".join(expression_of(e, one) for one in (c[1:] if c[0] == "and" else (c,)))
        if self.filter_is_expression():
            request["FilterExpression"] = expression_of(e, self.filter)
        if self.index:
            request["IndexName"] = self.index
        return self.measured(request, e)

    def fetches(self):
        """Whether a local index lacks columns, which come from the table."""
        return self.index is not None and self.columns is not None and not all(self.table.projects(self.index, p[0]) for p in self.columns)

    def measured(self, request, e):
        """With the names and values; its capacity is that of the statement."""
        whole = dict(request, **e.members())
        if self.capacity.asked and self.fetches():
            projection = ", ".join(e.path(p) for p in self.columns)
            if self.filter is None or self.filter_is_expression():
                self.capacity.take(send("Scan" if self.ranges is None else "Query",
                    self.capacity.add_to(dict(request, ProjectionExpression=projection, **e.members()))))
            else:
                self.capacity.forget()
            return whole
        return self.capacity.add_to(whole)

    def filter_names(self):
        return {p[0] for p in paths_of(("and", self.filter))} if self.filter is not None else set()

    def filter_is_expression(self):
        """Whether Query takes it as it is: of keys it takes none."""
        names = self.filter_names()
        return self.filter is not None and not names & {k for k, _ in self.keys + self.table.keys} and all(self.table.projects(self.index, n) for n in names)

    def pages(self, request):
        """The pages of a range, as they are, and whether one follows each."""
        pages = []
        while True:
            answer = self.capacity.take(send("Query", request))
            pages.append((answer["Items"], "LastEvaluatedKey" in answer))
            if not pages[-1][1]:
                return pages
            request = dict(request, ExclusiveStartKey=answer["LastEvaluatedKey"])

    def entries(self, value, conditions):
        """Of one range."""
        found = [i for page, _ in self.pages(self.query(value, conditions)) for i in page]
        found = matching(found, conjunction(conditions[1:])) if conditions[1:] else found
        return found if self.filter is None or self.filter_is_expression() else matching(found, self.filter)

    def check(self):
        """What is refused whatever there is."""
        if self.columns is not None and self.table.is_global(self.index):
            missing = list(dict.fromkeys(p[0] for p in self.columns if not self.table.projects(self.index, p[0])))
            if missing:
                raise Refused(INVALID)
        if self.ranges is not None and any(not self.table.projects(self.index, n) for n in self.filter_names()):
            raise Refused(INVALID)

    def wanted(self):
        """The items that the requests find, in order; and whether that is one."""
        matching([], self.filter)
        if self.message:
            raise Refused(INVALID)
        if self.consistent and self.table.is_global(self.index):
            raise Refused(INVALID, "Strongly consistent read is not supported on Global Secondary Indexes")
        self.check()
        if self.ranges is None:
            request = {"TableName": self.table.twin, "ConsistentRead": self.consistent}
            if self.index:
                request["IndexName"] = self.index
            if self.filter is not None and all(self.table.projects(self.index, n) for n in self.filter_names()):
                e = Expression()
                request["FilterExpression"] = expression_of(e, self.filter)
                return self.capacity.take(send("Scan", self.measured(request, e)))["Items"], False
            return matching(self.capacity.take(send("Scan", self.measured(request, Expression())))["Items"], self.filter), False
        found = [(v, self.entries(v, c)) for v, c in self.ranges]
        found = [(v, entries) for v, entries in found if entries]
        if self.order:
            # ranges of a collection do not meet, so that their first items are in the order of the ranges
            if self.sort:
                found.sort(key=lambda f: rank(f[1][0][self.sort[0]]), reverse=not self.forward())
            found.sort(key=lambda f: rank(f[0]), reverse=self.order[0] == (self.partition[0], "DESC"))
        ordered = len(self.ranges) == 1 or bool(self.order)
        if self.sort is None and self.table.is_global(self.index) and self.order:
            ordered = False  # nothing says in which order entries with the same keys are
        return [i for _, entries in found for i in entries], ordered

    def rows(self, entries):
        """A local index fetches the item of an entry where a column is not projected."""
        if self.columns is None:
            return entries
        items = get_items([{"TableName": self.table.twin, "Key": self.table.key_of(e)} for e in entries]) if self.fetches() else entries
        rows = [{label(p): resolve(item, p) for p in self.columns} for item in items]
        return [{name: v for name, v in row.items() if v is not None} for row in rows]

    # both

    def compare_pages(self, pages):
        """Of one range each page is one of Query's."""
        value, conditions = self.ranges[0]
        theirs = self.pages(dict(self.query(value, conditions), Limit=self.limit))
        theirs = [(each(self.rows(items)), more) for items, more in theirs]
        if pages != theirs:
            raise AssertionError("the pages are %s, those of Query %s" % (text_of(pages), text_of(theirs)))

    def compare(self):
        statement = self.statement()
        with Both(statement, self.message) as both:
            both.theirs(lambda: self.rows_of_requests())
            both.ours(lambda: self.pages_of_statement(statement))
        if both.refused:
            return
        (rows, ordered), pages = both.wanted, both.got
        got = [i for items, _ in pages for i in items]
        if (got if ordered else sorted(got)) != (rows if ordered else sorted(rows)):
            both.fail("the items are %s, not %s" % (text_of(got), text_of(rows)))
        elif self.filter is None and not self.are_full(pages):
            both.fail("the pages have %s items, with limit %s" % ([len(items) for items, _ in pages], self.limit))
        elif self.limit not in (None, ANY) and self.ranges is not None and len(self.ranges) == 1 and len(self.ranges[0][1]) < 2 and (self.filter is None
            or self.filter_is_expression()) and ordered:
            count("compared by page")
            try:
                self.compare_pages(pages)
            except AssertionError as e:
                both.fail(str(e))
        self.capacity.compare(both, self.consumed)
        count("items" if got else "reads without items")

    def rows_of_requests(self):
        items, ordered = self.wanted()
        return each(self.rows(items)), ordered

    def are_full(self, pages):
        """Without a filter each page but the last one has as many items as it may have."""
        return all(len(items) == limit or not more and (limit is None or len(items) < limit) for (items, more), limit in zip(pages, self.limits))

    def pages_of_statement(self, request):
        pages = []
        self.limits = []
        while len(pages) < 1000:
            self.limits.append(rng.choice([None, 1, 2, 3, 7]) if self.limit == ANY else self.limit)
            if self.limits[-1] is None:
                request.pop("Limit", None)
            else:
                request["Limit"] = self.limits[-1]
            answer = execute(request)
            self.consumed = answer.get("ConsumedCapacity")
            pages.append((each(answer["Items"]), "NextToken" in answer))
            if not pages[-1][1]:
                return pages
            request = dict(request, NextToken=answer["NextToken"])
        raise Refused("none", "the pages do not end")


def label(steps):
    """The name of a column: the last name with the indexes that follow it."""
    last = max(i for i, s in enumerate(steps) if isinstance(s, str))
    return steps[last] + "".join("[%d]" % s for s in steps[last + 1:])


def one_of(steps, values):
    """That something has one of some values."""
    equal = [("compare", "=", ("path", steps), ("value", v)) for v in values]
    return disjunction(equal) if chance(0.3) else ("in", ("path", steps), [e[3] for e in equal])


def parts_of(values):
    """In groups of one or two."""
    parts = []
    while values:
        n = rng.choice([1, 2])
        parts.append(values[:n])
        values = values[n:]
    return parts


def shuffled(parts):
    return rng.sample(parts, len(parts))


def value_of_other(kind):
    return key_value(rng.choice([k for k in "SNB" if k != kind]))


def execute(request):
    return send("ExecuteStatement", request)


OF_BATCHES = {"ConditionalCheckFailed": FAILED, "DuplicateItem": DUPLICATE, "ValidationError": INVALID}


def response_of(response):
    """One of a batch."""
    if "Error" in response:
        raise Refused(OF_BATCHES.get(response["Error"]["Code"], response["Error"]["Code"]), response["Error"].get("Message"))
    return [response["Item"]] if "Item" in response else []


class Both:
    """What a statement and the requests say, and that they refuse the same."""

    def __init__(self, statement, message=None):
        self.statement, self.message = statement, message
        self.wanted = self.got = self.refusal = self.our_refusal = None

    def __enter__(self):
        return self

    def theirs(self, do):
        try:
            self.wanted = do()
        except Refused as e:
            self.refusal = e

    def ours(self, do):
        try:
            self.got = do()
        except Refused as e:
            self.our_refusal = e

    def __exit__(self, kind, *rest):
        if kind is not None:
            return
        self.refused = self.refusal is not None or self.our_refusal is not None
        if not self.refused:
            return
        count("refused")
        if self.refusal is None or self.our_refusal is None or self.refusal.name != self.our_refusal.name:
            self.fail("the statement says %s, the requests %s" % (self.our_refusal, self.refusal))
        elif self.message is not None and self.our_refusal.message != self.message:
            self.fail("the statement says %s, not %s" % (self.our_refusal, self.message))

    def fail_parts(self, got):
        """What differs in a list of responses."""
        parts = [(i, one, other) for i, (one, other) in enumerate(zip(got, self.wanted)) if one != other]
        self.fail("%d responses, not %d; %s" % (len(got), len(self.wanted),
            ", ".join("[%d] is %s, not %s" % (i, text_of(one), text_of(other)) for i, one, other in parts)))

    def fail(self, what):
        global failures
        failures += 1
        print("not ok - %s\n    %s" % (text_of(self.statement), what))


# --- writes

def key_condition(key, other):
    """That names an item, and what is further wanted of it."""
    parts = [("compare", "=", ("path", (name,)), ("value", v)) for name, v in key.items()]
    return conjunction(shuffled(parts + ([other] if other is not None else [])))


class Write:
    """Common to UPDATE, DELETE and EXISTS; in a transaction none has an error of its own that others lack, nor RETURNING."""

    def __init__(self, table, alone=True):
        self.table = table
        self.key = table.some_key()
        self.message = None
        self.condition = condition() if chance(0.3) else None
        self.capacity = Capacity(rng.choice(["TOTAL", "INDEXES"]) if alone else None)
        if not alone:
            return
        if chance(0.03) and len(self.key) == 2:
            del self.key["sk"]
            self.message = "Where clause does not contain a mandatory equality on all key attributes"
        elif chance(0.02):
            self.key["pk"] = value_of_other(table.keys[0][1])

    def refuses(self, code):
        """The code of a statement for one of the request's reasons."""
        return code

    def twin(self):
        return send("GetItem", {"TableName": self.table.twin, "Key": self.key}).get("Item")

    def where(self, t):
        t.word("where")
        write_condition(t, key_condition(self.key, self.condition))

    def compare(self):
        statement = self.capacity.add_to(self.statement())
        with Both(statement) as both:
            both.theirs(self.request)
            both.ours(lambda: execute(statement))
        if not both.refused:
            if "NextToken" in both.got or each(both.got["Items"]) != each(both.wanted):
                both.fail("the answer is %s, not %s" % (text_of(both.got), text_of(both.wanted)))
            self.capacity.compare(both, both.got.get("ConsumedCapacity"))
        elif self.message and both.our_refusal and both.our_refusal.name == INVALID and self.condition is None and both.our_refusal.message != self.message:
            both.fail("the statement says %s, not %s" % (both.our_refusal, self.message))
        compare_item(self.table, self.key, both)


def compare_item(table, key, both):
    try:
        one, other = get_items([{"TableName": name, "Key": key} for name in (table.name, table.twin)])
    except Refused:
        return  # the key is none
    if normal(one) != normal(other):
        both.fail("the item is %s, not %s" % (text_of(one), text_of(other)))


class Delete(Write):
    def __init__(self, table, alone=True):
        super().__init__(table, alone)
        self.returning = alone and chance(0.4)

    def statement(self):
        t = Text().word("delete", "from")
        t.parts.append('"%s"' % self.table.name)
        self.where(t)
        if self.returning:
            t.word("returning", "all", "old", "*")
        return t.request()

    def as_action(self):
        """Of a transaction: to delete what is not there succeeds, whatever else the statement says."""
        e = Expression()
        request = {"TableName": self.table.twin, "Key": self.key}
        if self.condition is not None:
            request["ConditionExpression"] = expression_of(e, ("or", self.condition, ("attribute_not_exists", (self.table.keys[0][0],))))
        return {"Delete": dict(request, **e.members())}

    def request(self):
        e = Expression()
        request = self.capacity.add_to({"TableName": self.table.twin, "Key": self.key, "ReturnValues": "ALL_OLD"})
        if self.condition is not None:
            request["ConditionExpression"] = expression_of(e, self.condition)
        try:
            old = self.capacity.take(send("DeleteItem", dict(request, **e.members()))).get("Attributes")
        except Refused as refused:
            if refused.name != FAILED or self.twin() is not None:
                raise
            self.capacity.forget()
            old = None
        count("deletes" if old else "deletes of nothing")
        if chance(0.8):
            self.table.drawn = [i for i in self.table.drawn if self.table.key_of(i) != self.key]
        return [old] if old and self.returning else []


class Update(Write):
    RETURNING = [None, None, "ALL OLD", "ALL NEW", "MODIFIED OLD", "MODIFIED NEW"]

    def __init__(self, table, alone=True):
        super().__init__(table, alone)
        names = list(table.types) if chance(0.1) else [n for n in table.types if n not in dict(table.keys)]
        paths = apart([path() for _ in range(rng.choice([1, 1, 1, 2, 3]))] + ([(rng.choice(names),)] if names and chance(0.2) else []))
        self.actions = [self.action(p) for p in paths]
        self.returning = rng.choice(self.RETURNING) if alone else None
        if len(self.key) < len(table.keys) and self.condition is None:
            self.actions = [("set", ("a",), ("value", value()))]  # so that nothing else is wrong

    def action(self, p):
        """What takes a number or a list is mostly done where there is one."""
        there = TYPICAL.get(p[0]) if len(p) == 1 else None
        kind = rng.random()
        if there and chance(0.7):
            kind = {"N": 0.4, "L": 0.65, "SS": 0.8, "NS": 0.8}.get(there, kind)
        if kind < 0.35:
            v = key_value(self.table.types[p[0]]) if len(p) == 1 and p[0] in self.table.types and chance(0.8) else value()
            return "set", p, ("value", v)
        if kind < 0.5:
            number = lambda: ("value", value("N" if chance(0.97) else "S"))
            return "set", p, rng.choice([("+", ("path", p), number()), ("-", ("path", p), number()),
                ("+", number(), ("path", rng.choice([("n",), ("a",), p]))), ("-", number(), number())])
        if kind < 0.6:
            return "set", p, ("path", path())
        if kind < 0.7:
            some = ("value", value("L" if chance(0.97) else "N"))
            return "set", p, rng.choice([("list_append", ("path", p), some), ("list_append", some, ("path", p))])
        if kind < 0.85:
            return rng.choice(["set_add", "set_delete"]), p, ("value",
                value(there if there in ("SS", "NS") and chance(0.9) else rng.choice(["SS", "NS", "BS"])))
        return "remove", p, None

    def write_value(self, t, v):
        if v[0] in ("+", "-"):
            write_operand(t, v[1])
            t.word(v[0])
            write_operand(t, v[2])
        elif v[0] == "list_append":
            t.word("list_append", "(")
            write_operand(t, v[1])
            t.word(",")
            write_operand(t, v[2])
            t.word(")")
        else:
            write_operand(t, v)

    def write_actions(self, t):
        before = None
        for kind, p, v in shuffled(self.actions):
            verb = "remove" if kind == "remove" else "set"
            # REMOVE has one path
            if verb == "set" and before == "set" and chance(0.5):
                t.word(",")
            else:
                t.word(verb)
            before = verb
            t.path(p)
            if verb == "set":
                t.word("=")
                if kind == "set":
                    self.write_value(t, v)
                else:
                    t.word(kind, "(").path(p).word(",").value(v[1]).word(")")

    def statement(self):
        t = Text()
        if chance(0.2):
            t.word("from")
            t.parts.append('"%s"' % self.table.name)
            self.where(t)
            self.write_actions(t)
        else:
            t.word("update")
            t.parts.append('"%s"' % self.table.name)
            self.write_actions(t)
            self.where(t)
        if self.returning:
            t.word("returning", *self.returning.lower().split(), "*")
        return t.request()

    def expression_value(self, e, v):
        if v[0] in ("+", "-"):
            return "%s %s %s" % (expression_operand(e, v[1]), v[0], expression_operand(e, v[2]))
        if v[0] == "list_append":
            return "list_append(%s, %s)" % (expression_operand(e, v[1]), expression_operand(e, v[2]))
        return expression_operand(e, v)

    def as_action(self):
        e = Expression()
        clauses = {}
        for kind, p, v in self.actions:
            clause, text = {"set": ("SET", "%s = "), "remove": ("REMOVE", "%s"), "set_add": ("ADD", "%s "), "set_delete": ("DELETE", "%s ")}[kind]
            clauses.setdefault(clause, []).append(text % e.path(p) + (self.expression_value(e, v) if v else ""))
        exists = ("attribute_exists", (self.table.keys[0][0],))
        request = {"TableName": self.table.twin, "Key": self.key}
        request["UpdateExpression"] = " ".join("%s %s" % (clause, ", ".join(texts)) for clause, texts in clauses.items())
        request["ConditionExpression"] = expression_of(e, exists if self.condition is None else ("and", exists, self.condition))
        return {"Update": dict(request, **e.members())}

    def request(self):
        try:
            old = self.twin()
        except Refused:
            old = None  # the update tells what is wrong with the key
        request = self.capacity.add_to(dict(self.as_action()["Update"], ReturnValues="ALL_NEW"))
        new = self.capacity.take(send("UpdateItem", request))["Attributes"]
        count("updates")
        if not self.returning:
            return []
        image = old if self.returning.endswith("OLD") else new
        if self.returning.startswith("MODIFIED"):
            image = picked(image, [p for _, p, _ in self.actions])
        return [image] if image else []


def picked(item, paths):
    """What is at some paths, in the maps and lists around it; lists have only those elements."""
    def of(v, rests):
        if () in rests:
            return v
        (kind, p), = v.items()
        if kind == "M":
            found = {name: of(p[name], [r[1:] for r in rests if r[0] == name]) for name in {r[0] for r in rests if isinstance(r[0], str)} if name in p}
            found = {name: x for name, x in found.items() if x is not None}
        elif kind == "L":
            found = [of(p[i], [r[1:] for r in rests if r[0] == i]) for i in sorted({r[0] for r in rests if isinstance(r[0], int)}) if i < len(p)]
            found = [x for x in found if x is not None]
        else:
            return None
        return {kind: found} if found else None
    return (of({"M": item}, paths) or {"M": {}})["M"]


class Insert:
    def __init__(self, table, alone=True):
        self.table = table
        self.capacity = Capacity(rng.choice(["TOTAL", "INDEXES"]) if alone else None)
        self.item = table.item()
        self.item.update({k: v for k, v in table.some_key().items() if chance(0.3)})
        self.key = table.key_of(self.item)
        table.drawn.append(dict(self.item))
        if not alone:
            return
        if chance(0.05):
            self.item.pop(rng.choice([k for k, _ in table.keys]))
        if chance(0.05):
            name = rng.choice(sorted(table.types))
            self.item[name] = value()

    def statement(self):
        t = Text().word("insert", "into")
        t.parts.append('"%s"' % self.table.name)
        t.word("value", "{")

        def write(name, v):
            t.parts.append("'%s'" % name.replace("'", "''"))
            t.word(":").value(v)
        t.comma([lambda name=name, v=v: write(name, v) for name, v in shuffled(list(self.item.items()))])
        return t.word("}").request()

    def refuses(self, code):
        return "DuplicateItem" if code == "ConditionalCheckFailed" else code

    def as_action(self):
        return {"Put": {"TableName": self.table.twin, "Item": self.item, "ConditionExpression": "attribute_not_exists(#k)",
            "ExpressionAttributeNames": {"#k": self.table.keys[0][0]}}}

    def request(self):
        try:
            self.capacity.take(send("PutItem", self.capacity.add_to(self.as_action()["Put"])))
        except Refused as e:
            if e.name == FAILED:
                raise Refused(DUPLICATE)
            raise
        count("inserts")
        return []

    def compare(self):
        statement = self.capacity.add_to(self.statement())
        with Both(statement, None) as both:
            both.theirs(self.request)
            both.ours(lambda: execute(statement))
        if not both.refused:
            self.capacity.compare(both, both.got.pop("ConsumedCapacity", None))
            if both.got != {"Items": []}:
                both.fail("the answer is %s" % text_of(both.got))
        if both.our_refusal and both.our_refusal.name == DUPLICATE and both.our_refusal.message != "Duplicate primary key exists in table":
            both.fail("the statement says %s" % both.our_refusal)
        if all(k in self.item for k, _ in self.table.keys):
            compare_item(self.table, self.table.key_of(self.item), both)


class Exists(Write):
    """Of transactions only: that the item is there or not, and has something."""

    def __init__(self, table, alone=False):
        super().__init__(table, alone)
        self.condition = rng.choice([("attribute_exists", (table.keys[0][0],)), ("attribute_not_exists", (table.keys[0][0],)), condition()])

    def statement(self):
        t = Text().word("exists", "(", "select", "*", "from")
        t.parts.append('"%s"' % self.table.name)
        self.where(t)
        return t.word(")").request()

    def as_action(self):
        e = Expression()
        request = {"TableName": self.table.twin, "Key": self.key, "ConditionExpression": expression_of(e, self.condition)}
        return {"ConditionCheck": dict(request, **e.members())}


class Get:
    """Of several statements: a SELECT of one item."""

    def __init__(self, table, alone=False):
        self.table, self.key = table, table.some_key()
        columns = [path() for _ in range(rng.randint(1, 3))] + [(k,) for k in rng.sample(sorted(table.types), rng.randint(0, 1))] if chance(0.6) else []
        labels = [label(p) for p in columns]
        self.columns = apart([p for i, p in enumerate(columns) if labels[i] not in labels[:i]])

    def statement(self):
        t = Text().word("select")
        if self.columns:
            t.comma([lambda p=p: t.path(p) for p in self.columns])
        else:
            t.word("*")
        t.word("from")
        t.parts.append('"%s"' % self.table.name)
        t.word("where")
        equal = [one_of((name,), [v]) for name, v in self.key.items()]
        write_condition(t, conjunction(shuffled(equal + ([rng.choice(equal)] if chance(0.1) else []))))
        return t.request()

    def response(self, item):
        """Of a statement that has found an item, or None."""
        if item is None:
            return {}
        values = {label(p): resolve(item, p) for p in self.columns}
        return {"Item": normal({name: v for name, v in values.items() if v is not None} if self.columns else item)}


# --- several statements

def distinct(statements):
    """Those that are of another item than all before."""
    kept = []
    for one in statements:
        if all(one.key != other.key for other in kept):
            kept.append(one)
    return kept


TWICE_IN_BATCH = "Provided list of item keys contains duplicates"
TWICE = "Transaction request cannot include multiple operations on one item"


class Several:
    """A batch or a transaction of statements of one kind, for different items, but for some that are refused."""

    def __init__(self, table):
        self.table = table
        self.capacity = Capacity(rng.choice(["TOTAL", "INDEXES"]))
        n = rng.choice([1, 2, 2, 3, 5, 8])
        if chance(0.4):
            self.parts, self.reads = distinct([Get(table) for _ in range(n)]), True
        else:
            self.parts, self.reads = distinct([rng.choice(self.WRITES)(table, False) for _ in range(n)]), False
        self.message = None
        if chance(0.04) and self.reads:
            self.parts.append(rng.choice(self.parts))
            self.message = self.TWICE
        elif chance(0.03):
            self.parts, self.reads = distinct([Get(table), Insert(table, False)]), False
            self.message = self.MIXED if len(self.parts) == 2 else None
            self.reads = not self.message

    def ours(self, request):
        answer = send(self.OPERATION, self.capacity.add_to(request))
        self.consumed = answer.get("ConsumedCapacity")
        return answer["Responses"]

    def compare_items(self, both):
        for part in self.parts:
            if not self.reads:
                compare_item(self.table, part.key, both)

    def refuse(self):
        """What only several statements are refused for."""
        if self.message:
            raise Refused(INVALID)


class Batch(Several):
    OPERATION, WRITES, TWICE, MIXED = "BatchExecuteStatement", [Update, Update, Delete, Insert], TWICE_IN_BATCH, \
        "Read and write requests together in the same batch is not supported."

    def __init__(self, table):
        super().__init__(table)
        self.consistent = self.reads and chance(0.3)
        self.broken = rng.choice(self.parts) if self.reads and len(table.keys) == 2 and not self.message and chance(0.05) else None
        if self.broken:
            del self.broken.key["sk"]
            self.capacity.forget()

    def request(self):
        statements = [part.statement() for part in self.parts]
        for one in statements if self.consistent else []:
            one["ConsistentRead"] = True
        return {"Statements": statements}

    def theirs(self):
        self.refuse()
        return self.their_reads() if self.reads else self.their_writes()

    def their_reads(self):
        keys = {"Keys": [part.key for part in self.parts if part is not self.broken], "ConsistentRead": self.consistent}
        answer = self.capacity.take(send("BatchGetItem",
            self.capacity.add_to({"RequestItems": {self.table.twin: keys}}))) if keys["Keys"] else {"Responses": {}}
        found = {self.table.rank_of(i): i for i in answer["Responses"].get(self.table.twin, [])}
        return [part.response(found.get(self.table.rank_of(part.key))) if part is not self.broken else INVALID for part in self.parts]

    def their_writes(self):
        """One by one."""
        responses = []
        for part in self.parts:
            part.capacity = self.capacity
            try:
                responses.append({"Item": normal(i) for i in part.request()})
            except Refused as e:
                self.capacity.forget()
                responses.append(e.name)
        return responses

    def compare(self):
        request = self.request()
        with Both(request, self.message) as both:
            both.theirs(self.theirs)
            both.ours(lambda: self.ours(request))
        if not both.refused:
            got = [self.plain(r) for r in both.got]
            if got != both.wanted:
                both.fail_parts(got)
            self.capacity.compare(both, self.consumed)
        self.compare_items(both)

    def plain(self, response):
        try:
            items = response_of(response)
        except Refused as e:
            return e.name
        if response.get("TableName") != self.table.name:
            raise Refused("none", "the table is %s" % response.get("TableName"))
        return {"Item": normal(i) for i in items}


class Transaction(Several):
    OPERATION, WRITES, TWICE, MIXED = "ExecuteTransaction", [Update, Update, Delete, Insert, Exists], TWICE, \
        "ExecuteTransaction API does not support both read and write operations in the same request."

    def __init__(self, table):
        super().__init__(table)
        self.token = "".join(rng.choice("abcdef") for _ in range(20)) if not self.reads and chance(0.2) else None

    def request(self):
        request = {"TransactStatements": [part.statement() for part in self.parts]}
        return dict(request, ClientRequestToken=self.token) if self.token else request

    def theirs(self):
        self.refuse()
        if self.reads:
            answer = send("TransactGetItems", self.capacity.add_to({"TransactItems": [{"Get": {"TableName": self.table.twin, "Key": part.key}}
                for part in self.parts]}))
            # of an item without the attributes nothing is returned, as by TransactGetItems
            responses = [part.response(r.get("Item")) for part, r in zip(self.parts, self.capacity.take(answer)["Responses"])]
            return [r if r.get("Item") else {} for r in responses]
        try:
            self.capacity.take(send("TransactWriteItems", self.capacity.add_to({"TransactItems": [part.as_action() for part in self.parts]})))
        except Refused as e:
            if e.name == CANCELLED:
                self.codes = [part.refuses(r["Code"]) for part, r in zip(self.parts, e.detail["CancellationReasons"])]
            raise
        return []

    def compare(self):
        request = self.request()
        with Both(request, self.message) as both:
            both.theirs(self.theirs)
            both.ours(lambda: self.ours(request))
        if not both.refused:
            got = [normal(r) for r in both.got]
            if got != both.wanted:
                both.fail_parts(got)
            self.capacity.compare(both, self.consumed)
            if self.token:
                self.repeat(request, both)
        elif both.refusal and both.our_refusal and both.refusal.name == both.our_refusal.name == CANCELLED:
            self.compare_reasons(both, [r["Code"] for r in both.our_refusal.detail["CancellationReasons"]])
        self.compare_items(both)

    def compare_reasons(self, both, codes):
        """Of statements that do not fit the table each has a reason, of actions the first one."""
        if both.our_refusal.message != cancelled(codes):
            both.fail("the reasons of %s are %s" % (both.our_refusal, codes))
        some = [c for c in self.codes if c != "None"]
        n = self.codes.index("ValidationError") + 1 if some == ["ValidationError"] else len(codes)
        if len(codes) != len(self.codes) or codes[:n] != self.codes[:n] or not set(codes[n:]) <= {"None", "ValidationError"}:
            both.fail("the reasons are %s, not %s" % (codes, self.codes))

    def repeat(self, request, both):
        """With its token it is not done again."""
        count("repeated")
        try:
            if self.ours(request) != []:
                both.fail("the repeated transaction has responses")
        except Refused as e:
            both.fail("the repeated transaction says %s" % e)


def cancelled(codes):
    return "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]" % ", ".join(codes)


class Nowhere:
    """Statements on a table or an index that is not there."""

    def __init__(self, table):
        self.table = table

    def compare(self):
        kind = rng.choice(["table", "index"])
        name = self.table.name + "-none" if kind == "table" else self.table.name
        request = {"Statement": "SELECT * FROM \"%s\"%s WHERE a = 1" % (name, "" if kind == "table" else ".\"none\"")}
        message = "Requested resource not found" if kind == "table" else "The table does not have the specified index"
        with Both(request, message) as both:
            both.theirs(lambda: send("Scan", dict({"TableName": name}, **({"IndexName": "none"} if kind == "index" else {}))))
            both.ours(lambda: execute(request))


# --- all of it

def compare_tables(table):
    """That all the writes left the same."""
    for index in [None] + list(table.indexes):
        request = {"IndexName": index} if index else {}
        one, other = (sorted(each(send("Scan", dict(request, TableName=name))["Items"])) for name in (table.name, table.twin))
        with Both({"Statement": "all of %s, %s" % (table.name, index)}) as both:
            pass
        if one != other:
            both.fail("the table alone has %s, its twin %s" % ([i for i in one if i not in other], [i for i in other if i not in one]))


def one_statement(table):
    kind = rng.choice([Read] * 8 + [Update] * 3 + [Delete, Insert, Insert, Batch, Batch, Transaction, Transaction])
    if chance(0.01):
        kind = Nowhere
    before = failures
    kind(table).compare()
    count("statements")
    count(kind.__name__.upper())
    return failures == before


def main():
    global cur, failures
    print("seed %d" % seed)
    admin = connect("postgres")
    admin.execute("CREATE DATABASE compare")
    cur = connect("compare")
    cur.execute("CREATE EXTENSION dynamo_table")
    end = time.time() + seconds
    passed = tables = 0
    done = lambda: failures >= 20 or (counts.get("statements", 0) >= most if most is not None else time.time() >= end)
    while not done():
        cur.execute("SELECT set_config('dynamo_table.direct_store', %s, false)", (rng.choice(["on", "on", "off"]),))
        table = Table(tables)
        tables += 1
        table.create()
        table.fill()
        for _ in range(200):
            if done():
                break
            passed += one_statement(table)
        compare_tables(table)
        for name in (table.name, table.twin):
            send("DeleteTable", {"TableName": name})
    if not failures and counts.get("statements", 0) >= 1000 and counts.get("refused", 0) > counts["statements"] / 2:
        print("not ok - too many statements are refused")
        failures += 1
    if counts.get("statements", 0) == 0:
        print("not ok - there are no statements")
        failures += 1
    print("%d tables, %s" % (tables, ", ".join("%d %s" % (n, what) for what, n in sorted(counts.items()))))
    print("compare: %d passed, %d failed" % (passed, failures))
    return failures == 0


if __name__ == "__main__":
    sys.exit(not main())
