// Items as blocks: the partition key at the left, the items of the collection in the order in which they come.
import { doing, h, visible } from './dom.js';
import { openItem } from './item.js';

const LONGEST = 120;
// attributes that usually say which kind of entity an item is
const KINDS = ['entity', 'entitytype', 'entity_type', '_type', 'type', '__typename', '__edb_e__', 'kind', '_et'];

// A value of DynamoDB JSON in short; what is nested keeps its types.
export function valueText(value, longest = LONGEST) {
  const [type, data] = Object.entries(value)[0];
  const text = type === 'S' || type === 'N' || type === 'B' ? data
    : type === 'BOOL' ? String(data) : type === 'NULL' ? 'null'
      : /^[SNB]S$/.test(type) ? `{${data.join(', ')}}` : JSON.stringify(data);
  return visible(text.length > longest ? `${text.slice(0, longest)}…` : text);
}

// The attribute that tells kinds apart, unless another one is chosen; "" where there is none.
export function usualKind(names) {
  for (const kind of KINDS) {
    const found = names.find(name => name.toLowerCase() === kind);
    if (found !== undefined) return found;
  }
  return '';
}

// The names of all attributes of items.
export const namesOf = items => [...new Set(items.flatMap(Object.keys))].sort();

// Kinds have colours by the order in which they appear.
function colourOf(place, text) {
  if (!place.colours.has(text)) place.colours.set(text, Math.round(place.colours.size * 137.5 + 210) % 360);
  return place.colours.get(text);
}

// Those of these attributes that the item has: a projection leaves some out.
const cells = (item, names, className) => names.filter(name => Object.hasOwn(item, name)).map(name =>
  h('span', { className }, h('span', { className: 'name' }, name), valueText(item[name])));

// An item, which opens if its key is there; again() reads once more what is shown.
function itemElement(place, item, again) {
  const kind = Object.hasOwn(item, place.kind) ? item[place.kind] : null;
  const rest = Object.keys(item).filter(name => !place.partition.includes(name) && !place.sort.includes(name) && name !== place.kind).sort();
  const opens = place.table !== null && place.table.KeySchema.every(key => Object.hasOwn(item, key.AttributeName));
  const element = h(opens ? 'button' : 'div', { className: kind ? 'item kind' : 'item',
    ...(opens ? { type: 'button', onclick: doing(() => openItem(place.table, item, again)) } : {}) },
  cells(item, place.sort, 'cell sort'), kind ? cells(item, [place.kind], 'cell kind-name') : null, cells(item, rest, 'cell'));
  if (kind) element.style.setProperty('--hue', colourOf(place, valueText(kind)));
  return h('li', {}, element);
}

// Items that follow one another with the same partition key are one block.
export function blocksOf(place, items, again) {
  const blocks = [];
  for (const item of items) {
    const key = JSON.stringify(place.partition.map(name => item[name]));
    if (blocks.at(-1)?.key !== key) blocks.push({ key, items: [] });
    blocks.at(-1).items.push(item);
  }
  if (blocks.length === 0) return h('p', {}, 'There are no items here.');
  return blocks.map(block => {
    const partition = cells(block.items[0], place.partition, '');
    return h('section', { className: partition.length ? 'collection' : 'collection plain' },
      partition.length ? h('div', { className: 'partition' }, partition) : null,
      h('ul', { className: 'items' }, block.items.map(item => itemElement(place, item, again))));
  });
}
