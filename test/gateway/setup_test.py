"""What a gateway needs before it can start: dynamo_gateway --setup."""
import json
import os
import pwd
import re
import shutil
import subprocess
import tempfile

from gateway import PROGRAM, WAIT, Gateway, done, is_, ok, psql, sign, until

USER = pwd.getpwuid(os.stat(os.environ['PGHOST'] + '/data').st_uid).pw_name
folder = tempfile.TemporaryDirectory()
os.chmod(folder.name, 0o755)
key_file = os.path.join(folder.name, 'key')
LOGIN = 'first "day"'  # as names may be
ROLE = "o'Hara; \\"
os.environ['PGUSER'] = 'postgres'
os.environ.pop('PGDATABASE', None)


def connection(login=LOGIN, database='shop'):
    quoted = "'" + login.replace('\\', '\\\\').replace("'", "\\'") + "'"
    return f"host={os.environ['PGHOST']} dbname={database} user={quoted} password=gateways"


def setup(*flags, database=None, key=key_file, environment=None):
    result = subprocess.run([PROGRAM, '--setup', '--key-file', key, '--database', database if database is not None else connection(), *flags],
                            capture_output=True, text=True, timeout=WAIT, env={**os.environ, **(environment or {})})
    return result.returncode, result.stdout, result.stderr


def keys():
    return int(psql('SELECT count(*) FROM dyn_access_keys', database='shop'))


def call(gateway, key, operation, request):
    return gateway.send(sign(*key, operation, json.dumps(request).encode()))


psql('CREATE DATABASE shop')

# what is missing is not what is wrong
status, output, told = setup(database='user=x')
ok(status == 1 and 'does not name one' in told and not os.path.exists(key_file), 'a database has to be named', told)
status, output, told = setup(database='no connection')
ok(status == 1 and 'missing "="' in told, 'what is no connection', told)
status, output, told = setup(database=connection(database='nowhere'))
ok(status == 1 and 'does not exist' in told, 'a database that is not there', told)
os.unlink(key_file)

# from nothing
flags = ['--role', ROLE, '--user', USER]
status, output, told = setup(*flags)
is_(status, 0, 'the first time')
key = re.fullmatch(r'AWS_ACCESS_KEY_ID=(AKIA[A-Z2-7]{16})\nAWS_SECRET_ACCESS_KEY=([A-Za-z0-9+/]{40})\n', output)
ok(key is not None, 'standard output has the key, for a shell', output)
key = key.groups()
login, role = '"first ""day"""', '"o\'Hara; \\"'
is_(told.splitlines(), [
    f'-- key file "{key_file}" is made: keep a copy, without it all keys are lost',
    'BEGIN;',
    'CREATE EXTENSION dynamo_table;',
    f'CREATE ROLE {login} LOGIN NOINHERIT;',
    f"ALTER ROLE {login} SET statement_timeout = '10s';",
    f"ALTER ROLE {login} SET lock_timeout = '2s';",
    f"ALTER ROLE {login} SET client_connection_check_interval = '1s';",
    f'GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO {login};',
    f'CREATE ROLE {role} LOGIN;',
    f'GRANT CREATE ON SCHEMA public TO {role};',
    f'GRANT {role} TO {login};',
    f'-- access key {key[0]} is made by dyn_create_access_key',
    'COMMIT;'], 'the statements are shown')
ok(key[1] not in told, 'not the secret')
is_(os.stat(key_file).st_mode & 0o777, 0o600, 'the key file is its owner\'s alone')
with Gateway('--key-file', key_file, auth='keys', database=connection()) as g:
    until(lambda: call(g, key, 'ListTables', {}).status == 200, 'keys')
    a = call(g, key, 'CreateTable', {'TableName': 'orders', 'BillingMode': 'PAY_PER_REQUEST', 'KeySchema': [{'AttributeName': 'pk', 'KeyType': 'HASH'}],
                                     'AttributeDefinitions': [{'AttributeName': 'pk', 'AttributeType': 'S'}]})
    ok(a.status == 200, 'a gateway starts with it, and the role makes a table', a)
is_(psql('SELECT tableowner FROM pg_tables WHERE tablename = \'orders\'', database='shop'), ROLE, 'which is the role\'s')

# again
psql(f"ALTER ROLE {login} SET statement_timeout = '1min'")
psql(f'REVOKE CREATE ON SCHEMA public FROM {role}', database='shop')
status, output, told = setup(*flags)
is_((status, output, told.splitlines()), (0, '', ['BEGIN;', f'-- the role has the access key {key[0]}; --create-key makes another one', 'COMMIT;']),
    'the second time nothing is made')
is_(keys(), 1, 'no key either')
psql(f'REVOKE EXECUTE ON FUNCTION dynamo_internal.gateway_keys FROM {login}', database='shop')
psql(f'REVOKE {role} FROM {login}')
psql(f"SELECT dyn_alter_access_key('{key[0]}', enabled => false)", database='shop')
status, output, told = setup(*flags)
is_([line.split()[0] for line in told.splitlines()], ['BEGIN;', 'GRANT', 'GRANT', '--', 'COMMIT;'], 'what has gone is made again')
is_((keys(), output.count('AKIA')), (2, 1), 'and a key where there is none to use')
status, output, told = setup('--role', 'second', *flags[2:])
is_([line.split()[0] for line in told.splitlines()], ['BEGIN;', 'CREATE', 'GRANT', 'GRANT', '--', 'COMMIT;'], 'another role')
status, output, told = setup(*flags, key=key_file + '2')
is_((status, output.count('AKIA')), (0, 1), 'another key file needs another key')

# all or nothing
psql('CREATE ROLE boss SUPERUSER')
status, output, told = setup('--role', 'boss', *flags[2:], database=connection('third'))
ok(status == 1 and output == '' and 'superuser' in told, 'no key for a superuser', told)
is_(psql("SELECT count(*) FROM pg_roles WHERE rolname = 'third'"), '0', 'then nothing is made')
status, output, told = setup(*flags, environment={'PGUSER': 'second'}, database=connection('third'))
ok(status == 1 and output == '' and 'permission denied' in told, 'somebody who may not', told)
status, output, told = setup(*flags, key=folder.name + '/nowhere/key')
ok(status == 1 and 'nowhere/key' in told and 'No such file' in told and 'BEGIN' not in told, 'a key file that cannot be made', told)

# --create-key reads a key file that is root's alone, and is another user for the server
if os.geteuid() == 0:
    for owner in 'root', USER:
        shutil.chown(key_file, owner)
        result = subprocess.run([PROGRAM, '--create-key', ROLE, '--user', USER, '--key-file', key_file, '--database',
                                f"host={os.environ['PGHOST']} dbname=shop"],
                                capture_output=True, text=True, timeout=WAIT)
        ok(result.returncode == 0 and 'AKIA' in result.stdout, f'a key file of {owner}\'s', result)

# whose database it is may set a search_path, and may have operators there that fit better than those that are meant
psql('CREATE DATABASE strange')
psql('''CREATE SCHEMA strange;
    CREATE FUNCTION strange.caught() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''caught''; END';
    CREATE FUNCTION strange.same(name, text) RETURNS boolean LANGUAGE sql AS 'SELECT strange.caught()';
    CREATE FUNCTION strange.same(name, name) RETURNS boolean LANGUAGE sql AS 'SELECT strange.caught()';
    CREATE FUNCTION strange.same(oid, oid) RETURNS boolean LANGUAGE sql AS 'SELECT strange.caught()';
    CREATE FUNCTION strange.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT strange.caught()';
    CREATE FUNCTION strange.same(integer, integer) RETURNS boolean LANGUAGE sql AS 'SELECT strange.caught()';
    CREATE OPERATOR strange.= (LEFTARG = name, RIGHTARG = text, FUNCTION = strange.same);
    CREATE OPERATOR strange.= (LEFTARG = name, RIGHTARG = name, FUNCTION = strange.same);
    CREATE OPERATOR strange.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = strange.same);
    CREATE OPERATOR strange.= (LEFTARG = text, RIGHTARG = text, FUNCTION = strange.same);
    CREATE OPERATOR strange.< (LEFTARG = integer, RIGHTARG = integer, FUNCTION = strange.same);
    ALTER DATABASE strange SET search_path = strange, pg_catalog, public''', database='strange')
for made in 1, 0:
    status, output, told = setup(*flags, key=key_file + '3', database=connection(database='strange'))
    ok((status, output.count('AKIA')) == (0, made) and 'caught' not in told, 'a search_path of somebody else', told)
result = subprocess.run([PROGRAM, '--create-key', ROLE, '--user', USER, '--key-file', key_file + '3', '--database',
                        f"host={os.environ['PGHOST']} dbname=strange"],
                        capture_output=True, text=True, timeout=WAIT)
ok(result.returncode == 0 and 'AKIA' in result.stdout and 'caught' not in result.stderr, 'and for another key', result)

psql('DROP DATABASE strange')
psql('DROP DATABASE shop')
for name in login, role, 'second', 'boss':
    psql(f'DROP ROLE {name}')

done()
