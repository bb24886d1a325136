"""follow: applies the records of a stream, from the source to our table, and back."""
import concurrent.futures
import signal
import threading
import time

import psycopg

from .book import digest
from .common import Failure, Progress, Stopped, say
from .copying import describe, list_shards, stream_of
from .endpoint import Own, Refusal

LISTED = 5  # polls after which shards are listed again
EMPTY = 5  # pages without records in a row that mean that there are no more: the service may return some before the next record
LOST = 'changes have been lost: the table has to be copied again (copy --restart)'


class Shard:
    """A shard that is not yet read to its end, in this program."""

    def __init__(self, row, tip):
        self.name, self.parent, self.start, self.position = row['shard'], row['parent'], row['start'], row['position']
        self.iterator = None
        self.due = 0.0
        self.reading = False
        self.empty = 0
        # the time of which all changes have been applied
        self.tip = tip

    def forget(self, position):
        self.position, self.iterator, self.empty = position, None, 0


class Forward:
    """Records become items of our table, in the transaction of the new position."""

    def __init__(self, book, writer, keys):
        self.book, self.writer, self.keys = book, writer, keys

    def apply(self, connection, shard, position, done, records):
        last = {}
        for record in records:
            change = record['dynamodb']
            number = int(change['SequenceNumber'])
            of_item = digest(change['Keys'], self.keys)
            if of_item not in last or last[of_item][0] < number:
                last[of_item] = number, change
        with connection.transaction():
            connection.execute(self.book.q('LOCK TABLE {gate} IN ROW EXCLUSIVE MODE'))
            self.book.advance(connection, shard.name, shard.position, position, done)
            newer = self.book.newer(connection, {d: number for d, (number, _) in last.items()}) if last else ()
            # lines as incremental exports have them
            self.writer.write(connection, [{'Metadata': {}, 'Keys': change['Keys'], **({'NewImage': change['NewImage']} if 'NewImage' in change else {})}
                                           for d, (_, change) in last.items() if d in newer])


class Back:
    """Records become items of the endpoint.  It takes no part in our transactions: after a crash the records of the last page are sent again, in
    their order, so each item has the last of its changes again."""

    def __init__(self, book, endpoint, table, refused, keys):
        self.book, self.endpoint, self.table, self.refused, self.keys = book, endpoint, table, refused, keys

    def apply(self, connection, shard, position, done, records):
        last = {}
        for record in records:
            change = record['dynamodb']
            if 'Keys' not in change:
                raise Failure('the table was truncated, which is not followed')
            last[digest(change['Keys'], self.keys)] = change
        changes = list(last.values())
        for n in range(0, len(changes), 25):
            self.send(changes[n:n + 25])
        with connection.transaction():
            self.book.advance(connection, shard.name, shard.position, position, done)

    def send(self, changes):
        requests = [{'PutRequest': {'Item': self.endpoint.native(c['NewImage'])}} if 'NewImage' in c
                    else {'DeleteRequest': {'Key': self.endpoint.native(c['Keys'])}} for c in changes]
        pause = 0.1
        while requests:
            try:
                left = self.endpoint.call('BatchWriteItem', RequestItems={self.table: requests}).get('UnprocessedItems') or {}
            except Refusal as error:
                if error.code != 'ValidationException':
                    raise Failure(f'{self.endpoint.name}: {error}')
                if len(changes) > 1:
                    for change in changes:
                        self.send([change])
                else:
                    change = changes[0]
                    self.refused.add([{'Metadata': {'code': error.code, 'message': error.message}, 'Keys': change['Keys'],
                                       **({'NewImage': change['NewImage']} if 'NewImage' in change else {})}])
                return
            names = [request.popitem() for request in left.get(self.table, [])]
            requests = [{kind: {what: self.endpoint.native(item) for what, item in body.items()}} for kind, body in names]
            if requests:
                if self.endpoint.stopped.wait(pause):
                    raise Stopped('stopped')
                pause = min(pause * 2, 10)


class Follow:
    def __init__(self, options, database, book, source, applier, stream):
        self.options, self.database, self.book = options, database, book
        self.source, self.applier, self.stream = source, applier, stream
        self.local = threading.local()
        self.shards = {}
        self.listed = None
        # the times of shards that have been read to their end: that of their children, which have later changes only, and
        # of what is not listed yet
        self.tips, self.unlisted = {}, {}
        self.records = 0
        # nobody waits for an answer any more when it is to end
        self.ended = source.stopped = threading.Event()
        if isinstance(applier, Back):
            applier.endpoint.stopped = self.ended

    def run(self):
        """Until it is told to stop, or with until_drained has caught up with the time at which it began."""
        options = self.options
        for number in signal.SIGINT, signal.SIGTERM:
            signal.signal(number, self.stop)
        began, progress, counted = time.monotonic(), Progress(options.quiet), (time.monotonic(), 0)
        beaten, main = 0.0, None
        running = set()
        pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        try:
            while not self.ended.is_set():
                try:
                    if main is None:
                        main = self.database.connect()
                        self.book.lock(main)
                    now = time.monotonic()
                    if self.listed is None or self.unlisted or now - self.listed > LISTED * options.poll:
                        self.discover(main)
                    if now - beaten > 1:
                        if self.book.heartbeat(main, self.caught_up):
                            say('stopped: the table is being switched')
                            break
                        beaten = now
                except psycopg.Error as error:
                    if not self.database.passes(error):
                        raise
                    if main is not None:
                        main.close()
                    main = None
                    self.ended.wait(0.5)
                    continue
                ready = [s for s in list(self.shards.values()) if not s.reading and s.due <= now and s.parent not in self.shards]
                # who waits longest comes first
                for shard in sorted(ready, key=lambda s: s.due)[:options.jobs - len(running)]:
                    shard.reading = True
                    running.add(pool.submit(self.visit, shard))
                finished, running = concurrent.futures.wait(running, 0.02 if running else 0, concurrent.futures.FIRST_COMPLETED)
                for future in finished:
                    future.result()
                if not running:
                    self.ended.wait(0.02)
                if options.until_drained and self.caught_up() > began + options.settle:
                    break
                seconds = time.monotonic() - counted[0]
                progress.show(f'{self.lag()}, {self.records} records, {(self.records - counted[1]) / max(seconds, 0.001):.0f} records/s, {len(self.shards)} shards')
                if seconds > 10:
                    counted = time.monotonic(), self.records
        except Stopped:
            pass
        finally:
            self.ended.set()
            pool.shutdown(cancel_futures=True)
            progress.end()
        if main is not None:
            if options.until_drained and self.caught_up() > began:
                self.book.heartbeat(main, self.caught_up)
            # what was committed without waiting is on disk
            main.execute('SET synchronous_commit = on')
            main.execute(self.book.q('UPDATE {schema}.follows SET seen_at = NULL WHERE id = %s'), self.book.id)
            main.close()
        if not options.quiet:
            say(f'{self.records} records, {self.lag()}')

    def stop(self, number, _):
        """The second time it ends at once, as if it was killed."""
        self.ended.set()
        signal.signal(number, signal.SIG_DFL)

    def caught_up(self):
        """The time of which all changes have been applied, as far as the source shows its records at once."""
        if self.listed is None:
            return 0.0
        # each shard that is known, and also those that wait for their parents
        return min([self.listed, *[s.tip for s in list(self.shards.values())], *list(self.unlisted.values())])

    def lag(self):
        caught_up = self.caught_up()
        return f'lag {time.monotonic() - caught_up:.0f} s' if caught_up else 'lag not known yet'

    def discover(self, connection):
        """The shards of the stream that are new."""
        began, ended = time.monotonic(), list(self.unlisted)
        if not isinstance(self.source, Own):
            now = stream_of(self.source, self.options.source_table, describe(self.source, self.options.source_table))
            if now != self.stream:
                raise Failure(f'the table has another stream now, {now}: {LOST}')
        known = self.book.shards(connection)
        try:
            listed = list_shards(self.source, self.stream, known)
        except Refusal as error:
            raise Failure(f'stream {self.stream}: {error}')
        for name, shard in listed.items():
            if name in known:
                continue
            parent = shard.get('ParentShardId')
            if parent is not None and parent not in known and parent not in listed:
                raise Failure(f'shard {name} has the parent {parent}, which is gone: {LOST}')
            self.book.add_shard(connection, name, parent, shard['SequenceNumberRange']['StartingSequenceNumber'])
        for name, row in self.book.shards(connection).items():
            if row['done'] or name in self.shards:
                continue
            if name not in listed:
                raise Failure(f'shard {name} is gone, and was not read to its end: {LOST}')
            self.shards[name] = Shard(row, self.tips.get(row['parent'], 0.0))
        for shard in list(self.shards.values()):
            above, parent = {shard.name}, self.shards.get(shard.parent)
            while parent is not None:
                if parent.name in above:
                    raise Failure(f'stream {self.stream}: shard {shard.name} comes after itself')
                above.add(parent.name)
                parent = self.shards.get(parent.parent)
        self.listed = began
        for name in ended:
            del self.unlisted[name]

    def visit(self, shard):
        """Read a page of a shard, and apply it."""
        try:
            began = time.monotonic()
            page = self.read(shard)
            if page is None:
                return
            records, following = page['Records'], page.get('NextShardIterator')
            numbers = [record['dynamodb']['SequenceNumber'] for record in records]
            position = max([*numbers, *([] if shard.position is None else [shard.position])], key=int, default=None)
            if records or not following:
                self.local.connection = getattr(self.local, 'connection', None) or self.database.connect()
                self.applier.apply(self.local.connection, shard, position, not following, records)
            shard.position, shard.iterator = position, following
            self.records += len(records)
            if records:
                # made in full seconds, by the source's clock
                created = max(float(record['dynamodb'].get('ApproximateCreationDateTime') or 0) for record in records)
                shard.tip = max(shard.tip, began - max(time.time() - created, 0) - 1)
                shard.empty = 0
            elif following:
                shard.empty += 1
                if shard.empty >= EMPTY:
                    shard.tip = began
                shard.due = time.monotonic() + (self.options.poll if shard.empty >= EMPTY else min(self.options.poll, 0.2))
            if not following:
                self.end(shard)
        except psycopg.Error as error:
            if not self.database.passes(error):
                raise
            self.again(shard)
        finally:
            shard.reading = False

    def end(self, shard):
        """Its children may be read, once they are known."""
        self.tips[shard.name] = self.unlisted[shard.name] = shard.tip
        del self.shards[shard.name]

    def again(self, shard):
        """The server went away, or another session went on, and nobody knows what was committed: the book does."""
        shard.due = time.monotonic() + 0.5
        while not self.ended.is_set():
            try:
                if getattr(self.local, 'connection', None) is not None:
                    self.local.connection.close()
                self.local.connection = self.database.connect()
                row = self.book.shards(self.local.connection)[shard.name]
                shard.forget(row['position'])
                if row['done']:
                    self.end(shard)
                return
            except psycopg.Error as error:
                if not self.database.passes(error):
                    raise
                self.ended.wait(0.5)

    def read(self, shard):
        """A page of records.  An iterator that has expired is made anew from the position."""
        try:
            if shard.iterator is None:
                if shard.position is not None:
                    at = {'ShardIteratorType': 'AFTER_SEQUENCE_NUMBER', 'SequenceNumber': shard.position}
                else:
                    at = {'ShardIteratorType': 'AT_SEQUENCE_NUMBER', 'SequenceNumber': shard.start}
                shard.iterator = self.source.call('GetShardIterator', StreamArn=self.stream, ShardId=shard.name, **at)['ShardIterator']
            return self.source.call('GetRecords', ShardIterator=shard.iterator, Limit=1000)
        except Refusal as error:
            if error.code == 'ExpiredIteratorException':
                shard.iterator = None
                return None
            if error.code in ('TrimmedDataAccessException', 'ResourceNotFoundException'):
                raise Failure(f'shard {shard.name}, after {shard.position or shard.start}: {error}; {LOST}')
            raise Failure(f'shard {shard.name}: {error}')
