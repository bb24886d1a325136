"""A gateway with a Postgres of its own: dynamo_gateway --embedded DIR."""
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from gateway import PROGRAM, WAIT, Connection, Gateway, done, head, in_thread, is_, ok, run, sign, this_machine, until

USER = pwd.getpwuid(os.stat(os.environ['PGHOST'] + '/data').st_uid).pw_name
FLAGS = ['--postgres', os.environ['PG_BIN'], '--listen', '127.0.0.1:0'] + (['--user', USER] if os.geteuid() == 0 else [])
folder = tempfile.mkdtemp()
os.chmod(folder, 0o755)


def prepared(name):
    path = os.path.join(folder, name)
    os.mkdir(path)
    if os.geteuid() == 0:
        shutil.chown(path, USER)
    return path


def become_user():
    if os.geteuid() == 0:
        user = pwd.getpwnam(USER)
        os.initgroups(USER, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)


def is_locked(path):
    """Whether a gateway has the folder."""
    inode = str(os.stat(path).st_ino)
    with open('/proc/locks') as locks:
        return any(line.split()[-3].split(':')[-1] == inode for line in locks)


class Embedded(Gateway):
    def __init__(self, path, *flags, command=()):
        self.path = path
        self.shown = tempfile.NamedTemporaryFile('w+')
        super().__init__(program=['sh', '-c', 'out=$1; shift; exec "$@" >"$out"', 'sh', self.shown.name, *command, PROGRAM, '--embedded', path, *FLAGS, *flags])
        self.lines = dict(line.split('=', 1) for line in until(lambda: (self.shown.seek(0), self.shown.read())[1]).splitlines())

    def call(self, operation, request):
        key = self.lines['AWS_ACCESS_KEY_ID'], self.lines['AWS_SECRET_ACCESS_KEY']
        return self.send(sign(*key, operation, json.dumps(request).encode(), region=self.lines['AWS_REGION']))

    def postmaster(self):
        with open(self.path + '/data/postmaster.pid') as f:
            return int(f.readline())

    def is_over(self):
        return not os.path.exists(self.path + '/data/postmaster.pid')


try:
    path = prepared('new')
    console = [f'--console-files={folder}/console']
    with Embedded(path, *console) as g:
        is_(g.send(head(['GET /console/ HTTP/1.1', 'Host: localhost'])).status, 404, 'the console is off where it is not installed')
        is_(sorted(g.lines), ['AWS_ACCESS_KEY_ID', 'AWS_DEFAULT_REGION', 'AWS_ENDPOINT_URL', 'AWS_REGION', 'AWS_SECRET_ACCESS_KEY', 'DYNAMO_GATEWAY_PID'],
            'what a client needs is shown')
        is_(g.lines['AWS_ENDPOINT_URL'], 'http://' + g.address, 'the endpoint')
        until(lambda: g.call('ListTables', {}).status == 200, 'keys')
        a = g.call('CreateTable', {'TableName': 'Music', 'KeySchema': [{'AttributeName': 'pk', 'KeyType': 'HASH'}], 'BillingMode': 'PAY_PER_REQUEST',
                                   'AttributeDefinitions': [{'AttributeName': 'pk', 'AttributeType': 'S'}],
                                   'StreamSpecification': {'StreamEnabled': True, 'StreamViewType': 'NEW_IMAGE'}})
        is_(a.status, 200, 'a table with a stream')
        is_(g.call('PutItem', {'TableName': 'Music', 'Item': {'pk': {'S': 'a'}}}).status, 200, 'an item')
        # workers build indexes, and connect as the role before 17
        a = g.call('UpdateTable', {'TableName': 'Music', 'AttributeDefinitions': [{'AttributeName': 'g', 'AttributeType': 'S'}],
            'GlobalSecondaryIndexUpdates': [
            {'Create': {'IndexName': 'ByG', 'KeySchema': [{'AttributeName': 'g', 'KeyType': 'HASH'}], 'Projection': {'ProjectionType': 'ALL'}}}]})
        ok(a.status == 200, 'an index of a table that is there', a)
        until(lambda: [i['IndexStatus'] for i in g.call('DescribeTable', {'TableName': 'Music'}).json['Table']['GlobalSecondaryIndexes']] == ['ACTIVE'],
            'an index')
        for setting, value, why in ('client_connection_check_interval', '1s', 'sessions end when their clients have gone'), ('wal_writer_delay', '10ms',
            'streams are not late'):
            is_(subprocess.run([os.environ['PG_BIN'] + '/psql', '-qXAt', '-h', path, '-p', '5432', '-U', 'postgres', '-c', f'SHOW {setting}'],
                               check=True, capture_output=True, text=True).stdout, value + '\n', why)
        first = g.lines
        status, output = run('--embedded', path, *FLAGS)
        ok(status == 1 and 'another gateway has' in output, 'one at a time', output)
        is_(g.call('GetItem', {'TableName': 'Music', 'Key': {'pk': {'S': 'a'}}}).status, 200, 'the first goes on')
    ok(g.is_over(), 'Postgres ends with the gateway')
    ok(os.stat(path).st_mode & 0o777 == 0o700 and os.stat(path + '/keys').st_mode & 0o777 == 0o600, 'the folder is its owner\'s alone')
    os.mkdir(folder + '/console')
    with open(folder + '/console/index.html', 'w') as file:
        file.write('the page')
    with Embedded(path, *console) as g:
        is_(g.send(head(['GET /console/ HTTP/1.1', 'Host: localhost'])).text, 'the page', 'and on where it is')
        is_({n: g.lines[n] for n in g.lines if 'KEY' in n}, {n: first[n] for n in first if 'KEY' in n}, 'the second time the key is the same')
        until(lambda: g.call('ListTables', {}).status == 200, 'keys')
        is_(g.call('GetItem', {'TableName': 'Music', 'Key': {'pk': {'S': 'a'}}}).json, {'Item': {'pk': {'S': 'a'}}}, 'and the item is there')
        g.process.kill()
        g.process.wait()
        until(g.is_over, 'the end of Postgres')
        ok(True, 'Postgres ends with a gateway that is killed')
        g.process.returncode = 0

    # the next one starts while the Postgres of the first is about to end
    with Embedded(path) as g:
        postmaster = g.postmaster()
        os.kill(postmaster, signal.SIGSTOP)
        g.process.kill()
        g.process.wait()
        again = in_thread(Embedded, path)
        until(lambda: is_locked(path), 'the next one')
        os.kill(postmaster, signal.SIGCONT)
        with again() as next_one:
            until(lambda: next_one.call('ListTables', {}).status == 200, 'keys')
            ok(next_one.postmaster() != postmaster, 'it waits for the end of a Postgres of before')
            # and what a crash of all leaves: the file of a process that is gone
            os.kill(next_one.postmaster(), signal.SIGKILL)
            next_one.process.kill()
            next_one.process.wait()
            next_one.process.returncode = 0
        g.process.returncode = 0
    ok(os.path.exists(path + '/data/postmaster.pid'), 'a crash')
    # and somebody else has its number by now
    somebody = subprocess.Popen(['sleep', '600'], preexec_fn=become_user)
    for file in ('/data/postmaster.pid', '/.s.PGSQL.5432.lock'):
        with open(path + file, 'r+') as f:
            lines = f.readlines()
            f.seek(0)
            f.writelines([f'{somebody.pid}\n', *lines[1:]])
            f.truncate()
    again = in_thread(Embedded, path)
    until(lambda: is_locked(path), 'the next one')
    time.sleep(1)
    somebody.kill()
    somebody.wait()
    with again() as g:
        until(lambda: g.call('GetItem', {'TableName': 'Music', 'Key': {'pk': {'S': 'a'}}}).text == '{"Item":{"pk":{"S":"a"}}}', 'the item')
        ok(True, 'all is there after a crash')
        with socket.create_connection(tuple(g.address.split(':'))):
            busy = g.address
        other = prepared('second')
        with Embedded(other) as second:
            until(lambda: second.call('ListTables', {}).json == {'TableNames': []}, 'another one beside it')
            # as an older version has made it
            subprocess.run([os.environ['PG_BIN'] + '/psql', '-qX', '-h', other, '-p', '5432', '-U', 'postgres', '-c',
                            "UPDATE pg_extension SET extversion = '0.0.1' WHERE extname = 'dynamo_table'"], check=True)
        status, output = run('--embedded', other, *FLAGS)
        ok(status == 1 and 'has no update path from version "0.0.1"' in output and second.is_over(),
            'an extension is brought up to date, or nothing starts', output)
        # a port that is taken
        status, output = run('--embedded', prepared('port'), *FLAGS, '--listen', busy)
        ok(status == 1 and 'Address already in use' in output, 'a port that is taken', output)
        ok(not os.path.exists(folder + '/port/data/postmaster.pid'), 'ends Postgres, too')

    with Embedded(prepared('a  "b" $x; %s \u00e9'), '--listen', '0.0.0.0:0', '--insecure-http', '--region', 'eu-west-1',
        command=['env', '-i', 'PATH=/usr/bin:/bin']) as g:
        port = g.address.rsplit(':', 1)[1]
        g.address = '127.0.0.1:' + port
        until(lambda: g.call('ListTables', {}).status == 200, 'keys')
        ok(True, 'a path with blanks and other characters, and an environment with nothing but a PATH without the programs')
        is_((g.lines['AWS_REGION'], g.lines['AWS_DEFAULT_REGION']), ('eu-west-1',) * 2, 'the region is that of the setting')
        many = [g.connect(f'{this_machine()}:{port}') for _ in range(510)]
        for c in many:
            c.send(head(['GET / HTTP/1.1', 'Host: x']))
        is_({c.read().status for c in many}, {200}, 'as many connections of one address as there may be in total')
        for c in many:
            c.socket.close()
    # the lines of README.md, in one shell; "aws" says how it is called
    with open(os.path.dirname(__file__) + '/../../README.md') as readme:
        block = re.search(r'^```sh\n((?:(?!```).)*--embedded.*?)```$', readme.read(), re.M | re.S).group(1)
    programs = prepared('programs')
    os.symlink(os.path.realpath(PROGRAM), programs + '/dynamo_gateway')
    with open(programs + '/aws', 'w') as f:
        f.write('#!/bin/sh\necho "$@"\nenv\n')
    os.chmod(programs + '/aws', 0o755)
    for shell in 'bash', 'sh':
        out = subprocess.run([shell, '-c', block], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=WAIT,
            cwd=prepared('in ' + shell), preexec_fn=become_user, env={
            'PATH': programs + ':/usr/bin:/bin', 'DYNAMO_GATEWAY_LISTEN': '127.0.0.1:0', 'DYNAMO_GATEWAY_POSTGRES': os.environ['PG_BIN']}).stdout.splitlines()
        lines = dict(line.split('=', 1) for line in out[1:])
        is_(out[0], f"--endpoint-url {lines['AWS_ENDPOINT_URL']} dynamodb list-tables", f'{shell}: README.md calls aws')
        is_((lines['AWS_REGION'], lines['AWS_DEFAULT_REGION']), ('us-east-1',) * 2, f'{shell}: with a region')

        def listed():
            with Connection(lines['AWS_ENDPOINT_URL'][len('http://'):]) as c:
                c.send(sign(lines['AWS_ACCESS_KEY_ID'], lines['AWS_SECRET_ACCESS_KEY'], 'ListTables', b'{}'))
                return c.read().status == 200

        until(listed, 'an answer')
        ok(True, f'{shell}: and with a key')
        os.kill(int(lines['DYNAMO_GATEWAY_PID']), signal.SIGTERM)
        until(lambda: not os.path.exists(f'{folder}/in {shell}/dynamo/data/postmaster.pid'), 'the end')
    other = prepared('somebody')
    with open(other + '/file', 'w'):
        pass
    status, output = run('--embedded', other, *FLAGS)
    ok(status == 1 and 'neither empty nor complete' in output and os.listdir(other) == ['file'], 'a folder of somebody else\'s', output)
    status, output = run('--embedded', prepared("it's"), *FLAGS)
    ok(status == 1 and 'Invalid argument' in output, 'a path with a quote', output)
    status, output = run('--embedded', prepared('x' * 100), *FLAGS)
    ok(status == 1 and 'too long' in output, 'a path that is too long', output)
    status, output = run('--embedded', prepared('wrong'), *FLAGS, '--postgres', folder)
    ok(status == 1 and 'has no programs' in output, 'no Postgres', output)
    if os.geteuid() == 0:
        status, output = run('--embedded', prepared('root'), '--postgres', os.environ['PG_BIN'])
        ok(status == 1 and 'does not run as root' in output, 'root', output)
        os.mkdir(folder + '/private', 0o700)
        for name in 'private', 'private/new':
            status, output = run('--embedded', f'{folder}/{name}', *FLAGS)
            ok(status == 1 and f'the user {USER} could not' in output and f'"{folder}/{name}": Permission denied' in output,
                f'a folder of another user: {name}', output)
        os.chdir(folder + '/private')
        status, output = run('--embedded', 'here', *FLAGS)
        ok(status == 1 and f'the user {USER} could not make the folder "{folder}/private/here": Permission denied' in output, 'where another user is', output)
        os.chdir('/')
        # what is in it may be settings of Postgres, a link to a file of ours as "log", and what a shell takes
        path = prepared('planted')
        os.mkdir(path + '/data')
        with open(path + '/keys', 'w') as keys, open(path + '/data/postgresql.conf', 'w') as settings:
            keys.write('AWS_ACCESS_KEY_ID=x\n')
            settings.write("x = y '$(echo)'\n")
        ours = prepared('ours') + '/profile'
        os.symlink(ours, path + '/log')
        shutil.chown(path, 'nobody')
        status, output = run('--embedded', path, *FLAGS)
        ok(status == 1 and f'could not make private "{path}"' in output and not os.path.exists(ours), 'one that another user has filled', output)
        # nor is what others could write in one of ours, unless nothing is there
        shutil.chown(path, USER)
        os.chmod(path, 0o777)
        status, output = run('--embedded', path, *FLAGS)
        ok(status == 1 and f'"{path}" is writable by others' in output and not os.path.exists(ours), 'one of ours that others could fill', output)
        os.mkdir(folder + '/open')
        os.chmod(folder + '/open', 0o777)
        status, output = run('--embedded', folder + '/open', *FLAGS)
        ok(status == 1 and 'could not make private' in output and os.listdir(folder + '/open') == [], 'one that all may write to', output)
    status, output = run('--embedded', folder + '/nowhere/new', *FLAGS)
    ok(status == 1 and 'No such file' in output, 'a folder in one that is not there', output)
    file = folder + '/file'
    with open(file, 'w'):
        pass
    status, output = run('--embedded', file, *FLAGS)
    ok(status == 1 and 'Not a directory' in output, 'a file', output)
finally:
    shutil.rmtree(folder, ignore_errors=True)

done()
