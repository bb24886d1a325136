"""Random expressions through a server, against a slow second implementation.

An expression is made as a tree, written as text in one of its many spellings, and evaluated
here on Python objects; dyn_matches, dyn_project and dyn_apply must give the same, or refuse it
where this does.  Then the grammar: soups of tokens and mutated expressions may do nothing but
succeed or fail with a ValidationException.
"""

import base64
import copy
import json
import os
import random
import re
import sys
import time
from decimal import Context, Decimal, Inexact

import psycopg2

seconds = float(sys.argv[1])
seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
print("seed %d" % seed)
rng = random.Random(seed)
counts = {}
failures = 0


def count(what):
    counts[what] = counts.get(what, 0) + 1


def fail(what, *details):
    global failures
    failures += 1
    print("not ok - %s: %s" % (what, " | ".join(map(str, details))))


class Invalid(Exception):
    """ValidationException"""


EXACT = Context(prec=400, Emin=-9999, Emax=9999, traps=[Inexact])

# --- values: (type, Python object); sets are frozensets, so == is DynamoDB's equality

NUMBERS = ["0", "1", "2", "3", "-1", "1.5", "0.1", "10", "99", "100", "1e20", "-1e20", "12345678901234567890123456789012345678", "1e125", "-9e125",
    "1e-130", "3e-130"]
STRINGS = ["", "a", "ab", "abc", "b", "é", "a\0b", "S", "N", "SS", "\U0001d11e", "\uffffé\U00010000"]
BYTES = [b"", b"a", b"ab", b"\x00\xff", b"b"]
NAMES = ["a", "b", "c", "d", "remove", "x1", "Year", "a.b", "é", "status", "A"]


def number():
    """Of the few, so that it is met again; or long, with digits that carry."""
    if rng.random() < 0.7:
        return Decimal(rng.choice(NUMBERS))
    digits = "".join(rng.choice("0999123456789") for _ in range(rng.choice([1, 2, 19, 37, 38])))
    n = Decimal("%s%se%d" % (rng.choice(["", "-"]), digits, rng.choice([0, 0, -1, -19, -38, rng.randint(-130, 88)])))
    return n if not n or -130 <= n.adjusted() <= 125 else Decimal(1)


def some(pool, least):
    return frozenset(rng.choice(pool) for _ in range(rng.randint(least, 4)))


def value(depth=0, kind=None):
    kind = kind or rng.choice(["S", "S", "N", "N", "N", "B", "BOOL", "NULL", "SS", "NS", "BS"] + (["L", "M"] * 3 if depth < 3 else []))
    if kind == "S":
        return kind, rng.choice(STRINGS)
    if kind == "N":
        return kind, number()
    if kind == "B":
        return kind, rng.choice(BYTES)
    if kind == "BOOL":
        return kind, rng.random() < 0.5
    if kind == "NULL":
        return kind, True
    if kind == "SS":
        return kind, some(STRINGS, 1)
    if kind == "NS":
        return kind, frozenset(map(Decimal, some(NUMBERS, 1)))
    if kind == "BS":
        return kind, some(BYTES, 1)
    if kind == "L":
        return kind, [value(depth + 1) for _ in range(rng.randint(0, 4))]
    return kind, attributes(depth + 1, 3)


def attributes(depth=0, most=6):
    return {rng.choice(NAMES): value(depth) for _ in range(rng.randint(0, most))}


def to_json(v):
    kind, p = v
    if kind in ("S", "BOOL", "NULL"):
        return {kind: p}
    if kind == "N":
        return {kind: "%se%d" % (int(p.scaleb(-p.as_tuple().exponent, EXACT)), p.as_tuple().exponent) if rng.random() < 0.2 else str(p)}
    if kind == "B":
        return {kind: base64.b64encode(p).decode()}
    if kind == "L":
        return {kind: [to_json(e) for e in p]}
    if kind == "M":
        return {kind: item_to_json(p)}
    return {kind: [to_json((kind[0], e))[kind[0]] for e in p]}


def item_to_json(item):
    return {name: to_json(v) for name, v in item.items()}


def from_json(j):
    (kind, p), = j.items()
    if kind == "N":
        return kind, Decimal(p)
    if kind == "B":
        return kind, base64.b64decode(p)
    if kind == "L":
        return kind, [from_json(e) for e in p]
    if kind == "M":
        return kind, item_from_json(p)
    if kind in ("SS", "NS", "BS"):
        return kind, frozenset(from_json({kind[0]: e})[1] for e in p)
    return kind, p


def item_from_json(j):
    return {name: from_json(v) for name, v in j.items()}


# --- text: placeholders, spelling

RESERVED = {"Year", "status"}


class Request:
    """The names and values of one request, and its text."""

    def __init__(self):
        self.names, self.vals = {}, {}

    def name(self, name):
        if name in RESERVED or not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) or rng.random() < 0.3:
            placeholder = next((p for p, n in self.names.items() if n == name and rng.random() < 0.8), None)
            placeholder = placeholder or "#n%d" % len(self.names)
            self.names[placeholder] = name
            return placeholder
        return name

    def val(self, v):
        placeholder = next((p for p, w in self.vals.items() if w == v and rng.random() < 0.5), ":%d" % len(self.vals))
        self.vals[placeholder] = v
        return placeholder

    def path(self, steps):
        text = self.name(steps[0])
        for step in steps[1:]:
            text += "[%d]" % step if isinstance(step, int) else "." + self.name(step)
        return text

    def operand(self, o):
        if o[0] == "path":
            text = self.path(o[1])
        elif o[0] == "val":
            text = self.val(o[1])
        elif o[0] in ("+", "-"):
            return "%s %s %s" % (self.operand(o[1]), o[0], self.operand(o[2]))
        else:
            text = "%s(%s)" % (o[0], ", ".join(map(self.operand, o[1:])))
        return "(%s)" % text if rng.random() < 0.03 else text


def keyword(word):
    return rng.choice([word, word.lower(), word.title()])


BINDING = {"or": 1, "and": 2, "not": 3}


def condition_text(r, c, outer=0):
    kind = c[0]
    if kind in ("and", "or"):
        text = "%s %s %s" % (condition_text(r, c[1], BINDING[kind]), keyword(kind.upper()), condition_text(r, c[2], BINDING[kind] + 1))
    elif kind == "not":
        text = "%s %s" % (keyword("NOT"), condition_text(r, c[1], 3))
    elif kind == "compare":
        text = "%s %s %s" % (r.operand(c[2]), c[1], r.operand(c[3]))
    elif kind == "between":
        text = "%s %s %s %s %s" % (r.operand(c[1]), keyword("BETWEEN"), r.operand(c[2]), keyword("AND"), r.operand(c[3]))
    elif kind == "in":
        text = "%s %s (%s)" % (r.operand(c[1]), keyword("IN"), ", ".join(map(r.operand, c[2])))
    else:
        text = "%s(%s)" % (kind, ", ".join(map(r.operand, c[1:])))
    if BINDING.get(kind, 9) < outer or rng.random() < 0.1:
        return "(%s)" % text
    return text


def respace(text):
    return "".join(rng.choice(["", " ", "\n", "  "]) + t if t in "=<>(),.[]+-" else t + " " if t[0] in "#:" or t[0].isalnum() else t
                   for t in re.findall(r"<>|<=|>=|[#:]?[A-Za-z0-9_]+|\S", text)) if rng.random() < 0.3 else text


# --- random expressions

def path():
    steps = [rng.choice(NAMES)]
    length = rng.randint(31, 34) if rng.random() < 0.01 else 4
    while rng.random() < (0.4 if length == 4 else 1) and len(steps) < length:
        steps.append(rng.choice(NAMES) if rng.random() < 0.5 else rng.randint(0, 4))
    return "path", steps


def path_in(item):
    """A path that leads somewhere, mostly."""
    if not item or rng.random() < 0.2:
        return path()
    steps, here = [], ("M", item)
    while here[0] in ("L", "M") and here[1] and (not steps or rng.random() < 0.7):
        step = rng.choice(sorted(here[1])) if here[0] == "M" else rng.randrange(len(here[1]))
        steps.append(step)
        here = here[1][step]
    return "path", steps


def values_in(item):
    found, todo = [], list(item.values())
    while todo:
        v = todo.pop()
        found.append(v)
        todo += v[1] if v[0] == "L" else v[1].values() if v[0] == "M" else []
        if v[0] in ("SS", "NS", "BS"):
            found += [(v[0][0], e) for e in v[1]]
    return found


def literal(item):
    pool = values_in(item)
    return "val", copy.deepcopy(rng.choice(pool)) if pool and rng.random() < 0.5 else value(2)


def operand(item, size=True):
    choice = rng.random()
    if size and choice < 0.15:
        return "size", operand(item, False)
    return path_in(item) if choice < 0.6 else literal(item)


def condition(item, depth=0):
    choice = rng.random()
    if depth < 4 and choice < 0.35:
        kind = rng.choice(["and", "or", "not"])
        return (kind,) + tuple(condition(item, depth + 1) for _ in range(1 if kind == "not" else 2))
    if choice < 0.6:
        return "compare", rng.choice(["=", "<>", "<", "<=", ">", ">="]), operand(item), operand(item)
    if choice < 0.68:
        return "between", operand(item), operand(item), operand(item)
    if choice < 0.75:
        return "in", operand(item), [operand(item) for _ in range(rng.randint(1, 4))]
    if choice < 0.82:
        return rng.choice(["attribute_exists", "attribute_not_exists"]), path_in(item)
    if choice < 0.88:
        return "attribute_type", operand(item, False), ("val", ("S", rng.choice(["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS", "s", ""])))
    return rng.choice(["begins_with", "contains", "contains"]), operand(item, False), operand(item, False)


# --- conditions

TYPES = {"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"}


def resolve(item, steps):
    here = ("M", item)
    for step in steps:
        if isinstance(step, int):
            if here[0] != "L" or step >= len(here[1]):
                return None
        elif here[0] != "M" or step not in here[1]:
            return None
        here = here[1][step]
    return here


def key(v):
    return v[1].encode() if v[0] == "S" else v[1]


def type_of_literal(o):
    return o[1][0] if o[0] == "val" else None


def check_lengths(tree):
    """No path has more than 32 elements."""
    if isinstance(tree, (list, tuple)) and tree and tree[0] == "path":
        if len(tree[1]) > 32:
            raise Invalid
    elif isinstance(tree, (list, tuple)) and tree and tree[0] != "val":
        for part in tree:
            check_lengths(part)


def paths_in(tree):
    if isinstance(tree, (list, tuple)) and tree and tree[0] == "path":
        yield tree[1]
    elif isinstance(tree, (list, tuple)) and tree and tree[0] != "val":
        for part in tree:
            yield from paths_in(part)


def check_condition(c):
    """What is wrong whatever the item."""
    check_lengths(c)
    kind = c[0]
    if kind in ("and", "or", "not"):
        for sub in c[1:]:
            check_condition(sub)
        return
    for o in list(c[1:]) + (c[2] if kind == "in" else []):
        if o[0] == "size" and type_of_literal(o[1]) in ("N", "BOOL", "NULL"):
            raise Invalid
    if (kind == "compare" and c[1] in ("<", "<=", ">", ">=") or kind == "between") and \
            any(type_of_literal(o) not in (None, "S", "N", "B") for o in c[-2:] + c[1:2] if isinstance(o, tuple)):
        raise Invalid
    if kind == "between" and type_of_literal(c[2]) and type_of_literal(c[3]):
        if c[2][1][0] != c[3][1][0] or key(c[2][1]) > key(c[3][1]):
            raise Invalid
    if kind == "attribute_type" and c[2][1][1] not in TYPES:
        raise Invalid
    if kind == "begins_with" and any(type_of_literal(o) not in (None, "S", "B") for o in c[1:]):
        raise Invalid
    if kind == "contains" and (type_of_literal(c[1]) in ("N", "BOOL", "NULL", "M") or c[1][0] == "path" and c[1] == c[2]):
        raise Invalid


def evaluate(item, o):
    if o[0] == "path":
        return resolve(item, o[1])
    if o[0] == "val":
        return o[1]
    v = evaluate(item, o[1])
    if v is None or v[0] in ("N", "BOOL", "NULL"):
        return None
    return "N", Decimal(len(v[1].encode("utf-16-le")) // 2 if v[0] == "S" else len(v[1]))


def compare(op, a, b):
    if op == "=":
        return a is not None and a == b
    if op == "<>":
        return not compare("=", a, b)
    if a is None or b is None or a[0] != b[0] or a[0] not in ("S", "N", "B"):
        return False
    a, b = key(a), key(b)
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def matches(item, c):
    kind = c[0]
    if kind == "and":
        return matches(item, c[1]) and matches(item, c[2])
    if kind == "or":
        return matches(item, c[1]) or matches(item, c[2])
    if kind == "not":
        return not matches(item, c[1])
    if kind == "compare":
        return compare(c[1], evaluate(item, c[2]), evaluate(item, c[3]))
    if kind == "in":
        return any(compare("=", evaluate(item, c[1]), evaluate(item, o)) for o in c[2])
    args = [evaluate(item, o) for o in c[1:]]
    if kind == "between":
        return compare(">=", args[0], args[1]) and compare("<=", args[0], args[2])
    if kind == "attribute_exists":
        return args[0] is not None
    if kind == "attribute_not_exists":
        return args[0] is None
    if None in args:
        return False
    (t, a), (u, b) = args
    if kind == "attribute_type":
        return t == b
    if kind == "begins_with":
        return t == u and t in ("S", "B") and a[:len(b)] == b
    if t in ("S", "B"):
        return t == u and b in a
    if t in ("SS", "NS", "BS"):
        return u == t[0] and b in a
    return t == "L" and (u, b) in a


# --- projections

def check_paths(paths):
    for i, a in enumerate(paths):
        check_lengths(("path", a))
        for b in paths[:i]:
            n = next((n for n, (x, y) in enumerate(zip(a, b)) if x != y or type(x) is not type(y)), min(len(a), len(b)))
            if n == min(len(a), len(b)) or isinstance(a[n], int) != isinstance(b[n], int):
                raise Invalid


def project(v, paths):
    """The value that has only what is at the paths, or None."""
    if any(not p for p in paths):
        return v
    kind, content = v
    steps = sorted({p[0] for p in paths}, key=lambda s: (str(type(s)), s))
    found = []
    for step in steps:
        child = resolve({"": v}, ["", step])
        child = child and project(child, [p[1:] for p in paths if p[0] == step])
        if child is not None:
            found.append((step, child))
    if not found:
        return None
    return kind, dict(found) if kind == "M" else [child for _, child in found]


def project_item(item, paths):
    return (project(("M", item), paths) or ("M", {}))[1]


# --- updates

GONE = object()
def arithmetic(op, a, b):
    n = EXACT.add(a, b) if op == "+" else EXACT.subtract(a, b)
    if n and (len(n.normalize(EXACT).as_tuple().digits) > 38 or not -130 <= n.adjusted() <= 125):
        raise Invalid
    return "N", n


def update_value(item, o):
    if o[0] in ("path", "val"):
        v = evaluate(item, o)
    elif o[0] == "if_not_exists":
        v = evaluate(item, o[1])
        v = update_value(item, o[2]) if v is None else v
    else:
        a, b = update_value(item, o[1]), update_value(item, o[2])
        if o[0] == "list_append":
            if a[0] != "L" or b[0] != "L":
                raise Invalid
            return "L", a[1] + b[1]
        if a[0] != "N" or b[0] != "N":
            raise Invalid
        return arithmetic(o[0], a[1], b[1])
    if v is None:
        raise Invalid
    return v


def check_update(actions):
    check_paths([steps for _, steps, _ in actions])
    for verb, _, o in actions:
        check_lengths(o)
        if verb == "ADD" and o[1][0] not in ("N", "SS", "NS", "BS") or verb == "DELETE" and o[1][0] not in ("SS", "NS", "BS"):
            raise Invalid
        if verb == "SET" and o[0] in ("+", "-", "list_append"):
            for arg in o[1:]:
                if type_of_literal(arg) not in (None, "L" if o[0] == "list_append" else "N"):
                    raise Invalid


def new_value(item, verb, old, o):
    if verb == "SET":
        return update_value(item, o)
    if verb == "REMOVE":
        return GONE
    (kind, operand) = o[1]
    if old is None:
        return (kind, operand) if verb == "ADD" else GONE
    if old[0] != kind:
        raise Invalid
    if verb == "DELETE":
        return (kind, old[1] - operand) if old[1] - operand else GONE
    return arithmetic("+", old[1], operand) if kind == "N" else (kind, old[1] | operand)


def put(v, steps, new, touched):
    """Store a value in place; lists keep their length until they are compacted."""
    for step in steps[:-1]:
        touched.add(id(v))
        v = resolve({"": v}, ["", step])
    touched.add(id(v))
    kind, content = v
    if kind == "L" and steps[-1] >= sum(e is GONE or e[0] != "append" for e in content):
        if new is not GONE:
            content.append(("append", steps[-1], new))
    else:
        content[steps[-1]] = new


def compact(v, only, touched):
    """Without what is gone; with only what was touched, if that is wanted."""
    if id(v) not in touched:
        return v
    kind, content = v
    entries = list(content.items()) if kind == "M" else list(enumerate(content))
    appends = sorted((e[1], e[2]) for _, e in entries if e is not GONE and e[0] == "append") if kind == "L" else []
    result = [(s, e) for s, e in entries if e is not GONE and not (kind == "L" and e[0] == "append")]
    if only:
        # what is appended is found by its index, or not returned
        appends = [(s, e) for n, (s, e) in enumerate(appends, len(result)) if s == n]
    result = [(s, compact(e, only, touched)) for s, e in result if not only or id(e) in touched or id(e) in touched_leaves]
    result = [(s, e) for s, e in result if e is not None]
    result += [(s, compact(e, only, touched)) for s, e in appends]
    if only and not result:
        return None
    return kind, dict(result) if kind == "M" else [e for _, e in result]


touched_leaves = set()


def apply(item, actions, returned, key={}):
    """What dyn_apply() returns, or dyn_update() of the item with that key; None is NULL."""
    absent = item is None
    old = key if absent else item
    creates = any(verb in ("SET", "ADD") for verb, _, _ in actions)
    # copies of one value must not be one object
    root = ("M", copy.deepcopy(json_twin(old)))
    writes, touched = [], set()
    touched_leaves.clear()
    if absent and not creates:
        return None
    for verb, steps, o in actions:
        parent = resolve(old, steps[:-1])
        if parent is None or parent[0] != ("L" if isinstance(steps[-1], int) else "M"):
            if absent and verb in ("REMOVE", "DELETE"):
                if not any(v in ("SET", "ADD") and s[0] == steps[0] for v, s, _ in actions):
                    continue
            raise Invalid
        new = new_value(old, verb, resolve(old, steps), o)
        if new is not GONE:
            new = json_twin({"": new})[""]
            touched_leaves.add(id(new))
        writes.append((steps, new))
    if absent and not creates:
        return None
    for steps, new in writes:
        put(root, steps, new, touched)
    if returned == "ALL_NEW":
        return compact(root, False, touched)[1]
    if returned == "UPDATED_NEW":
        result = compact(root, True, touched)
        return result and result[1]
    result = None if absent else project(("M", old), [steps for _, steps, _ in actions])
    return result and result[1]


def json_twin(item):
    """The same item of objects of its own, so that id() tells places apart."""
    return {name: twin(v) for name, v in item.items()}


def twin(v):
    kind, p = v
    if kind == "L":
        return tuple([kind, [twin(e) for e in p]])
    if kind == "M":
        return tuple([kind, json_twin(p)])
    return tuple([kind, p])


def set_value(item):
    choice = rng.random()
    nested = lambda: ("if_not_exists", path_in(item), rng.choice([path_in, literal])(item)) if rng.random() < 0.3 else rng.choice([path_in, literal])(item)
    if choice < 0.3:
        return rng.choice("+-"), number_operand(item), number_operand(item)
    if choice < 0.5:
        return "list_append", list_operand(item), list_operand(item)
    if choice < 0.65:
        return "if_not_exists", path_in(item), nested()
    return rng.choice([path_in, literal])(item)


def number_operand(item):
    o = rng.choice([path_in(item), path_in(item), literal(item), ("val", value(0, "N")), ("val", value(0, "N"))])
    return ("if_not_exists", path_in(item), o) if rng.random() < 0.2 else o


def list_operand(item):
    o = rng.choice([path_in(item), literal(item), ("val", value(2, "L")), ("val", ("L", [value(3)]))])
    return ("if_not_exists", path_in(item), o) if rng.random() < 0.2 else o


def target(item):
    kind, steps = path_in(item)
    here = resolve(item, steps)
    if here and here[0] == "L" and rng.random() < 0.6:
        steps = steps + [rng.randint(0, len(here[1]) + 1)]
    elif here and here[0] == "M" and rng.random() < 0.6:
        steps = steps + [rng.choice(NAMES)]
    elif len(steps) == 1 and rng.random() < 0.2:
        steps = [rng.choice(NAMES)]
    return steps


def actions_for(item):
    actions = []
    for _ in range(rng.choice([1, 1, 2, 3, 5])):
        verb = rng.choice(["SET", "SET", "SET", "REMOVE", "REMOVE", "ADD", "DELETE"])
        steps = target(item)
        o = None
        if verb == "SET":
            o = set_value(item)
        elif verb != "REMOVE":
            old = resolve(item, steps)
            o = "val", value(0, old[0] if old and rng.random() < 0.8 else rng.choice(["N", "N", "SS", "NS", "BS", "S"]))
        actions.append((verb, steps, o))
        if len(actions) > 1 and rng.random() < 0.9:
            try:
                check_paths([s for _, s, _ in actions])
            except Invalid:
                actions.pop()
    return actions


def update_text(r, actions):
    clauses = []
    for verb in rng.sample(["SET", "REMOVE", "ADD", "DELETE"], 4):
        parts = []
        for _, steps, o in (a for a in actions if a[0] == verb):
            parts.append(r.path(steps) + {"SET": " = ", "REMOVE": ""}.get(verb, " ") + (r.operand(o) if verb == "SET" else r.val(o[1]) if o else ""))
        if parts:
            clauses.append(keyword(verb) + " " + ", ".join(parts))
    return " ".join(clauses)


# --- the server

conn = psycopg2.connect("")
conn.autocommit = True
cur = conn.cursor()
cur.execute("""
CREATE EXTENSION IF NOT EXISTS dynamo_table;
SELECT dyn_create_table('keys', 'a S', 'b S');
CREATE FUNCTION attempt(what text, item text, expression text, names text, vals text, returned text) RETURNS text AS $$
BEGIN
	CASE what
		WHEN 'matches' THEN RETURN dyn_matches(item::dyn_item, expression, names::jsonb, vals::dyn_item);
		WHEN 'project' THEN RETURN dyn_project(item::dyn_item, expression, names::jsonb);
		WHEN 'query' THEN RETURN (SELECT count(*) FROM dyn_query('keys', expression, vals => vals::dyn_item, names => names::jsonb));
		WHEN 'create' THEN RETURN dyn_update('keys', item::dyn_item, expression, names => names::jsonb, vals => vals::dyn_item, return_values => returned);
		ELSE RETURN dyn_apply(item::dyn_item, expression, names::jsonb, vals::dyn_item, returned);
	END CASE;
EXCEPTION WHEN OTHERS THEN
	RETURN '!' || SQLSTATE || ' ' || SQLERRM;
END $$ LANGUAGE plpgsql""")


def ask(rows):
    columns = list(zip(*rows))
    cur.execute("SELECT attempt(a, b, c, d, e, f) FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[]) WITH ORDINALITY AS u "
        "(a, b, c, d, e, f, n) ORDER BY n",
                [list(c) for c in columns])
    return [row[0] for row in cur.fetchall()]


def dumps(o):
    return json.dumps(o)


def row(what, item, text, r, returned="ALL_NEW"):
    return (what, None if item is None else dumps(item_to_json(item)), text, dumps(r.names) if r.names else None,
            dumps(item_to_json(r.vals)) if r.vals else None, returned)


def one_case():
    item = attributes()
    r = Request()
    what = rng.choice(["matches", "matches", "project", "apply", "apply", "create"])
    returned = rng.choice(["ALL_NEW", "ALL_NEW", "UPDATED_NEW", "UPDATED_OLD"])
    try:
        if what == "matches":
            c = condition(item)
            text = condition_text(r, c)
            if rng.random() < 0.1:
                item = None
            check_condition(c)
            want = "true" if matches(item or {}, c) else "false"
        elif what == "project":
            paths = [path_in(item)[1] for _ in range(rng.randint(1, 4))]
            text = ", ".join(map(r.path, paths))
            check_paths(paths)
            want = project_item(item, paths)
        elif what == "create":
            actions = actions_for(item)
            text = update_text(r, actions)
            # a key that there is not
            item = {"a": ("S", "%x" % rng.getrandbits(64)), "b": ("S", "b")}
            check_update(actions)
            if any(steps[0] in item for _, steps, _ in actions):
                raise Invalid
            if any(len(steps) > 1 and steps[0] in item for steps in paths_in([o for _, _, o in actions])):
                raise Invalid
            want = apply(None, actions, returned, item)
        else:
            actions = actions_for(item)
            text = update_text(r, actions)
            if rng.random() < 0.1:
                item = None
            check_update(actions)
            want = apply(item, actions, returned)
            if returned != "ALL_NEW":
                apply(item, actions, "ALL_NEW")
    except Invalid:
        want = Invalid
    return row(what, item, respace(text), r, returned), want


def round_of_values():
    cases = [one_case() for _ in range(300)]
    for (case, want), got in zip(cases, ask([case for case, _ in cases])):
        if want is Invalid:
            good = got is not None and got.startswith("!YD001")
        elif isinstance(want, dict):
            good = got is not None and got.startswith("{") and item_from_json(json.loads(got)) == want
        else:
            good = got == want
        count("%s %s" % (case[0], "refused" if want is Invalid else "null" if want is None else want if want in ("true", "false") else "items"))
        if not good:
            fail(case[0], *case[1:], "got", got, "want", want if not isinstance(want, dict) else dumps(item_to_json(want)))


TOKENS = ["AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE", "=", "<>", "<", "<=", ">", ">=", "(", ")", "(", ")", ",", ".", "[", "]",
          "[0]", "+", "-", "a", "b", "c", "l[1]", "m.a",
          "#a", "#b", ":a", ":b", ":c", "size(a)", "contains(", "attribute_exists(", "if_not_exists(", "list_append(", "begins_with(", "attribute_type(",
          "5", "99999999999", "name", "'", "\"", "#", ":", "!", "é", "\u0001", "\n", "NOT NOT",
          "((((", "))))", "a.b.c[0][1].d", "x" * 300, "#" + "x" * 300, "😀", "\\", "/*", "--", ";", "$1", "a = :a", "b < :b", "size(c) > :c"]


def soup():
    return rng.choice(["", "SET ", "ADD ", ""]) + rng.choice(["", " "]).join(rng.choice(TOKENS) for _ in range(rng.choice([1, 2, 4, 8, 20, 400])))


def mutate(text):
    chars = list(text)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(chars) + 1)
        choice = rng.random()
        if choice < 0.3:
            del chars[at:at + rng.randint(1, 6)]
        elif choice < 0.6:
            chars[at:at] = rng.choice(TOKENS)
        elif choice < 0.8:
            chars[at:at] = chars[max(0, at - 10):at]
        else:
            chars[at:at] = "(" * rng.choice([1, 10, 3000]) + ")" * rng.choice([0, 1, 10])
    return "".join(chars)


KEYS = ["a = :a", "a = :a AND b = :b", ":a = a AND :b < b", "(#a = :a) AND (#b >= :b)", "a = :a AND b BETWEEN :b AND :c", "begins_with(b, :b) AND a = :a"]


def round_of_grammar():
    rows = []
    for _ in range(200):
        case, _ = one_case()
        rows.append((case[0], case[1], mutate(case[2])) + case[3:])
        text = soup() if rng.random() < 0.8 else mutate(rng.choice(KEYS))
        names = {p: p[1] for p in ("#a", "#b") if re.search(p + r"\b", text)}
        vals = {p: rng.choice([value(), ("S", p)]) for p in (":a", ":b", ":c") if re.search(p + r"\b", text)}
        rows.append((rng.choice(["matches", "project", "apply", "query"]), case[1], text, dumps(names), dumps(item_to_json(vals)), "ALL_NEW"))
    for case, got in zip(rows, ask(rows)):
        refused = got is not None and got.startswith("!")
        count("text %s" % ("refused" if refused else "accepted"))
        if refused and not got.startswith("!YD001"):
            fail("error of a text", *case, got)


end = time.time() + seconds
while time.time() < end and failures < 10:
    round_of_values()
    round_of_grammar()
print(", ".join("%d %s" % (n, what) for what, n in sorted(counts.items())))
wanted = {"matches true", "matches false", "matches refused", "project items", "project refused", "apply items", "apply null", "apply refused",
    "text refused", "text accepted"}
if not failures and wanted - set(counts):
    fail("each kind of case", wanted - set(counts))
passed = int(failures == 0)
print("expr: %d passed, %d failed" % (passed, 1 - passed))
sys.exit(passed == 0)
