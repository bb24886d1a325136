// The table that bench/gateway measures, by the SDK.  argv: the endpoint, the number of collections.
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const { until } = require('./check.js');

const [endpoint, collections] = process.argv.slice(2);
const db = new DynamoDB({ endpoint });
const TableName = 'bench';

(async () => {
  await db.createTable({ TableName, BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'S' }] });
  await until(async () => (await db.describeTable({ TableName })).Table.TableStatus, status => status === 'ACTIVE');
  for (let c = 0; c < Number(collections); c++)
    await db.batchWriteItem({ RequestItems: { [TableName]: Array.from({ length: 10 }, (_, n) => ({ PutRequest: { Item: {
      pk: { S: `customer#${c}` }, sk: { S: `order#${n}` }, status: { S: 'shipped' }, total: { N: `${c}.${n}` }, note: { S: 'x'.repeat(200) } } } })) } });
})();
