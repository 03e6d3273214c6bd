// The page of phased: shows the view that the address names, keeps it up to date, and hears what a
// person does. Start reading here; README.md has the map.
import {askOtherTabs, get, hasToken, takeToken} from './api.js';
import * as chart from './chart.js';
import * as compare from './compare.js';
import * as costs from './costs.js';
import * as curves from './curves.js';
import {h, show} from './dom.js';
import {WAIT, waitForEvent} from './events.js';
import {time} from './format.js';
import * as heat from './heat.js';
import * as keys from './keys.js';
import * as logs from './log.js';
import * as nodes from './nodes.js';
import * as phase from './phase.js';
import {current, linkTo, replace, toggle} from './route.js';
import {confirm} from './verbs.js';
import * as workflow from './workflow.js';
import * as workflows from './workflows.js';

const VIEWS = {workflows, workflow, phase, compare, nodes, costs};
const GAP = 1000;
const BUSY = 5000;
const LOG = 2000;
const CALM = 20000; /* milliseconds between two questions */
const PINGS = 30000; /* between two questions about the cluster */
const REST = 3; /* the daemon rests this many times as long as its answer took, */
const REST_MAX = 60000; /* but at most this long */
const RESTS = ['held', 'succeeded', 'failed', 'cancelled'];
/* what goes when a field changes */
const RESETS = {rank: {find: ''}, x: {zoom: ''}, filter: {rows: ''}, state: {rows: ''}};
const $ = (id) => document.getElementById(id);

let route = null;
let data = null; /* what is shown; data is of the place `shown` */
let shown = '';
let abort = new AbortController();
let timer = 0;
let isAsking = false;
let isLate = false;
let asked = 0; /* when; 0: a person waits for the answer */
let took = 0; /* how long the last answer took */
let goneSince = 0; /* since when the daemon does not answer */
let clock = 0; /* asks about the daemon and the cluster */
let user = ''; /* the owner of the daemon */
let trouble = ''; /* what keeps the daemon from starting anything */

// Whether `to` shows more of the same place than was asked for.
function needsMore(from, to) {
  return VIEWS[to.view].ASKS.some((name) => from.params.get(name) !== to.params.get(name));
}

// The data of the place in the address; null while it loads, when `data` is of the place before.
function loaded() {
  return shown === placeOf(route) ? data : null;
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
  heat.sweep();
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
        h('p', {}, 'Open the page again with ', h('code', {}, 'phasectl open'), '.'),
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
  if (error.code === 'forbidden') {
    goneSince = 0;
    banner('');
    complain(error);
    return;
  }
  answered();
  if (data && error.code !== 'not_found') {
    banner(`${error.message}. The page tries again.`);
    schedule(BUSY);
    return;
  }
  complain(error);
  schedule(CALM);
}

// The least time between two questions. Events of all workflows reach a view of no workflow. After
// an answer that took long, the daemon gets a rest of several times as long.
function gap() {
  const least = !route.workflow && !goneSince ? BUSY : GAP;
  return Math.max(least, took + Math.min(REST * took, REST_MAX));
}

// Asks for what the view shows, and shows it. Asks once at a time, and not too often.
async function refresh() {
  if (isAsking) {
    isLate = true;
    return;
  }
  const wait = asked + gap() - Date.now();
  if (wait > 0) {
    schedule(wait);
    return;
  }
  isAsking = true;
  isLate = false;
  const begun = Date.now();
  asked = begun;
  const asking = route;
  const {signal} = abort;
  try {
    const reply = await VIEWS[asking.view].load(asking, signal).finally(() => {
      took = Date.now() - begun;
    });
    answered();
    if (placeOf(asking) === placeOf(route)) {
      const isOther = shown !== '' && shown !== placeOf(route);
      data = reply;
      shown = placeOf(route);
      if (isOther) for (const element of $('main').querySelectorAll('[data-own]')) element.remove();
      draw();
      if (isOther && document.activeElement === document.body) $('main').focus();
      schedule(needsMore(asking, route) ? 0 : isLate ? gap() : pause());
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
      `${number}/${name} ${['succeeded', 'failed'].includes(to) ? 'has' : 'is'} ${to}` +
      (message ? `: ${message}` : ''),
  );
  if (told.length > 0) say(told.slice(-3).join('; '));
}

// Waits until somebody can see the page. A browser opens about six connections to one host, for all
// tabs together, so a hidden tab must not keep one.
function untilSeen(signal) {
  return new Promise((resolve) => {
    if (!document.hidden || signal.aborted) return resolve();
    document.addEventListener('visibilitychange', resolve, {once: true, signal});
    signal.addEventListener('abort', resolve, {once: true});
  });
}

function sleep(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

// Waits for events of the workflow that is shown; 0: of all workflows. One question is open at a
// time. What happened before the first answer about the cluster is not new.
async function watch(number, signal) {
  let last = null;
  while (!signal.aborted) {
    try {
      if (last === null) last = await cluster();
      await untilSeen(signal);
      if (signal.aborted) return;
      const begun = Date.now();
      const reply = await waitForEvent(number, last, signal);
      const late = Date.now() - begun - WAIT * 1000;
      last = Math.max(last, reply.last);
      tellStates(reply.events);
      const isChanged = number ? reply.events.length : workflows.changes(reply.events, data);
      if (isChanged && !document.hidden) refresh();
      if (late > 0) await sleep(Math.min(REST * late, REST_MAX));
    } catch (error) {
      if (signal.aborted || error.code === 'forbidden') return;
      if (error.code === 'away') refresh(); /* says so, and tries again */
      await sleep(2000);
    }
  }
}

// Returns the last event.
async function cluster() {
  const reply = await get('/ping');
  const {message} = reply.cluster;
  user = reply.user;
  trouble = reply.trouble
    ? `The record cannot be written since ${time(reply.trouble_since)}: what is shown is of ` +
      `that time, and nothing new begins: ${reply.trouble} (home ${reply.home})`
    : reply.cluster.answering
      ? ''
      : `Slurm does not answer, so nothing new begins${message ? `: ${message}` : ''}`;
  show($('cluster'), [h('span', {class: 'dim'}, reply.cluster.name)]);
  if (!goneSince) banner(trouble);
  return reply.last;
}

// Ignores a failure: the questions of the view fail, too, and the banner says so.
function ping() {
  cluster().catch(() => null);
}

// --- Going elsewhere -----------------------------------------------------------------------------

function go() {
  const before = takeToken() ? null : route;
  if (!hasToken()) {
    askForToken();
    return;
  }
  clock = clock || setInterval(ping, PINGS);
  route = current();
  if (before && placeOf(before) === placeOf(route)) {
    if (loaded()) draw();
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
  if (route.view === 'compare') ping();
  else watch(route.workflow, abort.signal); /* before refresh(), which then shows what is not new */
  refresh();
}

function goBack() {
  const here = loaded();
  if (route.view === 'phase')
    location.hash =
      here && here.phase.matrix
        ? linkTo(`${route.workflow}/${here.phase.matrix}`)
        : linkTo(String(route.workflow));
  else if (['workflow', 'nodes', 'costs'].includes(route.view)) location.hash = '#/workflows';
  else if (route.view === 'compare') location.hash = compare.choose(route);
}

// --- What a person does --------------------------------------------------------------------------

const ACTS = {
  verb: (element) =>
    confirm($('dialog'), element.dataset, user, (text) => {
      say(text);
      asked = 0;
      refresh();
    }),
  close: () => $('dialog').close(),
  keys: () => keys.help($('dialog')),
  skip: () => $('main').focus(),
  set: ({dataset}) => replace({[dataset.name]: dataset.value}),
  metric: ({dataset}) => loaded() && curves.toggleMetric(dataset.name, data),
  more: () => workflows.more(route, loaded()),
  curve: ({dataset}) => loaded() && compare.toggleCurve(dataset.name, data),
  jump: ({dataset}) => logs.jump($('log'), Number(dataset.by)),
  earlier: async () => {
    const height = $('log').scrollHeight;
    await logs.readEarlier();
    if (!loaded()) return;
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
  if (row && !event.target.closest('a, button, input, select, label') && !String(getSelection()))
    row.querySelector('a[href]').click();
}

// Rows are added before the end of the list can be seen.
function onScroll() {
  const end = $('more');
  if (end && end.getBoundingClientRect().top < 1.5 * innerHeight) workflows.more(route, loaded());
}

// A field with `data-set` changes the state in the address. A box with `data-list` puts its value
// into a list there, or takes it out.
function onInput(event) {
  const {target} = event;
  const {list, set: name} = target.dataset;
  if (list) toggle(list, target.value);
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
  replace({[name]: value, ...RESETS[name]});
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
  document.addEventListener('scroll', onScroll, {passive: true});
  document.addEventListener('keydown', onFindKey);
  document.addEventListener('keydown', (event) => keys.onKey(event, $('dialog'), goBack));
  document.addEventListener(
    'submit',
    (event) => event.target.method !== 'dialog' && event.preventDefault(),
  );
  document.addEventListener('visibilitychange', () => !document.hidden && route && refresh());
  window.addEventListener('hashchange', go);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    chart.redraw();
    heat.redraw();
  });
  window.addEventListener('resize', heat.redraw);
  go();
}

start();
