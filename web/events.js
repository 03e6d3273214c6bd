// The events of one workflow: all that have happened, for time lines and marks, and those to come.
import {get} from './api.js';

const PAGE = 1000; /* the daemon gives at most this many at once */
const KEPT = ['phase', 'checkpoint', 'gate', 'promotion'];
let known = {workflow: 0, last: 0, list: []};

// Brings the list up to date, and returns it.
export async function eventsOf(workflow, signal) {
  if (known.workflow !== workflow) known = {workflow, last: 0, list: []};
  const mine = known;
  let count = PAGE;
  while (count >= PAGE) {
    const reply = await get(`/events?workflow=${workflow}&after=${mine.last}&wait=0`, signal);
    const fresh = reply.events.filter((event) => event.event > mine.last);
    mine.list.push(...fresh.filter(({type}) => KEPT.includes(type)));
    mine.last = Math.max(mine.last, reply.last);
    count = reply.events.length;
  }
  return mine.list;
}

export const WAIT = 5; /* seconds */

// Waits WAIT seconds for events of the workflow after the event `after`; workflow 0: of any
// workflow. The daemon does not see that a page has left: it keeps the connection of a question
// until its wait is over, and it has 32 connections for pages.
export function waitForEvent(workflow, after, signal) {
  const of = workflow ? `workflow=${workflow}&` : '';
  return get(`/events?${of}after=${after}&wait=${WAIT}`, signal, 40);
}
