// Several phases in the same charts: one chart for each metric with a curve for each phase, and a
// table that names the curves and says how each of them ended.
import {get, getOnce, pathOf} from './api.js';
import * as chart from './chart.js';
import {chosen, controls, curve, place, together, whyNoCurves} from './curves.js';
import {h} from './dom.js';
import {number, plural} from './format.js';
import {button, state, table} from './parts.js';
import {link, linkTo, listOf, replace} from './route.js';
import {isFinal, isMatrix, stateOf} from './words.js';

const WORKFLOWS_MAX = 24;
const CURVES_MAX = 16;

export const ASKS = ['with', 'metric', 'zoom']; /* the params that change what is asked for */

// The workflows that the words of the address name.
function numbersOf(words) {
  return [...new Set(words.map((word) => parseInt(word, 10)))].filter((n) => n > 0);
}

// The phases of the workflows that can have curves. A member of a sweep is a phase of its own.
async function choicesOf(words, numbers, signal) {
  const workflows = await Promise.all(numbers.map((n) => get('/workflows/' + n, signal)));
  const isTold = ({address, metrics}) =>
    Object.keys(metrics).length > 0 || words.includes(address);
  return workflows.flatMap((workflow) =>
    workflow.phases
      .filter((phase) => !isMatrix(phase) && isTold(phase))
      .map((phase) => ({workflow, phase, name: phase.address})),
  );
}

// The runs of a phase that have begun, the first attempt first.
async function runsOf({name}, signal) {
  const {runs} = await get(pathOf(name), signal);
  return runs.filter((run) => run.started).reverse();
}

// The curves of one metric. `place` chooses the colour of a phase, which is the same in all charts.
async function curvesOf(shown, runs, metric, ask, params) {
  const lines = await Promise.all(
    shown.map(async (choice, i) => {
      const {line, begin} = await curve(runs[i], metric, ask, params);
      return {...choice, place: i, line, begin};
    }),
  );
  return together(lines, 'curve');
}

// A word "7" of the address stands for all phases of workflow 7, and "7/train" for one phase.
export async function load({params}, signal) {
  const words = listOf(params, 'with');
  const numbers = numbersOf(words);
  const choices = await choicesOf(words, numbers.slice(0, WORKFLOWS_MAX), signal);
  const isWanted = ({name, workflow}) =>
    words.includes(name) || words.includes(String(workflow.workflow));
  const shown = choices.filter(isWanted).slice(0, CURVES_MAX);
  const phase = {members: shown.map((choice) => choice.phase)};
  const metrics = chosen(params, phase);
  const runs = await Promise.all(shown.map((choice) => runsOf(choice, signal)));
  const ask = (run, end) => getOnce(run, end, signal);
  const curves = await Promise.all(
    metrics.map((metric) => curvesOf(shown, runs, metric, ask, params)),
  );
  const left = choices.filter(isWanted).length;
  return {choices, shown, phase, metrics, curves, left, named: numbers.length};
}

export function isBusy({shown}) {
  return shown.some(({phase}) => !isFinal(phase.state));
}

export function title() {
  return 'comparison';
}

// Where a person chooses the workflows.
export function choose({params}) {
  return '#/workflows?pick=' + numbersOf(listOf(params, 'with')).join(',');
}

export function crumbs() {
  return [['comparison', location.hash]];
}

// Shows or hides the curve of a phase. From then on the address names each phase.
export function toggleCurve(name, {shown}) {
  const names = shown.map((choice) => choice.name);
  const rest = names.filter((other) => other !== name);
  if (rest.length) replace({with: (rest.length < names.length ? rest : [...names, name]).join()});
}

// What differs between workflows of the same name.
function choicesText(workflow) {
  const set = Object.entries(workflow.set).map(([key, value]) => `${key}=${value}`);
  return [...workflow.variants, ...set].join(' ');
}

// "3.21 at step 400"
function at(point) {
  return point ? `${number(point.value)} at step ${point.step}` : '';
}

function row({name, workflow, phase, line, place: slot}) {
  const known = line.filter(({value}) => Number.isFinite(value));
  const by = (isBetter) => known.reduce((a, b) => (a && !isBetter(b, a) ? a : b), null);
  const about = choicesText(workflow);
  return {
    key: name,
    cells: [
      [chart.swatch(slot), h('a', {href: linkTo(name)}, name)],
      [
        h('a', {href: link(workflow.workflow)}, workflow.name),
        about && h('span', {class: 'dim choices'}, ' ' + about),
      ],
      state(stateOf(phase)),
      line.at(-1).step,
      number(line.at(-1).value),
      at(by((a, b) => a.value < b.value)),
      at(by((a, b) => a.value > b.value)),
    ],
  };
}

const COLUMNS = [
  ['curve', 'name'],
  ['workflow', 'name'],
  ['state', ''],
  ['step', 'num'],
  ['last', 'num'],
  ['lowest', 'num'],
  ['highest', 'num'],
];

function curveOf(metric, i, {metrics, curves}) {
  return h(
    'div',
    {class: 'curve', 'data-key': metric},
    h('h2', {}, metric),
    chart.canDraw() && place(metric, metrics.length),
    table(`curves of ${metric}`, COLUMNS, curves[i].members.map(row), 'fit'),
  );
}

function chips({choices, shown}) {
  const isShown = (name) => shown.some((choice) => choice.name === name);
  return h(
    'div',
    {class: 'chips', role: 'group', 'aria-label': 'Curves to show', 'data-key': 'curves'},
    choices.map(({name, workflow}) =>
      button('curve', `${name} ${workflow.name}`, {
        class: 'chip',
        'data-key': name,
        'data-name': name,
        'aria-pressed': String(isShown(name)),
      }),
    ),
  );
}

export {drawCurves as mounted} from './curves.js';

export function render(route, data) {
  const {metrics, left, shown, named} = data;
  const others = h('a', {href: choose(route)}, 'choose workflows');
  const head = [
    h('div', {class: 'head', 'data-key': 'head'}, h('h1', {}, 'Comparison'), others),
    named > WORKFLOWS_MAX &&
      h(
        'p',
        {class: 'dim', id: 'dropped'},
        `Only the first ${WORKFLOWS_MAX} of ${named} workflows are compared.`,
      ),
  ];
  if (!metrics.length)
    return [head, h('p', {class: 'empty'}, 'These workflows have no metrics yet.')];
  return [
    head,
    !chart.canDraw() && whyNoCurves(),
    left > shown.length &&
      h('p', {class: 'dim'}, `The first ${CURVES_MAX} of ${plural(left, 'phase')} are shown.`),
    chips(data),
    controls(route, data, !chart.canDraw(), false),
    metrics.map((metric, i) => curveOf(metric, i, data)),
  ];
}
