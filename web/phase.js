// One phase: its curves over all attempts, its attempts, its gate, the log and the GPUs of its
// newest run that has begun or of the run in the address, and the members of a sweep.
import {get, getOnce, pathOf} from './api.js';
import {chosen, curve, curvesOf, drawCurves, memberCurves} from './curves.js';
import {h} from './dom.js';
import {eventsOf} from './events.js';
import {cost, duration, plural, time} from './format.js';
import * as heat from './heat.js';
import * as logs from './log.js';
import {gpuTable, members, rankedBy, sortMembers} from './members.js';
import {
  bar,
  button,
  checkbox,
  explain,
  facts,
  gateOf,
  heldPanel,
  section,
  state,
  table,
} from './parts.js';
import {changed, link} from './route.js';
import {timelineOf} from './timeline.js';
import {buttons, verbsOf} from './verbs.js';
import {gateFor} from './workflow.js';
import {
  isMatrix,
  list,
  membersNote,
  noteOf,
  stateOf,
  stepsOf,
  suspectNote,
  totals,
} from './words.js';

const DETAILS_MAX = 20;
const GPU_PARTS = 100;
const HISTORY_MS = 60000;
let history = {}; /* of the GPUs of the run that was shown last */

// The run that the address names, else the newest run that has begun.
function runOf({params}, phase) {
  const attempt = Number(params.get('run'));
  return phase.runs.find((run) => (attempt ? run.attempt === attempt : run.started));
}

// Adds to each member the newest run that has begun, as `begun`. A member whose newest run waits
// does not have the runs before.
async function addBegun({members: all, address}, signal) {
  const isWaiting = ({run, attempts: count}) => run && !run.started && count > 1;
  const {runs} = all.some(isWaiting)
    ? await get('/runs?workflow=' + address.split('/')[0], signal)
    : {runs: []};
  const begun = new Map(); /* by phase; the newest run comes first in the list */
  for (const run of runs) if (run.started && !begun.has(run.phase)) begun.set(run.phase, run);
  for (const member of all) {
    const {run, phase} = member;
    member.begun = run && run.started ? run : begun.get(phase);
  }
}

async function logOf(route, phase, signal) {
  const run = runOf(route, phase);
  if (!run) return null;
  const isLive = run.state !== 'ended';
  const isFollowed = route.params.get('follow') !== '0';
  const {files, trouble} = await logs.list(run.address, signal);
  const rank = Number(route.params.get('rank') || (files[0] && files[0].rank) || 0);
  if (files.length) await logs.read(run.address, rank, isFollowed, signal);
  return {run, rank, files, trouble, isLive, isFollowed};
}

// What the GPUs of a run do, with their history. The history of a run that goes on is long, so it
// is asked for once a minute.
async function gpusOf(route, phase, signal) {
  const run = runOf(route, phase);
  if (!run || !run.started || !phase.gpus) return null;
  const path = '/gpus?parts=' + GPU_PARTS;
  if (run.state === 'ended') return {...(await getOnce(run, path, signal)), run};
  if (history.run !== run.address || Date.now() - history.asked > HISTORY_MS) {
    const gpus = await get(pathOf(run.address) + path, signal);
    history = {run: run.address, asked: Date.now(), reply: gpus.history};
    return {...gpus, run};
  }
  return {...(await get(pathOf(run.address) + '/gpus', signal)), history: history.reply, run};
}

/* The params that change what is asked for. */
export const ASKS = ['metric', 'zoom', 'run', 'rank', 'follow'];

export async function load(route, signal) {
  const path = `/workflows/${route.workflow}/phases/${encodeURIComponent(route.phase)}`;
  const [phase, events] = await Promise.all([
    get(path + '?so_far=1', signal),
    eventsOf(route.workflow, signal),
  ]);
  if (Array.isArray(phase.members)) await addBegun(phase, signal);
  const started = phase.runs
    .filter((run) => run.started)
    .reverse(); /* the API has the newest first */
  const metrics = chosen(route.params, phase);
  const isTold = (run) =>
    ['failed', 'lost', 'cancelled'].includes(run.outcome) || run === phase.runs[0];
  const ask = (run, end) => getOnce(run, end, signal);
  const [curves, gate, details, log, gpus] = await Promise.all([
    Promise.all(
      metrics.map((metric) =>
        Array.isArray(phase.members)
          ? memberCurves(sortMembers(phase), metric, ask, route.params)
          : curve(started, metric, ask, route.params),
      ),
    ),
    gateFor(route.workflow, phase, signal),
    Promise.all(
      phase.runs
        .filter(isTold)
        .slice(0, DETAILS_MAX)
        .map((run) => getOnce(run, '', signal)),
    ),
    logOf(route, phase, signal),
    gpusOf(route, phase, signal),
  ]);
  return {
    phase,
    events,
    metrics,
    curves,
    gate,
    log,
    gpus,
    details: new Map(details.map((run) => [run.address, run])),
  };
}

export function isBusy({phase}) {
  return (
    phase.runs.some((run) => run.state !== 'ended') ||
    ['active', 'deciding'].includes(stateOf(phase))
  );
}

export function title(route) {
  return `${route.workflow}/${route.phase}`;
}

export function crumbs(route, data) {
  const matrix = data && data.phase.matrix;
  return [
    [String(route.workflow), link(route.workflow)],
    ...(matrix ? [[matrix, link(route.workflow, matrix)]] : []),
    [route.phase, link(route.workflow, route.phase)],
  ];
}

function head({phase}) {
  const rows = verbsOf(phase);
  const run = phase.run || {};
  return h(
    'div',
    {class: 'head', 'data-key': 'head'},
    h('h1', {}, phase.phase),
    state(stateOf(phase)),
    bar(phase),
    typeof phase.eta_s === 'number' && h('span', {}, duration(phase.eta_s) + ' left'),
    run.nodes &&
      run.nodes.length > 0 &&
      run.state !== 'ended' &&
      h('span', {class: 'dim'}, `job ${run.job_id} on ${run.nodes.join(', ')}`),
    phase.state !== 'held' && h('span', {class: 'buttons'}, buttons(phase.address, rows)),
  );
}

function aboutOf({phase}) {
  const sums = totals(phase);
  const params = Object.entries(phase.case || {})
    .map(([k, v]) => `${k}=${v}`)
    .join(' ');
  const gpus = phase.gpus
    ? `${plural(phase.gpus, 'GPU')} on ${plural(phase.nodes, 'node')}`
    : plural(phase.nodes, 'node');
  const note = noteOf(phase);
  const isTold = phase.state === 'held' || /^on [^ ]*$/.test(note); /* shown elsewhere */
  return facts([
    ['note', isTold ? '' : note],
    ['warning', phase.warning],
    ['after', list(phase.after)],
    ['params', params],
    ['asks for', gpus],
    [
      'spent',
      [sums.gpu_seconds > 0 && duration(sums.gpu_seconds) + ' of GPU time', cost(sums.cost_usd)]
        .filter(Boolean)
        .join(', '),
    ],
    [
      'at its end',
      typeof phase.projected_cost_usd === 'number' ? cost(phase.projected_cost_usd) : '',
    ],
    ['checkpoint', phase.checkpoint],
    ['suspect', suspectNote(phase)],
    ['output', phase.out],
    [
      'best',
      phase.best && h('a', {href: link(phase.address.split('/')[0], phase.best)}, phase.best),
    ],
    ['reused', phase.reused],
    ['members', isMatrix(phase) ? membersNote(phase) : ''],
    ['ranked by', rankedBy(phase)],
  ]);
}

// --- Attempts ------------------------------------------------------------------------------------

function attempts(route, {phase, details, log}) {
  const rows = phase.runs.map((run) => ({
    key: run.address,
    cells: [
      run.started
        ? h(
            'a',
            {
              href: changed({run: run.attempt}),
              'aria-label': `attempt ${run.attempt}: show its log and its GPUs`,
              'aria-current': log && log.run === run ? 'true' : null,
            },
            '#' + run.attempt,
          )
        : '#' + run.attempt,
      state(run.outcome || run.state),
      run.cause || '',
      run.job_id ? String(run.job_id) : '',
      (run.nodes || []).join(', '),
      time(run.started),
      run.started ? duration((run.ended || Date.now() / 1000) - run.started) : '',
      stepsOf(run),
      explain(run, details.get(run.address)),
    ],
  }));
  return rows.length
    ? table(
        'attempts',
        [
          ['run', 'name'],
          ['outcome', ''],
          ['cause', ''],
          ['job', 'num'],
          ['nodes', ''],
          ['started', 'num'],
          ['took', 'num'],
          ['steps', 'num'],
          ['message', 'wide'],
        ],
        rows,
      )
    : null;
}

// --- The log -------------------------------------------------------------------------------------

function logControls(log, find) {
  const jump = (by, sign, label) =>
    button('jump', sign, {'data-by': by, disabled: !find, 'aria-label': label});
  const ranks = log.files.map(({rank}) =>
    h('option', {value: rank, selected: rank === log.rank}, rank),
  );
  return h(
    'div',
    {class: 'controls', 'data-key': 'log-controls'},
    ranks.length > 1 && h('label', {}, 'rank ', h('select', {'data-set': 'rank'}, ranks)),
    h('input', {
      type: 'search',
      id: 'find',
      'data-set': 'find',
      value: find,
      placeholder: 'find in the log',
      'aria-label': 'Find in the log',
    }),
    jump(-1, '↑', 'previous line found'),
    jump(1, '↓', 'next line found'),
    checkbox('follow', 'follow', log.isFollowed, '0'),
    logs.hasEarlier() && button('earlier', 'read earlier lines', {'data-key': 'earlier'}),
  );
}

function logSection(route, {log}) {
  if (!log) return null;
  const {address} = log.run;
  if (!log.files.length)
    return h('p', {class: 'dim'}, log.trouble || `${address} has no log yet.`);
  return [
    logControls(log, route.params.get('find') || ''),
    h('pre', {
      id: 'log',
      'data-own': 'log',
      tabindex: '0',
      role: 'log',
      'aria-live': 'off',
      'aria-label': `log of ${address}`,
    }),
    h('p', {class: 'dim', id: 'log-says', 'data-own': 'says', role: 'status'}),
  ];
}

// Draws what other modules draw into their own elements.
export function mounted(main, route, data) {
  drawCurves(main, route, data);
  const map = main.querySelector('.heat');
  if (map) heat.draw(map, data.gpus.history);
  const place = main.querySelector('#log');
  if (place) logs.draw(place, main.querySelector('#log-says'), route.params.get('find') || '');
}

export function render(route, data) {
  const {phase} = data;
  const isHeld = phase.state === 'held';
  return [
    head(data),
    aboutOf(data),
    isHeld && section('Waiting for you', 'held', heldPanel(phase, data.gate)),
    section('Members', 'members', members(data, route)),
    section('Curve', 'curves', curvesOf(route, data)),
    section('Attempts', 'attempts', timelineOf(phase, data.events), attempts(route, data)),
    !isHeld && section('Gate', 'gates', gateOf(phase.address, data.gate)),
    section(data.log ? `Log of ${data.log.run.address}` : 'Log', 'log', logSection(route, data)),
    section(
      data.gpus ? `GPUs of ${data.gpus.run.address}` : 'GPUs',
      'gpus',
      gpuTable(data.gpus),
      data.gpus && heat.heatOf(data.gpus.history),
    ),
  ].filter(Boolean);
}
