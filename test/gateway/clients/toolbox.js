// dynamodb-toolbox: commands of a table and an entity.
const assert = require('node:assert/strict');
const { DynamoDBClient, CreateTableCommand, DeleteTableCommand } = require('@aws-sdk/client-dynamodb');
const { DynamoDBDocumentClient } = require('@aws-sdk/lib-dynamodb');
const tb = require('dynamodb-toolbox');
const { test, failure } = require('./check.js');

const client = new DynamoDBClient({});
const AppTable = new tb.Table({
  name: 'toolbox', documentClient: DynamoDBDocumentClient.from(client), partitionKey: { name: 'PK', type: 'string' }, sortKey: { name: 'SK', type: 'number' },
  indexes: { byKind: { type: 'global', partitionKey: { name: 'kind', type: 'string' }, sortKey: { name: 'weight', type: 'number' } } },
});
const Pet = new tb.Entity({
  name: 'Pet', table: AppTable,
  schema: tb.item({
    owner: tb.string().key().savedAs('PK'), id: tb.number().key().savedAs('SK'), kind: tb.string().enum('cat', 'dog'), weight: tb.number(),
    names: tb.list(tb.string()).optional(), tags: tb.set(tb.string()).optional(),
    meta: tb.map({ vet: tb.string().optional(), raw: tb.binary().optional() }).optional(),
    chip: tb.record(tb.string(), tb.number()).optional(), ok: tb.boolean().default(true),
  }),
});

(async () => {
  await client.send(new CreateTableCommand({ TableName: 'toolbox', BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [['PK', 'S'], ['SK', 'N'], ['kind', 'S'],
      ['weight', 'N']].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }, { AttributeName: 'SK', KeyType: 'RANGE' }],
    GlobalSecondaryIndexes: [{ IndexName: 'byKind', Projection: { ProjectionType: 'ALL' },
      KeySchema: [{ AttributeName: 'kind', KeyType: 'HASH' }, { AttributeName: 'weight', KeyType: 'RANGE' }] }] }));

  const tom = { owner: 'ada', id: 1, kind: 'cat', weight: 4.25, names: ['Tom'], tags: new Set(['grey']), meta: { raw: Uint8Array.of(7) }, chip: { a: 1 } };
  const get = (owner, id) => Pet.build(tb.GetItemCommand).key({ owner, id }).options({ consistent: true }).send();
  await test('put and get, with a condition', async () => {
    await Pet.build(tb.PutItemCommand).item(tom).options({ condition: { attr: 'owner', exists: false } }).send();
    const { Item: { created, modified, ...got } } = await get('ada', 1);
    assert.deepEqual(got, { ...tom, ok: true });
    assert.ok(Date.parse(created) && Date.parse(modified));
    const e = await failure(Pet.build(tb.PutItemCommand).item(tom).options({ condition: { attr: 'owner', exists: false } }).send());
    assert.equal(e.name, 'ConditionalCheckFailedException');
  });
  await test('update: add, append, set, remove, prepend', async () => {
    const { Attributes: after } = await Pet.build(tb.UpdateItemCommand).item({ owner: 'ada', id: 1, weight: tb.$add(0.5), names: tb.$append(['Tommy']),
      tags: tb.$add(new Set(['old'])), meta: { vet: 'Dr.' }, chip: tb.$remove() }).options({ returnValues: 'ALL_NEW',
      condition: { attr: 'weight', lt: 5 } }).send();
    assert.deepEqual([after.weight, after.names, [...after.tags].sort(), after.meta.vet, after.chip],
      [4.75, ['Tom', 'Tommy'], ['grey', 'old'], 'Dr.', undefined]);
    const e = await failure(Pet.build(tb.UpdateItemCommand).item({ owner: 'ada', id: 1, weight: 9 }).options({ condition: { attr: 'weight', gt: 5 } }).send());
    assert.equal(e.name, 'ConditionalCheckFailedException');
  });
  await test('batches', async () => {
    await tb.executeBatchWrite(AppTable.build(tb.BatchWriteCommand).requests(...Array.from({ length: 20 }, (_, n) =>
      Pet.build(tb.BatchPutRequest).item({ owner: 'bob', id: n, kind: n % 2 ? 'cat' : 'dog', weight: n }))));
    const { Responses: [found] } = await tb.executeBatchGet(AppTable.build(tb.BatchGetCommand).requests(
      Pet.build(tb.BatchGetRequest).key({ owner: 'bob', id: 3 }), Pet.build(tb.BatchGetRequest).key({ owner: 'bob', id: 99 })));
    assert.deepEqual(found.map(i => i && i.weight), [3, undefined]);
  });
  await test('query by range, by index, by pages; scan with a filter', async () => {
    const query = (q, options) => AppTable.build(tb.QueryCommand).entities(Pet).query(q).options(options).send();
    assert.deepEqual((await query({ partition: 'bob', range: { between: [5, 8] } }, { reverse: true })).Items.map(i => i.id), [8, 7, 6, 5]);
    assert.deepEqual((await query({ index: 'byKind', partition: 'cat', range: { lte: 4.75 } }, {})).Items.map(i => i.weight), [1, 3, 4.75]);
    const first = await query({ partition: 'bob' }, { limit: 12 });
    const rest = await query({ partition: 'bob' }, { exclusiveStartKey: first.LastEvaluatedKey });
    assert.deepEqual([...first.Items, ...rest.Items].map(i => i.id), Array.from({ length: 20 }, (_, n) => n));
    const { Items: dogs } = await AppTable.build(tb.ScanCommand).entities(Pet).options({
      filters: { Pet: { and: [{ attr: 'kind', eq: 'dog' }, { attr: 'weight', gte: 10 }] } } }).send();
    assert.equal(dogs.length, 5);
  });
  await test('transactions', async () => {
    await tb.executeTransactWrite(Pet.build(tb.PutTransaction).item({ owner: 'eve', id: 1, kind: 'cat', weight: 1 }),
      Pet.build(tb.DeleteTransaction).key({ owner: 'bob', id: 0 }),
      Pet.build(tb.ConditionCheck).key({ owner: 'ada', id: 1 }).condition({ attr: 'kind', eq: 'cat' }));
    const { Responses: got } = await tb.executeTransactGet(Pet.build(tb.GetTransaction).key({ owner: 'eve', id: 1 }),
      Pet.build(tb.GetTransaction).key({ owner: 'bob', id: 0 }));
    assert.deepEqual(got.map(r => r && r.Item && r.Item.weight), [1, undefined]);
    const e = await failure(tb.executeTransactWrite(Pet.build(tb.DeleteTransaction).key({ owner: 'eve', id: 1 }).options({
      condition: { attr: 'weight', gt: 9 } })));
    assert.equal(e.name, 'TransactionCanceledException');
    assert.equal(e.CancellationReasons[0].Code, 'ConditionalCheckFailed');
  });
  await test('delete returns what was there', async () => {
    const { Attributes: old } = await Pet.build(tb.DeleteItemCommand).key({ owner: 'eve', id: 1 }).options({ returnValues: 'ALL_OLD' }).send();
    assert.equal(old.weight, 1);
    assert.equal((await get('eve', 1)).Item, undefined);
  });
  await client.send(new DeleteTableCommand({ TableName: 'toolbox' }));
})();
