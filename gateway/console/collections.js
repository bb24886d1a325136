// The view Collections: item collections of a table or an index as blocks, the partition key at the left, the items in the
// order of the sort key.  It reads a page at a time: by Scan, or by Query where a partition key is given.
import { blocksOf, namesOf, usualKind } from './blocks.js';
import { call } from './client.js';
import { choice, doing, field, h, pager, show, tell } from './dom.js';
import { placeholders } from './expression.js';
import { choosePlace, keyText, membersOf } from './place.js';

const PAGE = 50;

// Pages by what the user has typed: a partition key, and from where on in the sort key.
function readRequest(place, typed, start) {
  const request = { ...membersOf(place), Limit: PAGE, ReturnConsumedCapacity: 'TOTAL', ...(start ? { ExclusiveStartKey: start } : {}) };
  if (typed === null) return ['Scan', request];
  const placed = placeholders();
  const conditions = typed.map(({ name, value, from }) => `${placed.nameOf(name)} ${from ? '>=' : '='} ${placed.valueOf({ [place.type(name)]: value })}`);
  return ['Query', { ...request, KeyConditionExpression: conditions.join(' AND '), ...placed.members() }];
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
  const names = namesOf(page.Items);
  if (place.kind === null || (place.kind === '' && !place.chosen)) place.kind = usualKind(names);
  const kinds = [['', 'nothing'], ...[...new Set([...names, ...(place.kind ? [place.kind] : [])])].map(name => [name, name])];
  tell('');
  show(output,
    h('div', { className: 'bar' },
      field('Coloured by', choice(kinds, place.kind, { name: 'kind', onchange: doing(async event => {
        Object.assign(place, { kind: event.target.value, chosen: true, colours: new Map() });
        await again();
      }) })),
      pager(starts, page.LastEvaluatedKey, next => showPage(place, output, typed, next)),
      h('span', {}, `Items: ${page.Items.length}, by ${operation}, capacity ${page.ConsumedCapacity?.CapacityUnits ?? '?'}`)),
    blocksOf(place, page.Items, again));
}

export async function showCollections(view, parameters) {
  const chosen = await choosePlace('collections', parameters);
  if (chosen === null) {
    show(view, h('p', {}, 'There is no table.'));
    return;
  }
  const { place, tables, indexes } = chosen;
  const output = h('div', { id: 'collections' });
  show(view,
    h('div', { className: 'bar' }, tables, indexes, h('span', {}, keyText(place.schema, place.table.AttributeDefinitions))),
    jump(place, typed => showPage(place, output, typed, [undefined])), output);
  await showPage(place, output, null, [undefined]);
}
