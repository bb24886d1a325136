"""copy: makes the table that the source has, and copies its items by a parallel scan that can be continued."""
import json
import queue
import threading
import time

import psycopg

from .book import digest
from .common import Failure, Pages, Progress, clock, say
from .endpoint import Refusal, Units

VIEWS = 'NEW_IMAGE', 'NEW_AND_OLD_IMAGES'


def describe(source, table):
    try:
        return source.call('DescribeTable', TableName=table)['Table']
    except Refusal as error:
        raise Failure(f'table "{table}" of {source.name}: {error}')


def key_names(description):
    return [element['AttributeName'] for element in sorted(description['KeySchema'], key=lambda element: element['KeyType'] != 'HASH')]


def stream_of(source, table, description):
    """The ARN of its stream, which has new images."""
    specification = description.get('StreamSpecification') or {}
    enable = f'aws dynamodb update-table --table-name {table} --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES'
    if not specification.get('StreamEnabled') or not description.get('LatestStreamArn'):
        raise Failure(f'table "{table}" of {source.name} has no stream, without which changes are lost; enable it:\n    {enable}')
    if specification.get('StreamViewType') not in VIEWS:
        raise Failure(f'the stream of table "{table}" of {source.name} has {specification.get("StreamViewType")}, which is not enough; disable it '
                      f'(--stream-specification StreamEnabled=false), and enable another one:\n    {enable}')
    return description['LatestStreamArn']


def read_shards(source, stream):
    shards, start, pages = {}, {}, Pages(source)
    while True:
        answer = source.call('DescribeStream', StreamArn=stream, **start)['StreamDescription']
        shards.update({shard['ShardId']: shard for shard in answer['Shards']})
        if not answer.get('LastEvaluatedShardId'):
            return shards
        pages.go_on(answer['LastEvaluatedShardId'])
        start = {'ExclusiveStartShardId': answer['LastEvaluatedShardId']}


def list_shards(source, stream, known=()):
    """The shards of a stream by their names, also those that were made and split while the pages of a list were read, so that it has their
    children alone.  Parents of shards that are known are not looked for."""
    shards, gone = read_shards(source, stream), set()
    while missing := {shard.get('ParentShardId') for name, shard in shards.items() if name not in known} - {None, *known, *shards, *gone}:
        again = read_shards(source, stream)
        shards.update({name: again[name] for name in missing & again.keys()})
        gone |= missing - again.keys()
    return shards


def shards_to_begin(source, stream):
    """All shards that there are.  What is in closed ones was written before, so these count as read."""
    for name, shard in list_shards(source, stream).items():
        numbers = shard['SequenceNumberRange']
        yield {'shard': name, 'parent': shard.get('ParentShardId'), 'start': numbers['StartingSequenceNumber'],
               'done': numbers.get('EndingSequenceNumber') is not None}


def create_request(description, name):
    """The table's definition without what is the service's own: capacity, classes, encryption."""
    request = {'TableName': name, 'BillingMode': 'PAY_PER_REQUEST', 'KeySchema': description['KeySchema'], 'AttributeDefinitions': description['AttributeDefinitions']}
    for kind in 'GlobalSecondaryIndexes', 'LocalSecondaryIndexes':
        indexes = [{member: index[member] for member in ('IndexName', 'KeySchema', 'Projection')} for index in description.get(kind) or []]
        if indexes:
            request[kind] = indexes
    return request


class Copy:
    def __init__(self, options, database, book, source, writer):
        self.options, self.database, self.book, self.source, self.writer = options, database, book, source, writer
        self.refused = writer.refused
        self.units = Units(options.read_units)
        self.problem = None
        self.lock = threading.Lock()
        self.items = 0

    def run(self):
        options = self.options
        connection = self.database.connect()
        self.description = describe(self.source, options.source_table)
        self.keys = key_names(self.description)
        found = self.book.find(connection)
        if found is None or options.restart:
            self.begin(connection, found)
        elif (found['source'], found['source_table']) != (self.source.name, options.source_table):
            raise Failure(f'table "{options.table}" is a copy of table "{found["source_table"]}" of {found["source"]}')
        elif found['copied']:
            say(f'table "{options.table}" has been copied')
            return 0
        self.writer.open(connection)
        if options.export:
            with connection.transaction():
                connection.execute(self.book.q('UPDATE {schema}.follows SET copied_at = pg_catalog.now() WHERE id = %s'), self.book.id)
            say('now import the export, which must not be older than this, and then follow')
            return 0
        connection.close()
        self.scan()
        connection = self.connect()
        with connection.transaction():
            connection.execute('SET LOCAL synchronous_commit = on')
            connection.execute(self.book.q('UPDATE {schema}.follows SET copied_at = pg_catalog.now() WHERE id = %s'), self.book.id)
        return self.refused.result()

    def begin(self, connection, found):
        """The position in the stream is noted before the scan begins.  What was begun before is forgotten then."""
        options = self.options
        stream = None
        if not options.no_stream:
            stream = stream_of(self.source, options.source_table, self.description)
        shards = list(shards_to_begin(self.source, stream)) if stream else []
        with connection.transaction():
            self.create(connection)
            if found:
                self.book.lock(connection)
                self.book.forget(connection)
            self.book.begin(connection, self.source.name, options.source_table, stream, shards, 0 if options.export else options.segments)

    def create(self, connection):
        """The table, with time to live and a stream, if it is not there.  One that is there must be empty, since what is in it is not the source's."""
        options = self.options
        # others may have made one since the last look, whose code must not run
        name = connection.own(options.table)
        if name:
            there = connection.call('dyn_request(%s::pg_catalog.text, %s::pg_catalog.text)', 'DescribeTable', json.dumps({'TableName': name}))[0]['Table']
            types = [{d['AttributeName']: d['AttributeType'] for d in t['AttributeDefinitions']} for t in (there, self.description)]
            if [(k, types[0][k]) for k in key_names(there)] != [(k, types[1][k]) for k in self.keys]:
                raise Failure(f'table "{options.table}" is there, and has other keys')
            if connection.call('dyn_scan(%s::pg_catalog.text, max_items => 1::pg_catalog.int8)', name) is not None:
                raise Failure(f'table "{options.table}" is there, and has items')
            return
        self.request(connection, 'CreateTable', create_request(self.description, options.table))
        ttl = self.source.call('DescribeTimeToLive', TableName=options.source_table).get('TimeToLiveDescription') or {}
        if ttl.get('TimeToLiveStatus') in ('ENABLED', 'ENABLING'):
            self.request(connection, 'UpdateTimeToLive', {'TableName': options.table, 'TimeToLiveSpecification': {
                'Enabled': True, 'AttributeName': ttl['AttributeName']}})
        specification = self.description.get('StreamSpecification') or {}
        if specification.get('StreamEnabled'):
            try:
                with connection.transaction():
                    self.request(connection, 'UpdateTable', {'TableName': options.table, 'StreamSpecification': {
                        'StreamEnabled': True, 'StreamViewType': specification['StreamViewType']}})
            except psycopg.Error as error:
                if self.database.passes(error):
                    raise
                say(f'table "{options.table}" has no stream, which the way back needs: {str(error).splitlines()[0]}')

    @staticmethod
    def request(connection, operation, request):
        connection.call('dyn_request(%s::pg_catalog.text, %s::pg_catalog.text)', operation, json.dumps(request))

    def connect(self):
        """Also to a server that comes up."""
        while True:
            try:
                return self.database.connect()
            except psycopg.Error as error:
                if not self.database.passes(error):
                    raise
                time.sleep(0.5)

    def scan(self):
        connection = self.connect()
        self.segments, self.done, self.before = self.book.copied(connection)
        todo = queue.SimpleQueue()
        for segment, last_key in self.book.undone(connection):
            todo.put((segment, last_key))
        connection.close()
        self.size = max(self.description.get('TableSizeBytes') or 0, 1) / max(self.description.get('ItemCount') or 0, 1)
        threads = [threading.Thread(target=self.work, args=(todo,), daemon=True) for _ in range(self.options.jobs)]
        progress, began = Progress(self.options.quiet), time.monotonic()
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.05)
            if self.problem:
                raise self.problem
            progress.show(*self.state(began))
        progress.end()
        if self.problem:
            raise self.problem
        if not self.options.quiet:
            seconds = max(time.monotonic() - began, 0.001)
            say(f'table "{self.options.table}": {self.before + self.items} items copied, {self.items / seconds:.0f} items/s, {self.units.total:.0f} read units')

    def state(self, began):
        """The line of progress.  The source counts its items every six hours, so the number of segments helps where that says nothing."""
        seconds = time.monotonic() - began
        expected = self.description.get('ItemCount') or 0
        share = (self.before + self.items) / expected if expected else self.done / max(self.segments, 1)
        share = min(share, 0.99 if self.done < self.segments else 1)
        rate = self.items / seconds
        begun = share * self.items / max(self.before + self.items, 1)
        left = f', {clock(seconds * (1 - share) / begun)} left' if begun > 0.01 else ''
        return f'{self.before + self.items} items, {rate:.0f} items/s, {self.units.total / seconds:.0f} read units/s{left}', share

    def work(self, todo):
        connection = None
        try:
            while not self.problem:
                segment, last_key = todo.get_nowait()
                pages = Pages(self.source)
                while not self.problem:
                    page = self.read(segment, last_key)
                    try:
                        connection = connection or self.connect()
                        next_key = json.dumps(page['LastEvaluatedKey'], sort_keys=True) if page.get('LastEvaluatedKey') else None
                        self.write(connection, segment, last_key, next_key, page['Items'])
                    except psycopg.Error as error:
                        if not self.database.passes(error):
                            raise
                        connection = None
                        time.sleep(0.5)
                        last_key, over = self.resume(segment)
                        pages = Pages(self.source)
                        if over:
                            break
                        continue
                    last_key = next_key
                    if next_key is None:
                        break
                    pages.go_on(next_key)
                with self.lock:
                    self.done += 1
        except queue.Empty:
            pass
        except Exception as error:
            self.problem = error

    def resume(self, segment):
        """Where the segment is, after the server went away, or another session went on, and nobody knows what was committed."""
        while True:
            connection = self.connect()
            try:
                undone = dict(self.book.undone(connection))
                return undone.get(segment), segment not in undone
            except psycopg.Error as error:
                if not self.database.passes(error):
                    raise
            finally:
                connection.close()

    def read(self, segment, last_key):
        parameters = {'ExclusiveStartKey': self.source.native(json.loads(last_key))} if last_key else {}
        if self.options.read_units:
            # a page costs about what a job may read in a second
            parameters['Limit'] = max(1, int(self.options.read_units / self.options.jobs * 4096 / max(self.size, 1)))
        page = self.source.call('Scan', TableName=self.options.source_table, Segment=segment, TotalSegments=self.segments, ConsistentRead=True,
                                ReturnConsumedCapacity='TOTAL', **parameters)
        units = (page.get('ConsumedCapacity') or {}).get('CapacityUnits')
        if page['Items']:
            size = len(json.dumps(page['Items'][0])) if units is None else units * 4096 / len(page['Items'])
            self.size = self.size * 0.9 + size * 0.1
        self.units.pay(len(page['Items']) * self.size / 4096 if units is None else units)
        return page

    def write(self, connection, segment, last_key, next_key, items):
        """One page, without items that have a record."""
        digests = {digest(item, self.keys): item for item in items}
        with connection.transaction():
            connection.execute(self.book.q('LOCK TABLE {gate} IN SHARE MODE'))
            self.book.advance_segment(connection, segment, last_key, next_key, next_key is None, len(items))
            left = self.book.untouched(connection, list(digests))
            self.writer.write(connection, [{'Item': digests[d]} for d in left])
        with self.lock:
            self.items += len(items)
