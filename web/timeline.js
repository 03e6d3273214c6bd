// The attempts of each phase on one line of time: waiting, running, and waiting for a person. What
// a piece means is written in it, and told below when it is pointed at or has the focus.
import {h} from './dom.js';
import {duration, now, number, time} from './format.js';
import {kindOf} from './parts.js';
import {linkTo} from './route.js';

const TICKS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
  604800,
];

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
  const steps =
    typeof run.last_step === 'number'
      ? `, steps ${number(run.first_step)}–${number(run.last_step)}`
      : '';
  const text =
    `${run.address} ${word}${run.cause ? ': ' + run.cause : ''}, ` +
    `${time(run.started)} for ${duration((run.ended || end) - run.started)}` +
    `${run.nodes && run.nodes.length ? ' on ' + run.nodes.join(', ') : ''}${steps}` +
    (run.message ? `; ${run.message}` : '');
  pieces.push({
    from: run.started,
    to: run.ended || end,
    kind: kindOf(word),
    word: `#${run.attempt} ${word.replace('_', ' ')}`,
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

function lane(phase, pieces, begin, span) {
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
            href: linkTo(piece.address),
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
  const every = TICKS.find((seconds) => span / seconds <= 6) || span / 5;
  const marks = [];
  for (let at = 0; at <= span * 0.94; at += every)
    marks.push(
      h(
        'span',
        {style: {left: ((100 * at) / span).toFixed(3) + '%'}},
        at ? '+' + duration(at) : time(begin),
      ),
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
    const own = phase.of_members
      ? piecesOfMatrix(phase, workflow.phases, runs, end)
      : runs.filter((run) => run.phase === phase.phase).flatMap((run) => piecesOfRun(run, end));
    const pieces = [...own, ...piecesOfHolds(phase, events, end)];
    return [phase, pieces.sort((a, b) => a.from - b.from)];
  });
  if (!lanes.some(([, pieces]) => pieces.length)) return null;
  return h(
    'div',
    {class: 'timeline', 'data-key': 'timeline'},
    lanes.map(([phase, pieces]) => lane(phase, pieces, begin, span)),
    axis(begin, span),
    h('p', {class: 'tip dim', 'aria-live': 'polite', 'data-own': 'tip'}, HINT),
  );
}
