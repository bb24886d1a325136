"""Write what the fuzzers begin with: seeds.py FOLDER."""
import gzip
import os
import sys
import zlib

DATE = "20130609T100015Z"
SCOPE = "20130609/us-east-1/dynamodb/aws4_request"
AUTHORIZATION = (f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{SCOPE}, SignedHeaders=host;x-amz-date;x-amz-target, "
                 "Signature=" + "0" * 64)
HEADERS = "Host:localhost:8000\nX-Amz-Target:DynamoDB_20120810.GetItem\n"
JSON = ['{"TableName": "t", "Key": {"k": {"S": "\\u00e4\\ud83d\\ude00"}}, "n": [1, -2.5e+10, true, false, null]}',
        "[" * 1000 + "]" * 1000, "[" * 1001 + "]" * 1001, '{"a":' * 30 + "1" + "}" * 30, '"ä€😀\\u0000\\n\\""', " [ ] ", "0.1E-1"]


def raw(data):
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush()


def signature_seeds():
    for choice in (b"\x00\x00\x00", b"\x01\x00\x00", b"\x01\x01\x00"):
        for query in ("", "a=b&c=%20&X-Amz-Algorithm=x", "b&a=+"):
            for authorization in (AUTHORIZATION, AUTHORIZATION.replace(", ", ","), "AWS4-HMAC-SHA256 Credential=a/b",
                                  AUTHORIZATION.replace("AKID", "BKID"), "Basic x",
                                  AUTHORIZATION.replace("host", "x-amz-security-token;host")):
                for date in (DATE, "Sun, 09 Jun 2013 10:00:15 GMT", "20130609"):
                    yield choice + f"{query}\n{authorization}\n{date}\n{HEADERS}X: a  b\nx:c\n\n{{}}".encode()


def body_seeds():
    for choice in range(8):
        for data in (b"{}", b"a" * 100000, bytes(range(256)), b""):
            for packed in (gzip.compress(data), zlib.compress(data), raw(data), gzip.compress(data) * 2, data[:3000]):
                yield bytes([choice]) + packed


def request_seeds():
    for target in ("DynamoDB_20120810.GetItem", "DynamoDBStreams_20120810.GetRecords", "DynamoDB_20120810.TransactWriteItems", "-", "x.y"):
        for content_type in ("application/x-amz-json-1.0", "application/json; charset=utf-8", "text/xml", "-"):
            for text in JSON[:1] + ['{"TransactItems": [{"Put": {}}, {"a": "]\\"}"}], "TableName":"t"}', "", "{"]:
                head = f"{target}\n{content_type}\n".encode()
                yield head + b"-\n" + text.encode()
                yield head + b"gzip\n" + gzip.compress(text.encode())


def write(folder, seeds):
    os.makedirs(folder, exist_ok=True)
    for number, seed in enumerate(seeds):
        with open(os.path.join(folder, f"seed{number}"), "wb") as file:
            file.write(seed)


write(os.path.join(sys.argv[1], "signature"), signature_seeds())
write(os.path.join(sys.argv[1], "body"), body_seeds())
write(os.path.join(sys.argv[1], "json"), (text.encode() for text in JSON))
write(os.path.join(sys.argv[1], "request"), request_seeds())
