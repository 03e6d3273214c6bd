// The events of one workflow: all that have happened, for time lines and marks, and those to come.
import {get} from './api.js';

const PAGE = 1000; /* the daemon gives at most so many at once */
let known = {workflow: 0, last: 0, list: [], isComplete: false};

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
  if (known.workflow !== workflow) known = {workflow, last: 0, list: [], isComplete: false};
  const mine = known;
  while (mine === known) {
    const reply = await get(`/events?workflow=${workflow}&after=${mine.last}&wait=0`, signal);
    keep(workflow, reply);
    if (reply.events.length >= PAGE) continue;
    mine.isComplete = true;
    break;
  }
  return mine.list;
}

// Returns what happens to the workflow, and what of it is news; waits up to 25 s for it.
export async function waitForEvent(workflow, signal) {
  const isNews = known.workflow === workflow && known.isComplete;
  const after = known.workflow === workflow ? known.last : 0;
  const reply = await get(`/events?workflow=${workflow}&after=${after}&wait=25`, signal, 40);
  keep(workflow, reply);
  return {events: reply.events, news: isNews ? reply.events : []};
}

// The steps at which a phase saved checkpoints: [{step, run}], by the text of the event.
export function checkpointsOf(events, phase) {
  return events
    .filter((event) => event.type === 'checkpoint' && event.phase === phase)
    .map((event) => ({run: event.run, step: Number((/^step (\d+)/.exec(event.message) || [])[1])}))
    .filter(({step}) => Number.isFinite(step));
}
