"""Reads from a standby, which is a real one (GW55): what it answers, and that it never costs an answer."""
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

from gateway import DATABASE, PROGRAM, Gateway, as_server, done, in_thread, is_, ok, pg_ctl, psql, put, sign, until

PRIMARY = os.environ['PGHOST']
SOCKETS = PRIMARY + '/standby_sockets'
DATA = PRIMARY + '/standby_data'
READ_DATABASE = f'host={SOCKETS} user=gateway dbname=postgres'


def standby_ctl(*arguments):
    return as_server(os.environ['PG_BIN'] + '/pg_ctl', '-w', '-D', DATA, '-l', PRIMARY + '/standby.log', *arguments)


def standby_psql(sql):
    return subprocess.run([os.environ['PG_BIN'] + '/psql', '-qXAt', '-v', 'ON_ERROR_STOP=1', '-h', SOCKETS, '-U', 'postgres', '-c', sql],
                          check=True, capture_output=True, text=True).stdout.strip()


def make_standby():
    as_server('mkdir', SOCKETS)
    as_server(os.environ['PG_BIN'] + '/pg_basebackup', '-h', PRIMARY, '-U', 'postgres', '-D', DATA, '-R', '-X', 'stream', '-c', 'fast')
    as_server('bash', '-c', f'''printf "unix_socket_directories = '{SOCKETS}'\\n\
max_standby_streaming_delay = 0\\nwal_retrieve_retry_interval = 100ms\\n" >>{DATA}/postgresql.conf''')
    standby_ctl('start')


def catch_up():
    lsn = psql('SELECT pg_current_wal_insert_lsn()')
    until(lambda: standby_psql(f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'") == 't', 'the replay')


def there():
    """The gateway's backends."""
    return standby_psql("SELECT string_agg(pid::text, ',' ORDER BY pid) FROM pg_stat_activity WHERE usename = 'gateway'")


def connected(gateway, n=4):
    until(lambda: gateway.metric('dynamo_read_pool_connections{state="idle"}') == n, 'connections to the standby')


def answered(gateway, by='standby'):
    return gateway.metric(f'dynamo_standby_reads_total{{answered_by="{by}"}}')


def reads_there(gateway):
    before = answered(gateway)
    return value(gateway.call('GetItem', request('GetItem'))) == 2 and answered(gateway) == before + 1


# from PostgreSQL 19 on
WAITS = int(psql("SELECT current_setting('server_version_num')")) >= 190000


def others_put(pk, v):
    """A write that the gateway does not know of."""
    psql(f"""SET ROLE app; SELECT count(dyn_put('items', '{{"pk": "{pk}", "v": {v}}}'::jsonb)::text)""")


KEY = {'pk': {'S': 'a'}}
CONDITION = {'KeyConditionExpression': 'pk = :p', 'ExpressionAttributeValues': {':p': {'S': 'a'}}}


def request(operation, consistent=None):
    """A read of the item "a", and whether it says that it is consistent."""
    says = {} if consistent is None else {'ConsistentRead': consistent}
    if operation == 'GetItem':
        return {'TableName': 'items', 'Key': KEY, **says}
    if operation == 'Query':
        return {'TableName': 'items', **CONDITION, **says}
    if operation == 'Scan':
        return {'TableName': 'items', **says}
    return {'RequestItems': {'items': {'Keys': [KEY], **says}}}


def value(answer):
    """The attribute v of the one item in an answer."""
    if answer.status != 200:
        return repr(answer)
    found = answer.json
    item = (found['Item'] if 'Item' in found else (found['Items'] + [None])[0] if 'Items' in found else
            next(iter(found['Responses']['items']), None) if isinstance(found['Responses'], dict) else found['Responses'][0]['Item'])
    return int(item['v']['N']) if item else None


READS = 'GetItem', 'Query', 'Scan', 'BatchGetItem'
# what any role can plant where a gateway's login looks for operators; it would have the login's rights, and so all roles'
psql('''CREATE FUNCTION public.planted(bigint, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
    CREATE OPERATOR public.|| (LEFTARG = bigint, RIGHTARG = text, FUNCTION = public.planted)''')
make_standby()
psql('SET ROLE app; TRUNCATE items, raising')

with Gateway('--read-database', READ_DATABASE, '--read-pool-size', '4', '--queue-time', '2s') as g:
    connected(g)
    is_(g.send(b'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n').status, 200, 'it is ready')
    put(g, 'a', 'items', v=1)
    catch_up()

    # the standby stays behind: stale reads show the old item
    standby_psql('SELECT pg_wal_replay_pause()')
    until(lambda: standby_psql('SELECT pg_get_wal_replay_pause_state()') == 'paused')
    others_put('a', 2)
    before = answered(g)
    for operation in READS:
        is_([value(g.call(operation, request(operation, consistent))) for consistent in (None, False, True)], [1, 1, 2],
            f'{operation}, and {operation} that is consistent')
    is_(answered(g) - before, 2 * len(READS), 'the standby has answered those that may be stale')
    is_(answered(g, 'primary'), 0, 'and has failed at none')
    until(lambda: 'operation=GetItem table=items server=standby status=200' in g.log())
    ok(True, 'the log tells which')

    # who is not plain about it reads from the primary
    for text in ('{"TableName":"items","Key":{"pk":{"S":"a"}},"Consistent\\u0052ead":true}',
                 '{"TableName":"items","ConsistentRead" : \n true,"Key":{"pk":{"S":"a"}}}'):
        is_(value(g.call('GetItem', text.encode())), 2, text)
    for text in ('{"RequestItems":{"raising":{"Keys":[{"pk":{"S":"a"}}],"ConsistentRead":true},"items":{"Keys":[{"pk":{"S":"a"}}]}}}',
                 '{"RequestItems":{"items":{"Keys":[{"pk":{"S":"a"}}],"Consistent\\u0052ead":true}}}'):
        is_(value(g.call('BatchGetItem', text.encode())), 2, text)
    for text in ('{"TableName":"items","Key":{"pk":{"S":"a"}},"ConsistentRead":false,"ConsistentRead":true}',
                 '{"TableName":"items","Key":{"pk":{"S":"a"}},"ConsistentRead":"false"}',
                 '{"TableName":"items","Key":{"pk":{"S":"a"}},"ReturnConsumedCapacity":"x"}'):
        before = answered(g)
        is_((g.call('GetItem', text.encode()).status, answered(g) - before), (400, 0), f'{text} is refused by the primary')

    # what the standby has not heard of yet
    before = answered(g, 'primary')
    psql("SET ROLE app; SELECT dyn_create_table('young', 'pk S')")
    is_(g.call('GetItem', {'TableName': 'young', 'Key': KEY}).json, {}, 'a table that the standby does not have yet')
    is_(answered(g, 'primary') - before, 1, 'is read from the primary')

    # pages of one and the other
    others_put('b', 2)
    page = g.call('Scan', {'TableName': 'items', 'Limit': 1}).json
    is_(g.call('Scan', {'TableName': 'items', 'ConsistentRead': True, 'ExclusiveStartKey': page['LastEvaluatedKey']}).json['Items'],
        [{'pk': {'S': 'b'}, 'v': {'N': '2'}}], 'a page of the standby goes on at the primary')
    page = g.call('Scan', {'TableName': 'items', 'ConsistentRead': True, 'Limit': 1}).json
    is_(g.call('Scan', {'TableName': 'items', 'ExclusiveStartKey': page['LastEvaluatedKey']}).json['Items'], [], 'and the other way')

    is_(value(g.call('TransactGetItems', {'TransactItems': [{'Get': {'TableName': 'items', 'Key': KEY}}]})), 2, 'TransactGetItems is the primary\'s')
    is_(value(g.call('ExecuteStatement', {'Statement': "SELECT * FROM items WHERE pk = 'a'"})), 2, 'ExecuteStatement is the primary\'s')

    # those who have written something see it, where the standby can tell that it is as far
    put(g, 'a', 'items', v=3)
    before = answered(g), answered(g, 'primary')
    is_((value(g.call('GetItem', request('GetItem'))), answered(g) - before[0], answered(g, 'primary') - before[1]), (3, 0, 1) if WAITS else (1, 1, 0),
        'a read of what one has written')
    standby_psql('SELECT pg_wal_replay_resume()')
    until(lambda: value(g.call('GetItem', request('GetItem'))) == 3, 'the new item at the standby')
    if WAITS:
        before = answered(g)
        seen = []
        for n in range(100, 200):
            put(g, 'a', 'items', v=n)
            seen.append(value(g.call('GetItem', request('GetItem'))))
        is_(seen, list(range(100, 200)), 'each of a hundred reads sees the write before it')
        ok(answered(g) - before > 50, 'most are answered by the standby', answered(g) - before)
    put(g, 'a', 'items', v=2)
    until(lambda: value(g.call('GetItem', request('GetItem'))) == 2, 'the new item at the standby')
    catch_up()

    # A read that the replay is in the way of: the policy waits on the standby only.  max_standby_streaming_delay is 0.
    psql("CREATE FUNCTION slow_there() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN IF pg_is_in_recovery() THEN PERFORM pg_sleep(3600); END IF; RETURN true; "
        "END $$")
    psql('CREATE POLICY slow ON items USING (slow_there()); ALTER TABLE items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY')
    catch_up()
    # for so long that no other request is sent behind them
    sleepers = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND clock_timestamp() - query_start > '50 ms'"

    # all connections to the standby are taken: after queue_time the primary has the others
    slow = []
    for n in range(1, 5):
        slow.append(in_thread(g.call, 'GetItem', request('GetItem')))
        until(lambda: len(standby_psql(sleepers).split()) == n)
    is_(value(g.call('GetItem', request('GetItem'))), 2, 'a standby without a free connection')
    with Gateway('--read-database', READ_DATABASE, '--request-time', '2s') as impatient:
        connected(impatient)
        is_(value(impatient.call('GetItem', request('GetItem'))), 2, 'a standby that does not answer in time')
    standby_psql(f'SELECT pg_terminate_backend(pid) FROM ({sleepers}) sleeper')
    is_([value(s()) for s in slow], [2] * 4, 'those that waited for the standby')
    connected(g)

    for what, name in ((lambda pid: psql('BEGIN; LOCK TABLE items; COMMIT'), 'a conflict with recovery'),
                       (lambda pid: standby_psql(f'SELECT pg_terminate_backend({pid})'), 'a backend that is ended'),
                       (lambda pid: os.kill(int(pid), 9), 'a backend that is killed')):
        before = answered(g, 'primary')
        read = in_thread(g.call, 'GetItem', request('GetItem'))
        what(until(lambda: standby_psql(sleepers), 'a read that runs on the standby'))
        is_(value(read()), 2, f'{name} costs no answer')
        is_(answered(g, 'primary') - before, 1, 'the primary has answered')
        connected(g)
        if name == 'a conflict with recovery':
            until(lambda: standby_psql("SELECT confl_lock > 0 FROM pg_stat_database_conflicts WHERE datname = 'postgres'") == 't')
    psql('ALTER TABLE items DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY')
    catch_up()
    # connections that have died are found out when they are used
    until(lambda: reads_there(g))

    # a policy that writes can do so on the primary only, and costs no connection
    psql("CREATE TABLE seen (n int); GRANT INSERT ON seen TO app; CREATE FUNCTION note() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen "
        "VALUES (1); RETURN true; END $$")
    psql('DROP POLICY slow ON items; CREATE POLICY notes ON items USING (note()); ALTER TABLE items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY')
    catch_up()
    pids = there()
    is_(value(g.call('GetItem', request('GetItem'))), 2, 'a read that writes')
    is_(there(), pids, 'it costs no connection')
    psql('ALTER TABLE items DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY; DROP POLICY notes ON items')
    catch_up()

    ok(g.log().count('could not connect to the standby') <= 1, 'the log says once that it is away', g.log()[-3000:])

# the standby comes and goes under reads
answers, stop = [], threading.Event()


def read_on(gateway):
    while not stop.is_set():
        for operation in READS:
            time.sleep(0.01)
            answers.append(value(gateway.call(operation, {**request(operation), 'Limit': 1} if operation == 'Scan' else request(operation))))


config = tempfile.NamedTemporaryFile('w', suffix='.conf')


def set_read_database(text):
    config.seek(0)
    config.truncate()
    config.write(f'read_database = {text}\n')
    config.flush()


def change_read_database(gateway, text):
    set_read_database(text)
    gateway.signal(signal.SIGHUP)


set_read_database('')
with Gateway('--config', config.name, '--queue-time', '2s') as g:
    is_(value(g.call('GetItem', request('GetItem'))), 2, 'without a standby')
    change_read_database(g, READ_DATABASE + ' target_session_attrs=standby')
    connected(g)
    threads = [threading.Thread(target=read_on, args=(g,)) for _ in range(3)]
    for thread in threads:
        thread.start()

    def goes_on(by, name):
        before = answered(g, by), len(answers)
        until(lambda: answered(g, by) > before[0] + 20 and len(answers) > before[1] + 20, name)
        ok(True, name)

    def primary_goes_on(name):
        before = len(answers), answered(g)
        until(lambda: len(answers) > before[0] + 20, name)
        is_(answered(g), before[1], name)

    goes_on('standby', 'the standby answers')
    for mode in 'fast', 'immediate':
        standby_ctl('-m', mode, 'stop')
        until(lambda: g.metric('dynamo_read_pool_connections{state="down"}') == 4)
        primary_goes_on(f'the primary answers while the standby is stopped ({mode})')
        is_(g.send(b'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n').status, 200, 'it is ready without the standby')
        standby_ctl('start')
        goes_on('standby', 'the standby answers again')

    # settings are read again
    change_read_database(g, '')
    until(lambda: standby_psql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'gateway'") == '0', 'the end of the connections to the standby')
    primary_goes_on('without read_database the primary answers')
    psql('CREATE DATABASE another')
    psql('CREATE EXTENSION dynamo_table; GRANT USAGE ON SCHEMA dynamo_internal TO gateway; GRANT EXECUTE ON FUNCTION dynamo_internal.request_as TO gateway',
        database='another')
    change_read_database(g, f'host={SOCKETS}/nowhere user=gateway dbname=postgres')
    until(lambda: re.search('could not connect to the standby: .*/nowhere', g.log()))
    # other settings have other faults, which are told too
    change_read_database(g, f'host={PRIMARY} user=gateway dbname=another')
    until(lambda: 'could not connect to the standby: it is not the same database' in g.log())
    primary_goes_on('another database is not read from')
    change_read_database(g, READ_DATABASE + ' target_session_attrs=standby')
    goes_on('standby', 'the standby is back')

    # without the primary
    pg_ctl('-m', 'fast', 'stop')
    until(lambda: g.send(b'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n').status == 503)
    ok(True, 'it is not ready without the primary')
    goes_on('standby', 'the standby answers without the primary')
    is_(g.call('GetItem', request('GetItem', True)).status, 503, 'but no consistent read')
    pg_ctl('start')
    until(lambda: g.call('GetItem', request('GetItem', True)).status == 200)

    # the standby becomes a primary, which is not what the connection string asks for
    standby_ctl('promote')
    until(lambda: g.metric('dynamo_read_pool_connections{state="down"}') == 4)
    primary_goes_on('a standby that was promoted is not read from, if only standbys are')
    stop.set()
    for thread in threads:
        thread.join()
    is_(set(answers), {2}, f'all of {len(answers)} reads were answered')

# Any server of the cluster will do, also one that was promoted.
with Gateway('--read-database', READ_DATABASE) as g:
    connected(g)
    before = answered(g)
    is_(value(g.call('GetItem', request('GetItem'))), 2, 'a promoted standby')
    is_(answered(g) - before, 1, 'is read from otherwise')

# another cluster has other roles behind the same OIDs
standby_ctl('-m', 'fast', 'stop')
as_server('rm', '-rf', DATA)
as_server(os.environ['PG_BIN'] + '/initdb', '-D', DATA, '-U', 'postgres', '-A', 'trust', '-N')
as_server('bash', '-c', f'''printf "listen_addresses = ''\\nunix_socket_directories = '{SOCKETS}'\\nfsync = off\\n" >>{DATA}/postgresql.conf''')
standby_ctl('start')
standby_psql('CREATE ROLE gateway LOGIN')
with Gateway('--read-database', READ_DATABASE) as g:
    until(lambda: 'could not connect to the standby: it is not the same database, or not a standby of the same cluster' in g.log())
    is_(value(g.call('GetItem', request('GetItem'))), 2, 'another cluster is not read from')
    is_(answered(g), 0, 'not once')
standby_ctl('-m', 'immediate', 'stop')
as_server('rm', '-rf', DATA)

# keys stay in memory while the primary is away
as_server('rm', '-rf', SOCKETS)
make_standby()
with tempfile.TemporaryDirectory(prefix='gateway-standby') as folder:
    subprocess.run([PROGRAM, '--create-key-file', folder + '/key'], check=True, capture_output=True)
    made = subprocess.run([PROGRAM, '--create-key', 'app', '--key-file', folder + '/key', '--database', f'host={PRIMARY} user=postgres dbname=postgres'],
                          check=True, capture_output=True, text=True).stdout
    key = [line.split('=', 1)[1] for line in made.split()]
    with Gateway('--key-file', folder + '/key', '--read-database', READ_DATABASE, auth='keys') as g:
        connected(g)
        signed = lambda operation, body: value(g.send(sign(*key, operation, json.dumps(body).encode())))
        until(lambda: signed('GetItem', request('GetItem')) == 2)
        pg_ctl('-m', 'fast', 'stop')
        before = answered(g)
        is_([signed(operation, request(operation)) for operation in READS if operation != 'Scan'], [2, 2, 2], 'signed reads without the primary')
        is_(answered(g) - before, 3, 'are the standby\'s')
        pg_ctl('start')
psql(f"SELECT dyn_drop_access_key('{key[0]}')")
psql('DROP FUNCTION public.planted(bigint, text) CASCADE')
standby_ctl('-m', 'immediate', 'stop')
as_server('rm', '-rf', DATA, SOCKETS)

done()
