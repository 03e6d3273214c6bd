// The nodes on which runs are at work, and the nodes that new jobs leave out (`phasectl nodes`).
import {get} from './api.js';
import {h} from './dom.js';
import {plural, time} from './format.js';
import {section, state, table} from './parts.js';
import {linkTo} from './route.js';
import {stepsOf} from './words.js';

const USED = [
  ['node', 'name'],
  ['run', ''],
  ['state', ''],
  ['GPU', ''],
  ['steps', 'num'],
  ['since', 'num'],
];
const LEFT_OUT = [
  ['node', 'name'],
  ['cause', ''],
  ['run', ''],
  ['since', 'num'],
  ['until', 'num'],
  ['message', 'wide'],
];

export const ASKS = []; /* the params that change what is asked for */

export async function load(route, signal) {
  const [leftOut, atWork] = await Promise.all([
    get('/nodes', signal),
    get('/runs?at_work=1', signal),
  ]);
  return {leftOut: leftOut.nodes, runs: atWork.runs};
}

export function isBusy({runs}) {
  return runs.length > 0;
}

export function title() {
  return 'nodes';
}

export function crumbs() {
  return [['nodes', '#/nodes']];
}

function rowLeftOut({node, cause, run, since, until, message}) {
  return {
    key: node,
    cells: [
      node,
      cause || 'wanted',
      run && h('a', {href: linkTo(run)}, run),
      time(since),
      until === null ? 'cleared' : time(until),
      message,
    ],
  };
}

// A row for each run on each node: runs can share a node.
function rowsUsed(runs) {
  const rows = runs.flatMap((run) =>
    run.nodes.map((node) => ({
      key: `${node} ${run.address}`,
      cells: [
        node,
        h('a', {href: linkTo(run.address)}, run.address),
        state(run.state),
        run.gpu,
        stepsOf(run),
        time(run.started),
      ],
    })),
  );
  const order = new Intl.Collator('en', {numeric: true});
  return rows.sort((a, b) => order.compare(a.key, b.key));
}

export function render(route, {leftOut, runs}) {
  const used = rowsUsed(runs);
  const count = new Set(runs.flatMap((run) => run.nodes)).size;
  return [
    h('h1', {'data-key': 'title'}, 'Nodes'),
    section(
      'In use',
      'used',
      used.length
        ? [
            h('p', {class: 'dim'}, `${plural(runs.length, 'run')} on ${plural(count, 'node')}`),
            table('nodes in use', USED, used),
          ]
        : h('p', {class: 'empty'}, 'No run is at work.'),
    ),
    section(
      'Left out by new jobs',
      'left-out',
      leftOut.length
        ? table('nodes that are left out', LEFT_OUT, leftOut.map(rowLeftOut))
        : h('p', {class: 'empty'}, 'No node is left out.'),
    ),
  ];
}
