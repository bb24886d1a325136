"""Connections to Postgres: those that die, servers that restart, and requests that wait (GW50 to GW55)."""
import json
import os
import signal
import socket
import subprocess
import threading

from gateway import SANITIZED, Gateway, Hold, done, get, in_thread, is_, ok, pg_ctl, post, psql, put, until, waiting_backends

UNAVAILABLE = (503, 'com.amazonaws.dynamodb.v20120810#ServiceUnavailable')
INTERNAL = (500, 'com.amazonaws.dynamodb.v20120810#InternalServerError')


def told(answer):
    return answer.status, answer.json.get('__type')


def backends():
    return [int(pid) for pid in psql("SELECT pid FROM pg_stat_activity WHERE usename = 'gateway'").split()]


def try_backends(before):
    """Those of before while the server restarts."""
    try:
        return backends()
    except subprocess.CalledProcessError:
        return before


with Gateway('--queue-time', '2s') as g:
    until(lambda: len(backends()) == 4, 'four connections')
    is_(g.send(b'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n').status, 200, 'it is ready')

    # a slow statement holds nobody but its client
    with Hold() as hold:
        slow = in_thread(put, g, pk='slow', hold=1)
        hold.held()
        is_([get(g, str(n)).status for n in range(50)], [200] * 50, 'others are served beside a slow statement')
        is_(len(waiting_backends()), 1, 'which is under way still')
    is_(slow().status, 200, 'it has its answer in the end')

    # all connections are taken: nothing is sent behind a statement that waits
    with Hold() as hold:
        slow = []
        for n in range(1, 5):
            slow.append(in_thread(put, g, pk=f'slow{n}', hold=1))
            hold.held(n)
        is_(told(get(g, 'a')), UNAVAILABLE, 'a request waits for a while, and no longer')
        is_(g.send(b'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n').status, 503, 'it is not ready')
        is_(g.send(b'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n').status, 200, 'it is alive')
    is_([s().status for s in slow], [200] * 4, 'those that were there first have their answers')

with Gateway() as g:
    until(lambda: len(backends()) == 4, 'four connections')
    # backends that are killed while they are idle are found out before they are used
    for how in 'pg_terminate_backend(pid)', None:
        pids = backends()
        if how:
            psql(f"SELECT {how} FROM pg_stat_activity WHERE usename = 'gateway'")
        else:
            # kill -9 of one restarts the server, which takes its time
            os.kill(pids[0], 9)
            until(lambda: not set(pids) & set(try_backends(pids)), 'the end of all')
        until(lambda: get(g, 'a').status == 200, 'a connection')
        is_([get(g, str(n)).status for n in range(8)], [200] * 8, 'killed backends are replaced')

    # and while they work: the outcome of a write is not known
    with Hold() as hold:
        write = in_thread(put, g, pk='killed', hold=1)
        hold.held()
        psql(f'SELECT pg_terminate_backend({waiting_backends()[0]})')
        is_(told(write()), UNAVAILABLE, 'a write whose backend was ended')
        is_('Item' in get(g, 'killed', 'raising').json, False, 'it was not done')
        write = in_thread(put, g, pk='killed', hold=1)
        hold.held()
        pids = backends()
        os.kill(waiting_backends()[0], 9)
        is_(told(write()), INTERNAL, 'a write whose backend was killed')
        until(lambda: not set(pids) & set(try_backends(pids)), 'the end of all')
    until(lambda: get(g, 'a').status == 200, 'a connection')

    # a read is sent again, to another connection
    before = g.metric('dynamo_sql_retries_total')
    psql("CREATE FUNCTION hold() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN true; END'")
    psql("CREATE POLICY slow ON items USING (hold())")
    psql("ALTER TABLE items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
    put(g, 'there', 'items')
    with Hold() as hold:
        read = in_thread(get, g, 'there')
        hold.held()
        pid = waiting_backends()[0]
        psql(f'SELECT pg_terminate_backend({pid})')
        until(lambda: waiting_backends() not in ([], [pid]), 'the read on another connection')
    is_((read().status, 'Item' in read().json), (200, True), 'a read whose backend was ended')
    ok(g.metric('dynamo_sql_retries_total') > before, 'it was sent again')
    psql("ALTER TABLE items DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY")
    psql("DROP POLICY slow ON items")

with Gateway() as g:
    # a restart under requests: what was acknowledged is there, and requests wait for the server
    acknowledged, refused, stop = [], [], threading.Event()

    def write(worker):
        n = 0
        while not stop.is_set():
            n += 1
            answer = put(g, f'{worker}-{n}', 'items')
            (acknowledged if answer.status == 200 else refused).append((f'{worker}-{n}', answer.status))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for mode in 'fast', 'immediate':
        before = len(acknowledged)
        until(lambda: len(acknowledged) > before + 50)
        pg_ctl('-m', mode, 'restart')
        before = len(acknowledged)
        until(lambda: len(acknowledged) > before + 50, f'writes after a restart ({mode})')
    stop.set()
    for t in threads:
        t.join()
    there = set(psql('SELECT pk FROM items').split())
    is_([pk for pk, _ in acknowledged if pk not in there], [], f'all of {len(acknowledged)} acknowledged writes are there')
    ok({status for _, status in refused} <= {500, 503} and len(refused) < 100, 'the others were told to come again', refused[:5])

    # requests wait for a server that is away
    pg_ctl('-m', 'fast', 'stop')
    waiting = in_thread(get, g, 'a')
    until(lambda: g.metric('dynamo_pool_waiting') == 1 and g.metric('dynamo_pool_connections{state="down"}') == 4)
    pg_ctl('start')
    ok(waiting().status == 200, 'a request waits for a server that comes back', g.log()[-1500:])
    log = g.log()
    ok(log.count('connected to Postgres') < 20, 'the log says once that it is away, and once that it is back', log[-3000:])

# one connection serves all clients, whatever the setting of threads
with Gateway('--http-threads', '4', '--pool-size', '1') as g:
    many = [g.connect() for _ in range(24)]
    for _ in range(2):
        with Hold() as hold:
            slow = in_thread(put, g, pk='slow', hold=1)
            hold.held()
            for n, c in enumerate(many):
                c.send(post('GetItem', json.dumps({'TableName': 'items', 'Key': {'pk': {'S': f'shared{n}'}}}).encode()))
            until(lambda: g.metric('dynamo_pool_waiting') == len(many))
        is_(slow().status, 200, 'the one that had the only connection')
        is_({c.read().status for c in many}, {200}, 'those that waited for it')
    # connections that have died are made again
    psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gateway'")
    until(lambda: get(g, 'a').status == 200, 'another connection')
    for n, c in enumerate(many):
        c.send(post('GetItem', json.dumps({'TableName': 'items', 'Key': {'pk': {'S': f'shared{n}'}}}).encode()))
    is_({c.read().status for c in many}, {200}, 'they go on over another connection')
    is_(g.metric('dynamo_pool_connections{state="idle"}'), 1, 'which is idle then')
    for c in many:
        c.socket.close()

# poolers that lose prepared statements
with Gateway('--prepared', 'off') as g:
    is_([put(g, 'x', 'items').status, get(g, 'x').status], [200, 200], 'without a prepared statement')

# several hosts: the first is read-only, as a standby is
with Gateway('--queue-time', '2s', database=f"host=/nonexistent,{os.environ['PGHOST']} user=gateway dbname=postgres target_session_attrs=read-write") as g:
    until(lambda: put(g, 'y', 'items').status == 200, 'a write')
    ok(True, 'the first of several hosts is away')
    psql('ALTER SYSTEM SET default_transaction_read_only = on')
    psql('SELECT pg_reload_conf()')
    until(lambda: put(g, 'z', 'items').status == 503, 'a primary that takes no writes')
    ok(True, 'a primary that takes no writes')
    psql('ALTER SYSTEM RESET default_transaction_read_only')
    psql('SELECT pg_reload_conf()')
    until(lambda: put(g, 'z', 'items').status == 200, 'a primary that takes writes again')
    ok(True, 'the pool comes back by itself')

# settings of the login role are those of its requests
psql("ALTER ROLE gateway SET statement_timeout = '2s'; ALTER ROLE gateway SET lock_timeout = '100ms'")
with Gateway() as g:
    with Hold("BEGIN; SELECT FROM items WHERE pk = 'y' FOR UPDATE"):
        a = put(g, 'y', 'items')
        is_((a.status, a.type), (400, 'com.amazonaws.dynamodb.v20120810#TransactionConflictException'), 'lock_timeout')
psql('ALTER ROLE gateway RESET lock_timeout')
with Gateway() as g, Hold():
    is_(told(put(g, pk='late', hold=1)), INTERNAL, 'statement_timeout')
    until(lambda: 'sqlstate=57014' in g.log())
    is_(get(g, 'late', 'raising').json, {}, 'nothing was done')
psql('ALTER ROLE gateway RESET statement_timeout')


# a trigger that catches what it can: its sessions end with the time of the requests, and the pool has others
def running():
    return psql("SELECT pid FROM pg_stat_activity WHERE usename = 'gateway' AND state = 'active'").split()


for interval in '0', '100ms':
    psql(f"ALTER ROLE gateway SET statement_timeout = '200ms'; ALTER ROLE gateway SET client_connection_check_interval = '{interval}'; ALTER SEQUENCE caught "
        f"RESTART")
    with Gateway('--request-time', '1s', '--pool-size', '1') as g:
        until(lambda: told(put(g, pk='stays', stay=1)) == INTERNAL and psql('SELECT is_called FROM caught') == 't', 'a trigger that catches query_canceled')
        until(lambda: 'no answer in time' in g.log(), 'that it is said')
        ok(True, f'a request whose trigger catches query_canceled is late (client_connection_check_interval = {interval})')
        until(lambda: get(g, 'a').status == 200, 'the next one')
        until(lambda: not running(), 'the end of its session')
        until(lambda: g.metric('dynamo_late_sessions') == 0, 'that the gateway knows')
        ok(True, 'its session ends')

# and one that tells something without end: the gateway keeps nothing of it
psql("ALTER ROLE gateway SET client_connection_check_interval = '5s'")
with Gateway('--request-time', '500ms', '--pool-size', '1') as g:
    is_(told(put(g, pk='floods', flood=1)), INTERNAL, 'a trigger that tells something without end')
    before = g.peak()
    until(lambda: not running(), 'the end of its session')
    until(lambda: g.metric('dynamo_late_sessions') == 0, 'that the gateway knows')
    ok(SANITIZED or g.peak() < before + 8000, 'nothing of it is kept', before, g.peak())
psql('ALTER ROLE gateway RESET ALL')

# sessions that nothing ends: there are no more of them than connections, and one
with Gateway('--request-time', '2s', '--queue-time', '500ms', '--pool-size', '1') as g:
    stopped = []
    with Hold():
        for n in 1, 2:
            until(lambda: g.metric('dynamo_pool_connections{state="idle"}') == 1, 'a connection')
            late = in_thread(put, g, pk='late', hold=1)
            stopped += until(lambda: set(waiting_backends()) - set(stopped), 'the statement')
            os.kill(stopped[-1], signal.SIGSTOP)
            is_(told(late()), INTERNAL, f'a session that does not end ({n})')
    until(lambda: 'as many sessions go on' in g.log(), 'that it is said')
    is_((told(get(g, 'a')), sorted(backends())), (UNAVAILABLE, sorted(stopped)), 'no more are opened')
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    until(lambda: get(g, 'a').status == 200, 'a connection')
    is_(set(backends()) & set(stopped), set(), 'the pool goes on when they have ended')

# each request is a transaction of its own, which sees what others have committed by then
with Gateway('--pool-size', '1') as g:
    is_([put(g, 'own', 'items', n=1).status, psql("SELECT count(dyn_put('items', '{\"pk\": \"own\", \"n\": 2}'::jsonb))"), get(g, 'own').json['Item']['n']],
        [200, '0', {'N': '2'}],
        'a request sees what is committed')
    is_(psql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'gateway' AND xact_start IS NOT NULL"), '0', 'no transaction stays open')

# a statement without end
with Gateway('--request-time', '2s') as g, Hold():
    is_(told(put(g, pk='late', hold=1)), INTERNAL, 'an answer that does not come')
    until(lambda: get(g, 'a').status == 200, 'another connection')
    ok(True, 'the connection is replaced')

# a server that stops reading in the midst of a statement
with Gateway('--request-time', '2s', '--pool-size', '1') as g:
    until(lambda: g.metric('dynamo_pool_connections{state="idle"}') == 1, 'a connection')
    stopped = backends()[0]
    os.kill(stopped, signal.SIGSTOP)
    is_(told(put(g, 'a' * 8000000, 'items')), INTERNAL, 'a server that does not read')
    os.kill(stopped, signal.SIGCONT)
    until(lambda: get(g, 'a').status == 200, 'another connection')
with Gateway() as g:
    is_(put(g, 'a' * 8000000, 'items').status, 400, 'a server that reads as much')


def mute(listener, asked):
    """A server that lets everybody in, and then says nothing."""
    client = listener.accept()[0]
    client.recv(4096)
    client.sendall(b'R\0\0\0\x08\0\0\0\0' + b'Z\0\0\0\x05I')
    asked.append(client.recv(4096))
    client.recv(4096)


with socket.create_server(('127.0.0.1', 0)) as listener:
    asked = []
    threading.Thread(target=mute, args=(listener, asked), daemon=True).start()
    g = Gateway('--pool-size', '1', database=f'host=127.0.0.1 port={listener.getsockname()[1]} user=x sslmode=disable gssencmode=disable')
    until(lambda: asked, 'that something is asked')
    is_(asked[0][:1], b'P', 'a new connection prepares the statement')
    g.signal(signal.SIGTERM)
    until(lambda: 'stopping' in g.log())

    def ends():
        g.signal(signal.SIGTERM)
        return g.process.poll() is not None
    until(ends, 'the end')
    ok(True, 'a second signal ends it, whatever it waits for')
# also without one: it does not wait for ever
with socket.create_server(('127.0.0.1', 0)) as listener:
    asked = []
    threading.Thread(target=mute, args=(listener, asked), daemon=True).start()
    with Gateway('--pool-size', '1', '--read-database', 'host=/nonexistent',
                 database=f'host=127.0.0.1 port={listener.getsockname()[1]} user=x sslmode=disable gssencmode=disable') as g:
        until(lambda: asked, 'that something is asked')

done()
