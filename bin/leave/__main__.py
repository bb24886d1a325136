"""Arguments of dynamo_table copy, follow, compare and switch."""
import argparse
import os
import re
import sys

import psycopg

from .book import Book, Database, Writer
from .common import ME, Failure, Refused, say
from .comparing import Compare
from .copying import Copy, describe, key_names
from .endpoint import Endpoint, Own, Refusal
from .following import Back, Follow, Forward
from .switching import Switch


def number(low, high, kind=int):
    def convert(text):
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f'{text} is not between {low} and {high}')
        return value
    convert.__name__ = 'number'
    return convert


def common(parser, **names):
    parser.add_argument('--table', required=True, metavar='NAME', help='the table here')
    parser.add_argument('--source', required=True, metavar='URL', help='the endpoint of DynamoDB, or a region of AWS')
    parser.add_argument('--streams-source', metavar='URL', help='the endpoint of its streams, if that is another one')
    parser.add_argument('--region', help='the region, if the source is a URL')
    parser.add_argument('--source-table', metavar='NAME', help='the name of the table there (that of --table)')
    parser.add_argument('--schema', default='dynamo_leave', metavar='NAME', help='where the progress is kept (dynamo_leave)')
    parser.add_argument('--jobs', type=number(1, 200), default=4, metavar='N', help='so many requests at once (4)')
    parser.add_argument('-h', '--host', metavar='HOST', help='of the database, as of psql')
    parser.add_argument('-p', '--port', metavar='PORT')
    parser.add_argument('-U', '--username', dest='user', metavar='USER')
    parser.add_argument('-d', '--dbname', metavar='DATABASE')
    parser.add_argument('-q', '--quiet', action='store_true', help='no progress')
    parser.add_argument('--help', action='help', help='show this')


def refused(parser):
    parser.add_argument('--refused', metavar='FILE', help='where items go that are refused (TABLE.refused.json)')


def compared(parser):
    parser.add_argument('--segments', type=number(1, 100000), default=16, metavar='N', help='parts of the scan (16)')
    parser.add_argument('--read-units', type=number(1, 1e9, float), metavar='N', help='so many read units a second at most')
    parser.add_argument('--fraction', type=number(0.000001, 1, float), default=1, metavar='F', help='of the items, from 0 to 1 (1)')


def parse(arguments):
    parser = argparse.ArgumentParser(prog=ME, add_help=False)
    commands = parser.add_subparsers(dest='command', required=True)
    add = {name: commands.add_parser(name, add_help=False, description=text, allow_abbrev=False) for name, text in (
        ('copy', 'Make the table that the source has, and copy its items. A copy that was interrupted goes on.'),
        ('follow', 'Apply the changes of the source, from before the copy began, until stopped.'),
        ('compare', 'Compare the items of the source and of the table. The exit status is 1 if they differ.'),
        ('switch', 'Walk through the check list of a cut-over.'))}
    for command in add.values():
        common(command)
    for name in 'copy', 'follow':
        refused(add[name])
    for name in 'compare', 'switch':
        compared(add[name])
    copy, follow, switch = add['copy'], add['follow'], add['switch']
    copy.add_argument('--segments', type=number(1, 100000), default=16, metavar='N', help='parts of the scan (16)')
    copy.add_argument('--read-units', type=number(1, 1e9, float), metavar='N', help='so many read units a second at most')
    copy.add_argument('--export', action='store_true', help='make the table, and note the position in the stream: the items come from an export')
    copy.add_argument('--no-stream', action='store_true', help='copy a table that has no stream, and cannot be followed')
    copy.add_argument('--restart', action='store_true', help='begin anew, with a table that is not there or empty')
    follow.add_argument('--back', action='store_true', help='apply the changes of the table to the source, after a switch')
    follow.add_argument('--until-drained', action='store_true', help='end when all changes up to now have been applied')
    follow.add_argument('--poll', type=number(0.05, 60, float), default=1, metavar='SECONDS', help='between requests for new records of a shard (1)')
    switch.add_argument('--max-lag', type=number(1, 3600, float), default=10, metavar='SECONDS', help='before writers are stopped (10)')
    switch.add_argument('--patience', type=number(1, 86400, float), default=600, metavar='SECONDS', help='how long a step may wait (600)')
    switch.add_argument('--stop-writers', metavar='COMMAND', help='of the shell, which stops all writers of the source')
    switch.add_argument('--start-writers', metavar='COMMAND', help='of the shell, which lets them write here')
    switch.add_argument('--no-way-back', action='store_true', help='the table needs no stream')
    switch.add_argument('--dry-run', action='store_true', help='print the list, and do nothing')
    for name in 'follow', 'compare', 'switch':
        add[name].add_argument('--settle', type=number(0, 3600, float), default=5, metavar='SECONDS', help='how long the source may take to show a change (5)')
    options = parser.parse_args(arguments)
    options.source_table = options.source_table or options.table
    return options


def run(options):
    database = Database(host=options.host, port=options.port, user=options.user, dbname=options.dbname)
    source = Endpoint(options.source, options.streams_source, options.region, options.jobs + 2)
    book = Book(options.schema, options.table, 'back' if getattr(options, 'back', False) else 'forward')
    if options.command == 'compare':
        return 1 if Compare(options, database, book, source).run() else 0
    if options.command == 'switch':
        return Switch(options, database, book, source).run()
    refused = Refused(options.refused or re.sub('[^A-Za-z0-9_.-]', '_', options.table) + '.refused.json')
    writer = Writer(options.table, refused)
    if options.command == 'copy':
        return Copy(options, database, book, source, writer).run()
    return follow(options, database, book, source, refused, writer)


def follow(options, database, book, source, refused, writer):
    connection = database.connect()
    found = book.find(connection)
    if found is None:
        raise Failure('there is no way back from what was not switched' if options.back else f'table "{options.table}" is not a copy: dynamo_table copy makes it')
    if (found['source'], found['source_table']) != (source.name, options.source_table):
        raise Failure(f'table "{options.table}" is a copy of table "{found["source_table"]}" of {found["source"]}')
    if found['switched']:
        raise Failure('the table was switched: both directions at once would loop (follow --back goes back)')
    if found['stream'] is None:
        raise Failure('the table was copied without a stream')
    keys = key_names(describe(source, options.source_table))
    if options.back:
        applier, records = Back(book, source, options.source_table, refused, keys), Own(database)
    else:
        writer.open(connection)
        applier, records = Forward(book, writer, keys), source
    Follow(options, database, book, records, applier, found['stream']).run()
    return refused.result()


def main():
    options = parse(sys.argv[1:])
    try:
        return run(options)
    except (Failure, Refusal, OSError) as problem:
        for line in str(problem).split('\n'):
            say(line)
    except psycopg.Error as problem:
        say(str(problem).strip() or type(problem).__name__)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as problem:
        # whoever answers there may answer anything
        say(f'{options.source} gives an answer that DynamoDB does not give: {type(problem).__name__}: {problem}')
    except KeyboardInterrupt:
        say('interrupted')
    return 1


if __name__ == '__main__':
    # threads that wait for an answer do not keep it
    status = main()
    sys.stdout.flush()
    os._exit(status)
