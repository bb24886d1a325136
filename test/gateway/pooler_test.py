"""PgBouncer between gateway and server, in transaction mode: sessions are those of whoever comes (GW52)."""
import os
import re
import signal
import subprocess
import tempfile
import threading

from gateway import Gateway, PROGRAM, as_server, done, get, in_thread, is_, ok, pg_ctl, psql, put, sign, until

FOLDER = os.environ['PGHOST'] + '/pgbouncer'
# another one, such as a later version
PGBOUNCER = os.environ.get('PGBOUNCER', '/usr/sbin/pgbouncer')
DATABASE = f'host={FOLDER} port=6432 user=gateway dbname=postgres'
VERSION = tuple(int(n) for n in re.search(r'PgBouncer (\d+)\.(\d+)', subprocess.run([PGBOUNCER, '--version'], capture_output=True, text=True).stdout).groups())
# from this version on it can keep prepared statements together with its clients
KEEPS = VERSION >= (1, 21)


def write_file(name, text):
    as_server('bash', '-c', f'cat >{FOLDER}/{name} <<"E"\n{text}\nE')


def start_pooler(keeps=False):
    """Two connections to the server, for as many clients as there are."""
    write_file('ini', f'''
[databases]
postgres = host={os.environ['PGHOST']} port={os.environ['PGPORT']} dbname=postgres
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {FOLDER}
auth_type = trust
auth_file = {FOLDER}/users
pool_mode = transaction
default_pool_size = 2
server_login_retry = 1
logfile = {FOLDER}/log
pidfile = {FOLDER}/pid
{'max_prepared_statements = ' + ('100' if keeps else '0') if KEEPS else ''}''')
    as_server(PGBOUNCER, '-d', f'{FOLDER}/ini')
    until(lambda: os.path.exists(f'{FOLDER}/.s.PGSQL.6432'), 'PgBouncer')


def stop_pooler():
    pid = int(open(f'{FOLDER}/pid').read())
    # from 1.23 on SIGTERM waits for the clients
    os.kill(pid, signal.SIGQUIT if VERSION >= (1, 23) else signal.SIGTERM)
    until(lambda: not os.path.exists(f'/proc/{pid}'), 'the end of PgBouncer')


def sessions():
    """Those that the server has for the gateway, all by the pooler."""
    return set(psql("SELECT pid FROM pg_stat_activity WHERE usename = 'gateway'").split())


def end_sessions():
    before = sessions()
    psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gateway'")
    until(lambda: not before & sessions())


def work(g, n=30, clients=8):
    """Writes and reads by clients: whether they are answered well."""
    def client(number):
        answers = []
        for i in range(n):
            answers += [put(g, f'{number}-{i}', 'items', v=i).status, get(g, f'{number}-{i}').json.get('Item', {}).get('v')]
        return answers
    waiting = [in_thread(client, number) for number in range(clients)]
    return [w() for w in waiting] == [[x for i in range(n) for x in (200, {'N': str(i)})]] * clients


def warnings(g):
    return g.log().count('loses prepared statements')


as_server('mkdir', '-p', FOLDER)
write_file('users', '"gateway" ""')
start_pooler()

# Keys come without notifications, within a minute: meanwhile there is other work.
folder = tempfile.TemporaryDirectory(prefix='gateway-pooler')
subprocess.run([PROGRAM, '--create-key-file', folder.name + '/key'], check=True, capture_output=True)


def create_key():
    made = subprocess.run([PROGRAM, '--create-key', 'app', '--key-file', folder.name + '/key', '--database',
                          f"host={os.environ['PGHOST']} user=postgres dbname=postgres"],
                          check=True, capture_output=True, text=True).stdout
    return [line.split('=', 1)[1] for line in made.split()]


def accepts(g, key):
    return g.send(sign(*key, 'ListTables', b'{}')).status == 200


first = create_key()
signed = Gateway('--prepared', 'off', '--key-file', folder.name + '/key', database=DATABASE, auth='keys')
until(lambda: accepts(signed, first))
second = create_key()

# A pooler that does not keep prepared statements.
with Gateway(database=DATABASE) as g:
    ok(work(g), 'clients share two sessions')
    ok(len(sessions()) <= 2, 'and no more', sessions())
    for _ in range(3):
        # no session of the next ones has the statement
        end_sessions()
        ok(work(g), 'sessions without the prepared statement')
    is_(warnings(g), 1, 'the log says so, once')
    ok(g.metric('dynamo_sql_retries_total') >= 1, 'the gateway has found it out by an error')
    before = g.metric('dynamo_sql_retries_total')
    for code in '26000', '42P05', '08P01':
        is_(g.call('PutItem', {'TableName': 'raising', 'Item': {'pk': {'S': 'a'}, 'raise': {'S': code}}}).status, 500, f'{code} by a trigger')
    is_(g.metric('dynamo_sql_retries_total'), before, 'none of them is sent again')

    # What others of the same login leave in a session does no harm: it ends, and the request is made in another one.  No request is sent
    # behind another: where the server ends while PgBouncer sends to it, PgBouncer does not tell what the server said.
    for _ in range(3):
        subprocess.run([os.environ['PG_BIN'] + '/psql', '-qX', '-h', FOLDER, '-p', '6432', '-U', 'gateway', '-c', 'CREATE TEMP TABLE dyn (a int)'],
            check=True, capture_output=True)
        ok(work(g, 10, clients=4), 'a session with a temporary table')
    ok(g.metric('dynamo_sql_retries_total') > before, 'the gateway has met such sessions')
    is_(psql("SELECT count(*) FROM pg_namespace n JOIN pg_class c ON relnamespace = n.oid WHERE nspname LIKE 'pg_temp_%' AND relname = 'dyn'"), '0',
        'such sessions have ended')

    # the pooler restarts, and the server
    answers, stop = [], threading.Event()

    def write(number):
        n = 0
        while not stop.is_set():
            n += 1
            answers.append((f'restart {number}-{n}', put(g, f'restart {number}-{n}', 'items').status))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for t in threads:
        t.start()

    def acknowledged():
        return [pk for pk, status in answers if status == 200]

    for restart in lambda: (stop_pooler(), start_pooler()), lambda: pg_ctl('-m', 'fast', 'restart'):
        restart()
        before = len(acknowledged())
        until(lambda: len(acknowledged()) > before + 50, 'writes after a restart')
    stop.set()
    for t in threads:
        t.join()
    there = set(psql("SELECT pk FROM items WHERE pk LIKE 'restart %'").split('\n'))
    is_([pk for pk in acknowledged() if pk not in there], [], f'all of {len(acknowledged())} acknowledged writes are there')
    ok({status for _, status in answers} <= {200, 500, 503}, 'the others were told to come again', {status for _, status in answers})

# Without prepared statements nothing is sent twice.
with Gateway('--prepared', 'off', database=DATABASE) as g:
    until(lambda: get(g, 'a').status == 200)
    end_sessions()
    ok(work(g), 'prepared = off')
    is_((warnings(g), g.metric('dynamo_sql_retries_total')), (0, 0), 'nothing is sent again')

# A pooler that keeps them: with it nothing is to be found out.
if KEEPS:
    stop_pooler()
    start_pooler(keeps=True)
    with Gateway(database=DATABASE) as g:
        until(lambda: get(g, 'a').status == 200)
        ok(work(g), 'a pooler that keeps prepared statements')
        end_sessions()
        ok(work(g), 'also in new sessions')
        is_((warnings(g), g.metric('dynamo_sql_retries_total')), (0, 0), 'nothing is sent again')
        ok(int(psql('SELECT count(*) FROM pg_stat_activity WHERE usename = \'gateway\'')) <= 2, 'two sessions')

# keys: as soon as the gateway is told, or by itself
with signed:
    until(lambda: accepts(signed, second), 'a key, without a notification')
    ok(True, 'a new key is known within a minute')
    third = create_key()
    signed.signal(signal.SIGHUP)
    until(lambda: accepts(signed, third))
    ok(True, 'or at once after SIGHUP')
for key in first, second, third:
    psql(f"SELECT dyn_drop_access_key('{key[0]}')")
stop_pooler()
as_server('rm', '-rf', FOLDER)

done()
