"""Policies of IAM by `dynamo_table policy`: never more than an evaluator of IAM's language allows, by requests and by SQL.

The evaluator is written apart from the command.  What it does not know of a condition does not hold in an Allow, and holds in a Deny.
$POLICY_REQUESTS is the number of random requests."""
import fnmatch
import json
import os
import random
import re
import subprocess
import tempfile

from gateway import PROGRAM, WAIT, Gateway, done, is_, ok, psql, sign, until
from policy_documents import DOCUMENTS, TABLE, allow, leading

REQUESTS = int(os.environ.get('POLICY_REQUESTS', '3000'))
SEED = int(os.environ.get('POLICY_SEED', '47'))
COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../bin/dynamo_table')
ADMINISTRATOR = f"host={os.environ['PGHOST']} user=postgres dbname=postgres"
TABLES = ['Books', 'GameScores', 'MyBooks']
KEYS = ['A', 'A*', 'AB', '?', 'tenant1-a', 'tenant1-b', 'tenant2-a', 'tenant1', '${aws:username}']
TITLES = ['K1', 'K2', 'K*', 'K12', 'X']
folder = tempfile.TemporaryDirectory()
key_file = os.path.join(folder.name, 'key')


# The evaluator

def glob(pattern, text):
    """A pattern of IAM, by fnmatch: only * and ? are special."""
    return fnmatch.fnmatchcase(text, pattern.replace('[', '[[]'))


def values(value):
    return value if isinstance(value, list) else [value]


def filled(text, user, like):
    """What a value of a condition stands for, as a pattern of fnmatch."""
    def literal(c):
        return '[' + c + ']' if c in '*?[' else c
    out = ''
    for part in re.split(r'(\$\{[^}]*\})', text):
        name = part[2:-1] if part.startswith('${') else None
        if name in ('*', '?', '$'):
            out += literal(name)
        elif name in ('aws:username', 'www.amazon.com:user_id', 'cognito-identity.amazonaws.com:sub'):
            out += ''.join(map(literal, user))
        else:
            out += ''.join(c if like and c in '*?' else literal(c) for c in part)
    return out


def condition_holds(document, statement, keys, user):
    for operator, tests in statement.get('Condition', {}).items():
        for name, wanted in tests.items():
            if name != 'dynamodb:LeadingKeys' or operator not in ('ForAllValues:StringEquals', 'ForAllValues:StringLike'):
                return None
            like = operator.endswith('Like')
            if document['Version'] == '2012-10-17':
                patterns = [filled(v, user, like) for v in values(wanted)]
            else:
                patterns = [''.join('[' + c + ']' if c in '*?[' else c for c in v) for v in values(wanted)]
            if not all(any(fnmatch.fnmatchcase(k, p) for p in patterns) for k in keys):
                return False
    return True


def applies(statement, action, resource):
    if 'Action' not in statement:
        return False
    return any(glob(p.lower(), 'dynamodb:' + action.lower()) for p in values(statement['Action'])) and \
        any(glob(p, resource) for p in values(statement['Resource']))


def allowed(document, user, action, resource, keys):
    result = False
    for statement in document['Statement']:
        if not applies(statement, action, resource):
            continue
        holds = condition_holds(document, statement, keys, user)
        if statement['Effect'] == 'Deny' and holds is not False:
            return False
        result = result or (statement['Effect'] == 'Allow' and holds is True)
    return result


# Requests: the operation, its body, and what has to be allowed: actions, resources and leading keys

def s(value):
    return {'S': value}


def key_of(pk):
    return {'pk': s(pk), 'sk': s(random.choice('12'))}


def item_of(pk):
    return {**key_of(pk), 'title': s(random.choice(TITLES))}


def make_write(pk, table):
    kind = random.choice(['Put', 'Update', 'Delete', 'ConditionCheck'])
    body = {'TableName': table}
    if kind == 'Put':
        body['Item'] = item_of(pk)
    else:
        body['Key'] = key_of(pk)
    if kind == 'Update':
        body.update(UpdateExpression='SET n = :n', ExpressionAttributeValues={':n': s('1')})
    if kind == 'ConditionCheck':
        body['ConditionExpression'] = 'attribute_exists(pk) OR attribute_not_exists(pk)'
    return {kind: body}, (kind + 'Item', TABLE + table, [pk])


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def make_statement(pks, table):
    pk, source = pks[0], f'"{table}"'
    one = f"pk = {literal(pk)} AND sk = '1'"
    kind = random.choice(['get', 'in', 'or', 'all', 'index', 'insert', 'update', 'delete', 'filter'])
    resource, keys, action = TABLE + table, [pk], 'PartiQLSelect'
    if kind == 'get':
        text = f'SELECT * FROM {source} WHERE {one}'
    elif kind == 'in':
        text, keys = f'SELECT * FROM {source} WHERE pk IN [{", ".join(map(literal, pks))}]', pks
    elif kind == 'or':
        text, keys = f'SELECT * FROM {source} WHERE {" OR ".join("pk = " + literal(p) for p in pks)}', pks
    elif kind == 'all':
        text, keys = f'SELECT * FROM {source}', []
    elif kind == 'filter':
        text, keys = f"SELECT * FROM {source} WHERE pk = {literal(pk)} OR title = 'X'", []
    elif kind == 'index':
        title = random.choice(TITLES)
        text, keys, resource = f'SELECT * FROM {source}."ByTitle" WHERE title = {literal(title)}', [title], resource + '/index/ByTitle'
    elif kind == 'insert':
        text, action = f"INSERT INTO {source} VALUE {{'pk': {literal(pk)}, 'sk': '1'}}", 'PartiQLInsert'
    elif kind == 'update':
        text, action = f"UPDATE {source} SET n = 'p' WHERE {one}", 'PartiQLUpdate'
    else:
        text, action = f'DELETE FROM {source} WHERE {one}', 'PartiQLDelete'
    return text, (action, resource, keys)


def make_request(user):
    pool = KEYS + [user, user + 'x']
    table = random.choice(TABLES)
    resource = TABLE + table
    pks = random.sample(pool, random.randint(1, 3))
    pk = pks[0]
    kind = random.choice(['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query', 'QueryIndex', 'Scan', 'ScanIndex', 'BatchGetItem', 'BatchWriteItem',
                          'TransactWriteItems', 'TransactGetItems', 'ExecuteStatement', 'ExecuteTransaction'])
    base = {'TableName': table}
    if kind == 'GetItem':
        return kind, {**base, 'Key': key_of(pk)}, [(kind, resource, [pk])]
    if kind == 'PutItem':
        return kind, {**base, 'Item': item_of(pk), 'ReturnValues': 'ALL_OLD'}, [(kind, resource, [pk])]
    if kind == 'UpdateItem':
        return kind, {**base, 'Key': key_of(pk), 'ReturnValues': 'ALL_NEW'}, [(kind, resource, [pk])]
    if kind == 'DeleteItem':
        return kind, {**base, 'Key': key_of(pk), 'ConditionExpression': 'attribute_exists(pk)'}, [(kind, resource, [pk])]
    if kind == 'Query':
        return kind, {**base, 'KeyConditionExpression': 'pk = :p', 'ExpressionAttributeValues': {':p': s(pk)}}, [(kind, resource, [pk])]
    if kind == 'QueryIndex':
        title = random.choice(TITLES)
        return 'Query', {**base, 'IndexName': 'ByTitle', 'KeyConditionExpression': 'title = :t', 'ExpressionAttributeValues': {':t': s(title)}}, \
            [('Query', resource + '/index/ByTitle', [title])]
    if kind == 'Scan':
        return kind, {**base, 'TotalSegments': 2, 'Segment': 1, 'Limit': 3}, [(kind, resource, [])]
    if kind == 'ScanIndex':
        return 'Scan', {**base, 'IndexName': 'ByTitle'}, [('Scan', resource + '/index/ByTitle', [])]
    if kind == 'BatchGetItem':
        return kind, {'RequestItems': {table: {'Keys': [key_of(p) for p in pks]}}}, [(kind, resource, pks)]
    if kind == 'BatchWriteItem':
        writes = [random.choice([{'PutRequest': {'Item': item_of(p)}}, {'DeleteRequest': {'Key': key_of(p)}}]) for p in pks]
        return kind, {'RequestItems': {table: writes}}, [(kind, resource, pks)]
    if kind == 'TransactWriteItems':
        writes = [make_write(p, random.choice(TABLES)) for p in pks]
        return kind, {'TransactItems': [w for w, _ in writes]}, [wanted for _, wanted in writes]
    if kind == 'TransactGetItems':
        return kind, {'TransactItems': [{'Get': {'TableName': table, 'Key': key_of(p)}} for p in pks]}, [('GetItem', resource, [p]) for p in pks]
    if kind == 'ExecuteTransaction':
        return kind, {'TransactStatements': [{'Statement': f'SELECT * FROM "{table}" WHERE pk = {literal(p)} AND sk = \'1\''} for p in pks]}, \
            [('PartiQLSelect', resource, [p]) for p in pks]
    text, wanted = make_statement(pks, table)
    return kind, {'Statement': text}, [wanted]


# The command, and tables that the policies are about

psql("""SELECT dyn_create_table(t, 'pk S', 'sk S', global_indexes => '{"ByTitle": {"partition_key": "title S", "sort_key": "sk S"}}')
        FROM unnest(ARRAY['Books', 'GameScores', 'MyBooks']) t; GRANT USAGE, CREATE ON SCHEMA public TO PUBLIC""")
subprocess.run([PROGRAM, '--create-key-file', key_file], check=True, capture_output=True, timeout=WAIT)
roles, keys = {}, {}
for name, (document, told) in DOCUMENTS.items():
    role = roles[name] = f'r{len(roles)}'
    psql(f'CREATE ROLE {role}; GRANT {role} TO gateway')
    path = os.path.join(folder.name, role)
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(document, file)
    run = subprocess.run([COMMAND, 'policy', '--role', role, path], capture_output=True, text=True, timeout=WAIT)
    is_((run.returncode, [t for t in told if t not in run.stderr]), (3 if told else 0, []), f'{name}: what is told')
    if told == []:
        is_(run.stderr, '', f'{name}: nothing else is told')
    psql(run.stdout)
    made = subprocess.run([PROGRAM, '--database', ADMINISTRATOR, '--key-file', key_file, '--create-key', role], check=True, capture_output=True, text=True,
                          timeout=WAIT)
    keys[name] = (re.search(r'\bAKIA[A-Z2-7]{16}\b', made.stdout).group(0),
                  re.search(r'(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])', made.stdout).group(0))
for arguments, status in ((['--role', 'r'], 2), (['x'], 2), (['--role', 'r', '/nowhere'], 1), (['--role', 'r', '/etc/hostname'], 1)):
    is_(subprocess.run([COMMAND, 'policy', *arguments], capture_output=True, timeout=WAIT).returncode, status, f'policy {arguments}')



def policy_of(*statements):
    text = json.dumps({'Version': '2012-10-17', 'Statement': statements})
    return subprocess.run([COMMAND, 'policy', '--role', 'r0', '-'], input=text, capture_output=True, text=True, timeout=WAIT)


# Hostile documents: texts stay texts for psql and whatever standard_conforming_strings is, and a Deny is not lost
nothing = '-- nothing is granted\n'
for texts in (['a\0'], ["\\'); CREATE TABLE pwned(); --"], ["\n\\! false\n'"]):
    run = policy_of(allow('dynamodb:GetItem', TABLE + 'Nowhere', leading('ForAllValues:StringEquals', *texts)),
                    allow('dynamodb:GetItem', TABLE + ']); CREATE TABLE pwned(); --'))
    is_(run.returncode, 1 if '\0' in texts[0] else 0, f'policy with {texts!r}')
    for setting in ('on', 'off'):
        subprocess.run([os.environ['PG_BIN'] + '/psql', '-XqAt', ADMINISTRATOR], input=f'SET standard_conforming_strings = {setting};\n{run.stdout}',
                       capture_output=True, text=True, timeout=WAIT, check=True)
run = policy_of(allow('dynamodb:GetItem', TABLE + 'Books', leading('ForAllValues:StringEquals', 'a\u20ac', 'b]); ROLLBACK; CREATE TABLE pwned(); --')))
for encoding in ('GBK', 'BIG5'):
    subprocess.run([os.environ['PG_BIN'] + '/psql', '-Xqf', '-', ADMINISTRATOR], input=run.stdout.encode(), capture_output=True, timeout=WAIT,
                   env={**os.environ, 'PGCLIENTENCODING': encoding})
is_(psql("SELECT to_regclass('pwned')"), '', 'nothing else is done')
for resource in (TABLE.replace('table/', 'tabl?/') + 'Books', TABLE + '${aws:username}', 'arn:aws:dynamodb:*'):
    run = policy_of(allow('dynamodb:GetItem', TABLE + 'Books'), {'Effect': 'Deny', 'Action': 'dynamodb:*', 'Resource': resource})
    is_(run.stdout, nothing, f'Deny of {resource}')
run = subprocess.run([COMMAND, 'policy', '--role', 'r0', '-'], capture_output=True, text=True, timeout=WAIT,
                     input=json.dumps({'Statement': allow('dynamodb:GetItem', TABLE + 'Books')}).replace('{"Effect"', '{"Effect": "Deny", "Effect"'))
ok(run.returncode == 1 and run.stdout == '' and 'twice' in run.stderr, 'two members of one name', run)
run = policy_of({**allow('dynamodb:GetItem', TABLE + '\ud800'), 'Sid': '\x1b[2J'})
ok(run.returncode == 1 and run.stdout == '' and 'Traceback' not in run.stderr, 'half a surrogate pair', run)
run = policy_of({**allow('dynamodb:DescribeTable', TABLE + 'Books'), 'Sid': '\x1b[2J'})
ok('Traceback' not in run.stderr and '\x1b' not in run.stderr + run.stdout, 'no name moves the cursor', run)
run = policy_of(allow('s3:\x1b[2J', TABLE + 'Books'), allow('dynamodb:GetItem', '\x1b[2J'))
ok(run.stderr != '' and '\x1b' not in run.stderr + run.stdout, 'nor does an action or a resource', run)
for condition in ([], {}, '', {'ForAllValues:StringEquals': {}}, leading('ForAllValues:StringEquals')):
    run = policy_of({**allow('dynamodb:GetItem', TABLE + 'Books'), 'Condition': condition})
    ok(run.stdout in ('', nothing), f'condition {condition!r}', run)

# A schema whose name has a dot, of somebody who wants a grant on another table
psql("""SELECT dyn_create_table('public.My.Books2', 'pk S'); CREATE SCHEMA dotted; SELECT dyn_create_table('dotted.Books2', 'pk S');
        ALTER SCHEMA dotted RENAME TO "public.My" """)
psql(policy_of(allow('dynamodb:GetItem', TABLE + 'Books2*')).stdout)
is_(psql('SELECT * FROM dyn_key_grants WHERE relation::text ~ \'Books2\''), '', 'a table that the policy does not name is not granted')
psql('DROP SCHEMA "public.My" CASCADE; DROP TABLE "My.Books2"')

# Requests.  Of these documents what is granted is exactly what is allowed.
EXACT = {'own items', 'cognito', 'table', 'read only', 'index', 'tenant', 'old', 'prefix'}
random.seed(SEED)
counts, wrong, narrower = {'allowed': 0, 'denied': 0}, [], []
with Gateway('--key-file', key_file, auth='keys') as g:
    for key in keys.values():
        until(lambda key=key: g.send(sign(*key, 'ListTables', b'{}')).status == 200, 'keys')
    for _ in range(REQUESTS):
        name = random.choice(list(DOCUMENTS))
        document, user = DOCUMENTS[name][0], roles[name]
        operation, body, wanted = make_request(user)
        answer = g.send(sign(*keys[name], operation, json.dumps(body).encode()))
        error = answer.json.get('__type', '')
        denied = 'AccessDenied' in error
        may = all(allowed(document, user, *w) for w in wanted)
        counts['denied' if denied else 'allowed'] += 1
        if not denied and answer.status != 200 and not re.search('ConditionalCheckFailed|DuplicateItem|TransactionCanceled', error):
            wrong.append((name, operation, body, answer))
        if not denied and not may:
            wrong.append((name, operation, body, wanted))
        if denied and may and name in EXACT:
            narrower.append((name, operation, body, wanted, answer))
ok(not wrong, f'{REQUESTS} requests (seed {SEED}) are never allowed more', wrong[:3])
ok(not narrower, 'nor less, where all was said', narrower[:3])
ok(min(counts.values()) > REQUESTS / 20, f'{counts["allowed"]} were allowed, {counts["denied"]} denied', counts)

# SQL: what a role sees and changes, of all keys
psql(f"""SELECT dyn_put(t, jsonb_build_object('pk', k, 'sk', '1', 'title', i)) FROM unnest(ARRAY{TABLES}) t, unnest(ARRAY{KEYS + sorted(roles.values())}) k,
         unnest(ARRAY['K1', 'X']) i""")
sql_wrong, seen = [], 0
for name, (document, _) in DOCUMENTS.items():
    role = roles[name]
    for table in TABLES:
        def keys_of(statement, left='pk'):
            """Keys by a statement of the role in a transaction that is rolled back; None: it is denied."""
            try:
                return set(psql(f'BEGIN; SET LOCAL ROLE {role}; {statement}; RESET ROLE; {left}; ROLLBACK').split('\n')) - {''}
            except subprocess.CalledProcessError as error:
                if 'permission denied' not in error.stderr and 'row-level security' not in error.stderr:
                    raise
                return set()
        everything = f'SELECT DISTINCT pk FROM "{table}"'
        got = {
            ('Query', 'Scan', 'PartiQLSelect'): keys_of(everything, 'SELECT'),
            ('UpdateItem', 'PartiQLUpdate'): keys_of(f"""UPDATE "{table}" SET item = dyn_apply(item, 'SET u = pk')""",
                                                     f"""{everything} WHERE item ? 'u'"""),
            ('DeleteItem', 'PartiQLDelete'): keys_of(f'DELETE FROM "{table}"',
                                                     f'SELECT k FROM unnest(ARRAY{KEYS + sorted(roles.values())}) k EXCEPT {everything}'),
        }
        inserted = set()
        for pk in KEYS + [role]:
            inserted |= keys_of(f"""INSERT INTO "{table}" (item) VALUES (jsonb_build_object('pk', {literal(pk)}::text, 'sk', 'new'))""",
                                f"""{everything} WHERE sk = 'new'""")
        got[('PutItem', 'PartiQLInsert')] = inserted
        for actions, found in got.items():
            seen += len(found)
            for pk in found:
                if not any(allowed(document, role, a, TABLE + table, [pk] if a != 'Scan' else []) for a in actions):
                    sql_wrong.append((name, table, actions, pk))
ok(not sql_wrong, 'SQL shows and changes nothing that is not allowed', sql_wrong[:5])
ok(seen > 50, f'{seen} keys were seen or changed by SQL')
done()
