"""Write the seeds of backend_fuzz.c into a folder, one folder for each target: arguments of calls in the SQL tests."""

import glob
import os
import random
import re
import sys

import partiql_seeds
from arguments import Corpus, DEFINITIONS, ITEMS, TOP, WORDS

MOST = 400  # seeds for a target
TOKENS = {
    "expression": "AND OR NOT BETWEEN IN SET REMOVE ADD DELETE size( attribute_exists( attribute_not_exists( attribute_type( begins_with( contains( "
        "if_not_exists( list_append( #a :a :b <> <= >= [0] ( ) , . = +".split(),
    "statement": partiql_seeds.tokens(),
    "template": "< > << : . # :05 :-05 :upper :lower :year :month :day :hour :minute :second <a> <a:3>".split(),
    "plan": '"OrgId" "Name" "UserId" "Number" "Status" "Closed" "Founded" "Mood" "Lines" a. b. = < >= AND OR NOT NULL IS IN ( ) \'1\' 7 ::text ::integer '
        '::numeric ::date ::uuid current_date lower( ANY( ARRAY[ COALESCE( random()'.split(),
    "options": "tables view-type format only-streams true false typed plain KEYS_ONLY NEW_IMAGE NEW_AND_OLD_IMAGES fuzz.app".split(),
}


def routines():
    """Names of parameters by the names of functions, from the extension's scripts."""
    script = "".join(open(f, encoding="utf-8").read() for f in sorted(glob.glob(os.path.join(TOP, "dynamo_table--*.sql")), key=len))
    out = {}
    for m in re.finditer(r"CREATE (?:FUNCTION|PROCEDURE) ((?:dynamo_internal\.|dyn_)\w+)\(([^)]*)\)", script):
        parameters = [re.sub(r"^(VARIADIC|INOUT) ", "", p.strip()).split(" ") for p in m.group(2).split(",")]
        out.setdefault(m.group(1), [(p[0].strip('"'), p[1] if len(p) > 1 else "") for p in parameters])
    return out


def seeds(corpus, rng):
    """Pieces for each target."""
    texts = lambda name: corpus.by_name.get(name) or [""]
    some = lambda name: rng.choice(texts(name))
    item = lambda: rng.choice(ITEMS + texts("item") + texts("key"))
    out = {t: [] for t in "expression request statement template entity member migration plan options arguments label row".split()}
    for kind, names in (("c", ["condition", "filter"]), ("u", ["update"]), ("p", ["projection"]), ("k", ["key_condition"])):
        for call in [c for calls in corpus.calls.values() for c in calls]:
            out["expression"] += [(kind, call[n], call.get("names", ""), call.get("vals", ""), call.get("item", item())) for n in names if n in call]
    operations = ("Query Scan GetItem PutItem UpdateItem DeleteItem BatchGetItem BatchWriteItem TransactGetItems TransactWriteItems "
                  "BatchExecuteStatement ExecuteTransaction CreateTable").split()
    for i, operation in enumerate(operations):
        for request in corpus.requests.get(operation, []):
            out["request"].append((chr(len(operations) * 7 + i),
                re.sub(r'"TableName": ?"[^"]*"', '"TableName":"%s"' % rng.choice(["app", "num", "multi"]), request)))
    for s in partiql_seeds.all_statements():
        text = re.sub(r'"?\bt\b"?', rng.choice(["app", "app", "num", "solo", "multi"]), s, count=1)
        out["statement"].append((text.replace(".i", ".GSI1"), '[{"S":"a"},{"N":"1"},{"S":"ORG#1"},{"NS":["1","2"]},{"L":[]}]' if "?" in text else "",
            rng.choice("0125")))
    for t in texts("template") + [w for w in WORDS if "<" in w]:
        out["template"].append((t, some("vals"), some("template")))
    for keys, attributes in [(c["keys"], c["attributes"]) for calls in corpus.calls.values() for c in calls if "keys" in c and "attributes" in c]:
        out["entity"].append(('{"entity":"X","type_attribute":"Type","type":"X","keys":%s,"attributes":%s}' % (keys, attributes), item(), item()))
        out["member"].append(('{"entity":"X","keys":%s,"attributes":%s}' % (keys, attributes), item(), "2", "7"))
    out["member"] += [(d, item(), "0") for d in DEFINITIONS]
    out["member"] += [(d, item(), "2", v) for d in DEFINITIONS for v in ("7", "2024-05-01", "a")]
    out["migration"] = [('{"migration":"m","steps":%s}' % s,) for s in texts("steps")]
    out["plan"] = [(c, w) for c in "ABCD" for w in ('"OrgId" = \'1\'', 'a."OrgId" = b."OrgId"', 'b."Number" = 7 AND b."Closed" IS NULL',
        '"Name" IN (\'a\', \'b\')')]
    out["options"] = [("tables", "fuzz.app,\"A b\""), ("view-type", "KEYS_ONLY", "format", "plain"), ("only-streams",)]
    out["arguments"] = [("s", j) for j in corpus.json if "settings" in j] + [("i", j) for j in texts("global_indexes")] + [("k", k)
        for k in texts("partition_key")]
    out["arguments"] += [("s",
        '{"settings":{"tags":{"a":"b"},"ttl_attribute":"x","ttl_status":"ENABLED","read_capacity_units":5,"deletion_protection":true}}'),
        ("i", '{"index":"GSI1","partition_key":["g S"],"sort_key":["h N"],"projection":"ALL"}')]
    out["label"] = [('{"later":1,"entities":[%s]}' % e[0], "") for e in out["entity"]] + [('{"migrations":[%s]}' % m[0], "m") for m in out["migration"]]
    out["label"] += [('{"settings":{"tags":{"a":"b"},"created":1.5,"billing_mode":"PROVISIONED","read_capacity_units":5,'
                      '"global_indexes":{"GSI1":{"write_capacity_units":3}},'
                      '"table_class":"STANDARD","deletion_protection":true}}', "s"),
        ('{"access_patterns":[{"pattern":"a"}],"entities":[{"entity":"Z"}],"\\u0000":[1e999,{}]}', "")]
    out["row"] = [(a, o, n) for a in "iud" for o, n in ((b"\x07\x02\x06\x09\x02\x04n\xc1\x02k\x01abc", b"\x07\x01\x05\x01a\x01bc"),
        (b"\x07\x00", b"\x02\xc1\x02"), (b"", b"\x17\x01\x00\x05\x00\x01a\x01bc"))]
    return out


def main(folder):
    rng = random.Random(1)
    corpus = Corpus(routines())
    for target, all_seeds in seeds(corpus, rng).items():
        os.mkdir(os.path.join(folder, target))
        for i, pieces in enumerate(rng.sample(all_seeds, min(MOST, len(all_seeds)))):
            with open(os.path.join(folder, target, "seed%03d" % i), "wb") as f:
                f.write(b"\x1f".join(p if isinstance(p, bytes) else p.encode() for p in pieces))
        with open(os.path.join(folder, target + ".dict"), "w", encoding="utf-8") as f:
            for token in sorted(set(TOKENS.get(target, []) +
                [m for s in all_seeds[:100] for p in s if isinstance(p, str) for m in re.findall(r'"\w{2,20}"', p)]))[:200]:
                f.write('"%s"\n' % token.replace("\\", "\\\\").replace('"', '\\"'))


main(sys.argv[1])
