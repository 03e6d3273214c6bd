// The curves of a phase: which metrics, how they are asked for, and what stands around the charts.
import {keep} from './api.js';
import {KINDS, placeOf, sayRange} from './axis.js';
import * as chart from './chart.js';
import {h} from './dom.js';
import {SIGNS, marksOf} from './marks.js';
import {boundsOf, refine, stepsAround, stitch, thin} from './metric.js';
import {button, checkbox} from './parts.js';
import {listOf, replace} from './route.js';
import {sortMetrics} from './words.js';

const METRICS_MAX = 6;
const MEMBERS_MAX = 24;
const BUCKETS = 500;
const SERIES_MAX = 300; /* that are kept */
const PLACE_MAX = 1e12; /* a step or a time far beyond those of any run */

// The names of the metrics of a phase. A matrix has the metrics of its members.
function namesOf(phase) {
  const phases = Array.isArray(phase.members) ? phase.members : [phase];
  return sortMetrics(new Set(phases.flatMap((one) => Object.keys(one.metrics || {}))));
}

// The metrics that the address asks for, or the most important metric.
export function chosen(params, phase) {
  const names = listOf(params, 'metric').slice(0, METRICS_MAX);
  return names.length ? names : namesOf(phase).slice(0, 1);
}

const read = new Map(); /* of each series: what was read, and where to read on */

// The series of a run. The daemon reads a limited number of rows for an answer, and says where to
// go on. What comes before is kept, so a run that goes on is asked only for its newest part.
// `range` is [first, last] of the steps; null: the whole series.
async function seriesOf(run, metric, ask, range) {
  const path = `/metrics?name=${encodeURIComponent(metric)}&buckets=${BUCKETS}`;
  const key = run.address + path;
  const to = range ? `&to=${range[1]}` : '';
  const nothing = {steps: [], times: [], values: [], next: range && range[0]};
  let known = (!range && read.get(key)) || nothing;
  while (known.next !== undefined) {
    const from = known.next === null ? '' : `&from=${known.next}`;
    const reply = await ask(run, path + from + to);
    const isWhole = reply.next === undefined;
    known = {
      steps: [...known.steps, ...reply.steps],
      times: [...known.times, ...reply.times],
      values: [...known.values, ...(reply.series[metric] || [])],
      next: reply.next,
      isLong: known.isLong || !isWhole,
    };
    if (isWhole && known.isLong) known = thin(known, BUCKETS);
    if (!range && (!isWhole || run.state === 'ended')) keep(read, key, known, SERIES_MAX);
  }
  return known;
}

// `ask` gets a run and the end of a path. `params` says what the chart shows. If the chart is
// zoomed, the daemon is asked again for this part, in more detail.
export async function curve(runs, metric, ask, params) {
  const zoom = zoomOf(params);
  const begin = runs.length ? runs[0].started : 0;
  const parts = runs.map(async (run) => {
    const rough = await seriesOf(run, metric, ask, null);
    const place = (i) =>
      placeOf(params.get('x'), {step: rough.steps[i], time: rough.times[i]}, begin);
    const isWhole = rough.steps.at(-1) - rough.steps[0] < BUCKETS;
    const around = zoom && !isWhole && stepsAround(rough, place, zoom);
    if (!around) return {...run, ...rough};
    const fine = await seriesOf(run, metric, ask, around);
    return {...run, ...refine(rough, fine, around)};
  });
  return stitch(await Promise.all(parts));
}

// The place of a member in the list of colours: it stays the same when other members come first.
// Undefined if there are too many members to tell them apart.
export function slotOf({number}) {
  return number <= 2 * chart.COLOURS ? number - 1 : undefined;
}

// A curve for each member of a sweep, of its run `begun`. Only the first members are asked for.
export async function memberCurves(members, metric, ask, params) {
  const begun = members.filter((member) => member.begun);
  const first = begun.slice(0, MEMBERS_MAX);
  const found = await Promise.all(first.map((one) => curve([one.begun], metric, ask, params)));
  const lines = first.map((member, i) => ({
    name: member.phase,
    isBest: member.isBest,
    place: slotOf(member),
    line: found[i].line,
    begin: found[i].begin,
  }));
  return {...together(lines), begun: begun.length};
}

// The curves of several phases as one; `noun` is what they are called, unless they are members.
export function together(lines, noun) {
  const members = lines.filter(({line}) => line.length);
  return {line: [], rewound: [], begins: [], strange: [], members, noun};
}

function axisChoice(kind) {
  return h(
    'label',
    {'data-key': 'x'},
    'across ',
    h(
      'select',
      {'data-set': 'x'},
      KINDS.map(([value, text]) => h('option', {value, selected: value === kind}, text)),
    ),
  );
}

// What a person chooses about the curves of a phase, or of phases as `members`. `hasTable` is
// whether the numbers can stand in a table instead.
export function controls({params}, {phase, metrics}, isTable, hasTable = chart.canDraw()) {
  const names = [...new Set([...namesOf(phase), ...metrics])];
  const weight = Number(params.get('smooth') || 0);
  const kind = params.get('x') || '';
  const zoom = zoomOf(params);
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
      axisChoice(kind),
      !isTable && checkbox('log', 'logarithmic', params.has('log')),
      hasTable && checkbox('table', 'numbers', params.has('table')),
      !isTable &&
        zoom &&
        button('set', `${sayRange(kind, zoom)}: show all`, {
          'data-name': 'zoom',
          'data-value': '',
          'data-key': 'zoom',
        }),
    ),
  );
}

export function whyNoCurves() {
  return h(
    'p',
    {class: 'dim'},
    'No curves: phased was built without dygraphs ' +
      '(the package libjs-dygraphs), so the numbers stand in tables.',
  );
}

// Where a chart is drawn. A chart that stands alone is larger.
export function place(metric, count) {
  const kind = count === 1 ? 'chart one' : 'chart';
  return h('div', {class: kind, 'data-own': 'chart', 'data-metric': metric, 'data-key': kind});
}

// The controls, and a chart or a table for each metric.
export function curvesOf(route, data) {
  const {metrics} = data;
  const isTable = !chart.canDraw() || route.params.has('table');
  if (!metrics.length) return null;
  return [
    !chart.canDraw() && whyNoCurves(),
    controls(route, data, isTable),
    data.curves[0].begun > MEMBERS_MAX &&
      h(
        'p',
        {class: 'dim', id: 'dropped'},
        `The curves of the first ${MEMBERS_MAX} of ${data.curves[0].begun} members are shown.`,
      ),
    metrics.map((metric, i) =>
      h(
        'div',
        {class: 'curve', 'data-key': metric + (isTable ? ' table' : '')},
        metrics.length > 1 && h('h3', {}, metric),
        isTable
          ? chart.numbers(metric, data.curves[i], marksAt(data, i), route.params.get('x'))
          : place(metric, metrics.length),
      ),
    ),
    !isTable && legend(data),
  ];
}

// A comparison has no events, and so no marks of its phases.
function marksAt({curves: shown, phase, events}, i) {
  return events ? marksOf(shown[i], events, phase) : [];
}

function legend(data) {
  const shown = data.curves;
  const marks = shown.flatMap((_, i) => marksAt(data, i));
  const parts = [
    ...Object.keys(SIGNS).map((type) => marks.some((mark) => mark.type === type) && SIGNS[type]),
    shown.some((one) => one.members) &&
      'the members have their colours in the table; the best is thick',
    shown.some(({rewound}) => rewound.length) &&
      'grey, dashed: steps that a later attempt ran again',
    'drag to zoom, double click for all',
  ].filter(Boolean);
  return h('p', {class: 'dim legend'}, parts.join('  ·  '));
}

// The range of the address; null if a chart cannot show the range.
function zoomOf(params) {
  const found = /^(-?[\d.]+)-(-?[\d.]+)$/.exec(params.get('zoom') || '');
  const [from, to] = found ? found.slice(1).map(Number) : [];
  return from <= to && Math.max(Math.abs(from), Math.abs(to)) < PLACE_MAX ? [from, to] : null;
}

// Steps are whole; tenths of a second are enough for times.
function roundOf(params) {
  return (value) => (params.get('x') ? Number(value.toFixed(1)) : Math.round(value));
}

// Draws the charts into their places. A comparison has no gate.
export function drawCurves(main, {params}, data) {
  const {metrics, curves, gate} = data;
  for (const element of main.querySelectorAll('.chart')) {
    const metric = element.getAttribute('data-metric');
    const at = metrics.indexOf(metric);
    if (at < 0) continue;
    chart.draw(element, {
      metric,
      marks: marksAt(data, at),
      stitched: curves[at],
      bounds: boundsOf(metric, gate && gate.criteria),
      weight: Math.min(Number(params.get('smooth')) || 0, 0.999),
      isLog: params.has('log'),
      zoom: zoomOf(params),
      axis: params.get('x') || '',
      onZoom: (range) => replace({zoom: range && range.map(roundOf(params)).join('-')}),
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
