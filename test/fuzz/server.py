"""Random items through a server, against a second implementation of the canonical form.

Each item goes in as text and must come out as canonical() here says; it must be the same
inline, compressed and in TOAST, through the binary format, and as plain JSON.  Mutated
binary is refused with an error of ours or is what it is: nothing is ever half accepted.
"""

import base64
import io
import json
import os
import random
import struct
import sys
import time
from decimal import Decimal

import psycopg2

seconds = float(sys.argv[1])
seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
print("seed %d" % seed)
rng = random.Random(seed)
counts = {"items": 0, "binary accepted": 0, "binary refused": 0}
failures = 0


def fail(what, *details):
    global failures
    failures += 1
    print("not ok - %s: %s" % (what, " | ".join(map(str, details))))


# --- random values, as Python objects: ("S", str), ("N", str), ("L", [..]), ("M", {..}) …

ALPHABET = "abcXYZ012 #_-.\"\\/\n\t\u0001\u007fé€ÿ\ud7ff\ue000😀\U0010ffff"


def string(most=12, nul=True):
    s = "".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, most)))
    return s + "\0" if nul and rng.random() < 0.02 else s


def number():
    digits = "".join(rng.choice("0123456789") for _ in range(rng.choice([1, 1, 2, 3, 5, 10, 37, 38])))
    point = rng.randint(0, len(digits))
    text = rng.choice(["", "-", "+"]) + digits[:point] + ("." if point < len(digits) else "") + digits[point:]
    if rng.random() < 0.3:
        text += "%s%d" % (rng.choice("eE"), rng.randint(-80, 80))
    return text


def value(depth):
    kind = rng.choice(["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS"] + (["L", "M"] * 2 if depth < 6 else []))
    some = rng.choice([0, 1, 2, 3, 8, 40])
    if kind == "S":
        return kind, string(rng.choice([0, 5, 40, 400]))
    if kind == "N":
        return kind, number()
    if kind == "B":
        return kind, bytes(rng.randrange(256) for _ in range(rng.choice([0, 1, 2, 3, 60])))
    if kind == "BOOL":
        return kind, rng.random() < 0.5
    if kind == "NULL":
        return kind, True
    if kind == "SS":
        return kind, list({string() for _ in range(some + 1)})
    if kind == "NS":
        return kind, list({decimal(n): n for n in (number() for _ in range(some + 1))}.values())
    if kind == "BS":
        return kind, list({bytes(rng.randrange(256) for _ in range(rng.randint(0, 4))) for _ in range(some + 1)})
    if kind == "L":
        return kind, [value(depth + 1) for _ in range(rng.randint(0, 4))]
    return kind, attributes(depth + 1)


def attributes(depth):
    return {string() or "x": value(depth) for _ in range(rng.choice([0, 1, 3, 10, 30]) if depth == 0 else rng.randint(0, 4))}


# --- the reference: DynamoDB JSON in canonical form

def decimal(text):
    return Decimal(text)


def plain_number(text):
    sign, digits, exponent = Decimal(text).as_tuple()
    while len(digits) > 1 and digits[-1] == 0:
        digits, exponent = digits[:-1], exponent + 1
    digits = "".join(map(str, digits)).lstrip("0")
    if not digits:
        return "0"
    if exponent >= 0:
        text = digits + "0" * exponent
    elif len(digits) > -exponent:
        text = digits[:exponent] + "." + digits[exponent:]
    else:
        text = "0." + "0" * (-exponent - len(digits)) + digits
    return ("-" if sign else "") + text


def quote(s):
    return json.dumps(s, ensure_ascii=False).replace("\x7f", "\x7f")


def b64(b):
    return '"%s"' % base64.b64encode(b).decode()


def payload(kind, v):
    if kind == "S":
        return quote(v)
    if kind == "N":
        return '"%s"' % plain_number(v)
    if kind == "B":
        return b64(v)
    if kind in ("BOOL", "NULL"):
        return "true" if v else "false"
    if kind == "SS":
        return "[%s]" % ",".join(quote(s) for s in sorted(v, key=lambda s: s.encode()))
    if kind == "NS":
        return "[%s]" % ",".join('"%s"' % plain_number(n) for n in sorted(v, key=decimal))
    if kind == "BS":
        return "[%s]" % ",".join(b64(b) for b in sorted(v))
    if kind == "L":
        return "[%s]" % ",".join(canonical_value(e) for e in v)
    return canonical(v)


def canonical_value(v):
    return '{"%s":%s}' % (v[0], payload(*v))


def canonical(item):
    names = sorted(item, key=lambda n: n.encode())
    return "{%s}" % ",".join("%s:%s" % (quote(n), canonical_value(item[n])) for n in names)


def sloppy_value(v):
    """The same value as a user might write it: any order, white space, escapes."""
    kind, p = v
    if kind == "M":
        return sloppy({"M": p}, raw=True)
    if kind == "L":
        return '{"L" : [%s ]}' % " , ".join(sloppy_value(e) for e in p)
    if kind == "N":
        return '{"N":"%s"}' % p
    if kind == "NS":
        return '{ "NS":[%s]}' % ",".join('"%s"' % n for n in p)
    if kind in ("S", "SS"):
        return json.dumps({kind: p})
    return canonical_value(v)


def sloppy(item, raw=False):
    if raw:
        return '{"M": %s}' % sloppy(item["M"])
    names = list(item)
    rng.shuffle(names)
    return "{ %s}" % " ,\n".join("%s:%s" % (json.dumps(n), sloppy_value(item[n])) for n in names)


def in_range(v):
    kind, p = v
    if kind in ("N", "NS"):
        return all(not decimal(n) or -130 <= decimal(n).adjusted() <= 125 for n in ([p] if kind == "N" else p))
    if kind in ("L", "M"):
        return all(map(in_range, p if kind == "L" else p.values()))
    return True


# --- the server

conn = psycopg2.connect("")
conn.autocommit = True
cur = conn.cursor()
cur.execute("""
CREATE EXTENSION IF NOT EXISTS dynamo_table;
CREATE TABLE rt (id int, text text, main dyn_item, external dyn_item, extended dyn_item) WITH (toast_tuple_target = 128);
ALTER TABLE rt ALTER text SET STORAGE EXTERNAL, ALTER external SET STORAGE EXTERNAL, ALTER extended SET STORAGE EXTENDED;
CREATE TABLE wire (item dyn_item)""")


def copy_binary(datum):
    cur.execute("TRUNCATE wire")
    stream = b"PGCOPY\n\xff\r\n\0" + struct.pack("!IIhi", 0, 0, 1, len(datum)) + datum + struct.pack("!h", -1)
    cur.copy_expert("COPY wire FROM STDIN (FORMAT binary)", io.BytesIO(stream))


def mutate(datum):
    b = bytearray(datum)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(b))
        choice = rng.random()
        if choice < 0.5:
            b[at] = rng.choice([rng.randrange(256), (b[at] + 1) % 256, (b[at] - 1) % 256])
        elif choice < 0.7:
            del b[at:at + rng.randint(1, 4)]
        elif choice < 0.9:
            b[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
        else:
            b[at:at] = b[max(0, at - 8):at]
        if not b:
            return b"\0"
    return bytes(b)


def round_of_items(n):
    items = []
    while len(items) < n:
        item = attributes(0)
        if all(in_range(v) for v in item.values()):
            items.append(item)
    cur.execute("TRUNCATE rt")
    texts = [sloppy(i) for i in items]
    cur.execute("INSERT INTO rt SELECT n, t, t::dyn_item, t::dyn_item, t::dyn_item FROM unnest(%s) WITH ORDINALITY AS u (t, n)", (texts,))
    cur.execute("""
        SELECT main::text, external::text = main::text AND extended::text = main::text AND main = external AND main = extended
               AND external = extended AND text::dyn_item = extended AND main::text::dyn_item = external
               AND dynamo_internal.item_hash(main) = dynamo_internal.item_hash(external), dynamo_internal.item_send(extended)
          FROM rt ORDER BY id""")
    sent = []
    for item, text, (got, same, wire) in zip(items, texts, cur.fetchall()):
        counts["items"] += 1
        if got != canonical(item):
            fail("canonical form", text, got, canonical(item))
        if not same:
            fail("the same wherever it is stored", text)
        sent.append(bytes(wire))
    return sent


def round_of_binary(sent):
    for datum in sent:
        copy_binary(datum)
        cur.execute("SELECT dynamo_internal.item_send(item) FROM wire")
        if bytes(cur.fetchone()[0]) != datum:
            fail("binary there and back", datum.hex())
        for _ in range(20):
            mutated = mutate(datum)
            try:
                copy_binary(mutated)
            except psycopg2.OperationalError as e:
                fail("the server survives", mutated.hex(), e)
                raise
            except psycopg2.Error as e:
                counts["binary refused"] += 1
                # YD001 is ours; 08P01 is the protocol's, for a datum without bytes
                if e.pgcode not in ("YD001", "08P01"):
                    fail("error of mutated binary", mutated.hex(), e.pgcode, e)
                continue
            counts["binary accepted"] += 1
            cur.execute("SELECT dynamo_internal.item_send(item), item::text::dyn_item = item FROM wire")
            wire, same = cur.fetchone()
            if bytes(wire) != mutated or not same:
                fail("accepted binary is canonical", mutated.hex())


end = time.time() + seconds
while time.time() < end and failures < 10:
    round_of_binary(round_of_items(200)[:20])
print(", ".join("%d %s" % (n, what) for what, n in counts.items()))
passed = int(failures == 0 and min(counts.values()) > 0)
print("server: %d passed, %d failed" % (passed, 1 - passed))
sys.exit(passed == 0)
