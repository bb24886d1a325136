"""Leaving a source: the copy, the records, what differs, the switch, and the way back, while each part is killed again and again."""
import atexit
import contextlib
import http.client
import http.server
import itertools
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import boto3
import psycopg

WORK, CLUSTER = sys.argv[1:]
ITEMS, RATE, WRITES = (int(os.environ[name]) for name in ('ITEMS', 'RATE', 'WRITES'))
WAIT = 120 + ITEMS // 100
CONNECTION = {'host': CLUSTER, 'user': 'shop', 'dbname': 'postgres'}
chance = random.Random()


def ok(holds, name, *seen):
    print(f"{'ok' if holds else 'not ok'} - {name}", flush=True)
    for what in seen if not holds else ():
        print(f'    {what!r}'[:3000], flush=True)
    return holds


def is_(got, expected, name):
    return ok(got == expected, name, got, expected)


def until(condition, what):
    end = time.monotonic() + WAIT
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f'{what} did not happen')
        time.sleep(0.05)
    return value


def query(statement, *parameters, user='shop'):
    """Rows, also from a server that has been killed and comes up."""
    def attempt():
        try:
            with psycopg.connect(**{**CONNECTION, 'user': user}, autocommit=True) as connection:
                cursor = connection.execute(statement, parameters or None)
                return [cursor.fetchall() if cursor.description else []]
        except psycopg.OperationalError:
            return None
    return until(attempt, 'an answer of the server')[0]


class Source:
    def __init__(self, *arguments, log='source'):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            self.port = s.getsockname()[1]
        self.url, self.log, self.arguments = f'http://127.0.0.1:{self.port}', f'{WORK}/{log}', arguments
        self.start()

    def start(self, *more):
        self.process = subprocess.Popen([sys.executable, '-B', f'{os.path.dirname(__file__)}/source.py', str(self.port), self.log, *self.arguments, *more])
        atexit.register(self.process.kill)
        until(self.answers, 'the source')

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError('the source ended')
        try:
            return self.control()
        except OSError:
            return None

    def request(self, operation, request):
        data = json.dumps(request).encode()
        asked = urllib.request.Request(self.url, data, {'X-Amz-Target': f'DynamoDB_20120810.{operation}', 'Content-Length': str(len(data))})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return json.load(answer)

    def control(self, **request):
        return self.request('Control', request)

    def put(self, item):
        def attempt():
            try:
                return [self.request('PutItem', {'TableName': 'app', 'Item': item})]
            except (OSError, http.client.IncompleteRead):
                return None
        return until(attempt, 'a write')

    def kill(self):
        self.process.kill()
        self.process.wait()

    def items(self):
        self.control(dump=f'{WORK}/dump')
        with open(f'{WORK}/dump') as f:
            return {key_of(item): normal(item) for item in map(json.loads, f)}


def key_of(item):
    return item['pk']['S'], float(item['sk']['N'])


def normal(item):
    """What two programs may write otherwise: the order of members and of sets, and zeros behind a point."""
    values = {name: {code: sorted(v) if code in ('SS', 'NS', 'BS') else v for code, v in value.items()} for name, value in item.items()}
    text = json.dumps(values, sort_keys=True)
    return re.sub(r'"N": "(\d+\.\d*?)0+"', lambda m: f'"N": "{m[1].rstrip(".")}"', text)


def items_here(table='app'):
    return {key_of(item): normal(item) for item in (json.loads(row[0]) for row in query(f'SELECT item::text FROM "{table}"'))}


def differences(one, other):
    return [(key, one.get(key), other.get(key)) for key in one.keys() | other.keys() if one.get(key) != other.get(key)][:5]


def command(name, url, *arguments):
    # a name in the log of writes tells who wrote
    return ['dynamo_table', name, '--source', url, '-h', CLUSTER, '-U', 'shop', '-d', 'postgres', *arguments]


ENVIRONMENT = {'AWS_ACCESS_KEY_ID': 'a', 'AWS_SECRET_ACCESS_KEY': 'b', 'AWS_DEFAULT_REGION': 'us-east-1', 'AWS_EC2_METADATA_DISABLED': 'true'}


def begin(name, url, *arguments, own=False):
    environment = {**os.environ, **({} if own else ENVIRONMENT), 'PGAPPNAME': name}
    return subprocess.Popen(command(name, url, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=WORK, env=environment,
                            stdin=subprocess.DEVNULL)


def call(name, url, *arguments, own=False):
    process = begin(name, url, *arguments, own=own)
    out, err = process.communicate(timeout=WAIT)
    return process.returncode, out, err


def server(*arguments):
    prefix = ['runuser', '-u', os.environ['SERVER_USER'], '--'] if os.environ['SERVER_USER'] else []
    subprocess.run([*prefix, f"{os.environ['PG_BIN']}/pg_ctl", '-w', '-D', f'{CLUSTER}/data', '-l', f'{CLUSTER}/server.log', *arguments], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd='/')


def kill_server():
    with open(f'{CLUSTER}/data/postmaster.pid') as f:
        os.kill(int(f.readline()), signal.SIGKILL)

    def gone():
        try:
            server('start')
            return True
        except subprocess.CalledProcessError:
            # its processes end a moment later
            return False
    until(gone, 'the start of the server')


def stop(process):
    process.terminate()
    out, err = process.communicate(timeout=WAIT)
    return process.returncode, out + err


class Other(http.server.BaseHTTPRequestHandler):
    """An endpoint that answers what a test says, or as one with a table of one item and no stream would.  None is no answer."""
    KEYS = [{'AttributeName': 'pk', 'KeyType': 'HASH'}]
    USUAL = {'DescribeTable': {'Table': {'TableName': 'other', 'KeySchema': KEYS, 'AttributeDefinitions': [{'AttributeName': 'pk', 'AttributeType': 'N'}]}},
             'DescribeTimeToLive': {'TimeToLiveDescription': {'TimeToLiveStatus': 'DISABLED'}}, 'Scan': {'Items': [{'pk': {'N': '1'}}]}}

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        operation = self.headers['X-Amz-Target'].split('.')[1]
        answer = self.server.answers[operation] if operation in self.server.answers else self.USUAL[operation]
        answer = answer() if callable(answer) else answer
        if answer is None:
            return
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def other(answers):
    """The URL of an endpoint that gives these answers."""
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Other) as endpoint:
        endpoint.answers = answers
        threading.Thread(target=endpoint.serve_forever, daemon=True).start()
        try:
            yield f'http://127.0.0.1:{endpoint.server_address[1]}'
        finally:
            endpoint.shutdown()


def call_other(name, answers, *arguments):
    """What the command does where the endpoint gives these answers."""
    with other(answers) as url:
        return call(name, url, '--table', 'other', '--no-stream', '--segments', '1', *arguments)


def plant():
    """Another role makes the table while the command waits for the endpoint."""
    query("SELECT dyn_create_table('other', 'pk N')")
    query("""CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted'; END $$;
        CREATE TRIGGER planted BEFORE INSERT ON other FOR EACH ROW EXECUTE FUNCTION planted()""")
    return Other.USUAL['DescribeTable']


status, out, err = call_other('copy', {'DescribeTable': plant}, '--schema', 'by_superuser', '-U', 'postgres')
ok(status == 1 and 'belongs to role "shop"' in err, 'a table that another role makes meanwhile is not copied to', status, err)
query('DROP TABLE other; DROP FUNCTION planted()')


def circle():
    """A scan of three pages that begins anew when it is at its end."""
    return itertools.cycle([{'Items': [], 'LastEvaluatedKey': {'pk': {'N': str(n)}}} for n in range(3)])


for what, answers in {
        'a table without keys': {'DescribeTable': {'Table': {'TableName': 'other', 'AttributeDefinitions': []}}},
        'an item without its key': {'Scan': {'Items': [{'a': {'S': 'x'}}]}},
        'a number that is none': {'Scan': {'Items': [{'pk': {'N': 'x'}}]}},
        'a number that is too large': {'Scan': {'Items': [{'pk': {'N': '1e999999999'}}]}},
        'a capacity that is text': {'Scan': {'Items': [], 'ConsumedCapacity': {'CapacityUnits': 'x'}}},
        'the same page again and again': {'Scan': {'Items': [], 'LastEvaluatedKey': {'pk': {'N': '1'}}}},
        'pages in a circle': {'Scan': circle().__next__}}.items():
    status, out, err = call_other('copy', answers, '--schema', 'other')
    ok(status == 1 and err.startswith('dynamo_table: ') and 'Traceback' not in err and err.count('\n') == 1, f'{what} is a message', status, err)
    query('DROP TABLE IF EXISTS other; DROP SCHEMA IF EXISTS other CASCADE')

# an endpoint that stops to answer, and shards that come after themselves
streamed = {**Other.USUAL['DescribeTable']['Table'], 'LatestStreamArn': 'arn', 'StreamSpecification': {'StreamEnabled': True, 'StreamViewType': 'NEW_IMAGE'}}
answers = {'DescribeTable': {'Table': streamed}, 'DescribeStream': {'StreamDescription': {'Shards': [
    {'ShardId': name, 'ParentShardId': parent, 'SequenceNumberRange': {'StartingSequenceNumber': '1'}} for name, parent in (('a', 'c'), ('b', 'a'))]}}}
with other(answers) as url:
    arguments = '--table', 'other', '--schema', 'other'
    is_(call('copy', url, '--segments', '1', *arguments)[0], 0, 'a table with a stream')
    asked = threading.Semaphore(0)
    answers['GetShardIterator'] = answers['DescribeStream'] = asked.release
    following = begin('follow', url, '--poll', '0.05', *arguments)
    for _ in range(4):
        asked.acquire()
    is_(stop(following)[0], 0, 'follow is stopped while the source does not answer')
    query("UPDATE other.shards SET parent = 'b' WHERE shard = 'a'")
    answers['DescribeStream'] = {'StreamDescription': {'Shards': [{'ShardId': name, 'SequenceNumberRange': {}} for name in 'ab']}}
    status, out, err = call('follow', url, *arguments)
    ok(status == 1 and 'comes after itself' in err, 'shards that come after themselves are not waited for', status, err)
    answers['Scan'] = circle().__next__
    comparing = begin('compare', url, '--segments', '2', *arguments)
    ok(comparing.wait(WAIT) == 1 and 'again and again' in comparing.stderr.read(), 'a comparison of pages in a circle ends')
query('DROP TABLE other; DROP SCHEMA other CASCADE')

# what is refused before anything is made
source = Source('--items', str(ITEMS))
source.control(view='')
status, out, err = call('copy', source.url, '--table', 'app')
ok(status == 1 and 'update-table --table-name app --stream-specification StreamEnabled=true' in err, 'a source without a stream is refused with the call', err)
source.control(view='KEYS_ONLY')
status, out, err = call('copy', source.url, '--table', 'app')
ok(status == 1 and 'KEYS_ONLY, which is not enough' in err, 'and one whose records have no images', err)
source.control(view='NEW_AND_OLD_IMAGES')
is_(query("SELECT to_regclass('app')"), [(None,)], 'nothing was made')
status, out, err = call('follow', source.url, '--table', 'app')
ok(status == 1 and 'is not a copy' in err, 'what was not copied is not followed', err)
status, out, err = call('copy', 'http://127.0.0.1:9', '--table', 'app')
ok(status == 1 and 'does not answer' in err, 'an endpoint that is not there', err)
query('CREATE SCHEMA planted AUTHORIZATION postgres', user='postgres')
status, out, err = call('copy', source.url, '--table', 'app', '--schema', 'planted')
ok(status == 1 and 'belongs to other roles' in err, 'a schema of somebody else is not used', err)

# copy and follow at once, while the source is written, and each of them is killed.  A trigger has what was written by whom.
source.control(rate=RATE, writes=WRITES)
query("SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{\"GSI1\": {\"partition_key\": \"sk N\", \"sort_key\": \"n N\"}}')")
query("SELECT dyn_enable_stream('app')")
query("""CREATE TABLE written (at bigint GENERATED ALWAYS AS IDENTITY, who text, pk text, sk numeric, n numeric);
    CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.written (who, pk, sk, n) VALUES (current_setting('application_name'), NEW.pk, NEW.sk, (NEW.item ->> 'n')::numeric);
        RETURN NEW;
    END $$;
    CREATE TRIGGER note_write AFTER INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION note_write()""")
began = time.monotonic()
shards_before = source.control()['shards']
copying, following = None, None
kills = {'copy': 0, 'follow': 0, 'server': 0, 'source': 0}
refused_to_run = []


def run_both():
    """Copies until that is done, and follows."""
    global copying, following
    if copying is None or (copying.poll() is not None and copying.returncode != 0):
        copying = begin('copy', source.url, '--table', 'app', '--segments', '7', '--jobs', '2', '--read-units', str(max(ITEMS // 150, 20)))
    if following is None or following.poll() is not None:
        if following is not None and following.returncode > 0:
            message = following.stderr.read()
            # who begins while the server or the source is away says so and ends; who is under way waits for it
            if 'is not a copy' not in message and not re.match('dynamo_table: (connection|\\S+ does not answer)', message):
                refused_to_run.append(message)
        following = begin('follow', source.url, '--table', 'app', '--poll', '0.1', '--settle', '1')


pauses = (0.8, 1.6) if ITEMS < 10000 else (5, 15)
until(lambda: (run_both(), query("SELECT count(*) FROM pg_namespace WHERE nspname = 'dynamo_leave'")[0][0])[1], 'the book')
turn = 0
while source.control()['writes'] > 0 or copying.poll() is None or not all(kills.values()):
    run_both()
    time.sleep(chance.uniform(*pauses))
    what = ('copy', 'follow', 'source', 'server', 'follow')[turn % 5]
    turn += 1
    if what == 'copy' and copying.poll() is None:
        copying.kill()
        copying.wait()
    elif what == 'follow' and following.poll() is None:
        following.kill()
        following.wait()
    elif what == 'server':
        kill_server()
    elif what == 'source':
        left = source.control()['writes']
        source.kill()
        time.sleep(0.2)
        source.start('--rate', str(RATE), '--writes', str(left))
    else:
        continue
    kills[what] += 1
run_both()
is_(copying.wait(), 0, f'the copy ends well; killed: {kills}')
ok(all(kills.values()), 'each part was killed', kills)
is_(refused_to_run, [], 'follow never gave up')
# a kill may come between a write and the split that follows
ok(source.control()['shards'] >= shards_before + WRITES // 700 - 1, 'shards were split', shards_before, source.control())
status, text = stop(following)
status, out, err = call('follow', source.url, '--table', 'app', '--until-drained', '--poll', '0.1', '--settle', '1')
ok(status == 0, 'the rest of the stream', err)
seconds = time.monotonic() - began
there, here = source.items(), items_here()
ok(there == here, f'{len(there)} items are the same after {source.control()["written"]} writes, {seconds:.0f} s', differences(there, here))
is_(query("""SELECT count(*) FROM (SELECT n, lag(n) OVER (PARTITION BY pk, sk ORDER BY at) AS before FROM written WHERE who = 'follow') w WHERE n <= before"""),
    [(0,)], 'each record took effect once, and in its order')
is_(query("""SELECT count(*) FROM written c JOIN written f USING (pk, sk) WHERE c.who = 'copy' AND f.who = 'follow' AND c.at > f.at"""), [(0,)],
    'an item of the copy never came after a record')
is_(query("SELECT count(*) FROM (SELECT FROM written WHERE who = 'copy' GROUP BY pk, sk HAVING count(*) > 1) w"), [(0,)], 'nor twice')
ok(query("SELECT count(DISTINCT who) FROM written")[0][0] == 2, 'both have written', query('SELECT DISTINCT who FROM written'))
is_([name for name in os.listdir(WORK) if 'refused' in name], [], 'nothing was refused')
is_(call('copy', source.url, '--table', 'app')[0], 0, 'a copy that is complete is done')
status, out, err = call('copy', source.url, '--table', 'app', '--restart')
ok(status == 1 and 'has items' in err, 'what is there is not copied over', err)
# triggers of a table's owner run as who writes
query("SELECT dyn_create_table('planted', 'pk S', 'sk N')")
for name in 'planted', 'public.planted':
    status, out, err = call('copy', source.url, '--table', name, '--source-table', 'app', '--schema', 'by_superuser', '-U', 'postgres')
    ok(status == 1 and 'belongs to role "shop"' in err, f'a superuser does not copy to a table of another role, {name}', err)
is_(query('SELECT count(*) FROM planted'), [(0,)], 'which stays empty')


# what differs: a difference of each kind, and none that is on its way
source.control(rate=5, writes=10 ** 9)
following = begin('follow', source.url, '--table', 'app', '--poll', '0.1', '--settle', '0', '--refused', f'{WORK}/refused')
until(lambda: query("""SELECT coalesce(clock_timestamp() - caught_up_at < '10 s' AND seen_at > now() - interval '10 s', false)
    FROM dynamo_leave.follows""")[0][0], 'following')
# as a session of a program that was killed may: it ends its statement
POSITIONS = 'SELECT shard, position FROM dynamo_leave.shards WHERE NOT done AND position IS NOT NULL'
before = dict(query(POSITIONS))
moved = until(lambda: [shard for shard, position in query(POSITIONS) if before.get(shard, position) != position], 'a record')[0]
query(f"UPDATE dynamo_leave.shards SET position = '{before[moved]}' WHERE shard = '{moved}' AND NOT done")
status, out, err = call('compare', source.url, '--table', 'app', '--settle', '0.5')
is_((status, out), (0, ''), 'while it is written, what is on its way is no difference')
ok(following.poll() is None, 'a position that another session has written is taken')
known = query('SELECT count(*) FROM dynamo_leave.shards')[0][0]
source.control(unseen=True)
until(lambda: following.poll() is not None or query('SELECT count(*) FROM dynamo_leave.shards')[0][0] >= known + 2, 'new shards')
ok(following.poll() is None, 'a shard is looked for again that was made and split while shards were listed')
source.put({'pk': {'S': 'planted'}, 'sk': {'N': '1'}, 'n': {'N': '1'}})
source.put({'pk': {'S': 'planted'}, 'sk': {'N': '2'}, 'n': {'N': '1'}})
# a put whose answer is lost is sent again, and writes again: those in front of this one have been applied when it is here
source.put({'pk': {'S': 'planted'}, 'sk': {'N': '4'}, 'n': {'N': '1'}})
until(lambda: query("SELECT count(*) FROM app WHERE pk = 'planted'")[0][0] == 3, 'the planted items')
query("""SELECT dyn_delete('app', '{"pk": {"S": "planted"}, "sk": {"N": "1"}}'), dyn_put('app', '{"pk": {"S": "planted"}, "sk": {"N": "2"}, "n": {"N": "2"}}'),
    dyn_put('app', '{"pk": {"S": "planted"}, "sk": {"N": "3"}, "n": {"N": "1"}}')""")
status, out, err = call('compare', source.url, '--table', 'app', '--settle', '0.5')
is_((status, sorted((d['Difference'], d['Key']['sk']['N']) for d in map(json.loads, out.splitlines()))),
    (1, [('only here', '3'), ('only in the source', '1'), ('unequal', '2')]), 'a difference of each kind is found')
for n in 1, 2, 3:
    source.put({'pk': {'S': 'planted'}, 'sk': {'N': str(n)}, 'n': {'N': '9'}})
status, out, err = call('compare', source.url, '--table', 'app', '--settle', '0.5', '--fraction', '0.1')
said = re.search(r'(\d+) items compared, 0 differ', err)
ok(status == 0 and said and int(said[1]) < 0.5 * ITEMS, 'of a part', status, out, err)

# what is refused is written to a file, and the rest goes on
query("ALTER TABLE app ADD CONSTRAINT refused CHECK (NOT item ? 'refused')")
source.put({'pk': {'S': 'planted'}, 'sk': {'N': '4'}, 'refused': {'S': 'x'}})
until(lambda: os.path.exists(f'{WORK}/refused') and os.path.getsize(f'{WORK}/refused'), 'the refused item')
with open(f'{WORK}/refused') as f:
    refused = [json.loads(line) for line in f]
is_({(r['Metadata']['code'], r['NewImage']['sk']['N']) for r in refused}, {('23514', '4')}, 'what is refused is in a file')
is_(os.stat(f'{WORK}/refused').st_mode & 0o777, 0o600, 'which is its own')
source.put({'pk': {'S': 'planted'}, 'sk': {'N': '4'}, 'n': {'N': '3'}})

# the switch, with writers stopped and started by hooks
status, out, err = call('switch', source.url, '--table', 'app', '--dry-run')
ok(status == 0 and out.count('\n') == 9 and 'nothing was done' in out, 'a dry run', out, err)
with open(f'{WORK}/stop', 'w') as f:
    f.write(f"""curl -s -H 'X-Amz-Target: a.Control' -d '{{"writes": 0}}' {source.url} >/dev/null && touch {WORK}/stopped""")
arguments = ['--table', 'app', '--settle', '1', '--max-lag', '10', '--stop-writers', f'sh {WORK}/stop', '--start-writers', f'touch {WORK}/started']
query("SELECT dyn_put('app', '{\"pk\": {\"S\": \"planted\"}, \"sk\": {\"N\": \"5\"}}')")
status, out, err = call('switch', source.url, *arguments)
ok(status == 1 and '1 items differ' in err and not os.path.exists(f'{WORK}/stopped'), 'no switch where something differs', out, err)
query("SELECT dyn_delete('app', '{\"pk\": {\"S\": \"planted\"}, \"sk\": {\"N\": \"5\"}}')")
status, out, err = call('switch', source.url, *arguments)
ok(status == 0 and os.path.exists(f'{WORK}/started'), 'the switch', out, err)
code, text = following.wait(), following.stderr.read()
ok(code == 3 and 'being switched' in text, 'follow has ended', code, text)
there, here = source.items(), items_here()
ok(there == here, f'{len(there)} items are the same', differences(there, here))
status, out, err = call('follow', source.url, '--table', 'app')
ok(status == 1 and 'would loop' in err, 'nobody follows both ways', err)

# the way back, killed again and again, while we are written
query("ALTER TABLE app DROP CONSTRAINT refused")
before = source.control()['written']
for n in range(6):
    query("""SELECT dyn_put('app', format('{"pk": {"S": "p%%s"}, "sk": {"N": "1"}, "n": {"N": "%%s"}, "b": {"B": "AP8="}, "s": {"BS": ["AA=="]}}',
        i %% 150, i + 1000 * %s)::dyn_item)
        FROM generate_series(1, 500) i""", n)
    query("DELETE FROM app WHERE pk = 'p' || %s", str(n))
    back = begin('follow', source.url, '--table', 'app', '--back', '--poll', '0.1')
    time.sleep(chance.uniform(0.8, 2))
    if n == 2:
        left = source.control()['writes']
        source.kill()
        source.start()
    if n == 4:
        kill_server()
    back.kill()
    back.wait()
query("SELECT dyn_put('app', '{\"pk\": {\"S\": \"refused\"}, \"sk\": {\"N\": \"1\"}, \"refuse\": {\"S\": \"x\"}}')")
status, out, err = call('follow', source.url, '--table', 'app', '--back', '--until-drained', '--poll', '0.1', '--settle', '1',
                        '--refused', f'{WORK}/refused_back')
is_(status, 3, 'the way back, with an item that the source refuses')
query("SELECT dyn_delete('app', '{\"pk\": {\"S\": \"refused\"}, \"sk\": {\"N\": \"1\"}}')")
there, here = source.items(), items_here()
ok(there == here and source.control()['written'] > before + 200, f'{len(there)} items are the same, by {source.control()["written"] - before} writes back',
   differences(there, here))

# what is lost is told: records that were trimmed before they were read, and another stream
for what, request, words in (('records that were trimmed', {'trim': 1}, 'changes have been lost'),
                             ('another stream', {'label': 'other'}, 'has another stream now')):
    query("SELECT dyn_drop_table('app'), 1")
    query('DROP SCHEMA dynamo_leave CASCADE')
    status, out, err = call('copy', source.url, '--table', 'app', '-q')
    for n in range(20):
        source.put({'pk': {'S': f'lost{n}'}, 'sk': {'N': '1'}})
    source.control(**request)
    status, out, err = call('follow', source.url, '--table', 'app', '--until-drained')
    ok(status == 1 and words in err, what, status, err)
source.kill()

# our own gateway as the source
query("SELECT dyn_create_table('origin', 'pk S', 'sk N'), dyn_enable_stream('origin', shards => 2)")
query("""SELECT count(dyn_put('origin', format('{"pk": {"S": "a%s"}, "sk": {"N": "%s"}}', i % 40, i)::dyn_item)) FROM generate_series(1, 1000) i""")
status, out, err = call('copy', os.environ['GATEWAY_URL'], '--table', 'arrived', '--source-table', 'origin', own=True)
ok(status == 0, 'a gateway is copied', err)
following = begin('follow', os.environ['GATEWAY_URL'], '--table', 'arrived', '--source-table', 'origin', '--poll', '0.1', own=True)
query("SELECT dyn_alter_stream('origin', shards => 4)")
query("UPDATE origin SET item = dyn_apply(item, 'SET n = :n', vals => '{\":n\": {\"N\": \"5\"}}') WHERE sk > 500")
query('DELETE FROM origin WHERE sk <= 100')
stop(following)
status, out, err = call('follow', os.environ['GATEWAY_URL'], '--table', 'arrived', '--source-table', 'origin', '--until-drained', '--poll', '0.1',
                        '--settle', '1', own=True)
ok(status == 0, 'and followed, while its shards are split', err)
there, here = items_here('origin'), items_here('arrived')
ok(there == here and len(here) == 900, f'{len(here)} items are the same', differences(there, here), err)

# items from an export, and a copy without a stream
arguments = ['--source-table', 'origin', '--table', 'exported']
status, out, err = call('copy', os.environ['GATEWAY_URL'], *arguments, '--export', own=True)
ok(status == 0 and query('SELECT count(*) FROM exported') == [(0,)], 'the table for an export', err)
query('INSERT INTO exported (item) SELECT item FROM origin')
query('DELETE FROM origin WHERE sk <= 200')
status, out, err = call('follow', os.environ['GATEWAY_URL'], *arguments, '--until-drained', '--poll', '0.1', '--settle', '1', own=True)
there, here = items_here('origin'), items_here('exported')
ok(status == 0 and there == here and len(here) == 800, 'what changed since', err, differences(there, here))
arguments = ['--source-table', 'origin', '--table', 'bare']
status, out, err = call('copy', os.environ['GATEWAY_URL'], *arguments, '--no-stream', own=True)
ok(status == 0 and items_here('bare') == there, 'a copy without a stream', err)
status, out, err = call('follow', os.environ['GATEWAY_URL'], *arguments, own=True)
ok(status == 1 and 'copied without a stream' in err, 'which cannot be followed', err)
print('done')
