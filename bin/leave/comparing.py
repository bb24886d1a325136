"""compare: the items of the source and of the table, by segments.  What differs is looked at again after the lag, so nothing is told that is on its way."""
import array
import bisect
import concurrent.futures
import json
import random
import threading
import time

from .book import EXACT, digest
from .common import Failure, Pages, Progress, say
from .copying import describe, key_names
from .endpoint import Units

PIECES = 1000  # segments of which a fraction is chosen
ROUNDS = 5


def normal(value):
    """A value as it compares: numbers by value, sets in any order."""
    (code, payload), = value.items()
    if code == 'N':
        return code, number(payload)
    if code == 'NS':
        return code, sorted(number(v) for v in payload)
    if code in ('SS', 'BS'):
        return code, sorted(payload)
    if code == 'L':
        return code, [normal(v) for v in payload]
    if code == 'M':
        return code, {name: normal(v) for name, v in payload.items()}
    return code, payload


def number(text):
    return EXACT.create_decimal(text)


def same(a, b):
    if a is None or b is None:
        return a is b
    return a == b or {name: normal(v) for name, v in a.items()} == {name: normal(v) for name, v in b.items()}


class Compare:
    def __init__(self, options, database, book, source):
        self.options, self.database, self.book, self.source = options, database, book, source
        self.units = Units(options.read_units)
        self.local, self.lock = threading.local(), threading.Lock()
        self.compared = 0
        # items that were written all the time
        self.busy = 0

    def run(self, out=print):
        """The number of differences, each of which is told."""
        options = self.options
        connection = self.database.connect()
        found = self.book.find(connection)
        description = describe(self.source, options.source_table)
        self.keys = key_names(description)
        ttl = self.source.call('DescribeTimeToLive', TableName=options.source_table).get('TimeToLiveDescription') or {}
        self.ttl = ttl.get('AttributeName') if ttl.get('TimeToLiveStatus') == 'ENABLED' else None
        total = options.segments if options.fraction >= 1 else PIECES
        chosen = list(range(total)) if options.fraction >= 1 else random.sample(range(total), max(1, round(total * options.fraction)))
        self.total = total
        progress, pool = Progress(options.quiet), concurrent.futures.ThreadPoolExecutor(options.jobs)
        suspects = {}
        # keys that the source has, as the first 8 bytes of their digests
        self.met = array.array('Q')
        try:
            for half, function in enumerate((self.segment_there, self.segment_here)):
                if half == 1:
                    self.met = array.array('Q', sorted(self.met))
                futures, done = [pool.submit(function, segment) for segment in chosen], 0
                for future in concurrent.futures.as_completed(futures):
                    suspects.update(future.result())
                    done += 1
                    progress.show(f'{self.compared} items compared', (half + done / len(chosen)) / 2)
        finally:
            # what waits for an answer keeps nobody who is interrupted
            pool.shutdown(wait=False, cancel_futures=True)
            progress.end()
        suspects = self.look_again(connection, suspects, found)
        for key, there, here in suspects.values():
            what = 'only in the source' if here is None else 'only here' if there is None else 'unequal'
            out(json.dumps({'Difference': what, 'Key': key}))
        if not options.quiet:
            say(f'{self.compared} items compared, {len(suspects)} differ, {self.units.total:.0f} read units')
        return len(suspects)

    def session(self):
        if getattr(self.local, 'connection', None) is None:
            self.local.connection = self.database.connect()
        return self.local.connection

    def key_of(self, item):
        return {name: item[name] for name in self.keys}

    def expired(self, item):
        value = (item or {}).get(self.ttl) if self.ttl else None
        return value is not None and 'N' in value and number(value['N']) < time.time()

    def segment_there(self, segment):
        """Items of the source that the table has otherwise or not at all."""
        suspects, start, pages = {}, {}, Pages(self.source)
        while True:
            page = self.source.call('Scan', TableName=self.options.source_table, Segment=segment, TotalSegments=self.total, ReturnConsumedCapacity='TOTAL',
                                    ConsistentRead=True, **start)
            self.units.pay((page.get('ConsumedCapacity') or {}).get('CapacityUnits') or 0)
            items = {digest(item, self.keys): item for item in page['Items']}
            here = self.here(self.session(), {d: self.key_of(item) for d, item in items.items()})
            for d, item in items.items():
                if not same(item, here.get(d)):
                    suspects[d] = self.key_of(item), item, here.get(d)
            with self.lock:
                self.compared += len(items)
                self.met.extend(int.from_bytes(d[:8], 'big') for d in items)
            if not page.get('LastEvaluatedKey'):
                return suspects
            pages.go_on(page['LastEvaluatedKey'])
            start = {'ExclusiveStartKey': self.source.native(page['LastEvaluatedKey'])}

    def segment_here(self, segment):
        """Items of the table that the source did not show."""
        suspects, start = {}, None
        while True:
            request = {'TableName': self.options.table, 'Segment': segment, 'TotalSegments': self.total, **({'ExclusiveStartKey': start} if start else {})}
            page = self.session().call('dyn_request(%s::pg_catalog.text, %s::pg_catalog.text)', 'Scan', json.dumps(request))[0]
            items = {digest(item, self.keys): item for item in page['Items']}
            strange = {d: item for d, item in items.items() if not self.was_met(d)}
            there = self.there({d: self.key_of(item) for d, item in strange.items()})
            for d, item in strange.items():
                if not same(item, there.get(d)):
                    suspects[d] = self.key_of(item), there.get(d), item
            start = page.get('LastEvaluatedKey')
            if not start:
                return suspects

    def was_met(self, d):
        number = int.from_bytes(d[:8], 'big')
        place = bisect.bisect_left(self.met, number)
        return place < len(self.met) and self.met[place] == number

    def here(self, connection, keys):
        """Items of the table."""
        found, rest = {}, list(keys.values())
        while rest:
            request = {'RequestItems': {self.options.table: {'Keys': rest[:100]}}}
            answer = connection.call('dyn_request(%s::pg_catalog.text, %s::pg_catalog.text)', 'BatchGetItem', json.dumps(request))[0]
            found.update((digest(item, self.keys), item) for item in answer['Responses'].get(self.options.table, []))
            rest = (answer.get('UnprocessedKeys') or {}).get(self.options.table, {}).get('Keys', []) + rest[100:]
        return found

    def there(self, keys):
        """Items of the source."""
        found, rest = {}, list(keys.values())
        while rest:
            answer = self.source.call('BatchGetItem', ReturnConsumedCapacity='TOTAL', RequestItems={
                self.options.source_table: {'ConsistentRead': True, 'Keys': [self.source.native(key) for key in rest[:100]]}})
            self.units.pay(sum(c.get('CapacityUnits', 0) for c in answer.get('ConsumedCapacity') or []))
            found.update((digest(item, self.keys), item) for item in answer['Responses'].get(self.options.source_table, []))
            left = (answer.get('UnprocessedKeys') or {}).get(self.options.source_table, {}).get('Keys', [])
            if left:
                time.sleep(0.5)
            rest = left + rest[100:]
        return found

    def look_again(self, connection, suspects, found):
        """What still differs when all changes up to now have been applied, and does so in the same way twice, since an item may be deleted, written and deleted
        between two looks.  An item that is written all the time is not told."""
        following = found is not None and found['seen'] is not None and found['seen'] < 60
        suspects = self.without_expired(suspects)
        if not following:
            if suspects:
                say('follow does not run: what it would have to apply counts as a difference')
            return suspects
        certain = {}
        for _ in range(ROUNDS):
            if not suspects:
                break
            keys = {d: key for d, (key, _, _) in suspects.items()}
            before = self.there(keys)
            self.wait(connection)
            here, after = self.here(connection, keys), self.there(keys)
            left = {}
            for d, key in keys.items():
                look = key, after.get(d), here.get(d)
                still = same(before.get(d), look[1])
                if still and same(look[1], look[2]):
                    continue
                if still and same(suspects[d][1], look[1]) and same(suspects[d][2], look[2]):
                    certain[d] = look
                else:
                    left[d] = look
            suspects = self.without_expired(left)
        self.busy = len(suspects)
        if suspects:
            say(f'{len(suspects)} items were written all the time, and are not compared')
        return self.without_expired(certain)

    def without_expired(self, suspects):
        """Either side may have removed an item that has expired."""
        return {d: s for d, s in suspects.items() if not ((s[1] is None or s[2] is None) and self.expired(s[1] or s[2]))}

    def wait(self, connection):
        """Until changes have been applied that were made before now."""
        time.sleep(self.options.settle)
        began, end = time.monotonic(), time.monotonic() + 600
        while True:
            passed = time.monotonic() - began
            found = self.book.find(connection)
            if found['seen'] is None or found['seen'] > 60:
                raise Failure('follow has ended meanwhile')
            if found['lag'] is not None and found['lag'] <= passed:
                return
            if time.monotonic() > end:
                raise Failure(f'follow has not caught up for 10 minutes; its lag is {found["lag"] or 0:.0f} s')
            time.sleep(0.2)
