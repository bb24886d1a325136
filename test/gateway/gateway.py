"""What the tests of the gateway share: gateways, connections without an HTTP library, and reports."""
import datetime
import hashlib
import hmac
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib

PROGRAM = os.environ['GATEWAY']
DATABASE = f"host={os.environ['PGHOST']} user=gateway dbname=postgres"
SANITIZED = b'san.so' in subprocess.run(['ldd', PROGRAM], capture_output=True).stdout
WAIT = 600  # seconds after which what is waited for never happens

failures = 0
# what a shell starts in the background has none, nor has what that starts
signal.signal(signal.SIGINT, signal.default_int_handler)


def ok(holds, name, *seen):
    global failures
    print(f"{'ok' if holds else 'not ok'} - {name}", flush=True)
    if not holds:
        failures += 1
        for what in seen:
            print(f"    {what!r}"[:2000], flush=True)
    return holds


def is_(got, expected, name):
    return ok(got == expected, name, got, expected)


def done():
    sys.exit(failures != 0)


def until(condition, what='it'):
    """Wait for a condition, and return what it returns.  Who gives up tells what the server does instead."""
    end = time.monotonic() + WAIT
    pause = 0.02
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            try:
                activity = psql('SELECT pid, backend_type, application_name, state, wait_event, left(query, 200) FROM pg_stat_activity')
            except subprocess.CalledProcessError as error:
                activity = error.stderr
            raise TimeoutError(f'{what} did not happen, but {value!r}\n{activity}')
        time.sleep(pause)
        # what is asked may take a processor from those who are waited for
        pause = min(1.3 * pause, 0.2)


def run(*flags, **environment):
    """A gateway that should end by itself: its status, and what it prints."""
    done = subprocess.run([PROGRAM, *flags], capture_output=True, text=True, timeout=WAIT, env={**os.environ, **environment})
    return done.returncode, done.stdout + done.stderr


def psql(sql, user='postgres', database='postgres'):
    return subprocess.run([os.environ['PG_BIN'] + '/psql', '-qXAt', '-v', 'ON_ERROR_STOP=1', '-U', user, '-d', database, '-c', sql],
                          check=True, capture_output=True, text=True).stdout.strip()


class Hold:
    """While it is there, writes of items with "hold" wait, or what else a statement has locked."""

    def __init__(self, statement='SELECT pg_advisory_lock(42)'):
        self.statement = statement

    def __enter__(self):
        self.process = subprocess.Popen([os.environ['PG_BIN'] + '/psql', '-qXAt', '-U', 'postgres'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(self.statement + ";\n\\echo held\n")
        self.process.stdin.flush()
        while self.process.stdout.readline().strip() != 'held':
            pass
        return self

    def __exit__(self, *_):
        self.process.communicate('')

    @staticmethod
    def held(n=1):
        """Wait until n writes wait."""
        return until(lambda: len(waiting_backends()) >= n, 'a write that waits')


def waiting_backends():
    """Those that have waited for so long that nothing is sent behind what they do."""
    return [int(pid) for pid in psql("""SELECT pid FROM pg_stat_activity WHERE usename = 'gateway' AND wait_event = 'advisory'
        AND query_start < clock_timestamp() - interval '50 ms'""").split()]


def in_thread(function, *arguments, **named):
    """Run it meanwhile; what is returned waits for the result."""
    result = []
    thread = threading.Thread(target=lambda: result.append(function(*arguments, **named)), daemon=True)
    thread.start()

    def wait():
        until(lambda: not thread.is_alive(), 'the result')
        return result[0]
    return wait


def put(gateway, pk='a', table='raising', **attributes):
    return gateway.call('PutItem', {'TableName': table, 'Item': {'pk': {'S': pk}, **{name: {'N': str(value)} for name, value in attributes.items()}}})


def get(gateway, pk, table='items'):
    return gateway.call('GetItem', {'TableName': table, 'Key': {'pk': {'S': pk}}, 'ConsistentRead': True})


def this_machine():
    """An address of this machine as others have it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        # nothing is sent
        s.connect(('192.0.2.1', 9))
        return s.getsockname()[0]


def as_server(*command):
    prefix = ['runuser', '-u', subprocess.run(['stat', '-c', '%U', os.environ['PGHOST'] + '/data'], capture_output=True, text=True).stdout.strip(),
              '--'] if os.geteuid() == 0 else []
    return subprocess.run(prefix + list(command), check=True, capture_output=True, cwd='/')


def pg_ctl(*arguments):
    data = os.environ['PGHOST'] + '/data'
    return as_server(os.environ['PG_BIN'] + '/pg_ctl', '-w', '-D', data, '-l', os.environ['PGHOST'] + '/server.log', *arguments)


class Gateway:
    """A gateway that listens, with these settings."""

    def __init__(self, *flags, auth='none', database=DATABASE, listen='127.0.0.1:0', environment=None, program=None):
        # a request may wait for a connection, and for Postgres, for as long as a busy machine needs, or one that stands still for a while
        settings = ['--listen', listen, '--database', database, '--pool-size', '4', '--queue-time', f'{WAIT}s', '--request-time', f'{WAIT}s', '--metrics', 'on']
        if auth == 'none':
            settings += ['--auth', 'none', '--auth-role', 'app']
        self.output = tempfile.NamedTemporaryFile('w+', prefix='gateway')
        self.failures = failures
        self.process = subprocess.Popen(program or [PROGRAM, *settings, *flags], stdin=subprocess.DEVNULL, stderr=self.output,
                                        env={**os.environ, **(environment or {})})
        try:
            self.address = until(self.listening, 'listening')
        except Exception:
            print(self.log())
            raise

    def log(self):
        with open(self.output.name, errors='replace') as f:
            return f.read()

    def listening(self):
        if self.process.poll() is not None:
            raise RuntimeError('the gateway ended: ' + self.log())
        found = re.search(r'event"?[=:]"?listening"?[ ,]"?address"?[=:]"?([^\s"]+)', self.log())
        return found and found.group(1)

    def health_address(self):
        return re.search(r'health_address=(\S+)', self.log()).group(1)

    def connect(self, address=None):
        return Connection(address or self.address)

    def send(self, data):
        """The answer to bytes on a connection of their own."""
        with self.connect() as c:
            c.send(data)
            return c.read()

    def call(self, operation, request, headers=None, connection=None):
        """The answer to an operation, and its JSON."""
        data = post(operation, request if isinstance(request, bytes) else json.dumps(request).encode(), headers)
        if connection is None:
            answer = self.send(data)
        else:
            connection.send(data)
            answer = connection.read()
        return answer

    def metric(self, pattern):
        return sum(float(n) for n in re.findall(f'^{re.escape(pattern)} (.*)$', self.send(b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n').text, re.M))

    def peak(self):
        """The most memory that it has had, in kB."""
        with open(f'/proc/{self.process.pid}/status') as status:
            return int(re.search(r'VmHWM:\s*(\d+)', status.read()).group(1))

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(WAIT)

    def stop(self):
        """End it as systemd does, and tell whether that went well."""
        self.signal(signal.SIGTERM)
        status = self.wait()
        log = self.log()
        if 'Sanitizer' in log or 'runtime error' in log:
            ok(False, 'sanitizers have nothing to say', log[-20000:])
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            if kind is None:
                status = self.stop()
                if status != 0:
                    ok(False, f'the gateway ends well, not with {status}')
            else:
                self.process.kill()
                self.process.wait()
        if kind is not None or failures > self.failures:
            print(self.log()[-4000:])
        self.output.close()


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def type(self):
        return self.json['__type']

    def __repr__(self):
        return f'{self.status} {self.headers} {self.body[:500]!r}'


class Connection:
    def __init__(self, address):
        if address.startswith('unix:'):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address[len('unix:'):])
        else:
            host, port = address.rsplit(':', 1)
            self.socket = socket.create_connection((host.strip('[]'), int(port)))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(WAIT)
        self.buffer = b''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return data

    def read(self, method='POST'):
        """One answer, or None where the connection has ended."""
        while b'\r\n\r\n' not in self.buffer:
            if not self.more():
                return None
        head, self.buffer = self.buffer.split(b'\r\n\r\n', 1)
        lines = head.decode('latin-1').split('\r\n')
        status = int(lines[0].split(' ')[1])
        headers = {name.lower(): value.strip() for name, value in (line.split(':', 1) for line in lines[1:])}
        length = 0 if status == 100 or method == 'HEAD' else int(headers['content-length'])
        while len(self.buffer) < length:
            if not self.more():
                raise EOFError('the answer is cut')
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Answer(status, headers, body)

    def at_end(self):
        """Whether the gateway has ended the connection, and nothing came before."""
        try:
            return self.buffer == b'' and self.socket.recv(1) == b''
        except ConnectionResetError:
            return True


    def ends(self):
        """Whether the gateway ends the connection, whatever comes before."""
        try:
            while self.more():
                pass
        except ConnectionResetError:
            pass
        return True


def head(lines, body=None):
    lines = list(lines)
    if body is not None:
        lines.append(f'Content-Length: {len(body)}')
    return ('\r\n'.join(lines) + '\r\n\r\n').encode('latin-1')


def post(operation, body, headers=None, target='/'):
    fields = {'Host': 'localhost', 'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': f'DynamoDB_20120810.{operation}', **(headers or {})}
    return head([f'POST {target} HTTP/1.1'] + [f'{name}: {value}' for name, value in fields.items() if value is not None], body) + body


def sign(key, secret, operation, body, headers=None, date=None, region='us-east-1'):
    """A request that is signed as SDKs sign it."""
    date = date or datetime.datetime.now(datetime.timezone.utc).strftime('%Y%m%dT%H%M%SZ')
    fields = {'content-type': 'application/x-amz-json-1.0', 'host': 'localhost', 'x-amz-date': date,
              'x-amz-target': f'DynamoDB_20120810.{operation}', **(headers or {})}
    names = ';'.join(sorted(fields))
    canonical = '\n'.join(['POST', '/', ''] + [f'{name}:{fields[name]}' for name in sorted(fields)] + ['', names, hashlib.sha256(body).hexdigest()])
    scope = f'{date[:8]}/{region}/dynamodb/aws4_request'
    text = '\n'.join(['AWS4-HMAC-SHA256', date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signing = ('AWS4' + secret).encode()
    for part in scope.split('/'):
        signing = hmac.new(signing, part.encode(), 'sha256').digest()
    signature = hmac.new(signing, text.encode(), 'sha256').hexdigest()
    fields['authorization'] = f'AWS4-HMAC-SHA256 Credential={key}/{scope}, SignedHeaders={names}, Signature={signature}'
    return head(['POST / HTTP/1.1'] + [f'{name}: {value}' for name, value in fields.items()], body) + body


def crc(body):
    return str(zlib.crc32(body))
