// The start: finds out whether a key is needed, asks for one, and shows the view that the address names.
import { call, isSigning, keptKey, useKey, whyNoSignature } from './client.js';
import { doing, field, h, tell } from './dom.js';
import { showCollections } from './collections.js';
import { addressOf } from './place.js';
import { showRun } from './run.js';
import { showStream } from './stream.js';
import { showTables } from './tables.js';

const views = { tables: ['Tables', showTables], collections: ['Collections', showCollections], run: ['Run', showRun], stream: ['Stream', showStream] };
const view = document.getElementById('view');

function showWho() {
  document.getElementById('who').replaceChildren(isSigning()
    ? h('button', { type: 'button', onclick: doing(forget) }, `Forget key ${keptKey().id}`) : 'without a key');
}

async function forget() {
  await useKey(null);
  askForKey();
}

// Whether the gateway takes a request as it is signed now, or not signed.
const isLetIn = () => call('ListTables', { Limit: 1 });

async function show() {
  const [name, rest = ''] = location.hash.slice(1).split('?');
  const [, draw] = Object.hasOwn(views, name) ? views[name] : views.tables;
  const parameters = new URLSearchParams(rest);
  // the other views are of the same table
  const table = { table: parameters.get('table') ?? '', index: parameters.get('index') ?? '' };
  document.querySelector('nav').replaceChildren(...Object.entries(views).map(([to, [text]]) =>
    h('a', { href: addressOf(to, to === 'tables' ? {} : table), ...(views[to][1] === draw ? { 'aria-current': 'page' } : {}) }, text)));
  showWho();
  tell('');
  try {
    await draw(view, parameters);
  } catch (error) {
    view.replaceChildren();
    throw error;
  }
}

// Show what the address names by then, when what is shown now is there.
let shown = Promise.resolve();
const showNext = () => { shown = shown.then(doing(show)); };

// There is a key, or none is needed.
function enter() {
  window.onhashchange = showNext;
  showNext();
}

function askForKey() {
  window.onhashchange = null;
  document.querySelector('nav').replaceChildren();
  document.getElementById('who').replaceChildren();
  const why = whyNoSignature();
  if (why !== null) {
    view.replaceChildren();
    tell(why, true);
    return;
  }
  const id = h('input', { name: 'id', required: true, autocomplete: 'off', spellcheck: false });
  const secret = h('input', { name: 'secret', type: 'password', required: true, autocomplete: 'off' });
  const region = h('input', { name: 'region', value: 'us-east-1', required: true });
  view.replaceChildren(h('h2', {}, 'Access key'),
    h('p', {}, 'Requests have the rights of its role. It is kept in this tab until the tab is closed, and goes nowhere: the browser signs.'),
    h('form', { onsubmit: doing(async () => {
      await useKey({ id: id.value.trim(), secret: secret.value.trim(), region: region.value.trim() });
      try {
        await isLetIn();
      } catch (error) {
        await useKey(null);
        throw error;
      }
      enter();
    }) }, field('Access key id', id), field('Secret access key', secret), field('Region', region), h('button', {}, 'Use this key')));
  id.focus();
}

doing(async () => {
  const key = keptKey();
  if (key !== null && whyNoSignature() === null) await useKey(key);
  try {
    await isLetIn();
  } catch (error) {
    askForKey();
    // a key was kept, or the gateway is away
    if (error.type !== 'MissingAuthenticationTokenException') tell(error.message, true);
    return;
  }
  enter();
})();
