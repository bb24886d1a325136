// The AWS SDK for JavaScript: the client with typed values, waiters, paginators, errors as classes.
const assert = require('node:assert/strict');
const ddb = require('@aws-sdk/client-dynamodb');
const { test, failure, until } = require('./check.js');

const client = new ddb.DynamoDBClient({});
const send = (name, input) => client.send(new ddb[name + 'Command'](input));
const wait = { client, maxWaitTime: 120, minDelay: 1, maxDelay: 1 };

const TableName = 'sdk.Orders-1';
const key = (pk, sk) => ({ pk: { S: pk }, sk: { N: String(sk) } });

async function collect(pages, member) {
  const all = [];
  for await (const page of pages) all.push(...page[member]);
  return all;
}

async function tables() {
  await test('CreateTable, waitUntilTableExists', async () => {
    const { TableDescription: table } = await send('CreateTable', {
      TableName, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'N' },
        { AttributeName: 'customer', AttributeType: 'S' }, { AttributeName: 'day', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
      LocalSecondaryIndexes: [{ IndexName: 'ByDay', Projection: { ProjectionType: 'KEYS_ONLY' },
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'day', KeyType: 'RANGE' }] }],
      GlobalSecondaryIndexes: [{ IndexName: 'ByCustomer', Projection: { ProjectionType: 'ALL' },
        KeySchema: [{ AttributeName: 'customer', KeyType: 'HASH' }] }],
      Tags: [{ Key: 'team', Value: 'shop' }],
    });
    assert.match(table.TableArn, /^arn:aws:dynamodb:[^:]+:\d{12}:table\/sdk\.Orders-1$/);
    assert.ok(table.CreationDateTime instanceof Date);
    assert.equal((await ddb.waitUntilTableExists(wait, { TableName })).state, 'SUCCESS');
  });
  await test('DescribeTable', async () => {
    const { Table: table } = await send('DescribeTable', { TableName });
    assert.equal(table.TableStatus, 'ACTIVE');
    assert.equal(table.BillingModeSummary.BillingMode, 'PAY_PER_REQUEST');
    assert.deepEqual(table.GlobalSecondaryIndexes.map(i => [i.IndexName, i.IndexStatus]), [['ByCustomer', 'ACTIVE']]);
    assert.ok(Math.abs(Date.now() - table.CreationDateTime) < 3600e3);
  });
  await test('tables and their absence as errors', async () => {
    const known = await failure(send('CreateTable', { TableName, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }] }));
    assert.ok(known instanceof ddb.ResourceInUseException);
    const unknown = await failure(send('GetItem', { TableName: 'nowhere', Key: { pk: { S: 'a' } } }));
    assert.ok(unknown instanceof ddb.ResourceNotFoundException);
    assert.equal(unknown.message, 'Requested resource not found');
    assert.equal(unknown.$metadata.httpStatusCode, 400);
    assert.equal(unknown.$metadata.attempts, 1);
    assert.match(unknown.$metadata.requestId, /^[A-Z0-9]{52}$/);
  });
  await test('paginateListTables', async () => {
    const names = ['sdk-a', 'sdk-b', 'sdk-c'];
    for (const TableName of names)
      await send('CreateTable', { TableName, BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'B' }], KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }] });
    const listed = await collect(ddb.paginateListTables({ client, pageSize: 2 }, {}), 'TableNames');
    assert.deepEqual(listed.filter(n => n.startsWith('sdk-')), names);
    assert.equal(new Set(listed).size, listed.length);
  });
  await test('DeleteTable, waitUntilTableNotExists', async () => {
    for (const TableName of ['sdk-a', 'sdk-b', 'sdk-c']) {
      await send('DeleteTable', { TableName });
      assert.equal((await ddb.waitUntilTableNotExists(wait, { TableName })).state, 'SUCCESS');
    }
  });
  await test('tags, time to live, limits, endpoints, continuous backups', async () => {
    const { Table: { TableArn: ResourceArn } } = await send('DescribeTable', { TableName });
    await send('TagResource', { ResourceArn, Tags: [{ Key: 'stage', Value: 'test' }] });
    await send('UntagResource', { ResourceArn, TagKeys: ['team'] });
    assert.deepEqual((await send('ListTagsOfResource', { ResourceArn })).Tags, [{ Key: 'stage', Value: 'test' }]);
    await send('UpdateTimeToLive', { TableName, TimeToLiveSpecification: { AttributeName: 'ends', Enabled: true } });
    assert.equal((await send('DescribeTimeToLive', { TableName })).TimeToLiveDescription.AttributeName, 'ends');
    assert.ok((await send('DescribeLimits', {})).TableMaxReadCapacityUnits > 0);
    assert.ok((await send('DescribeEndpoints', {})).Endpoints[0].Address);
    assert.equal((await send('DescribeContinuousBackups', { TableName })).ContinuousBackupsDescription.ContinuousBackupsStatus, 'DISABLED');
  });
}

async function items() {
  const everything = {
    ...key('types', 1), s: { S: 'Grüße, 世界 \u{1f600} \u0000 "\\' }, empty: { S: '' }, n: { N: '-1234567890.0123456789012345678901234567' },
    tiny: { N: '1E-130' }, b: { B: Uint8Array.from([0, 255, 128]) }, nothing: { B: new Uint8Array() }, t: { BOOL: true }, f: { BOOL: false },
    null: { NULL: true }, ss: { SS: ['b', 'a'] }, ns: { NS: ['2', '-1.5'] }, bs: { BS: [Uint8Array.of(1), Uint8Array.of(2, 3)] },
    l: { L: [{ L: [] }, { M: {} }, { S: '' }, { N: '0' }] }, m: { M: { 'a b': { M: { c: { L: [{ NULL: true }] } } } } },
  };
  await test('values of all types', async () => {
    await send('PutItem', { TableName, Item: everything });
    const { Item: item } = await send('GetItem', { TableName, Key: key('types', 1), ConsistentRead: true });
    for (const set of ['SS', 'NS', 'BS']) {
      const name = set.toLowerCase();
      assert.deepEqual(item[name][set].map(String).sort(), everything[name][set].map(String).sort());
      item[name] = everything[name];
    }
    assert.equal(Number(item.tiny.N), 1e-130);
    assert.deepEqual({ ...item, tiny: everything.tiny }, everything);
    assert.ok(item.b.B instanceof Uint8Array);
  });
  await test('an item that is not there', async () => {
    assert.equal((await send('GetItem', { TableName, Key: key('types', 2) })).Item, undefined);
  });
  await test('UpdateItem with ReturnValues and ConsumedCapacity', async () => {
    const answer = await send('UpdateItem', { TableName, Key: key('count', 1), UpdateExpression: 'ADD hits :one SET #n = if_not_exists(#n, :x)',
      ExpressionAttributeNames: { '#n': 'name' }, ExpressionAttributeValues: { ':one': { N: '1' }, ':x': { S: 'x' } },
      ReturnValues: 'UPDATED_NEW', ReturnConsumedCapacity: 'INDEXES' });
    assert.deepEqual(answer.Attributes, { hits: { N: '1' }, name: { S: 'x' } });
    assert.equal(answer.ConsumedCapacity.Table.CapacityUnits, 1);
  });
  await test('64 updates at a time count exactly', async () => {
    await Promise.all(Array.from({ length: 640 }, () => send('UpdateItem', { TableName, Key: key('count', 2),
      UpdateExpression: 'ADD hits :one', ExpressionAttributeValues: { ':one': { N: '1' } } })));
    assert.equal((await send('GetItem', { TableName, Key: key('count', 2), ConsistentRead: true })).Item.hits.N, '640');
  });
  await test('an item of 400 kB, and one that is larger', async () => {
    const text = 'x'.repeat(400 * 1024 - 100);
    await send('PutItem', { TableName, Item: { ...key('large', 1), text: { S: text } } });
    assert.equal((await send('GetItem', { TableName, Key: key('large', 1) })).Item.text.S, text);
    const e = await failure(send('PutItem', { TableName, Item: { ...key('large', 2), text: { S: text + 'x'.repeat(100) } } }));
    assert.equal(e.name, 'ValidationException');
    assert.equal(e.message, 'Item size has exceeded the maximum allowed size');
  });
}

async function errors() {
  await test('a failed condition has the item', async () => {
    const e = await failure(send('PutItem', { TableName, Item: key('count', 1), ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }));
    assert.ok(e instanceof ddb.ConditionalCheckFailedException);
    assert.equal(e.message, 'The conditional request failed');
    assert.deepEqual(e.Item, { ...key('count', 1), hits: { N: '1' }, name: { S: 'x' } });
    assert.equal(e.$metadata.attempts, 1);
  });
  await test('a failed condition of legacy parameters', async () => {
    const e = await failure(send('DeleteItem', { TableName, Key: key('count', 1), Expected: { hits: { Value: { N: '7' } } } }));
    assert.ok(e instanceof ddb.ConditionalCheckFailedException);
    assert.equal(e.Item, undefined);
  });
  await test('a cancelled transaction has its reasons', async () => {
    const e = await failure(send('TransactWriteItems', { TransactItems: [
      { Put: { TableName, Item: key('transaction', 1) } },
      { ConditionCheck: { TableName, Key: key('count', 1), ConditionExpression: 'hits > :n', ExpressionAttributeValues: { ':n': { N: '9' } },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } },
      { Delete: { TableName, Key: key('nowhere', 1), ConditionExpression: 'attribute_exists(pk)' } }] }));
    assert.ok(e instanceof ddb.TransactionCanceledException);
    assert.deepEqual(e.CancellationReasons.map(r => r.Code), ['None', 'ConditionalCheckFailed', 'ConditionalCheckFailed']);
    assert.equal(e.CancellationReasons[1].Message, 'The conditional request failed');
    assert.equal(e.CancellationReasons[1].Item.hits.N, '1');
    assert.equal(e.$metadata.attempts, 1);
    assert.equal((await send('GetItem', { TableName, Key: key('transaction', 1) })).Item, undefined);
  });
  await test('what is invalid', async () => {
    const e = await failure(send('Query', { TableName, KeyConditionExpression: 'pk = :p AND', ExpressionAttributeValues: { ':p': { S: 'a' } } }));
    assert.equal(e.name, 'ValidationException');
    assert.match(e.message, /^Invalid KeyConditionExpression: Syntax error; token: "<EOF>", near: "AND"$/);
    const missing = await failure(send('PutItem', { TableName, Item: { pk: { S: 'a' } } }));
    assert.equal(missing.message, 'One or more parameter values were invalid: Missing the key sk in the item');
  });
  await test('an operation that is not there', async () => {
    const e = await failure(send('ListBackups', {}));
    assert.equal(e.name, 'UnknownOperationException');
  });
}

async function transactions() {
  await test('TransactWriteItems is idempotent by its token', async () => {
    const add = by => ({ ClientRequestToken: 'token-1', TransactItems: [{ Update: { TableName, Key: key('token', 1), UpdateExpression: 'ADD n :by',
      ExpressionAttributeValues: { ':by': { N: String(by) } } } }] });
    await send('TransactWriteItems', add(1));
    await send('TransactWriteItems', add(1));
    assert.equal((await send('GetItem', { TableName, Key: key('token', 1) })).Item.n.N, '1');
    assert.ok(await failure(send('TransactWriteItems', add(2))) instanceof ddb.IdempotentParameterMismatchException);
  });
  await test('TransactGetItems', async () => {
    const { Responses: got } = await send('TransactGetItems', { TransactItems: [{ Get: { TableName, Key: key('token', 1) } },
      { Get: { TableName, Key: key('nowhere', 1) } }, { Get: { TableName, Key: key('count', 1), ProjectionExpression: 'hits' } }] });
    assert.deepEqual(got.map(r => r.Item), [{ ...key('token', 1), n: { N: '1' } }, undefined, { hits: { N: '1' } }]);
  });
}

async function pages() {
  const day = n => `2026-01-${String(n % 28 + 1).padStart(2, '0')}`;
  await test('BatchWriteItem and BatchGetItem', async () => {
    for (let n = 0; n < 100; n += 25)
      assert.deepEqual((await send('BatchWriteItem', { RequestItems: { [TableName]: Array.from({ length: 25 }, (_, i) => ({ PutRequest: {
        Item: { ...key('page', n + i), customer: { S: `c${i % 3}` }, day: { S: day(n + i) }, text: { S: 'x'.repeat(30000) } } } })) } })).UnprocessedItems, {});
    // 100 items of 30 kB are less than 16 MB, the limit of an answer
    const answer = await send('BatchGetItem', { RequestItems: { [TableName]: { ProjectionExpression: 'sk',
      Keys: Array.from({ length: 100 }, (_, n) => key('page', n)) } } });
    assert.deepEqual(answer.Responses[TableName].map(i => Number(i.sk.N)).sort((a, b) => a - b), Array.from({ length: 100 }, (_, n) => n));
    assert.deepEqual(answer.UnprocessedKeys, {});
  });
  const query = { TableName, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': { S: 'page' } } };
  await test('paginateQuery: pages of 1 MB, in order, both ways', async () => {
    for (const ScanIndexForward of [true, false]) {
      let pages = 0;
      const numbers = [];
      for await (const page of ddb.paginateQuery({ client }, { ...query, ScanIndexForward })) {
        pages++;
        numbers.push(...page.Items.map(i => Number(i.sk.N)));
      }
      assert.equal(pages, 3);
      assert.deepEqual(ScanIndexForward ? numbers : numbers.reverse(), Array.from({ length: 100 }, (_, n) => n));
    }
  });
  await test('paginateQuery of a local index by pages of 7', async () => {
    const days = (await collect(ddb.paginateQuery({ client, pageSize: 7 }, { ...query, IndexName: 'ByDay' }), 'Items')).map(i => i.day.S);
    assert.deepEqual(days, Array.from({ length: 100 }, (_, n) => day(n)).sort());
  });
  await test('paginateScan in segments', async () => {
    const TotalSegments = 4;
    const parts = await Promise.all(Array.from({ length: TotalSegments }, (_, Segment) => collect(ddb.paginateScan({ client, pageSize: 9 },
      { TableName, Segment, TotalSegments, IndexName: 'ByCustomer', FilterExpression: 'sk < :n', ExpressionAttributeValues: { ':n': { N: '50' } } }),
      'Items')));
    assert.deepEqual(parts.flat().map(i => Number(i.sk.N)).sort((a, b) => a - b), Array.from({ length: 50 }, (_, n) => n));
  });
  await test('UpdateTable creates an index while the table is in use', async () => {
    await send('UpdateTable', { TableName, AttributeDefinitions: [{ AttributeName: 'day', AttributeType: 'S' }],
      GlobalSecondaryIndexUpdates: [{ Create: { IndexName: 'Days', KeySchema: [{ AttributeName: 'day', KeyType: 'HASH' }],
        Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['customer'] } } }] });
    await until(async () => (await send('DescribeTable', { TableName })).Table.GlobalSecondaryIndexes.map(i => i.IndexStatus),
      status => status.length === 2 && status.every(s => s === 'ACTIVE'));
    const { Items: found } = await send('Query', { TableName, IndexName: 'Days', KeyConditionExpression: '#d = :d',
      ExpressionAttributeNames: { '#d': 'day' }, ExpressionAttributeValues: { ':d': { S: day(3) } } });
    assert.deepEqual(found.map(i => [Number(i.sk.N), i.customer.S, i.text]).sort(), [3, 31, 59, 87].map(n => [n, `c${n % 25 % 3}`, undefined]).sort());
  });
}

async function partiql() {
  await test('ExecuteStatement', async () => {
    await send('ExecuteStatement', { Statement: `INSERT INTO "${TableName}" VALUE {'pk': ?, 'sk': ?, 'tags': <<'a', 'b'>>}`,
      Parameters: [{ S: 'partiql' }, { N: '1' }] });
    await send('ExecuteStatement', { Statement: `UPDATE "${TableName}" SET note = 'it''s' WHERE pk = 'partiql' AND sk = 1` });
    const { Items: found } = await send('ExecuteStatement',
      { Statement: `SELECT note, tags FROM "${TableName}" WHERE pk = ?`, Parameters: [{ S: 'partiql' }] });
    assert.deepEqual(found, [{ note: { S: "it's" }, tags: { SS: ['a', 'b'] } }]);
    const e = await failure(send('ExecuteStatement', { Statement: `INSERT INTO "${TableName}" VALUE {'pk': 'partiql', 'sk': 1}` }));
    assert.ok(e instanceof ddb.DuplicateItemException);
  });
  await test('ExecuteStatement by pages', async () => {
    const numbers = [];
    let NextToken;
    do {
      const page = await send('ExecuteStatement', { Statement: `SELECT sk FROM "${TableName}" WHERE pk = 'page'`, Limit: 30, NextToken });
      numbers.push(...page.Items.map(i => Number(i.sk.N)));
      NextToken = page.NextToken;
    } while (NextToken);
    assert.deepEqual(numbers, Array.from({ length: 100 }, (_, n) => n));
  });
  await test('BatchExecuteStatement', async () => {
    const { Responses: got } = await send('BatchExecuteStatement', { Statements: [
      { Statement: `SELECT note FROM "${TableName}" WHERE pk = 'partiql' AND sk = 1` },
      { Statement: `SELECT note FROM "nowhere" WHERE pk = 'partiql' AND sk = 1` }] });
    assert.deepEqual(got[0].Item, { note: { S: "it's" } });
    assert.equal(got[1].Error.Code, 'ResourceNotFound');
  });
  await test('ExecuteTransaction', async () => {
    await send('ExecuteTransaction', { TransactStatements: [
      { Statement: `INSERT INTO "${TableName}" VALUE {'pk': 'partiql', 'sk': 2}` },
      { Statement: `UPDATE "${TableName}" SET note = ? WHERE pk = 'partiql' AND sk = 1`, Parameters: [{ S: 'two' }] }] });
    const e = await failure(send('ExecuteTransaction', { TransactStatements: [
      { Statement: `DELETE FROM "${TableName}" WHERE pk = 'partiql' AND sk = 1` },
      { Statement: `INSERT INTO "${TableName}" VALUE {'pk': 'partiql', 'sk': 2}` }] }));
    assert.ok(e instanceof ddb.TransactionCanceledException);
    assert.deepEqual(e.CancellationReasons.map(r => r.Code), ['None', 'DuplicateItem']);
  });
}

(async () => {
  await tables();
  await items();
  await errors();
  await transactions();
  await pages();
  await partiql();
  await test('endpoints of accounts, of FIPS and dual-stack, discovery', async () => {
    const settings = { endpoint: process.env.AWS_ENDPOINT_URL };
    await new ddb.DynamoDB({ ...settings, accountIdEndpointMode: 'required' }).listTables({});
    await new ddb.DynamoDB({ ...settings, endpointDiscoveryEnabled: true }).listTables({});
    assert.deepEqual((await send('DescribeEndpoints', {})).Endpoints.map(e => `http://${e.Address}`), [process.env.AWS_ENDPOINT_URL]);
    for (const setting of ['useFipsEndpoint', 'useDualstackEndpoint'])
      assert.match((await failure(new ddb.DynamoDB({ ...settings, [setting]: true }).listTables({}))).message, /custom endpoint/);
  });
  // as suites do that make a client for each file: more connections of one address than 100 and none refused
  await test('twelve clients of one process, with forty requests each at the same time', async () => {
    const clients = Array.from({ length: 12 }, () => new ddb.DynamoDBClient({ maxAttempts: 1 }));
    await Promise.all(clients.flatMap((c, i) => Array.from({ length: 40 }, (_, n) =>
      c.send(new ddb.PutItemCommand({ TableName, Item: key(`many${i}`, n) })))));
    for (const [i, c] of clients.entries()) {
      const found = await c.send(new ddb.QueryCommand({ TableName, Select: 'COUNT', KeyConditionExpression: 'pk = :p',
        ExpressionAttributeValues: { ':p': { S: `many${i}` } } }));
      assert.equal(found.Count, 40);
      c.destroy();
    }
    assert.ok((await send('DescribeTable', { TableName })).Table.ItemCount >= 480);
  });
  await test('deletion protection', async () => {
    await send('UpdateTable', { TableName, DeletionProtectionEnabled: true });
    assert.equal((await failure(send('DeleteTable', { TableName }))).name, 'ValidationException');
    await send('UpdateTable', { TableName, DeletionProtectionEnabled: false });
    await send('DeleteTable', { TableName });
  });
})();
