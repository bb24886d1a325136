// dynamodb-admin, which sends a session token of its own, in a headless Chromium, as a person uses it: add
// items, search, page, edit, delete.  argv: a folder for the screenshots.
const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const path = require('node:path');
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const puppeteer = require('puppeteer-core');
const { test, until } = require('./check.js');

const folder = process.argv[2];
const db = new DynamoDB({});
let page;

// The server: it says where it listens.
function start() {
  const server = spawn(process.execPath, [path.join(path.dirname(require.resolve('dynamodb-admin')), 'dynamodb-admin.js'),
    '--host', '127.0.0.1', '--port', '0', '--dynamo-endpoint', process.env.AWS_ENDPOINT_URL], { stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    let out = '';
    server.on('exit', status => reject(new Error(`dynamodb-admin ended with ${status}`)));
    server.stdout.on('data', data => {
      out += data;
      const url = /listening on (http:\S+)/.exec(out);
      if (url) resolve([server, url[1]]);
    });
  });
}

const picture = name => page.screenshot({ path: path.join(folder, `admin-${name}.png`) });
const rows = () => page.$$eval('#items-container tr', all => all.map(row => [...row.cells].map(cell => cell.innerText.trim())));
const shown = wanted => until(rows, all => all.length === wanted);
const go = (...end) => Promise.all([page.waitForNavigation(), ...end.map(act => act())]);

async function edit(item) {
  await page.waitForFunction(() => window.editor || typeof editor !== 'undefined');
  await page.evaluate(text => editor.setValue(text), JSON.stringify(item));
}

(async () => {
  const [server, url] = await start();
  const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', userDataDir: path.join(folder, 'chromium'),
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
  page = await browser.newPage();
  page.setDefaultTimeout(600e3);
  await page.setViewport({ width: 1100, height: 700 });
  page.on('dialog', dialog => dialog.accept());

  await test('the form of a new table shows why it is refused', async () => {
    // it sends numbers of capacity as text, which DynamoDB does not take either
    await page.goto(`${url}/create-table`);
    await page.type('#TableName', 'Admin');
    await page.type('#HashAttributeName', 'pk');
    await page.click('#saveButton');
    await page.waitForFunction(() => document.body.innerText.includes('STRING_VALUE cannot be converted to Long'));
  });
  await test('list tables', async () => {
    await db.createTable({ TableName: 'Admin', BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'N' }] });
    await page.goto(url);
    await page.waitForSelector('#table-list a[href$="/tables/Admin"]');
  });
  await test('create an item', async () => {
    await page.goto(`${url}/tables/Admin/add-item`);
    await edit({ pk: 'a', sk: 1, name: 'Ada', list: [1, { deep: true }] });
    await go(() => page.click('#saveButton'));
    const { Item: item } = await db.getItem({ TableName: 'Admin', Key: { pk: { S: 'a' }, sk: { N: '1' } } });
    assert.deepEqual(item.list, { L: [{ N: '1' }, { M: { deep: { BOOL: true } } }] });
  });
  await test('scan by pages', async () => {
    for (let n = 2; n < 40; n++) await db.putItem({ TableName: 'Admin',
      Item: { pk: { S: n % 2 ? 'a' : 'b' }, sk: { N: String(n) }, name: { S: `item ${n}` } } });
    await page.goto(`${url}/tables/Admin`);
    await shown(25);
    await picture('scan');
    await page.click('.page-link-next');
    await shown(14);
  });
  await test('query by the partition key', async () => {
    const filters = encodeURIComponent(JSON.stringify({ pk: { type: 'S', operator: '=', value: 'b' } }));
    await page.goto(`${url}/tables/Admin?operationType=query&queryableSelection=table&filters=${filters}`);
    await until(rows, found => found.length === 19 && found.every(cells => cells[1] === '"b"'));
    await picture('query');
  });
  await test('edit an item', async () => {
    await page.goto(`${url}/tables/Admin/items/${encodeURIComponent('a,1')}`);
    await edit({ pk: 'a', sk: 1, name: 'Augusta' });
    await page.click('#saveButton');
    await page.waitForSelector('#saveButton.btn-success');
    await picture('item');
    assert.equal((await db.getItem({ TableName: 'Admin', Key: { pk: { S: 'a' }, sk: { N: '1' } } })).Item.name.S, 'Augusta');
  });
  await test('the description of the table', async () => {
    await page.goto(`${url}/tables/Admin/meta`);
    assert.match(await page.$eval('body', body => body.innerText), /table\/Admin/);
  });
  await test('delete all items, and the table', async () => {
    await page.goto(url);
    await page.waitForSelector('#table-list a[href$="/tables/Admin"]');
    // each loads the page again when it is done
    await go(() => page.evaluate(() => purgeTable('Admin')));
    assert.equal((await db.scan({ TableName: 'Admin', Select: 'COUNT' })).Count, 0);
    await page.waitForSelector('#table-list a[href$="/tables/Admin"]');
    await go(() => page.evaluate(() => deleteTable('Admin')));
    await until(async () => (await db.listTables({})).TableNames, names => !names.includes('Admin'));
  });
  await browser.close();
  server.removeAllListeners('exit');
  server.kill();
})();
