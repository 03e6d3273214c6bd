// Makes elements and brings the page up to date with them. Text is always put in as text, so no
// name from outside can become markup. Elements carry no listeners: app.js hears all events, and
// `data-act` says what an element is for.

// h('td', {class: 'num'}, 'text', node, [more]): false, null and undefined children are left out.
// `style` is a map, because the page allows no style attributes.
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'style')
      for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false)
      element.append(String(child));
  }
}

// Makes the children of `to` like `nodes`, and keeps the elements that are alike: so the focus, the
// selection and the scroll positions stay. An element with `data-own` belongs to another module
// once it is there.
export function show(to, nodes) {
  patchChildren(
    to,
    [nodes].flat(Infinity).filter((node) => node instanceof Node),
  );
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE
    ? node.tagName + '|' + (node.getAttribute('data-key') || '')
    : '#text';
}

function patchChildren(old, wanted) {
  let at = old.firstChild;
  for (const node of wanted) {
    const found = find(at, keyOf(node));
    if (!found) {
      old.insertBefore(node, at);
      continue;
    }
    for (; at !== found; at = drop(at));
    at = found.nextSibling;
    patch(found, node);
  }
  while (at) at = drop(at);
}

function find(node, key) {
  while (node && keyOf(node) !== key) node = node.nextSibling;
  return node;
}

function drop(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

function patch(old, wanted) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  if (old.hasAttribute('data-own')) return;
  for (const {name} of [...old.attributes])
    if (!wanted.hasAttribute(name) && name !== 'style' && !isOfPerson(old, name))
      old.removeAttribute(name);
  for (const {name, value} of [...wanted.attributes])
    if (name !== 'style' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.style.cssText !== wanted.style.cssText) old.style.cssText = wanted.style.cssText;
  patchChildren(old, [...wanted.childNodes]);
  if (old.type === 'checkbox') old.checked = wanted.checked;
  else if (old.tagName === 'SELECT' || (old.tagName === 'INPUT' && old !== document.activeElement))
    old.value = wanted.value;
}

// What a person has opened stays open.
function isOfPerson(element, name) {
  return name === 'open' && element.tagName === 'DETAILS';
}

// Returns the colour `name` of style.css.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}
