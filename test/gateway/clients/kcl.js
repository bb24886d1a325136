// What the Kinesis Client Library with the adapter for DynamoDB Streams sends, request by request: its tables
// of leases, metrics and coordination beside the stream that it reads.  The library itself is Java.
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const ddb = require('@aws-sdk/client-dynamodb');
const { DynamoDBStreams } = require('@aws-sdk/client-dynamodb-streams');
const { test, failure, until } = require('./check.js');

const db = new ddb.DynamoDB({});
const streams = new DynamoDBStreams({});
const TableName = 'my-application';
const Index = 'LeaseOwnerToLeaseKeyIndex';
const S = s => ({ S: s });
const N = n => ({ N: String(n) });
const put = Value => ({ Value, Action: 'PUT' });
const key = shard => ({ leaseKey: S(shard) });
const lease = async shard => (await db.getItem({ TableName, Key: key(shard), ConsistentRead: true })).Item;
const update = (shard, Expected, AttributeUpdates, more = {}) => db.updateItem({ TableName, Key: key(shard), Expected, AttributeUpdates, ...more });
const refused = async promise => assert.ok(await failure(promise) instanceof ddb.ConditionalCheckFailedException);

async function table() {
  await test('the lease table: DescribeTable, CreateTable, DescribeTable until ACTIVE', async () => {
    assert.ok(await failure(db.describeTable({ TableName })) instanceof ddb.ResourceNotFoundException);
    const create = { TableName, KeySchema: [{ AttributeName: 'leaseKey', KeyType: 'HASH' }], BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'leaseKey', AttributeType: 'S' }], DeletionProtectionEnabled: false, Tags: [{ Key: 'app', Value: 'mine' }] };
    await db.createTable(create);
    assert.ok(await failure(db.createTable(create)) instanceof ddb.ResourceInUseException);
    await until(async () => (await db.describeTable({ TableName })).Table.TableStatus, status => status === 'ACTIVE');
  });
  await test('TagResource', async () => {
    const { Table: { TableArn: ResourceArn } } = await db.describeTable({ TableName });
    await db.tagResource({ ResourceArn, Tags: [{ Key: 'by', Value: 'kcl' }] });
    assert.equal((await db.listTagsOfResource({ ResourceArn })).Tags.length, 2);
  });
  await test('UpdateContinuousBackups is refused as a client error', async () => {
    const e = await failure(db.updateContinuousBackups({ TableName, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }));
    assert.equal(e.name, 'ValidationException');
    assert.equal(e.$metadata.attempts, 1);
  });
  await test('the index of owners on the live table', async () => {
    const answer = await db.updateTable({ TableName,
      AttributeDefinitions: [{ AttributeName: 'leaseOwner', AttributeType: 'S' }, { AttributeName: 'leaseKey', AttributeType: 'S' }],
      GlobalSecondaryIndexUpdates: [{ Create: { IndexName: Index, Projection: { ProjectionType: 'KEYS_ONLY' },
        KeySchema: [{ AttributeName: 'leaseOwner', KeyType: 'HASH' }, { AttributeName: 'leaseKey', KeyType: 'RANGE' }] } }] });
    // the library takes the status of the index out of the answer
    assert.equal(answer.TableDescription.GlobalSecondaryIndexes.find(i => i.IndexName === Index).IndexStatus, 'CREATING');
    await until(async () => (await db.describeTable({ TableName })).Table.GlobalSecondaryIndexes?.[0].IndexStatus, status => status === 'ACTIVE');
  });
}

async function leases() {
  const shard = 'shardId-00000001';
  const fresh = { ...key(shard), leaseCounter: N(0), ownerSwitchesSinceCheckpoint: N(0), checkpoint: S('TRIM_HORIZON'), checkpointSubSequenceNumber: N(0) };

  await test('an empty table', async () => {
    assert.deepEqual((await db.scan({ TableName, Limit: 1 })).Items, []);
  });
  await test('a lease is created once', async () => {
    await db.putItem({ TableName, Item: fresh, Expected: { leaseKey: { Exists: false } } });
    await refused(db.putItem({ TableName, Item: fresh, Expected: { leaseKey: { Exists: false } } }));
    assert.deepEqual(await lease(shard), fresh);
    assert.equal(await lease('shardId-none'), undefined);
  });
  await test('take, renew: by the counter', async () => {
    await update(shard, { leaseCounter: { Value: N(0) }, leaseOwner: { Exists: false } }, { leaseCounter: put(N(1)), leaseOwner: put(S('worker-a')) });
    await refused(update(shard, { leaseCounter: { Value: N(0) } }, { leaseCounter: put(N(1)), leaseOwner: put(S('worker-b')) }));
    await update(shard, { leaseCounter: { Value: N(1) } }, { leaseCounter: put(N(2)) });
    const now = await lease(shard);
    assert.deepEqual([now.leaseOwner.S, now.leaseCounter.N], ['worker-a', '2']);
  });
  await test('steal: the switches are counted', async () => {
    await update(shard, { leaseCounter: { Value: N(2) } }, { leaseCounter: put(N(3)), leaseOwner: put(S('worker-b')),
      ownerSwitchesSinceCheckpoint: { Value: N(1), Action: 'ADD' } });
    const now = await lease(shard);
    assert.deepEqual([now.leaseOwner.S, now.ownerSwitchesSinceCheckpoint.N], ['worker-b', '1']);
  });
  await test('checkpoint: PUT, and DELETE without a value', async () => {
    await update(shard, { leaseCounter: { Value: N(3) } }, { leaseCounter: put(N(4)), checkpoint: put(S('100')), checkpointSubSequenceNumber: put(N(0)),
      pendingCheckpoint: put(S('101')), pendingCheckpointSubSequenceNumber: put(N(0)), ownerSwitchesSinceCheckpoint: put(N(0)) });
    assert.equal((await lease(shard)).pendingCheckpoint.S, '101');
    await update(shard, { leaseCounter: { Value: N(4) } }, { leaseCounter: put(N(5)), checkpoint: put(S('101')), checkpointSubSequenceNumber: put(N(0)),
      pendingCheckpoint: { Action: 'DELETE' }, pendingCheckpointSubSequenceNumber: { Action: 'DELETE' }, ownerSwitchesSinceCheckpoint: put(N(0)),
      childShardIds: put({ SS: ['shardId-00000002', 'shardId-00000003'] }) });
    const now = await lease(shard);
    assert.deepEqual([now.checkpoint.S, now.pendingCheckpoint, now.childShardIds.SS.sort()], ['101', undefined, ['shardId-00000002', 'shardId-00000003']]);
  });
  await test('assign: the owner and the lease itself are expected, values come back', async () => {
    const assign = (owner, to) => update(shard, { leaseKey: { Exists: true, Value: S(shard) }, leaseOwner: owner }, { leaseOwner: put(S(to)),
      leaseCounter: { Value: N(1), Action: 'ADD' }, checkpointOwner: { Action: 'DELETE' }, checkpointOwnerTimeoutTimestampMillis: { Action: 'DELETE' } },
    { ReturnValues: 'ALL_NEW', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
    const { Attributes: now } = await assign({ Value: S('worker-b') }, 'worker-c');
    assert.deepEqual([now.leaseOwner.S, now.leaseCounter.N], ['worker-c', '6']);
    const e = await failure(assign({ Value: S('worker-b') }, 'worker-d'));
    assert.ok(e instanceof ddb.ConditionalCheckFailedException);
    assert.equal(e.Item.leaseOwner.S, 'worker-c');
    // a lease that was deleted is not made again
    await refused(update('shardId-gone', { leaseKey: { Exists: true, Value: S('shardId-gone') }, leaseOwner: { Exists: false } }, { leaseOwner: put(S('w')) }));
    assert.equal(await lease('shardId-gone'), undefined);
  });
  await test('leases of a worker by the index, all leases by a scan in segments', async () => {
    for (let n = 2; n < 12; n++)
      await db.putItem({ TableName, Item: { ...fresh, ...key(`shardId-${n}`), leaseOwner: S(n % 2 ? 'worker-c' : 'worker-a'), parentShardIds: { SS: [shard] } },
        Expected: { leaseKey: { Exists: false } } });
    const { Items: mine } = await db.query({ TableName, IndexName: Index, KeyConditionExpression: 'leaseOwner = :leaseOwner',
      ExpressionAttributeValues: { ':leaseOwner': S('worker-c') } });
    assert.deepEqual(mine.map(i => i.leaseKey.S).sort(), ['shardId-00000001', 'shardId-11', 'shardId-3', 'shardId-5', 'shardId-7', 'shardId-9']);
    assert.deepEqual(Object.keys(mine[0]).sort(), ['leaseKey', 'leaseOwner']);
    const TotalSegments = 10;
    const parts = await Promise.all(Array.from({ length: TotalSegments }, (_, Segment) => db.scan({ TableName, Segment, TotalSegments })));
    assert.equal(parts.flatMap(p => p.Items).length, 11);
    assert.equal(new Set(parts.flatMap(p => p.Items.map(i => i.leaseKey.S))).size, 11);
  });
  await test('evict and delete', async () => {
    const { Attributes: now } = await update(shard, { leaseKey: { Exists: true, Value: S(shard) }, leaseOwner: { Value: S('worker-c') } },
      { leaseOwner: { Action: 'DELETE' }, leaseCounter: { Value: N(1), Action: 'ADD' } }, { ReturnValues: 'ALL_NEW' });
    assert.deepEqual([now.leaseOwner, now.leaseCounter.N], [undefined, '7']);
    for (const { leaseKey } of (await db.scan({ TableName })).Items) await db.deleteItem({ TableName, Key: { leaseKey } });
    assert.deepEqual((await db.scan({ TableName, Limit: 1 })).Items, []);
  });
}

async function coordination() {
  const Metrics = 'my-application-WorkerMetricStats';
  const State = 'my-application-CoordinatorState';
  for (const [name, attribute] of [[Metrics, 'wid'], [State, 'key']])
    await db.createTable({ TableName: name, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: attribute, KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: attribute, AttributeType: 'S' }] });
  await test('metrics of workers', async () => {
    const report = lut => db.updateItem({ TableName: Metrics, Key: { wid: S('worker-a') }, ReturnValues: 'NONE',
      UpdateExpression: 'SET #lut = :lut, #opr = :opr, #sts = :sts REMOVE #mr',
      ExpressionAttributeNames: { '#lut': 'lut', '#opr': 'opr', '#sts': 'sts', '#mr': 'mr' },
      ExpressionAttributeValues: { ':lut': N(lut), ':opr': { M: { C: { L: [N(80)] } } }, ':sts': { M: { C: { L: [N('12.5'), N('-1')] } } } } });
    await report(1700000000);
    await report(1700000060);
    const { Items: all } = await db.scan({ TableName: Metrics });
    assert.deepEqual(all, [{ wid: S('worker-a'), lut: N(1700000060), opr: { M: { C: { L: [N(80)] } } }, sts: { M: { C: { L: [N('12.5'), N('-1')] } } } }]);
    const remove = lut => db.deleteItem({ TableName: Metrics, Key: { wid: S('worker-a') }, ConditionExpression: '#key = :value',
      ExpressionAttributeNames: { '#key': 'lut' }, ExpressionAttributeValues: { ':value': N(lut) } });
    await refused(remove(1700000000));
    await remove(1700000060);
  });
  await test('state of the migration, by legacy parameters', async () => {
    const Key = { key: S('Migration3.0') };
    const create = { TableName: State, Item: { ...Key, cv: S('CLIENT_VERSION_INIT'), mb: S('worker-a'), mts: N(1) }, Expected: { key: { Exists: false } } };
    await db.putItem(create);
    await refused(db.putItem(create));
    const move = (from, to) => db.updateItem({ TableName: State, Key, Expected: { key: { Exists: true, Value: Key.key }, cv: { Exists: true, Value: S(from) } },
      AttributeUpdates: { cv: put(S(to)), mts: put(N(2)), h: put({ L: [{ M: { cv: S(from), mts: N(1) } }] }) } });
    await move('CLIENT_VERSION_INIT', 'CLIENT_VERSION_3X');
    await refused(move('CLIENT_VERSION_INIT', 'CLIENT_VERSION_2X'));
    assert.equal((await db.getItem({ TableName: State, Key, ConsistentRead: true })).Item.h.L[0].M.cv.S, 'CLIENT_VERSION_INIT');
  });
  await test('the lock of the leader, by expressions', async () => {
    const Key = { key: S('Leader') };
    const names = { '#pk': 'key', '#rvn': 'recordVersionNumber', '#on': 'ownerName' };
    const lock = (owner, version) => ({ ...Key, ownerName: S(owner), recordVersionNumber: S(version), leaseDuration: S('60000') });
    const acquire = { TableName: State, Item: lock('worker-a', 'v1'), ConditionExpression: 'attribute_not_exists(#pk) OR (attribute_exists(#pk) AND #ir = :ir)',
      ExpressionAttributeNames: { '#pk': 'key', '#ir': 'isReleased' }, ExpressionAttributeValues: { ':ir': S('1') } };
    await db.putItem(acquire);
    await refused(db.putItem({ ...acquire, Item: lock('worker-b', 'v2') }));
    const beat = (from, to) => db.updateItem({ TableName: State, Key, ConditionExpression: 'attribute_exists(#pk) AND #rvn = :rvn AND #on = :on',
      UpdateExpression: 'SET leaseDuration = :ld, #rvn = :new', ExpressionAttributeNames: names,
      ExpressionAttributeValues: { ':rvn': S(from), ':on': S('worker-a'), ':ld': S('60000'), ':new': S(to) } });
    await beat('v1', 'v3');
    await refused(beat('v1', 'v4'));
    // taken over by its version after it ran out
    await db.putItem({ TableName: State, Item: lock('worker-b', 'v5'), ConditionExpression: 'attribute_exists(#pk) AND #rvn = :rvn',
      ExpressionAttributeNames: { '#pk': 'key', '#rvn': 'recordVersionNumber' }, ExpressionAttributeValues: { ':rvn': S('v3') } });
    await db.updateItem({ TableName: State, Key, UpdateExpression: 'SET isReleased = :r',
      ConditionExpression: 'attribute_exists(#pk) AND #rvn = :rvn AND #on = :on',
      ExpressionAttributeNames: names, ExpressionAttributeValues: { ':r': S('1'), ':rvn': S('v5'), ':on': S('worker-b') } });
    await db.putItem(acquire);
    assert.equal((await db.getItem({ TableName: State, Key, ConsistentRead: true })).Item.ownerName.S, 'worker-a');
  });
  for (const name of [Metrics, State, TableName]) await db.deleteTable({ TableName: name });
}

// Read a shard to where it ends for now, as a worker does: the number of records, whether the shard has ended, and the keys.
async function consume(StreamArn, ShardId, position = { ShardIteratorType: 'TRIM_HORIZON' }) {
  let { ShardIterator: iterator } = await streams.getShardIterator({ StreamArn, ShardId, ...position });
  const keys = [];
  while (iterator) {
    const page = await streams.getRecords({ ShardIterator: iterator, Limit: 1000 });
    keys.push(...page.Records.map(r => r.dynamodb.Keys.id.N));
    iterator = page.NextShardIterator;
    if (page.Records.length === 0 && iterator) return [keys.length, false, keys];
  }
  return [keys.length, true, keys];
}

// Shards that are split end, and their children go on.  A stream that is disabled ends all its shards; one that is
// enabled after it is a stream of its own.
async function shards() {
  const Source = 'kcl-source';
  const enable = StreamEnabled => db.updateTable({ TableName: Source, StreamSpecification: StreamEnabled ? { StreamEnabled, StreamViewType: 'KEYS_ONLY' }
    : { StreamEnabled } });
  const write = (from, to, version = 1) => Promise.all(Array.from({ length: to - from },
    (_, n) => db.putItem({ TableName: Source, Item: { id: N(from + n), v: N(version) } })));
  const split = shards => execFileSync(process.env.PSQL, ['-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', `SELECT dyn_alter_stream('${Source}', ${shards})`]);
  const children = async ShardId => (await streams.describeStream({ StreamArn: first,
    ShardFilter: { Type: 'CHILD_SHARDS', ShardId } })).StreamDescription.Shards;
  const latest = async () => (await db.describeTable({ TableName: Source })).Table.LatestStreamArn;
  const describe = async StreamArn => (await streams.describeStream({ StreamArn })).StreamDescription;
  let first;

  await db.createTable({ TableName: Source, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }], StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' } });
  await test('shards that are open have no end', async () => {
    first = await latest();
    await write(0, 40);
    const { Shards: open } = await describe(first);
    assert.ok(open.every(s => s.SequenceNumberRange.EndingSequenceNumber === undefined && s.ParentShardId === undefined));
    const read = await until(() => Promise.all(open.map(s => consume(first, s.ShardId))), all => all.reduce((sum, [n]) => sum + n, 0) === 40);
    assert.ok(read.every(([, ended]) => !ended));
  });
  await test('shards that are split have an EndingSequenceNumber, and children behind it', async () => {
    const { Shards: parents } = await describe(first);
    const Lease = 'kcl-source-leases';
    await db.createTable({ TableName: Lease, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'leaseKey', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'leaseKey', AttributeType: 'S' }] });
    split(2 * parents.length);
    await write(0, 40, 2);
    const { Shards: now } = await until(() => describe(first), s => s.Shards.length === 3 * parents.length);
    const number = shard => shard.SequenceNumberRange.StartingSequenceNumber;
    const closed = now.slice(0, parents.length);
    assert.deepEqual(closed.map(s => s.ShardId), parents.map(s => s.ShardId));
    const read = await until(() => Promise.all(now.map(s => consume(first, s.ShardId))), all => all.reduce((sum, [n]) => sum + n, 0) === 80);
    const keys = Object.fromEntries(now.map((s, n) => [s.ShardId, read[n][2]]));
    assert.deepEqual(read.map(([, ended]) => ended), now.map((_, n) => n < parents.length));
    for (const parent of closed) {
      // as the library does at the end of a shard: leases of the children, then SHARD_END in its own
      const born = await children(parent.ShardId);
      assert.equal(born.length, 2);
      assert.deepEqual(born, now.filter(s => s.ParentShardId === parent.ShardId));
      for (const child of born) {
        assert.ok(number(child) > parent.SequenceNumberRange.EndingSequenceNumber);
        assert.equal(child.SequenceNumberRange.EndingSequenceNumber, undefined);
        await db.putItem({ TableName: Lease, Item: { ...key(child.ShardId), leaseCounter: N(0), checkpoint: S('TRIM_HORIZON'),
          parentShardIds: { SS: [parent.ShardId] } },
          ConditionExpression: 'attribute_not_exists(leaseKey)' });
      }
      await db.putItem({ TableName: Lease, Item: { ...key(parent.ShardId), leaseCounter: N(0), checkpoint: S('SHARD_END'),
        childShardIds: { SS: born.map(s => s.ShardId) } } });
      // what a key's parent had is all before what its child has
      assert.deepEqual(born.flatMap(s => keys[s.ShardId]).sort(), [...keys[parent.ShardId]].sort());
      assert.deepEqual(await consume(first, parent.ShardId,
        { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: parent.SequenceNumberRange.EndingSequenceNumber }), [0, true, []]);
    }
    assert.equal((await db.scan({ TableName: Lease, ConsistentRead: true })).Items.length, now.length);
    await db.deleteTable({ TableName: Lease });
  });
  await test('after a disable each shard has an EndingSequenceNumber and is read to its end', async () => {
    await enable(false);
    await write(40, 50);
    const closed = await until(() => describe(first), s => s.StreamStatus === 'DISABLED' &&
      s.Shards.every(one => one.SequenceNumberRange.EndingSequenceNumber));
    const read = await until(() => Promise.all(closed.Shards.map(s => consume(first, s.ShardId))), all => all.every(([, ended]) => ended));
    assert.equal(read.reduce((sum, [n]) => sum + n, 0), 80);
    // no child of the last ones: the library writes SHARD_END into the lease and is done with the shard
    const last = closed.Shards.filter(s => s.ParentShardId);
    assert.equal(last.length, 2 * closed.Shards.length / 3);
    for (const { ShardId } of last)
      assert.deepEqual(await children(ShardId), []);
  });
  await test('a stream that is enabled again has shards of its own', async () => {
    await enable(true);
    const second = await latest();
    assert.notEqual(second, first);
    await write(50, 60);
    const { Shards: open } = await describe(second);
    const old = new Set((await describe(first)).Shards.map(s => s.ShardId));
    assert.ok(open.every(s => !old.has(s.ShardId) && s.ParentShardId === undefined));
    await until(() => Promise.all(open.map(s => consume(second, s.ShardId))), all => all.reduce((sum, [n]) => sum + n, 0) === 10);
    const { Streams: listed } = await streams.listStreams({ TableName: Source });
    assert.deepEqual(listed.map(s => s.StreamArn).sort(), [first, second].sort());
  });
  await db.deleteTable({ TableName: Source });
}

(async () => {
  await table();
  await leases();
  await coordination();
  await shards();
})();
