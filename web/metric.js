// One curve of a metric from the attempts of a phase: pure functions on numbers and text.
import {toNumber} from './format.js';

// Where a later attempt takes over: at the step it resumed from, or before its first own step.
function beginOf(run) {
  const resumed = run.resume && typeof run.first_step === 'number' ? run.first_step : Infinity;
  return Math.min(resumed, run.steps.length ? run.steps[0] - 1 : Infinity);
}

// `runs`: [{attempt, started, resume, first_step, steps, times, values}], the first attempt first.
// A later attempt wins. Returns {line: [{step, time, value, attempt}], rewound, begins, strange,
// begin}: `rewound` are the steps that a later attempt took back ([{attempt, points}], each led by
// the last point before them), `begins` where attempts begin, `strange` the points that are NaN
// or infinite, `begin` the time at which the first attempt started.
export function stitch(runs) {
  const line = [];
  const rewound = [];
  const begins = [];
  const strange = [];
  runs.forEach((run, i) => {
    const limit = Math.min(Infinity, ...runs.slice(i + 1).map(beginOf));
    const lost = [];
    let before = null;
    run.steps.forEach((step, at) => {
      const value = run.values[at];
      const {attempt, times} = run;
      const point = {step, time: times[at], value: toNumber(value) ?? NaN, attempt};
      if (value === null || value === undefined) return;
      if (!Number.isFinite(point.value)) strange.push({...point, text: value});
      if (step <= limit) line.push((before = point));
      else lost.push(point);
    });
    if (lost.length)
      rewound.push({
        attempt: run.attempt,
        points: before ? [before, ...lost] : lost,
        count: lost.length,
      });
    if (run.steps.length)
      begins.push({
        attempt: run.attempt,
        time: run.started || run.times[0],
        step: run.resume ? Math.min(run.first_step, run.steps[0]) : run.steps[0],
      });
  });
  line.sort((a, b) => a.step - b.step);
  return {line, rewound, begins, strange, begin: runs.length ? runs[0].started : 0};
}

// The steps around the places `from` to `to` of the axis: the last step before and the first after.
// `place` gives the place of a step by its index. Null if the series has no point there.
export function stepsAround({steps}, place, [from, to]) {
  const first = steps.findIndex((_, i) => place(i) >= from);
  const last = steps.findLastIndex((_, i) => place(i) <= to);
  if (first < 0 || last < 0) return null;
  return [steps[Math.max(first - 1, 0)], steps[Math.min(last + 1, steps.length - 1)]];
}

// A series with more detail between two steps: {steps, times, values}.
export function refine(rough, fine, [from, to]) {
  const keep = rough.steps.map((step) => step < from || step > to);
  const cut = rough.steps.findIndex((step) => step >= from);
  const join = (name) => {
    const before = rough[name].filter((_, i) => keep[i] && i < cut);
    return [...before, ...fine[name], ...rough[name].filter((_, i) => keep[i] && i >= cut)];
  };
  return {steps: join('steps'), times: join('times'), values: join('values')};
}

// A series of fewer points, by the rule of the API for `buckets`. The steps are split into `parts`
// equal parts. Each part keeps its lowest and its highest point, and one point that is NaN. Both
// ends of the series stay.
export function thin({steps, times, values}, parts) {
  const width = Math.floor((steps.at(-1) - steps[0]) / parts) + 1;
  const rows = new Map();
  const sizes = values.map(toNumber);
  steps.forEach((step, i) => {
    const part = Math.floor((step - steps[0]) / width);
    const {low = i, high = i, nan} = rows.get(part) || {};
    if (sizes[i] === undefined) rows.set(part, {...rows.get(part), nan: nan ?? i});
    else
      rows.set(part, {
        low: sizes[i] < sizes[low] ? i : low,
        high: sizes[i] > sizes[high] ? i : high,
        nan,
      });
  });
  const kept = [...rows.values()].flatMap(({low, high, nan}) => [low, high, nan]);
  const order = [...new Set([0, ...kept, steps.length - 1])].filter((i) => i !== undefined);
  order.sort((a, b) => a - b);
  const pick = (list) => order.map((i) => list[i]);
  return {steps: pick(steps), times: pick(times), values: pick(values)};
}

// The exponential moving average of the points, without the pull of a first value of 0. Points that
// are NaN or infinite are left as they are.
export function smooth(points, weight) {
  let sum = 0;
  let known = 0;
  return points.map((point) => {
    if (!Number.isFinite(point.value)) return point;
    sum = weight * sum + (1 - weight) * point.value;
    known = weight * known + (1 - weight);
    return {...point, value: sum / known};
  });
}

const PLAIN = /^(last|first|mean|median|min|max|p\d+)\(\s*([A-Za-z_][\w./-]*)\s*\)$/;
const METRIC = /^[A-Za-z_]\w*$/; /* alone, it stands for its newest value */
const BOUNDS = {at_least: 'at least', at_most: 'at most', above: 'above', below: 'below'};
const COMPARISON = /^([^<>=~]+?)\s*(<=|>=|<|>)\s*([^<>=~]+)$/;
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
const KEYS = {'<': 'below', '<=': 'at_most', '>': 'above', '>=': 'at_least'};
const TURNED = {'<': '>', '<=': '>=', '>': '<', '>=': '<='};

// The comparisons of a condition with a number, as checks with a value and a bound: "last(loss) < 3
// and 0.1 < mean(lr)" has two comparisons. `or` and `not` leave open which comparison counts, so a
// condition with these words has no bound to draw.
function checksOf(condition) {
  if (/\b(or|not)\b/.test(condition)) return [];
  return bare(condition).split(/\band\b/).flatMap((part) => {
    const [, left, sign, right] = COMPARISON.exec(bare(part)) || [];
    if (NUMBER.test(right)) return [{value: left, [KEYS[sign]]: Number(right)}];
    if (NUMBER.test(left)) return [{value: right, [KEYS[TURNED[sign]]]: Number(left)}];
    return [];
  });
}

// Without the parentheses around the whole expression.
function bare(text) {
  const [, inner] = /^\(([^()]*(?:\([^()]*\)[^()]*)*)\)$/.exec(text.trim()) || [];
  return inner === undefined ? text.trim() : bare(inner);
}

// The lines to draw for a metric: [{value, text, warn}]. They are of the checks that compare the
// metric, or one function of the metric such as p95(grad_norm), with a number. `criteria` are the
// checks as the file has them: a condition, or a map with a condition or with a value and bounds.
export function boundsOf(metric, criteria) {
  return Object.entries(criteria || {}).flatMap(([name, check]) => {
    const condition = typeof check === 'string' ? check : check.condition;
    const rows = condition ? checksOf(condition) : [check];
    return rows.flatMap((row) => {
      const value = row.value || '';
      const [, of, found] = PLAIN.exec(METRIC.test(value) ? `last(${value})` : value) || [];
      if (found !== metric) return [];
      return Object.entries(BOUNDS)
        .filter(([key]) => typeof row[key] === 'number')
        .map(([key, words]) => ({
          value: row[key],
          text: `${name}: ${of} ${words} ${row[key]}`,
          warn: check.else === 'warn',
        }));
    });
  });
}
