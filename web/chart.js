// Draws a stitched metric with dygraphs: the curve, what was rewound, where attempts begin, where
// checkpoints were saved, and the bounds of checks. The numbers can stand in a table instead.
import {h} from './dom.js';
import {number, plural} from './format.js';
import {smooth} from './metric.js';
import {table} from './parts.js';

const ROWS = 200; /* of a table: the newest */
const STRANGE = 20; /* points without a number that are named in the chart */
const charts = new Map(); /* by their element */

export function canDraw() {
  return typeof window.Dygraph === 'function';
}

function colour(name) {
  return getComputedStyle(document.documentElement)
    .getPropertyValue('--' + name)
    .trim();
}

function countOf({line, members}) {
  return members ? members.reduce((sum, member) => sum + member.line.length, 0) : line.length;
}

// In words, for those who do not see the curve.
export function summary(metric, {line, rewound, strange, members}) {
  if (members) {
    const ends = members
      .slice(0, 3)
      .map((member) => `${member.name} ${number(member.line.at(-1).value)}`);
    return (
      `${metric} of ${plural(members.length, 'member')}: ` +
      ends.join(', ') +
      (members.length > 3 ? ' ...' : '')
    );
  }
  if (!line.length) return `${metric}: no points yet`;
  const first = line[0];
  const last = line.at(-1);
  const lost = rewound.reduce((sum, part) => sum + part.count, 0);
  return (
    `${metric}: ${plural(line.length, 'point')}, ${number(first.value)} at step ${first.step}, ` +
    `${number(last.value)} at step ${last.step}` +
    (lost ? `; ${lost} rewound (grey)` : '') +
    (strange.length ? `; ${strange.length} not a number, first at step ${strange[0].step}` : '')
  );
}

// What is drawn: [{name, points, look}]. `look` are options of dygraphs for one series.
function partsOf({line, rewound, members}, weight) {
  const smoothed = (points) => (weight > 0 ? smooth(points, weight) : points);
  if (members)
    return members.map((member) => ({
      name: member.name,
      points: smoothed(member.line),
      look: {color: colour(member.isBest ? 'curve' : 'others'), strokeWidth: member.isBest ? 2 : 1},
    }));
  const raw = {name: 'value', points: line, look: {color: colour('curve'), strokeWidth: 1.6}};
  const lost = rewound.map(({attempt, points}) => ({
    name: 'rewound ' + attempt,
    points,
    look: {color: colour('rewound'), strokeWidth: 1.2, strokePattern: [4, 3]},
  }));
  if (weight === 0) return [raw, ...lost];
  raw.look = {color: colour('curve-faint'), strokeWidth: 1};
  const look = {color: colour('curve'), strokeWidth: 2};
  return [raw, {name: 'smoothed', points: smoothed(line), look}, ...lost];
}

function rowsOf(parts) {
  const rows = new Map();
  parts.forEach(({points}, i) => {
    for (const {step, value} of points) {
      if (!rows.has(step)) rows.set(step, [step, ...parts.map(() => null)]);
      rows.get(step)[i + 1] = value;
    }
  });
  return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

// The range of the values, made larger for bounds that are not far away; null: as dygraphs has it.
function rangeOf({stitched, bounds, isLog}) {
  const values = stitched.line.map((point) => point.value).filter(Number.isFinite);
  if (!values.length || isLog) return null;
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  const span = high - low || Math.abs(high) || 1;
  const near = bounds.map(({value}) => value).filter((v) => v > low - span && v < high + span);
  const from = Math.min(low, ...near);
  const to = Math.max(high, ...near);
  return from < low || to > high ? [from - 0.06 * span, to + 0.1 * span] : null;
}

function under(context, area, graph, {stitched, bounds, checkpoints}) {
  const bottom = area.y + area.h;
  const right = area.x + area.w;
  context.save();
  context.font = '11px system-ui, sans-serif';
  context.lineWidth = 1;
  const rule = (x0, y0, x1, y1) => {
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  };
  context.setLineDash([2, 3]);
  context.strokeStyle = context.fillStyle = colour('dim');
  stitched.begins.forEach(({attempt, step}) => {
    const x = Math.round(graph.toDomXCoord(step)) + 0.5;
    if (x < area.x - 1 || x > right || stitched.begins.length < 2) return;
    rule(x, area.y, x, bottom);
    context.fillText('#' + attempt, x + 3, area.y + 11);
  });
  context.setLineDash([6, 4]);
  for (const {value, text, warn} of bounds) {
    const y = Math.round(graph.toDomYCoord(value)) + 0.5;
    if (!(y >= area.y && y <= bottom)) continue;
    context.strokeStyle = context.fillStyle = colour(warn ? 'busy' : 'bad');
    rule(area.x, y, right, y);
    context.textAlign = 'right';
    context.fillText(text, right - 4, y - 4 > area.y + 10 ? y - 4 : y + 12);
    context.textAlign = 'left';
  }
  context.fillStyle = colour('bad');
  for (const {step, text} of stitched.strange.slice(0, STRANGE))
    context.fillText(text, graph.toDomXCoord(step) + 2, bottom - 12);
  context.fillStyle = colour('good');
  for (const step of checkpoints) {
    const x = graph.toDomXCoord(step);
    if (x < area.x || x > right) continue;
    context.beginPath();
    context.moveTo(x, bottom - 7);
    context.lineTo(x - 4, bottom);
    context.lineTo(x + 4, bottom);
    context.fill();
  }
  context.restore();
}

// What stands at a step, in words.
function tell(metric, stitched, step, points, series) {
  if (stitched.members) {
    const found = points.find(({name}) => name === series);
    return `step ${step}: ${metric}` + (found ? ` of ${series} ${number(found.yval)}` : '');
  }
  const point = stitched.line.find((other) => other.step === step);
  const parts = points.map(({name, yval}) =>
    name === 'value' ? number(yval) : `${name} ${number(yval)}`,
  );
  return (
    `step ${step}: ${metric} ${parts.join(', ')}` + (point ? ` (attempt ${point.attempt})` : '')
  );
}

function optionsOf(chart, parts) {
  const {stitched, isLog, zoom, metric} = chart.shown;
  return {
    labels: ['step', ...parts.map(({name}) => name)],
    series: Object.fromEntries(parts.map(({name, look}) => [name, look])),
    highlightSeriesOpts: stitched.members ? {strokeWidth: 2.5} : null,
    highlightSeriesBackgroundAlpha: 0.5,
    highlightSeriesBackgroundColor: colour('back'),
    legend: 'never',
    connectSeparatedPoints: true,
    logscale: Boolean(isLog),
    dateWindow: zoom,
    valueRange: zoom ? null : rangeOf(chart.shown),
    axisLineColor: colour('line'),
    gridLineColor: colour('line'),
    gridLineWidth: 0.5,
    pointSize: 2,
    highlightCircleSize: 4,
    axisLabelFontSize: 11,
    xRangePad: 6,
    yRangePad: 6,
    digitsAfterDecimal: 4,
    animatedZooms: false,
    axes: {
      y: {axisLabelWidth: 52, axisLabelFormatter: (value) => number(value)},
      x: {axisLabelFormatter: (value) => number(value)},
    },
    underlayCallback: (context, area, graph) => under(context, area, graph, chart.shown),
    highlightCallback: (event, step, points, row, series) => {
      chart.says.textContent = tell(metric, chart.shown.stitched, step, points, series);
    },
    unhighlightCallback: () => {
      chart.says.textContent = summary(metric, chart.shown.stitched);
    },
    zoomCallback: (from, to) => chart.shown.onZoom(chart.graph.isZoomed('x') ? [from, to] : null),
  };
}

// shown: {metric, stitched, bounds, checkpoints, weight, isLog, zoom, onZoom}. `element` belongs to
// this module.
export function draw(element, shown) {
  let chart = charts.get(element);
  if (!chart) {
    chart = {says: h('p', {class: 'says dim'}), place: h('div', {class: 'plot'})};
    element.replaceChildren(chart.place, chart.says);
    charts.set(element, chart);
  }
  chart.shown = shown;
  const text = summary(shown.metric, shown.stitched);
  const parts = partsOf(shown.stitched, shown.weight);
  const file = rowsOf(parts);
  element.setAttribute('data-points', countOf(shown.stitched));
  element.setAttribute(
    'data-rewound',
    shown.stitched.rewound.reduce((sum, part) => sum + part.count, 0),
  );
  chart.place.setAttribute('role', 'img');
  chart.place.setAttribute('aria-label', text);
  if (!chart.place.matches(':hover')) chart.says.textContent = text;
  if (!file.length) return;
  if (chart.graph) chart.graph.updateOptions({...optionsOf(chart, parts), file});
  else chart.graph = make(chart.place, file, optionsOf(chart, parts));
}

// The plugins for legends and titles write styles into markup, which the page forbids.
function make(place, file, options) {
  const {Dygraph} = window;
  const wanted = [Dygraph.Plugins.Axes, Dygraph.Plugins.Grid];
  Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => wanted.includes(plugin));
  return new Dygraph(place, file, options);
}

// Lets go of charts that are no longer on the page.
export function sweep() {
  for (const [element, chart] of charts) {
    if (element.isConnected) continue;
    if (chart.graph) chart.graph.destroy();
    charts.delete(element);
  }
}

export function redraw() {
  for (const [element, chart] of charts) draw(element, chart.shown);
}

// The newest points of the curve as a table; of a sweep, the last point of each member.
export function numbers(metric, stitched) {
  const rows = stitched.members
    ? stitched.members.map(({name, line}) => [line.at(-1).step, number(line.at(-1).value), name])
    : stitched.line
        .slice(-ROWS)
        .reverse()
        .map(({step, value, attempt}) => [step, number(value), '#' + attempt]);
  const columns = [
    ['step', 'num'],
    [metric, 'num'],
    [stitched.members ? 'member' : 'attempt', 'num'],
  ];
  const says =
    summary(metric, stitched) +
    (stitched.line.length > ROWS ? `; the newest ${ROWS} are shown` : '');
  return h(
    'div',
    {
      class: 'numbers',
      'data-key': 'numbers-' + metric,
      'data-points': countOf(stitched),
      tabindex: '0',
      role: 'region',
      'aria-label': `${metric} in numbers`,
    },
    h('p', {class: 'dim'}, says),
    table(
      metric,
      columns,
      rows.map((cells) => ({key: cells[0] + '-' + cells[2], cells})),
    ),
  );
}
