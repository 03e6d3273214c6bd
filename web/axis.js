// What stands along the bottom of a chart: steps, the time since a curve began, or the time of day.
// `kind` is the param `x` of the address. Pure functions on numbers and text.
import {duration, time, two} from './format.js';

export const KINDS = [
  ['', 'steps'],
  ['relative', 'time since the start'],
  ['wall', 'time of day'],
];

const DAY = 86400;
const GAPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY,
];
const LABEL_PIXELS = 75;

// The place of a point {step, time} on the axis. The curve began at the time `begin`.
export function placeOf(kind, point, begin) {
  if (kind === 'wall') return point.time;
  return kind === 'relative' ? point.time - begin : point.step;
}

// A place in words.
export function say(kind, place) {
  if (kind === 'wall') return time(place);
  return kind === 'relative' ? `+${duration(Math.max(place, 0))}` : `step ${place}`;
}

// "steps 20 to 40"
export function sayRange(kind, [from, to]) {
  return kind ? `${say(kind, from)} to ${say(kind, to)}` : `steps ${from} to ${to}`;
}

function labelOf(kind, place, gap) {
  if (kind === 'relative') return place ? duration(place) : '0';
  const date = new Date(place * 1000);
  if (gap >= DAY) return `${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return gap >= 60 ? minutes : `${minutes}:${two(date.getSeconds())}`;
}

// Round times for the labels of an axis of `pixels` pixels: [{v, label}], as dygraphs has them.
export function ticks(kind, from, to, pixels) {
  const count = Math.max(pixels / LABEL_PIXELS, 1);
  const gap = GAPS.find((seconds) => (to - from) / seconds <= count) || (to - from) / count;
  const zone = kind === 'wall' ? new Date(from * 1000).getTimezoneOffset() * 60 : 0;
  const found = [];
  for (let n = Math.ceil((from - zone) / gap); n * gap + zone <= to; n++) {
    const place = n * gap + zone;
    found.push({v: place, label: labelOf(kind, place, gap)});
  }
  return found;
}
