// electrodb: entities and collections in one table.
const assert = require('node:assert/strict');
const { DynamoDB } = require('@aws-sdk/client-dynamodb');
const { Entity, Service } = require('electrodb');
const { test, failure } = require('./check.js');

const client = new DynamoDB({});
const table = 'electro';
const index = (pk, sk, more) => ({ ...more, pk: { field: pk, ...more.pk }, sk: { field: sk, ...more.sk } });
const User = new Entity({
  model: { entity: 'user', version: '1', service: 'tracker' },
  attributes: {
    org: { type: 'string', required: true }, user: { type: 'string', required: true }, email: { type: 'string' }, logins: { type: 'number', default: 0 },
    roles: { type: 'set', items: 'string' }, address: { type: 'map',
      properties: { city: { type: 'string' }, lines: { type: 'list', items: { type: 'string' } } } },
    plan: { type: ['free', 'paid'], default: () => 'free' },
  },
  indexes: {
    byOrg: index('pk', 'sk', { collection: 'members', pk: { composite: ['org'] }, sk: { composite: ['user'] } }),
    byEmail: index('gsi1pk', 'gsi1sk', { index: 'gsi1', pk: { composite: ['email'] }, sk: { composite: [] } }),
  },
}, { client, table });
const Task = new Entity({
  model: { entity: 'task', version: '1', service: 'tracker' },
  attributes: { org: { type: 'string' }, task: { type: 'string' }, points: { type: 'number' }, due: { type: 'string' } },
  indexes: { byOrg: index('pk', 'sk', { collection: 'members', pk: { composite: ['org'] }, sk: { composite: ['task'] } }) },
}, { client, table });
const service = new Service({ User, Task });

(async () => {
  await client.createTable({ TableName: table, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: ['pk', 'sk', 'gsi1pk', 'gsi1sk'].map(AttributeName => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
    GlobalSecondaryIndexes: [{ IndexName: 'gsi1', Projection: { ProjectionType: 'ALL' },
      KeySchema: [{ AttributeName: 'gsi1pk', KeyType: 'HASH' }, { AttributeName: 'gsi1sk', KeyType: 'RANGE' }] }] });

  const ada = { org: 'acme', user: 'ada', email: 'ada@acme', roles: ['admin', 'dev'], address: { city: 'London', lines: ['1 Road', ''] } };
  await test('create, get, create again', async () => {
    await User.create(ada).go();
    assert.deepEqual((await User.get({ org: 'acme', user: 'ada' }).go()).data, { ...ada, logins: 0, plan: 'free' });
    const e = await failure(User.create(ada).go());
    assert.match(e.message, /The conditional request failed/);
    assert.equal((await User.get({ org: 'acme', user: 'nobody' }).go()).data, null);
  });
  await test('patch with add, append, delete, where', async () => {
    const { data } = await User.patch({ org: 'acme', user: 'ada' }).add({ logins: 2, roles: ['ops'] }).set({ plan: 'paid' })
      .where(({ plan }, { eq }) => eq(plan, 'free')).go({ response: 'all_new' });
    assert.deepEqual([data.logins, data.plan, [...data.roles].sort()], [2, 'paid', ['admin', 'dev', 'ops']]);
    await assert.rejects(User.patch({ org: 'acme', user: 'ada' }).set({ plan: 'paid' }).where(({ plan }, { eq }) => eq(plan, 'free')).go());
    await assert.rejects(User.patch({ org: 'acme', user: 'nobody' }).set({ plan: 'paid' }).go());
    const { data: listed } = await User.patch({ org: 'acme', user: 'ada' }).data(({ address }, { append, remove }) => {
      append(address.lines, ['2 Road']);
      remove(address.city);
    }).go({ response: 'all_new' });
    assert.deepEqual(listed.address, { lines: ['1 Road', '', '2 Road'] });
  });
  await test('batch put, batch get, query by pages', async () => {
    await Task.put(Array.from({ length: 60 }, (_,
      n) => ({ org: 'acme', task: `t${String(n).padStart(2, '0')}`, points: n, due: `2026-02-${n % 28 + 1}` }))).go();
    const { data, unprocessed } = await Task.get([3, 59, 60].map(n => ({ org: 'acme', task: `t${String(n).padStart(2, '0')}` }))).go();
    assert.deepEqual(data.map(t => t.points).sort((a, b) => a - b), [3, 59]);
    assert.deepEqual(unprocessed, []);
    const points = [];
    let cursor = null;
    do {
      const page = await Task.query.byOrg({ org: 'acme' }).go({ limit: 25, cursor });
      points.push(...page.data.map(t => t.points));
      cursor = page.cursor;
    } while (cursor);
    assert.deepEqual(points, Array.from({ length: 60 }, (_, n) => n));
  });
  await test('ranges, filters, the index, the collection', async () => {
    const { data: some } = await Task.query.byOrg({ org: 'acme' }).between({ task: 't10' }, { task: 't12' }).where(({ points }, { gt }) => gt(points, 10)).go();
    assert.deepEqual(some.map(t => t.points), [11, 12]);
    assert.equal((await User.query.byEmail({ email: 'ada@acme' }).go()).data[0].user, 'ada');
    const { data } = await service.collections.members({ org: 'acme' }).go({ pages: 'all' });
    assert.deepEqual([data.User.length, data.Task.length], [1, 60]);
    assert.equal((await Task.scan.where(({ due }, { begins }) => begins(due, '2026-02-1')).go({ pages: 'all' })).data.length,
      60 - [...Array(60).keys()].filter(n => !`${n % 28 + 1}`.startsWith('1')).length);
  });
  await test('transactions', async () => {
    await service.transaction.write(({ User, Task }) => [
      User.patch({ org: 'acme', user: 'ada' }).add({ logins: 1 }).commit(), Task.delete({ org: 'acme', task: 't00' }).commit()]).go();
    const { data } = await service.transaction.get(({ User, Task }) => [User.get({ org: 'acme', user: 'ada' }).commit(),
      Task.get({ org: 'acme', task: 't00' }).commit()]).go();
    assert.deepEqual([data[0].item.logins, data[1].item], [3, null]);
    const cancelled = await service.transaction.write(({ User, Task }) => [
      User.create({ org: 'acme', user: 'ada' }).commit({ response: 'all_old' }), Task.put({ org: 'acme', task: 'new' }).commit()]).go();
    assert.equal(cancelled.canceled, true);
    assert.deepEqual([cancelled.data[0].code, cancelled.data[0].item.user, cancelled.data[1].code], ['ConditionalCheckFailed', 'ada', 'None']);
  });
  await client.deleteTable({ TableName: table });
})();
