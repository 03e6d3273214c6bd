// The marks of a curve: where attempts begin, where checkpoints were saved, where a gate judged,
// and where the phase was promoted. Each kind of mark has a sign, and stands in words as well.
import {plural} from './format.js';

const HALF = 5; /* pixels of half a sign */
const TOLD = 5; /* at most this many marks of a kind are named one by one */
const KINDS = {passed: 'good', failed: 'bad', insufficient: 'bad'};
export const SIGNS = {
  attempt: 'dotted: an attempt begins',
  checkpoint: '▲ checkpoint',
  gate: '◆ gate',
  promotion: '▶ promotion',
};

// The last point of an attempt, whether a later attempt has rewound the point or not.
function endOf({line, rewound}, attempt) {
  const points = [line, ...rewound.map((part) => part.points)].flat();
  return points
    .filter((point) => point.attempt === attempt)
    .reduce((last, point) => (last && last.step > point.step ? last : point), null);
}

// A gate judges the end of a run, and the promotion stands there as well.
function endMark(stitched, phase, {type, run: id, result, message}) {
  const run = phase.runs.find((other) => other.run === id);
  const point = run && endOf(stitched, run.attempt);
  if (!point) return [];
  const kind = KINDS[result] || 'busy';
  const text = type === 'gate' ? message : 'promoted ' + message;
  return [{type, step: point.step, time: point.time, text, kind: type === 'gate' ? kind : ''}];
}

// [{type, step, time, text, kind}]: `type` is one of SIGNS.
export function marksOf(stitched, events, phase) {
  const begins = stitched.begins.length > 1 ? stitched.begins : [];
  const own = (events || []).filter((event) => event.phase === phase.phase);
  return [
    ...begins.map(({attempt, step, time}) => ({type: 'attempt', step, time, text: '#' + attempt})),
    ...own.flatMap((event) => {
      if (event.type === 'gate' || event.type === 'promotion')
        return endMark(stitched, phase, event);
      if (event.type !== 'checkpoint' || event.step === null) return [];
      return [{type: 'checkpoint', step: event.step, time: event.time, text: 'checkpoint'}];
    }),
  ];
}

// What stands at one step, in words.
export function sayMark({type, text}) {
  return type === 'attempt' ? `attempt ${text} begins` : text;
}

// "2 checkpoints, the last at step 60; attempt #2 begins at step 21"
export function sayMarks(marks) {
  const of = (type) => marks.filter((mark) => mark.type === type);
  const saved = of('checkpoint');
  const told = ['attempt', 'gate', 'promotion'].flatMap((type) => {
    const found = of(type);
    const left = found.length - TOLD;
    return [
      left > 0 && `${plural(left, type)} before`,
      ...found.slice(-TOLD).map((mark) => `${sayMark(mark)} at step ${mark.step}`),
    ];
  });
  const last = saved.length && saved.reduce((a, b) => Math.max(a, b.step), 0);
  const checkpoints = `${plural(saved.length, 'checkpoint')}, the last at step ${last}`;
  return [saved.length && checkpoints, ...told].filter(Boolean).join('; ');
}

function fill(context, points, colour) {
  context.fillStyle = colour;
  context.beginPath();
  points.forEach(([x, y]) => context.lineTo(x, y));
  context.closePath();
  context.fill();
}

function drawAttempts(context, area, begins, colour) {
  let end = -Infinity; /* of the label before */
  context.setLineDash([2, 3]);
  context.strokeStyle = context.fillStyle = colour('dim');
  for (const {at, text} of begins) {
    const x = Math.round(at) + 0.5;
    context.beginPath();
    context.moveTo(x, area.y);
    context.lineTo(x, area.y + area.h);
    context.stroke();
    const from = Math.max(x + 3, end);
    const shown = (from === end ? ', ' : '') + text;
    context.fillText(shown, from, area.y + 11);
    end = from + context.measureText(shown).width;
  }
  context.setLineDash([]);
}

// Signs stand above each other, because a checkpoint, a gate and a promotion may share a step.
const DRAWN = {
  checkpoint: (context, x, y, colour) =>
    fill(context, [[x, y - 7], [x - 4, y], [x + 4, y]], colour('good')),
  gate: (context, x, bottom, colour, kind) => {
    const y = bottom - 16;
    const around = [[x, y - HALF], [x + HALF, y], [x, y + HALF], [x - HALF, y]];
    fill(context, around, colour(kind));
    context.strokeStyle = colour('text');
    context.stroke();
  },
  promotion: (context, x, bottom, colour) => {
    const y = bottom - 30;
    fill(context, [[x - 4, y - HALF], [x + HALF, y], [x - 4, y + HALF]], colour('promotion'));
  },
};

// `across` gives the pixel of a mark, and `colour` the colour of a name.
export function drawMarks(context, area, marks, {across, colour}) {
  const shown = marks
    .map((mark) => ({...mark, at: across(mark)}))
    .filter(({at}) => at >= area.x - 1 && at <= area.x + area.w);
  const begins = shown.filter(({type}) => type === 'attempt');
  drawAttempts(context, area, begins, colour);
  for (const {type, at, kind} of shown)
    if (DRAWN[type]) DRAWN[type](context, at, area.y + area.h, colour, kind);
}
