"""boto3: the client with waiters and paginators, the resource with its tables, batch_writer and conditions."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from decimal import Decimal

import boto3
import botocore.session
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary
from botocore.config import Config
from botocore.exceptions import ClientError, NoCredentialsError

# versions before 1.28 do not know the variable
ENDPOINT = os.environ["AWS_ENDPOINT_URL"]
client = boto3.client("dynamodb", endpoint_url=ENDPOINT)
resource = boto3.resource("dynamodb", endpoint_url=ENDPOINT)
WAIT = {"Delay": 1, "MaxAttempts": 600}
failures = 0


def test(what):
    """Decorator that runs a test at once and reports it."""
    def run(function):
        global failures
        try:
            function()
            print("ok - boto: %s" % what)
        except Exception:
            failures += 1
            print("not ok - boto: %s\n    %s" % (what, traceback.format_exc().replace("\n", "\n    ")))
    return run


def failure(call, **arguments):
    """The error that a call ends with."""
    try:
        answer = call(**arguments)
    except ClientError as e:
        return e
    raise AssertionError("no error, but %s" % answer)


def psql(*statements):
    subprocess.run([os.environ["PSQL"], "-qXAt", "-U", "postgres", "-d", "postgres"] + [a for s in statements for a in ("-c", s)], check=True,
                   stdout=subprocess.DEVNULL)


def equal(got, expected):
    assert got == expected, "got %r, expected %r" % (got, expected)


@test("create_table and its waiter")
def _():
    table = resource.create_table(
        TableName="boto_table", BillingMode="PROVISIONED", ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in (("artist", "S"), ("song", "S"), ("year", "N"))],
        KeySchema=[{"AttributeName": "artist", "KeyType": "HASH"}, {"AttributeName": "song", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[{"IndexName": "by-year", "KeySchema": [{"AttributeName": "year", "KeyType": "HASH"}],
                                 "Projection": {"ProjectionType": "ALL"}, "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}])
    table.wait_until_exists()
    equal(table.table_status, "ACTIVE")
    equal(table.provisioned_throughput["WriteCapacityUnits"], 6)
    client.get_waiter("table_exists").wait(TableName="boto_table", WaiterConfig=WAIT)


table = resource.Table("boto_table")


@test("values of all types")
def _():
    item = {"artist": "a", "song": "types", "text": "", "number": Decimal("1.0000000000000000000000000000000000001"), "negative": Decimal("-1E-130"),
            "binary": Binary(b"\x00\xff"), "empty": Binary(b""), "yes": True, "no": False, "nothing": None, "strings": {"x", "y"},
            "numbers": {Decimal(1), Decimal("2.5")}, "binaries": {Binary(b"1"), Binary(b"2")}, "list": [1, "a", [None]], "map": {"deep": {"er": [True]}}}
    table.put_item(Item=item)
    got = table.get_item(Key={"artist": "a", "song": "types"}, ConsistentRead=True)["Item"]
    equal(got, item)


@test("conditional failure with the item")
def _():
    e = failure(table.put_item, Item={"artist": "a", "song": "types"}, ConditionExpression=Attr("artist").not_exists())
    equal(e.response["Error"], {"Code": "ConditionalCheckFailedException", "Message": "The conditional request failed"})
    equal(e.response["ResponseMetadata"]["HTTPStatusCode"], 400)
    equal(e.response["ResponseMetadata"]["RetryAttempts"], 0)
    equal(len(e.response["ResponseMetadata"]["RequestId"]), 52)
    assert isinstance(e, table.meta.client.exceptions.ConditionalCheckFailedException)


@test("update_item with condition objects")
def _():
    got = table.update_item(
        Key={"artist": "a", "song": "types"}, UpdateExpression="SET #m.deep.more = :v, #l[0] = :n REMOVE #b",
        ConditionExpression=Attr("strings").contains("x") & Attr("list").size().eq(3),
        ExpressionAttributeNames={"#m": "map", "#l": "list", "#b": "binary"}, ExpressionAttributeValues={":v": "new", ":n": Decimal(7)},
        ReturnValues="ALL_NEW")["Attributes"]
    equal(got["map"], {"deep": {"er": [True], "more": "new"}})
    equal(got["list"][0], 7)
    assert "binary" not in got
    got = table.delete_item(Key={"artist": "a", "song": "types"}, ReturnValues="ALL_OLD")["Attributes"]
    equal(got["map"]["deep"]["more"], "new")


@test("batch_writer: more than a batch, duplicates, deletes")
def _():
    with table.batch_writer(overwrite_by_pkeys=["artist", "song"]) as batch:
        for n in range(130):
            batch.put_item(Item={"artist": "b", "song": "s%03d" % (n % 120), "year": 2000 + n % 4, "n": n})
        batch.delete_item(Key={"artist": "b", "song": "s119"})
    equal(table.query(KeyConditionExpression=Key("artist").eq("b"), Select="COUNT")["Count"], 119)
    equal(table.get_item(Key={"artist": "b", "song": "s005"})["Item"]["n"], 125)


@test("query and scan with conditions, index, filter, projection")
def _():
    got = table.query(KeyConditionExpression=Key("artist").eq("b") & Key("song").between("s010", "s020"), ScanIndexForward=False, Limit=3,
                      FilterExpression=Attr("n").gt(0), ProjectionExpression="song")
    equal(got["Items"], [{"song": "s0%d" % n} for n in (20, 19, 18)])
    equal(got["LastEvaluatedKey"], {"artist": "b", "song": "s018"})
    got = table.query(IndexName="by-year", KeyConditionExpression=Key("year").eq(2001))
    equal(got["Count"], len([n for n in list(range(10, 119)) + list(range(120, 130)) if n % 4 == 1]))
    equal(table.scan(FilterExpression=Attr("n").is_in([125, 17]))["Count"], 2)


@test("paginators")
def _():
    pages = list(client.get_paginator("query").paginate(TableName="boto_table", KeyConditionExpression="artist = :a",
                                                        ExpressionAttributeValues={":a": {"S": "b"}}, PaginationConfig={"PageSize": 50}))
    equal([p["Count"] for p in pages], [50, 50, 19])
    total = client.get_paginator("scan").paginate(TableName="boto_table", PaginationConfig={"PageSize": 33}).build_full_result()
    equal(len(total["Items"]), 119)
    assert "boto_table" in client.get_paginator("list_tables").paginate().build_full_result()["TableNames"]


@test("batch_get_item of the resource")
def _():
    keys = [{"artist": "b", "song": "s%03d" % n} for n in range(100)]
    got = resource.batch_get_item(RequestItems={"boto_table": {"Keys": keys, "ProjectionExpression": "song"}})
    equal(sorted(i["song"] for i in got["Responses"]["boto_table"]), [k["song"] for k in keys])


@test("transactions and the reasons of their cancellation")
def _():
    def key(song):
        return {"artist": {"S": "t"}, "song": {"S": song}}
    client.transact_write_items(TransactItems=[{"Put": {"TableName": "boto_table", "Item": key("1")}}, {"Put": {"TableName": "boto_table", "Item": key("2")}}])
    got = client.transact_get_items(TransactItems=[{"Get": {"TableName": "boto_table", "Key": key(s)}} for s in "13"])["Responses"]
    equal(got, [{"Item": key("1")}, {}])
    e = failure(client.transact_write_items, TransactItems=[
        {"Delete": {"TableName": "boto_table", "Key": key("2")}},
        {"Put": {"TableName": "boto_table", "Item": key("1"), "ConditionExpression": "attribute_not_exists(artist)",
                 "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}])
    equal(e.response["Error"]["Code"], "TransactionCanceledException")
    equal(e.response["Error"]["Message"], "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]")
    reasons = e.response["CancellationReasons"]
    equal([r["Code"] for r in reasons], ["None", "ConditionalCheckFailed"])
    equal(reasons[1]["Item"], key("1"))


@test("errors of what is missing or wrong")
def _():
    e = failure(client.get_item, TableName="nowhere", Key={"a": {"S": "b"}})
    assert isinstance(e, client.exceptions.ResourceNotFoundException)
    e = failure(client.get_item, TableName="boto_table", Key={"artist": {"S": "b"}})
    equal(e.response["Error"], {"Code": "ValidationException", "Message": "The provided key element does not match the schema"})


@test("PartiQL")
def _():
    client.execute_statement(Statement="INSERT INTO boto_table VALUE {'artist': ?, 'song': ?, 'n': ?}", Parameters=[{"S": "p"}, {"S": "1"}, {"N": "5"}])
    got = client.execute_statement(Statement="SELECT n FROM boto_table WHERE artist = 'p'")
    equal(got["Items"], [{"n": {"N": "5"}}])


@test("tags, time to live, a description")
def _():
    arn = table.table_arn
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "k", "Value": "v"}])
    equal(client.get_paginator("list_tags_of_resource").paginate(ResourceArn=arn).build_full_result()["Tags"], [{"Key": "k", "Value": "v"}])
    client.update_time_to_live(TableName="boto_table", TimeToLiveSpecification={"AttributeName": "ends", "Enabled": True})

    def told():
        return client.describe_time_to_live(TableName="boto_table")["TimeToLiveDescription"]

    equal(told()["AttributeName"], "ends")
    # until then the table is in use
    end = time.time() + 600
    while told()["TimeToLiveStatus"] != "ENABLED" and time.time() < end:
        time.sleep(0.1)
    equal(told()["TimeToLiveStatus"], "ENABLED")
    assert abs(time.time() - table.creation_date_time.timestamp()) < 3600


@test("ARNs of the client's region, and none of another")
def _():
    arn = table.table_arn
    equal(arn.split(":")[3], client.meta.region_name)
    equal(client.describe_table(TableName=arn)["Table"]["TableArn"], arn)
    other = arn.replace(client.meta.region_name, "ap-southeast-2")
    equal(failure(client.describe_table, TableName=other).response["Error"]["Code"], "AccessDeniedException")


@test("point-in-time recovery, where it is taken and where it is not")
def _():
    def sql(statement):
        psql(statement, "SELECT pg_reload_conf()")

    def status():
        told = client.describe_continuous_backups(TableName="boto_table")["ContinuousBackupsDescription"]
        return told["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]

    enable = {"TableName": "boto_table", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    e = failure(client.update_continuous_backups, **enable)
    equal((e.response["Error"]["Code"], "archive_mode" in e.response["Error"]["Message"]), ("ValidationException", True))
    sql("ALTER SYSTEM SET dynamo_table.continuous_backups = 'accept'")
    end = time.time() + 600
    while (client.describe_continuous_backups(TableName="boto_table")["ContinuousBackupsDescription"]["ContinuousBackupsStatus"] != "ENABLED"
           and time.time() < end):
        time.sleep(0.1)
    client.update_continuous_backups(**enable)
    equal(status(), "ENABLED")
    client.update_continuous_backups(TableName="boto_table", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False})
    equal(status(), "DISABLED")
    sql("ALTER SYSTEM RESET dynamo_table.continuous_backups")
    e = failure(client.restore_table_to_point_in_time, SourceTableName="boto_table", TargetTableName="boto_restored", UseLatestRestorableTime=True)
    equal((e.response["Error"]["Code"], "restore a server" in e.response["Error"]["Message"]), ("UnknownOperationException", True))


@test("32 threads with a client of each retry mode")
def _():
    clients = [boto3.client("dynamodb", endpoint_url=ENDPOINT, config=Config(retries={"mode": mode}, max_pool_connections=32))
               for mode in ("legacy", "standard", "adaptive")]
    errors = []

    def count(n):
        try:
            for _ in range(10):
                clients[n % 3].update_item(TableName="boto_table", Key={"artist": {"S": "c"}, "song": {"S": "1"}}, UpdateExpression="ADD hits :one",
                                           ExpressionAttributeValues={":one": {"N": "1"}})
        except Exception as e:
            errors.append(e)
    threads = [threading.Thread(target=count, args=(n,)) for n in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(errors, [])
    equal(table.get_item(Key={"artist": "c", "song": "1"}, ConsistentRead=True)["Item"]["hits"], 320)


@test("streams")
def _():
    client.update_table(TableName="boto_table", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    streams = boto3.client("dynamodbstreams", endpoint_url=ENDPOINT)
    arn = streams.list_streams(TableName="boto_table")["Streams"][0]["StreamArn"]
    table.put_item(Item={"artist": "stream", "song": "1", "data": Binary(b"\x01")})
    iterators = [streams.get_shard_iterator(StreamArn=arn, ShardId=s["ShardId"], ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
                 for s in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]]
    found, end = [], time.time() + 600
    while not found and time.time() < end:
        for n, iterator in enumerate(iterators):
            page = streams.get_records(ShardIterator=iterator)
            found += page["Records"]
            iterators[n] = page["NextShardIterator"]
    equal([(r["eventName"], r["dynamodb"]["NewImage"]["data"]["B"]) for r in found], [("INSERT", b"\x01")])


HANDLER = """
import json, os
def handle(event, context):
    first = not os.path.exists("failed")
    with open("failed" if first else "handled", "a") as out:
        for record in event["Records"]:
            print(json.dumps(record), file=out)
    if first:
        raise ValueError("once")
"""


@test("examples/python/stream_handler.py calls a handler for each record, in order, while it is killed and shards are split")
def _():
    client.create_table(TableName="handler", BillingMode="PAY_PER_REQUEST", AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}], StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    program = os.path.join(os.path.dirname(__file__), "../../../examples/python/stream_handler.py")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "code.py"), "w") as out:
            out.write(HANDLER)
        # what has been handled when it is killed, but not noted, comes again
        for part in range(3):
            process = subprocess.Popen([sys.executable, "-B", program, ENDPOINT, "handler", "code:handle"], cwd=folder)
            try:
                for n in range(60):
                    client.put_item(TableName="handler", Item={"pk": {"S": "k%d" % (n % 4)}, "n": {"N": str(part * 60 + n)}, "b": {"B": b"\x01"}})
                if part == 1:
                    psql("SELECT dyn_alter_stream('handler', 8)")
                found, end = [], time.time() + 300
                while time.time() < end and len({r["dynamodb"]["NewImage"]["n"]["N"] for r in found}) < (part + 1) * 60:
                    time.sleep(0.3)
                    if os.path.exists(os.path.join(folder, "handled")):
                        found = [json.loads(line) for line in open(os.path.join(folder, "handled"))]
            finally:
                process.kill()
                process.wait()
        for key in range(4):
            numbers = [int(r["dynamodb"]["NewImage"]["n"]["N"]) for r in found if r["dynamodb"]["Keys"]["pk"]["S"] == "k%d" % key]
            equal(list(dict.fromkeys(numbers)), [n for n in range(180) if n % 4 == key])
        equal(found[0]["dynamodb"]["NewImage"]["b"], {"B": "AQ=="})
        equal({len(open(os.path.join(folder, "failed")).readlines()) > 0, len({r["eventSourceARN"] for r in found}) == 1}, {True})


@test("no key")
def _():
    # without AWS_EC2_METADATA_DISABLED it would ask the metadata service, and wait
    session = botocore.session.get_session()
    keys = session.get_component("credential_provider")
    keys.providers = [p for p in keys.providers if p.METHOD not in ("env", "shared-credentials-file", "config-file")]
    try:
        told = session.create_client("dynamodb", endpoint_url=ENDPOINT).list_tables()
    except NoCredentialsError:
        told = "refused"
    equal(told, "refused")


@test("delete and its waiter")
def _():
    table.delete()
    table.wait_until_not_exists()
    client.get_waiter("table_not_exists").wait(TableName="boto_table", WaiterConfig=WAIT)


sys.exit(failures != 0)
