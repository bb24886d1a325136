"""Write the fuzzer's seeds into a folder: small inputs that between them touch every rule."""

import os
import sys

ITEM, VALUE, PLAIN, BINARY, LINE, RAW, RECORDS = (bytes([i]) for i in range(7))

ATTRIBUTES = [
    '"pk":{"S":"ORG#1"}', '"n":{"N":"-0012.50e3"}', '"b":{"B":"AQID/+8="}', '"t":{"BOOL":true}',
    '"z":{"NULL":true}', '"l":{"L":[{"N":"1"},{"L":[]},{"S":""}]}', '"m":{"M":{"x":{"M":{}},"a":{"S":"q"}}}',
    '"ss":{"SS":["b","a",""]}', '"ns":{"NS":["10","9","-1","0","1e-130"]}', '"bs":{"BS":["","AA==","AAA="]}',
    '"\\u00e9\\ud83d\\ude00":{"S":"\\u0000\\n\\"\\\\/"}',
]
PLAINS = [
    '{"a":1.50,"b":[true,false,null,{"c":"d"}],"e":"f"}', '{"a":{"S":"x"}}', '{"n":-1e125}', '{}',
]
NUMBERS = ["0", "-0.0", "9" * 38, "9" * 39, "1e126", "1e125", "1e-130", "1e-131", "-99.9", "5.", ".5", "+3", "1e+", "e"]
# the encoding of src/item/item.h: maps with a string and with a set of numbers, and broken ones
BINARIES = [
    b"\x07\x01\x05\x01a\x01bc", b"\x07\x00", b"\x06\x02\x01\x02\x05\x04", b"\x09\x02\x00\x02\xc1\x02",
    b"\x01abc", b"\x04", b"\x14", b"\x02\xc1\x02", b"\x02", b"\x17\x01\x00\x05\x00\x01a\x01bc", b"\x06\xff\xff",
]
# items, bare and inside, and changes; attributes that are named like the members around items
LINES = [
    '{"Item":{"pk":{"S":"a"}}}', '{"pk":{"S":"a"}}', ' {"Item":{}} ', '{"Item":{"M":{"M":{"M":{}}}}}', '{"Item":{"M":{"M":{"M":{"S":"x"}}}}}',
    '{"Item":{"S":"x"},"k":{"N":"1"}}',
    '{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"k":{"S":"a"}},"NewImage":{"k":{"S":"a"}},"OldImage":{"k":{"L":[]}}}',
    '{"Keys":{"k":{"S":"a"}}}', '{"Keys":{"M":{}}}',
    '{"Metadata":5,"Keys":{"k":{"S":"a"}}}', '{"Items":{"L":[]},"Count":{"N":"1"}}', '{"p":{"S":"a"},"Items":{"M":{}}}',
    '{"Items":[{"p":{"S":"a"}}],"Count":1}', '{"p":"a","x":{"S":5}}', 'p,"q ""r"""\n', '[', '{',
]
# files, with everything that ends a record, a field or an item
FILES = [
    '{"a":1}\r\n\n{"b":2}', 'a,"b ""c"",\n",d\r\n"",,x\n"a"b,c"\n', '"a\r\n', 'a,\r,b\r',
    '{"Items":[{"a":"}]\\""},5],"Count":-1.5e3,"x":{"y":[null,"]"]}} [{}, []]', ' [ ] ',
    '{"Items":[{"a":', '{"Items":null}', '{"Items":[],"Items":[]}', '{"Items" :\n[ true ,false] }',
]


def main(folder):
    seeds = [ITEM + ("{" + a + "}").encode() for a in ATTRIBUTES]
    seeds.append(ITEM + ("{" + ",".join(ATTRIBUTES) + "}").encode())
    seeds.append(ITEM + b'{"d":' + b'{"L":[' * 33 + b"]}" * 33 + b"}")
    seeds.append(ITEM + b'{"w":{"L":[' + b",".join([b'{"S":"' + b"x" * 50 + b'"}'] * 40) + b"]}}")
    seeds += [VALUE + ('{"N":"%s"}' % n).encode() for n in NUMBERS]
    seeds += [VALUE + a.split(":", 1)[1].encode() for a in ATTRIBUTES]
    seeds += [PLAIN + p.encode() for p in PLAINS]
    seeds += [BINARY + b for b in BINARIES]
    seeds += [RAW + b for b in BINARIES]
    seeds += [LINE + s.encode() for s in LINES]
    seeds += [RECORDS + s.encode() for s in FILES]
    for i, seed in enumerate(seeds):
        with open(os.path.join(folder, "seed%03d" % i), "wb") as f:
            f.write(seed)


main(sys.argv[1])
