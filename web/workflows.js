// All workflows: those that need a person first, then those that run, then those that are over.
import {get} from './api.js';
import {h} from './dom.js';
import {cost, duration, now, plural} from './format.js';
import {bar, state, table} from './parts.js';
import {link} from './route.js';
import {currentPhase, isFinal, isMatrix, membersNote, metricOf, noteOf} from './words.js';

const GROUPS = [
  ['Waiting for you', (workflow) => workflow.state === 'held'],
  ['At work', (workflow) => workflow.state === 'running'],
  ['Over', (workflow) => !['held', 'running'].includes(workflow.state)],
];
const STATES = ['held', 'running', 'succeeded', 'failed', 'cancelled'];
const COLUMNS = [
  ['id', 'num'],
  ['name', 'name'],
  ['state', ''],
  ['phase', ''],
  ['step', 'step'],
  ['ETA', 'num'],
  ['metric', 'metric'],
  ['age', 'num spare'],
  ['cost', 'num'],
  ['note', 'wide note'],
];

export const ASKS = ['all']; /* the params that change what is asked for */

export async function load(route, signal) {
  return get('/workflows' + (route.params.get('all') ? '?all=1' : ''), signal);
}

export function isBusy(data) {
  return data.workflows.some((workflow) => workflow.state === 'running');
}

export function title() {
  return 'workflows';
}

export function crumbs() {
  return [];
}

function note(phase) {
  if (!phase) return '';
  if (isMatrix(phase) && !isFinal(phase.state) && !phase.hold) return membersNote(phase);
  return noteOf(phase) + (phase.warning ? `; warning: ${phase.warning}` : '');
}

// What the filter looks in.
function words(workflow) {
  const phase = currentPhase(workflow);
  return [
    workflow.workflow,
    workflow.name,
    workflow.file,
    ...workflow.variants,
    ...Object.entries(workflow.set).map(([key, value]) => `${key}=${value}`),
    workflow.state,
    workflow.branch,
    phase && phase.phase,
    note(phase),
  ]
    .join(' ')
    .toLowerCase();
}

function isFound(workflow, filter) {
  const text = words(workflow);
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function row(workflow) {
  const phase = currentPhase(workflow) || {phase: '', reason: '', state: 'blocked', after: []};
  const isOver = isFinal(workflow.state);
  const choices = [
    ...workflow.variants,
    ...Object.entries(workflow.set).map(([k, v]) => `${k}=${v}`),
  ];
  return {
    key: String(workflow.workflow),
    open: true,
    class: workflow.state === 'held' ? 'needs' : '',
    cells: [
      workflow.workflow,
      [
        h('a', {href: link(workflow.workflow)}, workflow.name),
        choices.length > 0 && h('span', {class: 'dim choices'}, ' ' + choices.join(' ')),
      ],
      state(workflow.state),
      phase.phase,
      bar(phase),
      !isOver && typeof phase.eta_s === 'number' && duration(phase.eta_s),
      metricOf(phase),
      duration((workflow.ended || now()) - workflow.submitted),
      cost(workflow.cost_usd),
      note(phase),
    ],
  };
}

function controls(route, data, filter, wanted) {
  const counts = (name) => data.workflows.filter((workflow) => workflow.state === name).length;
  const option = (value, text) => h('option', {value, selected: value === wanted}, text);
  return h(
    'form',
    {class: 'controls', role: 'search', 'data-key': 'controls'},
    h('input', {
      type: 'search',
      id: 'filter',
      'data-set': 'filter',
      value: filter,
      placeholder: 'filter: name, id, file, note  (/)',
      'aria-label': 'Filter the workflows',
    }),
    h(
      'select',
      {'data-set': 'state', 'aria-label': 'State of the workflows'},
      option('', `all states (${data.workflows.length})`),
      STATES.map((name) => option(name, `${name} (${counts(name)})`)),
    ),
    h(
      'label',
      {},
      h('input', {type: 'checkbox', 'data-set': 'all', checked: route.params.has('all')}),
      ' also those that ended more than a day ago',
    ),
  );
}

export function render(route, data) {
  const filter = route.params.get('filter') || '';
  const wanted = route.params.get('state') || '';
  const found = data.workflows.filter(
    (workflow) => (!wanted || workflow.state === wanted) && isFound(workflow, filter),
  );
  const groups = GROUPS.map(([name, isIn]) => [name, found.filter(isIn)]).filter(
    ([, list]) => list.length,
  );
  const rest = data.total - data.workflows.length;
  return [
    h('h1', {'data-key': 'title'}, 'Workflows'),
    controls(route, data, filter, wanted),
    h(
      'p',
      {class: 'dim', id: 'count', role: 'status'},
      found.length === data.workflows.length
        ? plural(found.length, 'workflow')
        : `${found.length} of ${plural(data.workflows.length, 'workflow')}`,
      rest > 0 && `; ${rest} more that ended earlier`,
    ),
    found.length > 0 &&
      table(
        'workflows',
        COLUMNS,
        groups.flatMap(([name, list]) => [
          {group: [name, h('span', {class: 'count'}, ' ' + list.length)], key: name},
          ...list.map(row),
        ]),
        'list',
      ),
    !data.workflows.length &&
      h(
        'p',
        {class: 'empty'},
        'No workflows yet. Submit one: ',
        h('code', {}, 'phasectl submit FILE'),
      ),
    data.workflows.length > 0 &&
      !found.length &&
      h('p', {class: 'empty', 'data-key': 'none'}, 'No workflow fits the filter.'),
  ];
}
