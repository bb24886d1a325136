// A shop on a table of items, with node-pg.  examples/shop.sql makes what it needs.
// The environment (PGHOST, PGDATABASE, PGUSER …) says which database.
const { randomUUID } = require('crypto');
const { setTimeout: sleep } = require('timers/promises');
const { Pool, types } = require('pg');

const KETTLE = { pk: 'PRODUCT#kettle', sk: 'PRODUCT' };

// What the server has undone because of others, so that it can be done again.
const CONFLICTS = new Set(['40001', '40P01', 'YD004']);

// Short calls share one pool; who waits for a stream has another, with a longer time.
const pool = new Pool({ max: 4, statement_timeout: 10000 });
const streams = new Pool({ max: 1, statement_timeout: 90000 });

// A value of DynamoDB JSON as one of JavaScript.  A number that a double does not hold stays a string.
// (unmarshall of @aws-sdk/util-dynamodb does the same.)
function plain(value) {
  const [[code, v]] = Object.entries(value);
  switch (code) {
    case 'N': return String(Number(v)) === v ? Number(v) : v;
    case 'B': return Buffer.from(v, 'base64');
    case 'NULL': return null;
    case 'L': return v.map(plain);
    case 'M': return object(v);
    case 'SS': case 'NS': case 'BS': return new Set(v.map((element) => plain({ [code[0]]: element })));
    default: return v;
  }
}

function object(attributes) {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, plain(value)]));
}

// Types of an extension have other OIDs in each database.
async function registerTypes() {
  const { rows: [{ item, items }] } = await pool.query(
    "SELECT oid::int AS item, typarray::int AS items FROM pg_type WHERE oid = 'dyn_item'::regtype");
  const parse = (text) => object(JSON.parse(text));
  const parseArray = types.getTypeParser(1009); // text[]
  types.setTypeParser(item, parse);
  types.setTypeParser(items, (text) => parseArray(text).map((element) => element && parse(element)));
}

// An item with all digits, a set and bytes, as DynamoDB JSON; and items of plain JSON.
async function fill() {
  await pool.query("SELECT dyn_put('shop', $1)", [{
    pk: { S: KETTLE.pk }, sk: { S: KETTLE.sk }, stock: { N: '5' }, serial: { N: '12345678901234567890123456789012345678' },
    tags: { SS: ['new', 'red'] }, photo: { B: Buffer.from([1, 2, 3]).toString('base64') },
  }]);
  for (let n = 1; n <= 5; n++) {
    await pool.query("SELECT dyn_put('shop', $1::jsonb)", [{ pk: 'CUSTOMER#ada', sk: `ORDER#${n}`, product: 'kettle', pieces: 1 }]);
  }
}

async function getKettle(client) {
  const { rows: [{ kettle }] } = await client.query("SELECT dyn_get('shop', $1::jsonb) AS kettle", [KETTLE]);
  return kettle;
}

async function show() {
  const kettle = await getKettle(pool);
  console.log(`kettle: ${kettle.stock} in stock, tags ${[...kettle.tags].join(' ')}, photo of ${kettle.photo.length} bytes`);
  console.log(`serial number ${kettle.serial}`);
  const { rows: [{ count }] } = await pool.query('SELECT count(*) FROM shop WHERE item ? $1', ['tags']);
  console.log(`items with tags: ${count}`);
}

// The orders of a customer, a page at a time.
async function* orderPages(customer, size) {
  const vals = { ':pk': `CUSTOMER#${customer}`, ':orders': 'ORDER#' };
  let start = null;
  do {
    // the key goes back as it has come, as text
    const { rows: [page] } = await pool.query(
      `SELECT items, last_evaluated_key::text AS next
         FROM dyn_query_page('shop', 'pk = :pk AND begins_with(sk, :orders)', vals => $1::jsonb, page_size => $2, start_key => $3)`,
      [vals, size, start]);
    if (page.items.length > 0) yield page.items;
    start = page.next;
  } while (start !== null);
}

// Take pieces from the stock if there are as many: how many are left, or null.
async function reserve(pieces) {
  try {
    const { rows: [{ item }] } = await pool.query(
      `SELECT dyn_update('shop', $1::jsonb, 'SET stock = stock - :n', 'stock >= :n', vals => $2::jsonb,
                         return_values => 'UPDATED_NEW') AS item`,
      [KETTLE, { ':n': pieces }]);
    return item.stock;
  } catch (e) {
    if (e.code === 'YD002') return null; // an answer, nothing to do again
    throw e;
  }
}

// Do work in a transaction, and all of it again if the transaction was in conflict with another.
async function transaction(begin, work) {
  for (let attempt = 0; ; attempt++) {
    const client = await pool.connect();
    let broken;
    try {
      await client.query(begin);
      const result = await work(client);
      await client.query('COMMIT');
      return result;
    } catch (e) {
      await client.query('ROLLBACK').catch((lost) => { broken = lost; });
      if (!CONFLICTS.has(e.code) || attempt === 4) throw e;
      console.log(`once more after ${e.code}`);
    } finally {
      client.release(broken);
    }
    await sleep(Math.random() * 50 * 2 ** attempt);
  }
}

// Fill the shelf up to 8.  While this is done for the first time, somebody else buys one.
async function deliver() {
  const customers = ['grace'];
  await transaction('BEGIN ISOLATION LEVEL REPEATABLE READ', async (client) => {
    const { stock } = await getKettle(client);
    if (customers.pop()) await reserve(1);
    await client.query("INSERT INTO deliveries (product, pieces) VALUES ('kettle', $1)", [8 - stock]);
    await client.query("SELECT dyn_update('shop', $1::jsonb, 'SET stock = :all', vals => $2::jsonb)", [KETTLE, { ':all': 8 }]);
  });
  const { rows: [{ sum }] } = await pool.query('SELECT sum(pieces) FROM deliveries');
  console.log(`${sum} delivered, 8 in stock`);
}

// An order, and what it takes from the stock: both or none, and once for a token.
async function order(number, pieces, token) {
  const actions = [
    { Put: { TableName: 'shop', Item: { pk: { S: 'CUSTOMER#ada' }, sk: { S: number }, pieces: { N: `${pieces}` } },
      ConditionExpression: 'attribute_not_exists(pk)' } },
    { Update: { TableName: 'shop', Key: { pk: { S: KETTLE.pk }, sk: { S: KETTLE.sk } },
      UpdateExpression: 'SET stock = stock - :n', ConditionExpression: 'stock >= :n',
      ExpressionAttributeValues: { ':n': { N: `${pieces}` } } } }];
  try {
    // an array would become an array of SQL, so this is made JSON here
    const { rows: [{ done }] } = await pool.query('SELECT dyn_transact($1, $2) AS done', [JSON.stringify(actions), token]);
    console.log(`${number}: ${done ? 'ordered' : 'ordered before'}`);
  } catch (e) {
    if (e.code !== 'YD003') throw e;
    console.log(`${number}: ${JSON.parse(e.detail).CancellationReasons.map((reason) => reason.Code).join(' ')}`);
  }
}

// Count open orders by the stream, until the first order is removed.  (Others go on for ever.)
async function follow() {
  const change = { INSERT: 1, REMOVE: -1 };
  let removed = false;
  while (!removed) {
    const { rows: [{ position }] } = await pool.query("SELECT position FROM stream_positions WHERE consumer = 'open orders'");
    const { rows: records } = await streams.query(
      `SELECT sequence_number, event_name, keys
         FROM dyn_read_stream('shop', $1, max_records => 100, max_wait => '1 min')`, [position]);
    if (records.length === 0) continue;
    await transaction('BEGIN', async (client) => {
      // effects and position are one transaction, so each record counts once, also if two programs do this
      const moved = await client.query("UPDATE stream_positions SET position = $1 WHERE consumer = 'open orders' AND position = $2",
        [records.at(-1).sequence_number, position]);
      if (moved.rowCount === 0) return;
      for (const r of records) {
        if (r.event_name in change && r.keys.sk.startsWith('ORDER#')) {
          await client.query(
            `INSERT INTO open_orders AS o VALUES ($1, $2)
               ON CONFLICT (customer) DO UPDATE SET orders = o.orders + EXCLUDED.orders`,
            [r.keys.pk.slice('CUSTOMER#'.length), change[r.event_name]]);
        }
      }
    });
    removed = records.some((r) => r.event_name === 'REMOVE');
  }
  const { rows: [{ orders }] } = await pool.query("SELECT orders FROM open_orders WHERE customer = 'ada'");
  console.log(`ada has ${orders} open orders`);
}

async function main() {
  await registerTypes();
  await fill();
  await show();
  for await (const page of orderPages('ada', 2)) console.log(`page: ${page.map((item) => item.sk).join(' ')}`);
  console.log(`2 reserved, ${await reserve(2)} left`);
  console.log(await reserve(4) === null ? 'there are not 4' : '4 reserved');
  await deliver();
  const token = randomUUID();
  await order('ORDER#6', 1, token);
  await order('ORDER#6', 1, token); // as after an answer that did not arrive
  await order('ORDER#7', 100, randomUUID());
  await pool.query("SELECT dyn_delete('shop', $1::jsonb)", [{ pk: 'CUSTOMER#ada', sk: 'ORDER#1' }]);
  await follow();
  await Promise.all([pool.end(), streams.end()]);
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
