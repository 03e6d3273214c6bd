// What all workflows cost in a month, or in all time, as `phasectl cost` sums it.
import {get} from './api.js';
import {h} from './dom.js';
import {cost, duration, plural} from './format.js';
import {section, table} from './parts.js';
import {link} from './route.js';
import {costsBy} from './words.js';

const ROWS_MAX = 500; /* the most expensive workflows */
const WORKFLOWS = [
  ['workflow', 'num'],
  ['name', 'name'],
  ['GPU time', 'num'],
  ['cost', 'num'],
  ['useful', 'num'],
  ['lost', 'num'],
  ['waiting', 'num'],
];
const CAUSES = [
  ['spent on', 'name'],
  ['GPU time', 'num'],
  ['cost', 'num'],
  ['share', 'num'],
];

export const ASKS = ['month']; /* the params that change what is asked for */

// "2026-11" of a day.
function monthOf(date) {
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}`;
}

// The month that the address names, else this month; 'all' is all time.
function chosen({params}) {
  const month = params.get('month') || '';
  return month === 'all' || /^\d{4}-(0[1-9]|1[0-2])$/.test(month) ? month : monthOf(new Date());
}

function moved(month, by) {
  const [year, number] = month.split('-').map(Number);
  return new Date(year, number - 1 + by, 1);
}

// Months follow the clock of the person's machine.
export async function load(route, signal) {
  const month = chosen(route);
  const query = new URLSearchParams();
  if (month !== 'all') {
    query.set('since', moved(month, 0) / 1000);
    query.set('until', moved(month, 1) / 1000);
  }
  return {month, ...(await get('/costs?' + query, signal))};
}

export function isBusy() {
  return false;
}

export function title() {
  return 'costs';
}

export function crumbs() {
  return [['costs', '#/costs']];
}

// The sums, the most expensive first.
function dearest(costs) {
  return costs.sort((a, b) => (b.usd || 0) - (a.usd || 0) || b.gpuSeconds - a.gpuSeconds);
}

function share(part, whole) {
  return whole > 0 ? `${Math.round((100 * part) / whole)} %` : '';
}

function spent(sum) {
  return [duration(sum.gpuSeconds), cost(sum.usd)];
}

function used(sum) {
  const shares = ['useful', 'lost', 'waiting'].map((name) => share(sum[name] || 0, sum.paid));
  return [...spent(sum), ...shares];
}

function months(month) {
  const day = month === 'all' ? new Date() : moved(month, 0);
  const near = [-1, 0, 1].map((by) => monthOf(new Date(day.getFullYear(), day.getMonth() + by, 1)));
  const to = (name, text) =>
    h('a', {'data-key': name, href: `#/costs?month=${name}`, 'aria-current': name === month}, text);
  return h(
    'p',
    {class: 'buttons', 'data-key': 'months'},
    near.filter((name) => name <= monthOf(new Date())).map((name) => to(name, name)),
    to('all', 'all time'),
  );
}

export function render(route, {month, costs}) {
  const workflows = dearest(costsBy(costs, (row) => row.workflow));
  const shown = workflows.slice(0, ROWS_MAX);
  const causes = dearest(costsBy(costs, (row) => row.cause));
  const [total] = costsBy(costs, () => 'total');
  return [
    h('h1', {'data-key': 'title'}, month === 'all' ? 'Costs of all time' : `Costs of ${month}`),
    months(month),
    !total && h('p', {class: 'empty'}, 'No run began in this time.'),
    total &&
      section(
        'By what it was spent on',
        'causes',
        table(
          'causes',
          CAUSES,
          [...causes, total].map((sum) => ({
            key: sum.key,
            cells: [sum.key.replace('_', ' '), ...spent(sum), share(sum.paid, total.paid)],
          })),
          'fit',
        ),
      ),
    total &&
      section(
        'By workflow',
        'workflows',
        shown.length < workflows.length &&
          h('p', {class: 'dim'}, `the ${shown.length} most expensive of ${workflows.length}`),
        table(
          'workflows',
          WORKFLOWS,
          shown.map((sum) => ({
            key: sum.key,
            cells: [h('a', {href: link(sum.key)}, sum.key), sum.row.name, ...used(sum)],
          })),
          'fit',
        ),
      ),
    total &&
      h('p', {class: 'dim'}, `${plural(workflows.length, 'workflow')} had runs in this time.`),
  ];
}
