"""Signed requests through the whole gateway: keys of roles, their changes, and their limits (GW12, GW30 to GW45, GW69)."""
import gzip
import json
import os
import re
import signal
import subprocess
import tempfile
import zlib

from gateway import PROGRAM, WAIT, Gateway, Hold, done, head, in_thread, is_, ok, post, psql, sign, until, waiting_backends

SERVICE = 'com.amazon.coral.service#'
ADMINISTRATOR = f"host={os.environ['PGHOST']} user=postgres dbname=postgres"
folder = tempfile.TemporaryDirectory()
key_file = os.path.join(folder.name, 'key')


def run(*flags):
    done = subprocess.run([PROGRAM, '--database', ADMINISTRATOR, '--key-file', key_file, *flags], capture_output=True, text=True, timeout=WAIT)
    return done.returncode, done.stdout, done.stderr


def new_key(role):
    status, output, errors = run('--create-key', role)
    if not is_((status, errors), (0, ''), f'a key for {role}'):
        done()
    return re.search(r'\bAKIA[A-Z2-7]{16}\b', output).group(0), re.search(r'(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])', output).group(0)


is_(run('--create-key-file', key_file)[0], 0, 'a key file')
app, other = new_key('app'), new_key('other')
stored = psql("SELECT encode(encrypted_secret, 'escape') FROM dynamo_internal.access_key")
ok(app[1] not in stored and other[1] not in stored, 'the server has no secret')

def logged(g, answer, words):
    """Whether the line of a request in the log has them."""
    return words in until(lambda: [line for line in g.log().splitlines() if answer.headers['x-amzn-requestid'] in line], 'the line')[0]


with Gateway('--key-file', key_file, '--requests-at-once', '2', '--health-listen', '127.0.0.1:0', auth='keys') as g:
    def call(key, operation, request, **signed):
        return g.send(sign(*key, operation, request if isinstance(request, bytes) else json.dumps(request).encode(), **signed))

    def status(key):
        a = call(key, 'ListTables', {})
        return a.status, a.json.get('__type')

    until(lambda: status(app)[0] == 200, 'keys')
    with g.connect(g.health_address()) as c:
        c.send(head(['GET /readyz HTTP/1.1', 'Host: x']))
        is_(c.read().status, 200, 'it is ready')

    # one role and another
    is_(call(app, 'PutItem', {'TableName': 'items', 'Item': {'pk': {'S': 'mine'}}}).status, 200, 'a key of a role')
    a = call(other, 'GetItem', {'TableName': 'items', 'Key': {'pk': {'S': 'mine'}}})
    is_((a.status, a.type), (400, 'com.amazonaws.dynamodb.v20120810#AccessDeniedException'), 'a key of another role')
    is_(sum(call(key, 'GetItem', {'TableName': 'items', 'Key': {'pk': {'S': 'mine'}}}).status for key in (app, other) * 20), 20 * 600, 'in turn')

    # what is not signed, or wrongly
    for name, data, type_, reason in (('no signature', post('ListTables', b'{}'), 'MissingAuthenticationTokenException', 'missing'),
                                      ('another secret', sign(app[0], other[1], 'ListTables', b'{}'), 'InvalidSignatureException', 'signature'),
                                      ('an unknown key', sign('AKIAAAAAAAAAAAAAAAAA', app[1], 'ListTables', b'{}'), 'UnrecognizedClientException', 'key'),
                                      ('another body', sign(*app, 'ListTables', b'{}').replace(b'{}', b'[]'), 'InvalidSignatureException', 'signature'),
                                      ('another operation', sign(*app, 'ListTables', b'{}').replace(b'ListTables', b'Scan'), 'InvalidSignatureException',
                                          'signature'),
                                      ('an old request', sign(*app, 'ListTables', b'{}', date='20150830T123600Z'), 'InvalidSignatureException', 'clock')):
        a = g.send(data)
        is_((a.status, a.type), (400, SERVICE + type_), name)
        ok(logged(g, a, f'error={type_} reason={reason}'), f'the log says why: {reason}', g.log())
    with g.connect(g.health_address()) as c:
        c.send(head(['GET /metrics HTTP/1.1', 'Host: x']))
        ok(re.search(r'^dynamo_auth_failures_total\{reason="\w+"\} [1-9]', c.read().text, re.M), 'they are counted')

    # requests as the programs send them that people look at tables with
    key, names, values = {'pk': {'S': 'mine'}}, {'#cd420': 'pk', '#cd421': 'kind'}, {':cd420': {'S': 'mine'}, ':cd421': {'S': 'ours'}}
    programs = {
        # with a session token of its own
        'dynamodb-admin': ({'x-amz-security-token': 'token', 'x-amz-user-agent': 'aws-sdk-js/3.890.0', 'amz-sdk-request': 'attempt=1; max=3'}, [
            ('ListTables', {'Limit': 100}), ('DescribeTable', {'TableName': 'items'}), ('Scan', {'TableName': 'items', 'Limit': 25}),
            ('PutItem', {'TableName': 'items', 'Item': key, 'ConditionExpression': 'attribute_exists(#cd420)', 'ExpressionAttributeNames': {'#cd420': 'pk'}}),
            ('GetItem', {'TableName': 'items', 'Key': key})]),
        # a page of its own, which says that it comes from a file
        'NoSQL Workbench': ({'origin': 'file://', 'x-amz-user-agent': 'aws-sdk-nodejs/2.1692.0'}, [
            ('ListTables', {}), ('DescribeTable', {'TableName': 'items'}), ('DescribeTimeToLive', {'TableName': 'items'}),
            ('Scan', {'TableName': 'items', 'ConsistentRead': False, 'ReturnConsumedCapacity': 'TOTAL'}),
            ('UpdateItem', {'TableName': 'items', 'Key': key, 'UpdateExpression': 'SET #cd421 = :cd421', 'ConditionExpression': '#cd420 = :cd420',
                            'ExpressionAttributeNames': names, 'ExpressionAttributeValues': values}),
            ('Query', {'TableName': 'items', 'ScanIndexForward': True, 'ConsistentRead': False, 'KeyConditionExpression': '#cd420 = :cd420',
                       'FilterExpression': '#cd421 = :cd421', 'ExpressionAttributeNames': names, 'ExpressionAttributeValues': values}),
            ('BatchWriteItem', {'RequestItems': {'items': [{'PutRequest': {'Item': key}}]}}),
            ('TransactWriteItems', {'TransactItems': [{'Put': {'TableName': 'items', 'Item': key}}]}),
            ('ExecuteStatement', {'Statement': 'SELECT * FROM items WHERE pk = ?', 'Parameters': [{'S': 'mine'}]})]),
        # the AWS Toolkit for JetBrains' programs
        'IntelliJ': ({'amz-sdk-invocation-id': 'd3b07384-d9a0-4c9b-8f3e-1f1b2f3a4c5d', 'amz-sdk-request': 'attempt=1; max=4'}, [
            ('ListTables', {}), ('DescribeTable', {'TableName': 'items'}), ('ExecuteStatement', {'Statement': 'SELECT * FROM "items"'}),
            ('ExecuteStatement', {'Statement': 'SELECT * FROM "items" WHERE "pk" = \'mine\''})])}
    for program, (headers, requests) in programs.items():
        for operation, request in requests:
            a = call(app, operation, request, headers=headers)
            ok(a.status == 200 and (operation != 'ExecuteStatement' or key in a.json['Items']), f'{program}: {operation}', a)
    ok(a.headers.get('access-control-allow-origin') is None
       and call(app, 'ListTables', {}, headers=programs['NoSQL Workbench'][0]).headers.get('access-control-allow-origin') == '*',
       'the page may read the answers')
    is_(call((app[0], other[1]), 'ListTables', {}, headers={'x-amz-security-token': 'token'}).type, SERVICE + 'InvalidSignatureException', 'and helps nobody')

    # what comes first
    is_(g.send(post('ListTables', b'{')).type, SERVICE + 'SerializationException', 'JSON comes before the signature')
    is_(g.send(post('Nothing', b'{}')).type, SERVICE + 'UnknownOperationException', 'so does the target')
    is_(g.send(post('ListTables', b'')).type, SERVICE + 'MissingAuthenticationTokenException', 'an empty body comes behind it')
    is_(call(app, 'ListTables', b'').type, SERVICE + 'SerializationException', 'also where it is signed')
    packed = gzip.compress(b'{}')
    is_(call(app, 'ListTables', packed, headers={'content-encoding': 'gzip'}).status, 200, 'what is signed is compressed')
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b''.join([bomb.compress(b' ' * 2 ** 24) for _ in range(16)] + [bomb.flush()])
    is_(g.send(post('ListTables', bomb, {'Content-Encoding': 'gzip'})).type, SERVICE + 'MissingAuthenticationTokenException',
        'a stranger\'s bomb is not inflated')
    is_(call(app, 'ListTables', bomb, headers={'content-encoding': 'gzip'}).status, 413, 'a friend\'s is, up to the limit')

    # signatures are what keeps pages of browsers away, whatever the gateway is called
    is_(call(app, 'ListTables', b'{}', headers={'host': 'example.org'}).status, 200, 'with keys by any name')
    a = g.send(head(['OPTIONS / HTTP/1.1', 'Host: x', 'Origin: http://example.org', 'Access-Control-Request-Method: POST']))
    is_((a.status, a.headers.get('access-control-allow-origin')), (200, '*'), 'a page of any origin, at home')

    # keys change while the gateway runs
    psql(f"SELECT dyn_alter_access_key('{other[0]}', enabled => false)")
    until(lambda: status(other) == (400, SERVICE + 'UnrecognizedClientException'), 'a key that is disabled')
    psql(f"SELECT dyn_alter_access_key('{other[0]}', enabled => true)")
    until(lambda: status(other)[0] == 200, 'and enabled')
    third = new_key('other')
    until(lambda: status(third)[0] == 200, 'a new key')
    psql(f"SELECT dyn_drop_access_key('{third[0]}')")
    until(lambda: status(third) == (400, SERVICE + 'UnrecognizedClientException'), 'a key that is dropped')
    ok(True, 'keys change while the gateway runs')
    g.signal(signal.SIGHUP)
    until(lambda: 'have been read again' in g.log())
    is_([status(app)[0], status(other)[0]], [200, 200], 'keys are there after a reload')

    # the region that is signed is that of ARNs, and ARNs of others are not names here
    def table(region, name='items', **request):
        return g.send(sign(*app, 'DescribeTable', json.dumps({'TableName': name}).encode(), region=region, **request))

    def arn(region):
        return f'arn:aws:dynamodb:{region}:000000000000:table/items'

    psql('ALTER TABLE items OWNER TO app')
    is_([table(region).json['Table']['TableArn'] for region in ('us-east-1', 'eu-west-1', 'local', 'Test_Region', 'x' * 63, 'x' * 64)],
        [arn(region) for region in ('us-east-1', 'eu-west-1', 'local', 'local', 'x' * 63, 'local')], 'ARNs have the region that a request is signed for')
    is_([table('eu-west-1', arn(region)).status for region in ('eu-west-1', 'local')], [200, 200], 'ARNs of it are names of tables')
    a = table('eu-west-1', arn('us-east-1'))
    is_((a.type, a.json['message']), ('com.amazonaws.dynamodb.v20120810#AccessDeniedException',
                                      f"User: app is not authorized to perform: dynamodb:DescribeTable on resource: {arn('us-east-1')}"),
                                      'those of another region are not')
    a = g.send(sign(*app, 'DescribeTable', b'{"TableName": "items"}', region='eu-west-1').replace(b'/eu-west-1/', b'/us-west-2/'))
    is_(a.type, SERVICE + 'InvalidSignatureException', 'a region that is not the one that was signed')

    # how many requests at once
    with Hold() as hold:
        slow = []
        for n in range(1, 3):
            slow.append(in_thread(call, app, 'PutItem', {'TableName': 'raising', 'Item': {'pk': {'S': str(n)}, 'hold': {'N': '1'}}}))
            hold.held(n)
        a = call(app, 'ListTables', {})
        is_((a.status, a.type, a.json['message']), (400, SERVICE + 'ThrottlingException', 'Rate exceeded'), 'too many requests at once')
        ok(logged(g, a, 'error=ThrottlingException reason=requests_at_once'), 'the log names the setting', g.log())
        is_(status(other)[0], 200, 'of one key')
    is_([s().status for s in slow], [200, 200], 'those before are served')
    until(lambda: status(app)[0] == 200, 'the next one')

    log = g.log()
    ok(app[1] not in log and other[1] not in log and 'Credential' not in log, 'the log has no secret')
    ok(f'key={app[0]} role=app' in log, 'it has the key and its role')

# one that is late counts until its session has ended
psql("ALTER ROLE gateway SET client_connection_check_interval = '1h'")
with Gateway('--key-file', key_file, '--requests-at-once', '1', '--request-time', '3s', auth='keys') as g, Hold() as hold:
    def status(key, operation, request):
        a = g.send(sign(*key, operation, json.dumps(request).encode()))
        return a.status, a.json.get('__type', '').split('#')[-1]

    until(lambda: status(app, 'ListTables', {})[0] == 200, 'keys')
    is_(status(app, 'PutItem', {'TableName': 'raising', 'Item': {'pk': {'S': 'late'}, 'hold': {'N': '1'}}})[0], 500, 'a request that is late')
    is_(status(app, 'ListTables', {}), (400, 'ThrottlingException'), 'counts among those of its key')
    is_(status(other, 'ListTables', {})[0], 200, 'and no other')
    psql(f'SELECT pg_terminate_backend({waiting_backends()[0]})')
    until(lambda: status(app, 'ListTables', {})[0] == 200, 'the next one')
psql('ALTER ROLE gateway RESET client_connection_check_interval')

# where signatures are not looked at, the region is what the request says, and nothing decides but the settings
described = json.dumps({'TableName': 'items'}).encode()
with Gateway() as g:
    is_([g.send(data).json['Table']['TableArn'].split(':')[3] for data in (
        sign('x', 'y', 'DescribeTable', described, region='eu-west-1'), sign('x', 'y', 'DescribeTable', described, region='EU'),
        post('DescribeTable', described),
        post('DescribeTable', described, {'Authorization': 'AWS4-HMAC-SHA256 Credential=a/b/eu-west-2/d/e'}),
        post('DescribeTable', described, {'Authorization': 'AWS4-HMAC-SHA256 Credential=a/b/eu"}/d/e'}),
        post('DescribeTable', described, {'Authorization': 'Bearer x'}))],
        ['eu-west-1', 'local', 'local', 'eu-west-2', 'local', 'local'], 'the region of a request that need not be signed')
    psql("ALTER ROLE gateway SET dynamo_table.arn_region = 'us-west-2'")
with Gateway() as g:
    is_(g.send(sign('x', 'y', 'DescribeTable', described, region='eu-west-1')).json['Table']['TableArn'].split(':')[3], 'us-west-2',
        'a setting of the server fixes it')
psql('ALTER ROLE gateway RESET dynamo_table.arn_region')
with Gateway('--region', 'ap-south-1') as g:
    is_([g.send(data).json['Table']['TableArn'].split(':')[3]
        for data in (post('DescribeTable', described), sign('x', 'y', 'DescribeTable', described, region='eu-west-1'))],
        ['ap-south-1', 'ap-south-1'], "the gateway's setting says which it is")

with Gateway('--key-file', key_file, '--session-tokens', 'refuse', auth='keys') as g:
    until(lambda: g.send(sign(*app, 'ListTables', b'{}')).status == 200, 'keys')
    a = g.send(sign(*app, 'ListTables', b'{}', headers={'x-amz-security-token': 'token'}))
    is_((a.type, logged(g, a, 'error=UnrecognizedClientException reason=token')), (SERVICE + 'UnrecognizedClientException', True),
        'session tokens are refused, if told')

with Gateway('--key-file', key_file, '--requests-per-second', '5', auth='keys') as g:
    until(lambda: g.send(sign(*app, 'ListTables', b'{}')).status == 200, 'keys')
    answers = [g.send(sign(*app, 'ListTables', b'{}')) for _ in range(40)]
    refused = [a.type for a in answers if a.status != 200]
    ok(refused and set(refused) == {SERVICE + 'ThrottlingException'}, 'too many requests in a second', answers[-1])
    is_(g.metric('dynamo_throttled_total'), len(refused), 'they are counted')
    until(lambda: 'error=ThrottlingException reason=requests_per_second' in g.log())
    ok(True, 'the log names the setting')
    is_(g.send(sign(*other, 'ListTables', b'{}')).status, 200, 'another key has its own')
    until(lambda: g.send(sign(*app, 'ListTables', b'{}')).status == 200, 'the next second')

# a key whose statements wait for a lock has half of the connections, and the others are those of other keys
def write(n):
    item = {'TableName': 'raising', 'Item': {'pk': {'S': f'slow{n}'}, 'hold': {'N': '1'}}}
    return g.send(sign(*app, 'PutItem', json.dumps(item).encode())).status


with Gateway('--key-file', key_file, auth='keys') as g:
    until(lambda: g.send(sign(*app, 'ListTables', b'{}')).status == 200, 'the keys')
    with Hold() as hold:
        slow = []
        for n in 1, 2:
            slow.append(in_thread(write, n))
            hold.held(n)
        slow.append(in_thread(write, 3))
        until(lambda: g.metric('dynamo_pool_waiting') == 1, 'the third one')
        is_([g.send(sign(*other, 'ListTables', b'{}')).status for _ in range(20)], [200] * 20, 'another key does not wait for a slow one')
        is_((len(waiting_backends()), g.metric('dynamo_pool_waiting')), (2, 1), 'which has half of the connections')
    is_([s() for s in slow], [200] * 3, 'its requests are done in the end')

# sessions that go on when the time of their requests is over count among them
with Gateway('--key-file', key_file, '--request-time', '2s', '--queue-time', '500ms', auth='keys') as g:
    until(lambda: g.send(sign(*app, 'ListTables', b'{}')).status == 200, 'the keys')
    with Hold() as hold:
        late = []
        for n in 1, 2:
            late.append(in_thread(write, n))
            hold.held(n)
        stopped = waiting_backends()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        is_([s() for s in late], [500] * 2, 'requests whose time is over')
        is_((write(3), g.send(sign(*other, 'ListTables', b'{}')).status), (503, 200), 'their sessions go on, and another key has the other half')
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    until(lambda: write(3) == 200, 'the end of the sessions')

status, _, errors = run('--create-key', 'nobody')
ok(status != 0 and 'nobody' in errors, 'a key for nobody', errors)
result = subprocess.run([PROGRAM, '--listen', '127.0.0.1:0', '--database', ADMINISTRATOR], capture_output=True, text=True, timeout=WAIT)
ok(result.returncode == 1 and result.stderr, 'keys need a key file', result)

done()
