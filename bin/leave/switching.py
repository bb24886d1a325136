"""switch: the check list of a cut-over."""
import json
import subprocess
import sys
import time

from .book import Book
from .common import Failure
from .comparing import Compare
from .copying import VIEWS, list_shards
from .endpoint import Own


class Switch:
    def __init__(self, options, database, book, source):
        self.options, self.database, self.book, self.source = options, database, book, source

    def run(self):
        options = self.options
        self.connection = self.database.connect()
        found = self.book.find(self.connection)
        if found is None:
            raise Failure(f'table "{options.table}" is not followed: copy and follow come first')
        if found['switched']:
            raise Failure(f'table "{options.table}" has been switched')
        steps = [
            (f'follow runs, and its lag is at most {options.max_lag} s', self.lag),
            ('the table has a stream for the way back', self.stream),
            ('source and table are compared while both are in use', self.compare),
            (f'writers of the source are stopped: {options.stop_writers or "you are asked to do so"}', self.stop_writers),
            ('the rest of the stream is applied', self.drain),
            ('source and table are compared', self.compare_stopped),
            ('follow is stopped, and the way back begins here', self.finish),
            (f'writers write here: {options.start_writers or "you are asked to let them"}', self.start_writers)]
        if options.no_way_back:
            steps.pop(1)
        stopped = False
        for number, (what, step) in enumerate(steps, 1):
            print(f'{number}. {what}', flush=True)
            if options.dry_run:
                continue
            try:
                step()
            except Failure as error:
                if stopped and step != self.start_writers:
                    raise Failure(f'{error}\nNothing has been switched: let the writers write to the source again.')
                raise
            stopped = stopped or step == self.stop_writers
            print('   done', flush=True)
        if options.dry_run:
            print('This was a dry run: nothing was done.')
        elif not options.no_way_back:
            print(f'To keep the source up to date for a way back, run: dynamo_table follow --back --table {options.table}')
        return 0

    def found(self):
        found = self.book.find(self.connection)
        if found['seen'] is None or found['seen'] > 60:
            raise Failure('follow does not run')
        return found

    def caught_up_since(self, began, patience):
        """Wait for what was done before a time of ours."""
        end = time.monotonic() + patience
        while True:
            passed = time.monotonic() - began
            found = self.found()
            if found['lag'] is not None and found['lag'] <= passed:
                return
            if time.monotonic() > end:
                raise Failure(f'follow has not caught up after {patience} s; its lag is {found["lag"] or 0:.0f} s')
            time.sleep(0.1)

    def lag(self):
        if not self.found()['copied']:
            raise Failure('the copy is not complete')
        self.caught_up_since(time.monotonic() - self.options.max_lag, self.options.patience)

    def stream(self):
        table = self.request('DescribeTable', TableName=self.options.table)['Table']
        specification = table.get('StreamSpecification') or {}
        if not specification.get('StreamEnabled') or specification.get('StreamViewType') not in VIEWS:
            raise Failure(f"the table has no stream with new images: call dyn_enable_stream('{self.options.table}'), or switch with --no-way-back")
        self.arn = table['LatestStreamArn']

    def request(self, operation, **request):
        return self.connection.call('dyn_request(%s::pg_catalog.text, %s::pg_catalog.text)', operation, json.dumps(request))[0]

    def compare(self):
        comparison = Compare(self.options, self.database, self.book, self.source)
        differences = comparison.run()
        if differences:
            raise Failure(f'{differences} items differ')
        return comparison

    def compare_stopped(self):
        busy = self.compare().busy
        if busy:
            raise Failure(f'{busy} items are still written')

    def hook(self, command, prompt):
        if command:
            status = subprocess.run(['/bin/sh', '-c', command], stdin=subprocess.DEVNULL).returncode
            if status:
                raise Failure(f'"{command}" failed with status {status}')
            return
        if not sys.stdin.isatty():
            raise Failure('nobody can be asked here: give the commands')
        if input(f'   {prompt} Type "yes" when it is done: ').strip() != 'yes':
            raise Failure('it was not done')

    def stop_writers(self):
        self.hook(self.options.stop_writers, 'Stop all writers of the source.')

    def start_writers(self):
        self.hook(self.options.start_writers, 'Let the writers write to this database.')

    def drain(self):
        # what the source shows with a delay
        time.sleep(self.options.settle)
        self.caught_up_since(time.monotonic(), self.options.patience)

    def finish(self):
        """Follow ends when it sees that it should.  Then what it wrote is before the position, and everything else behind it."""
        connection, book = self.connection, self.book
        connection.execute(book.q('UPDATE {schema}.follows SET stop = true WHERE id = %s'), book.id)
        end = time.monotonic() + self.options.patience
        while book.find(connection)['seen'] is not None:
            if time.monotonic() > end:
                connection.execute(book.q('UPDATE {schema}.follows SET stop = false WHERE id = %s'), book.id)
                raise Failure('follow does not end')
            time.sleep(0.1)
        with connection.transaction():
            connection.execute('SET LOCAL synchronous_commit = on')
            # held until this ends, so nobody begins again to follow
            book.lock(connection)
            if not self.options.no_way_back:
                self.begin_back()
            connection.execute(book.q('UPDATE {schema}.follows SET switched = true WHERE id = %s'), book.id)

    def begin_back(self):
        connection, options = self.connection, self.options
        found = self.book.find(connection)
        back = Book(self.book.schema, options.table, 'back')
        position = connection.call('dyn_stream_position()')[0]
        shards = [{'shard': name, 'parent': shard.get('ParentShardId'), 'start': shard['SequenceNumberRange']['StartingSequenceNumber'],
                   'position': position, 'done': shard['SequenceNumberRange'].get('EndingSequenceNumber') is not None}
                  for name, shard in list_shards(Own(self.database), self.arn).items()]
        back.begin(connection, found['source'], found['source_table'], self.arn, shards, 0)
