// What the SDK repeats by itself, as its $metadata.attempts says: failures of the server, and nothing else.
const assert = require('node:assert/strict');
const { execFileSync, spawn } = require('node:child_process');
const path = require('node:path');
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const { test, failure, until } = require('./check.js');

const TableName = 'retried';
const sql = statement => execFileSync(process.env.PSQL, ['-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', statement], { encoding: 'utf8' }).trim();
const server = (...args) => execFileSync(path.join(__dirname, 'server'), args, { stdio: 'ignore' });
const status = async page => (await fetch(`${process.env.AWS_ENDPOINT_URL}/${page}`)).status;
const item = id => ({ TableName, Item: { id: { S: id } } });

// A client that counts how often it sends.
function counting(config = {}) {
  const db = new DynamoDB(config);
  db.sent = 0;
  db.middlewareStack.add(next => args => {
    db.sent++;
    return next(args);
  }, { step: 'finalizeRequest', priority: 'low' });
  return db;
}

(async () => {
  const db = new DynamoDB({});
  await db.createTable({ TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }] });

  await test('while Postgres is stopped: 503, and the request succeeds once it is back', async () => {
    server('-m', 'fast', 'stop');
    assert.equal(await status('healthz'), 200);
    await until(() => status('readyz'), s => s === 503);
    const waiting = counting({ maxAttempts: 40 });
    const answer = waiting.putItem(item('after')).catch(e => e);
    await until(() => waiting.sent, n => n > 1);
    const refused = await failure(new DynamoDB({ maxAttempts: 1 }).getItem({ TableName, Key: item('after').Item }));
    assert.equal(refused.$metadata.httpStatusCode, 503);
    server('start');
    assert.ok((await answer).$metadata.attempts > 1);
    await until(() => status('readyz'), s => s === 200);
    assert.ok((await db.getItem({ TableName, Key: item('after').Item })).Item);
  });
  await test('after a restart connections that were idle are made anew, without an error', async () => {
    server('-m', 'fast', 'restart');
    const once = new DynamoDB({ maxAttempts: 1 });
    await Promise.all(Array.from({ length: 50 }, () => once.getItem({ TableName, Key: item('after').Item })));
  });
  await test('an error of a trigger is repeated, and is not told', async () => {
    sql(`CREATE FUNCTION explode() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the launch code is 1234'; END $$;
         CREATE TRIGGER explode BEFORE INSERT ON retried FOR EACH ROW EXECUTE FUNCTION explode()`);
    const e = await failure(new DynamoDB({ maxAttempts: 3 }).putItem(item('never')));
    sql('DROP FUNCTION explode CASCADE');
    assert.deepEqual([e.name, e.message], ['InternalServerError', 'Internal server error']);
    assert.deepEqual([e.$metadata.httpStatusCode, e.$metadata.attempts], [500, 3]);
  });
  await test('a lock that is not given is a conflict, which is not repeated', async () => {
    const other = spawn(process.env.PSQL, ['-qXAt']);
    other.stdin.write('BEGIN; LOCK TABLE retried; SELECT 1;\n');
    await new Promise(resolve => other.stdout.once('data', resolve));
    const e = await failure(db.putItem(item('locked')));
    assert.equal(e.name, 'TransactionConflictException');
    assert.equal(e.$metadata.attempts, 1);
    const cancelled = await failure(db.transactWriteItems({ TransactItems: [{ Put: item('locked') }, { Put: item('too') }] }));
    assert.equal(cancelled.name, 'TransactionCanceledException');
    assert.ok(cancelled.CancellationReasons.length === 2 && cancelled.CancellationReasons.some(r => r.Code === 'TransactionConflict'));
    other.stdin.end('ROLLBACK;\n');
    await new Promise(resolve => other.once('exit', resolve));
    await db.putItem(item('locked'));
  });
  await db.deleteTable({ TableName });
})();
