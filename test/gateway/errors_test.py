"""What becomes of errors of Postgres (GW20 to GW24, GW60 to GW68)."""
from gateway import DATABASE, SANITIZED, Gateway, done, in_thread, is_, ok, psql, until

DYNAMODB = 'com.amazonaws.dynamodb.v20120810#'
INTERNAL = (500, DYNAMODB + 'InternalServerError', 'Internal server error')
CONFLICT = (400, DYNAMODB + 'TransactionConflictException', 'Transaction is ongoing for the item')


def item(**attributes):
    return {'pk': {'S': 'a'}, **{name: {'S': value} if isinstance(value, str) else {'N': str(value)} for name, value in attributes.items()}}


def put(gateway, **attributes):
    return gateway.call('PutItem', {'TableName': 'raising', 'Item': item(**attributes)})


def told(answer):
    return answer.status, answer.type, answer.json.get('message')


def repeated(gateway):
    """How often statements were sent again, since it was asked."""
    global repeats
    psql("SELECT setval('raised', 1, false)")
    before, repeats = repeats, gateway.metric('dynamo_sql_retries_total')
    return repeats - before


repeats = 0


def backends():
    return sorted(psql("SELECT pid FROM pg_stat_activity WHERE usename = 'gateway'").split())


with Gateway() as g:
    is_(put(g).status, 200, 'nothing is raised')

    # the extension's own
    for code, prefix, name in (('YD001', 'com.amazon.coral.validate#', 'ValidationException'), ('YD002', DYNAMODB, 'ConditionalCheckFailedException'),
                               ('YD003', DYNAMODB, 'TransactionCanceledException'), ('YD005', DYNAMODB, 'TransactionInProgressException'),
                               ('YD006', DYNAMODB, 'IdempotentParameterMismatchException'), ('YD007', DYNAMODB, 'ItemCollectionSizeLimitExceededException'),
                               ('YD009', DYNAMODB, 'ResourceInUseException'), ('YD010', DYNAMODB, 'LimitExceededException'),
                               ('YD011', DYNAMODB, 'TrimmedDataAccessException'), ('YD012', DYNAMODB, 'ExpiredIteratorException'),
                               ('YD014', 'com.amazon.coral.service#', 'UnknownOperationException'), ('YD015', DYNAMODB, 'TableNotFoundException'),
                               ('YD016', DYNAMODB, 'AccessDeniedException'), ('YD017', DYNAMODB, 'DuplicateItemException')):
        a = put(g, **{'raise': code})
        ok(told(a)[:2] == (400, prefix + name) and a.json['message'].lower().startswith('secret words'), name, a)
    a = put(g, **{'raise': 'YD013'})
    ok(a.status == 400 and a.type == 'com.amazon.coral.service#SerializationException' and 'message' not in a.json, 'SerializationException has a Message', a)
    a = g.call('PutItem', {'TableName': 'nothing', 'Item': item()})
    is_((a.status, a.type), (400, DYNAMODB + 'ResourceNotFoundException'), 'a table that is not there')
    a = g.call('RestoreTableToPointInTime', {'TargetTableName': 'new'})
    is_((a.status, a.type), (400, 'com.amazon.coral.service#UnknownOperationException'), 'an operation that the extension lacks')

    psql('CREATE VIEW watching AS SELECT item FROM items')
    is_(told(g.call('DeleteTable', {'TableName': 'items'})),
        (400, DYNAMODB + 'ResourceInUseException', 'Attempt to change a resource which is still in use: Table is used by view watching: items'),
        'a view keeps its table')
    psql('DROP VIEW watching')

    # as the form of dynamodb-admin for new tables sends it; only emulators take it
    a = g.call('CreateTable', {'TableName': 'new', 'KeySchema': [{'AttributeName': 'pk', 'KeyType': 'HASH'}],
                               'AttributeDefinitions': [{'AttributeName': 'pk', 'AttributeType': 'S'}],
                               'ProvisionedThroughput': {'ReadCapacityUnits': '3', 'WriteCapacityUnits': '3'}})
    is_((a.status, a.json), (400, {'__type': 'com.amazon.coral.service#SerializationException', 'Message': 'STRING_VALUE cannot be converted to Long'}),
        'a number as text')

    # details that are data
    g.call('PutItem', {'TableName': 'items', 'Item': item(v='old')})
    a = g.call('PutItem', {'TableName': 'items', 'Item': item(), 'ConditionExpression': 'attribute_not_exists(pk)',
        'ReturnValuesOnConditionCheckFailure': 'ALL_OLD'})
    is_(a.json, {'__type': DYNAMODB + 'ConditionalCheckFailedException', 'message': 'The conditional request failed', 'Item': item(v='old')},
        'the item that was there')
    a = g.call('PutItem', {'TableName': 'items', 'Item': item(), 'ConditionExpression': 'attribute_not_exists(pk)'})
    is_(a.json, {'__type': DYNAMODB + 'ConditionalCheckFailedException', 'message': 'The conditional request failed'}, 'nobody asked for it')
    a = g.call('TransactWriteItems', {'TransactItems': [
        {'Put': {'TableName': 'items', 'Item': {'pk': {'S': 'b'}}}},
        {'Put': {'TableName': 'items', 'Item': item(), 'ConditionExpression': 'attribute_not_exists(pk)', 'ReturnValuesOnConditionCheckFailure': 'ALL_OLD'}}]})
    is_([r['Code'] for r in a.json['CancellationReasons']], ['None', 'ConditionalCheckFailed'], 'the reasons of a transaction')
    is_(a.json['CancellationReasons'][1]['Item'], item(v='old'), 'and its item')
    for detail in '{"Item":', '"text"', '{}', 'x', '{"a":1}}', '[]':
        a = put(g, **{'raise': 'YD003', 'detail': detail})
        ok(a.status == 400 and set(a.json) == {'__type', 'message'}, f'a detail that is no object: {detail}', a)

    # what is told of an error has its bounds, and no connection stays as large as the largest detail
    a = put(g, **{'raise': 'YD001', 'length': 22000})
    is_((a.status, len(a.json['message'].encode())), (400, 65538), 'a long message: it is cut, in the midst of a character')
    peak = g.peak()
    for what, expected in ({'raise': 'YD001'}, 400), ({'raise': 'YD003', 'detail': '{}'}, 400), ({'raise': '22000'}, 500), ({}, 200):
        a = put(g, **what, length=12000000)
        is_(a.status, expected, f'a trigger that tells very much: {what}')
        ok(len(a.body) < 100000, 'the client is not told all of it', len(a.body))
    ok(SANITIZED or g.peak() < peak + 8000, 'nor is the gateway', peak, g.peak())
    before = backends()
    a = put(g, **{'raise': 'YD003', 'details': 12000000})
    ok(a.status == 400 and len(a.body) < 1000, 'a long detail', a)
    until(lambda: len(backends()) == len(before) and backends() != before, 'another connection')
    ok(True, 'its connection is replaced')
    is_((put(g).status, backends()), (200, backends()), 'others stay')

    # nor does a session stay that a trigger has filled, whether its request succeeds or not
    for what, expected in ({}, 200), ({'raise': '22000'}, 500):
        before = backends()
        is_(put(g, **what, keep=300000000).status, expected, f'a trigger that leaves much: {what}')
        until(lambda: len(backends()) == len(before) and backends() != before, 'another session')
        is_(len(set(before) & set(backends())), len(before) - 1, 'its session is replaced, and no other')
    before = backends()
    is_([put(g, notice='53400').status for _ in range(8)] + backends(), [200] * 8 + before, 'a trigger cannot tell so itself')

    # conflicts: the trigger fails the first two times
    for code in '40001', '40P01':
        repeated(g)
        is_(put(g, **{'raise': code, 'times': 2}).status, 200, f'{code} is tried again')
        is_(repeated(g), 2, 'as often as it takes')
        is_(told(put(g, **{'raise': code})), CONFLICT, f'{code} to the end')
        is_(repeated(g), 3, 'is tried three times more')
    is_(told(put(g, **{'raise': '55P03'})), CONFLICT, 'a lock that is not to be had')
    is_(repeated(g), 0, 'is waited for once')
    for n, code in (1, '40001'), (3, '40P01'), (2, '55P03'), (2, 'YD004'):
        a = g.call('TransactWriteItems', {'TransactItems': [{'Put': {'TableName': 'raising',
            'Item': {**item(**{'raise': code, 'q': '"]},[{'}), 'pk': {'S': str(i)}}}} for i in range(n)]})
        is_((a.status, a.json), (400, {
            '__type': DYNAMODB + 'TransactionCanceledException',
            'message': f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(['TransactionConflict'] * n)}]",
            'CancellationReasons': [{'Code': 'TransactionConflict', 'Message': 'Transaction is ongoing for the item'}] * n}), f'{code} in a transaction of {n}')
        is_(repeated(g), 0, 'is the client\'s to try again')

    # the same in reads, in transactions that read, and in definitions
    psql("""SET ROLE app;
        CREATE TABLE to_raise (code text, times int);
        INSERT INTO to_raise VALUES ('40001', 0);
        CREATE FUNCTION raise_read() RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE r to_raise;
        BEGIN
            SELECT * INTO r FROM to_raise;
            IF nextval('raised') <= r.times THEN
                RAISE EXCEPTION USING ERRCODE = r.code, MESSAGE = 'secret words';
            END IF;
            RETURN true;
        END $$;
        CREATE POLICY raise_read ON items USING (raise_read());
        ALTER TABLE items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY""")

    def raising(code, times):
        repeated(g)
        psql(f"UPDATE to_raise SET code = '{code}', times = {times}")

    key = {'TableName': 'items', 'Key': {'pk': {'S': 'a'}}}
    for code, before in ('40001', 2), ('40P01', 2), ('40001', 1000):
        raising(code, before)
        a = g.call('GetItem', key)
        if before == 2:
            is_((a.status, repeated(g)), (200, 2), f'{code} in a read is tried again')
        else:
            is_((*told(a), repeated(g)), (*INTERNAL, 3), 'three times')
    for code, expected in ('55P03', INTERNAL), ('57014', INTERNAL), ('53100', INTERNAL), ('53200', INTERNAL), ('XX000', INTERNAL), ('25006',
        (503, DYNAMODB + 'ServiceUnavailable', None)):
        raising(code, 1000)
        is_((*told(g.call('GetItem', key)), repeated(g)), (*expected, 0), f'{code} in a read')
    for code in '40001', '55P03':
        raising(code, 1000)
        a = g.call('TransactGetItems', {'TransactItems': [{'Get': key}, {'Get': key | {'Key': {'pk': {'S': 'b'}}}}]})
        is_((a.status, a.type, [r['Code'] for r in a.json['CancellationReasons']], repeated(g)),
            (400, DYNAMODB + 'TransactionCanceledException', ['TransactionConflict', 'None'], 0), f'{code} in a transaction that reads, with the item')
    psql('DROP POLICY raise_read ON items; ALTER TABLE items DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY')
    psql("""CREATE FUNCTION raise_definition() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION
        USING ERRCODE = (SELECT code FROM to_raise), MESSAGE = 'secret words'; END $$;
        CREATE EVENT TRIGGER raise_definition ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION raise_definition()""")
    for code in '40001', '40P01', '55P03', '57014':
        raising(code, 1000)
        a = g.call('CreateTable', {'TableName': 'new', 'KeySchema': [{'AttributeName': 'pk', 'KeyType': 'HASH'}], 'BillingMode': 'PAY_PER_REQUEST',
                                   'AttributeDefinitions': [{'AttributeName': 'pk', 'AttributeType': 'S'}]})
        is_((*told(a), repeated(g)), (*INTERNAL, 0), f'{code} in a definition')
    psql('DROP EVENT TRIGGER raise_definition')

    # codes of a server that goes away, raised by code of a table's owner: the connection is as it was
    pids = psql("SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity WHERE usename = 'gateway'")
    for code in '53300', '57P01', '57P02', '57P03', '57P05', '08006', '08P01', '26000', '55000', '25P04':
        repeated(g)
        is_((*told(put(g, **{'raise': code})), repeated(g)), (*INTERNAL, 0), f'{code} that a trigger raises')
    is_(psql("SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity WHERE usename = 'gateway'"), pids, 'no connection was given up')

    # what nobody is told
    for code in '53100', '53200', '57014', 'XX000', '58030', '42501', '22012', 'P0001', '23505':
        a = put(g, **{'raise': code, 'detail': 'secret data'})
        if code == '42501':
            is_(a.type, DYNAMODB + 'AccessDeniedException', 'a missing privilege')
            ok('secret' not in a.text, 'without details', a)
            continue
        is_(told(a), INTERNAL, code)
        ok('secret' not in a.text and list(a.json) == ['__type', 'message'], 'nothing of the error is told', a)
    log = until(lambda: g.log() if g.log().count('sqlstate=23505') else None)
    ok('sqlstate=53100 message="secret words"' in log and 'secret data' not in log, 'the log has the error without its details')
    a = put(g, **{'raise': 'XX000'})
    until(lambda: g.log().count(a.headers['x-amzn-requestid']) == 2)
    ok(True, 'and the id of the request')
    is_(put(g, **{'raise': '25006'}).status, 503, 'a primary that is one no longer')
    is_(put(g).status, 200, 'and it goes on')

    # A trigger can raise every SQLSTATE, but that says nothing about the connection: it is not replaced, nothing is sent again.
    until(lambda: len(backends()) == 4, 'four connections')
    pids = backends()
    repeated(g)
    for code in ('08000', '08003', '08006', '08P01', '25001', '25006', '25P02', '25P03', '25P04', '26000', '34000', '42P05', '53300', '55000', '57P01', '57P02',
                 '57P03', '57P04', '57P05', '3D000', '28000', '0A000'):
        status = 503 if code == '25006' else 500
        is_(put(g, **{'raise': code}).status, status, f'{code} by a trigger')
        a = g.call('TransactWriteItems', {'TransactItems': [{'Put': {'TableName': 'raising', 'Item': item(**{'raise': code})}}]})
        is_(a.status, status, f'{code} by a trigger in a transaction')
        is_(put(g, **{'raise': code, 'exit': 1}).type, DYNAMODB + 'AccessDeniedException', f'{code} as FATAL')
    psql("CREATE FUNCTION raise_57p01() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE USING ERRCODE = '57P01'; END $$")
    psql('CREATE POLICY raises ON items USING (raise_57p01())')
    psql('ALTER TABLE items ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY')
    is_(g.call('GetItem', {'TableName': 'items', 'Key': {'pk': {'S': 'a'}}}).status, 500, '57P01 by a policy, for a read')
    psql('ALTER TABLE items DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY')
    psql('DROP POLICY raises ON items')
    is_(repeated(g), 0, 'none of them is sent again')
    is_(backends(), pids, 'and all connections are there still')
    is_(put(g).status, 200, 'and serve')

# errors that come when a transaction is committed, behind its row, also where others share the connection
psql('CREATE CONSTRAINT TRIGGER raise_late AFTER INSERT ON items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION raise_it()')
with Gateway('--pool-size', '1') as g:
    codes = {'YD001': 400, 'YD002': 400, '40001': 400, '23505': 500, None: 200}
    calls = [(f'{n}-{code}', status, in_thread(g.call, 'PutItem', {'TableName': 'items', 'Item': {
        **item(**({'raise': code} if code else {})), 'pk': {'S': f'{n}-{code}'}}})) for n in range(10) for code, status in codes.items()]
    is_([pk for pk, status, call in calls if call().status != status], [], 'each has the answer to its own commit')
    is_(set(psql("SELECT pk FROM items WHERE pk LIKE '%-%'").split()), {pk for pk, status, _ in calls if status == 200}, 'and what it says is so')
psql('DROP TRIGGER raise_late ON items')

with Gateway('--queue-time', '1s', database='host=/nonexistent user=gateway') as g:
    a = g.call('ListTables', {})
    is_((a.status, a.json), (503, {'__type': DYNAMODB + 'ServiceUnavailable'}), 'no Postgres')

# the login may do nothing
psql('CREATE ROLE stranger LOGIN')
with Gateway(database=DATABASE.replace('user=gateway', 'user=stranger')) as g:
    is_(told(g.call('ListTables', {})), INTERNAL, 'a login that may not run requests')
    until(lambda: 'permission denied' in g.log())
    ok(True, 'the log says why')

done()
