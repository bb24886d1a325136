// The view Collections: item collections of a table or an index as blocks, the partition key at the left, the items in the
// order of the sort key.  It reads a page at a time: by Scan, or by Query where a partition key is given.
import { call } from './client.js';
import { choice, doing, field, h, show, tell } from './dom.js';
import { openItem } from './item.js';
import { collectionsOf, keyText } from './tables.js';

const PAGE = 50;
const LONGEST = 120;
// attributes that usually say which kind of entity an item is
const KINDS = ['entity', 'entitytype', 'entity_type', '_type', 'type', '__typename', '__edb_e__', 'kind', '_et'];

// A value of DynamoDB JSON in short; what is nested keeps its types.
export function valueText(value) {
  const [type, data] = Object.entries(value)[0];
  const text = type === 'S' || type === 'N' || type === 'B' ? data
    : type === 'BOOL' ? String(data) : type === 'NULL' ? 'null'
      : /^[SNB]S$/.test(type) ? `{${data.join(', ')}}` : JSON.stringify(data);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

// The names of the partition key and of the sort key, each of which may have several attributes.
export const keysOf = (schema, type) => schema.filter(key => key.KeyType === type).map(key => key.AttributeName);

// Pages by what the user has typed: a partition key, and from where on in the sort key.
function readRequest(place, typed, start) {
  const request = { TableName: place.table.TableName, Limit: PAGE, ReturnConsumedCapacity: 'TOTAL',
    ...(place.index ? { IndexName: place.index.IndexName } : {}), ...(start ? { ExclusiveStartKey: start } : {}) };
  if (typed === null) return ['Scan', request];
  const names = {};
  const values = {};
  const conditions = typed.map(({ name, value, from }, i) => {
    names[`#k${i}`] = name;
    values[`:k${i}`] = { [place.type(name)]: value };
    return `#k${i} ${from ? '>=' : '='} :k${i}`;
  });
  return ['Query', { ...request, KeyConditionExpression: conditions.join(' AND '), ExpressionAttributeNames: names, ExpressionAttributeValues: values }];
}

// Items that follow one another with the same partition key are one block.
function blocksOf(items, partition) {
  const blocks = [];
  for (const item of items) {
    const key = JSON.stringify(partition.map(name => item[name]));
    if (blocks.at(-1)?.key !== key) blocks.push({ key, items: [] });
    blocks.at(-1).items.push(item);
  }
  return blocks;
}

// The attribute that tells kinds apart, unless another one is chosen; "" where there is none.
function usualKind(names) {
  for (const kind of KINDS) {
    const found = names.find(name => name.toLowerCase() === kind);
    if (found !== undefined) return found;
  }
  return '';
}

// Kinds have colours by the order in which they appear.
function colourOf(place, text) {
  if (!place.colours.has(text)) place.colours.set(text, Math.round(place.colours.size * 137.5 + 210) % 360);
  return place.colours.get(text);
}

const named = (name, value, className) => h('span', { className }, h('span', { className: 'name' }, name), valueText(value));

function itemButton(place, item, again) {
  const kind = Object.hasOwn(item, place.kind) ? item[place.kind] : null;
  const rest = Object.keys(item).filter(name => !place.partition.includes(name) && !place.sort.includes(name) && name !== place.kind).sort();
  const button = h('button', { type: 'button', className: kind ? 'item kind' : 'item', onclick: doing(() => openItem(place.table, item, again)) },
    place.sort.filter(name => Object.hasOwn(item, name)).map(name => named(name, item[name], 'cell sort')),
    kind ? named(place.kind, kind, 'cell kind-name') : null,
    rest.map(name => named(name, item[name], 'cell')));
  if (kind) button.style.setProperty('--hue', colourOf(place, valueText(kind)));
  return h('li', {}, button);
}

function blockElement(place, block, again) {
  return h('section', { className: 'collection' },
    h('div', { className: 'partition' }, place.partition.map(name => named(name, block.items[0][name], ''))),
    h('ul', { className: 'items' }, block.items.map(item => itemButton(place, item, again))));
}

// The form that jumps to a key.
function jump(place, read) {
  const sort = place.sort[0];
  const inputs = place.partition.map(name => ({ name, input: h('input', { name: `key-${name}`, required: true, autocomplete: 'off', spellcheck: false }) }));
  const from = sort === undefined ? null : h('input', { name: 'from', autocomplete: 'off', spellcheck: false });
  return h('form', { 'aria-label': 'Jump to a key', onsubmit: doing(() => read([
    ...inputs.map(({ name, input }) => ({ name, value: input.value })),
    ...(from !== null && from.value !== '' ? [{ name: sort, value: from.value, from: true }] : [])])) },
  inputs.map(({ name, input }) => field(`${name} (${place.type(name)})`, input)),
  from === null ? null : field(`${sort} (${place.type(sort)}) from`, from),
  h('button', {}, 'Jump'), h('button', { type: 'button', onclick: doing(() => read(null)) }, 'All collections'));
}

// The page that begins at the last of the starts, with the choices that lead to others.
async function showPage(place, output, typed, starts) {
  const again = () => showPage(place, output, typed, starts);
  const [operation, request] = readRequest(place, typed, starts.at(-1));
  const page = await call(operation, request);
  const names = [...new Set(page.Items.flatMap(Object.keys))].sort();
  if (place.kind === null || (place.kind === '' && !place.chosen)) place.kind = usualKind(names);
  const kinds = [['', 'nothing'], ...[...new Set([...names, ...(place.kind ? [place.kind] : [])])].map(name => [name, name])];
  const to = next => doing(() => showPage(place, output, typed, next));
  tell('');
  show(output,
    h('div', { className: 'bar' },
      field('Coloured by', choice(kinds, place.kind, { name: 'kind', onchange: doing(async event => {
        Object.assign(place, { kind: event.target.value, chosen: true, colours: new Map() });
        await again();
      }) })),
      h('button', { type: 'button', disabled: starts.length === 1, onclick: to(starts.slice(0, -1)) }, 'Previous page'),
      h('button', { type: 'button', disabled: page.LastEvaluatedKey === undefined, onclick: to([...starts, page.LastEvaluatedKey]) }, 'Next page'),
      h('span', {}, `Items: ${page.Items.length}, by ${operation}, capacity ${page.ConsumedCapacity?.CapacityUnits ?? '?'}`)),
    page.Items.length === 0 ? h('p', {}, 'There are no items here.') : null,
    blocksOf(page.Items, place.partition).map(block => blockElement(place, block, again)));
}

function placeOf(table, indexName) {
  const index = [...table.GlobalSecondaryIndexes ?? [], ...table.LocalSecondaryIndexes ?? []].find(i => i.IndexName === indexName);
  const schema = (index ?? table).KeySchema;
  return { table, index, partition: keysOf(schema, 'HASH'), sort: keysOf(schema, 'RANGE'), kind: null, chosen: false, colours: new Map(),
    type: name => table.AttributeDefinitions.find(d => d.AttributeName === name).AttributeType };
}

export async function showCollections(view, parameters) {
  const asked = parameters.get('table') ?? '';
  const { TableNames: names, LastEvaluatedTableName: last } = await call('ListTables', {}).catch(error => {
    if (asked === '') throw error;
    return { TableNames: [asked] };
  });
  const name = asked || names[0];
  if (name === undefined) {
    show(view, h('p', {}, 'There is no table.'));
    return;
  }
  const { Table: table } = await call('DescribeTable', { TableName: name });
  const place = placeOf(table, parameters.get('index'));
  const indexes = [...table.GlobalSecondaryIndexes ?? [], ...table.LocalSecondaryIndexes ?? []];
  const output = h('div', { id: 'collections' });
  show(view,
    h('div', { className: 'bar' },
      // of more than a hundred tables, those after them are chosen in Tables
      field('Table', choice([...new Set([...names, name])].map(n => [n, n]), name,
        { name: 'table', title: last ? 'There are more in Tables.' : '', onchange: event => { location.hash = collectionsOf(event.target.value); } })),
      field('Table or index', choice([['', 'the table'], ...indexes.map(i => [i.IndexName, i.IndexName])], place.index?.IndexName ?? '',
        { name: 'index', onchange: event => { location.hash = collectionsOf(name, event.target.value); } })),
      h('span', {}, keyText((place.index ?? table).KeySchema, table.AttributeDefinitions))),
    jump(place, typed => showPage(place, output, typed, [undefined])), output);
  await showPage(place, output, null, [undefined]);
}
