// How busy the GPUs of a run were: a row for each GPU by node, time to the right, and the busier
// the darker. The same stands in words below, and the newest figures in a table next to it.
import {say, ticks} from './axis.js';
import {colour, h} from './dom.js';
import {duration, number, plural} from './format.js';

const GUTTER = 90; /* pixels for the names of nodes */
const AXIS = 18;
const LABEL = 13;
const maps = new Map(); /* by their element */

function mean(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
}

function percent(value) {
  return value === null ? 'not known' : number(Math.round(value)) + ' %';
}

// In words, for those who do not see the map.
export function summary({gpus, seconds}) {
  const means = gpus.map((gpu) => ({...gpu, mean: mean(gpu.util)})).filter((g) => g.mean !== null);
  if (!means.length) return 'nothing is known about the GPUs yet';
  const least = means.reduce((a, b) => (b.mean < a.mean ? b : a));
  return (
    `${plural(means.length, 'GPU')} over ${duration(seconds * gpus[0].util.length)}: ` +
    `${percent(mean(means.map((gpu) => gpu.mean)))} busy in the mean` +
    (means.length > 1 ? `; least busy: ${least.node} GPU ${least.gpu}, ${percent(least.mean)}` : '')
  );
}

// The place of the map, and what its colours mean.
export function heatOf(history) {
  if (!history || history.first === null) return null;
  return [
    h('div', {class: 'heat', 'data-own': 'heat', 'data-key': 'heat'}),
    h(
      'p',
      {class: 'dim legend'},
      'idle ',
      h('span', {class: 'ramp', 'aria-hidden': 'true'}),
      ' busy; empty: not known' + (history.gpus.length >= 256 ? '; the first 256 GPUs' : ''),
    ),
  ];
}

// Rows are thin where there are many GPUs.
function heightOf(count) {
  return count <= 16 ? 16 : count <= 64 ? 8 : 4;
}

function drawCells(context, {gpus}, width, row) {
  const count = gpus[0].util.length;
  const edge = (x) => GUTTER + Math.round((x * width) / count); /* whole pixels, without seams */
  const idle = colour('idle-back');
  const busy = colour('curve');
  gpus.forEach(({util}, y) =>
    util.forEach((value, x) => {
      if (value === null) return;
      const place = [edge(x), y * row, edge(x + 1) - edge(x), row - (row > 4 ? 1 : 0)];
      context.fillStyle = idle;
      context.fillRect(...place);
      context.globalAlpha = value / 100;
      context.fillStyle = busy;
      context.fillRect(...place);
      context.globalAlpha = 1;
    }),
  );
}

// The name of a node stands at its first GPU, if there is room.
function drawNames(context, {gpus}, row) {
  let free = 0;
  gpus.forEach(({node}, y) => {
    if ((y > 0 && gpus[y - 1].node === node) || y * row < free) return;
    context.fillText(node, 0, y * row + LABEL - 2, GUTTER - 8);
    free = y * row + LABEL;
  });
}

function drawAxis(context, {first, seconds, gpus}, width, bottom) {
  const end = first + seconds * gpus[0].util.length;
  for (const {v, label} of ticks('wall', first, end, width)) {
    const x = GUTTER + ((v - first) / (end - first)) * width;
    context.fillRect(Math.round(x), bottom, 1, 4);
    if (x < GUTTER + width - 50) context.fillText(label, x + 3, bottom + 13);
  }
}

function paint(map) {
  const {canvas, history} = map;
  const row = heightOf(history.gpus.length);
  const width = map.element.clientWidth - GUTTER;
  const height = history.gpus.length * row + AXIS;
  const scale = window.devicePixelRatio || 1;
  if (width <= 0) return;
  canvas.width = Math.round((width + GUTTER) * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = height + 'px';
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  context.font = '11px system-ui, sans-serif';
  drawCells(context, history, width, row);
  context.fillStyle = colour('dim');
  drawNames(context, history, row);
  drawAxis(context, history, width, height - AXIS);
}

// What stands below a pointer, in words.
function tell({canvas, history}, event) {
  const {first, seconds, gpus} = history;
  const box = canvas.getBoundingClientRect();
  const gpu = gpus[Math.floor((event.clientY - box.top) / heightOf(gpus.length))];
  const part = (event.clientX - box.left - GUTTER) / (box.width - GUTTER);
  const at = Math.floor(part * gpus[0].util.length);
  if (!gpu || !(at in gpu.util)) return summary(history);
  const time = say('wall', first + at * seconds);
  return `${gpu.node} GPU ${gpu.gpu}, ${time}: ${percent(gpu.util[at])}`;
}

function make(element) {
  const map = {element, canvas: h('canvas', {role: 'img'}), says: h('p', {class: 'says dim'})};
  element.replaceChildren(map.canvas, map.says);
  map.canvas.addEventListener('pointermove', (event) => {
    map.says.textContent = tell(map, event);
  });
  map.canvas.addEventListener('pointerleave', () => {
    map.says.textContent = summary(map.history);
  });
  maps.set(element, map);
  return map;
}

// `element` belongs to this module.
export function draw(element, history) {
  const map = maps.get(element) || make(element);
  map.history = history;
  map.canvas.setAttribute('aria-label', summary(history));
  if (!map.canvas.matches(':hover')) map.says.textContent = summary(history);
  paint(map);
}

// Lets go of maps that are no longer on the page.
export function sweep() {
  for (const element of maps.keys()) if (!element.isConnected) maps.delete(element);
}

// Draws again, because the colours or the width have changed.
export function redraw() {
  for (const map of maps.values()) paint(map);
}
