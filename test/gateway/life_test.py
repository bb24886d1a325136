"""The gateway's life: settings, health, reload, drain, limits, log (GW70 to GW74, GW80 to GW82)."""
import gzip
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
import warnings

from gateway import (DATABASE, PROGRAM, SANITIZED, WAIT, Gateway, Hold, done, get, head, in_thread, is_, ok, post, put, run, this_machine, until,
                     waiting_backends)

HEALTH = head(['GET /healthz HTTP/1.1', 'Host: x'])
READY = head(['GET /readyz HTTP/1.1', 'Host: x'])
LIST = post('ListTables', b'{}')
warnings.simplefilter('ignore', DeprecationWarning)
folder = tempfile.TemporaryDirectory()


def file(name, text):
    path = os.path.join(folder.name, name)
    with open(path, 'w') as f:
        f.write(text)
    return path


# settings
config = file('settings', '# a comment\n\n  region = eu-west-1\norigins = https://file.example\nlog_level=debug\n')
for flags, environment, region in (([], {}, 'eu-west-1'), ([], {'DYNAMO_GATEWAY_REGION': 'eu-west-2'}, 'eu-west-2'),
                                   (['--region=eu-west-3'], {'DYNAMO_GATEWAY_REGION': 'eu-west-2'}, 'eu-west-3')):
    with Gateway('--config', config, *flags, environment=environment) as g:
        is_(g.send(head(['GET / HTTP/1.0'])).text, f'healthy: dynamodb.{region}.amazonaws.com ', f'the region of {region}')
for flags, words in ((['--nothing'], 'no flag'), (['x'], 'no flag'), (['--region'], 'needs a value'), (['--pool-size', 'x'], 'invalid value'),
                     (['--pool-size=-1'], 'invalid value'),
                     (['--pool-size', '99999999999999999999'], 'invalid value'), (['--idle-time', '1 year'], 'invalid value'),
                     (['--auth', 'maybe'], 'invalid value'),
                     (['--auth', ''], 'invalid value'), (['--auth', 'keys none'], 'invalid value'), (['--prepared=perhaps'], 'invalid value'),
                     (['--auth', 'none'], 'needs auth_role'), (['--auth-role', 'app'], 'is for auth = none'), (['--tls-key', 'x'], 'go together'),
                     (['--config', '/nonexistent'], 'could not open'), (['--config', file('wrong', 'region\n')], 'wrong:1: a line is'),
                     (['--config', file('unknown', '\nregoin = x\n')], 'unknown:2: there is no setting "regoin"'),
                     (['--create-key'], 'needs a value')):
    status, output = run(*flags)
    ok(status == 2 and words in output, f'settings are refused: {flags}', status, output)
status, output = run('--pool-size', 'hunter2', DYNAMO_GATEWAY_DATABASE='password=secret')
ok(status == 2 and 'hunter2' not in output and 'secret' not in output, 'no value is shown')
status, output = run('--help')
ok(status == 0 and '--compress-responses-above' in output and '127.0.0.1:8000' in output, 'help')
is_(run('--version')[0], 0, 'version')

# where it may listen
none = ['--auth', 'none', '--auth-role', 'app', '--database', DATABASE]
for address in '0.0.0.0:0', '[::]:0', ':0':
    status, output = run('--listen', address, *none)
    ok(status == 1 and 'this machine only' in output, f'without keys on {address}', status, output)
    status, output = run('--listen', address, '--key-file', '/dev/null', '--database', DATABASE)
    ok(status == 1 and 'insecure_http' in output, f'without TLS on {address}', status, output)
for address in 'x', '1.2.3.4', '::1:80', '127.0.0.1:http', '[::1', 'unix:' + 'x' * 200, '127.0.0.1:99999999', 'unix:/nonexistent/x':
    ok(run('--listen', address, *none)[0] == 1, f'what is no address: {address[:20]}')
path = 'unix:' + os.path.join(folder.name, 'socket')
with Gateway(listen=path) as g:
    is_(g.send(LIST).status, 200, 'a Unix socket')
    ok(run('--listen', path, *none)[0] == 1, 'which is taken')
    g.process.kill()
    g.process.wait()
    with Gateway(listen=path) as again:
        is_(again.send(LIST).status, 200, 'and is used again after a death')
    g.process.returncode = 0
with Gateway(listen='[::1]:0') as g:
    is_(g.send(LIST).status, 200, 'IPv6')

# health
with Gateway('--health-listen', '127.0.0.1:0', '--metrics', 'off') as g:
    is_([g.send(q).status for q in (HEALTH, READY, head(['GET /metrics HTTP/1.1', 'Host: x']))], [404] * 3, 'health is elsewhere')
    with g.connect(g.health_address()) as c:
        c.send(HEALTH + READY)
        is_([c.read().text for _ in range(2)], ['alive\n', 'ready\n'], 'there it is')
        c.send(LIST)
        is_(c.read().status, 404, 'and nothing else')
    is_(run('--check', '--listen', g.address, '--health-listen', g.health_address()), (0, ''), '--check')
    ok(run('--check', '--listen', g.address)[0] == 1, '--check of what answers otherwise')
    address = g.address
status, output = run('--check', '--listen', address)
ok(status == 1 and 'could not connect' in output, '--check of nobody', output)
with Gateway('--queue-time', '1s', database='host=/nonexistent') as g:
    is_([g.send(q).status for q in (HEALTH, READY)], [200, 503], 'alive, but not ready')
    is_(run('--check', '--listen', g.address)[0], 0, '--check asks whether it is alive')

# metrics
with Gateway('--metrics', 'off') as g:
    is_([g.send(q).status for q in (HEALTH, head(['GET /metrics HTTP/1.1', 'Host: x']))], [200, 404], 'no figures for everybody')
with Gateway() as g:
    g.send(LIST)
    g.call('GetItem', {})
    g.call('Nothing', {})
    put(g, 'metric', 'items')
    wanted = ('dynamo_requests_total{operation="ListTables",status="200",error=""} 1',
              'dynamo_requests_total{operation="GetItem",status="400",error="ValidationException"} 1',
              'dynamo_requests_total{operation="none",status="400",error="UnknownOperationException"} 1',
              'dynamo_request_seconds_count{operation="PutItem"} 1', 'dynamo_request_seconds_bucket{operation="PutItem",le="+Inf"} 1',
              'dynamo_request_bytes_sum{operation="ListTables"} 2', 'dynamo_pool_connections{state="down"} 0')
    # a gateway is ready with its first connection, and counts an answer when it is sent
    until(lambda: set(wanted) <= set(g.send(head(['GET /metrics HTTP/1.1', 'Host: x'])).text.splitlines()), 'what is counted')
    a = g.send(head(['GET /metrics HTTP/1.1', 'Host: x']))
    ok(a.headers['content-type'].startswith('text/plain; version=0.0.4'), 'metrics')
    bad = [line for line in a.text.splitlines() if not re.fullmatch(r'# (HELP|TYPE) \w+ .*|\w+(\{(\w+="[^"]*",?)*\})? -?[0-9.e+-]+', line)]
    is_(bad, [], 'each line has a name and a number')
    for line in wanted:
        ok(line in a.text.splitlines(), line, a.text)
    with Hold() as hold:
        slow = in_thread(put, g, hold=1)
        hold.held()
        until(lambda: g.metric('dynamo_inflight') == 2)
        is_(g.metric('dynamo_pool_connections{state="busy"}'), 1, 'what runs')
    slow()
    before = g.send(head(['GET /metrics HTTP/1.1', 'Host: x'])).text
    g.send(HEALTH)
    is_(re.findall('dynamo_requests_total.*', g.send(head(['GET /metrics HTTP/1.1', 'Host: x'])).text), re.findall('dynamo_requests_total.*', before),
        'probes are not counted')

# the log
for form in 'logfmt', 'json':
    with Gateway('--log-format', form, '--slow-request', '1min') as g:
        g.call('PutItem', {'TableName': 'items', 'Item': {'pk': {'S': 'a secret item'}}}, {'Authorization': 'a secret signature'})
        a = g.call('GetItem', {'TableName': 'a\nlevel=forged "\\ \x7f', 'Key': {'pk': {'S': 'a secret key'}}})
        g.call('GetItem', {'TableName': 'x' * 100000})
        g.call('GetItem', {'TableName': 7})
        g.call('GetItem', '{"TableName":"a\x85\x9b2J","Key":{}}'.encode())
        until(lambda: g.log().count('received') >= 5)
        log = g.log()
        ok('secret' not in log, f'{form}: no data, no signature', log)
        ok(a.headers['x-amzn-requestid'] in log, f'{form}: the id')
        lines = [line for line in log.splitlines() if 'GetItem' in line or 'PutItem' in line]
        is_(len(lines), 5, f'{form}: a line each')
        ok(not re.search('[\x80-\x9f]', log), f'{form}: no control characters', log)
        ok(max(map(len, lines)) < 1000, f'{form}: lines are not long')
        if form == 'json':
            fields = [json.loads(line) for line in log.splitlines()]
            put_line = [f for f in fields if f.get('operation') == 'PutItem'][0]
            is_({name: put_line[name] for name in ('level', 'event', 'role', 'table', 'status')},
                {'level': 'info', 'event': 'request', 'role': 'app', 'table': 'items', 'status': 200}, 'what a line has')
        else:
            ok(re.search(r'operation=PutItem table=items status=200 ms=[0-9.]+ received=\d+ sent=2$', log, re.M), 'what a line has', log)
with Gateway('--log-level', 'warning', '--slow-request', '1ms') as g:
    with Hold() as hold:
        slow = in_thread(put, g, hold=1)
        hold.held()
    slow()
    until(lambda: 'slow_request' in g.log())
    ok(True, 'a slow request')

# the end
system = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
system.bind(os.path.join(folder.name, 'notify'))
system.settimeout(WAIT)
with Gateway('--health-listen', '127.0.0.1:0', environment={'NOTIFY_SOCKET': os.path.join(folder.name, 'notify')}) as g:
    is_(system.recv(100), b'READY=1', 'systemd hears that it is ready')
    g.signal(signal.SIGHUP)
    ok(system.recv(100).startswith(b'RELOADING=1\nMONOTONIC_USEC='), 'that it reloads')
    is_(system.recv(100), b'READY=1', 'that it is ready again')
    with g.connect() as idle, g.connect() as busy, Hold() as hold:
        idle.send(LIST)
        idle.read()
        busy.send(post('PutItem', json.dumps({'TableName': 'raising', 'Item': {'pk': {'S': 'drained'}, 'hold': {'N': '1'}}}).encode()))
        hold.held()
        g.signal(signal.SIGTERM)
        is_(system.recv(100), b'STOPPING=1', 'that it stops')
        ok(idle.at_end(), 'an idle connection ends')
        with g.connect(g.health_address()) as c:
            c.send(READY)
            is_(c.read().status, 503, 'it is ready no longer')
        try:
            g.connect()
            refused = False
        except ConnectionRefusedError:
            refused = True
        ok(refused, 'nobody else gets in')
        ok(g.process.poll() is None, 'it waits for the request')
        hold.__exit__()
        a = busy.read()
        ok(a.status == 200 and a.headers['connection'] == 'close' and busy.at_end(), 'which has its answer', a)
    is_(g.wait(), 0, 'then it ends')
with Gateway() as g, Hold() as hold:
    in_thread(put, g, hold=1)
    hold.held()
    g.signal(signal.SIGTERM)
    until(lambda: 'stopping' in g.log())
    g.signal(signal.SIGTERM)
    is_(g.wait(), 1, 'a second signal ends it at once')
with Gateway('--drain-time', '200ms') as g, Hold() as hold:
    in_thread(put, g, hold=1)
    hold.held()
    g.signal(signal.SIGINT)
    is_(g.wait(), 1, 'it does not wait for ever')
with Gateway(program=['env', '--ignore-signal=INT', PROGRAM, '--listen', '127.0.0.1:0', *none]) as g:
    g.signal(signal.SIGINT)
    g.signal(signal.SIGHUP)
    until(lambda: 'have been read again' in g.log())
    is_(g.send(HEALTH).status, 200, 'in the background it is not interrupted')

# reload
config = file('reload', 'log_level = info\n')
with Gateway('--config', config) as g, g.connect() as old:
    old.send(LIST)
    old.read()
    file('reload', 'log_level = nonsense\n')
    g.signal(signal.SIGHUP)
    until(lambda: 'the settings stay as they were' in g.log())
    file('reload', f'log_level = debug\nregion = x\ncompress_responses_above = 1\nconnections = 900\n')
    g.signal(signal.SIGHUP)
    until(lambda: 'have been read again' in g.log())
    ok('region' in g.log(), 'what needs a restart is told')
    is_(g.send(post('ListTables', b'{}', {'Accept-Encoding': 'gzip'})).status, 200, 'new clients')
    old.send(LIST)
    a = old.read()
    ok(a.status == 200 and a.headers.get('connection') == 'close' and old.at_end(), 'a client of before is asked to come again', a)

# without keys it was started, so pages of other sites stay out whatever a reload asks for
config = file('stays', 'auth = none\nauth_role = app\n')
with Gateway('--config', config, auth='') as g:
    file('stays', 'auth = keys\nkey_file = /nonexistent\nconnections = 900\n')
    g.signal(signal.SIGHUP)
    until(lambda: 'have been read again' in g.log())
    a = g.call('ListTables', {}, {'Host': 'site.example', 'Origin': 'http://site.example'})
    ok(a.status == 400 and a.type.endswith('AccessDeniedException') and 'access-control-allow-origin' not in a.headers,
       'a gateway without keys is not asked by pages of other sites after a reload either', a)


# TLS
def certificate(name):
    key, certificate = (os.path.join(folder.name, f'{name}.{end}') for end in ('key', 'pem'))
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', certificate,
                    '-days', '2',
                    '-subj', f'/CN={name}', '-addext', f'subjectAltName=DNS:{name}'], check=True, capture_output=True)
    return key, certificate


def expired(name):
    """A certificate of years ago."""
    key, old, request = (os.path.join(folder.name, f'{name}.{end}') for end in ('key', 'pem', 'csr'))
    settings = file('ca', f'[ca]\ndefault_ca = it\n[it]\ndatabase = {file("database", "")}\nserial = {file("serial", "01")}\nnew_certs_dir = '
        f'{folder.name}\ndefault_md = sha256\n'
                          'policy = all\n[all]\ncommonName = supplied\n')
    subprocess.run(['openssl', 'req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', request, '-subj',
                   f'/CN={name}'],
                   check=True, capture_output=True)
    subprocess.run(['openssl', 'ca', '-batch', '-notext', '-config', settings, '-selfsign', '-keyfile', key, '-in', request, '-out', old, '-startdate',
                    '200101000000Z',
                    '-enddate', '200102000000Z'], check=True, capture_output=True)


def tls_list(gateway, name, version=None):
    """The answer to a request by TLS, from whom has this name."""
    context = ssl.create_default_context(cafile=os.path.join(folder.name, name + '.pem'))
    if version:
        context.minimum_version = context.maximum_version = version
    with gateway.connect() as c:
        c.socket = context.wrap_socket(c.socket, server_hostname=name)
        c.send(LIST)
        return c.read()


def use(name, ends=('key', 'pem')):
    """What the settings name is this certificate from now on."""
    for end in ends:
        shutil.copy(os.path.join(folder.name, f'{name}.{end}'), os.path.join(folder.name, f'new.{end}'))
        os.replace(os.path.join(folder.name, f'new.{end}'), os.path.join(folder.name, f'used.{end}'))


for name in 'first', 'second':
    certificate(name)
use('first')
with Gateway('--tls-key', folder.name + '/used.key', '--tls-certificate', folder.name + '/used.pem') as g:
    is_([tls_list(g, 'first', v).status for v in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)], [200, 200], 'TLS 1.2 and 1.3')
    try:
        tls_list(g, 'first', ssl.TLSVersion.TLSv1_1)
        refused = False
    except (ssl.SSLError, OSError):
        refused = True
    ok(refused, 'no older TLS')
    is_(run('--check', '--listen', g.address, '--tls-key', 'x', '--tls-certificate', 'x')[0], 0, '--check by TLS')
    ok(run('--check', '--listen', g.address)[0] == 1, '--check without')
    with g.connect() as c:
        c.send(LIST)
        ok(c.ends(), 'HTTP where TLS is spoken')
    # a first message of 16 MB, in records, which the library would keep until it is whole
    host, port = g.address.rsplit(':', 1)
    ended = False
    with socket.create_connection((host.strip('[]'), int(port))) as c:
        for n in range(125):
            payload = (b'' if n else b'\x01\xff\xff\xff\x03\x03') + bytes(16000)
            try:
                c.sendall((b'\x16\x03\x01' + len(payload).to_bytes(2, 'big') + payload) * (8 if n else 1))
            except OSError:
                ended = True
                break
            time.sleep(0.02)
    ok(ended, 'a handshake without end is not kept')
    use('second', ['key'])
    g.signal(signal.SIGHUP)
    until(lambda: 'certificate that of the key' in g.log())
    is_(tls_list(g, 'first').status, 200, 'a key without its certificate is not taken')
    use('second')
    g.signal(signal.SIGHUP)
    until(lambda: g.log().count('have been read again') == 2)
    is_(tls_list(g, 'second').status, 200, 'another certificate without a restart')

    # one that has expired
    expired('third')
    use('third')
    g.signal(signal.SIGHUP)
    until(lambda: 'used.pem\\" has expired or is not valid yet: the one before stays' in g.log(), 'the message')
    until(lambda: g.log().count('have been read again') == 3)
    is_(tls_list(g, 'second').status, 200, 'a certificate that has expired is not taken')
    # what is none, and what is not there
    for data in b'nonsense', None:
        os.unlink(folder.name + '/used.pem')
        if data:
            file('used.pem', data.decode())
        before = g.log().count('have been read again')
        g.signal(signal.SIGHUP)
        until(lambda: g.log().count('have been read again') > before)
        is_(tls_list(g, 'second').status, 200, f'nor is one that is none: {data}')
    ok('could not read' in g.log() and g.log().count('could not start to serve HTTP') == 2, 'which is logged', g.log())
    use('first')

    # new certificates while clients send: no request is lost
    trusted = ssl.create_default_context(cafile=folder.name + '/first.pem')
    trusted.load_verify_locations(folder.name + '/second.pem')
    trusted.check_hostname = False
    over = threading.Event()
    counts, lost = [0] * 4, []

    def send_all(client):
        try:
            while not over.is_set():
                with g.connect() as c:
                    c.socket = trusted.wrap_socket(c.socket)
                    answer = None
                    while not over.is_set() and (answer is None or answer.headers.get('connection') != 'close'):
                        c.send(LIST)
                        answer = c.read()
                        if answer is None or answer.status != 200:
                            lost.append(answer)
                            return
                        counts[client] += 1
        except Exception as problem:
            lost.append(problem)

    def all_go_on():
        before = list(counts)
        until(lambda: lost or all(count > n + 20 for count, n in zip(counts, before)), 'requests of all')

    clients = [threading.Thread(target=send_all, args=(n,)) for n in range(4)]
    for c in clients:
        c.start()
    all_go_on()
    for name in ['first', 'second'] * 5:
        use(name)
        before = g.log().count('have been read again')
        g.signal(signal.SIGHUP)
        until(lambda: g.log().count('have been read again') > before)
        is_(tls_list(g, name).status, 200, f'a certificate of {name} under load')
        all_go_on()
    over.set()
    for c in clients:
        c.join()
    is_(lost, [], f'none of {sum(counts)} requests was lost')
    ok('certificates and limits stay' not in g.log(), 'and each certificate was taken')
use('third')
with Gateway('--tls-key', folder.name + '/used.key', '--tls-certificate', folder.name + '/used.pem') as g:
    ok('clients will refuse it' in g.log(), 'a gateway starts with a certificate that has expired, and warns')
with open(folder.name + '/key_file', 'wb', opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
    f.write(os.urandom(32))
with Gateway('--key-file', folder.name + '/key_file', '--insecure-http', 'on', auth='keys', listen='0.0.0.0:0') as g:
    here = '127.0.0.1:' + g.address.rsplit(':', 1)[1]

    def is_ready():
        with g.connect(here) as c:
            c.send(b'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n')
            return c.read().status == 200

    until(is_ready, 'access keys')
    with g.connect(here) as c:
        c.send(LIST)
        is_(c.read().json['__type'].split('#')[1], 'MissingAuthenticationTokenException', 'HTTP beyond this machine, if told')
# a start would refuse what this reload asks for
use('second')
config = file('tls', f'tls_key = {folder.name}/used.key\ntls_certificate = {folder.name}/used.pem\n')
with Gateway('--config', config, '--key-file', folder.name + '/key_file', auth='keys', listen='0.0.0.0:0') as g:
    file('tls', 'insecure_http = on\n')
    g.signal(signal.SIGHUP)
    until(lambda: re.search('set tls_certificate|read again', g.log()))
    with g.connect() as c:
        c.send(LIST)
        ok(c.ends() and c.buffer == b'', 'a reload ends no TLS beyond this machine', c.buffer)

# limits
here = this_machine()
with Gateway('--connections-per-address', '3', '--connections', '10', '--http-threads', '2', '--key-file', folder.name + '/key_file', '--insecure-http', 'on',
             '--health-listen', '127.0.0.1:0', auth='keys', listen='0.0.0.0:0') as g:
    port = g.address.rsplit(':', 1)[1]
    LIVE = head(['GET / HTTP/1.1', 'Host: x'])

    def come(address):
        c = g.connect(f'{address}:{port}')
        c.send(LIVE)
        return c, c.read()

    def metric(name):
        with g.connect(g.health_address()) as c:
            c.send(head(['GET /metrics HTTP/1.1', 'Host: x']))
            return re.search(f'^{re.escape(name)} (.*)$', c.read().text, re.M).group(1)

    def too_many():
        with g.connect(f'{here}:{port}') as c:
            return c.ends()

    some = [come(here) for _ in range(3)]
    is_([a.status for _, a in some], [200] * 3, 'as many of an address as may be')
    ok(too_many() and too_many(), 'one connection too many')
    is_([metric(f'dynamo_connections_refused_total{{reason="{reason}"}}') for reason in ('connections_per_address', 'memory')], ['2', '0'], 'they are counted')
    until(lambda: 'connection_refused' in g.log())
    is_(re.findall('level=warning event=connection_refused (.*)', g.log()), [f'address={here} setting=connections_per_address limit=3'],
        'and there is one warning, which names address and setting')
    local = [come('127.0.0.1') for _ in range(6)]
    is_([a.status for _, a in local], [200] * 6, 'of this machine there may be more')
    # with the connection that asks
    is_(metric('dynamo_connections'), '10', 'all of them')
    local.append(come('127.0.0.1'))
    until(lambda: g.log().count('level=warning event=connections_wait setting=connections limit=10\n') == 1)
    ok(True, 'there is a warning when there are as many as may be')
    with g.connect(f'127.0.0.1:{port}') as c:
        c.send(LIVE)
        local.pop()[0].socket.close()
        is_(c.read().status, 200, 'the next one waits')
    for c, _ in some + local:
        c.socket.close()

    def is_let_in():
        try:
            return come(here)[1] is not None
        except ConnectionResetError:
            return False

    until(is_let_in, 'another connection')
    ok(True, 'those that ended count no longer')
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
with Gateway('--connections', '1100', '--header-time', '10min') as g:
    many = [g.connect() for _ in range(1000)]
    is_(g.send(LIST).status, 200, 'one more beside a thousand that are idle')
    for c in many:
        c.send(LIST)
    is_({c.read().status for c in many}, {200}, 'a thousand connections')
    for c in many:
        c.socket.close()
with Gateway('--connections', '1') as g:
    is_([g.send(LIST).status for _ in range(3)], [200] * 3, 'one connection after another')
with Gateway('--idle-time', '1s', '--header-time', '30s') as g, g.connect() as c:
    c.send(LIST)
    c.read()
    ok(c.at_end(), 'an idle connection ends')
# clients that go away at once, also in the midst of a request
with Gateway('--header-time', '1h', '--body-time', '1h', '--idle-time', '1h') as g:
    for data in LIST[:9], LIST[:60], LIST[:-1], LIST:
        gone = [g.connect() for _ in range(50)]
        for c in gone:
            c.send(data)
            c.socket.shutdown(socket.SHUT_WR)
        ok(all(c.ends() for c in gone), f'clients that go away after {len(data)} bytes')
        for c in gone:
            c.socket.close()
# and while the answer is on its way
with Gateway() as g:
    for n in range(200):
        with g.connect() as c:
            c.send(READY if n % 2 else LIST)
            time.sleep(n % 10 / 5000)
            # it is reset
            c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    until(lambda: g.metric('dynamo_inflight') == 1, 'the end of all other requests')
    is_(g.send(LIST).status, 200, 'others are served when clients have gone before their answer')
# bodies: those of strangers, which do not come to their end, take nobody's memory
with Gateway('--body-memory', '16MB') as g:
    def from_address(address):
        c = g.connect()
        c.socket.close()
        c.socket = socket.create_connection(tuple(g.address.rsplit(':', 1)), source_address=(address, 0))
        c.socket.settimeout(WAIT)
        return c

    def listed(c, data):
        c.send(data)
        return c.read().status

    def received(*bodies):
        """Wait until they have come, without what each may have anyway."""
        until(lambda: g.metric('dynamo_body_memory_bytes') == sum(size - 65535 for size in bodies), 'bodies')

    def has_ended(c):
        return bool(select.select([c.socket], [], [], 0)[0])

    size = 5000000
    whole = post('ListTables', b'{}' + b' ' * (size - 2))
    zipped = post('ListTables', gzip.compress(b'{' + b' ' * (size - 2) + b'}'), {'Content-Encoding': 'gzip'})
    for name, data in ('a body', whole), ('one that is small until it is inflated', zipped):
        strangers = [from_address('127.0.0.2') for _ in range(3)]
        for n, c in enumerate(strangers):
            c.send(whole[:-1 - n * 1000])
        received(size - 1, size - 1001, size - 2001)
        with from_address('127.0.0.3') as c:
            is_(listed(c, data), 200, f'{name}, while those of another address have all of the memory')
            is_([has_ended(c) for c in strangers], [True, False, False], 'their largest one is ended for it')
            is_([listed(c, data) for _ in range(3)], [200] * 3, 'and no more than that')
        is_([has_ended(c) for c in strangers], [True, False, False], 'which go on')
        is_([listed(c, b' ' * (1 + n * 1000)) for n, c in enumerate(strangers) if n > 0], [200] * 2, 'to their end')
        for c in strangers:
            c.socket.close()
        received()

    # one that has most of it itself
    with from_address('127.0.0.2') as stranger, from_address('127.0.0.3') as c:
        stranger.send(whole[:-1])
        received(size - 1)
        is_(listed(c, post('ListTables', b'{' + b' ' * 14000000 + b'}')), 503, 'a body that is the largest of all is refused')
        is_(listed(c, whole), 200, 'a smaller one is not')
        is_(listed(stranger, b' '), 200, 'the other comes to its end')

    # what each body may have in any case
    small = post('ListTables', b'{}' + b' ' * 65000)
    with from_address('127.0.0.2') as full:
        full.send(post('ListTables', b'{}' + b' ' * 16000000)[:-1])
        received(16000001)
        strangers = [from_address('127.0.0.2') for _ in range(60)]
        for c in strangers:
            c.send(small[:-1])
        until(lambda: g.metric('dynamo_inflight') == 62)
        is_([listed(c, b' ') for c in strangers], [200] * 60, 'small bodies do not count')
        is_(listed(full, b' '), 200, 'and take nothing from large ones')
    for c in strangers:
        c.socket.close()

    # answers that nobody reads
    def ask(address):
        c = from_address(address)
        c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        c.send(post('BatchGetItem', json.dumps({'RequestItems': {'items': {'Keys': [{'pk': {'S': f'large{n}'}} for n in range(20)]}}}).encode()))
        return c

    def comes(c):
        """Whether all of it comes."""
        size = 0
        try:
            while size < 20 * 390000 and (data := c.socket.recv(1 << 20)):
                size += len(data)
        except ConnectionResetError:
            pass
        c.socket.close()
        return size >= 20 * 390000

    for n in range(20):
        g.call('PutItem', {'TableName': 'items', 'Item': {'pk': {'S': f'large{n}'}, 'text': {'S': 'x' * 390000}}})
    strangers = []
    for n in range(3):
        strangers.append(ask('127.0.0.2'))
        until(lambda: g.metric('dynamo_body_memory_bytes') > min(n + 1, 2) * 7000000 and g.metric('dynamo_inflight') == min(n + 1, 2) + 1, 'the answer')
    with ask('127.0.0.3') as c:
        ok(comes(c), 'an answer, while those of another address have all of the memory')
    is_([comes(c) for c in strangers], [False, False, True], 'the oldest ones are ended for others')
    strangers = [ask('127.0.0.2') for _ in range(2)]
    until(lambda: g.metric('dynamo_body_memory_bytes') > 14000000)
    with from_address('127.0.0.3') as c:
        is_(listed(c, whole), 200, 'and for a body')
    is_(sorted(comes(c) for c in strangers), [False, True], 'one of them')
    received()
    for n in range(20):
        g.call('DeleteItem', {'TableName': 'items', 'Key': {'pk': {'S': f'large{n}'}}})

# what a container has: nothing but the program and its libraries
if os.geteuid() == 0 and not SANITIZED:
    image = os.path.join(folder.name, 'image')
    subprocess.run([os.path.join(os.path.dirname(__file__), '../../gateway/image'), PROGRAM, image], check=True)
    with Gateway(program=['chroot', '--userspec=65532:65532', image, '/dynamo_gateway', '--listen', '127.0.0.1:0', *none]) as g:
        is_(g.send(HEALTH).status, 200, 'it runs in a folder of its own')
        is_(subprocess.run(['chroot', image, '/dynamo_gateway', '--check', '--listen', g.address]).returncode, 0, 'and is checked there')

# a socket of systemd's
with socket.socket() as s:
    s.bind(('127.0.0.1', 0))
    s.listen()
    os.dup2(s.fileno(), 3)
    os.set_inheritable(3, True)
    command = ['sh', '-c', 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"', 'sh', PROGRAM, '--listen', '/nowhere', *none]
    output = tempfile.NamedTemporaryFile('w+')
    process = subprocess.Popen(command, pass_fds=[3], stderr=output)
    with socket.create_connection(s.getsockname()) as c:
        c.sendall(LIST)
        ok(c.recv(100).startswith(b'HTTP/1.1 200'), 'a socket that systemd opened')
    process.terminate()
    is_(process.wait(WAIT), 0, 'ends, too')
    with socket.create_connection(s.getsockname()):
        ok(True, 'and stays open for the next one')

done()
