"""Connections to the database, and what the commands remember there: tables in a schema of their own, made with the caller's rights.

    follows            a table that is followed, and in which direction
    segments           of its copy: how far each has been read
    shards             of the stream: how far each has been read
    records_N, gate_N  of follow N: the last record of each item, and the lock that keeps copy and records apart
"""
import contextlib
import decimal
import hashlib
import json
import os
import time

import psycopg
from psycopg import sql

from .common import ME, Failure

EXACT = decimal.Context(prec=60, Emin=-999999, Emax=999999)


def digest(key, names):
    """What identifies a key: the same for numbers that are equal."""
    values = []
    for name in names:
        (code, value), = key[name].items()
        if code == 'N':
            number = EXACT.create_decimal(value).normalize(EXACT)
            value = '0' if not number else str(number)
        values.append([code, value])
    return hashlib.sha256(json.dumps(values).encode()).digest()


class Connection:
    """A session, in which functions of the extension are called, whatever else has their names."""

    def __init__(self, settings):
        self.session = psycopg.connect(**settings, client_encoding='UTF8', autocommit=True, application_name=os.environ.get('PGAPPNAME', ME))
        path = self.execute('SHOW search_path').fetchone()[0]
        self.execute('SET search_path = pg_catalog')
        found = self.execute("SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'dynamo_table'").fetchone()
        if found is None:
            raise Failure('the database has no extension dynamo_table')
        self.extension = found[0]
        # loads the library, which refuses in statements that begin with its comment what is not the extension's
        self.execute("SELECT dynamo_internal.to_value(1, 'N') IS NULL")
        self.execute("SELECT set_config('search_path', %s, false)", path)
        self.execute('SET synchronous_commit = off')

    def execute(self, statement, *parameters):
        return self.session.execute(statement, parameters or None)

    def call(self, what, *parameters):
        """The row of a call of one of the extension's functions."""
        statement = sql.SQL('/* of relation 0 */ SELECT * FROM {}.' + what).format(sql.Identifier(self.extension))
        return self.session.execute(statement, parameters).fetchone()

    def own(self, table):
        """The name with its schema of a table that is there, in whose place nobody can put another one; None if there is none.  Raises an error for a table of
        another role, whose triggers would run as the caller, and who could read what is written."""
        rows = self.execute(sql.SQL("""/* of relation 0 */ SELECT t.schema_name, t.table_name, pg_catalog.pg_get_userbyid(c.relowner),
                pg_catalog.pg_get_userbyid(c.relowner) OPERATOR(pg_catalog.=) current_user
            FROM {}.dyn_tables t JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.relation::pg_catalog.oid
            WHERE pg_catalog.concat(t.schema_name, '.', t.table_name) OPERATOR(pg_catalog.=) %s::pg_catalog.text
            OR (pg_catalog.pg_table_is_visible(c.oid) AND t.table_name OPERATOR(pg_catalog.=) %s::pg_catalog.text)""").format(
                sql.Identifier(self.extension)), table, table).fetchall()
        for _, _, owner, is_own in rows:
            if not is_own:
                raise Failure(f'table "{table}" belongs to role "{owner}": write to it as that role, as by PGOPTIONS="-c role=…"')
        # a name with its schema is looked up first; a schema whose name has a dot cannot be named
        names = [f'{schema}.{name}' if '.' not in schema else table for schema, name, _, _ in rows]
        return table if table in names else names[0] if names else None

    def transaction(self):
        return self.session.transaction()

    def close(self):
        with contextlib.suppress(psycopg.Error):
            self.session.close()


class Database:
    def __init__(self, **settings):
        self.settings = {name: value for name, value in settings.items() if value is not None}

    def connect(self):
        return Connection(self.settings)

    @staticmethod
    def passes(error):
        """Whether the same may work later: the server has gone away, or others were in the way."""
        state = error.sqlstate or ''
        return (isinstance(error, psycopg.OperationalError) and not state) or state[:2] in ('08', '40', '53') or state in (
            '57P01', '57P02', '57P03', '55P03', '55006', 'YD004', 'YD009')


class Stale(psycopg.OperationalError):
    """Another session has gone on where this one wanted to, such as that of a program that was killed.  What is in the book holds."""


class Book:
    """What is remembered of one table in one direction."""

    def __init__(self, schema, table, direction):
        self.schema, self.table, self.direction = schema, table, direction
        self.id = None

    def q(self, statement):
        """A statement that has {schema}.name for the tables, and {records} and {gate} for those of this follow."""
        return sql.SQL(statement).format(schema=sql.Identifier(self.schema), records=sql.Identifier(self.schema, f'records_{self.id}'),
                                         gate=sql.Identifier(self.schema, f'gate_{self.id}'))

    def make(self, connection):
        """The schema and its tables.  What is there is the caller's: others could have put triggers there."""
        if not self.exists(connection):
            connection.execute(self.q('CREATE SCHEMA {schema}'))
        connection.execute(self.q("""
            CREATE TABLE IF NOT EXISTS {schema}.follows (
                id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, table_name text NOT NULL, direction text NOT NULL,
                source text NOT NULL, source_table text NOT NULL, stream text, begun_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
                copied_at timestamptz, caught_up_at timestamptz, seen_at timestamptz, stop boolean NOT NULL DEFAULT false,
                switched boolean NOT NULL DEFAULT false, UNIQUE (table_name, direction));
            CREATE TABLE IF NOT EXISTS {schema}.segments (
                follow int NOT NULL REFERENCES {schema}.follows ON DELETE CASCADE, segment int NOT NULL, last_key text,
                done boolean NOT NULL DEFAULT false, items bigint NOT NULL DEFAULT 0, PRIMARY KEY (follow, segment));
            CREATE TABLE IF NOT EXISTS {schema}.shards (
                follow int NOT NULL REFERENCES {schema}.follows ON DELETE CASCADE, shard text NOT NULL, parent text, start text,
                position text, done boolean NOT NULL DEFAULT false, PRIMARY KEY (follow, shard))"""))

    def exists(self, connection):
        found = connection.execute("""SELECT pg_catalog.pg_get_userbyid(nspowner) = current_user, pg_catalog.pg_get_userbyid(nspowner),
            (SELECT count(*) FROM pg_catalog.pg_class WHERE relnamespace = n.oid AND relowner <> nspowner)
            FROM pg_catalog.pg_namespace n WHERE nspname = %s""", self.schema).fetchone()
        if found is None:
            return False
        if not found[0] or found[2]:
            raise Failure(f'schema "{self.schema}" has what belongs to other roles: name another one by --schema')
        return True

    def find(self, connection):
        """Whether it has begun; then what follows has of it."""
        if not self.exists(connection) or connection.execute(
                'SELECT pg_catalog.to_regclass(%s)', self.q('{schema}.shards').as_string(connection.session)).fetchone()[0] is None:
            return None
        row = connection.execute(self.q("""SELECT id, source, source_table, stream, copied_at IS NOT NULL, switched, stop,
            pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - caught_up_at),
            pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - seen_at)
            FROM {schema}.follows WHERE table_name = %s AND direction = %s"""), self.table, self.direction).fetchone()
        if row is None:
            return None
        names = 'id', 'source', 'source_table', 'stream', 'copied', 'switched', 'stop', 'lag', 'seen'
        found = dict(zip(names, row))
        self.id = found['id']
        return found

    def begin(self, connection, source, source_table, stream, shards, segments):
        """In the caller's transaction: a new entry, with the shards of the stream and the segments of the copy."""
        self.make(connection)
        self.id = connection.execute(self.q("""INSERT INTO {schema}.follows (table_name, direction, source, source_table, stream)
            VALUES (%s, %s, %s, %s, %s) RETURNING id"""), self.table, self.direction, source, source_table, stream).fetchone()[0]
        connection.execute(self.q("""CREATE TABLE {records} (key bytea PRIMARY KEY, sequence numeric NOT NULL); CREATE TABLE {gate} ()"""))
        for shard in shards:
            self.add_shard(connection, **shard)
        for segment in range(segments):
            connection.execute(self.q('INSERT INTO {schema}.segments (follow, segment) VALUES (%s, %s)'), self.id, segment)

    def forget(self, connection):
        connection.execute(self.q('DELETE FROM {schema}.follows WHERE id = %s'), self.id)
        connection.execute(self.q('DROP TABLE IF EXISTS {records}, {gate}'))

    def lock(self, connection):
        """The lock of the one program that may follow, kept by the session."""
        name = f'{self.schema}.follows {self.id}'
        # the session of one that was killed ends after its statement
        for _ in range(600):
            if connection.execute('SELECT pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended(%s, 47))', name).fetchone()[0]:
                return
            time.sleep(0.1)
        raise Failure(f'another program follows table "{self.table}"')

    # shards

    def add_shard(self, connection, shard, parent, start, position=None, done=False):
        connection.execute(self.q("""INSERT INTO {schema}.shards (follow, shard, parent, start, position, done) VALUES (%s, %s, %s, %s, %s, %s)
            ON CONFLICT DO NOTHING"""), self.id, shard, parent, start, position, done)

    def shards(self, connection):
        rows = connection.execute(self.q('SELECT shard, parent, start, position, done FROM {schema}.shards WHERE follow = %s'), self.id).fetchall()
        return {row[0]: dict(zip(('shard', 'parent', 'start', 'position', 'done'), row)) for row in rows}

    def advance(self, connection, shard, old, new, done):
        moved = connection.execute(self.q("""UPDATE {schema}.shards SET position = %s, done = %s WHERE follow = %s AND shard = %s
            AND position IS NOT DISTINCT FROM %s AND NOT done"""), new, done, self.id, shard, old)
        if moved.rowcount != 1:
            raise Stale()

    def newer(self, connection, numbers):
        """Of records with these numbers by the digests of their items, the digests of those that are newer than what is there."""
        rows = connection.execute(self.q("""INSERT INTO {records} AS r SELECT * FROM ROWS FROM (pg_catalog.unnest(%s::bytea[]), pg_catalog.unnest(%s::numeric[]))
            ON CONFLICT (key) DO UPDATE SET sequence = excluded.sequence WHERE r.sequence < excluded.sequence RETURNING key"""),
            list(numbers), list(numbers.values())).fetchall()
        return {row[0] for row in rows}

    def heartbeat(self, connection, caught_up):
        """Tells others how far it is, and returns whether they want it to stop.  The server's clock is asked first, so that no pause makes the lag smaller."""
        now = connection.execute('SELECT pg_catalog.clock_timestamp()').fetchone()[0]
        lag = min(time.monotonic() - caught_up(), 1e6)
        return connection.execute(self.q("""UPDATE {schema}.follows SET seen_at = pg_catalog.clock_timestamp(),
            caught_up_at = %s - pg_catalog.make_interval(secs => %s) WHERE id = %s RETURNING stop"""), now, lag, self.id).fetchone()[0]

    # segments

    def undone(self, connection):
        return connection.execute(self.q('SELECT segment, last_key FROM {schema}.segments WHERE follow = %s AND NOT done ORDER BY segment'), self.id).fetchall()

    def copied(self, connection):
        """Segments, those that are done, and items."""
        return connection.execute(self.q("""SELECT pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE done), coalesce(pg_catalog.sum(items), 0)::bigint
            FROM {schema}.segments WHERE follow = %s"""), self.id).fetchone()

    def advance_segment(self, connection, segment, old, new, done, items):
        moved = connection.execute(self.q("""UPDATE {schema}.segments SET last_key = %s, done = %s, items = items + %s
            WHERE follow = %s AND segment = %s AND last_key IS NOT DISTINCT FROM %s AND NOT done"""), new, done, items, self.id, segment, old)
        if moved.rowcount != 1:
            raise Stale()

    def untouched(self, connection, digests):
        """Of these digests, those of items of which no record has been applied."""
        rows = connection.execute(self.q("""SELECT d FROM pg_catalog.unnest(%s::bytea[]) d
            WHERE NOT EXISTS (SELECT FROM {records} r WHERE r.key = d)"""), digests).fetchall()
        return {row[0] for row in rows}


class Writer:
    """Writes lines, which are items or changes, in the caller's transaction, and tells what the table refuses."""

    def __init__(self, table, refused):
        self.table, self.refused = table, refused

    def open(self, connection):
        """From now on it is the table that is there now, whatever others make by its name."""
        name = connection.own(self.table)
        if name is None:
            raise Failure(f'there is no table "{self.table}"')
        self.table = name

    def write(self, connection, lines):
        if not lines:
            return
        errors = self.import_lines(connection, lines)
        self.refused.add([{**lines[e['line'] - 1], 'Metadata': {name: e[name] for name in ('code', 'message', 'detail') if name in e}} for e in errors])

    def import_lines(self, connection, lines):
        with connection.transaction() as savepoint:
            text = '\n'.join(json.dumps(line) for line in lines)
            _, _, _, skipped, errors = connection.call(
                "dyn_import_lines(%s::pg_catalog.text, %s::pg_catalog.text, format => 'json'::pg_catalog.text, on_error => 'skip'::pg_catalog.text)", self.table, text)
            if skipped > len(errors):
                raise psycopg.Rollback(savepoint)
            return errors
        # there are more than it lists
        return [{**e, 'line': e['line'] + n} for n in range(0, len(lines), 100) for e in self.import_lines(connection, lines[n:n + 100])]
