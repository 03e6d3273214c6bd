// The events of one workflow: all that have happened, for time lines and marks, and those to come.
import {get} from './api.js';

const PAGE = 1000; /* the daemon gives at most so many at once */
let known = {workflow: 0, last: 0, list: []};

function keep(workflow, reply) {
  if (known.workflow !== workflow) return;
  const fresh = reply.events.filter((event) => event.event > known.last);
  known.list.push(
    ...fresh.filter((event) => event.type === 'phase' || event.type === 'checkpoint'),
  );
  known.last = Math.max(known.last, reply.last);
}

// Brings the list up to date, and returns it.
export async function eventsOf(workflow, signal) {
  if (known.workflow !== workflow) known = {workflow, last: 0, list: []};
  for (;;) {
    const reply = await get(`/events?workflow=${workflow}&after=${known.last}&wait=0`, signal);
    keep(workflow, reply);
    if (reply.events.length < PAGE) return known.list;
  }
}

// Returns whether something happened to the workflow; waits up to 25 s for it.
export async function waitForEvent(workflow, signal) {
  const after = known.workflow === workflow ? known.last : 0;
  const reply = await get(`/events?workflow=${workflow}&after=${after}&wait=25`, signal, 40);
  keep(workflow, reply);
  return reply.events.length > 0;
}

// The steps at which a phase saved checkpoints: [{step, run}], by the text of the event.
export function checkpointsOf(events, phase) {
  return events
    .filter((event) => event.type === 'checkpoint' && event.phase === phase)
    .map((event) => ({run: event.run, step: Number((/^step (\d+)/.exec(event.message) || [])[1])}))
    .filter(({step}) => Number.isFinite(step));
}
