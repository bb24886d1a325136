// An item: shown as DynamoDB JSON, edited with its types, and saved on condition that it is what was opened.
import { call } from './client.js';
import { dialog, doing, h, show, tell } from './dom.js';
import { placeholders } from './expression.js';

// A condition has so many attributes at most: expressions are limited to 300 operators.
const MOST_CONDITIONS = 140;

// Whether two values are the same, in whatever order their members are written.
export function same(a, b) {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const names = Object.keys(a);
  return Array.isArray(a) === Array.isArray(b) && names.length === Object.keys(b).length
    && names.every(name => Object.hasOwn(b, name) && same(a[name], b[name]));
}

// The request that makes an item out of what it was; null if nothing changes.  Only what changes is written, so what
// others have added meanwhile stays; and all that was there has to be as it was, what changes first.
export function updateOf(table, before, after) {
  const keys = table.KeySchema.map(key => key.AttributeName);
  if (keys.some(name => !same(before[name], after[name])))
    throw new Error(`The key (${keys.join(', ')}) cannot be changed: it says which item this is.`);
  const has = (item, name) => Object.hasOwn(item, name);
  const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(name =>
    !has(before, name) || !has(after, name) || !same(before[name], after[name]));
  if (changed.length === 0) return null;
  const placed = placeholders();
  const { nameOf, valueOf } = placed;
  const sets = changed.filter(name => has(after, name)).map(name => `${nameOf(name)} = ${valueOf(after[name])}`);
  const removes = changed.filter(name => !has(after, name)).map(nameOf);
  const conditions = [...new Set([...keys, ...changed, ...Object.keys(before)])].slice(0, MOST_CONDITIONS).map(name =>
    has(before, name) ? `${nameOf(name)} = ${valueOf(before[name])}` : `attribute_not_exists(${nameOf(name)})`);
  return { TableName: table.TableName, Key: Object.fromEntries(keys.map(name => [name, before[name]])),
    UpdateExpression: [sets.length ? `SET ${sets.join(', ')}` : '', removes.length ? `REMOVE ${removes.join(', ')}` : ''].join(' ').trim(),
    ConditionExpression: conditions.join(' AND '), ...placed.members(),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' };
}

export function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is no JSON: ${error.message}`);
  }
}

function parseItem(text) {
  const item = parse(text);
  if (typeof item !== 'object' || item === null || Array.isArray(item)) throw new Error('An item is an object of attributes.');
  return item;
}

const written = item => JSON.stringify(item, null, 2);

// Open the item that a page shows, which may have a part of its attributes; again() reads the page once more.
export async function openItem(table, shown, again) {
  const key = Object.fromEntries(table.KeySchema.map(({ AttributeName: name }) => [name, shown[name]]));
  tell('');
  let { Item: opened } = await call('GetItem', { TableName: table.TableName, Key: key, ConsistentRead: true });
  if (opened === undefined) {
    await again();
    tell('The item is gone: somebody has deleted it meanwhile.', true);
    return;
  }
  const text = h('textarea', { value: written(opened), spellcheck: false, 'aria-label': 'The item as DynamoDB JSON' });
  const problem = h('div', { role: 'alert' });
  const refuse = (...children) => show(problem, ...children);
  const lost = theirs => refuse(
    h('p', { className: 'bad' }, theirs === undefined ? 'Your edit is not saved: somebody has deleted the item since you opened it.'
      : 'Your edit is not saved: somebody has changed the item since you opened it. This is the item by now:'),
    theirs === undefined ? null : h('pre', {}, written(theirs)),
    theirs === undefined ? null : h('button', { type: 'button', onclick: () => {
      opened = theirs;
      text.value = written(theirs);
      refuse();
    } }, 'Edit this one instead'));
  const save = doing(async () => {
    refuse();
    try {
      const request = updateOf(table, opened, parseItem(text.value));
      if (request !== null) await call('UpdateItem', request);
    } catch (error) {
      if (error.type === 'ConditionalCheckFailedException') lost(error.item);
      else refuse(h('p', { className: 'bad' }, error.message));
      return;
    }
    box.close();
    await again();
    tell('The item is saved.');
  });
  const box = dialog('Item', h('form', { onsubmit: save }, text,
    h('button', {}, 'Save'), h('button', { type: 'button', onclick: () => box.close() }, 'Cancel')), problem);
  // Enter is a line of the text; with Ctrl it saves
  text.addEventListener('keydown', event => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save(event);
  });
  text.focus();
}
