// Pieces that several views show: tables, states, bars, gates and what holds a phase.
import {h} from './dom.js';
import {number, time} from './format.js';
import {linkTo} from './route.js';
import {buttons, firstOf, verbsOf} from './verbs.js';
import {progressOf, remedyOf, stateOf, suspectNote, verdictOf, waitOf} from './words.js';

const KINDS = {
  succeeded: 'good',
  passed: 'good',
  best: 'good',
  failed: 'bad',
  lost: 'bad',
  error: 'bad',
  insufficient: 'bad',
  out: 'bad',
  active: 'busy',
  running: 'busy',
  deciding: 'busy',
  stopping: 'busy',
  starting: 'busy',
  warned: 'busy',
  failing: 'busy',
  preempted: 'busy',
  timed_out: 'busy',
  held: 'held',
  queued: 'wait',
  pending: 'wait',
  submitting: 'wait',
};
const ALARMS = ['preempted', 'timed_out', 'warned', 'failing'];
const SIGNS = {good: '✓', bad: '✗', busy: '▶', held: '❚❚', wait: '…', idle: '·'};

export function kindOf(word) {
  return KINDS[word] || 'idle';
}

// The word and a sign, so that a state never has only a colour.
export function state(word, sign) {
  const kind = kindOf(word);
  const shown = sign || (ALARMS.includes(word) ? '!' : SIGNS[kind]);
  return h(
    'span',
    {class: 'state ' + kind},
    h('span', {class: 'sign', 'aria-hidden': 'true'}, shown),
    word.replace('_', ' '),
  );
}

function isEmpty(cell) {
  return (
    cell === '' ||
    cell === null ||
    cell === undefined ||
    cell === false ||
    (Array.isArray(cell) && cell.every(isEmpty))
  );
}

// columns: [name, class]; rows: {key, cells, class, open}, or {group} for a heading. Columns
// without content are left out. The roles stay when the narrow layout makes cards of the rows.
export function table(label, columns, rows, kind) {
  const used = columns
    .map((_, i) => i)
    .filter((i) => rows.some((row) => row.cells && !isEmpty(row.cells[i])));
  const head = h(
    'tr',
    {role: 'row'},
    used.map((i) =>
      h('th', {role: 'columnheader', scope: 'col', class: columns[i][1]}, columns[i][0]),
    ),
  );
  const body = rows.map((row) =>
    row.group
      ? h(
          'tr',
          {role: 'row', class: 'group', 'data-key': row.key},
          h('th', {role: 'rowheader', colspan: used.length}, row.group),
        )
      : h(
          'tr',
          {
            role: 'row',
            'data-key': row.key,
            class: row.class,
            'data-row': row.open ? 'open' : null,
          },
          used.map((i) =>
            h(
              'td',
              {
                role: 'cell',
                class: columns[i][1],
                'data-label': columns[i][0],
                'data-key': columns[i][0],
              },
              row.cells[i],
            ),
          ),
        ),
  );
  return h(
    'table',
    {role: 'table', 'aria-label': label, 'data-key': label, class: kind},
    h('thead', {role: 'rowgroup'}, head),
    h('tbody', {role: 'rowgroup'}, body),
  );
}

export function bar(phase) {
  const progress = phase && progressOf(phase);
  if (!progress) return null;
  return h(
    'span',
    {class: 'progress ' + kindOf(stateOf(phase))},
    progress.total > 0 &&
      h('progress', {
        max: progress.total,
        value: Math.min(progress.done, progress.total),
        'aria-label': `${phase.phase}: ${progress.text}`,
      }),
    h('span', {class: 'num'}, progress.text),
  );
}

// A button and a field that app.js hears: `act` is a row of its ACTS, `name` a param of the
// address.
export function button(act, text, props) {
  return h('button', {type: 'button', 'data-act': act, ...props}, text);
}

// `off` is the value of the param while the box is not checked.
export function checkbox(name, text, checked, off) {
  const input = h('input', {type: 'checkbox', 'data-set': name, 'data-off': off, checked});
  return h('label', {'data-key': name}, input, ' ' + text);
}

// A section with a heading; empty sections are left out.
export function section(title, key, ...content) {
  const shown = content.flat(Infinity).filter(Boolean);
  return shown.length
    ? h(
        'section',
        {'data-key': key, 'aria-label': title, id: 's-' + key},
        h('h2', {}, title),
        shown,
      )
    : null;
}

// Rows of a name and a value.
export function facts(rows) {
  const shown = rows.filter(
    ([, value]) => value !== '' && value !== null && value !== undefined && value !== false,
  );
  return shown.length
    ? h(
        'dl',
        {class: 'facts'},
        shown.map(([name, value]) =>
          h('div', {'data-key': name}, h('dt', {}, name), h('dd', {}, value)),
        ),
      )
    : null;
}

function checksTable(label, checks, isEarly) {
  const rows = checks.map((verdict) => {
    const word = verdictOf(verdict, isEarly);
    const {window: steps, advice, reason} = verdict;
    const says =
      verdict.outcome === 'passed' || word === 'too early'
        ? ''
        : reason + (advice && verdict.outcome === 'failed' ? '; ' + advice : '');
    return {
      key: verdict.name,
      cells: [
        verdict.name,
        number(verdict.value),
        verdict.bounds,
        steps ? `steps ${steps.first_step}–${steps.last_step}` : '',
        state(word),
        says,
      ],
    };
  });
  return table(
    label,
    [
      ['check', 'name'],
      ['value', 'num'],
      ['bounds', 'code'],
      ['window', 'num'],
      ['verdict', ''],
      ['why', 'wide'],
    ],
    rows,
    'fit',
  );
}

function decidedLine(gate) {
  if (!gate.decided) return ['not decided yet; the gate judges a run that succeeds'];
  const word = gate.decided_by === 'user' ? 'overruled by a person' : null;
  return [word || state(gate.decided), gate.time ? ' at ' + time(gate.time) : ''];
}

// The gate of a phase with its verdicts; null if there is nothing to tell.
export function gateOf(address, gate) {
  if (!gate) return null;
  const early = gate.so_far || [];
  const checks = gate.checks || [];
  const guards = gate.guards || [];
  if (!early.length && !checks.length && !guards.length) return null;
  return h(
    'div',
    {class: 'gate', 'data-key': 'gate-' + address},
    h(
      'p',
      {},
      'Gate of ',
      h('a', {href: linkTo(address)}, address),
      ': ',
      early.length ? 'so far; the gate judges a run that succeeds' : decidedLine(gate),
    ),
    early.length
      ? checksTable('gate of ' + address, early, true)
      : checks.length
        ? checksTable('gate of ' + address, checks, false)
        : null,
    guards.length
      ? [
          h('p', {class: 'dim'}, 'Guards of its newest run:'),
          checksTable('guards of ' + address, guards, false),
        ]
      : null,
  );
}

// What is known about why the attempt ended as it did.
export function explain(run, detail, known = '') {
  const failure = detail && detail.failure;
  const message = known.includes(run.message) ? '' : run.message;
  const parts = [remedyOf(run) && '→ ' + remedyOf(run), message, waitOf(run)];
  if (failure) {
    parts.push(
      !run.message.includes(failure.line) &&
        failure.line &&
        h('code', {}, (failure.rank === null ? '' : `rank ${failure.rank}: `) + failure.line),
    );
    parts.push(failure.advice && 'advice: ' + failure.advice);
    parts.push(
      `known as ${failure.name}` +
        (failure.blame === 'code'
          ? '; the code or its params are to blame'
          : failure.blame === 'node'
            ? `; the node ${failure.node} is to blame`
            : ''),
    );
  }
  for (const guard of (detail && detail.guards) || [])
    parts.push(
      `guard ${guard.name}${guard.warn ? ' (a warning)' : ''}: ${guard.reason}` +
        (guard.advice ? '; ' + guard.advice : ''),
    );
  for (const node of (detail && detail.preflight) || [])
    if (node.outcome === 'failed' && !node.observed)
      parts.push(`${node.node} failed preflight: ${node.reason}`);
  for (const warning of (detail && detail.warnings) || [])
    parts.push('warning: ' + warning.message);
  for (const node of (detail && detail.evidence) || []) parts.push(`${node.node}: ${node.summary}`);
  return parts.filter(Boolean).map((part) => h('div', {}, part));
}

// Why a phase is held, or over, and what can be done.
export function heldPanel(phase, gate, detail) {
  const word = stateOf(phase);
  const ways = verbsOf(phase);
  const suspects = suspectNote(phase);
  const first = firstOf(phase);
  return h(
    'div',
    {class: 'panel ' + kindOf(word), 'data-key': 'held-' + phase.address},
    h(
      'p',
      {class: 'why'},
      h('a', {href: linkTo(phase.address)}, phase.address),
      ' is ',
      state(word),
      phase.reason ? ': ' + phase.reason : '',
    ),
    detail && h('div', {class: 'detail'}, explain(detail, detail, phase.reason)),
    first && h('p', {}, first),
    suspects && h('p', {}, `Suspect checkpoints: ${suspects}.`),
    h(
      'ul',
      {class: 'ways'},
      ways.map((way) =>
        h('li', {'data-key': way.verb}, buttons(phase.address, [way]), h('span', {}, way.help)),
      ),
    ),
    gateOf(phase.address, gate),
  );
}
