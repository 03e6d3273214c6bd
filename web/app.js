// The page of phased: shows the view that the address names, keeps it up to date, and hears what a
// person does. Start reading here; README.md has the map.
import {askOtherTabs, get, hasToken, takeToken} from './api.js';
import * as chart from './chart.js';
import * as curves from './curves.js';
import {h, show} from './dom.js';
import {waitForEvent} from './events.js';
import {time} from './format.js';
import * as keys from './keys.js';
import * as logs from './log.js';
import * as phase from './phase.js';
import {current, linkTo, replace} from './route.js';
import {confirm} from './verbs.js';
import * as workflow from './workflow.js';
import * as workflows from './workflows.js';

const VIEWS = {workflows, workflow, phase};
const GAP = 1000;
const BUSY = 5000;
const LOG = 2000;
const CALM = 20000; /* milliseconds between two questions */
const RESTS = ['held', 'succeeded', 'failed', 'cancelled'];
const $ = (id) => document.getElementById(id);

let route = null;
let data = null; /* what is shown; data is of the place `shown` */
let shown = '';
let abort = new AbortController();
let timer = 0;
let isAsking = false;
let isLate = false;
let asked = 0;
let goneSince = 0; /* since when the daemon does not answer */
let trouble = ''; /* what keeps the daemon from starting anything */

// Whether `to` shows more of the same place than was asked for.
function needsMore(from, to) {
  return VIEWS[to.view].ASKS.some((name) => from.params.get(name) !== to.params.get(name));
}

function placeOf({view, workflow: number, phase: name}) {
  return `${view}/${number}/${name}`;
}

// --- Showing -------------------------------------------------------------------------------------

function draw() {
  const view = VIEWS[route.view];
  document.title = `${view.title(route, data)} · phased`;
  show(
    $('crumbs'),
    view.crumbs(route, data).map(([name, href]) => h('span', {}, h('a', {href}, name))),
  );
  show($('main'), view.render(route, data));
  if (view.mounted) view.mounted($('main'), route, data);
  chart.sweep();
}

function say(text) {
  $('said').textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => {
    $('said').textContent = '';
  }, 8000);
}

function banner(text) {
  $('banner').hidden = !text;
  if ($('banner').textContent !== text) $('banner').textContent = text;
}

function complain(error) {
  data = null;
  shown = '';
  show($('main'), [
    h(
      'div',
      {class: 'panel bad', role: 'alert', 'data-key': 'trouble'},
      h('p', {}, error.message),
      error.code === 'forbidden' &&
        h('p', {}, 'Open the page with ', h('code', {}, 'phasectl open'), '.'),
      error.code !== 'forbidden' && h('p', {}, h('a', {href: '#/workflows'}, 'All workflows')),
    ),
  ]);
}

function askForToken() {
  show($('main'), [
    h(
      'div',
      {class: 'panel'},
      h(
        'p',
        {},
        'This tab has no token. Open the page with ',
        h('code', {}, 'phasectl open'),
        ': the token is in the address that it prints, and each tab needs it once.',
      ),
    ),
  ]);
}

// --- Keeping up to date --------------------------------------------------------------------------

function schedule(milliseconds) {
  clearTimeout(timer);
  timer = setTimeout(refresh, milliseconds);
}

function pause() {
  if (!data) return BUSY;
  if (document.hidden) return CALM;
  const isFollowing = route.view === 'phase' && data.log && data.log.isLive && data.log.isFollowed;
  return VIEWS[route.view].isBusy(data)
    ? isFollowing
      ? LOG
      : BUSY
    : route.view === 'workflows'
      ? BUSY
      : CALM;
}

function answered() {
  if (goneSince) say('The daemon answers again.');
  goneSince = 0;
  banner(trouble);
}

function failed(error) {
  if (error.code === 'away') {
    goneSince = goneSince || Date.now();
    banner(
      `The daemon has not answered since ${time(goneSince / 1000)}. What is shown is old. ` +
        'The page tries again.',
    );
    schedule(Math.min(1000 + (Date.now() - goneSince) / 10, BUSY));
    return;
  }
  answered();
  if (data && error.code !== 'not_found' && error.code !== 'forbidden') {
    banner(`${error.message}. The page tries again.`);
    schedule(BUSY);
    return;
  }
  complain(error);
  if (error.code !== 'forbidden') schedule(CALM);
}

// Asks for what the view shows, and shows it. Asks once at a time, and at most once a second.
async function refresh() {
  if (isAsking) {
    isLate = true;
    return;
  }
  const wait = asked + GAP - Date.now();
  if (wait > 0) {
    schedule(wait);
    return;
  }
  isAsking = true;
  isLate = false;
  asked = Date.now();
  const asking = route;
  const {signal} = abort;
  try {
    const reply = await VIEWS[asking.view].load(asking, signal);
    answered();
    if (placeOf(asking) === placeOf(route)) {
      const isOther = shown !== '' && shown !== placeOf(route);
      data = reply;
      shown = placeOf(route);
      draw();
      if (isOther && document.activeElement === document.body) $('main').focus();
      schedule(needsMore(asking, route) ? 0 : isLate ? GAP : pause());
    }
  } catch (error) {
    if (!signal.aborted) failed(error.code ? error : Object.assign(error, {code: 'page'}));
  } finally {
    isAsking = false;
    if (isLate && placeOf(asking) !== placeOf(route)) refresh();
  }
}

// Says which phases have come to rest, also aloud. Members of a sweep are too many for that.
function tellStates(events) {
  const rests = events.filter(
    ({type, to, phase: name}) => type === 'phase' && RESTS.includes(to) && !/\.\d+$/.test(name),
  );
  const told = rests.map(
    ({workflow: number, phase: name, to, message}) =>
      `${number}/${name} is ${to}` + (message ? `: ${message}` : ''),
  );
  if (told.length > 0) say(told.slice(-3).join('; '));
}

// Waits for events of the workflow that is shown. One question is open at a time.
async function watch(number, signal) {
  while (!signal.aborted) {
    try {
      const {events, news} = await waitForEvent(number, signal);
      tellStates(news);
      if (events.length > 0) refresh();
    } catch (error) {
      if (signal.aborted || error.code === 'forbidden') return;
      if (error.code === 'away') refresh(); /* says so, and tries again */
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}

async function cluster() {
  const ping = await get('/ping').catch(() => null);
  if (!ping) return; /* the banner says so already */
  trouble = ping.trouble
    ? `The record cannot be written, so nothing new begins: ${ping.trouble}`
    : ping.cluster.answering
      ? ''
      : `Slurm does not answer, so nothing new begins: ${ping.cluster.message}`;
  show($('cluster'), [h('span', {class: 'dim'}, ping.cluster.name)]);
  if (!goneSince) banner(trouble);
}

// --- Going elsewhere -----------------------------------------------------------------------------

function go() {
  const before = route;
  takeToken();
  if (!hasToken()) {
    askForToken();
    return;
  }
  route = current();
  if (before && placeOf(before) === placeOf(route)) {
    if (data && shown === placeOf(route)) draw();
    if (needsMore(before, route)) {
      asked = 0;
      refresh();
    }
    return;
  }
  abort.abort();
  abort = new AbortController();
  asked = 0;
  clearTimeout(timer);
  window.scrollTo(0, 0);
  refresh();
  if (route.workflow) watch(route.workflow, abort.signal);
}

function goBack() {
  if (route.view === 'phase')
    location.hash =
      data && data.phase.matrix
        ? linkTo(`${route.workflow}/${data.phase.matrix}`)
        : linkTo(String(route.workflow));
  else if (route.view === 'workflow') location.hash = '#/workflows';
}

// --- What a person does --------------------------------------------------------------------------

const ACTS = {
  verb: (element) =>
    confirm($('dialog'), element.dataset, (text) => {
      say(text);
      refresh();
    }),
  close: () => $('dialog').close(),
  keys: () => keys.help($('dialog')),
  skip: () => $('main').focus(),
  set: ({dataset}) => replace({[dataset.name]: dataset.value}),
  metric: ({dataset}) => curves.toggleMetric(dataset.name, data),
  jump: ({dataset}) => logs.jump($('log'), Number(dataset.by)),
  earlier: async () => {
    const height = $('log').scrollHeight;
    await logs.readEarlier();
    draw();
    $('log').scrollTop = $('log').scrollHeight - height;
  },
};

function onClick(event) {
  const element = event.target.closest('[data-act]');
  if (element) {
    event.preventDefault();
    Promise.resolve(ACTS[element.dataset.act](element)).catch((error) => say(error.message));
    return;
  }
  const row = event.target.closest('tr[data-row]');
  if (row && !event.target.closest('a, button, input, select') && !String(getSelection()))
    row.querySelector('a[href]').click();
}

// A field with `data-set` changes the state in the address.
function onInput(event) {
  const {target} = event;
  const name = target.dataset.set;
  if (!name) return;
  const value =
    target.type === 'checkbox'
      ? target.dataset.off
        ? target.checked
          ? ''
          : target.dataset.off
        : target.checked
          ? '1'
          : ''
      : target.type === 'range' && target.value === '0'
        ? ''
        : target.value;
  replace({[name]: value, ...(name === 'rank' ? {find: ''} : {})});
}

function onPoint(event) {
  const piece = event.target.closest && event.target.closest('[data-tip]');
  const tip = piece && piece.closest('.timeline').querySelector('.tip');
  if (tip) tip.textContent = piece.dataset.tip;
}

function onFindKey(event) {
  if (event.target.id === 'find' && event.key === 'Enter') {
    event.preventDefault();
    logs.jump($('log'), event.shiftKey ? -1 : 1);
  }
}

async function start() {
  takeToken();
  if (!hasToken()) await askOtherTabs();
  document.addEventListener('click', onClick);
  document.addEventListener('input', onInput);
  document.addEventListener('pointerover', onPoint);
  document.addEventListener('focusin', onPoint);
  document.addEventListener('keydown', onFindKey);
  document.addEventListener('keydown', (event) => keys.onKey(event, $('dialog'), goBack));
  document.addEventListener(
    'submit',
    (event) => event.target.method !== 'dialog' && event.preventDefault(),
  );
  document.addEventListener('visibilitychange', () => !document.hidden && route && refresh());
  window.addEventListener('hashchange', go);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', chart.redraw);
  go();
  if (hasToken()) {
    cluster();
    setInterval(cluster, 30000);
  }
}

start();
