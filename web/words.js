// What the fields of the API mean, in the words of phasectl: the state to show, what a run waits
// for, why a phase is held, and what can be done.
import {duration, now, number} from './format.js';

const FINAL = ['succeeded', 'failed', 'cancelled', 'skipped'];

export function isFinal(state) {
  return FINAL.includes(state);
}

export function isMatrix(phase) {
  return Boolean(phase.of_members);
}

// A matrix has the sums of its members.
export function totals(phase) {
  return phase.of_members || phase;
}

// The state to show. A phase whose run is being stopped says so.
export function stateOf(phase) {
  const run = phase.run || {};
  if (phase.state === 'blocked' && isMatrix(phase)) {
    const {queued, active, deciding, blocked, held} = totals(phase).states; /* of its members */
    if (held && !queued && !active && !deciding && !blocked) return 'held';
    if (totals(phase).begun > 0) return queued && !active && !deciding ? 'queued' : 'active';
  }
  const isOpen = phase.state === 'active' || phase.state === 'queued';
  const isStopping = run.state === 'stopping' || (run.wish && run.state !== 'ended');
  return isOpen && isStopping ? 'stopping' : phase.state;
}

// How far a phase is: {done, total, text}; null if nothing is known.
export function progressOf(phase) {
  if (isMatrix(phase)) {
    const total = Array.isArray(phase.members) ? phase.members.length : phase.members;
    const done = phase.of_members.ended;
    return {done, total, text: `${done} of ${total}`};
  }
  if (typeof phase.step !== 'number') return null;
  const total = typeof phase.total === 'number' ? phase.total : 0;
  return {done: phase.step, total, text: total ? `${phase.step}/${phase.total}` : `${phase.step}`};
}

// Names of metrics. The most important names for training come first.
export function sortMetrics(names) {
  const rank = (name) =>
    name === 'loss' ? 0 : name === 'train_loss' ? 1 : name.includes('loss') ? 2 : 3;
  return [...names].sort((a, b) => rank(a) - rank(b));
}

export function metricOf(phase) {
  const best = sortMetrics(Object.keys(phase.metrics || {}))[0];
  return best ? `${best} ${number(phase.metrics[best])}` : '';
}

// Whether a phase or a member of a sweep waits for a person, also while others are at work.
export function isHeld(workflow) {
  return workflow.phases.some((phase) => phase.state === 'held');
}

// The first phase that is held, else the first that is at work, else the first that is queued, else
// the first that is blocked, else the last. Members of a sweep do not count.
export function currentPhase(workflow) {
  const phases = workflow.phases.filter((phase) => !phase.matrix);
  const open = phases.filter((phase) => !isFinal(phase.state));
  const rank = (phase) => ({held: -1, queued: 1, blocked: 2})[stateOf(phase)] || 0;
  return open.sort((a, b) => rank(a) - rank(b))[0] || phases.at(-1);
}

// The state to show of a workflow: if it is live, the state of its current phase.
export function stateOfWorkflow(workflow) {
  const phase = currentPhase(workflow);
  return workflow.state === 'running' && phase ? stateOf(phase) : workflow.state;
}

// What a run waits for; empty if it does not wait.
export function waitOf(run) {
  if (!run) return '';
  const job = `job ${run.job_id}`;
  const reason = run.job_reason || '';
  if (typeof run.job_absent_since === 'number')
    return `Slurm has not known ${job} for ${duration(Math.max(now() - run.job_absent_since, 0))}`;
  if (run.state !== 'ended' && run.job_state === 'suspended')
    return `${job} is suspended in Slurm; it goes on when Slurm resumes it`;
  if (run.state === 'submitting' && reason) {
    const before = (run.job_turn || 0) - 1;
    return (
      `not submitted yet: ${reason}` +
      (before === 0
        ? '; this run is next'
        : before > 0
          ? `; ${before} other ${before === 1 ? 'run comes' : 'runs come'} before it`
          : '')
    );
  }
  const wasRequeued = ['running', 'stopping'].includes(run.state) && run.ended;
  const waits = wasRequeued || ['pending', 'starting'].includes(run.state);
  if (!waits || run.job_state !== 'pending') return '';
  const left = (run.job_start || 0) - now();
  return (
    `${job} waits in Slurm` +
    (reason ? ': ' + (run.job_waits_for || reason) : '') +
    (left > 0 ? `; Slurm expects its start in ${duration(left)}` : '')
  );
}

const MEMBERS = [
  ['succeeded', 'succeeded'],
  ['failed', 'out'],
  ['cancelled', 'cancelled'],
  ['skipped', 'skipped'],
  ['held', 'held'],
  ['active', 'active'],
  ['deciding', 'deciding'],
  ['queued', 'queued'],
  ['blocked', 'waiting'],
];

// "rung 1 of 2: 3 succeeded, 1 out"
export function membersNote(matrix) {
  const states = matrix.of_members.states || {};
  const counts = MEMBERS.filter(([state]) => states[state] > 0)
    .map(([state, word]) => `${states[state]} ${word}`)
    .join(', ');
  return (matrix.rungs > 1 ? `rung ${matrix.rung} of ${matrix.rungs}: ` : '') + counts;
}

// One line about a phase: what it waits for, why it stands where it stands, or where it runs.
export function noteOf(phase) {
  const run = phase.run || {};
  const wait = waitOf(phase.run);
  if (wait) return wait + (phase.reason ? '; ' + phase.reason : '');
  if (isMatrix(phase) && phase.state === 'blocked') return membersNote(phase);
  if (phase.reason) return phase.reason;
  if (phase.state === 'active' && run.nodes && run.nodes.length)
    return (
      'on ' +
      run.nodes.join(',') +
      (run.beside && run.beside.length
        ? `, beside ${run.beside.join(', ')} in job ${run.job_id}`
        : '')
    );
  if (phase.state === 'blocked' && phase.after.length)
    return `begins when ${list(phase.after)} ${have(phase.after)} succeeded`;
  return phase.promoted === 'in_place' ? 'promoted in place' : '';
}

function have(names) {
  return names.length === 1 ? 'has' : 'have';
}

export function list(names) {
  return names.length < 2 ? names.join('') : names.slice(0, -1).join(', ') + ' and ' + names.at(-1);
}

export function suspectNote(phase) {
  const steps = phase.suspects || [];
  if (!steps.length) return '';
  const shown = steps.slice(0, 8).join(', ') + (steps.length > 8 ? ' and later ones' : '');
  const word = steps.length > 1 ? 'steps' : 'step';
  return `${word} ${shown}: saved after a guard had failed or NaN had come`;
}

// "micro_batch 32 → 16 (remedy oom 1 of 2)"; empty without a remedy.
export function remedyOf(run) {
  const remedy = run.remedy;
  if (!remedy) return '';
  const changes = (remedy.changes || []).map((c) => `${c.param} ${c.from} → ${c.to}`).join(', ');
  const from = {start: ', from the start', previous: ', from the checkpoint before'};
  return (
    (changes || 'the same params') +
    (from[remedy.resume] || '') +
    ` (remedy ${remedy.cause} ${remedy.number} of ${remedy.times})`
  );
}

const EARLY = {insufficient: 'too early', failed: 'failing'};

// The verdict in one word. A failure that only warns has a word of its own, and before the end of
// the run no check has failed.
export function verdictOf({warn, outcome}, isEarly) {
  if (warn && outcome !== 'passed') return 'warned';
  return (isEarly && EARLY[outcome]) || outcome;
}

export function stepsOf(run) {
  return typeof run.last_step === 'number' ? `${run.first_step}–${run.last_step}` : '';
}

// The rows of /v1/costs, summed by the key that `keyOf` gives each row. A sum has its key and its
// first row.
export function costsBy(rows, keyOf) {
  const found = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    const sum = found.get(key) || {key, row, seconds: 0, gpuSeconds: 0, usd: null, paid: 0};
    found.set(key, sum);
    sum.seconds += row.seconds;
    sum.gpuSeconds += row.gpu_seconds;
    sum.paid += row.paid_seconds;
    if (row.cost_usd !== null) sum.usd = (sum.usd || 0) + row.cost_usd;
    const use = ['useful', 'waiting'].includes(row.cause) ? row.cause : 'lost';
    sum[use] = (sum[use] || 0) + row.paid_seconds;
  }
  return [...found.values()];
}
