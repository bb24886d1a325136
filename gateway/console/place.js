// A table, or an index of it, which the address names: how it is chosen, and what its keys are.
import { call } from './client.js';
import { choice, field } from './dom.js';

// The address of a view of a table or an index; what is empty is left out.
export function addressOf(view, given) {
  const rest = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== '')).toString();
  return `#${view}${rest && `?${rest}`}`;
}

// Names of key attributes with their types, partition key first.
export function keyText(keys, definitions) {
  return keys.map(({ AttributeName: name }) => `${name} (${definitions.find(d => d.AttributeName === name)?.AttributeType ?? '?'})`).join(', ');
}

export const indexesOf = table => [...table.GlobalSecondaryIndexes ?? [], ...table.LocalSecondaryIndexes ?? []];

// The names of the partition key and of the sort key, each of which may have several attributes.
const keysOf = (schema, type) => schema.filter(key => key.KeyType === type).map(key => key.AttributeName);

function placeOf(table, indexName) {
  const index = indexesOf(table).find(i => i.IndexName === indexName);
  const schema = (index ?? table).KeySchema;
  return { table, index, schema, partition: keysOf(schema, 'HASH'), sort: keysOf(schema, 'RANGE'), kind: null, chosen: false, colours: new Map(),
    type: name => table.AttributeDefinitions.find(d => d.AttributeName === name).AttributeType };
}

// What a request names the place by.
export const membersOf = place => ({ TableName: place.table.TableName, ...(place.index ? { IndexName: place.index.IndexName } : {}) });

// The name of the table that the parameters of a view name, or the first one, and the field that leads to the others; null if
// there is none.
export async function chooseTable(view, parameters) {
  const asked = parameters.get('table') ?? '';
  const { TableNames: names, LastEvaluatedTableName: last } = await call('ListTables', {}).catch(error => {
    if (asked === '') throw error;
    return { TableNames: [asked] };
  });
  const name = asked || names[0];
  if (name === undefined) return null;
  // of more than a hundred tables, those after them are chosen in Tables
  return { name, tables: field('Table', choice([...new Set([...names, name])].map(n => [n, n]), name, { name: 'table',
    title: last ? 'There are more in Tables.' : '', onchange: event => { location.hash = addressOf(view, { table: event.target.value }); } })) };
}

// The same with its indexes, and what is there of its keys.
export async function choosePlace(view, parameters) {
  const chosen = await chooseTable(view, parameters);
  if (chosen === null) return null;
  const { Table: table } = await call('DescribeTable', { TableName: chosen.name });
  const place = placeOf(table, parameters.get('index'));
  const indexes = field('Table or index', choice([['', 'the table'], ...indexesOf(table).map(i => [i.IndexName, i.IndexName])],
    place.index?.IndexName ?? '', { name: 'index', onchange: event => {
      location.hash = addressOf(view, { ...Object.fromEntries(parameters), table: chosen.name, index: event.target.value });
    } }));
  return { ...chosen, place, indexes };
}
