"""Access keys: how they are made, and how changes reach a gateway that runs."""
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time

from gateway import DATABASE, PROGRAM, SANITIZED, Gateway, done, is_, ok, pg_ctl, psql, sign, until

UNKNOWN = 'The security token included in the request is invalid.'
EXPIRED = 'The security token included in the request is expired'
ADMIN = f"host={os.environ['PGHOST']} user=postgres dbname=postgres"

folder = tempfile.TemporaryDirectory(prefix='gateway-keys')
key_file = folder.name + '/key'


def run(*arguments, database=ADMIN):
    return subprocess.run([PROGRAM, '--database', database, '--key-file', key_file, *arguments], capture_output=True, text=True)


def create_key(role='app'):
    made = run('--create-key', role)
    found = re.fullmatch(r'AWS_ACCESS_KEY_ID=(AKIA[A-Z2-7]{16})\nAWS_SECRET_ACCESS_KEY=([A-Za-z0-9+/]{40})\n', made.stdout)
    ok(found is not None and made.stderr == '' and made.returncode == 0, f'a key of {role}', made)
    return found.groups()


def answer(gateway, key, operation='ListTables', body=b'{}'):
    """What a signed request is answered: a message if it is refused."""
    got = gateway.send(sign(*key, operation, body))
    return 'accepted' if got.status == 200 else got.json.get('message', got.text)


def becomes(gateway, key, expected, name):
    try:
        until(lambda: answer(gateway, key) == expected, name)
    except TimeoutError:
        pass
    is_(answer(gateway, key), expected, name)


def test_key_file():
    made = subprocess.run([PROGRAM, '--create-key-file', key_file], capture_output=True, text=True)
    ok(made.returncode == 0 and made.stdout == made.stderr == '', 'make a key file', made)
    ok(os.stat(key_file).st_mode & 0o777 == 0o600 and os.stat(key_file).st_size == 32, 'it is private')
    made = subprocess.run([PROGRAM, '--create-key-file', key_file], capture_output=True, text=True)
    is_((made.returncode, made.stderr), (1, f'dynamo_gateway: key file "{key_file}" cannot be made: File exists\n'), 'it is not made again')


def test_create():
    key_id, secret = create_key()
    stored = psql(f"SELECT k.role, k.enabled, length(encrypted_secret), position('{secret}'::bytea IN encrypted_secret)"
                  f" FROM dynamo_internal.access_key k WHERE key_id = '{key_id}'")
    is_(stored, 'app|t|69|0', 'its secret is stored encrypted')
    with open(os.environ['PGHOST'] + '/server.log', errors='replace') as log:
        ok(secret not in log.read(), "the server's log does not have it")
    refused = run('--create-key', 'nobody')
    ok(refused.returncode == 1 and refused.stdout == '' and 'role "nobody" does not exist' in refused.stderr, 'a role that is not there', refused)
    psql('CREATE ROLE "Other ""app"""; GRANT "Other ""app""" TO gateway')
    create_key('Other "app"')
    refused = run('--create-key', 'app', database=DATABASE)
    ok(refused.returncode == 1 and refused.stdout == '' and 'ERROR' in refused.stderr, 'not by the role of gateways', refused)
    refused = run('--create-key', 'app', database='host=/nowhere')
    ok(refused.returncode == 1 and refused.stdout == '' and '/nowhere' in refused.stderr, 'no server', refused)
    refused = subprocess.run([PROGRAM, '--database', ADMIN, '--key-file', '/nowhere', '--create-key', 'app'], capture_output=True, text=True)
    is_((refused.returncode, refused.stderr), (1, 'dynamo_gateway: key file "/nowhere" cannot be opened: No such file or directory\n'), 'no key file')
    count = psql('SELECT count(*) FROM dynamo_internal.access_key')
    with open('/dev/full', 'w') as full:
        lost = subprocess.run([PROGRAM, '--database', ADMIN, '--key-file', key_file, '--create-key', 'app'], stdout=full, stderr=subprocess.PIPE, text=True)
    ok(lost.returncode == 1 and 'could not be written' in lost.stderr, 'a key that nobody has seen is told', lost)
    is_(psql('SELECT count(*) FROM dynamo_internal.access_key'), str(int(count) + 1), 'it is there')


def test_changes(gateway):
    key, other = create_key(), create_key()
    becomes(gateway, key, 'accepted', 'a new key')
    becomes(gateway, other, 'accepted', 'another one')
    is_(answer(gateway, (key[0], other[1])), 'The request signature we calculated does not match the signature you provided. Check your AWS Secret'
        ' Access Key and signing method. Consult the service documentation for details.', 'with the secret of another')
    psql(f"SELECT dyn_alter_access_key('{key[0]}', enabled => false)")
    becomes(gateway, key, UNKNOWN, 'disabled')
    is_(answer(gateway, other), 'accepted', 'the other one is not')
    psql(f"SELECT dyn_alter_access_key('{key[0]}', enabled => true)")
    becomes(gateway, key, 'accepted', 'enabled')
    for past in ('2020-01-01', '-infinity'):
        psql(f"SELECT dyn_alter_access_key('{key[0]}', valid_until => '{past}')")
        becomes(gateway, key, EXPIRED, f'valid until {past}')
        psql(f"SELECT dyn_alter_access_key('{key[0]}', valid_until => 'infinity')")
        becomes(gateway, key, 'accepted', 'valid for ever')
    psql(f"SELECT dyn_alter_access_key('{key[0]}', valid_until => now() + '1 hour')")
    psql(f"UPDATE dynamo_internal.access_key a SET encrypted_secret = b.encrypted_secret FROM dynamo_internal.access_key b"
         f" WHERE (a.key_id, b.key_id) IN (('{key[0]}', '{other[0]}'), ('{other[0]}', '{key[0]}'))")
    becomes(gateway, key, UNKNOWN, 'ciphertexts that were swapped')
    is_(answer(gateway, other), UNKNOWN, 'are both refused')
    ok('access keys cannot be decrypted' in gateway.log(), 'which is logged', gateway.log())
    psql(f"SELECT dyn_drop_access_key('{key[0]}'), dyn_drop_access_key('{other[0]}')")


def test_none(gateway):
    """A database that was restored from a dump has no keys."""
    none = 'no access key whose role can be used'
    key = create_key()
    becomes(gateway, key, 'accepted', 'a key')
    before = gateway.log().count(none)
    exported = psql('SELECT dyn_export_access_keys()')
    psql('DELETE FROM dynamo_internal.access_key')
    becomes(gateway, key, UNKNOWN, 'that is not restored')
    is_(gateway.log().count(none), before + 1, 'which is logged once')
    is_(psql(f"SELECT dyn_import_access_keys('{exported}') > 0"), 't', 'import')
    becomes(gateway, key, 'accepted', 'a key that is imported')


def test_roles(gateway):
    psql('CREATE ROLE gone; GRANT gone TO gateway')
    key = create_key('gone')
    becomes(gateway, key, 'accepted', 'a key of a role')
    psql('DROP ROLE gone')
    gateway.signal(signal.SIGHUP)
    becomes(gateway, key, UNKNOWN, 'that is dropped')


def loader():
    return psql("SELECT pid FROM pg_stat_activity WHERE application_name = 'dynamo_gateway keys'")


def test_broken_connection(gateway):
    key = create_key()
    becomes(gateway, key, 'accepted', 'before the connection breaks')
    before = loader()
    psql(f'SELECT pg_terminate_backend({before})')
    until(lambda: loader() not in ('', before), 'another connection')
    is_(answer(gateway, key), 'accepted', 'keys stay')
    psql(f"SELECT dyn_alter_access_key('{key[0]}', enabled => false)")
    becomes(gateway, key, UNKNOWN, 'changes arrive over the new connection')
    pg_ctl('restart', '-m', 'fast')
    psql(f"SELECT dyn_alter_access_key('{key[0]}', enabled => true)")
    becomes(gateway, key, 'accepted', 'after a restart of the server')


def test_key_file_again(gateway):
    key = create_key()
    becomes(gateway, key, 'accepted', 'by the first key file')
    os.rename(key_file, key_file + '.first')
    gateway.signal(signal.SIGHUP)
    until(lambda: 'cannot be opened' in gateway.log(), 'the message')
    is_(answer(gateway, key), 'accepted', 'a key file that is gone changes nothing')
    subprocess.run([PROGRAM, '--create-key-file', key_file], check=True)
    gateway.signal(signal.SIGHUP)
    becomes(gateway, key, UNKNOWN, 'by another key file')
    os.rename(key_file + '.first', key_file)
    gateway.signal(signal.SIGHUP)
    becomes(gateway, key, 'accepted', 'by the first one again')
    ok(key[1] not in gateway.log() and 'Signature=' not in gateway.log(), 'the log has no secrets')


def test_missing_privilege():
    psql('REVOKE EXECUTE ON FUNCTION dynamo_internal.gateway_keys FROM gateway')
    key = create_key()
    with Gateway('--key-file', key_file, '--queue-time', '1s', auth='keys') as gateway:
        until(lambda: 'could not load access keys' in gateway.log(), 'the message')
        is_(gateway.send(sign(*key, 'ListTables', b'{}')).status, 503, 'without the privilege requests are not for this gateway')
        is_(gateway.send(b'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n').status, 503, 'and the gateway is not ready')
        psql('GRANT EXECUTE ON FUNCTION dynamo_internal.gateway_keys TO gateway')
        becomes(gateway, key, 'accepted', 'until it is granted')
        ok('access keys are loaded again' in gateway.log(), 'which is logged', gateway.log())
        is_(gateway.log().count('could not load access keys'), 1, 'once each')


def flood(payload):
    """A role without rights notifies all the time, until its backend is ended."""
    return subprocess.Popen([os.environ['PG_BIN'] + '/psql', '-qX', '-U', 'flooder', '-c', f"""DO $$
        BEGIN
            FOR n IN 1..1000000000 LOOP
                PERFORM pg_notify('dynamo_access_key', left(n || ' {payload}', 7999));
                COMMIT;
            END LOOP;
        END $$"""], stderr=subprocess.DEVNULL)


def loads():
    return int(psql("SELECT coalesce(max(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'gateway_keys'"))


def test_flood():
    psql("CREATE ROLE flooder LOGIN; ALTER ROLE gateway SET track_functions = 'all'")
    key = create_key()
    with Gateway('--key-file', key_file, auth='keys') as gateway:
        becomes(gateway, key, 'accepted', 'before the flood')
        before, begun = loads(), time.monotonic()
        floods = [flood('DROP TABLE'), flood('x' * 7990)]
        for _ in range(2):
            psql(f"SELECT dyn_alter_access_key('{key[0]}', enabled => false)")
            becomes(gateway, key, UNKNOWN, 'a change in a flood of notifications')
            psql(f"SELECT dyn_alter_access_key('{key[0]}', enabled => true)")
            becomes(gateway, key, 'accepted', 'and another one')
        is_([f.poll() for f in floods], [None, None], 'the flood goes on')
        psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'flooder'")
        for f in floods:
            f.wait()
        psql(f"SELECT dyn_alter_access_key('{key[0]}', enabled => false)")
        becomes(gateway, key, UNKNOWN, 'a change after the flood')
        # the backend tells of its loads when it is idle, and of all when it has ended
        elapsed = time.monotonic() - begun
        psql("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'dynamo_gateway keys'")
        seen = loads() - before
        ok(2 <= seen <= elapsed + 6, 'the keys are loaded once a second', seen, elapsed)
        if not SANITIZED:
            # all at once: 160 MB
            psql("SELECT count(pg_notify('dynamo_access_key', n || repeat('x', 7990))) FROM generate_series(1, 20000) n", user='flooder')
            psql(f"SELECT dyn_alter_access_key('{key[0]}', enabled => true)")
            becomes(gateway, key, 'accepted', 'a change after many notifications at once')
            ok(gateway.peak() < 100000, 'they are not kept', gateway.peak())
    psql('ALTER ROLE gateway RESET track_functions; DROP ROLE flooder')


class Watch:
    """A program that loads keys as the gateway does, with a refresh of its own."""

    def __init__(self, program, key_id, refresh):
        self.process = subprocess.Popen([program, DATABASE, key_file, key_id, str(refresh)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def is_(self, expected, name):
        is_(self.process.stdout.readline().strip(), expected, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate('')
        is_(self.process.returncode, 0, 'it ends well')


def build_watch():
    """With sanitizers; they see the thread and what it frees."""
    program = folder.name + '/watch_keys'
    libraries = subprocess.run(['pkg-config', '--cflags', '--libs', 'libpq', 'libcrypto'], check=True, capture_output=True, text=True).stdout
    subprocess.run(['gcc', '-std=gnu11', '-D_GNU_SOURCE', '-g', '-Wall', '-Wextra', '-Werror', '-fsanitize=address,undefined', '-Igateway', '-o', program,
                    'test/gateway/watch_keys.c', *(f'gateway/{name}.c' for name in ('keys', 'key_loader', 'secret')), *shlex.split(libraries), '-lpthread'],
                   check=True)
    return program


def test_notifications(program):
    key_id, _ = create_key()
    with Watch(program, key_id, 1000000) as watch:
        watch.is_('app enabled 40', 'loaded')
        psql(f"SELECT dyn_alter_access_key('{key_id}', enabled => false)")
        watch.is_('app disabled 40', 'told by the server')
        psql(f"BEGIN; SELECT dyn_alter_access_key('{key_id}', enabled => true); ROLLBACK; SELECT dyn_drop_access_key('{key_id}')")
        watch.is_('unknown', 'and again')


def test_refresh(program):
    """Without notifications, as behind a pooler."""
    key_id, _ = create_key()
    psql('ALTER TABLE dynamo_internal.access_key DISABLE TRIGGER access_key_changed')
    with Watch(program, key_id, 1) as watch:
        watch.is_('app enabled 40', 'loaded')
        psql(f"SELECT dyn_alter_access_key('{key_id}', enabled => false)")
        watch.is_('app disabled 40', 'found at the next refresh')
        psql(f"SELECT dyn_drop_access_key('{key_id}')")
        watch.is_('unknown', 'and the one after it')
    psql('ALTER TABLE dynamo_internal.access_key ENABLE TRIGGER access_key_changed')


test_key_file()
psql('DELETE FROM dynamo_internal.access_key')
with Gateway('--key-file', key_file, auth='keys') as running:
    until(lambda: 'no access key whose role can be used' in running.log(), 'the message at the start')
test_create()
with Gateway('--key-file', key_file, auth='keys') as running:
    test_changes(running)
    test_none(running)
    test_roles(running)
    test_broken_connection(running)
    test_key_file_again(running)
test_missing_privilege()
test_flood()
watch_keys = build_watch()
test_notifications(watch_keys)
test_refresh(watch_keys)
done()
