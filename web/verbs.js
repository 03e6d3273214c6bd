// What a person may decide about a phase, in buttons and a dialog that asks before anything
// happens.
import {pathOf, post} from './api.js';
import {h} from './dom.js';
import {isMatrix, suspectNote, totals} from './words.js';

function runs(phase) {
  return Boolean(phase.run && phase.run.state !== 'ended');
}

function isJudged(phase) {
  return phase.hold === 'gate' || Boolean(phase.run && phase.run.outcome === 'succeeded');
}

function membersIn(matrix, ...states) {
  const counts = totals(matrix).states || {};
  return states.reduce((sum, state) => sum + (counts[state] || 0), 0);
}

function retryHelp(phase) {
  if (isMatrix(phase))
    return membersIn(phase, 'succeeded') ? 'judge the members again' : 'run the members again';
  const step = phase.checkpoint_step;
  const isSuspect = suspectNote(phase) !== '';
  if (isJudged(phase) || (typeof step !== 'number' && !isSuspect)) return 'run the phase again';
  if (typeof step !== 'number') return 'run again from the start: no checkpoint is good';
  return isSuspect
    ? 'run again from the last good checkpoint'
    : `run again from the checkpoint of step ${step}`;
}

function promoteHelp(phase) {
  if (phase.state === 'succeeded') return 'go on with this member';
  if (phase.hold !== 'gate') return 'start the next phases';
  return isMatrix(phase)
    ? 'choose among the members anyway'
    : 'start the next phases, although the gate failed';
}

function resumeHelp(phase) {
  return `go on from the checkpoint of step ${phase.checkpoint_step}`;
}

function releaseHelp(phase) {
  return phase.run && phase.run.started ? 'let the phase go on' : 'let the phase start';
}

function holdHelp(phase) {
  return runs(phase)
    ? 'stop the run after a checkpoint, and wait for a person'
    : 'let the phase wait for a person';
}

function cancelHelp(phase) {
  return runs(phase)
    ? 'stop the run, and end the phase; the phases after it are skipped'
    : 'end the phase; the phases after it are skipped';
}

const HELPS = [
  ['promote', promoteHelp],
  ['release', releaseHelp],
  ['hold', holdHelp],
  ['resume', resumeHelp],
  ['retry', retryHelp],
  ['cancel', cancelHelp],
];

// Hides `resume` unless `retry` would begin at the start. If `retry` would begin at a checkpoint,
// both do the same.
function isShown(verb, phase) {
  return verb !== 'resume' || (isJudged(phase) && !isMatrix(phase));
}

// {verb, help, isGrave}: what the phase takes now, as the daemon says.
export function verbsOf(phase) {
  return HELPS.filter(([verb]) => phase.can.includes(verb) && isShown(verb, phase)).map(
    ([verb, help]) => ({verb, help: help(phase), isGrave: verb === 'cancel'}),
  );
}

// The verbs of a workflow act on all its phases that take them.
export function verbsOfWorkflow(workflow) {
  const rows = [
    {verb: 'release', help: 'let the phases that a person held go on'},
    {verb: 'hold', help: 'stop runs after a checkpoint, and wait for a person'},
    {verb: 'retry', help: 'run phases that failed, or are held by a failure, again'},
    {verb: 'cancel', help: 'stop its runs, and end the workflow', isGrave: true},
  ];
  return rows.filter(({verb}) => workflow.phases.some((phase) => phase.can.includes(verb)));
}

// Ways out that are not buttons: what has to happen first.
export function firstOf(phase) {
  const workflow = phase.address.split('/')[0];
  if (phase.hold_budget === 'workflow') {
    const option = '--' + phase.hold_amount.replace('_', '-');
    return `First give the workflow a larger budget: phasectl budget ${workflow} ${option} N.`;
  }
  if (phase.hold_budget === 'month')
    return 'First raise the budget of the month: `month` in limits.yaml.';
  if (phase.hold === 'failure' && phase.run && phase.run.refused)
    return 'Slurm refused the job. Retry when Slurm would take the job, or cancel.';
  return '';
}

export function buttons(address, rows) {
  return rows.map(({verb, help, isGrave}) =>
    h(
      'button',
      {
        type: 'button',
        class: isGrave ? 'grave' : '',
        'data-act': 'verb',
        'data-verb': verb,
        'data-address': address,
        'data-help': help,
        title: `${verb}: ${help}`,
      },
      verb,
    ),
  );
}

const PAST = {
  promote: 'promoted',
  hold: 'held',
  release: 'released',
  cancel: 'cancelled',
  retry: 'will be run again',
  resume: 'resumes from its newest good checkpoint',
};
const STOPPING = {
  hold: 'is being held: its run stops',
  cancel: 'is being cancelled: its run stops',
};

function told(verb, reply) {
  const skip =
    verb === 'cancel'
      ? 'skipped: a phase before it was cancelled'
      : 'skipped until a phase before it is run again';
  const has = (list, phase) => (reply[list] || []).includes(phase);
  return reply.phases
    .map(
      (phase) =>
        phase +
        ' ' +
        (has('skipped', phase)
          ? skip
          : has('judging', phase)
            ? 'chooses again among its results'
            : has('stopping', phase)
              ? STOPPING[verb] || PAST[verb]
              : PAST[verb]),
    )
    .join('; ');
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

// Asks the person, then the daemon. The record has the name of the owner of the daemon, who alone
// can have the token. `done` gets what happened, in words.
export function confirm(dialog, {verb, address, help}, user, done) {
  const target = address.includes('/') ? address : 'workflow ' + address;
  const error = h('p', {class: 'error', role: 'alert', hidden: true});
  const yes = h('button', {type: 'submit', class: 'main', 'data-key': 'yes'}, `${verb} ${address}`);
  const no = h('button', {type: 'button', 'data-key': 'no', 'data-act': 'close'}, 'go back');
  const form = h(
    'form',
    {method: 'dialog'},
    h('h2', {id: 'dialog-title'}, `${capital(verb)} ${target}?`),
    h('p', {}, capital(help) + '.'),
    error,
    h('div', {class: 'actions'}, yes, no),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    yes.disabled = true;
    try {
      const reply = await post(`${pathOf(address)}/${verb}`, {
        who: `${user || 'a person'} in the browser`,
      });
      dialog.close();
      done(told(verb, reply));
    } catch (failure) {
      error.textContent = failure.message;
      error.hidden = false;
      yes.disabled = false;
    }
  });
  dialog.replaceChildren(form);
  dialog.showModal();
  (verb === 'cancel' ? no : yes).focus();
}
