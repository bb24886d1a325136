// The console in a headless Chromium, as a person uses it: with a key, with a wrong one, with one that may only read, and
// without; with items that want to become scripts; with edits that others are faster than.  argv: a folder for screenshots.
const assert = require('node:assert/strict');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const puppeteer = require('puppeteer-core');
const { test, until } = require('./check.js');

const folder = process.argv[2];
const endpoint = process.env.AWS_ENDPOINT_URL;
const shop = [process.env.AWS_ACCESS_KEY_ID, process.env.AWS_SECRET_ACCESS_KEY];
const guest = [process.env.GUEST_ACCESS_KEY_ID, process.env.GUEST_SECRET_ACCESS_KEY];
const db = new DynamoDB({});
const HOSTILE = '"><script>hacked = 1; alert(1)</script><img src=x onerror="hacked = 1">\'`${hacked = 1}';
const problems = []; // what no page may cause: reports of the policy, requests to others, errors, dialogs
const gateways = [];
let page;

const sql = text => execFileSync(process.env.PSQL, ['-qXAt', '-v', 'ON_ERROR_STOP=1', '-c', text], { encoding: 'utf8' });

// One more gateway in front of the same server, with settings of its own: its address.
function gateway(...settings) {
  const child = spawn(process.env.GATEWAY_PROGRAM, ['--listen', '127.0.0.1:0', '--database', process.env.GATEWAY_DATABASE, '--console', ...settings],
    { stdio: ['ignore', 'ignore', 'pipe'] });
  gateways.push(child);
  return new Promise((resolve, reject) => {
    let out = '';
    child.on('exit', status => reject(new Error(`the gateway ended with ${status}: ${out}`)));
    child.stderr.on('data', data => {
      out += data;
      const address = /listening.* address=127\.0\.0\.1:(\d+)/.exec(out);
      if (address) resolve(Number(address[1]));
    });
  });
}

const picture = name => page.screenshot({ path: path.join(folder, `console-${name}.png`), fullPage: true });
const text = () => page.evaluate(() => document.body.innerText);
const message = () => page.evaluate(() => document.getElementById('message')?.textContent ?? '');
const sees = wanted => until(text, found => found.includes(wanted));
const told = wanted => until(message, found => found.includes(wanted));
const there = selector => until(() => page.$(selector), found => found !== null);
const gone = selector => until(() => page.$(selector), found => found === null);
const rows = () => page.$$eval('tbody tr', all => all.map(row => [...row.cells].map(cell => cell.innerText.trim())));
const collections = () => page.$$eval('.collection', all => all.map(block => [block.querySelector('.partition').innerText.replace(/\s+/g, ' '),
  [...block.querySelectorAll('.item')].map(item => [...item.children].map(cell => cell.innerText.replace(/\s+/g, ' ')).join(' | '))]));

async function push(label, within = 'body') {
  await there(within);
  // it may be replaced at any time
  await until(() => page.evaluate((root, wanted) => {
    const button = [...document.querySelectorAll(`${root} button`)].find(b => b.innerText === wanted && !b.disabled);
    button?.click();
    return button !== undefined;
  }, within, label), pushed => pushed);
}

async function fill(selector, value) {
  await there(selector);
  await page.$eval(selector, (input, typed) => {
    input.value = typed;
    for (const kind of ['input', 'change']) input.dispatchEvent(new Event(kind, { bubbles: true }));
  }, value);
}

// A page in a tab of its own, which is watched.
async function open(browser, url) {
  if (page) await page.close();
  page = await browser.newPage();
  page.setDefaultTimeout(600e3);
  await page.setViewport({ width: 1100, height: 700 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
  const origin = new URL(url).origin;
  page.on('dialog', dialog => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('pageerror', error => problems.push(`error: ${error.message}`));
  page.on('console', line => { if (!/the server responded with a status of 4/.test(line.text())) problems.push(`console: ${line.text()}`); });
  asked = [];
  page.on('request', request => asked.push(request.headers()['x-amz-target']?.split('.')[1]));
  page.on('response', async response => {
    if (!/\.(Query|Scan|ExecuteStatement)$/.test(response.request().headers()['x-amz-target'])) return;
    last = { request: JSON.parse(response.request().postData()), answer: await response.json() };
  });
  page.on('request', request => { if (new URL(request.url()).origin !== origin) problems.push(`request: ${request.url()}`); });
  await page.evaluateOnNewDocument(() =>
    document.addEventListener('securitypolicyviolation', event => console.log(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  return page.goto(url);
}

async function enter([id, secret], region = 'us-east-1') {
  await there('input[name=id]');
  await page.$$eval('form input', inputs => inputs.forEach(input => { input.value = ''; }));
  await page.type('input[name=id]', id);
  await page.type('input[name=secret]', secret);
  await page.type('input[name=region]', region);
  await page.keyboard.press('Enter');
}

const S = value => ({ S: value });
const put = (table, item) => db.putItem({ TableName: table, Item: item });
const get = async (table, key) => (await db.getItem({ TableName: table, Key: key, ConsistentRead: true })).Item;
const editor = () => page.$eval('dialog textarea', area => JSON.parse(area.value));
const write = item => fill('dialog textarea', JSON.stringify(item));
const goTo = async hash => { await page.evaluate(to => { location.hash = to; }, hash); };

// Go there, also if it is where the page is, and wait until what was shown before is gone.
let visits = 0;
async function visit(hash) {
  await page.evaluate(to => {
    document.getElementById('view').firstElementChild.dataset.before = '';
    location.hash = to;
  }, `${hash}&visit=${++visits}`);
  await gone('[data-before]');
}

// What has been asked for since the page was opened: operations, and the last request with its answer.
let asked = [];
let last;

// The code that is shown, by language.
const codes = () => page.$$eval('.code details', all => Object.fromEntries(all.map(one => [one.firstChild.textContent, one.lastChild.textContent])));
const bytes = value => (value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value);

const runPython = input => execFileSync('/usr/bin/python3', ['-'], { encoding: 'utf8', input });

function runJavaScript(code) {
  const file = path.join(folder, 'console-code.mjs');
  fs.writeFileSync(file, code);
  return execFileSync('node', [file], { encoding: 'utf8' });
}

// Each form of the request that is shown does what the page has done: the items are the same, and the page after them.
async function isRight() {
  const { request, answer } = last;
  const code = await codes();
  assert.deepEqual(JSON.parse(code.JSON), request);
  const wanted = [answer.Items, answer.LastEvaluatedKey ?? null];
  const python = runPython(`${code.boto3}
import base64, json
print(json.dumps([answer["Items"], answer.get("LastEvaluatedKey")], default=lambda value: base64.b64encode(value).decode()))`);
  assert.deepEqual(JSON.parse(python.trimEnd().split('\n').at(-1)), wanted, 'boto3');
  const javascript = runJavaScript(`${code.JavaScript}
const bytes = ${bytes};
console.log(JSON.stringify([answer.Items, answer.LastEvaluatedKey ?? null], (name, value) => bytes(value)));`);
  assert.deepEqual(JSON.parse(javascript.trimEnd().split('\n').at(-1)), wanted, 'JavaScript');
  const key = request.Statement ? 'NULL' : 'last_evaluated_key';
  const rows = sql(`SET ROLE shop; WITH answer AS (${code.SQL.replace(/;\n$/, '')}) SELECT json_build_array(items::text[], ${key}::text) FROM answer`);
  const [items, next] = JSON.parse(rows);
  assert.deepEqual([items.map(JSON.parse), JSON.parse(next)], wanted, 'SQL');
}

// The records that are shown: what has happened, the key, and rows of attributes.
const records = () => page.$$eval('.record', all => all.map(one => [one.querySelector('strong').innerText, one.querySelector('.partition span').innerText,
  [...one.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.innerText))]));
const counted = n => sees(`Records: ${n}`);

// The conditions of Run by their place; each is an object of fields.
async function fillRun(conditions, more = {}) {
  for (const [n, fields] of conditions.entries()) {
    if (await page.$$eval('.condition', (all, at) => all.length <= at, n)) await push('Add a filter');
    for (const [name, value] of Object.entries(fields)) {
      await page.$$eval('.condition', (all, at, field, typed) => {
        const input = all[at].querySelector(`[name=${field}]`);
        input.value = typed;
        input.dispatchEvent(new Event('change', { bubbles: true }));
      }, n, name, value);
    }
  }
  for (const [name, value] of Object.entries(more)) await fill(`[name=${name}]`, value);
}

// Run it, and wait for its answer.
async function run(button = 'Run') {
  last = undefined;
  await push(button);
  await until(() => last, found => found !== undefined);
  await until(() => page.$('#results .bar'), found => found !== null);
  return last.answer;
}

async function openItem(part) {
  await until(() => page.evaluate(wanted => {
    const item = [...document.querySelectorAll('.item')].find(button => button.innerText.includes(wanted));
    item?.click();
    return item !== undefined;
  }, part), clicked => clicked);
  await there('dialog textarea');
}

async function main(browser) {
  await db.createTable({ TableName: 'Projects', BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }, { AttributeName: 'SK', KeyType: 'RANGE' }],
    AttributeDefinitions: ['PK', 'SK', 'GSI1PK'].map(name => ({ AttributeName: name, AttributeType: 'S' })),
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
    GlobalSecondaryIndexes: [{ IndexName: 'ByMail', Projection: { ProjectionType: 'KEYS_ONLY' },
      KeySchema: [{ AttributeName: 'GSI1PK', KeyType: 'HASH' }] }] });
  await db.updateTimeToLive({ TableName: 'Projects', TimeToLiveSpecification: { Enabled: true, AttributeName: 'expires' } });
  await put('Projects', { PK: S('ORG#a'), SK: S('#META'), Type: S('Org'), Name: S('A & Co') });
  for (const n of [2, 1]) await put('Projects', { PK: S('ORG#a'), SK: S(`USER#${n}`), Type: S('User'), GSI1PK: S(`u${n}@a.example`) });
  await put('Projects', { PK: S('ORG#b'), SK: S('#META'), Type: S('Org'), Name: S('B') });

  await test('a wrong key is refused, and not kept', async () => {
    await open(browser, `${endpoint}/console/`);
    await enter([shop[0], 'wrong']);
    await told('InvalidSignatureException');
    await enter(['AKIAUNKNOWN00000000A', shop[1]]);
    await told('UnrecognizedClientException');
    assert.equal(await page.evaluate(() => sessionStorage.length + localStorage.length), 0);
    await page.reload();
    await there('input[name=id]');
  });
  await test('the key stays in the tab until it is forgotten', async () => {
    await enter(shop);
    await sees('Projects');
    assert.deepEqual(await page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie]), [1, 0, '']);
    await page.reload();
    await sees('Projects');
    await push(`Forget key ${shop[0]}`);
    await there('input[name=id]');
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await enter(shop);
    await sees('Projects');
  });
  await test('tables are shown with keys, indexes, TTL and stream', async () => {
    const [row] = (await rows()).filter(cells => cells[0] === 'Projects');
    assert.deepEqual([row[1], row[2], row[5], row[6]], ['PK (S), SK (S)', 'ByMail: GSI1PK (S)', 'expires', 'NEW_IMAGE']);
    assert.ok(/^\d/.test(row[3]) && /^\d/.test(row[4]), row.join());
    await picture('tables');
  });
  await test('a table is created', async () => {
    await fill('input[name=name]', 'Made');
    await fill('input[name=partition]', 'pk');
    await fill('input[name=sort]', 'sk');
    await fill('select[name=sort-type]', 'N');
    await push('Create the table');
    await told('The table Made is created.');
    const { Table: table } = await db.describeTable({ TableName: 'Made' });
    assert.deepEqual([table.KeySchema.map(key => key.AttributeName), table.AttributeDefinitions], [['pk', 'sk'],
      [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'N' }]]);
    await fill('input[name=name]', 'Made');
    await fill('input[name=partition]', 'pk');
    await push('Create the table');
    await told('ResourceInUseException');
  });
  await test('a table is deleted when its name is typed', async () => {
    await (await page.$('button[aria-label="Delete Made"]')).click();
    await there('dialog');
    await fill('dialog input', 'Mad');
    assert.equal(await page.$eval('dialog button', button => button.disabled), true);
    await page.focus('dialog input');
    await page.keyboard.press('Enter');
    assert.ok((await db.listTables({})).TableNames.includes('Made'));
    await page.keyboard.type('e');
    await page.keyboard.press('Enter');
    await told('The table Made is deleted.');
    assert.ok(!(await db.listTables({})).TableNames.includes('Made'));
  });
  await test('collections are blocks, in order of their keys, coloured by kind', async () => {
    await goTo('#collections?table=Projects');
    await until(collections, found => found.length === 2);
    assert.deepEqual(await collections(), [
      ['PK ORG#a', ['SK #META | Type Org | Name A & Co', 'SK USER#1 | Type User | GSI1PK u1@a.example', 'SK USER#2 | Type User | GSI1PK u2@a.example']],
      ['PK ORG#b', ['SK #META | Type Org | Name B']]]);
    const colours = await page.$$eval('.item', all => all.map(item => getComputedStyle(item).borderLeftColor));
    assert.deepEqual([colours[1] === colours[2], colours[0] === colours[3], colours[0] === colours[1]], [true, true, false]);
    await picture('collections');
    await fill('select[name=kind]', '');
    await gone('.item.kind');
  });
  await test('an index, and the item that it leads to', async () => {
    await fill('select[name=index]', 'ByMail');
    await until(collections, found => found.length === 2 && found[0][0].startsWith('GSI1PK'));
    await openItem('USER#1');
    assert.deepEqual(await editor(), await get('Projects', { PK: S('ORG#a'), SK: S('USER#1') }));
    await page.keyboard.press('Escape');
    await gone('dialog');
  });
  await test('of views that are asked for at once the last one is shown', async () => {
    await page.evaluate(() => { for (const hash of ['#tables', '#collections?table=Projects&index=ByMail', '#tables']) location.hash = hash; });
    await there('tbody');
    await new Promise(resolve => setTimeout(resolve, 500));
    assert.equal(await page.$('.collection'), null);
  });
  await test('jump to a key', async () => {
    await goTo('#collections?table=Projects');
    await until(collections, found => found.length === 2 && found[0][0].startsWith('PK'));
    await fill('input[name=key-PK]', 'ORG#a');
    await fill('input[name=from]', 'USER#2');
    await push('Jump');
    await until(collections, found => found.length === 1 && found[0][1].length === 1);
    await push('All collections');
    await until(collections, found => found.length === 2);
  });
  await test('pages of a table with a million items', async () => {
    sql("SET ROLE shop; SELECT dyn_create_table('Many', 'pk N', 'sk N')");
    sql(`INSERT INTO "Many" (item) SELECT jsonb_build_object('pk', i / 30, 'sk', i % 30)::dyn_item FROM generate_series(0, 999999) i`);
    await goTo('#tables');
    await until(rows, found => found.some(cells => cells[0] === 'Many'));
    await goTo('#collections?table=Many');
    await until(collections, found => found.length === 2 && found[1][1].length === 20);
    await push('Next page');
    await until(collections, found => found[0][1].length === 10 && found[0][1][0].startsWith('sk 20'));
    await push('Next page');
    await until(collections, found => found[0][0] === 'pk 3' && found[0][1][0].startsWith('sk 10') && found.flatMap(block => block[1]).length === 50);
    await push('Previous page');
    await until(collections, found => found[0][0] === 'pk 1');
    await push('Previous page');
    await until(collections, found => found[0][0] === 'pk 0' && found[0][1].length === 30);
    await fill('input[name=key-pk]', '33333');
    await push('Jump');
    await until(collections, found => found.length === 1 && found[0][0] === 'pk 33333' && found[0][1].length === 10);
    await fill('input[name=key-pk]', 'three');
    await push('Jump');
    await told('ValidationException');
  });
  await test('an edit keeps types', async () => {
    const item = { PK: S('ORG#c'), SK: S('#META'), Type: S('Org'), n: { N: '12345678901234567890.5' }, b: { B: 'AAEC' }, ss: { SS: ['a', 'b'] },
      m: { M: { l: { L: [{ NULL: true }, { BOOL: false }] } } }, old: S('x') };
    await db.putItem({ TableName: 'Projects', Item: { ...item, b: { B: new Uint8Array([0, 1, 2]) } } });
    await goTo('#collections?table=Projects&again');
    await openItem('12345678901234567890.5');
    assert.deepEqual(await editor(), item);
    const { old, ...rest } = item;
    await write({ ...rest, n: { N: '12345678901234567891.5' }, more: { NS: ['1', '2'] } });
    await picture('item');
    await push('Save', 'dialog');
    await told('The item is saved.');
    const saved = await get('Projects', { PK: S('ORG#c'), SK: S('#META') });
    assert.deepEqual([saved.n, [...saved.b.B], saved.ss, saved.m, saved.more, saved.old], [{ N: '12345678901234567891.5' }, [0, 1, 2], item.ss, item.m,
      { NS: ['1', '2'] }, undefined]);
  });
  await test('what is no item is refused, and the text stays', async () => {
    const key = { PK: S('ORG#b'), SK: S('#META') };
    await openItem('Name\nB');
    const item = await editor();
    for (const [wrong, why] of [['{', 'This is no JSON'], ['[]', 'An item is an object'], [JSON.stringify({ ...item, PK: S('x') }), 'cannot be changed'],
      [JSON.stringify({ ...item, Name: 'B' }), 'SerializationException']]) {
      await fill('dialog textarea', wrong);
      await push('Save', 'dialog');
      await until(() => page.$eval('dialog [role=alert]', alert => alert.innerText), found => found.includes(why));
      assert.equal(await page.$eval('dialog textarea', area => area.value), wrong);
    }
    assert.deepEqual(await get('Projects', key), item);
    await push('Cancel', 'dialog');
  });
  await test('an edit is lost to a concurrent change, and says so', async () => {
    const key = { PK: S('ORG#b'), SK: S('#META') };
    await openItem('Name\nB');
    const item = await editor();
    await put('Projects', { ...item, Name: S('theirs') });
    await write({ ...item, Name: S('mine') });
    await push('Save', 'dialog');
    await sees('somebody has changed the item since you opened it');
    assert.ok((await page.$eval('dialog pre', shown => shown.innerText)).includes('theirs'));
    await picture('lost');
    assert.equal((await get('Projects', key)).Name.S, 'theirs');
    // also where what has changed is another attribute, and where it is gone
    await push('Edit this one instead', 'dialog');
    await put('Projects', { ...item, Name: S('theirs'), Type: S('Other') });
    await write({ ...item, Name: S('mine') });
    await push('Save', 'dialog');
    await until(() => page.$('dialog pre'), found => found !== null);
    assert.equal((await get('Projects', key)).Name.S, 'theirs');
    await push('Edit this one instead', 'dialog');
    await write({ ...await editor(), Name: S('mine') });
    await page.focus('dialog textarea');
    await page.keyboard.down('Control');
    await page.keyboard.press('Enter');
    await page.keyboard.up('Control');
    await told('The item is saved.');
    assert.deepEqual(await get('Projects', key), { ...item, Name: S('mine'), Type: S('Other') });
    await openItem('mine');
    await db.deleteItem({ TableName: 'Projects', Key: key });
    await write({ ...item, Name: S('again') });
    await push('Save', 'dialog');
    await sees('somebody has deleted the item since you opened it');
    assert.equal(await get('Projects', key), undefined);
    await push('Cancel', 'dialog');
  });
  await test('an item with more attributes than a condition may have', async () => {
    const item = { PK: S('ORG#wide'), SK: S('#META'), ...Object.fromEntries([...Array(400).keys()].map(n => [`a${n}`, S(`${n}`)])) };
    const key = { PK: item.PK, SK: item.SK };
    await put('Projects', item);
    await goTo('#collections?table=Projects&wide');
    await openItem('#META\na0');
    await write({ ...item, a399: S('mine') });
    await push('Save', 'dialog');
    await told('The item is saved.');
    assert.deepEqual(await get('Projects', key), { ...item, a399: S('mine') });
    await openItem('#META\na0');
    await put('Projects', { ...item, a399: S('theirs') });
    await write({ ...item, a399: S('again') });
    await push('Save', 'dialog');
    await sees('somebody has changed the item since you opened it');
    await push('Cancel', 'dialog');
    await db.deleteItem({ TableName: 'Projects', Key: key });
  });
  await test('what wants to be a script is text', async () => {
    await db.createTable({ TableName: 'Hostile', BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: HOSTILE, KeyType: 'HASH' }, { AttributeName: `s${HOSTILE}`, KeyType: 'RANGE' }],
      AttributeDefinitions: [HOSTILE, `s${HOSTILE}`].map(name => ({ AttributeName: name, AttributeType: 'S' })) });
    const item = { [HOSTILE]: S(HOSTILE), [`s${HOSTILE}`]: S(HOSTILE), Type: S(HOSTILE), ['__proto__']: S('x'), constructor: S('y'),
      [`m${HOSTILE}`]: { M: { [HOSTILE]: { SS: [HOSTILE] } } } };
    await put('Hostile', item);
    await goTo('#tables');
    await until(rows, found => found.some(cells => cells[0] === 'Hostile' && cells[1].includes(HOSTILE)));
    await goTo('#collections?table=Hostile');
    await openItem(HOSTILE);
    const found = await editor();
    await write({ ...found, more: S(HOSTILE) });
    await push('Save', 'dialog');
    await told('The item is saved.');
    await sees('more');
    await picture('hostile');
    await goTo(`#collections?${new URLSearchParams({ table: HOSTILE })}`);
    await until(message, shown => shown !== '');
    await goTo('#constructor');
    await there('tbody');
    assert.deepEqual(await page.evaluate(() => [typeof hacked, document.querySelectorAll('script, img').length]), ['undefined', 1]);
    await db.deleteTable({ TableName: 'Hostile' });
  });
  // names and values with all that ends a literal somewhere
  const NAME = `it's "a\\b"\n</script>$q$'''`;
  const VALUE = `${HOSTILE}\\'\\"\n\t\u0001\u202e$q$ $$ \${x} %s :v0 \u{1F600}`;
  await test('a query by the form is the same as JSON, boto3, JavaScript and SQL', async () => {
    await db.createTable({ TableName: 'Asked', BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: NAME, KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
      AttributeDefinitions: [[NAME, 'S'], ['sk', 'S'], ['gk', 'B'], ['gs', 'N']].map(([name, type]) => ({ AttributeName: name, AttributeType: type })),
      GlobalSecondaryIndexes: [{ IndexName: 'By-bytes', Projection: { ProjectionType: 'ALL' },
        KeySchema: [{ AttributeName: 'gk', KeyType: 'HASH' }, { AttributeName: 'gs', KeyType: 'RANGE' }] }] });
    for (let n = 0; n < 5; n++) {
      await put('Asked', { [NAME]: S(VALUE), sk: S(`${VALUE}${n}`), gk: { B: new Uint8Array([0, 255, 39, 92]) }, gs: { N: `${n}` },
        Type: S(n % 2 ? 'odd' : VALUE), [`f${NAME}`]: S(VALUE), flag: { BOOL: n < 3 }, none: { NULL: true }, set: { SS: [VALUE, 'a'] },
        bytes: { BS: [new Uint8Array([1, 2])] }, map: { M: { B: S('no bytes'), [NAME]: { L: [{ B: new Uint8Array([n]) }, S(VALUE)] } } } });
    }
    await visit('#run?table=Asked');
    const names = JSON.stringify([NAME, 'sk', `f${NAME}`, 'map']).slice(1, -1);
    await fillRun([{ value: VALUE }, { operator: 'begins_with', value: VALUE }, { attribute: JSON.stringify(`f${NAME}`), operator: 'contains', value: VALUE },
      { attribute: 'map', operator: '<>', type: 'JSON',
        value: JSON.stringify({ M: { B: S(`\r\n${VALUE}\0`), x: { L: [{ B: 'AP8=' }, { BS: ['AQI='] }] } } }) },
      { attribute: 'flag', type: 'BOOL', value: 'true' }, { attribute: 'none', type: 'NULL' },
      { attribute: 'bytes', type: 'JSON', value: '{"BS": ["AQI="]}' }],
    { projection: names, direction: 'backward' });
    const answer = await run();
    assert.deepEqual(answer.Items.map(item => [Object.keys(item).length, item.sk.S]), [2, 1, 0].map(n => [4, `${VALUE}${n}`]));
    assert.ok((await text()).includes(`Items: 3 of 5 read, capacity ${answer.ConsumedCapacity.CapacityUnits}`));
    await isRight();
    await picture('run');
  });
  await test('pages, and each page as code', async () => {
    await fillRun([{ value: VALUE }, { operator: 'BETWEEN', value: `${VALUE}1`, value2: `${VALUE}3` }], { limit: '2', projection: '' });
    for (let n = 0; n < 5; n++) await push('Remove');
    assert.deepEqual((await run()).Items.map(item => item.sk.S.at(-1)), ['3', '2']);
    await isRight();
    assert.deepEqual((await run('Next page')).Items.map(item => item.sk.S.at(-1)), ['1']);
    await isRight();
    assert.deepEqual((await run('Previous page')).Items.map(item => item.sk.S.at(-1)), ['3', '2']);
    await openItem(`${VALUE}3`.slice(0, 30));
    assert.equal((await editor()).sk.S, `${VALUE}3`);
    await page.keyboard.press('Escape');
    await gone('dialog');
  });
  await test('a query and a scan of an index with keys of bytes and numbers', async () => {
    await fill('select[name=index]', 'By-bytes');
    await until(() => page.$$eval('.condition', all => all[0].innerText), found => found.includes('gk (B)'));
    await fillRun([{ value: 'AP8nXA==' }, { operator: '>=', value: '1' }], { limit: '2' });
    assert.deepEqual((await run()).Items.map(item => item.gs.N), ['1', '2']);
    assert.deepEqual((await run('Next page')).Items.map(item => item.gs.N), ['3', '4']);
    await isRight();
    await fill('select[name=by]', 'Scan');
    await until(() => page.$('.condition'), found => found === null);
    await fillRun([{ attribute: 'gs', operator: 'BETWEEN', type: 'N', value: '1', value2: '3' }, { attribute: 'no', operator: 'attribute_not_exists' }],
      { limit: '3', projection: 'sk, gs' });
    assert.deepEqual((await run()).Items.map(item => item.gs.N), ['1', '2']);
    await isRight();
    assert.deepEqual((await run('Next page')).Items.map(item => item.gs.N), ['3']);
    await isRight();
  });
  await test('a statement in PartiQL with values, page by page', async () => {
    await fill('select[name=by]', 'ExecuteStatement');
    const quoted = `"${NAME.replaceAll('"', '""')}"`;
    await fill('[name=statement]', `SELECT *\nFROM "Asked"\nWHERE ${quoted} = '${VALUE.replaceAll("'", "''")}' AND gk = ?`);
    await fill('[name=parameters]', '[{"B": "AP8nXA=="}]');
    await fill('[name=limit]', '2');
    assert.deepEqual((await run()).Items.map(item => item.gs.N), ['0', '1']);
    await isRight();
    assert.deepEqual((await run('Next page')).Items.map(item => item.gs.N), ['2', '3']);
    await isRight();
    await fill('[name=statement]', 'SELECT sk FROM Nowhere WHERE a = ?');
    await push('Run');
    await told('ResourceNotFoundException');
    await fill('[name=parameters]', '');
    await fill('[name=statement]', `UPDATE "Asked" SET flag = true WHERE ${quoted} = 'x'`);
    await push('Run');
    await told('ValidationException');
  });
  await test('a name that jsonb cannot have', async () => {
    await visit('#run?table=Asked&by=Scan');
    await fillRun([{ attribute: '"zero\\u0000"', operator: 'attribute_not_exists' }], { projection: '"sk", "zero\\u0000"' });
    const { Items: items } = await run();
    assert.equal(items.length, 5);
    assert.deepEqual(JSON.parse(sql(`SET ROLE shop; ${(await codes()).SQL}`)).Items, items);
  });
  await test('what is no value is refused', async () => {
    await visit('#run?table=Asked&by=Scan');
    await fillRun([{ attribute: 'flag', type: 'BOOL', value: 'yes' }]);
    await push('Run');
    await told('A value of type BOOL is true or false.');
    await fillRun([{ type: 'JSON', value: '{' }]);
    await push('Run');
    await told('This is no JSON');
    await fillRun([{ type: 'N', value: 'one' }]);
    await push('Run');
    await told('ValidationException');
  });
  await test('a scan of a million items reads a page', async () => {
    await visit('#run?table=Many&by=Scan');
    await fillRun([{ attribute: 'pk', type: 'N', value: '-1' }]);
    assert.deepEqual([(await run()).Count, (await run('Next page')).ScannedCount], [0, 50]);
    await push('Remove');
    assert.equal((await run()).Items.length, 50);
    await isRight();
    assert.equal((await run('Next page')).Items.length, 50);
    await isRight();
  });
  await test('a table without a stream says how it is enabled, by code that works', async () => {
    const stop = () => db.updateTable({ TableName: 'Asked', StreamSpecification: { StreamEnabled: false } });
    await visit('#stream?table=Asked');
    await sees('The table Asked has no stream.');
    const code = await codes();
    for (const enable of [() => runPython(code.boto3), () => runJavaScript(code.JavaScript), () => sql(`SET ROLE shop; ${code.SQL}`),
      () => db.updateTable(JSON.parse(code.JSON))]) {
      enable();
      await until(async () => (await db.describeTable({ TableName: 'Asked' })).Table.StreamSpecification?.StreamViewType,
        found => found === 'NEW_AND_OLD_IMAGES');
      await stop();
    }
    await visit('#stream?table=Asked');
    await told('This stream is disabled');
    assert.equal(await page.$$eval('[name=stream] option', all => all.length), 4);
    sql(`SET ROLE shop; ${code.SQL}`);
  });
  await test('records come, and what has changed is marked', async () => {
    await visit('#stream?table=Asked');
    await until(() => page.$$eval('[name=stream] option', all => all.length), found => found === 5);
    await until(() => asked.at(-1), found => found === 'GetRecords');
    const key = { [NAME]: S(HOSTILE), sk: S('r') };
    await put('Asked', { ...key, [HOSTILE]: S(HOSTILE), same: { M: { a: S('x'), b: { N: '1' } } }, old: S('o'), n: { N: '1' } });
    await counted(1);
    await put('Asked', { ...key, [HOSTILE]: S(`${HOSTILE}!`), same: { M: { b: { N: '1' }, a: S('x') } }, n: { N: '1.00' }, young: { NULL: true } });
    await db.deleteItem({ TableName: 'Asked', Key: key });
    await counted(3);
    const [removed, modified, inserted] = await records();
    const shown = text => text.replace(/\s+/g, ' ');
    assert.deepEqual([removed[0], modified[0], inserted[0]], ['REMOVE', 'MODIFY', 'INSERT']);
    assert.ok(shown(removed[1]).includes(HOSTILE));
    const same = '{"a":{"S":"x"},"b":{"N":"1"}}';
    assert.deepEqual(modified[2].map(cells => cells.map(shown)), [[shown(NAME), HOSTILE, HOSTILE, ''], ['sk', 'r', 'r', ''],
      [HOSTILE, HOSTILE, `${HOSTILE}!`, 'changed'], ['n', '1', '1', ''], ['old', 'o', '', 'removed'], ['same', same, same, ''],
      ['young', '', 'null', 'added']]);
    assert.deepEqual([removed, inserted].map(record => [record[2].length, new Set(record[2].map(cells => cells.at(-1)))]),
      [[6, new Set([''])], [6, new Set([''])]]);
    await picture('stream');
  });
  await test('shards are split and closed while it is read, and the last 200 records are shown', async () => {
    await push('Pause');
    const write = (from, to) => sql(`SET ROLE shop; INSERT INTO "Asked" (item) SELECT jsonb_build_object($z$${NAME}$z$, 'p' || i % 7, 'sk', 's' || i)::dyn_item
      FROM generate_series(${from}, ${to - 1}) i`);
    write(0, 150);
    sql('SET ROLE shop; SELECT dyn_alter_stream(\'Asked\', 8)');
    write(150, 300);
    sql('SET ROLE shop; SELECT dyn_alter_stream(\'Asked\', 16)');
    write(300, 400);
    await push('Go on');
    await counted(403);
    assert.equal((await records()).length, 200);
    await fill('select[name=from]', 'TRIM_HORIZON');
    await until(text, found => !found.includes('Records: 403'));
    await counted(403);
    assert.equal(await message(), '');
  });
  await test('what happens to an item is shown in its order, across shards', async () => {
    await visit('#stream?table=Asked');
    await counted(0);
    await until(() => asked.at(-1), found => found === 'GetRecords');
    for (let n = 0; n < 3; n++) {
      if (n) sql(`SET ROLE shop; SELECT dyn_alter_stream('Asked', ${16 * 2 ** n})`);
      await put('Asked', { [NAME]: S('order'), sk: S('o'), n: { N: `${n}` } });
    }
    await counted(3);
    assert.deepEqual((await records()).map(record => record[2].find(cells => cells[0] === 'n').slice(1)),
      [['1', '2', 'changed'], ['0', '1', 'changed'], ['0', '']]);
  });
  await test('nothing is asked for when the view is left, and after the end of the stream', async () => {
    const isRead = async () => {
      const before = asked.length;
      await new Promise(resolve => setTimeout(resolve, 2000));
      return asked.slice(before).includes('GetRecords');
    };
    assert.equal(await isRead(), true);
    await visit('#tables?');
    assert.equal(await isRead(), false);
    await visit('#stream?table=Asked');
    await until(() => asked.at(-1), found => found === 'GetRecords');
    await db.updateTable({ TableName: 'Asked', StreamSpecification: { StreamEnabled: false } });
    await told('This stream is disabled: it has no more records.');
    assert.equal(await isRead(), false);
  });
  await test('by the keyboard, in the dark, on a narrow screen', async () => {
    await page.setViewport({ width: 360, height: 640 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    await goTo('#collections?table=Projects');
    await there('.item');
    const isNarrow = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth
      && [...document.querySelectorAll('dialog')].every(dialog => dialog.getBoundingClientRect().right <= innerWidth));
    assert.ok(await isNarrow(), 'it is as wide as the screen');
    const [r] = await page.evaluate(() => getComputedStyle(document.documentElement, null).colorScheme.includes('dark')
      && [Number(/\d+/.exec(getComputedStyle(document.querySelector('dialog, select')).color)[0])]);
    assert.ok(r > 128, 'letters are light');
    await picture('narrow');
    await page.focus('input[name=from]');
    for (let n = 0; n < 40 && !await page.evaluate(() => document.activeElement.classList.contains('item')); n++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await there('dialog textarea');
    assert.ok(await isNarrow(), 'so is the editor');
    await picture('narrow-item');
    await page.keyboard.press('Escape');
    await gone('dialog');
    assert.ok(await page.evaluate(() => document.activeElement.classList.contains('item')), 'the focus is where it was');
    await visit('#run?table=Projects');
    await page.focus('[name=value]');
    await page.keyboard.type('ORG#a');
    await page.keyboard.press('Enter');
    await there('#results .item');
    assert.ok(await isNarrow(), 'so is Run');
    await picture('narrow-run');
    await visit('#stream?table=Projects&from=TRIM_HORIZON');
    await there('.record');
    assert.ok(await isNarrow(), 'so is Stream');
    await picture('narrow-stream');
  });
  await test('a key that may only read', async () => {
    sql('GRANT SELECT ON "Projects" TO guest');
    await open(browser, `${endpoint}/console/#collections?table=Projects`);
    await enter(guest);
    await openItem('A & Co');
    const item = await editor();
    await write({ ...item, Name: S('changed') });
    await push('Save', 'dialog');
    await sees('AccessDeniedException');
    assert.deepEqual(await get('Projects', { PK: S('ORG#a'), SK: S('#META') }), item);
    await push('Cancel', 'dialog');
    await visit('#run?table=Projects&by=ExecuteStatement');
    await fill('[name=statement]', 'SELECT * FROM Projects WHERE PK = \'ORG#a\'');
    assert.equal((await run()).Items.length, 3);
    await fill('[name=statement]', 'UPDATE Projects SET a = 1 WHERE PK = \'ORG#a\' AND SK = \'#META\'');
    await push('Run');
    await told('AccessDeniedException');
    await visit('#stream?table=Projects&from=TRIM_HORIZON');
    await until(records, found => found.some(([name, key]) => name === 'INSERT' && key.includes('ORG#a')));
    await visit('#stream?table=Asked');
    await told('AccessDeniedException');
    assert.equal(await page.$('#records'), null);
  });
  await test('over plain http from another host it says that the cryptography is missing', async () => {
    await open(browser, `http://plain.test:${new URL(endpoint).port}/console/`);
    await told('Browsers have their cryptography, by which requests are signed, on https and on localhost only');
    assert.equal(await page.$('input'), null);
  });
  await test('over TLS from another host it works', async () => {
    const files = ['-keyout', path.join(folder, 'console.key'), '-out', path.join(folder, 'console.pem')];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=tls.test', ...files], { stdio: 'ignore' });
    const port = await gateway('--key-file', process.env.GATEWAY_KEY_FILE, '--tls-key', files[1], '--tls-certificate', files[3]);
    await open(browser, `https://tls.test:${port}/console/`);
    await enter(shop);
    await sees('Projects');
  });
  await test('without keys none is asked for, and a foreign host is refused', async () => {
    const port = await gateway('--auth', 'none', '--auth-role', 'shop');
    await open(browser, `http://127.0.0.1:${port}/console/#collections?table=Projects`);
    await openItem('A & Co');
    await write({ ...await editor(), Name: S('A') });
    await push('Save', 'dialog');
    await told('The item is saved.');
    const answer = await open(browser, `http://plain.test:${port}/console/`);
    assert.equal(answer.status(), 400);
    assert.ok((await text()).includes('AccessDeniedException'));
  });
  await test('the table of docs/modelling.md, whose pictures the documents have', async () => {
    const blocks = fs.readFileSync(path.join(folder, '../../docs/modelling.md'), 'utf8').matchAll(/^```sql\n(.*?)^```$/gms);
    execFileSync(process.env.PSQL, ['-qX', '-v', 'ON_ERROR_STOP=1'], { input: ['SET ROLE shop; SET client_min_messages = warning;\n',
      ...[...blocks].map(block => block[1])].join('') });
    const draw = name => page.screenshot({ path: path.join(process.env.PICTURES || folder, `console-${name}.png`), fullPage: true });
    await open(browser, `${endpoint}/console/#collections?table=app`);
    await enter(shop);
    await until(collections, found => found.length === 3);
    await page.setViewport({ width: 1200, height: 500 });
    const kinds = await page.$$eval('.kind-name', all => all.map(cell => cell.innerText.split('\n').at(-1)));
    assert.deepEqual([...new Set(kinds)].sort(), ['Email', 'Org', 'Project', 'User']);
    await draw('organization');
    await visit('#run?table=app');
    await fillRun([{ value: 'ORG#lumen' }, { operator: 'begins_with', value: 'USER#' }], { projection: 'SK, Email, Born' });
    assert.equal((await run()).Items.length, 2);
    await page.$$eval('summary', all => all.find(one => one.innerText === 'SQL').click());
    await isRight();
    await page.mouse.click(1, 1);
    await draw('query');
  });
  await test('no report of the policy, no error, no request to another host', async () => {
    // pages of errors have no icon
    assert.deepEqual(problems, []);
  });
}

(async () => {
  const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', userDataDir: path.join(folder, 'chromium-console'),
    acceptInsecureCerts: true,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--host-resolver-rules=MAP *.test 127.0.0.1'] });
  try {
    await main(browser);
  } finally {
    await browser.close();
    for (const child of gateways) {
      child.removeAllListeners('exit');
      child.kill();
    }
  }
})();
