// The AWS SDK for JavaScript with plain objects: @aws-sdk/lib-dynamodb.
const assert = require('node:assert/strict');
const { DynamoDBClient, CreateTableCommand, DeleteTableCommand } = require('@aws-sdk/client-dynamodb');
const lib = require('@aws-sdk/lib-dynamodb');
const { test, failure } = require('./check.js');

const client = lib.DynamoDBDocumentClient.from(new DynamoDBClient({}), {
  marshallOptions: { removeUndefinedValues: true },
    unmarshallOptions: { wrapNumbers: value => Number.isSafeInteger(Number(value)) ? Number(value) : lib.NumberValue.from(value) },
});
const send = (name, input) => client.send(new lib[name + 'Command'](input));
const TableName = 'Documents';

(async () => {
  await client.send(new CreateTableCommand({ TableName, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }, { AttributeName: 'at', AttributeType: 'N' }],
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }, { AttributeName: 'at', KeyType: 'RANGE' }] }));

  await test('values', async () => {
    const Item = { id: 'a', at: 1, text: '', points: [1, 'two', null, { three: true }], set: new Set(['x', 'y']), numbers: new Set([1, 2.5]),
      bytes: Uint8Array.of(1, 2), exact: lib.NumberValue.from('0.1234567890123456789012345678901234567') };
    await send('Put', { TableName, Item: { ...Item, left: undefined } });
    const { Item: got } = await send('Get', { TableName, Key: { id: 'a', at: 1 } });
    assert.equal(got.exact.value, Item.exact.value);
    // 2.5 is no safe integer, so it comes as a NumberValue as well
    assert.deepEqual([...got.numbers].map(n => String(n.value ?? n)).sort(), ['1', '2.5']);
    assert.deepEqual({ ...got, exact: Item.exact, numbers: Item.numbers }, Item);
  });
  await test('update, conditions, old values', async () => {
    const { Attributes: after } = await send('Update', { TableName, Key: { id: 'a', at: 1 }, UpdateExpression: 'SET points[0] = :v REMOVE bytes ADD #s :s',
      ExpressionAttributeNames: { '#s': 'set' }, ExpressionAttributeValues: { ':v': { deep: ['er'] }, ':s': new Set(['z']) }, ReturnValues: 'ALL_NEW' });
    assert.deepEqual(after.points[0], { deep: ['er'] });
    assert.deepEqual(after.set, new Set(['x', 'y', 'z']));
    assert.equal(after.bytes, undefined);
    const e = await failure(send('Delete', { TableName, Key: { id: 'a', at: 1 }, ConditionExpression: 'size(points) > :n',
      ExpressionAttributeValues: { ':n': 9 }, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }));
    assert.equal(e.name, 'ConditionalCheckFailedException');
    assert.ok(e.Item);
  });
  await test('batches', async () => {
    const Key = n => ({ id: 'b', at: n });
    await send('BatchWrite', { RequestItems: { [TableName]: Array.from({ length: 25 }, (_, n) => ({ PutRequest: { Item: { ...Key(n), half: n / 2 } } })) } });
    await send('BatchWrite', { RequestItems: { [TableName]: [{ DeleteRequest: { Key: Key(0) } }] } });
    const { Responses: got } = await send('BatchGet', { RequestItems: { [TableName]: { Keys: [Key(0), Key(2), Key(4)] } } });
    assert.deepEqual(got[TableName].sort((a, b) => a.at - b.at), [{ ...Key(2), half: 1 }, { ...Key(4), half: 2 }]);
  });
  await test('paginateQuery and paginateScan', async () => {
    const keys = [];
    for await (const page of lib.paginateQuery({ client, pageSize: 5 }, { TableName, KeyConditionExpression: 'id = :id AND #at BETWEEN :a AND :z',
      ExpressionAttributeNames: { '#at': 'at' }, ExpressionAttributeValues: { ':id': 'b', ':a': 3, ':z': 20 }, ScanIndexForward: false }))
      keys.push(...page.Items.map(i => i.at));
    assert.deepEqual(keys, Array.from({ length: 18 }, (_, n) => 20 - n));
    let count = 0;
    for await (const page of lib.paginateScan({ client, pageSize: 4 }, { TableName, Select: 'COUNT' })) count += page.Count;
    assert.equal(count, 25);
  });
  await test('transactions', async () => {
    await send('TransactWrite', { TransactItems: [{ Put: { TableName, Item: { id: 't', at: 1 } } },
      { Update: { TableName, Key: { id: 't', at: 2 }, UpdateExpression: 'SET n = :n', ExpressionAttributeValues: { ':n': 2 } } }] });
    const { Responses: got } = await send('TransactGet', { TransactItems: [1, 2].map(at => ({ Get: { TableName, Key: { id: 't', at } } })) });
    assert.deepEqual(got.map(r => r.Item), [{ id: 't', at: 1 }, { id: 't', at: 2, n: 2 }]);
    const e = await failure(send('TransactWrite',
      { TransactItems: [{ Put: { TableName, Item: { id: 't', at: 1 }, ConditionExpression: 'attribute_not_exists(id)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } }] }));
    // the library leaves the reasons as they come
    assert.deepEqual(e.CancellationReasons, [{ Code: 'ConditionalCheckFailed', Message: 'The conditional request failed',
      Item: { id: { S: 't' }, at: { N: '1' } } }]);
  });
  await test('PartiQL', async () => {
    await send('ExecuteStatement', { Statement: `INSERT INTO "${TableName}" VALUE {'id': ?, 'at': ?, 'm': ?}`, Parameters: ['q', 1, { a: [1] }] });
    const { Items: got } = await send('ExecuteStatement', { Statement: `SELECT * FROM "${TableName}" WHERE id = ? AND "at" = ?`, Parameters: ['q', 1] });
    assert.deepEqual(got, [{ id: 'q', at: 1, m: { a: [1] } }]);
  });
  await client.send(new DeleteTableCommand({ TableName }));
})();
