// The view Stream: the changes of a table as they come, the newest first, with what of the item has changed.  It asks as
// long as it is shown.
import { valueText } from './blocks.js';
import { call } from './client.js';
import { codePanel } from './code.js';
import { choice, field, h, show, tell } from './dom.js';
import { same } from './item.js';
import { addressOf, chooseTable } from './place.js';

const INTERVAL = 1000;
const PAGE = 100;
const MOST_SHOWN = 200;
const LONGEST = 1000;

// A row for each attribute: what it was, what it is, and a mark where these differ.
function recordElement({ eventName, userIdentity, dynamodb: { ApproximateCreationDateTime: at, Keys: keys, OldImage: before, NewImage: after } }) {
  const images = [before, after].filter(image => image !== undefined);
  const names = [...new Set([keys, ...images].flatMap(item => [...Object.keys(item)].sort()))];
  const markOf = name => {
    if (images.length < 2) return '';
    if (!Object.hasOwn(before, name)) return 'added';
    if (!Object.hasOwn(after, name)) return 'removed';
    return same(before[name], after[name]) ? '' : 'changed';
  };
  return h('li', { className: 'record' },
    h('div', { className: 'partition' }, h('strong', {}, eventName), ` ${new Date(at * 1000).toLocaleString()}${userIdentity ? ', by time to live' : ''} `,
      Object.entries(keys).map(([name, value]) => h('span', {}, h('span', { className: 'name' }, name), valueText(value)))),
    images.length === 0 ? null : h('div', { className: 'scroll' }, h('table', {},
      h('thead', {}, h('tr', {}, ['Attribute', ...(before ? ['Old'] : []), ...(after ? ['New'] : []), ''].map(text => h('th', { scope: 'col' }, text)))),
      h('tbody', {}, names.map(name => h('tr', { className: markOf(name) }, h('th', { scope: 'row' }, name),
        images.map(image => h('td', {}, Object.hasOwn(image, name) ? valueText(image[name], LONGEST) : '')),
        h('td', {}, markOf(name))))))));
}

// Reads a stream shard by shard, each before its children.  A call has the records since the one before, the first error, and
// whether that was all.
function reader(arn, from) {
  const open = new Map(); // shards that are read, with their iterators and the last record's number
  const begun = new Set();
  let toFind = true;
  let status;

  async function iteratorOf(shard, type, number) {
    const request = { StreamArn: arn, ShardId: shard, ShardIteratorType: type, ...(number ? { SequenceNumber: number } : {}) };
    return (await call('GetShardIterator', request)).ShardIterator;
  }

  // Begin with the shards that are new and whose parents are read.  Where only what is new is asked for, those that are closed
  // at the start are over.
  async function findShards() {
    const isFirst = begun.size === 0;
    const waiting = new Set();
    let start;
    do {
      const { StreamDescription: page } = await call('DescribeStream', { StreamArn: arn, ...(start ? { ExclusiveStartShardId: start } : {}) });
      status = page.StreamStatus;
      for (const { ShardId: id, ParentShardId: parent, SequenceNumberRange: range } of page.Shards) {
        if (begun.has(id)) continue;
        if (open.has(parent) || waiting.has(parent)) {
          waiting.add(id);
          continue;
        }
        const type = isFirst ? from : 'TRIM_HORIZON';
        if (type !== 'LATEST' || range.EndingSequenceNumber === undefined) open.set(id, { iterator: await iteratorOf(id, type), last: undefined });
        begun.add(id);
      }
      start = page.LastEvaluatedShardId;
    } while (start !== undefined);
    toFind = false;
  }

  async function readShard([id, shard]) {
    try {
      const { Records: records, NextShardIterator: next } = await call('GetRecords', { ShardIterator: shard.iterator, Limit: PAGE });
      shard.last = records.at(-1)?.dynamodb.SequenceNumber ?? shard.last;
      shard.iterator = next;
      if (next === undefined) {
        open.delete(id);
        toFind = true;
      }
      return records;
    } catch (error) {
      const isExpired = error.type === 'ExpiredIteratorException';
      if (isExpired && shard.last) shard.iterator = await iteratorOf(id, 'AFTER_SEQUENCE_NUMBER', shard.last);
      else if (isExpired || error.type === 'TrimmedDataAccessException') shard.iterator = await iteratorOf(id, 'TRIM_HORIZON');
      // the browser may have slept
      if (isExpired) return [];
      throw error;
    }
  }

  return async () => {
    if (toFind) await findShards();
    const read = await Promise.allSettled([...open].map(readShard));
    return { records: read.flatMap(one => one.value ?? []), error: read.find(one => one.status === 'rejected')?.reason,
      isOver: open.size === 0 && !toFind && status === 'DISABLED' };
  };
}

// Show what comes, until the view is left or the stream has ended.  An error pauses.
async function follow(read, list, state, pause) {
  while (list.isConnected) {
    const { records, error, isOver } = state.isPaused ? { records: [] } : await read().catch(reason => ({ records: [], error: reason }));
    if (!list.isConnected) return;
    records.sort((a, b) => a.dynamodb.ApproximateCreationDateTime - b.dynamodb.ApproximateCreationDateTime);
    list.prepend(...records.slice(-MOST_SHOWN).map(recordElement).reverse());
    while (list.children.length > MOST_SHOWN) list.lastChild.remove();
    state.count(records.length);
    if (error) {
      tell(error.message, true);
      pause(true);
    }
    if (isOver) {
      tell('This stream is disabled: it has no more records.');
      return;
    }
    if (records.length < PAGE) await new Promise(resolve => setTimeout(resolve, INTERVAL));
  }
}

function showHow(view, tables, name) {
  const code = codePanel();
  code.set('UpdateTable', { TableName: name, StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } });
  show(view, h('div', { className: 'bar' }, tables),
    h('p', {}, `The table ${name} has no stream. Its owner enables one by this request, once the database has streams: `
      + 'a role with the attribute REPLICATION calls ', h('code', {}, 'CALL dyn_setup_streams();'), ' for that.'), code.element);
}

export async function showStream(view, parameters) {
  const chosen = await chooseTable('stream', parameters);
  if (chosen === null) {
    show(view, h('p', {}, 'There is no table.'));
    return;
  }
  const { name, tables } = chosen;
  const { Streams: streams } = await call('ListStreams', { TableName: name });
  streams.sort((a, b) => (a.StreamLabel < b.StreamLabel ? 1 : -1));
  if (streams.length === 0) {
    showHow(view, tables, name);
    return;
  }
  const { StreamArn: arn, StreamLabel: label } = streams.find(one => one.StreamLabel === parameters.get('stream')) ?? streams[0];
  const from = parameters.get('from') === 'TRIM_HORIZON' ? 'TRIM_HORIZON' : 'LATEST';
  const go = changed => { location.hash = addressOf('stream', { table: name, stream: label, from, ...changed }); };
  const list = h('ul', { id: 'records', className: 'items' });
  const count = h('span', {}, 'Records: 0');
  let counted = 0;
  const state = { isPaused: false, count: n => { count.textContent = `Records: ${counted += n}`; } };
  const pause = isPaused => {
    state.isPaused = isPaused;
    button.textContent = isPaused ? 'Go on' : 'Pause';
  };
  const button = h('button', { type: 'button', onclick: () => pause(!state.isPaused) }, 'Pause');
  show(view,
    h('div', { className: 'bar' }, tables,
      field('Stream', choice(streams.map(one => [one.StreamLabel]), label, { name: 'stream', onchange: event => go({ stream: event.target.value }) })),
      field('Records', choice([['LATEST', 'that come from now on'], ['TRIM_HORIZON', 'that are kept, and those that come']], from,
        { name: 'from', onchange: event => go({ from: event.target.value }) })), button, count), list);
  // it goes on beside the page
  follow(reader(arn, from), list, state, pause);
}
