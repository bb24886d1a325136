"""Requests that botocore signs are accepted, and refused after any change.

    botocore_test.py VERIFY

VERIFY is the program of verify.c.
"""
import datetime
import random
import string
import subprocess
import sys
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
import botocore.session

MISMATCH = ("com.amazon.coral.service#InvalidSignatureException The request signature we calculated "
            "does not match the signature you provided. Check your AWS Secret Access Key and signing "
            "method. Consult the service documentation for details.")
UNKNOWN = ("com.amazon.coral.service#UnrecognizedClientException "
           "The security token included in the request is invalid.")
KEY = "AKIDEXAMPLE"
chance = random.Random(20130609)
verifier = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def encode(value):
    return value if isinstance(value, bytes) else str(value).encode()


def verify(request, secret, key=KEY, now=None):
    fields = [key, secret, int(now or datetime.datetime.now().timestamp()), request["method"], request["path"],
              request["query"], len(request["headers"])]
    for name, value in request["headers"]:
        fields += [name, value]
    fields.append(request["body"])
    for field in fields:
        data = encode(field)
        verifier.stdin.write(b"%d\n%s" % (len(data), data))
    verifier.stdin.flush()
    size = int(verifier.stdout.readline())
    return verifier.stdout.read(size).decode()


def as_sent(url, method, headers, body):
    """What the server sees of a request."""
    parts = urllib.parse.urlsplit(url)
    names = [name.lower() for name in headers.keys()]
    sent = [] if "host" in names else [("Host", parts.netloc)]
    sent += [(name, encode(value)) for name, value in headers.items()]
    return {"method": method, "path": parts.path or "/", "query": parts.query, "headers": sent, "body": encode(body)}


def sign(url, headers, body, secret, region, token=None):
    """A request that botocore has signed."""
    request = botocore.awsrequest.AWSRequest("POST", url, headers=headers, data=body)
    credentials = botocore.credentials.Credentials(KEY, secret, token)
    botocore.auth.SigV4Auth(credentials, "dynamodb", region).add_auth(request)
    return as_sent(url, "POST", request.headers, body)


def ok(holds, name, got=""):
    print(f"{'ok' if holds else 'not ok'} - botocore: {name}")
    if not holds:
        print(f"    got: {got}")


def word(least, most, alphabet=string.ascii_letters + string.digits):
    return "".join(chance.choice(alphabet) for _ in range(chance.randint(least, most)))


def random_request():
    """The arguments of sign(): hosts, queries, blanks and bodies of all kinds."""
    host = word(1, 20, string.ascii_lowercase) + chance.choice(["", ":8000", ".example.com", ".example.com:443"])
    query = "&".join(f"{word(1, 5)}={urllib.parse.quote(word(0, 8, string.printable), safe='~')}"
                     for _ in range(chance.choice([0, 0, 0, 1, 3])))
    headers = {"X-Amz-Target": "DynamoDB_20120810." + word(1, 20),
               "Content-Type": chance.choice(["application/x-amz-json-1.0", "application/json;  charset=utf-8"])}
    for _ in range(chance.choice([0, 0, 1, 5])):
        headers["X-" + word(1, 10)] = word(0, 20, string.ascii_letters + "    \t,;:\"'=") + word(0, 1)
    body = chance.choice([b"{}", b"", word(1, 2000).encode(), bytes(chance.randrange(256) for _ in range(300))])
    return f"http://{host}/" + ("?" + query if query else ""), headers, body


def test_accepted():
    for trial in range(400):
        url, headers, body = random_request()
        secret = word(1, 128, string.printable[:94])
        region = chance.choice(["us-east-1", "eu-central-1", word(1, 70)])
        got = verify(sign(url, headers, body, secret, region), secret)
        if got != f"signed by {KEY}":
            return ok(False, f"{url} {headers} {region}", got)
    ok(True, "400 requests are accepted")


def test_client():
    """The requests of a client of the SDK."""
    session = botocore.session.Session()
    session.set_credentials(KEY, "secret/+=")
    config = botocore.config.Config(retries={"max_attempts": 0})
    client = session.create_client("dynamodb", region_name="eu-west-1", endpoint_url="http://localhost:8000",
                                   config=config)
    sent = []

    def take(request, **_):
        sent.append(as_sent(request.url, request.method, request.headers, request.body or b""))
        return botocore.awsrequest.AWSResponse(request.url, 200, {}, Body())

    client.meta.events.register("before-send.dynamodb.*", take)
    client.list_tables()
    client.put_item(TableName="table", Item={"k": {"S": "ä" * 1000}, "b": {"B": b"\x00\xff"}})
    client.describe_endpoints()
    for request in sent:
        target = dict(request["headers"])["X-Amz-Target"].decode()
        got = verify(request, "secret/+=")
        ok(got == f"signed by {KEY}", f"a client's {target}", got)


class Body:
    """The body of an answer."""

    def stream(self, *_, **__):
        yield b"{}"

    def read(self, *_, **__):
        return b"{}"


def changed(data):
    """Other bytes, of which none is a blank: these may be changed as one likes."""
    place = chance.randrange(len(data))
    other = chance.choice([c for c in b"abcxyz0189" if c != data[place]])
    return data[:place] + bytes([other]) + data[place + 1:]


def test_changed():
    """Whatever is signed is changed."""
    for trial in range(600):
        url, headers, body = random_request()
        request = sign(url, headers, body, "secret", "us-east-1")
        what = chance.choice(["header", "body", "query", "key", "header added"])
        if what == "header":
            place = chance.randrange(len(request["headers"]))
            name, value = request["headers"][place]
            value = encode(value)
            if name.lower() == "authorization":
                place_of = value.index(b"Signature=") + 10
                value = value[:place_of] + changed(value[place_of:])
            elif name.lower() == "content-length" or not value.strip():
                continue
            else:
                place_of = len(value) - len(value.lstrip())
                value = value[:place_of] + changed(value[place_of:].rstrip() or b"x")
            request["headers"][place] = (name, value)
        elif what == "body":
            request["body"] = changed(body) if body else b"x"
        elif what == "query":
            request["query"] += "&x=y"
        elif what == "header added":
            request["headers"].append(("X-Amz-Target", b"DynamoDB_20120810.DeleteTable"))
        got = verify(request, "Secret" if what == "key" else "secret")
        if not got.startswith("com.amazon.coral.service#I"):
            return ok(False, f"changed {what}: {request}", got)
    ok(True, "changed requests are refused")


def test_token_and_key():
    request = sign("http://localhost/", {"X-Amz-Target": "a"}, b"{}", "secret", "us-east-1", token="token")
    got = verify(request, "secret")
    ok(got == f"signed by {KEY}", "a session token does not matter", got)
    request = sign("http://localhost/", {"X-Amz-Target": "a"}, b"{}", "secret", "us-east-1")
    got = verify(request, "secret", key="AKIDOTHER")
    ok(got == UNKNOWN, "an unknown key is refused", got)
    got = verify(request, "other")
    ok(got == MISMATCH, "another secret is refused", got)


test_accepted()
test_client()
test_changed()
test_token_and_key()
verifier.stdin.close()
ok(verifier.wait() == 0, "the program that checks ended well")
