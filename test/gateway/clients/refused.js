// What the SDK makes of requests that are refused for who sends them: signatures, keys, privileges.
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const { test, failure, until } = require('./check.js');

const TableName = 'private';
const Key = { id: { S: 'a' } };
const guest = { accessKeyId: process.env.GUEST_ACCESS_KEY_ID, secretAccessKey: process.env.GUEST_SECRET_ACCESS_KEY };
const owner = { accessKeyId: process.env.AWS_ACCESS_KEY_ID, secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY };
const db = new DynamoDB({});
const sql = statement => execFileSync(process.env.PSQL, ['-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', statement], { encoding: 'utf8' }).trim();
const ask = config => new DynamoDB(config).getItem({ TableName, Key });

(async () => {
  await db.createTable({ TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }] });
  await db.putItem({ TableName, Item: { ...Key, n: { N: '1' } } });

  await test('a wrong secret', async () => {
    const e = await failure(ask({ credentials: { ...owner, secretAccessKey: 'x' + owner.secretAccessKey } }));
    assert.equal(e.name, 'InvalidSignatureException');
    assert.match(e.message, /^The request signature we calculated does not match the signature you provided\./);
  });
  await test('a key that does not exist', async () => {
    const e = await failure(ask({ credentials: { ...owner, accessKeyId: 'AKIANOBODY' } }));
    assert.deepEqual([e.name, e.message], ['UnrecognizedClientException', 'The security token included in the request is invalid.']);
    assert.equal(e.$metadata.httpStatusCode, 400);
  });
  await test('a session token, which does not matter', async () => {
    assert.equal((await ask({ credentials: { ...owner, sessionToken: 'token' } })).Item.n.N, '1');
  });
  await test('another region', async () => {
    const e = await failure(ask({ region: 'eu-west-1' }));
    assert.equal(e.name, 'InvalidSignatureException');
    assert.match(e.message, /Credential should be scoped to a valid region/);
  });
  await test('a clock that is an hour off is corrected by the SDK', async () => {
    const now = Date.now;
    for (const off of [3600e3, -3600e3]) {
      Date.now = () => now() + off;
      const answer = await ask({}).finally(() => Date.now = now);
      assert.equal(answer.Item.n.N, '1');
      assert.equal(answer.$metadata.attempts, 2);
    }
  });
  await test('a role without privileges, and with them', async () => {
    const e = await failure(ask({ credentials: guest }));
    assert.equal(e.name, 'AccessDeniedException');
    assert.match(e.message, /^User: .*guest is not authorized to perform: dynamodb:GetItem on resource: arn:aws:dynamodb:.*:table\/private/);
    sql('GRANT SELECT ON private TO guest');
    assert.equal((await ask({ credentials: guest })).Item.n.N, '1');
    assert.equal((await failure(new DynamoDB({ credentials: guest }).putItem({ TableName, Item: Key }))).name, 'AccessDeniedException');
  });
  await test('a key that is disabled, and enabled', async () => {
    sql(`SELECT dyn_alter_access_key('${guest.accessKeyId}', enabled => false)`);
    await until(() => ask({ credentials: guest }).then(() => '', e => e.name), name => name === 'UnrecognizedClientException');
    sql(`SELECT dyn_alter_access_key('${guest.accessKeyId}', enabled => true)`);
    await until(() => ask({ credentials: guest }).then(() => 'works', e => e.name), name => name === 'works');
  });
  await test('a key that has expired, and one that is dropped', async () => {
    sql(`SELECT dyn_alter_access_key('${guest.accessKeyId}', valid_until => now() - interval '1 min')`);
    await until(() => ask({ credentials: guest }).then(() => '', e => e.name), name => name === 'ExpiredTokenException');
    sql(`SELECT dyn_drop_access_key('${guest.accessKeyId}')`);
    await until(() => ask({ credentials: guest }).then(() => '', e => e.name), name => name === 'UnrecognizedClientException');
  });
  await db.deleteTable({ TableName });
})();
