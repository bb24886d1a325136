"""Calls a handler, as AWS Lambda does, with the records of a table's stream, from any endpoint.

    stream_handler.py ENDPOINT TABLE MODULE:FUNCTION

The handler gets an event with "Records", in the form that Lambda gives.  Records of an item come in order, and each
comes at least once: the place up to which a shard was handled is written to the table TABLE-handled behind the call.
A batch whose handler fails is tried again, with pauses that grow, and nothing of its shard goes on before it.
"""
import base64
import importlib
import sys
import time

import boto3
from botocore.exceptions import ClientError


def plain(value):
    """What boto3 has read, as JSON has it."""
    if isinstance(value, dict):
        return {name: plain(v) for name, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.timestamp() if hasattr(value, "timestamp") else value


class Handled:
    """How far each shard was handled: the number of its last record, or that it is done."""

    def __init__(self, client, name):
        self.client, self.name = client, name
        try:
            client.create_table(TableName=name, BillingMode="PAY_PER_REQUEST",
                                AttributeDefinitions=[{"AttributeName": "shard", "AttributeType": "S"}],
                                KeySchema=[{"AttributeName": "shard", "KeyType": "HASH"}])
            client.get_waiter("table_exists").wait(TableName=name)
        except client.exceptions.ResourceInUseException:
            pass

    def get(self, shard):
        item = self.client.get_item(TableName=self.name, Key={"shard": {"S": shard}}, ConsistentRead=True).get("Item", {})
        return item.get("last", {}).get("S"), "done" in item

    def put(self, shard, last, done):
        item = {"shard": {"S": shard}, **({"last": {"S": last}} if last else {}), **({"done": {"BOOL": True}} if done else {})}
        self.client.put_item(TableName=self.name, Item=item)


def shards(streams, arn):
    """All shards of the stream, parents before their children."""
    found, last = [], {}
    while True:
        stream = streams.describe_stream(StreamArn=arn, **last)["StreamDescription"]
        found += stream["Shards"]
        if "LastEvaluatedShardId" not in stream:
            return sorted(found, key=lambda shard: int(shard["SequenceNumberRange"]["StartingSequenceNumber"]))
        last = {"ExclusiveStartShardId": stream["LastEvaluatedShardId"]}


def call(handler, records, arn):
    event = {"Records": [{**plain(record), "eventSourceARN": arn} for record in records]}
    for attempt in range(sys.maxsize):
        try:
            return handler(event, None)
        except Exception as error:
            print("the handler has failed: %r" % error, file=sys.stderr)
            time.sleep(min(60, 2 ** attempt / 10))


class Reader:
    def __init__(self, endpoint, table, handler):
        client = boto3.client("dynamodb", endpoint_url=endpoint)
        self.streams = boto3.client("dynamodbstreams", endpoint_url=endpoint)
        self.arn = client.describe_table(TableName=table)["Table"]["LatestStreamArn"]
        self.handled = Handled(client, table + "-handled")
        self.handler = handler
        self.iterators = {}

    def iterator(self, shard, last):
        place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": last} if last else {"ShardIteratorType": "TRIM_HORIZON"}
        return self.streams.get_shard_iterator(StreamArn=self.arn, ShardId=shard, **place)["ShardIterator"]

    def visit(self, shard):
        """Handles what a shard has by now."""
        last, done = self.handled.get(shard)
        iterator = None if done else self.iterators.pop(shard, None) or self.iterator(shard, last)
        while iterator is not None:
            page = self.streams.get_records(ShardIterator=iterator, Limit=100)
            iterator = page.get("NextShardIterator")
            if page["Records"]:
                call(self.handler, page["Records"], self.arn)
                last = page["Records"][-1]["dynamodb"]["SequenceNumber"]
            if page["Records"] or iterator is None:
                self.handled.put(shard, last, iterator is None)
            if not page["Records"]:
                break
        if iterator is not None:
            self.iterators[shard] = iterator

    def round(self):
        there = shards(self.streams, self.arn)
        names = {shard["ShardId"] for shard in there}
        for shard in there:
            parent = shard.get("ParentShardId")
            try:
                if parent not in names or self.handled.get(parent)[1]:
                    self.visit(shard["ShardId"])
            except self.streams.exceptions.TrimmedDataAccessException:
                print("records of %s were trimmed before they were handled" % shard["ShardId"], file=sys.stderr)
                self.handled.put(shard["ShardId"], None, False)
            except ClientError as error:
                # an iterator that has expired, or a server that is busy: the next round begins at the place that is kept
                print(error, file=sys.stderr)


if __name__ == "__main__":
    sys.path.insert(0, "")
    module, function = sys.argv[3].split(":")
    reader = Reader(sys.argv[1], sys.argv[2], getattr(importlib.import_module(module), function))
    while True:
        reader.round()
        time.sleep(1)
