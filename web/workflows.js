// All workflows: those that need a person first, then those that run, then those that are over.
import {get} from './api.js';
import {h} from './dom.js';
import {cost, duration, now, plural} from './format.js';
import {bar, button, state, table} from './parts.js';
import {link, listOf, replace} from './route.js';
import {
  currentPhase,
  isFinal,
  isHeld,
  isMatrix,
  membersNote,
  metricOf,
  noteOf,
  stateOfWorkflow,
} from './words.js';

const GROUPS = [
  ['Waiting for you', isHeld],
  ['At work', (workflow) => workflow.state === 'running' && !isHeld(workflow)],
  ['Over', (workflow) => isFinal(workflow.state)],
];
const ROWS = 100; /* that are added at the end of the list */
const ROWS_ASKED = 500; /* by one question */
const ROWS_MAX = 2000; /* for which a browser is quick */
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

export const ASKS = ['filter', 'state', 'rows']; /* the params that change what is asked for */

// The daemon chooses and sorts. The address has how many rows a person has scrolled to, and the
// answers to several questions follow one another.
export async function load({params}, signal) {
  const query = new URLSearchParams({all: 1});
  if (params.get('filter')) query.set('words', params.get('filter').trim());
  if (params.get('state')) query.set('state', params.get('state'));
  const wanted = rowsOf(params);
  const found = [];
  let total = 0;
  for (let hasMore = true; hasMore && found.length < wanted; ) {
    const limit = Math.min(wanted - found.length, ROWS_ASKED);
    query.set('limit', limit);
    if (found.length) query.set('before', found.at(-1).workflow);
    const reply = await get('/workflows?' + query, signal);
    found.push(...reply.workflows);
    ({total} = reply);
    hasMore = reply.workflows.length === limit;
  }
  return {workflows: unique(found), total, hasMore: found.length >= wanted && found.length < total};
}

// Whether to ask for the list at once after these events. A long list waits for its turn.
export function changes(events, data) {
  const isShort = !data || !data.workflows || data.workflows.length <= 2 * ROWS;
  return isShort && events.some(({type}) => type === 'phase' || type === 'run');
}

function rowsOf(params) {
  return Math.min(Math.max(Number(params.get('rows')) || ROWS, ROWS), ROWS_MAX);
}

// A workflow that moves between two questions can be in both answers.
function unique(workflows) {
  return [...new Map(workflows.map((workflow) => [workflow.workflow, workflow])).values()];
}

// Shows more rows, because a person has come to the end of the list.
export function more({params}, data) {
  if (!data || !data.hasMore || rowsOf(params) >= ROWS_MAX) return;
  if (data.workflows.length >= rowsOf(params) - ROWS / 2) replace({rows: rowsOf(params) + ROWS});
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

// The number of a workflow, with a box that chooses it for a comparison.
function pick(number, isPicked) {
  return h(
    'label',
    {class: 'pick'},
    h('input', {
      type: 'checkbox',
      'data-list': 'pick',
      value: number,
      checked: isPicked,
      'aria-label': `compare workflow ${number}`,
    }),
    ` ${number}`,
  );
}

function row(workflow, isPicked) {
  const phase = currentPhase(workflow) || {phase: '', reason: '', state: 'blocked', after: []};
  const isOver = isFinal(workflow.state);
  const choices = [
    ...workflow.variants,
    ...Object.entries(workflow.set).map(([k, v]) => `${k}=${v}`),
  ];
  return {
    key: String(workflow.workflow),
    open: true,
    class: isHeld(workflow) ? 'needs' : '',
    cells: [
      pick(workflow.workflow, isPicked),
      [
        h('a', {href: link(workflow.workflow)}, workflow.name),
        choices.length > 0 && h('span', {class: 'dim choices'}, ' ' + choices.join(' ')),
      ],
      state(stateOfWorkflow(workflow)),
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

function controls(route) {
  const wanted = route.params.get('state') || '';
  const option = (value, text) => h('option', {value, selected: value === wanted}, text);
  return h(
    'form',
    {class: 'controls', role: 'search', 'data-key': 'controls'},
    h('input', {
      type: 'search',
      id: 'filter',
      'data-set': 'filter',
      value: route.params.get('filter') || '',
      placeholder: 'search: name, id, file, set values  (/)',
      'aria-label': 'Search the workflows',
    }),
    h(
      'select',
      {'data-set': 'state', 'aria-label': 'State of the workflows'},
      option('', 'all states'),
      STATES.map((name) => option(name, name === 'running' ? 'at work' : name)),
    ),
    comparison(listOf(route.params, 'pick')),
  );
}

// Leads to the chosen workflows in the same charts.
function comparison(picked) {
  if (!picked.length) return null;
  return h(
    'span',
    {class: 'buttons', 'data-key': 'comparison'},
    h(
      'a',
      {class: 'button main', id: 'compare', href: '#/compare?with=' + picked.join(',')},
      `compare ${plural(picked.length, 'workflow')}`,
    ),
    button('set', 'choose none', {'data-name': 'pick', 'data-value': ''}),
  );
}

// "120 workflows", "the first 100 of 5000 workflows", "7 workflows found among 5000"
function countOf({workflows, total, hasMore}, isChosen) {
  const count = workflows.length;
  if (isChosen)
    return `${hasMore ? 'the first ' : ''}${plural(count, 'workflow')} found among ${total}`;
  return hasMore ? `the first ${count} of ${plural(total, 'workflow')}` : plural(count, 'workflow');
}

export function render(route, data) {
  const {workflows} = data;
  const {params} = route;
  const isChosen = Boolean(params.get('filter') || params.get('state'));
  const picked = listOf(params, 'pick');
  const groups = GROUPS.map(([name, isIn]) => [name, workflows.filter(isIn)]).filter(
    ([, list]) => list.length,
  );
  return [
    h('h1', {'data-key': 'title'}, 'Workflows'),
    controls(route),
    h('p', {class: 'dim', id: 'count', role: 'status'}, countOf(data, isChosen)),
    workflows.length > 0 &&
      table(
        'workflows',
        COLUMNS,
        groups.flatMap(([name, list]) => [
          {group: [name, h('span', {class: 'count'}, ' ' + list.length)], key: name},
          ...list.map((workflow) => row(workflow, picked.includes(String(workflow.workflow)))),
        ]),
        'list',
      ),
    data.hasMore &&
      h(
        'p',
        {id: 'more', 'data-key': 'more'},
        rowsOf(params) < ROWS_MAX
          ? button('more', 'show more workflows')
          : `No more than ${ROWS_MAX} rows are shown: search for the others.`,
      ),
    !workflows.length &&
      !isChosen &&
      h(
        'p',
        {class: 'empty'},
        'No workflows yet. Submit one: ',
        h('code', {}, 'phasectl submit FILE'),
      ),
    !workflows.length &&
      isChosen &&
      h('p', {class: 'empty', 'data-key': 'none'}, 'No workflow fits the search.'),
  ];
}
