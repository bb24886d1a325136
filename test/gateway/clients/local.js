// The package dynamo-table-local, by Node's own test runner.  argv: its folder.
const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const { after, test } = require('node:test');
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const { until } = require('./check.js');

const folder = process.argv[2];
const { start } = require(folder);
// all that servers leave would be here; the gateway may be another user
const temporary = fs.mkdtempSync(`${tmpdir()}/local.`);
fs.chmodSync(temporary, 0o777);
process.env.TMPDIR = temporary;
after(() => fs.rmSync(temporary, { recursive: true }));

// The processes of servers here: they have a folder in their command line, or are in it.
const read = (file, how = fs.readFileSync) => {
  try {
    return how(file).toString();
  } catch {
    return '';
  }
};
const processes = () => fs.readdirSync('/proc').filter(pid => /^\d+$/.test(pid)
  && [read(`/proc/${pid}/cmdline`), read(`/proc/${pid}/cwd`, fs.readlinkSync)].some(text => text.includes(temporary)));
const traces = () => [...processes(), ...fs.readdirSync(temporary)];
const TableName = 'Music';
const create = db => db.createTable({ TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }] });
const program = code => spawn(process.execPath, ['-e', `const { start } = require(${JSON.stringify(folder)}); ${code}`],
  { stdio: ['ignore', 'pipe', 'inherit'] });

test('put and get an item, in several servers side by side', async () => {
  const servers = await Promise.all([start(), start({ settings: { region: 'eu-west-1' } }), start()]);
  assert.deepEqual(servers.map(s => s.region), ['us-east-1', 'eu-west-1', 'us-east-1']);
  assert.equal(new Set(servers.map(s => s.endpoint)).size, 3);
  const clients = servers.map(s => new DynamoDB(s));
  await Promise.all(clients.map(create));
  for (const [n, db] of clients.entries()) await db.putItem({ TableName, Item: { pk: { S: 'a' }, n: { N: `${n}` } } });
  const got = await Promise.all(clients.map(db => db.getItem({ TableName, Key: { pk: { S: 'a' } } })));
  assert.deepEqual(got.map(g => g.Item.n.N), ['0', '1', '2']);
  assert.equal(servers[0].env.AWS_SECRET_ACCESS_KEY, servers[0].credentials.secretAccessKey);
  await assert.rejects(new DynamoDB({ ...servers[0], credentials: servers[1].credentials }).listTables(), { name: 'UnrecognizedClientException' });
  assert.equal(fs.readdirSync(temporary).length, 3);

  await servers[0].stop();
  assert.equal(fs.readdirSync(temporary).length, 2);
  await clients[1].getItem({ TableName, Key: { pk: { S: 'a' } } });
  await Promise.all(servers.map(s => s.stop()));
  assert.deepEqual(traces(), []);
});

test('nothing is left of a program that is killed', async () => {
  const parent = program('start().then(({ endpoint }) => { console.log(endpoint); setInterval(() => {}, 1000); })');
  await once(parent.stdout, 'data');
  assert.ok(processes().length > 2);
  parent.kill('SIGKILL');
  await until(traces, left => left.length === 0);
});

test('nor while a server starts', async () => {
  const parent = program('start()');
  await until(() => fs.readdirSync(temporary), names => names.length > 0);
  parent.kill('SIGKILL');
  await until(traces, left => left.length === 0);
});

test('a program ends without stop()', async () => {
  const parent = program('start().then(({ region }) => console.log(region))');
  const [status] = await once(parent, 'exit');
  assert.equal(status, 0);
  await until(traces, left => left.length === 0);
});

test('errors', async () => {
  await assert.rejects(start({ program: '/nowhere/dynamo_gateway' }), /^Error: "\/nowhere\/dynamo_gateway" is not found: install dynamo_gateway/);
  await assert.rejects(start({ settings: { colour: 'red' } }), /did not start:\ndynamo_gateway: there is no flag --colour/);
  await assert.rejects(start({ settings: { postgres: '/nowhere' } }), /did not start:\n.*"\/nowhere" has no programs of PostgreSQL/);
  assert.deepEqual(traces(), []);
});
