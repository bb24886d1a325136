// Elements of the page.  Whatever comes from a table becomes text, never HTML.

// An element with properties, listeners ("onclick") and attributes ("aria-label"), and what is in it.
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  show(element, ...children);
  return element;
}

// Have this in an element: elements, texts, lists of these, and null for nothing.
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(child => child !== null));
}

// A text with escapes for what is not seen in it, or turns the direction of what is.
export function visible(text) {
  return text.replace(/[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, c =>
    `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function field(label, input) {
  return h('label', {}, label, input);
}

export function choice(values, selected, properties = {}) {
  return h('select', properties, values.map(([value, text]) => h('option', { value, selected: value === selected }, text ?? value)));
}

// Tell what has happened; an error is told as such.
export function tell(text, bad = false) {
  const message = document.getElementById('message');
  message.className = bad ? 'bad' : '';
  message.textContent = text;
}

// A listener that tells the error that its work ends with, and lets nobody begin it twice.
export function doing(work) {
  let busy = false;
  return async event => {
    event?.preventDefault?.();
    if (busy) return;
    busy = true;
    try {
      await work(event);
    } catch (error) {
      tell(error.message, true);
    } finally {
      busy = false;
    }
  };
}

// Buttons to the page before, and to the next one, if there is where it begins.
export const pager = (starts, next, to) => [
  h('button', { type: 'button', disabled: starts.length === 1, onclick: doing(() => to(starts.slice(0, -1))) }, 'Previous page'),
  h('button', { type: 'button', disabled: next === undefined, onclick: doing(() => to([...starts, next])) }, 'Next page')];

// A text of one line or more: Enter sends the form, and with Shift it begins a line.
export function area(properties) {
  return h('textarea', { rows: 1, autocomplete: 'off', spellcheck: false, ...properties, onkeydown: event => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    event.target.form.requestSubmit();
  } });
}

// A dialog that is gone when it is closed.
export function dialog(title, ...children) {
  const element = h('dialog', { 'aria-label': title, onclose: () => element.remove() }, h('h2', {}, title), ...children);
  document.body.append(element);
  element.showModal();
  return element;
}
