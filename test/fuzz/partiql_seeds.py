"""Write the seeds of partiql_fuzz.c into a folder, and a dictionary beside it: the statements of the
cases, on the keys that the fuzzer has, and some that name keys in every way."""

import json
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLES = 6  # kinds of keys that the fuzzer has

KEYED = [
    "pk = 'a' AND sk = 'b'", "pk = 'a' AND sk BETWEEN 'a' AND 'b' AND sk > 'a'", "pk = 'a' AND (sk < 'b' OR sk = 'b')",
    "pk IN ['a', 'b'] AND begins_with(sk, 'a')",
    "'a' = pk AND sk IN (1, 2)", "pk = 'a' AND NOT sk = 1", "(pk = 'a' AND sk <= 1) OR (pk = 'b' AND sk >= 2)", "pk = ? AND sk < ?", "pk = 1 AND sk > ?",
    "g = 'a' AND n > 1 AND a = 1",
    "n = 1 OR n = 2", "n IN [1, 2, 2.5]", "pk = 'a' AND (a = 1 OR attribute_exists(m.k))", "pk = 'a' AND pk = 'b'",
    "pk = 'a' AND sk <> 'b' AND size(l) > 1", "pk IN ['a'] AND sk IS NOT MISSING",
]
CHANGES = [
    "SET a = a + 1", "SET n = n - 1 SET g = 'x'", "SET l = list_append(l, [1])", "SET l = list_append([1], l) REMOVE m.j[0]", "SET s = set_add(s, <<'c'>>)",
    "SET s = set_delete(s, <<'a'>>)",
    "SET t = set_add(t, <<3>>), m.k = 1", "SET l[0] = a, l[9] = ?", "SET m.j[0] = {'k': [<<1>>, null]}", "REMOVE l[0] REMOVE m",
]
TOKENS = ("?|<<|>>|--|/*|*/|''|\"\"|[|]|{|}|<>|!=|<=|>=|'a'|'b'|'ab'|1|2.5|-|\"pk\"|pk|sk|a|g|n|m.k|l[0]|t|s|sk = |pk = 'a' AND |contains("
          "|attribute_exists(|attribute_not_exists(|attribute_type(|begins_with("
          "|list_append(|set_add(|set_delete(|size(|is not missing|all old *|modified new *").split("|")


def names_of(model):
    """What the key attributes are called here."""
    names = {}
    for table, others in ((model["table"], ("pk", "sk")), *((index, ("g", "n")) for index in model.get("gsis") or [])):
        for key, other in zip(("pk", "sk"), others):
            if table.get(key):
                names.setdefault(table[key]["name"], other)
    return names


def renamed(value, names, table):
    """With these names, and this table, in the statements."""
    if isinstance(value, list):
        return [renamed(v, names, table) for v in value]
    if not isinstance(value, dict):
        return value
    value = {k: renamed(v, names, table) for k, v in value.items()}
    if isinstance(value.get("Statement"), str):
        value["Statement"] = re.sub(r"\w+", lambda m: names.get(m.group(), m.group()), value["Statement"].replace("$TABLE", table))
    return value


def requests(table):
    """Operations and requests."""
    with open(os.path.join(TOP, "test/conformance/partiql/partiql.json"), encoding="utf-8") as f:
        for model in json.load(f):
            names = names_of(model)
            for operation in model["operations"]:
                if "Execute" in operation["op"]:
                    yield operation["op"], renamed(operation["request"], names, table)


def all_statements():
    """Of the table t."""
    seeds = [one["Statement"] for _, request in requests("t") for one in [request] + request.get("Statements", []) + request.get("TransactStatements", [])
        if isinstance(one.get("Statement"), str)]
    seeds += ["%s %s" % (verb, where) for where in KEYED for verb in ("SELECT * FROM t WHERE", "SELECT a, m.k FROM t.i WHERE", "DELETE FROM t WHERE",
        "UPDATE t SET a = 1 WHERE")]
    seeds += ["SELECT * FROM t WHERE %s ORDER BY %s" % (where, order) for where in KEYED for order in ("pk", "sk DESC", "pk DESC, sk", "n")]
    seeds += ["UPDATE t %s WHERE pk = 'a' AND sk = 'a' RETURNING %s" % (change, which) for change in CHANGES for which in ("MODIFIED OLD *", "ALL NEW *")]
    return [s for s in dict.fromkeys(seeds) if len(s) < 4096]


def tokens():
    with open(os.path.join(TOP, "src/api/partiql/keyword.c"), encoding="utf-8") as f:
        keywords = [word for word, token in re.findall(r'\{"(\w+)", (\w+)\}', f.read()) if token != "KEYWORD"]
    return [" %s " % token if token.isalpha() and len(token) > 2 else token for token in keywords + TOKENS]


def main(folder):
    seeds = [(i % TABLES, seed) for i, seed in enumerate(all_statements())]
    seeds += [(table, "SELECT * FROM t WHERE " + where) for table in range(TABLES) for where in KEYED]
    for i, (table, seed) in enumerate(seeds):
        with open(os.path.join(folder, "seed%04d" % i), "wb") as f:
            f.write(bytes([table]) + seed.encode())
    with open(folder + ".dict", "w", encoding="utf-8") as f:
        for token in tokens():
            f.write('"%s"\n' % token.replace('"', '\\"'))


if __name__ == "__main__":
    main(sys.argv[1])
