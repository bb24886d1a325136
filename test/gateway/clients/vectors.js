// The AWS SDK for JavaScript with vector indexes: the service answers SearchVectors on a host of its own, and an endpoint of one's own is asked.
const assert = require('node:assert/strict');
const ddb = require('@aws-sdk/client-dynamodb');
const lib = require('@aws-sdk/lib-dynamodb');
const { test, failure, until } = require('./check.js');

const client = new ddb.DynamoDBClient({});
const documents = lib.DynamoDBDocumentClient.from(client);
const send = (name, input) => client.send(new ddb[name + 'Command'](input));
const search = (vector, more, by = client) => by.send(new ddb.SearchVectorsCommand({ TableName, IndexName: 'meaning', TopK: 10,
  SearchVector: vector.map(n => ({ N: String(n) })), ...more }));
const of = tenant => ({ SearchConditionExpression: 'tenant = :t', ExpressionAttributeValues: { ':t': { S: tenant } } });
const found = answer => answer.SearchResults.map(r => r.Item.id.S);
const index = (IndexName, DistanceFunction, SearchSchema) => ({ IndexName, VectorAttribute: { AttributeName: 'e' }, Dimensions: 3,
  DistanceFunction, Projection: { ProjectionType: 'ALL' }, SearchSchema });

const TableName = 'vectors.notes';

(async () => {
  await test('CreateTable with a vector index, DescribeTable', async () => {
    await send('CreateTable', { TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: ['id', 'tenant', 'lang'].map(AttributeName => ({ AttributeName, AttributeType: 'S' })),
      VectorIndexes: [index('meaning', 'COSINE', [{ AttributeName: 'tenant', SearchSchemaElementType: 'HASH' },
        { AttributeName: 'lang', SearchSchemaElementType: 'INLINE_FILTER' }])] });
    const { Table: { VectorIndexes: [described] } } = await send('DescribeTable', { TableName });
    assert.deepEqual([described.IndexName, described.IndexStatus, described.Dimensions, described.DistanceFunction], ['meaning', 'ACTIVE', 3, 'COSINE']);
    assert.deepEqual(described.VectorAttribute, { AttributeName: 'e' });
    assert.match(described.IndexArn, /table\/vectors\.notes\/index\/meaning$/);
  });
  await test('items with vectors, plain arrays of lib-dynamodb among them', async () => {
    await send('PutItem', { TableName, Item: { id: { S: 'red' }, tenant: { S: 'a' }, lang: { S: 'en' }, e: { L: [{ N: '1' }, { N: '0' }, { N: '0' }] } } });
    for (const [id, tenant, lang, e] of [['orange', 'a', 'en', [0.8, 0.6, 0]], ['gelb', 'a', 'de', [0.6, 0.8, 0]], ['blue', 'b', 'en', [0.9, 0.1, 0]]])
      await documents.send(new lib.PutCommand({ TableName, Item: { id, tenant, lang, e } }));
    await documents.send(new lib.PutCommand({ TableName, Item: { id: 'without', tenant: 'a' } }));
  });
  await test('SearchVectors: the nearest first, scores, items without the vector', async () => {
    const answer = await search([1, 0, 0], of('a'));
    assert.deepEqual(found(answer), ['red', 'orange', 'gelb']);
    assert.deepEqual(answer.SearchResults.map(r => Math.round(r.Score * 1e6) / 1e6), [0, 0.2, 0.4]);
    assert.deepEqual(answer.SearchResults[0].Item, { id: { S: 'red' }, tenant: { S: 'a' }, lang: { S: 'en' } });
    assert.deepEqual(found(await search([0, 1, 0], { ...of('a'), TopK: 1 })), ['gelb']);
  });
  await test('SearchVectors: conditions, projections, capacity', async () => {
    const answer = await search([0, 1, 0], { SearchConditionExpression: 'tenant = :t AND lang = :l', ProjectionExpression: 'id, e',
      ExpressionAttributeValues: { ':t': { S: 'a' }, ':l': { S: 'en' } }, ReturnConsumedCapacity: 'TOTAL' });
    assert.deepEqual(found(answer), ['orange', 'red']);
    assert.deepEqual(answer.SearchResults[1].Item.e, { L: [{ N: '1' }, { N: '0' }, { N: '0' }] });
    assert.ok(answer.ConsumedCapacity.VectorSearchRequestBytes > 0);
  });
  await test('SearchVectors of lib-dynamodb', async () => {
    const { SearchResults: [first] } = await documents.send(new lib.SearchVectorsCommand({ TableName, IndexName: 'meaning', TopK: 1,
      SearchVector: [1, 0, 0], SearchConditionExpression: 'tenant = :t', ExpressionAttributeValues: { ':t': 'b' } }));
    assert.deepEqual(first.Item, { id: 'blue', tenant: 'b', lang: 'en' });
  });
  await test('an endpoint of the settings, of accounts, with discovery', async () => {
    const endpoint = process.env.AWS_ENDPOINT_URL;
    delete process.env.AWS_ENDPOINT_URL;
    for (const settings of [{}, { accountIdEndpointMode: 'required' }, { endpointDiscoveryEnabled: true }])
      assert.deepEqual(found(await search([1, 0, 0], of('b'), new ddb.DynamoDBClient({ endpoint, ...settings }))), ['blue']);
    process.env.AWS_ENDPOINT_URL = endpoint;
  });
  await test('UpdateTable creates a vector index of items that are there, and deletes it', async () => {
    const indexes = async () => (await send('DescribeTable', { TableName })).Table.VectorIndexes.map(i => `${i.IndexName} ${i.IndexStatus}`);

    await send('UpdateTable', { TableName, VectorIndexUpdates: [{ Create: index('far', 'EUCLIDEAN') }] });
    await until(indexes, all => all.includes('far ACTIVE'));
    assert.deepEqual(found(await search([1, 0, 0], { IndexName: 'far' })), ['red', 'blue', 'orange', 'gelb']);
    await send('UpdateTable', { TableName, VectorIndexUpdates: [{ Delete: { IndexName: 'far' } }] });
    assert.deepEqual(await until(indexes, all => all.length === 1), ['meaning ACTIVE']);
  });
  await test('a write and its vector are one', async () => {
    await send('TransactWriteItems', { TransactItems: [{ Delete: { TableName, Key: { id: { S: 'red' } } } },
      { Update: { TableName, Key: { id: { S: 'gelb' } }, UpdateExpression: 'SET e[0] = :n', ExpressionAttributeValues: { ':n': { N: '6' } } } }] });
    assert.deepEqual(found(await search([1, 0, 0], of('a'))), ['gelb', 'orange']);
  });
  await test('what is invalid', async () => {
    const invalid = async (message, promise) => {
      const e = await failure(promise);
      assert.equal(e.name, 'ValidationException');
      assert.match(e.message, message);
    };
    await invalid(/^Input search vector dimension 2 does not match vector index dimension 3$/, search([1, 0], of('a')));
    await invalid(/^Provided TopK value '101' is out of valid range/, search([1, 0, 0], { ...of('a'), TopK: 101 }));
    await invalid(/must be provided when SearchSchema has a HASH key$/, search([1, 0, 0]));
    await invalid(/^The table does not have the specified index: nope$/, search([1, 0, 0], { IndexName: 'nope' }));
    await invalid(/Invalid size for parameter e, Expected: 3, Actual: 1 IndexName: meaning$/,
      send('PutItem', { TableName, Item: { id: { S: 'short' }, e: { L: [{ N: '1' }] } } }));
    const e = await failure(search([1, 0, 0], { TableName: 'nowhere' }));
    assert.ok(e instanceof ddb.ResourceNotFoundException);
  });
  await test('a role without privileges', async () => {
    const { GUEST_ACCESS_KEY_ID: accessKeyId, GUEST_SECRET_ACCESS_KEY: secretAccessKey } = process.env;
    const guest = new ddb.DynamoDBClient({ credentials: { accessKeyId, secretAccessKey } });
    assert.equal((await failure(search([1, 0, 0], of('a'), guest))).name, 'AccessDeniedException');
  });
})();
