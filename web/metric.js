// One curve of a metric from the attempts of a phase: pure functions on numbers and text.

// Where a later attempt takes over: at the step it resumed from, or before its first own step.
function beginOf(run) {
  const resumed = run.resume && typeof run.first_step === 'number' ? run.first_step : Infinity;
  return Math.min(resumed, run.steps.length ? run.steps[0] - 1 : Infinity);
}

// `runs`: [{attempt, resume, first_step, steps, values}], the first attempt first. A later attempt
// wins. Returns {line: [{step, value, attempt}], rewound: [{attempt, points}], begins, strange}:
// `rewound` are the steps that a later attempt took back, each led by the last point before them,
// `begins` where attempts begin, `strange` the points that are no number.
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
      const point = {step, value: typeof value === 'number' ? value : NaN, attempt: run.attempt};
      if (value === null || value === undefined) return;
      if (typeof value !== 'number') strange.push({...point, text: value});
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
        step: run.resume ? Math.min(run.first_step, run.steps[0]) : run.steps[0],
      });
  });
  line.sort((a, b) => a.step - b.step);
  return {line, rewound, begins, strange};
}

// The exponential moving average of the points, without the pull of a first value of 0. Points that
// are no number are left as they are.
export function smooth(points, weight) {
  let sum = 0;
  let known = 0;
  return points.map((point) => {
    if (Number.isNaN(point.value)) return point;
    sum = weight * sum + (1 - weight) * point.value;
    known = weight * known + (1 - weight);
    return {...point, value: sum / known};
  });
}

const PLAIN = /^(last|first|mean|median|min|max|p\d+)\(\s*([A-Za-z_][\w./-]*)\s*\)$/;
const BOUNDS = {at_least: 'at least', at_most: 'at most', above: 'above', below: 'below'};

// The lines to draw for a metric: [{value, text, warn}]. They are of the checks whose value is one
// function of the metric, such as p95(grad_norm). `criteria` are the checks as the file has them.
export function boundsOf(metric, criteria) {
  return Object.entries(criteria || {}).flatMap(([name, check]) => {
    const [, of, found] = PLAIN.exec(check.value || '') || [];
    if (found !== metric) return [];
    return Object.entries(BOUNDS)
      .filter(([key]) => typeof check[key] === 'number')
      .map(([key, words]) => ({
        value: check[key],
        text: `${name}: ${of} ${words} ${check[key]}`,
        warn: check.else === 'warn',
      }));
  });
}
