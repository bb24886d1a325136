// Acknowledged writes stay, whatever is killed meanwhile.  argv: the number of rounds, the gateway and its settings.
//
// 64 writers put items and count in transactions, and do each write again until it is acknowledged: a put has the
// same item, a transaction the same token.  In each round one thing after the other is killed, each once the
// writers have gone on after the one before.  At the end each acknowledged item is there, with the value that was
// acknowledged, and each counter has counted each acknowledged transaction once.  Other writers count by ADD, without
// an SDK that repeats: what was acknowledged is counted once, what failed once or not at all, so the gateway itself
// does no write twice.
const assert = require('node:assert/strict');
const { execFileSync, spawn } = require('node:child_process');
const path = require('node:path');
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const { test, failure, until } = require('./check.js');

const [rounds, program, ...settings] = process.argv.slice(2);
const WRITERS = 64;
const LEDGERS = 8;
const PROGRESS = 300;
const TableName = 'acknowledged';
const sql = statement => execFileSync(process.env.PSQL, ['-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', statement],
  { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
const server = (...args) => execFileSync(path.join(__dirname, 'server'), args, { stdio: 'ignore' });

let gateway;
let port = 0;

// Start the gateway at the port that the first one has found.
function start() {
  gateway = spawn(program, [...settings, '--listen', `127.0.0.1:${port}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  return new Promise((resolve, reject) => {
    let out = '';
    gateway.once('exit', () => reject(new Error(out)));
    gateway.stderr.on('data', data => {
      if (port === 0) out += data;
      const address = /listening.* address=\S*:(\d+)/.exec(String(data));
      if (address) {
        port = Number(address[1]);
        resolve();
      }
    });
  });
}

const killGateway = signal => new Promise(resolve => {
  gateway.removeAllListeners('exit');
  gateway.once('exit', resolve);
  gateway.kill(signal);
});

const backend = () => Number(sql("SELECT pid FROM pg_stat_activity WHERE usename = 'gateway' AND query LIKE '%request_as%' ORDER BY random() LIMIT 1"));
const disasters = {
  'kill -9 of a backend': async () => process.kill(await until(backend, pid => pid > 0), 'SIGKILL'),
  'kill -9 of the gateway': async () => {
    await killGateway('SIGKILL');
    await start();
  },
  'end of all backends': async () => sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gateway'"),
  'restart of Postgres': async () => server('-m', 'fast', 'restart'),
  'immediate restart of Postgres': async () => server('-m', 'immediate', 'restart'),
  'stop of the gateway': async () => {
    await killGateway('SIGTERM');
    await start();
  },
  'start of the gateway while Postgres is stopped': async () => {
    server('-m', 'fast', 'stop');
    await killGateway('SIGKILL');
    await start();
    // it knows no keys yet, which is no reason to tell an SDK that there is no such key
    const e = await failure(new DynamoDB({ endpoint: `http://127.0.0.1:${port}`, maxAttempts: 1 }).listTables({}));
    assert.equal(e.$metadata.httpStatusCode, 503);
    server('start');
  },
};

(async () => {
  await start();
  const config = { endpoint: `http://127.0.0.1:${port}`, maxAttempts: 5 };
  await new DynamoDB(config).createTable({ TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }] });
  const values = new Map();
  const counted = new Array(WRITERS).fill(0);
  const failures = new Map();
  let acknowledged = 0;
  let stopping = false;

  // Until it is acknowledged, since its outcome is not known.
  async function write(send) {
    for (;;) {
      try {
        await send();
        acknowledged++;
        return;
      } catch (e) {
        const name = e.$metadata?.httpStatusCode ? `${e.$metadata.httpStatusCode} ${e.name}` : e.code || e.name;
        failures.set(name, (failures.get(name) || 0) + 1);
        // refusals would go on for ever
        if (e.$metadata?.httpStatusCode === 400) throw e;
        await new Promise(resolve => setTimeout(resolve, 20));
      }
    }
  }

  async function writer(n) {
    const db = new DynamoDB(config);
    for (let i = 0; !stopping; i++) {
      const id = `${n}/${i % 50}`;
      await write(() => db.putItem({ TableName, Item: { id: { S: id }, value: { N: String(i) } } }));
      values.set(id, i);
      const ClientRequestToken = `${process.pid}-${n}-${i}`;
      await write(() => db.transactWriteItems({ ClientRequestToken, TransactItems: [
        { Update: { TableName, Key: { id: { S: `count ${n}` } }, UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': { N: '1' } } } },
        { Put: { TableName, Item: { id: { S: `last ${n}` }, value: { N: String(i) } } } }] }));
      counted[n]++;
    }
  }

  const ledgers = Array.from({ length: LEDGERS }, () => ({ counted: 0, failed: 0 }));
  async function count(n) {
    const db = new DynamoDB({ ...config, maxAttempts: 1 });
    while (!stopping)
      try {
        await db.updateItem({ TableName, Key: { id: { S: `ledger ${n}` } }, UpdateExpression: 'ADD n :one',
          ExpressionAttributeValues: { ':one': { N: '1' } } });
        ledgers[n].counted++;
      } catch (e) {
        if (e.$metadata?.httpStatusCode === 400) throw e;
        ledgers[n].failed++;
        await new Promise(resolve => setTimeout(resolve, 20));
      }
  }

  const writers = [...Array.from({ length: WRITERS }, (_, n) => writer(n)), ...ledgers.map((_, n) => count(n))];
  const all = Promise.all(writers);
  all.catch(() => {});
  const goOn = async () => {
    const before = acknowledged;
    await Promise.race([until(() => acknowledged, now => now >= before + PROGRESS), all]);
  };
  for (let round = 0; round < Number(rounds); round++)
    for (const [what, happen] of Object.entries(disasters))
      await test(`${what}: the writers go on`, async () => {
        await goOn();
        const begin = Date.now();
        await happen();
        const before = acknowledged;
        await Promise.race([until(() => acknowledged, now => now > before), all]);
        console.log(`    after ${Date.now() - begin} ms`);
        await goOn();
      });
  stopping = true;
  await Promise.allSettled(writers);
  await test('no write was refused', () => all);
  await test('each acknowledged item is there', async () => {
    const found = new Map(sql(`SELECT item->>'id', item->>'value' FROM ${TableName} WHERE id LIKE '%/%'`)
      .split('\n').map(line => line.split('|')));
    assert.ok(values.size > 0);
    for (const [id, value] of values) assert.equal(Number(found.get(id)), value, id);
  });
  await test('each acknowledged transaction is there once', async () => {
    const found = new Map(sql(`SELECT id, item->>'n' FROM ${TableName} WHERE id LIKE 'count %'`).split('\n').map(line => line.split('|')));
    counted.forEach((n, writer) => assert.equal(Number(found.get(`count ${writer}`) || 0), n));
  });
  await test('no write is done twice by the gateway', async () => {
    const found = new Map(sql(`SELECT id, item->>'n' FROM ${TableName} WHERE id LIKE 'ledger %'`).split('\n').map(line => line.split('|')));
    ledgers.forEach(({ counted, failed }, n) => {
      const there = Number(found.get(`ledger ${n}`) || 0);
      assert.ok(counted > 0 && there >= counted && there <= counted + failed, `${there} of ${counted} and ${failed}`);
    });
  });
  console.log(`    ${acknowledged} writes; failures that were repeated: ${[...failures].map(([name, n]) => `${n} ${name}`).join(', ')}`);
  await killGateway('SIGTERM');
})();
