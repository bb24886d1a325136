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

// A dialog that is gone when it is closed.
export function dialog(title, ...children) {
  const element = h('dialog', { 'aria-label': title, onclose: () => element.remove() }, h('h2', {}, title), ...children);
  document.body.append(element);
  element.showModal();
  return element;
}
