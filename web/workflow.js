// One workflow: its phases as a tree, its attempts on a line of time, its gates, what it costs, and
// what a person may decide.
import {get, keep, pathOf} from './api.js';
import {h} from './dom.js';
import {eventsOf} from './events.js';
import {budget, cost, duration, number, plural, time} from './format.js';
import {bar, button, facts, gateOf, heldPanel, section, state, table} from './parts.js';
import {link} from './route.js';
import {timeline} from './timeline.js';
import {buttons, verbsOf, verbsOfWorkflow} from './verbs.js';
import {costsBy, isFinal, metricOf, noteOf, stateOf, stateOfWorkflow, totals} from './words.js';

const COLUMNS = [
  ['phase', 'name tree'],
  ['state', ''],
  ['step', 'step'],
  ['ETA', 'num'],
  ['metric', 'metric'],
  ['runs', 'num'],
  ['GPU time', 'num spare'],
  ['cost', 'num'],
  ['note', 'wide note'],
  ['', 'verbs'],
];
const DETAILS_MAX = 8;
const GATES_MAX = 1000;
const gates = new Map(); /* of phases that are over: they do not change */

// The gate of a phase, with what it would find now while the phase is active.
export async function gateFor(workflow, phase, signal) {
  const key = phase.address + '/' + (phase.run ? phase.run.attempt : 0) + '/' + phase.state;
  if (gates.has(key)) return gates.get(key);
  if (['blocked', 'queued', 'skipped'].includes(phase.state) && !phase.run) return null;
  const gate = await get(
    `/workflows/${workflow}/phases/${encodeURIComponent(phase.phase)}/gate?so_far=1`,
    signal,
  );
  if (isFinal(phase.state)) keep(gates, key, gate, GATES_MAX);
  return gate;
}

export const ASKS = ['source']; /* the params that change what is asked for */

export async function load(route, signal) {
  const path = `/workflows/${route.workflow}`;
  const [workflow, runs, events, costs] = await Promise.all([
    get(path, signal),
    get(`/runs?workflow=${route.workflow}`, signal),
    eventsOf(route.workflow, signal),
    get(`/costs?workflow=${route.workflow}`, signal),
  ]);
  const phases = workflow.phases.filter((phase) => !phase.matrix);
  const found = await Promise.all(phases.map((phase) => gateFor(route.workflow, phase, signal)));
  const held = workflow.phases.filter(
    (phase) => phase.state === 'held' && phase.run && phase.run.cause,
  );
  const details = await Promise.all(
    held.slice(0, DETAILS_MAX).map((phase) => get(pathOf(phase.run.address), signal)),
  );
  const source = route.params.get('source') ? await get(path + '/source', signal) : null;
  return {
    workflow,
    runs: runs.runs,
    events,
    costs: costs.costs,
    source,
    details: new Map(details.map((run) => [run.address, run])),
    gates: new Map(phases.map((phase, i) => [phase.phase, found[i]])),
  };
}

export function isBusy(data) {
  return (
    data.workflow.state === 'running' ||
    data.workflow.phases.some((p) => p.run && p.run.state !== 'ended')
  );
}

export function title(route, data) {
  return `${route.workflow} ${data.workflow.name}`;
}

export function crumbs(route) {
  return [[String(route.workflow), link(route.workflow)]];
}

// The phase that this phase stands below: the last of the phases that it comes after.
function parentOf(phases, phase) {
  return Math.max(
    -1,
    ...phase.after.map((name) => phases.findIndex((other) => other.phase === name)),
  );
}

// [{phase, before}]: `before` are the lines of the tree. Each phase is followed by those below it.
function treeOf(phases) {
  const parents = phases.map((phase) => parentOf(phases, phase));
  const rows = [];
  const add = (parent, edge) => {
    const below = phases.map((_, i) => i).filter((i) => parents[i] === parent && i !== parent);
    below.forEach((i, at) => {
      const isLast = at === below.length - 1;
      rows.push({phase: phases[i], before: edge + (parent < 0 ? '' : isLast ? '└ ' : '├ ')});
      add(i, edge + (parent < 0 ? '' : isLast ? '\u2003' : '│ '));
    });
  };
  add(-1, '');
  return rows;
}

function phaseRow(route, {phase, before}) {
  const also =
    phase.after.length > 1 && phase.state !== 'blocked' ? `after ${phase.after.join(', ')}` : '';
  const note = [noteOf(phase), also, phase.warning && `warning: ${phase.warning}`]
    .filter(Boolean)
    .join('; ');
  /* the panel above has the verbs of held phases */
  const verbs = phase.state === 'held' ? [] : verbsOf(phase);
  return {
    key: phase.phase,
    open: true,
    class: phase.state === 'held' ? 'needs' : '',
    cells: [
      [
        h('span', {class: 'branch', 'aria-hidden': 'true'}, before),
        h('a', {href: link(route.workflow, phase.phase)}, phase.phase),
      ],
      state(stateOf(phase)),
      bar(phase),
      typeof phase.eta_s === 'number' && duration(phase.eta_s),
      metricOf(phase),
      totals(phase).attempts || '',
      totals(phase).gpu_seconds ? duration(totals(phase).gpu_seconds) : '',
      cost(totals(phase).cost_usd),
      note,
      verbs.length > 0 && h('span', {class: 'buttons'}, buttons(phase.address, verbs)),
    ],
  };
}

function head(workflow) {
  const choices = [
    workflow.variants.length > 0 && `with ${workflow.variants.join(', ')}`,
    ...Object.entries(workflow.set).map(([key, value]) => `${key}=${value}`),
  ]
    .filter(Boolean)
    .join(', ');
  const code =
    workflow.commit &&
    workflow.commit.slice(0, 12) +
      (workflow.branch ? ` on ${workflow.branch}` : '') +
      (workflow.changed ? ', with changes' : '');
  return [
    h(
      'div',
      {class: 'head', 'data-key': 'head'},
      h('h1', {}, h('span', {class: 'dim'}, workflow.workflow, ' '), workflow.name),
      state(stateOfWorkflow(workflow)),
      h('span', {class: 'buttons'}, buttons(String(workflow.workflow), verbsOfWorkflow(workflow))),
    ),
    facts([
      ['file', workflow.file + (choices ? ', ' + choices : '')],
      ['submitted', time(workflow.submitted)],
      ['took', workflow.ended && duration(workflow.ended - workflow.submitted)],
      ['code', code],
      ['money', moneyOf(workflow)],
    ]),
  ];
}

// "$3.20 of a budget of $15; at this pace $9.40 when the active runs end"
function moneyOf(workflow) {
  const limits = workflow.budget || {};
  const usd = workflow.projected_cost_usd;
  const hours =
    workflow.projected_gpu_seconds === null ? null : workflow.projected_gpu_seconds / 3600;
  const spent = [
    cost(workflow.cost_usd),
    workflow.gpu_seconds > 0 && `${duration(workflow.gpu_seconds)} of GPU time`,
  ]
    .filter(Boolean)
    .join(', ');
  const of = budget(workflow.budget);
  /* GPU hours if there is no price, or if the budget is in GPU hours */
  const hasHours =
    typeof hours === 'number' &&
    (typeof usd !== 'number' || typeof limits.gpu_hours === 'number');
  const pace = [cost(usd), hasHours && `${number(hours)} GPU hours`].filter(Boolean).join(' and ');
  const isTooMuch = usd > limits.usd || hours > limits.gpu_hours;
  if (!spent && !of) return '';
  return [
    spent || 'nothing spent',
    of && ` of a budget of ${of}`,
    pace &&
      h(
        'span',
        {class: isTooMuch ? 'warn' : ''},
        `; ${isTooMuch ? 'warning: ' : ''}at this pace ${pace} when the active runs end`,
      ),
  ];
}

const CAUSES = ['useful', 'waiting', 'repeated'];

// Where the time went: by cause over all phases.
function causes(costs) {
  const rank = (cause) => (CAUSES.indexOf(cause) + CAUSES.length + 1) % (CAUSES.length + 1);
  const rows = costsBy(costs, (row) => row.cause)
    .filter((sum) => sum.seconds > 0)
    .sort((a, b) => rank(a.key) - rank(b.key))
    .map(({key, seconds, gpuSeconds, usd}) => ({
      key,
      cells: [key, duration(seconds), gpuSeconds ? duration(gpuSeconds) : '', cost(usd)],
    }));
  return rows.length
    ? table(
        'where the time went',
        [
          ['what', 'name'],
          ['time', 'num'],
          ['GPU time', 'num'],
          ['cost', 'num'],
        ],
        rows,
        'fit',
      )
    : null;
}

function sourceOf(source) {
  if (!source) return button('set', 'show the file', {'data-name': 'source', 'data-value': '1'});
  return [
    button('set', 'hide the file', {'data-name': 'source', 'data-value': ''}),
    h('pre', {class: 'source', tabindex: '0', 'aria-label': 'the submitted file'}, source.spec),
    source.diff && [
      h('p', {class: 'dim'}, 'Changes since the commit:'),
      h(
        'pre',
        {class: 'source', tabindex: '0', 'aria-label': 'changes since the commit'},
        source.diff,
      ),
    ],
  ];
}

export function render(route, data) {
  const {workflow} = data;
  const phases = workflow.phases.filter((phase) => !phase.matrix);
  const held = workflow.phases.filter((phase) => phase.state === 'held');
  const asking = held.filter(
    (phase) => !phase.matrix || held.find((other) => other.matrix === phase.matrix) === phase,
  );
  const isShown = (phase) => !asking.includes(phase) && data.gates.get(phase.phase);
  const lines = timeline(workflow, data.runs, data.events);
  return [
    ...head(workflow).filter(Boolean),
    asking.length > 0 &&
      section(
        'Waiting for you',
        'held',
        asking.map((phase) =>
          heldPanel(
            phase,
            data.gates.get(phase.phase),
            phase.run && data.details.get(phase.run.address),
          ),
        ),
      ),
    section(
      'Phases',
      'phases',
      table(
        'phases',
        COLUMNS,
        treeOf(phases).map((row) => phaseRow(route, row)),
      ),
    ),
    lines && section('Attempts', 'attempts', lines),
    section(
      'Gates',
      'gates',
      phases.filter(isShown).map((phase) => gateOf(phase.address, data.gates.get(phase.phase))),
    ),
    section(
      `Where the time went (${plural(data.runs.length, 'run')})`,
      'costs',
      causes(data.costs),
    ),
    section('Submitted', 'source', sourceOf(data.source)),
  ].filter(Boolean);
}
