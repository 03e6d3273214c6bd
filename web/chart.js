// Draws a stitched metric with dygraphs: the curve, what was rewound, its marks, and the bounds of
// checks. The numbers can stand in a table instead.
import {placeOf, say, ticks} from './axis.js';
import {colour, h} from './dom.js';
import {number, plural} from './format.js';
import {drawMarks, sayMark, sayMarks} from './marks.js';
import {smooth} from './metric.js';
import {table} from './parts.js';

const ROWS = 200; /* of a table: the newest */
const STRANGE = 20; /* points without a number that are named in the chart */
export const COLOURS = 8; /* of several curves; further curves are dashed */
const charts = new Map(); /* by their element */

export function canDraw() {
  return typeof window.Dygraph === 'function';
}

function countOf({line, members}) {
  return members ? members.reduce((sum, member) => sum + member.line.length, 0) : line.length;
}

// In words, for those who do not see the curve.
export function summary(metric, {line, rewound, strange, members, noun}, marks = []) {
  if (members) {
    const ends = members
      .slice(0, 3)
      .map((member) => `${member.name} ${number(member.line.at(-1).value)}`);
    return (
      `${metric} of ${plural(members.length, noun || 'member')}: ` +
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
    (strange.length ? `; ${strange.length} not a number, first at step ${strange[0].step}` : '') +
    (marks.length ? '; ' + sayMarks(marks) : '')
  );
}

// The look of one curve of several. A curve has a place in the list of colours, unless there are
// too many curves to tell them apart; the best member of a sweep stands out.
function lookOf({place, isBest}) {
  if (place === undefined)
    return {color: colour(isBest ? 'curve' : 'others'), strokeWidth: isBest ? 3 : 1};
  const strokePattern = place < COLOURS ? null : [5, 3];
  return {color: colour(colourOf(place)), strokeWidth: isBest ? 3 : 1.6, strokePattern};
}

function colourOf(place) {
  return 'curve-' + ((place % COLOURS) + 1);
}

// Shows in a table which curve is meant.
export function swatch(place) {
  return h('span', {
    class: place < COLOURS ? 'swatch' : 'swatch dashed',
    style: {'border-top-color': `var(--${colourOf(place)})`},
    'aria-hidden': 'true',
  });
}

// On an axis of times, a line ends with its attempt: between two attempts nothing ran.
function apart(points, axis) {
  if (!axis) return points;
  return points.flatMap((point, i) => {
    const before = points[i - 1];
    if (!before || before.attempt === point.attempt) return [point];
    return [{...point, time: (before.time + point.time) / 2, value: NaN}, point];
  });
}

// What is drawn: [{name, points, begin, look}]. `look` are options of dygraphs for one series.
function partsOf({line, rewound, members, begin}, weight, axis) {
  const smoothed = (points) => apart(weight > 0 ? smooth(points, weight) : points, axis);
  if (members)
    return members.map((member) => ({
      name: member.name,
      points: smoothed(member.line),
      begin: member.begin,
      look: lookOf(member),
    }));
  const look = {color: colour('curve'), strokeWidth: 1.6};
  const raw = {name: 'value', points: apart(line, axis), begin, look};
  const lost = rewound.map(({attempt, points}) => ({
    name: 'rewound ' + attempt,
    points,
    begin,
    look: {color: colour('rewound'), strokeWidth: 1.2, strokePattern: [4, 3]},
  }));
  if (weight === 0) return [raw, ...lost];
  raw.look = {color: colour('curve-faint'), strokeWidth: 1};
  const thick = {color: colour('curve'), strokeWidth: 2};
  return [raw, {name: 'smoothed', points: smoothed(line), begin, look: thick}, ...lost];
}

// The rows of dygraphs: a place and a value of each part. Steps that came at the same time have a
// row each.
function rowsOf(parts, axis) {
  const rows = new Map();
  parts.forEach(({points, begin}, i) => {
    for (const point of points) {
      const x = placeOf(axis, point, begin);
      if (!rows.has(x)) rows.set(x, []);
      let row = rows.get(x).find((other) => other[i + 1] === null);
      if (!row) rows.get(x).push((row = [x, ...parts.map(() => null)]));
      row[i + 1] = Number.isFinite(point.value) ? point.value : NaN;
    }
  });
  return [...rows.values()].flat().sort((a, b) => a[0] - b[0]);
}

// The range of the values, made larger for bounds that are not far away; null: as dygraphs has it.
function rangeOf({stitched, bounds, isLog}) {
  const points = [stitched.line, ...stitched.rewound.map((part) => part.points)].flat();
  const values = points.map((point) => point.value).filter(Number.isFinite);
  if (!values.length || isLog) return null;
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  const span = high - low || Math.abs(high) || 1;
  const near = bounds.map(({value}) => value).filter((v) => v > low - span && v < high + span);
  const from = Math.min(low, ...near);
  const to = Math.max(high, ...near);
  return from < low || to > high ? [from - 0.06 * span, to + 0.1 * span] : null;
}

function under(context, area, graph, {stitched, bounds, marks, axis}) {
  const bottom = area.y + area.h;
  const right = area.x + area.w;
  context.save();
  context.font = '11px system-ui, sans-serif';
  context.lineWidth = 1;
  const across = (point) => graph.toDomXCoord(placeOf(axis, point, stitched.begin));
  drawMarks(context, area, marks, {across, colour});
  context.setLineDash([6, 4]);
  const labels = [];
  for (const {value, text, warn} of bounds) {
    const y = Math.round(graph.toDomYCoord(value)) + 0.5;
    if (!(y >= area.y && y <= bottom)) continue;
    context.strokeStyle = context.fillStyle = colour(warn ? 'busy' : 'bad');
    context.beginPath();
    context.moveTo(area.x, y);
    context.lineTo(right, y);
    context.stroke();
    labels.push({text, x: right - 4, y: y - 4 > area.y + 10 ? y - 4 : y + 12, warn});
  }
  context.fillStyle = colour('bad');
  for (const point of stitched.strange.slice(0, STRANGE))
    context.fillText(point.text, across(point) + 2, bottom - 12);
  context.restore();
  return () => writeLabels(context, labels);
}

// The labels of bounds stand above the curves, with a background.
function writeLabels(context, labels) {
  context.save();
  context.font = '11px system-ui, sans-serif';
  context.textAlign = 'right';
  for (const {text, x, y, warn} of labels) {
    const {width} = context.measureText(text);
    context.fillStyle = colour('back');
    context.globalAlpha = 0.85;
    context.fillRect(x - width - 2, y - 10, width + 4, 13);
    context.globalAlpha = 1;
    context.fillStyle = colour(warn ? 'busy' : 'bad');
    context.fillText(text, x, y);
  }
  context.restore();
}

// What stands at a place of the axis, in words.
function tell({metric, stitched, marks, axis}, place, points, series) {
  const where = say(axis, place);
  if (stitched.members) {
    const found = points.find(({name}) => name === series);
    return `${where}: ${metric}` + (found ? ` of ${series} ${number(found.yval)}` : '');
  }
  const point = stitched.line.find((other) => placeOf(axis, other, stitched.begin) === place);
  const step = point && axis ? `, step ${point.step}` : '';
  const parts = points.map(({name, yval}) =>
    name === 'value' ? number(yval) : `${name} ${number(yval)}`,
  );
  const here = marks.filter((mark) => point && mark.step === point.step).map(sayMark);
  return [
    `${where}${step}: ${metric} ${parts.join(', ')}` + (point ? ` (attempt ${point.attempt})` : ''),
    ...here,
  ].join('; ');
}

function optionsOf(chart, parts) {
  const {stitched, isLog, zoom, metric, axis} = chart.shown;
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
      x: {
        axisLabelFormatter: (value) => number(value),
        ticker: axis
          ? (from, to, pixels) => ticks(axis, from, to, pixels)
          : window.Dygraph.numericTicks,
      },
    },
    underlayCallback: (context, area, graph) => {
      chart.writeLabels = under(context, area, graph, chart.shown);
    },
    drawCallback: () => chart.writeLabels(),
    highlightCallback: (event, place, points, row, series) => {
      chart.says.textContent = tell(chart.shown, place, points, series);
    },
    unhighlightCallback: () => {
      chart.says.textContent = summary(metric, chart.shown.stitched, chart.shown.marks);
    },
    zoomCallback: (from, to) => chart.shown.onZoom(chart.graph.isZoomed('x') ? [from, to] : null),
  };
}

// shown: {metric, stitched, bounds, marks, weight, isLog, axis, zoom, onZoom}. `element`
// belongs to this module.
export function draw(element, shown) {
  let chart = charts.get(element);
  if (!chart) {
    chart = {says: h('p', {class: 'says dim'}), place: h('div', {class: 'plot'})};
    element.replaceChildren(chart.place, chart.says);
    charts.set(element, chart);
  }
  chart.shown = shown;
  const text = summary(shown.metric, shown.stitched, shown.marks);
  const parts = partsOf(shown.stitched, shown.weight, shown.axis);
  const file = rowsOf(parts, shown.axis);
  element.setAttribute('data-points', countOf(shown.stitched));
  element.setAttribute('data-bounds', shown.bounds.map((bound) => bound.text).join('; '));
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
export function numbers(metric, stitched, marks, axis) {
  const cells = (point, begin, name) => [
    point.step,
    axis ? say(axis, placeOf(axis, point, begin)) : '',
    number(point.value),
    name,
  ];
  const rows = stitched.members
    ? stitched.members.map(({name, line, begin}) => cells(line.at(-1), begin, name))
    : stitched.line
        .slice(-ROWS)
        .reverse()
        .map((point) => cells(point, stitched.begin, '#' + point.attempt));
  const columns = [
    ['step', 'num'],
    ['time', 'num'],
    [metric, 'num'],
    [stitched.members ? stitched.noun || 'member' : 'attempt', 'num'],
  ];
  const says =
    summary(metric, stitched, marks) +
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
      rows.map((row) => ({key: row[0] + '-' + row[3], cells: row})),
    ),
  );
}
