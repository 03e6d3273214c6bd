// The curves of a phase: which metrics, how they are asked for, and what stands around the charts.
import * as chart from './chart.js';
import {h} from './dom.js';
import {checkpointsOf} from './events.js';
import {boundsOf, stitch} from './metric.js';
import {button, checkbox} from './parts.js';
import {replace} from './route.js';
import {sortMetrics} from './words.js';

const METRICS_MAX = 6;
const MEMBERS_MAX = 24;
const BUCKETS = 500;

// The names of the metrics of a phase; those of a matrix are the metrics of its members.
function namesOf(phase) {
  const phases = Array.isArray(phase.members) ? phase.members : [phase];
  return sortMetrics(new Set(phases.flatMap((one) => Object.keys(one.metrics || {}))));
}

// The metrics that the address asks for, or the one that says most.
export function chosen(params, phase) {
  const names = (params.get('metric') || '').split(',').filter(Boolean).slice(0, METRICS_MAX);
  return names.length ? names : namesOf(phase).slice(0, 1);
}

// `ask` gets a run and the end of a path.
export async function curve(runs, metric, ask) {
  const parts = await Promise.all(
    runs.map((run) => ask(run, `/metrics?name=${encodeURIComponent(metric)}&buckets=${BUCKETS}`)),
  );
  return stitch(
    runs.map((run, i) => ({...run, steps: parts[i].steps, values: parts[i].series[metric] || []})),
  );
}

// A curve for each member of a sweep, of its newest run. Only the first members are asked for.
export async function memberCurves(members, metric, ask) {
  const begun = members.filter(({run}) => run && run.started).slice(0, MEMBERS_MAX);
  const found = await Promise.all(begun.map(({run}) => curve([run], metric, ask)));
  const lines = begun.map((member, i) => ({
    name: member.phase,
    isBest: member.standing === 'best',
    line: found[i].line,
  }));
  return {
    line: [],
    rewound: [],
    begins: [],
    strange: [],
    members: lines.filter(({line}) => line.length),
  };
}

function controls(route, {phase, metrics}, isTable) {
  const names = [...new Set([...namesOf(phase), ...metrics])];
  const {params} = route;
  const weight = Number(params.get('smooth') || 0);
  const chips = names.map((name) =>
    button('metric', name, {
      class: 'chip',
      'data-key': name,
      'data-name': name,
      'aria-pressed': String(metrics.includes(name)),
    }),
  );
  const slider = h(
    'label',
    {class: 'slider', 'data-key': 'smooth'},
    'smoothing ',
    h('input', {type: 'range', min: 0, max: 0.99, step: 0.01, value: weight, 'data-set': 'smooth'}),
    h('output', {}, weight ? weight.toFixed(2) : 'off'),
  );
  return h(
    'div',
    {class: 'controls', 'data-key': 'controls'},
    h('div', {class: 'chips', role: 'group', 'aria-label': 'Metrics to show'}, chips),
    h(
      'div',
      {class: 'row', 'data-key': 'row'},
      !isTable && slider,
      !isTable && checkbox('log', 'logarithmic', params.has('log')),
      chart.canDraw() && checkbox('table', 'numbers', params.has('table')),
      !isTable &&
        params.has('zoom') &&
        button('set', `steps ${params.get('zoom')}: show all`, {
          'data-name': 'zoom',
          'data-value': '',
          'data-key': 'zoom',
        }),
    ),
  );
}

// The controls, and a chart or a table for each metric.
export function curvesOf(route, data) {
  const {metrics} = data;
  const isTable = !chart.canDraw() || route.params.has('table');
  if (!metrics.length) return null;
  const kind = metrics.length === 1 ? 'chart one' : 'chart';
  const place = (metric) =>
    h('div', {class: kind, 'data-own': 'chart', 'data-metric': metric, 'data-key': kind});
  return [
    !chart.canDraw() &&
      h(
        'p',
        {class: 'dim'},
        'No curves: phased was built without dygraphs ' +
          '(the package libjs-dygraphs), so the numbers stand in tables.',
      ),
    controls(route, data, isTable),
    metrics.map((metric, i) =>
      h(
        'div',
        {class: 'curve', 'data-key': metric + (isTable ? ' table' : '')},
        metrics.length > 1 && h('h3', {}, metric),
        isTable ? chart.numbers(metric, data.curves[i]) : place(metric),
      ),
    ),
    !isTable && legend(data),
  ];
}

function legend({curves: shown, phase, events}) {
  const parts = [
    checkpointsOf(events, phase.phase).length > 0 && '▲ checkpoint',
    shown.some((one) => one.members) &&
      'the best member stands out, and the line that is pointed at',
    shown.some(({rewound}) => rewound.length) &&
      'grey, dashed: steps that a later attempt ran again',
    phase.runs.length > 1 && 'dotted: an attempt begins',
    'drag to zoom, double click for all',
  ].filter(Boolean);
  return h('p', {class: 'dim legend'}, parts.join('  ·  '));
}

function zoomOf(params) {
  const found = /^(-?[\d.]+)-(-?[\d.]+)$/.exec(params.get('zoom') || '');
  return found ? [Number(found[1]), Number(found[2])] : null;
}

// Draws the charts into their places.
export function drawCurves(main, {params}, data) {
  const {phase, events, metrics, gate} = data;
  const checkpoints = checkpointsOf(events, phase.phase).map(({step}) => step);
  for (const element of main.querySelectorAll('.chart')) {
    const metric = element.getAttribute('data-metric');
    const at = metrics.indexOf(metric);
    if (at < 0) continue;
    chart.draw(element, {
      metric,
      checkpoints,
      stitched: data.curves[at],
      bounds: boundsOf(metric, gate && gate.criteria),
      weight: Math.min(Number(params.get('smooth')) || 0, 0.999),
      isLog: params.has('log'),
      zoom: zoomOf(params),
      onZoom: (range) => replace({zoom: range && range.map((step) => Math.round(step)).join('-')}),
    });
  }
}

// Shows or hides a metric; the last stays.
export function toggleMetric(name, data) {
  const names = data.metrics.includes(name)
    ? data.metrics.filter((other) => other !== name)
    : [...data.metrics, name].slice(-METRICS_MAX);
  replace({metric: names.join(',') || null});
}
