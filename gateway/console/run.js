// The view Run: Query and Scan by a form, and PartiQL; the request as code, and the items that it finds, page by page.
import { blocksOf, namesOf, usualKind } from './blocks.js';
import { call } from './client.js';
import { codePanel } from './code.js';
import { area, choice, doing, field, h, pager, show, tell } from './dom.js';
import { placeholders } from './expression.js';
import { parse } from './item.js';
import { addressOf, choosePlace, membersOf } from './place.js';

const PAGE = 50;
// operators with the number of values behind the attribute
const OPERATORS = { '=': 1, '<>': 1, '<': 1, '<=': 1, '>': 1, '>=': 1, BETWEEN: 2, begins_with: 1, contains: 1, attribute_exists: 0, attribute_not_exists: 0 };
const OF_SORT_KEY = ['', '=', '<', '<=', '>', '>=', 'BETWEEN', 'begins_with'];
const TYPES = [['S'], ['N'], ['B'], ['BOOL'], ['NULL'], ['JSON', 'DynamoDB JSON']];

function valueOf(type, text) {
  if (type === 'JSON') return parse(text);
  if (type === 'NULL') return { NULL: true };
  if (type !== 'BOOL') return { [type]: text };
  if (!/^(true|false)$/.test(text)) throw new Error('A value of type BOOL is true or false.');
  return { BOOL: text === 'true' };
}

// Names with commas between them, or strings of JSON where there are other characters in them.
function namesIn(text) {
  if (text.trim() === '') return [];
  return text.includes('"') ? parse(`[${text}]`) : text.split(',').map(name => name.trim());
}

function expression(operator, name, values) {
  if (operator === 'BETWEEN') return `${name} BETWEEN ${values.join(' AND ')}`;
  return /[<=>]/.test(operator) ? `${name} ${operator} ${values[0]}` : `${operator}(${[name, ...values].join(', ')})`;
}

// Fields for a condition on an attribute, which is known or typed, and the expression that they make.
function condition(known, types, operators, ...more) {
  const attribute = h('input', { name: 'attribute', required: true, autocomplete: 'off', spellcheck: false });
  const values = ['value', 'value2'].map(name => area({ name }));
  const fields = values.map((value, n) => field(n === 0 ? 'Value' : 'and', value));
  const count = () => OPERATORS[operator.value] ?? 0;
  const showFields = () => fields.forEach((one, n) => { one.hidden = n >= count(); });
  const operator = choice(operators.map(one => [one, one || 'any']), operators[0], { name: 'operator', onchange: showFields });
  const type = choice(types, types[0][0], { name: 'type' });
  showFields();
  return {
    element: h('div', { className: 'bar condition' }, known === null ? field('Attribute', attribute) : null,
      field(known === null ? 'Condition' : `${known} (${types[0][0]})`, operator), known === null ? field('Type', type) : null, fields, more),
    read(placed) {
      if (operator.value === '') return '';
      const [name] = known === null ? namesIn(attribute.value) : [known];
      return expression(operator.value, placed.nameOf(name),
        values.slice(0, count()).map(value => placed.valueOf(valueOf(type.value, value.value))));
    },
  };
}

// What is given of the members of a request.
const given = request => Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined && value !== ''));

// The form of a Query or a Scan: its elements, and the request that they make.
function reading(place, operation) {
  const ofKey = name => [[place.type(name)]];
  const keys = operation === 'Scan' ? [] : [...place.partition.map(name => condition(name, ofKey(name), ['='])),
    ...place.sort.map(name => condition(name, ofKey(name), OF_SORT_KEY))];
  const filters = new Set();
  const filterList = h('div', {});
  const add = () => {
    const filter = condition(null, TYPES, Object.keys(OPERATORS), h('button', { type: 'button', onclick: () => {
      filters.delete(filter);
      filter.element.remove();
    } }, 'Remove'));
    filters.add(filter);
    filterList.append(filter.element);
    filter.element.querySelector('input').focus();
  };
  const projection = h('input', { name: 'projection', autocomplete: 'off', spellcheck: false, placeholder: 'all attributes' });
  const direction = choice([['', 'ascending'], ['backward', 'descending']], '', { name: 'direction' });
  const limit = h('input', { name: 'limit', type: 'number', min: 1, required: true, value: PAGE });
  const all = (conditions, placed) => [...conditions].map(one => one.read(placed)).filter(text => text !== '').join(' AND ');
  return {
    elements: [keys.map(one => one.element), filterList,
      h('div', { className: 'bar' }, h('button', { type: 'button', onclick: add }, 'Add a filter'), field('Attributes, such as a, b or "a,b"', projection),
        operation === 'Scan' ? null : field('Order', direction), field('Items to read', limit))],
    request() {
      const placed = placeholders();
      const expressions = { KeyConditionExpression: all(keys, placed), FilterExpression: all(filters, placed),
        ProjectionExpression: namesIn(projection.value).map(placed.nameOf).join(', ') };
      return { ...membersOf(place), ...expressions, ...placed.members(), ScanIndexForward: direction.value === '' ? undefined : false,
        Limit: Number(limit.value) };
    },
  };
}

// The same of a statement in PartiQL.
function statement() {
  const text = h('textarea', { name: 'statement', required: true, rows: 4, spellcheck: false });
  const parameters = area({ name: 'parameters', placeholder: '[{"S": "…"}]' });
  const limit = h('input', { name: 'limit', type: 'number', min: 1, required: true, value: PAGE });
  return {
    elements: [field('Statement', text), field('Values of its ?, in DynamoDB JSON', parameters), field('Items to read', limit)],
    request: () => ({ Statement: text.value, Parameters: parameters.value === '' ? undefined : parse(parameters.value), Limit: Number(limit.value) }),
  };
}

export async function showRun(view, parameters) {
  const chosen = await choosePlace('run', parameters);
  if (chosen === null) {
    show(view, h('p', {}, 'There is no table.'));
    return;
  }
  const { tables, indexes } = chosen;
  const by = ['Scan', 'ExecuteStatement'].includes(parameters.get('by')) ? parameters.get('by') : 'Query';
  const isStatement = by === 'ExecuteStatement';
  // what a statement finds is of any table
  const place = isStatement ? { table: null, partition: [], sort: [], colours: new Map() } : chosen.place;
  const form = isStatement ? statement() : reading(place, by);
  const [first, last] = isStatement ? ['NextToken', 'NextToken'] : ['ExclusiveStartKey', 'LastEvaluatedKey'];
  const code = codePanel();
  const output = h('div', { id: 'results' });
  const read = async (request, starts) => {
    const sent = { ...request, ...(starts.length > 1 ? { [first]: starts.at(-1) } : {}) };
    tell('');
    show(output);
    code.set(by, sent);
    const answer = await call(by, sent);
    const items = answer.Items ?? [];
    place.kind = usualKind(namesOf(items));
    show(output,
      h('div', { className: 'bar' }, pager(starts, answer[last], next => read(request, next)),
        h('span', {}, `Items: ${items.length}${answer.ScannedCount === undefined ? '' : ` of ${answer.ScannedCount} read`}, `
          + `capacity ${answer.ConsumedCapacity?.CapacityUnits ?? '?'}`)),
      blocksOf(place, items, () => read(request, starts)));
  };
  show(view,
    h('div', { className: 'bar' }, isStatement ? null : [tables, indexes],
      field('By', choice([['Query'], ['Scan'], ['ExecuteStatement', 'PartiQL']], by, { name: 'by',
        onchange: event => { location.hash = addressOf('run', { ...Object.fromEntries(parameters), by: event.target.value }); } }))),
    h('form', { 'aria-label': 'The request', className: 'request', onsubmit: doing(() =>
      read(given({ ...form.request(), ReturnConsumedCapacity: 'TOTAL' }), [undefined])) }, form.elements, h('button', {}, 'Run')),
    code.element, output);
}
