"""Random reads by the direct store and by the SPI store, which must say the same: items, order, counts,
last keys, errors.  Tables have keys of all types, strings with the bytes that are escaped, and indexes
of up to four and four attributes; what they hold is partly deleted, vacuumed, and in btrees that are no
partial ones.
"""

import base64
import json
import os
import random
import sys
import time

import psycopg2

seconds = float(sys.argv[1])
seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
print("seed %d" % seed)
rng = random.Random(seed)
conn = psycopg2.connect("")
conn.autocommit = True
cur = conn.cursor()
cur.execute("CREATE EXTENSION dynamo_table")
counts = {"tables": 0, "reads": 0, "items": 0, "errors": 0}
failures = 0


def fail(what, *details):
    global failures
    failures += 1
    print("not ok - %s: %s" % (what, " | ".join(map(str, details))))


# --- values: few of each type, so that they meet

STRINGS = ["a", "b", "ab", "a\0", "a\1", "\0", "\1", "\1\1", "\0a", "é", "\ud7ff", "\ue000", "\U0010ffff", "z" * 60]
NUMBERS = ["0", "1", "-1", "1.5", "-1.5", "10", "1e20", "-1e20", "1e-20", "99999999999999999999999999999999999999", "2.50", "1e125", "1e-130"]
BYTES = [b"\0", b"\1", b"\xff", b"\xff\xff", b"a", b"a\0", b"\0\xff", b"b" * 60]


def value(kind):
    if kind == "S":
        return {"S": rng.choice(STRINGS) + (rng.choice(STRINGS) if rng.random() < 0.2 else "")}
    if kind == "N":
        return {"N": rng.choice(NUMBERS) if rng.random() < 0.7 else str(rng.randint(-50, 50) / 4)}
    return {"B": base64.b64encode(rng.choice(BYTES) + (rng.choice(BYTES) if rng.random() < 0.2 else b"")).decode()}


def typed(kind="SNB"):
    return rng.choice(kind)


# --- tables

class Table:
    def __init__(self):
        self.name = "table%d" % counts["tables"]
        self.keys = [("pk", typed())] + ([("sk", typed())] if rng.random() < 0.8 else [])
        self.attributes = {"k%d" % i: typed() for i in range(rng.randint(1, 6))}
        self.indexes = {}
        for i in range(rng.randint(1, 3)):
            names = rng.sample(sorted(self.attributes), min(len(self.attributes), rng.randint(1, 6)))
            if rng.random() < 0.3:
                names[rng.randrange(len(names))] = rng.choice(self.keys)[0]
            npartition = min(4, rng.randint(1, len(names)))
            self.indexes["index%d" % i] = (names[:npartition], names[npartition:][:4], rng.choice(["ALL", "KEYS_ONLY"]))
        self.types = dict(self.attributes, **dict(self.keys))

    def key_text(self, names):
        return ["%s %s" % (n, self.types[n]) for n in names]

    def create(self):
        definitions = {}
        for name, (partition, sort, projection) in self.indexes.items():
            definitions[name] = {"partition_key": self.key_text(partition), "projection": projection}
            if sort:
                definitions[name]["sort_key"] = self.key_text(sort)
        keys = ["%s %s" % k for k in self.keys]
        cur.execute("SELECT dyn_create_table(%s, %s, %s, global_indexes => %s)", (self.name, keys[0], keys[1] if keys[1:] else None, json.dumps(definitions)))

    def item(self):
        item = {name: value(kind) for name, kind in self.keys}
        item.update({name: value(kind) for name, kind in self.attributes.items() if rng.random() < 0.85})
        item["n"] = {"N": str(rng.randint(0, 9))}
        item["body"] = {"S": "".join(chr(rng.randint(97, 122)) for _ in range(rng.choice([10, 300, 300, 6000 if rng.random() < 0.1 else 50])))}
        return item

    def fill(self):
        # few partition keys, so that collections are some
        self.items = []
        partitions = [value(self.types["pk"]) for _ in range(rng.randint(1, 8))]
        for _ in range(rng.choice([0, 20, 200, 400])):
            item = self.item()
            if rng.random() < 0.9:
                item["pk"] = rng.choice(partitions)
            self.items.append(item)
        for item in self.items:
            cur.execute("SELECT dyn_put(%s, %s)", (self.name, json.dumps(item)))
        for item in self.items:
            if rng.random() < 0.1:
                cur.execute("SELECT dyn_delete(%s, %s)", (self.name, json.dumps(self.key_of(item))))

    def key_of(self, item, names=()):
        return {name: item[name] for name in [k for k, _ in self.keys] + list(names) if name in item}

    def disturb(self):
        """The visibility map, hint bits, nulls in btrees."""
        if rng.random() < 0.6:
            cur.execute("VACUUM ANALYZE " + self.name)
            for item in rng.sample(self.items, len(self.items) // 20):
                cur.execute("SELECT dyn_put(%s, %s)", (self.name, json.dumps(item)))
        if rng.random() < 0.3:
            cur.execute("SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass AND NOT indisprimary "
                "LIMIT 1",
                        (self.name,))
            found = cur.fetchone()  # none if all indexes share the primary key's btree
            if found:
                cur.execute("DROP INDEX " + found[0])
                cur.execute(found[1].split(" WHERE ")[0])


# --- reads

def choose_item(table):
    return rng.choice(table.items) if table.items and rng.random() < 0.8 else table.item()


def condition_on(name, kind, vals):
    """A condition on the sort key attribute after those that equal something."""
    ops = ["< :l", "<= :l", "> :l", ">= :l", "BETWEEN :l AND :u"] + (["begins_with"] if kind != "N" else [])
    op = rng.choice(ops)
    vals[":l"] = value(kind)
    if ":u" in op:
        vals[":u"] = value(kind)
    return "begins_with(%s, :l)" % name if op == "begins_with" else "%s %s" % (name, op)


def key_condition(table, partition, sort, like):
    vals = {}
    terms = []
    equal = rng.randint(0, len(sort))
    for i, name in enumerate(partition + sort[:equal]):
        vals[":v%d" % i] = like.get(name) or value(table.types[name])
        terms.append("%s = :v%d" % (name, i))
    if equal < len(sort) and rng.random() < 0.8:
        terms.append(condition_on(sort[equal], table.types[sort[equal]], vals))
    return " AND ".join(terms), vals


def common(table, index):
    """Arguments that queries and scans share."""
    arguments = {}
    partition, sort, projection = table.indexes[index] if index else ([], [], "ALL")
    if index:
        arguments["index_name"] = index
    keys = list(dict.fromkeys(partition + sort + [k for k, _ in table.keys]))
    if rng.random() < 0.3:
        arguments["projection"] = ", ".join(rng.sample(keys, rng.randint(1, len(keys))) + (["n"] if projection == "ALL" and rng.random() < 0.5 else []))
    if rng.random() < 0.3:
        if projection == "ALL" and rng.random() < 0.5:
            arguments["filter"] = "n < :n"
            arguments["vals"] = {":n": {"N": str(rng.randint(0, 9))}}
    return arguments


def start_key(table, index, equal):
    """Of an item that is there, was there, or never was; in the collection that is read, mostly."""
    names = sum(table.indexes[index][:2], []) if index else []
    key = table.key_of(choose_item(table), names)
    if rng.random() < 0.9:
        key.update({name: v for name, v in equal.items() if name in key})
    return key


def random_read(table):
    index = rng.choice([None] + list(table.indexes))
    arguments = common(table, index)
    paged = rng.random() < 0.5
    arguments["page_size" if paged else "max_items"] = rng.choice([1, 2, 7, 1000] + ([] if paged else [None] * 3))
    if rng.random() < 0.2 and paged:
        arguments["select_mode"] = "COUNT"
        arguments.pop("projection", None)
    kind = rng.random()
    if kind < 0.15:
        return "SELECT dyn_get(%s, %s)::text", [table.name, table.key_of(choose_item(table))]
    equal = {}
    if kind < 0.7:
        partition, sort = table.indexes[index][:2] if index else ([table.keys[0][0]], [k for k, _ in table.keys[1:]])
        like = choose_item(table)
        condition, vals = key_condition(table, partition, sort, like)
        equal = {name: vals[":v%d" % i] for i, name in enumerate(partition)}
        arguments["vals"] = dict(arguments.get("vals", {}), **vals)
        arguments["key_condition"] = condition
        arguments["forward"] = rng.random() < 0.5
        function = "dyn_query"
    else:
        if rng.random() < 0.5:
            arguments["total_segments"] = rng.choice([1, 2, 5, 40])
            arguments["segment"] = rng.randrange(arguments["total_segments"])
        function = "dyn_scan"
    if rng.random() < 0.4:
        arguments["start_key"] = start_key(table, index, equal)
    named = ", ".join("%s => %%s" % a for a in arguments)
    if paged:
        return "SELECT items::text, item_count, scanned_count, last_evaluated_key::text FROM %s_page(%%s, %s)" % (function,
            named), [table.name] + list(arguments.values())
    return "SELECT i::text FROM %s(%%s, %s) i" % (function, named), [table.name] + list(arguments.values())


def ask(store, sql, values):
    cur.execute("SET dynamo_table.direct_store = %s", (store,))
    try:
        cur.execute(sql, [json.dumps(v) if isinstance(v, dict) else v for v in values])
        return cur.fetchall()
    except psycopg2.Error as e:
        return [("error", e.pgcode, e.diag.message_primary, e.diag.message_detail, e.diag.message_hint)]


def check_stores(table):
    """That they are two."""
    for store, name in (("on", "direct"), ("off", "sql")):
        for index in [None] + list(table.indexes):
            if ask(store, "SELECT store FROM dyn_explain(%s, index_name => %s)", [table.name, index]) != [(name,)]:
                fail("%s is not read by the other store" % table.name, store, index)


def compare(table):
    sql, values = random_read(table)
    one, other = ask("on", sql, values), ask("off", sql, values)
    counts["reads"] += 1
    counts["items"] += len(one)
    counts["errors"] += one[:1] != [] and one[0][0] == "error"
    if one != other:
        fail("the stores differ", sql, json.dumps(values), "direct", one, "sql", other)


def main():
    end = time.time() + seconds
    while time.time() < end and failures < 10:
        table = Table()
        table.create()
        counts["tables"] += 1
        cur.execute("SET dynamo_table.direct_store = on")
        table.fill()
        table.disturb()
        check_stores(table)
        for _ in range(150):
            compare(table)
        cur.execute("SELECT dyn_drop_table(%s)", (table.name,))
    if counts["errors"] > counts["reads"] / 4:
        fail("too many reads are errors")
    print(", ".join("%d %s" % (n, what) for what, n in counts.items()))
    print("stores: %d passed, %d failed" % (counts["reads"] - failures, failures))
    sys.exit(failures != 0)


main()
