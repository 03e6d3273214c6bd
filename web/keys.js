// The keys of the page.
import {h} from './dom.js';

export function help(dialog) {
  dialog.replaceChildren(
    h(
      'form',
      {method: 'dialog'},
      h('h2', {id: 'dialog-title'}, 'Keys'),
      h(
        'dl',
        {class: 'keys'},
        KEYS.map(([key, text]) => h('div', {}, h('dt', {}, h('kbd', {}, key)), h('dd', {}, text))),
      ),
      h('div', {class: 'actions'}, h('button', {type: 'submit', class: 'main'}, 'close')),
    ),
  );
  dialog.showModal();
}

function move(by) {
  const links = [...document.querySelectorAll('#main tr[data-row]')]
    .map((row) => row.querySelector('a[href]'))
    .filter(Boolean);
  if (!links.length) return;
  const at = links.findIndex((a) => a.closest('tr').contains(document.activeElement));
  const to =
    links[
      Math.min(Math.max(at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by, 0), links.length - 1)
    ];
  to.focus();
  to.closest('tr').scrollIntoView({block: 'nearest'});
}

function click(element) {
  if (element) element.click();
}

// Clicks a button of the row that has the focus; a held phase has its buttons in a panel above
// the rows. Without such a row, the button is of the first phase that waits for a person, or of
// what the page shows as a whole.
function decide(at, ...verbs) {
  const row = at && at.closest('tr[data-row]');
  const all = (selector) => [...document.querySelectorAll(selector)];
  const panels = all('#s-held .panel');
  const isOfRow = (panel) => panel.querySelector('a').hash === row.querySelector('a').hash;
  const places = row ? [row, ...panels.filter(isOfRow)] : [...panels, ...all('#main .head')];
  const wanted = verbs.map((verb) => `button[data-verb=${verb}]`).join();
  click(places.map((place) => place.querySelector(wanted)).find(Boolean));
}

// Rows of [keys, help, act]. `act` gets the element that has the focus, and the dialog. A row
// without `act` has keys that the browser or onKey() handles.
const KEYS = [
  [
    '/',
    'go to the filter, or to the search in the log',
    () => (document.querySelector('#filter, #find') || document.body).focus(),
  ],
  ['j, ↓', 'the next row', () => move(1)],
  ['k, ↑', 'the row before', () => move(-1)],
  ['Enter', 'open the row'],
  ['p', 'promote the phase of the row, or of the page', (at) => decide(at, 'promote')],
  ['h', 'hold it, or release it', (at) => decide(at, 'hold', 'release')],
  ['r', 'retry it', (at) => decide(at, 'retry')],
  ['c', 'cancel it; each of these asks first', (at) => decide(at, 'cancel')],
  [
    'x',
    'choose the workflow of the row for a comparison',
    (at) => click(at && at.closest('tr') && at.closest('tr').querySelector('input[data-list]')),
  ],
  ['X', 'compare the chosen workflows', () => click(document.querySelector('#compare'))],
  ['Esc', 'leave the field, close the dialog, or go back'],
  ['?', 'these keys', (at, dialog) => help(dialog)],
];
const ARROWS = {ArrowDown: '↓', ArrowUp: '↑'};

// `goBack` leads to the view above.
export function onKey(event, dialog, goBack) {
  const at = document.activeElement;
  const isField =
    at && at.matches('input:not([type=checkbox]):not([type=range]), select, textarea');
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (event.key === 'Escape') {
    if (isField) at.blur();
    else goBack();
    return;
  }
  if (
    isField ||
    (at && at.id === 'log' && event.key.startsWith('Arrow')) ||
    (at && at.matches('input[type=range]') && event.key.startsWith('Arrow'))
  )
    return;
  const key = ARROWS[event.key] || event.key;
  const [, , act] = KEYS.find(([keys]) => keys.split(', ').includes(key)) || [];
  const hasRows = document.querySelector('#main tr[data-row]');
  if (!act || (event.key.startsWith('Arrow') && !hasRows)) return;
  event.preventDefault();
  act(at, dialog);
}
