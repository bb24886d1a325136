#!/usr/bin/env python3
"""A source for the tests of copy, follow, compare and switch: a DynamoDB endpoint that behaves as the service may.

It has one table.  Shards are split and closed, and listed in no order and in pages; those that are trimmed are gone.
Iterators expire.  Requests are throttled, answered by 500, in part, or not at all; records come late, again, and after pages that have
none.  Sequence numbers begin elsewhere in each lineage, and get longer.  What was written is in a log, so it can be killed and started again.

    source.py PORT LOG [--items N] [--rate N] [--writes N] [--calm]

writes items itself, as many a second and in all.  The operation Control sets these, splits shards, trims, disables the stream, and tells what there is.
"""
import argparse
import bisect
import hashlib
import http.server
import json
import os
import random
import socketserver
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument('port', type=int)
parser.add_argument('log')
parser.add_argument('--items', type=int, default=0)
parser.add_argument('--rate', type=float, default=0)
parser.add_argument('--writes', type=int, default=0)
parser.add_argument('--calm', action='store_true')
parser.add_argument('--split-every', type=int, default=700)
options = parser.parse_args()

lock = threading.RLock()
chance = random.Random(os.getpid())
ROOTS = 3
NAME, LABEL = 'app', '2026-01-02T03:04:05.678'
ARN = f'arn:aws:dynamodb:us-east-1:000000000000:table/{NAME}/stream/'
KEYS = [{'AttributeName': 'pk', 'KeyType': 'HASH'}, {'AttributeName': 'sk', 'KeyType': 'RANGE'}]


class Problem(Exception):
    def __init__(self, code, message='', status=400):
        self.code, self.message, self.status = code, message, status


def place(item):
    """Where an item is: by its partition key, and then by its sort key as a number."""
    return hashlib.sha256(item['pk']['S'].encode()).hexdigest()[:16], float(item['sk']['N']), item['pk']['S']


class Shard:
    def __init__(self, name, parent, low, high, start):
        self.name, self.parent, self.low, self.high, self.start = name, parent, low, high, start
        self.records, self.end, self.trimmed, self.next = [], None, 0, start + 1


class Table:
    def __init__(self):
        self.items, self.order, self.shards = {}, [], {}
        self.written, self.label, self.enabled, self.view, self.unseen = 0, LABEL, True, 'NEW_AND_OLD_IMAGES', None
        width = 2 ** 64 // ROOTS
        for n in range(ROOTS):
            self.add_shard(None, n * width, (n + 1) * width if n < ROOTS - 1 else 2 ** 64, 10 ** (5 + 4 * n) - 300)
        made = random.Random(1)
        for n in range(options.items):
            item = {'pk': {'S': f'p{n // 20}'}, 'sk': {'N': str(n % 20)}, 'n': {'N': '0'}, 'text': {'S': 'x' * made.randrange(10, 200)}}
            if n % 10 == 0:
                item.update({'b': {'B': 'AP8='}, 'bs': {'BS': ['AA==', '/w==']}, 'm': {'M': {'l': {'L': [{'N': '1.50'}, {'NULL': True}, {'BOOL': False}]}}},
                             'ss': {'SS': ['ü', 'a']}, 'ns': {'NS': ['1', '12345678901234567890123456789012345678']}})
            self.items[place(item)] = item
        self.order = sorted(self.items)
        if os.path.exists(options.log):
            with open(options.log) as log:
                whole = log.read()
            # the last line may be cut
            whole = whole[:whole.rfind('\n') + 1]
            os.truncate(options.log, len(whole))
            for line in whole.splitlines():
                self.apply(json.loads(line))
        self.log = open(options.log, 'a')

    def add_shard(self, parent, low, high, start):
        name = f'shardId-{len(self.shards):020}-{hashlib.md5(str(len(self.shards)).encode()).hexdigest()[:8]}'
        self.shards[name] = Shard(name, parent, low, high, start)

    def do(self, change):
        self.apply(change)
        self.log.write(json.dumps(change) + '\n')
        self.log.flush()

    def apply(self, change):
        if 'split' in change:
            shard = self.shards[change['split']]
            shard.end = shard.next
            middle = (shard.low + shard.high) // 2
            for low, high in ((shard.low, middle), (middle, shard.high)) if change['two'] else ((shard.low, shard.high),):
                self.add_shard(shard.name, low, high, shard.end + 1)
            return
        if 'label' in change:
            self.label = change['label']
            return
        key = change['key']
        at = place(key)
        item, old = change.get('item'), self.items.get(at)
        if item is None:
            if old is None:
                return
            del self.items[at]
            del self.order[bisect.bisect_left(self.order, at)]
        else:
            self.items[at] = item
            if old is None:
                bisect.insort(self.order, at)
        where = int(at[0], 16)
        shard = next(s for s in self.shards.values() if s.end is None and s.low <= where < s.high)
        shard.next += change['step']
        record = {'SequenceNumber': str(shard.next), 'Keys': key, 'StreamViewType': self.view, 'SizeBytes': 100,
                  'ApproximateCreationDateTime': int(change['time'])}
        record.update({'NewImage': item} if item else {})
        record.update({'OldImage': old} if old else {})
        visible = change['time'] + (0 if options.calm else random.Random(shard.next).choice((0, 0, 0, 0.3)))
        # a record is not seen before those that are in front of it
        visible = max(visible, shard.records[-1][1] if shard.records else 0)
        shard.records.append((shard.next, visible, {
            'eventID': str(shard.next), 'eventName': 'REMOVE' if item is None else 'MODIFY' if old else 'INSERT', 'eventVersion': '1.1',
            'eventSource': 'aws:dynamodb', 'awsRegion': 'us-east-1', 'dynamodb': record}))
        self.written += 1

    def write(self, key, item):
        self.do({'key': key, 'item': item, 'time': time.time(), 'step': chance.choice((1, 1, 7, 100))})


table = Table()


def write_items():
    """Some items again and again, others now and then, and new ones."""
    due = time.monotonic()
    while True:
        if options.rate == 0 or options.writes <= 0:
            time.sleep(0.01)
            due = time.monotonic()
            continue
        due += 1 / options.rate
        time.sleep(max(due - time.monotonic(), 0))
        with lock:
            if options.writes <= 0:
                continue
            kind = chance.random()
            n = chance.randrange(20) if kind < 0.4 else chance.randrange(max(options.items, 1)) if kind < 0.8 else options.items + chance.randrange(2000)
            key = {'pk': {'S': f'p{n // 20}'}, 'sk': {'N': str(n % 20)}}
            old = table.items.get(place(key))
            if old and chance.random() < 0.25:
                table.write(key, None)
            else:
                table.write(key, {**key, 'n': {'N': str(table.written + 1)}, 'text': {'S': 'y' * chance.randrange(10, 200)}})
            options.writes -= 1
            if table.written % options.split_every == 0:
                split()


def split(name=None):
    shard = table.shards[name] if name else chance.choice([s for s in table.shards.values() if s.end is None])
    table.do({'split': shard.name, 'two': chance.random() < 0.6 and sum(s.end is None for s in table.shards.values()) < 12})


def split_unseen():
    """Make a shard, and split it, as if between two pages of the next list: behind the one that it is on, and before that of its child."""
    parent = next(s for s in table.shards.values() if s.end is None)
    table.do({'split': parent.name, 'two': False})
    table.unseen = next(s.name for s in table.shards.values() if s.parent == parent.name)
    split(table.unseen)


def trim():
    """All records that there are, and the shards that are closed."""
    for shard in list(table.shards.values()):
        shard.trimmed = shard.next
        shard.records.clear()
        if shard.end is not None:
            del table.shards[shard.name]


def maybe(share):
    return not options.calm and chance.random() < share


def describe_table(request):
    if request['TableName'] != NAME:
        raise Problem('ResourceNotFoundException', f'Requested resource not found: Table: {request["TableName"]} not found')
    stream = {'StreamSpecification': {'StreamEnabled': True, 'StreamViewType': table.view}, 'LatestStreamArn': ARN + table.label} if table.enabled else {}
    return {'Table': {
        'TableName': NAME, 'TableStatus': 'ACTIVE', 'KeySchema': KEYS, 'ItemCount': len(table.items), 'TableSizeBytes': 200 * len(table.items),
        'AttributeDefinitions': [{'AttributeName': 'pk', 'AttributeType': 'S'}, {'AttributeName': 'sk', 'AttributeType': 'N'},
                                 {'AttributeName': 'n', 'AttributeType': 'N'}],
        'ProvisionedThroughput': {'ReadCapacityUnits': 5, 'WriteCapacityUnits': 5, 'NumberOfDecreasesToday': 0},
        'GlobalSecondaryIndexes': [{'IndexName': 'GSI1', 'IndexStatus': 'ACTIVE', 'Projection': {'ProjectionType': 'ALL'}, 'ItemCount': 0,
                                    'ProvisionedThroughput': {'ReadCapacityUnits': 5, 'WriteCapacityUnits': 5},
                                    'KeySchema': [{'AttributeName': 'sk', 'KeyType': 'HASH'}, {'AttributeName': 'n', 'KeyType': 'RANGE'}]}],
        'TableArn': f'arn:aws:dynamodb:us-east-1:000000000000:table/{NAME}', **stream}}


def scan(request):
    if maybe(0.05):
        raise Problem('ProvisionedThroughputExceededException', 'slowly')
    segment, total = request.get('Segment', 0), request.get('TotalSegments', 1)
    low, high = (f'{2 ** 64 * n // total:016x}' if n < total else 'g' for n in (segment, segment + 1))
    first = bisect.bisect_left(table.order, (low,))
    if 'ExclusiveStartKey' in request:
        first = bisect.bisect_right(table.order, place(request['ExclusiveStartKey']))
    limit = min(request.get('Limit', 1000), 1000 if options.calm else chance.choice((1, 50, 1000)))
    page = [at for at in table.order[first:first + limit] if at[0] < high]
    items = [table.items[at] for at in page]
    answer = {'Items': items, 'Count': len(items), 'ScannedCount': len(items), 'ConsumedCapacity': {'TableName': NAME, 'CapacityUnits': len(items) * 0.05}}
    if len(page) == limit:
        answer['LastEvaluatedKey'] = {name: items[-1][name] for name in ('pk', 'sk')}
    return answer


def batch_get(request):
    asked = request['RequestItems'][NAME]['Keys']
    left = len(asked) if options.calm else chance.randrange(len(asked) + 1)
    found = [table.items[place(key)] for key in asked[:left] if place(key) in table.items]
    return {'Responses': {NAME: found}, 'UnprocessedKeys': {NAME: {'Keys': asked[left:]}} if asked[left:] else {}}


def batch_write(request):
    changes = request['RequestItems'][NAME]
    left = len(changes) if options.calm else chance.randrange(len(changes) + 1)
    for change in changes:
        if 'PutRequest' in change and 'refuse' in change['PutRequest']['Item']:
            raise Problem('ValidationException', 'this item is not wanted')
    for change in changes[:left]:
        item = change['PutRequest']['Item'] if 'PutRequest' in change else None
        key = {name: (item or change['DeleteRequest']['Key'])[name] for name in ('pk', 'sk')}
        table.write(key, item)
    return {'UnprocessedItems': {NAME: changes[left:]} if changes[left:] else {}}


def put(request):
    item = request['Item']
    table.write({name: item[name] for name in ('pk', 'sk')}, item)
    return {}


def delete(request):
    table.write(request['Key'], None)
    return {}


def shard_of(name):
    if name not in table.shards:
        raise Problem('ResourceNotFoundException', 'Requested resource not found: Shard does not exist')
    return table.shards[name]


def describe_stream(request):
    if request['StreamArn'] != ARN + table.label:
        raise Problem('ResourceNotFoundException', 'Requested resource not found: Stream')
    names = sorted(table.shards.keys() - {table.unseen}, key=lambda name: name[::-1])
    first = names.index(request['ExclusiveStartShardId']) + 1 if 'ExclusiveStartShardId' in request else 0
    page = names[first:first + 4]
    if first + 4 >= len(names):
        table.unseen = None
    shards = []
    for shard in (table.shards[name] for name in page):
        numbers = {'StartingSequenceNumber': str(shard.start), **({'EndingSequenceNumber': str(shard.end)} if shard.end is not None else {})}
        shards.append({'ShardId': shard.name, 'SequenceNumberRange': numbers, **({'ParentShardId': shard.parent} if shard.parent else {})})
    more = {'LastEvaluatedShardId': page[-1]} if first + 4 < len(names) else {}
    return {'StreamDescription': {'StreamArn': request['StreamArn'], 'StreamLabel': table.label, 'StreamStatus': 'ENABLED', 'StreamViewType': table.view,
                                  'TableName': NAME, 'KeySchema': KEYS, 'Shards': shards, **more}}


def iterator(shard, number):
    life = 3600 if options.calm else chance.choice((0.1, 1, 5, 60))
    return json.dumps([shard.name, number, time.time() + life])


def get_iterator(request):
    shard, kind = shard_of(request['ShardId']), request['ShardIteratorType']
    if kind == 'TRIM_HORIZON':
        return {'ShardIterator': iterator(shard, shard.trimmed)}
    if kind == 'LATEST':
        return {'ShardIterator': iterator(shard, shard.next)}
    number = int(request['SequenceNumber']) - (kind == 'AT_SEQUENCE_NUMBER')
    if not shard.start - 1 <= number <= shard.next:
        raise Problem('ValidationException', 'Invalid SequenceNumber')
    if number < shard.trimmed:
        raise Problem('TrimmedDataAccessException', 'The operation attempted to read past the oldest stream record in a shard')
    return {'ShardIterator': iterator(shard, number)}


def get_records(request):
    name, number, end = json.loads(request['ShardIterator'])
    if time.time() > end:
        raise Problem('ExpiredIteratorException', 'Iterator expired')
    if maybe(0.05):
        raise Problem('ProvisionedThroughputExceededException', 'slowly')
    shard = shard_of(name)
    if number < shard.trimmed:
        raise Problem('TrimmedDataAccessException', 'trimmed')
    first = bisect.bisect_right(shard.records, number, key=lambda r: r[0])
    if maybe(0.1):
        # some of them again
        first = max(first - chance.randrange(5), 0)
    limit = 0 if maybe(0.1) else min(request.get('Limit', 1000), 1000 if options.calm else chance.choice((1, 30, 1000)))
    page = [r for r in shard.records[first:first + limit] if r[1] <= time.time()]
    number = max(number, page[-1][0] if page else 0)
    over = shard.end is not None and number >= (shard.records[-1][0] if shard.records else 0) and limit > 0
    return {'Records': [r[2] for r in page], **({} if over else {'NextShardIterator': iterator(shard, number)})}


def control(request):
    for name in 'rate', 'writes', 'calm':
        if name in request:
            setattr(options, name, request[name])
    if 'split' in request:
        split()
    if 'unseen' in request:
        split_unseen()
    if 'trim' in request:
        trim()
    if 'view' in request:
        table.view, table.enabled = request['view'] or table.view, bool(request['view'])
    if 'label' in request:
        table.do({'label': request['label']})
    if 'dump' in request:
        with open(request['dump'], 'w') as f:
            f.writelines(json.dumps(item) + '\n' for item in table.items.values())
    return {'items': len(table.items), 'written': table.written, 'writes': options.writes, 'shards': len(table.shards)}


OPERATIONS = {'DescribeTable': describe_table, 'Scan': scan, 'BatchGetItem': batch_get, 'BatchWriteItem': batch_write, 'PutItem': put, 'DeleteItem': delete,
              'DescribeTimeToLive': lambda request: {'TimeToLiveDescription': {'TimeToLiveStatus': 'ENABLED', 'AttributeName': 'ttl'}},
              'DescribeStream': describe_stream, 'GetShardIterator': get_iterator, 'GetRecords': get_records, 'Control': control}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        operation = self.headers['X-Amz-Target'].split('.')[1]
        if operation != 'Control':
            if maybe(0.01):
                self.close_connection = True
                return
            if maybe(0.02):
                self.answer(500, {'__type': 'InternalServerError', 'message': 'again'})
                return
        try:
            with lock:
                status, answer = 200, OPERATIONS[operation](request)
        except Problem as problem:
            status, answer = problem.status, {'__type': f'com.amazonaws.dynamodb.v20120810#{problem.code}', 'message': problem.message}
        # it may have been done, and nobody is told
        if operation != 'Control' and maybe(0.01):
            self.close_connection = True
            return
        self.answer(status, answer, whole=operation == 'Control' or not maybe(0.01))

    def answer(self, status, body, whole=True):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/x-amz-json-1.0')
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.close_connection |= not whole
        if whole:
            self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 100

    def handle_error(self, request, client_address):
        """Clients are killed, which is no error of the source."""


threading.Thread(target=write_items, daemon=True).start()
Server(('127.0.0.1', options.port), Handler).serve_forever()
