// The view Tables: what there is, with its keys and sizes; a table is created, and deleted when its name is typed.
import { call } from './client.js';
import { choice, dialog, doing, field, h, pager, show, tell } from './dom.js';
import { addressOf, indexesOf, keyText } from './place.js';

const PAGE = 25;
const TYPES = [['S', 'string'], ['N', 'number'], ['B', 'binary']];

async function describe(name) {
  const [{ Table: table }, { TimeToLiveDescription: ttl }] = await Promise.all([
    call('DescribeTable', { TableName: name }),
    call('DescribeTimeToLive', { TableName: name }).catch(() => ({ TimeToLiveDescription: {} }))]);
  return { ...table, ttl: ttl.AttributeName ?? '' };
}

function row(table, again) {
  const name = table.TableName;
  const collectionsOf = (index = '') => addressOf('collections', { table: name, index });
  return h('tr', {},
    h('td', {}, h('a', { href: collectionsOf() }, name)),
    h('td', {}, keyText(table.KeySchema, table.AttributeDefinitions)),
    h('td', {}, indexesOf(table).map(index => h('div', {}, h('a', { href: collectionsOf(index.IndexName) }, index.IndexName),
      `: ${keyText(index.KeySchema, table.AttributeDefinitions)}`))),
    h('td', { className: 'number' }, (table.ItemCount ?? 0).toLocaleString()),
    h('td', { className: 'number' }, (table.TableSizeBytes ?? 0).toLocaleString()),
    h('td', {}, table.ttl),
    h('td', {}, table.StreamSpecification?.StreamEnabled ? table.StreamSpecification.StreamViewType : ''),
    h('td', {}, h('button', { type: 'button', 'aria-label': `Delete ${name}`, onclick: () => askToDelete(name, again) }, 'Delete…')));
}

function askToDelete(name, again) {
  const typed = h('input', { autocomplete: 'off', spellcheck: false, oninput: () => { button.disabled = typed.value !== name; } });
  const button = h('button', { disabled: true }, 'Delete the table');
  const problem = h('p', { className: 'bad', role: 'alert' });
  const box = dialog(`Delete ${name}`, h('p', {}, 'All items of the table are lost. Type its name to delete it.'),
    h('form', { onsubmit: doing(async () => {
      if (typed.value !== name) return;
      try {
        await call('DeleteTable', { TableName: name });
      } catch (error) {
        problem.textContent = error.message;
        return;
      }
      box.close();
      await again();
      tell(`The table ${name} is deleted.`);
    }) }, field('Name', typed), button, h('button', { type: 'button', onclick: () => box.close() }, 'Cancel')), problem);
  typed.focus();
}

function creation(again) {
  const name = h('input', { required: true, name: 'name', autocomplete: 'off' });
  const keys = [['partition', true], ['sort', false]].map(([kind, required]) => ({ kind, required,
    name: h('input', { required, name: kind, autocomplete: 'off' }), type: choice(TYPES, 'S', { name: `${kind}-type` }) }));
  return h('form', { 'aria-label': 'Create a table', onsubmit: doing(async () => {
    const given = keys.filter(key => key.required || key.name.value !== '');
    await call('CreateTable', { TableName: name.value, BillingMode: 'PAY_PER_REQUEST',
      KeySchema: given.map(key => ({ AttributeName: key.name.value, KeyType: key.kind === 'partition' ? 'HASH' : 'RANGE' })),
      AttributeDefinitions: given.map(key => ({ AttributeName: key.name.value, AttributeType: key.type.value })) });
    const created = name.value;
    await again();
    tell(`The table ${created} is created.`);
  }) }, field('Name', name), keys.map(key => [field(`${key.kind === 'partition' ? 'Partition' : 'Sort'} key`, key.name), field('Type', key.type)]),
  h('button', {}, 'Create the table'));
}

export async function showTables(view, parameters, starts = [undefined]) {
  const start = starts.at(-1);
  const again = () => showTables(view, parameters, starts);
  const { TableNames: names, LastEvaluatedTableName: last } = await call('ListTables', { Limit: PAGE, ...(start ? { ExclusiveStartTableName: start } : {}) });
  // one of them may be gone by now, or be another role's
  const tables = await Promise.all(names.map(name => describe(name).catch(error => ({ TableName: name, error }))));
  show(view, h('h2', {}, 'Tables'),
    h('div', { className: 'scroll' }, h('table', {},
      h('thead', {}, h('tr', {}, ['Name', 'Keys', 'Indexes', 'Items', 'Bytes', 'TTL', 'Stream', ''].map(text =>
        h('th', { scope: 'col', ...(text === 'Items' || text === 'Bytes' ? { className: 'number' } : {}) }, text)))),
      h('tbody', {}, tables.map(table => table.error
        ? h('tr', {}, h('td', {}, table.TableName), h('td', { colSpan: 7 }, table.error.message)) : row(table, again))))),
    names.length === 0 ? h('p', {}, 'There is no table.') : null,
    h('div', { className: 'bar' }, pager(starts, last, next => showTables(view, parameters, next))),
    h('h2', {}, 'Create a table'), creation(again));
}
