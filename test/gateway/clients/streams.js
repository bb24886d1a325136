// Change streams through @aws-sdk/client-dynamodb-streams: every record once, in the order of each key.
const assert = require('node:assert/strict');
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const { DynamoDBStreams, ResourceNotFoundException, ExpiredIteratorException } = require('@aws-sdk/client-dynamodb-streams');
const { test, failure, until } = require('./check.js');

const db = new DynamoDB({});
const streams = new DynamoDBStreams({});
const TableName = 'Streamed';
const item = (pk, n, more = {}) => ({ pk: { S: pk }, sk: { N: String(n) }, ...more });

// All shards of a stream, by pages of one.
async function shardsOf(StreamArn) {
  const shards = [];
  let ExclusiveStartShardId;
  do {
    const { StreamDescription: page } = await streams.describeStream({ StreamArn, Limit: 1, ExclusiveStartShardId });
    shards.push(...page.Shards);
    ExclusiveStartShardId = page.LastEvaluatedShardId;
  } while (ExclusiveStartShardId);
  return shards;
}

// The records from an iterator on: what is there now, and the iterator to go on with.
async function read(iterator) {
  const records = [];
  for (let empty = 0; iterator && empty < 1;) {
    const page = await streams.getRecords({ ShardIterator: iterator, Limit: 7 });
    records.push(...page.Records);
    iterator = page.NextShardIterator;
    if (page.Records.length === 0) empty++;
  }
  return [records, iterator];
}

// What the shards have, once it is as much as expected.
async function readAll(arn, shards, expected, type = 'TRIM_HORIZON', position = {}) {
  const found = [];
  let iterators = await Promise.all(shards.map(async shard => (await streams.getShardIterator({ StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: type,
    ...position[shard.ShardId] })).ShardIterator));
  await until(async () => {
    iterators = await Promise.all(iterators.map(async (iterator, n) => {
      if (!iterator) return iterator;
      const [records, next] = await read(iterator);
      found.push(...records.map(r => ({ ...r, shard: shards[n].ShardId })));
      return next;
    }));
    return found.length;
  }, count => count >= expected);
  assert.equal(found.length, expected);
  return found;
}

(async () => {
  const { TableDescription: table } = await db.createTable({ TableName, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'N' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } });
  const arn = table.LatestStreamArn;
  let shards, records;

  await test('CreateTable with a stream, ListStreams', async () => {
    assert.match(arn, /:table\/Streamed\/stream\/.+/);
    const { Streams: listed } = await streams.listStreams({ TableName });
    assert.deepEqual(listed.map(s => [s.StreamArn, s.TableName, s.StreamLabel]), [[arn, TableName, table.LatestStreamLabel]]);
  });
  await test('DescribeStream by pages', async () => {
    const { StreamDescription: stream } = await streams.describeStream({ StreamArn: arn });
    assert.equal(stream.StreamStatus, 'ENABLED');
    assert.equal(stream.StreamViewType, 'NEW_AND_OLD_IMAGES');
    assert.ok(stream.CreationRequestDateTime instanceof Date);
    shards = await shardsOf(arn);
    assert.ok(shards.length > 1);
    assert.deepEqual(shards, stream.Shards);
    for (const shard of shards) {
      assert.ok(shard.SequenceNumberRange.StartingSequenceNumber);
      assert.equal(shard.SequenceNumberRange.EndingSequenceNumber, undefined);
    }
  });
  await test('records of all writes, in the order of each key', async () => {
    for (let n = 0; n < 20; n++) {
      await db.putItem({ TableName, Item: item(`k${n % 5}`, n, { v: { N: '0' }, text: { S: 'é' }, set: { NS: ['1', '2'] } }) });
      await db.updateItem({ TableName, Key: item(`k${n % 5}`, n), UpdateExpression: 'SET v = v + :one', ExpressionAttributeValues: { ':one': { N: '1' } } });
    }
    await db.transactWriteItems({ TransactItems: [{ Delete: { TableName, Key: item('k0', 0) } }, { Delete: { TableName, Key: item('k1', 1) } }] });
    records = await readAll(arn, shards, 42);
    const names = key => records.filter(r => r.dynamodb.Keys.sk.N === key).map(r => r.eventName);
    assert.deepEqual(names('0'), ['INSERT', 'MODIFY', 'REMOVE']);
    assert.deepEqual(names('2'), ['INSERT', 'MODIFY']);
    const modify = records.find(r => r.eventName === 'MODIFY' && r.dynamodb.Keys.sk.N === '3');
    assert.deepEqual(modify.dynamodb.OldImage, item('k3', 3, { v: { N: '0' }, text: { S: 'é' }, set: { NS: ['1', '2'] } }));
    assert.equal(modify.dynamodb.NewImage.v.N, '1');
    assert.equal(modify.eventSource, 'aws:dynamodb');
    assert.equal(modify.dynamodb.StreamViewType, 'NEW_AND_OLD_IMAGES');
    assert.ok(modify.dynamodb.ApproximateCreationDateTime instanceof Date);
    assert.ok(modify.dynamodb.SizeBytes > 0);
    assert.equal(new Set(records.map(r => r.eventID)).size, 42);
    for (const shard of shards) {
      const numbers = records.filter(r => r.shard === shard.ShardId).map(r => BigInt(r.dynamodb.SequenceNumber));
      assert.ok(numbers.every((n, i) => i === 0 || n > numbers[i - 1]));
    }
    // a partition key has one shard
    for (let k = 0; k < 5; k++)
      assert.equal(new Set(records.filter(r => r.dynamodb.Keys.pk.S === `k${k}`).map(r => r.shard)).size, 1);
  });
  await test('iterators at and after a sequence number', async () => {
    const shard = shards.find(s => records.filter(r => r.shard === s.ShardId).length > 2);
    const there = records.filter(r => r.shard === shard.ShardId);
    const position = { [shard.ShardId]: { SequenceNumber: there[1].dynamodb.SequenceNumber } };
    const at = await readAll(arn, [shard], there.length - 1, 'AT_SEQUENCE_NUMBER', position);
    assert.equal(at[0].eventID, there[1].eventID);
    const after = await readAll(arn, [shard], there.length - 2, 'AFTER_SEQUENCE_NUMBER', position);
    assert.equal(after[0].eventID, there[2].eventID);
  });
  await test('iterators from now on', async () => {
    const iterators = await Promise.all(shards.map(s => streams.getShardIterator({ StreamArn: arn, ShardId: s.ShardId, ShardIteratorType: 'LATEST' })));
    await db.putItem({ TableName, Item: item('new', 1) });
    const found = await until(async () => (await Promise.all(iterators.map(i => read(i.ShardIterator)))).flatMap(([r]) => r), r => r.length > 0);
    assert.deepEqual(found.map(r => [r.eventName, r.dynamodb.Keys.pk.S]), [['INSERT', 'new']]);
  });
  await test('errors', async () => {
    assert.ok(await failure(streams.describeStream({
      StreamArn: arn.replace(/stream\/.*/, 'stream/2000-01-01T00:00:00.000') })) instanceof ResourceNotFoundException);
    const invalid = await failure(streams.getRecords({ ShardIterator: 'AAAAnothing' }));
    assert.equal(invalid.name, 'ValidationException');
    assert.ok(!(invalid instanceof ExpiredIteratorException));
    assert.equal((await failure(streams.getShardIterator({ StreamArn: arn, ShardId: 'shardId-00000000000000000000-nothing0',
      ShardIteratorType: 'LATEST' }))).name,
      'ResourceNotFoundException');
  });
  await test('a disabled stream has an end, and can be read to it', async () => {
    await db.updateTable({ TableName, StreamSpecification: { StreamEnabled: false } });
    await until(() => shardsOf(arn), now => now.every(s => s.SequenceNumberRange.EndingSequenceNumber));
    assert.equal((await streams.describeStream({ StreamArn: arn })).StreamDescription.StreamStatus, 'DISABLED');
    let all = 0;
    for (const shard of shards) {
      let { ShardIterator: iterator } = await streams.getShardIterator({ StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: 'TRIM_HORIZON' });
      while (iterator) {
        const page = await streams.getRecords({ ShardIterator: iterator });
        all += page.Records.length;
        iterator = page.NextShardIterator;
      }
    }
    assert.equal(all, 43);
  });
  await db.deleteTable({ TableName });
})();
