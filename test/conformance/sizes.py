"""Sizes of random values: size() of strings is the length that they have in UTF-16, while items count their
bytes in UTF-8, and numbers their significant digits, those before the point and those behind it each for
themselves.  All values of a kind are asked for by one statement.
"""

import json
import os
import random
import sys
from decimal import Decimal

import psycopg2

VALUES = 100_000
seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
print("seed %d" % seed)
rng = random.Random(seed)
conn = psycopg2.connect("")
conn.autocommit = True
cur = conn.cursor()
cur.execute("CREATE EXTENSION dynamo_table")
failures = 0
passed = 0

# first and last code points of what is stored in 1 to 4 bytes, and of what UTF-16 cannot write as one unit
EDGES = [0x00, 0x01, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfffd, 0xfffe, 0xffff, 0x10000, 0x10001, 0xfffff, 0x100000, 0x10fffe, 0x10ffff]
COMBINING = list(range(0x300, 0x370)) + [0x200d, 0xfe0f, 0x1f3fb, 0x1f3ff, 0xe0101]
RANGES = [(0x20, 0x7e), (0xa0, 0x24f), (0x300, 0x36f), (0x3040, 0x30ff), (0x4e00, 0x9fff), (0xac00, 0xd7a3), (0xe000, 0xffff), (0x1d100, 0x1d1ff),
          (0x1f300, 0x1faff), (0x20000, 0x2a6df), (0x10000, 0x10ffff)]


def string():
    parts = []
    for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 8, 13, 40])):
        choice = rng.random()
        if choice < 0.3:
            parts.append(rng.choice(EDGES))
        elif choice < 0.4:
            parts.append(rng.choice(COMBINING))
        else:
            parts.append(rng.randint(*rng.choice(RANGES)))
    return "".join(map(chr, parts))


def number():
    """As somebody may write it, with at most 38 significant digits."""
    digits = rng.choice(["", "0", "00", "000"]) + "".join(rng.choice("0001234567899") for _ in range(rng.choice([1, 1, 2, 3, 4, 5, 8, 19, 37, 38])))
    digits += rng.choice(["", "", "0", "00", "0000000"])
    point = rng.choice([None, 0, len(digits), rng.randint(0, len(digits)), rng.randint(0, len(digits))])
    text = digits if point is None else digits[:point] + "." + digits[point:]
    exponent = rng.choice([None, None, 0, rng.randint(-5, 5), rng.randint(-40, 40), rng.randint(-130, 125)])
    text = rng.choice(["", "", "-", "+"]) + text + ("" if exponent is None else rng.choice(["e", "E"]) + rng.choice(["", "+"] if exponent >= 0 else [""]) +
        str(exponent))
    value = Decimal(text)
    return text if not value or -130 <= value.adjusted() <= 125 and len(value.as_tuple().digits) - trailing_zeros(value) <= 38 else number()


def trailing_zeros(value):
    digits = "".join(map(str, value.as_tuple().digits))
    return len(digits) - len(digits.rstrip("0"))


def number_size(text):
    """By the digits that are left when the number is written without an exponent."""
    whole, _, fraction = "{:f}".format(Decimal(text).copy_abs()).partition(".")
    before, behind = whole.lstrip("0"), fraction.rstrip("0")
    if not behind:
        before = before.rstrip("0")
    if not before:
        behind = behind.lstrip("0")
    if not before and not behind:
        return 1
    return 1 + (len(before) + 1) // 2 + (len(behind) + 1) // 2 + (Decimal(text) < 0)


def wrong(statement, values, wanted):
    """What is said of a value otherwise than is wanted, of all values in one statement."""
    cur.execute("SELECT n, got FROM (SELECT n, want::int, %s AS got FROM ROWS FROM (json_array_elements_text(%%s), json_array_elements_text(%%s))"
                " WITH ORDINALITY AS u (v, want, n)) AS all_of_them WHERE got IS DISTINCT FROM want LIMIT 5" % statement,
                (json.dumps(values), json.dumps(wanted)))
    return [(values[n - 1], wanted[n - 1], got) for n, got in cur.fetchall()]


def compare(what, statement, values, wanted):
    global failures, passed
    different = wrong(statement, values, wanted)
    failures += len(different)
    passed += not different
    for value, want, got in different:
        print("not ok - %s of %s: %s, not %s" % (what, value, got, want))
    print("%d: %s" % (len(values), what))


def main():
    strings = [string() for _ in range(VALUES)]
    items = [json.dumps({"s": {"S": s}}, ensure_ascii=rng.random() < 0.2) for s in strings]
    units = [len(s.encode("utf-16-le")) // 2 for s in strings]
    # the size is the one number that is no less and no more
    compare("size() of strings", "CASE WHEN dyn_matches(v::dyn_item, 'size(s) BETWEEN :n AND :n', vals => format('{\":n\":{\"N\":\"%%s\"}}', "
        "want)::dyn_item) THEN want::int END", items, units)
    compare("sizes of strings in items", "dyn_size(v::dyn_item) - 1", items, [len(s.encode()) for s in strings])
    numbers = [number() for _ in range(VALUES)]
    sizes = list(map(number_size, numbers))
    compare("sizes of numbers", "dyn_size(format('{\"n\":{\"N\":\"%%s\"}}', v)::dyn_item) - 1", numbers, sizes)
    compare("sizes of numbers in sets", "dyn_size(format('{\"n\":{\"NS\":[\"%%s\"]}}', v)::dyn_item) - 1", numbers, sizes)
    print("sizes: %d passed, %d failed" % (passed, failures))
    sys.exit(failures != 0)


main()
