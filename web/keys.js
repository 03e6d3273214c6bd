// The keys of the page.
import {h} from './dom.js';

const HELP = [
  ['/', 'go to the filter, or to the search in the log'],
  ['j, ↓', 'the next row'],
  ['k, ↑', 'the row before'],
  ['Enter', 'open the row'],
  ['Esc', 'leave the field, close the dialog, or go back'],
  ['?', 'these keys'],
];

export function help(dialog) {
  dialog.replaceChildren(
    h(
      'form',
      {method: 'dialog'},
      h('h2', {id: 'dialog-title'}, 'Keys'),
      h(
        'dl',
        {class: 'keys'},
        HELP.map(([key, text]) => h('div', {}, h('dt', {}, h('kbd', {}, key)), h('dd', {}, text))),
      ),
      h('div', {class: 'actions'}, h('button', {type: 'submit', class: 'main'}, 'close')),
    ),
  );
  dialog.showModal();
}

function move(by) {
  const links = [...document.querySelectorAll('#main tr[data-row] a[href]')].filter(
    (a, i, all) => !all.slice(0, i).some((other) => other.closest('tr') === a.closest('tr')),
  );
  if (!links.length) return;
  const at = links.findIndex((a) => a.closest('tr').contains(document.activeElement));
  const to =
    links[
      Math.min(Math.max(at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by, 0), links.length - 1)
    ];
  to.focus();
  to.closest('tr').scrollIntoView({block: 'nearest'});
}

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
  const keys = {
    '/': () =>
      (
        document.querySelector('#filter') ||
        document.querySelector('#find') ||
        document.body
      ).focus(),
    '?': () => help(dialog),
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
  };
  const hasRows = document.querySelector('#main tr[data-row]');
  if (!keys[event.key] || (event.key.startsWith('Arrow') && !hasRows)) return;
  event.preventDefault();
  keys[event.key]();
}
