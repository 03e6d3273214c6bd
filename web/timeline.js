// The attempts of each phase on one line of time: waiting, running, and waiting for a person. The
// meaning of a piece is written in it, and also below while a person points at it or it has the
// focus. A phase alone has a line from its first attempt on.
import {ticks} from './axis.js';
import {h} from './dom.js';
import {duration, now, number, time} from './format.js';
import {kindOf} from './parts.js';
import {changed, linkTo} from './route.js';

const AXIS_PIXELS = 420; /* on a narrow page */

const HINT = 'Point at a piece, or move to it by Tab, to read about it.';

// {from, to, kind, word, text, address}
function piecesOfRun(run, end) {
  const started = run.started || run.ended || end;
  const pieces = [];
  if (started - run.submitted > 0.5)
    pieces.push({
      from: run.submitted,
      to: started,
      kind: 'wait',
      word: 'queued',
      text: `${run.address} waited ${duration(started - run.submitted)}`,
      address: run.address,
    });
  if (!run.started) return pieces;
  const word = run.outcome || run.state;
  const resumed =
    run.resume && typeof run.first_step === 'number'
      ? `, resumed from step ${number(run.first_step)}`
      : '';
  const steps =
    typeof run.last_step === 'number'
      ? `, steps ${number(run.first_step)}–${number(run.last_step)}`
      : '';
  const text =
    `${run.address} ${word}${run.cause ? ': ' + run.cause : ''}${resumed}, ` +
    `${time(run.started)} for ${duration((run.ended || end) - run.started)}` +
    `${run.nodes && run.nodes.length ? ' on ' + run.nodes.join(', ') : ''}${steps}` +
    (run.message ? `; ${run.message}` : '');
  pieces.push({
    from: run.started,
    to: run.ended || end,
    kind: word === 'held' ? 'idle' : kindOf(word) /* it trained: the hold is a piece of its own */,
    word:
      `#${run.attempt} ${resumed ? 'resumed, ' : ''}` +
      (word === 'held' ? 'stopped' : word.replace('_', ' ')),
    text,
    address: run.address,
  });
  return pieces;
}

// When the phase was held, from the events of the workflow.
function piecesOfHolds(phase, events, end) {
  const moves = events.filter((event) => event.type === 'phase' && event.phase === phase.phase);
  return moves.flatMap((event, i) => {
    if (event.to !== 'held') return [];
    const to = i + 1 < moves.length ? moves[i + 1].time : end;
    return [
      {
        from: event.time,
        to,
        kind: 'held',
        word: 'held',
        address: phase.address,
        text:
          `${phase.address} held for ${duration(to - event.time)}` +
          (event.message ? `: ${event.message}` : ''),
      },
    ];
  });
}

function piecesOfMatrix(matrix, phases, runs, end) {
  const names = phases.filter((phase) => phase.matrix === matrix.phase).map((phase) => phase.phase);
  const own = runs.filter((run) => names.includes(run.phase) && run.started);
  if (!own.length) return [];
  const from = Math.min(...own.map((run) => run.started));
  const to = Math.max(...own.map((run) => run.ended || end));
  return [
    {
      from,
      to,
      kind: kindOf(matrix.state),
      word: `${own.length} runs`,
      address: matrix.address,
      text:
        `${matrix.address}: ${own.length} runs of its members, ` +
        `${time(from)} for ${duration(to - from)}`,
    },
  ];
}

function lane(phase, pieces, begin, span, linkOf) {
  const percent = (seconds) => ((100 * seconds) / span).toFixed(3) + '%';
  return h(
    'div',
    {class: 'lane', 'data-key': phase.address},
    h('span', {class: 'lane-name'}, phase.phase),
    h(
      'div',
      {class: 'lane-line'},
      pieces.map((piece, i) =>
        h(
          'a',
          {
            href: linkOf(piece.address),
            class: 'piece ' + piece.kind,
            'data-key': String(i),
            'data-tip': piece.text,
            'aria-label': piece.text,
            style: {
              left: percent(piece.from - begin),
              width: percent(Math.max(piece.to - piece.from, 0)),
            },
          },
          h('span', {}, piece.word),
        ),
      ),
    ),
  );
}

function axis(begin, span) {
  const marks = ticks('relative', 0, span * 0.94, AXIS_PIXELS).map(({v, label}) =>
    h('span', {style: {left: ((100 * v) / span).toFixed(3) + '%'}}, v ? '+' + label : time(begin)),
  );
  return h(
    'div',
    {class: 'lane axis', 'aria-hidden': 'true'},
    h('span', {class: 'lane-name'}),
    h('div', {class: 'lane-line'}, marks),
  );
}

// `runs` are all runs of the workflow, `events` its events. Null before anything has begun.
export function timeline(workflow, runs, events) {
  const end = workflow.ended || now();
  const begin = workflow.submitted;
  const span = Math.max(end - begin, 1);
  const phases = workflow.phases.filter((phase) => !phase.matrix);
  const lanes = phases.map((phase) => {
    const own = phase.of_members ? piecesOfMatrix(phase, workflow.phases, runs, end) : [];
    const ofPhase = runs.filter((run) => run.phase === phase.phase);
    return [phase, [...own, ...piecesOf(phase, ofPhase, events, end)].sort(byTime)];
  });
  if (!lanes.some(([, pieces]) => pieces.length)) return null;
  return picture(lanes, begin, span, linkTo);
}

function byTime(a, b) {
  return a.from - b.from;
}

function piecesOf(phase, runs, events, end) {
  const pieces = runs.flatMap((run) => piecesOfRun(run, end));
  return [...pieces, ...piecesOfHolds(phase, events, end)];
}

function picture(lanes, begin, span, linkOf) {
  return h(
    'div',
    {class: 'timeline', 'data-key': 'timeline'},
    lanes.map(([phase, pieces]) => lane(phase, pieces, begin, span, linkOf)),
    axis(begin, span),
    h('p', {class: 'tip dim', 'aria-live': 'polite', 'data-own': 'tip'}, HINT),
  );
}

// The line of one phase with its `runs`. A piece leads to the log of its run, and keeps what else a
// person has chosen. Null before anything has begun.
export function timelineOf(phase, events) {
  const pieces = piecesOf(phase, phase.runs, events, now()).sort(byTime);
  if (!pieces.length) return null;
  const begin = pieces[0].from;
  const end = Math.max(...pieces.map((piece) => piece.to));
  const linkOf = (address) => changed({run: address.split('#')[1]});
  return picture([[phase, pieces]], begin, Math.max(end - begin, 1), linkOf);
}
