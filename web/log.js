// The log of one rank of a run, as it grows: follows its end, reads back on demand, and finds text.
import {get, pathOf} from './api.js';
import {h} from './dom.js';
import {plural} from './format.js';

const CHUNK = 65536;
const CHUNKS = 16; /* that are read back at once */
const SKIP = 1048576; /* what grew by more than this is not read on, but anew from its end */
const LINES = 5000; /* older lines are dropped when there are about LINES_MORE more */
const LINES_MORE = 1000;
const NOTHING = {
  begin: 0,
  next: -1,
  size: 0,
  path: '',
  isCut: false,
  isPartial: false,
  at: 0,
  first: 0,
  most: LINES,
  trouble: '',
};
// What text_escape_size() in lib/text.c finds. phased writes no carriage return into a log.
const ESCAPE = /\x1b[\]P_^X][^]*?(?:\x07|\x1b\\|$)|\x1b\[[ -?]*[@-~]?|\x1b[ -/]*[0-~]?/g;
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/g;

// The log that is shown. Its `lines` stand in the file from `begin` to `next`; the last is
// partial as long as no newline follows. It is cut if phased has set aside a file with earlier
// lines. `first` counts the lines that were dropped, less those that were read back. `most`
// lines are kept: what a person has read back is kept until as many as LINES have followed.
// `marks` tells where each answer of the daemon begins: in which line, after how many
// characters, and where in the file.
let log = null;

function nothing() {
  return {...NOTHING, lines: [], marks: []};
}

// A problem with one log is shown in its place. The page shows the rest.
function troubleOf(error, signal) {
  const isOfAll = !error.code || error.code === 'away' || error.code === 'forbidden';
  if (isOfAll || (signal && signal.aborted)) throw error;
  return error.message;
}

// Returns the logs of a run, and what is wrong with their folder.
export async function list(address, signal) {
  try {
    return {files: (await get(pathOf(address) + '/logs', signal)).logs, trouble: ''};
  } catch (error) {
    return {files: [], trouble: troubleOf(error, signal)};
  }
}

// Without an offset: the end of the file.
function ask(offset, max, signal) {
  const from = offset === null ? '' : `&offset=${offset}`;
  return get(`${pathOf(log.address)}/log?rank=${log.rank}${from}&max=${max}`, signal);
}

// `offset` is where the text begins in the file.
function append(text, offset) {
  const parts = text.split('\n');
  const count = log.lines.length;
  log.marks.push(
    log.isPartial
      ? {line: count - 1, at: log.lines[count - 1].length, offset}
      : {line: count, at: 0, offset},
  );
  if (log.isPartial) parts[0] = log.lines.pop() + parts[0];
  log.isPartial = parts.at(-1) !== '';
  if (!log.isPartial) parts.pop();
  log.lines.push(...parts);
  if (log.lines.length > log.most + LINES_MORE) drop();
}

// Drops the oldest lines. What stays begins where an answer of the daemon began: only there is its
// offset in the file known.
function drop() {
  const mark = log.marks.find(({line}) => log.lines.length - line <= log.most);
  if (!mark) return;
  log.lines.splice(0, mark.line);
  log.lines[0] = log.lines[0].slice(mark.at);
  log.marks = log.marks
    .slice(log.marks.indexOf(mark))
    .map(({line, at, offset}) => ({
      line: line - mark.line,
      at: line === mark.line ? at - mark.at : at,
      offset,
    }));
  log.begin = mark.offset;
  log.first += mark.line;
}

// Reads what is new; at first, the end of the file. Returns the log, or null if there is no file.
export async function read(address, rank, isFollowed, signal) {
  if (!log || log.address !== address || log.rank !== rank)
    log = {address, rank, ...nothing(), turns: 0};
  log.isFollowed = isFollowed;
  const mine = log;
  if (!isFollowed && mine.next >= 0) return mine;
  try {
    for (let i = 0; i < 8; i++) {
      const reply = await ask(mine.next < 0 ? null : mine.next, CHUNK, signal);
      if (mine !== log) return log;
      // A file that became shorter is another file: phased has set aside a full log.
      const grew = reply.size - mine.next;
      if (mine.next >= 0 && (grew < 0 || grew > SKIP)) {
        Object.assign(mine, nothing(), {turns: mine.turns + 1});
        continue;
      }
      Object.assign(mine, {
        size: reply.size,
        path: reply.path,
        isCut: Boolean(reply.earlier),
        next: reply.next,
        begin: mine.next < 0 ? reply.offset : mine.begin,
        trouble: '',
      });
      if (reply.text) append(reply.text, reply.offset);
      if (reply.next >= reply.size || !reply.text) break;
    }
  } catch (error) {
    mine.trouble = troubleOf(error, signal);
  }
  return mine;
}

// Reads what comes before the lines that are shown, until a line is whole, within limits: the first
// line may be longer than a chunk. Offsets are those of the daemon, because a byte that is no
// letter is one byte of the file, but three of the text.
export async function readEarlier() {
  const mine = log, {turns} = mine;
  for (let i = 0; i < CHUNKS && mine.begin > 0; i++) {
    const from = Math.max(0, mine.begin - CHUNK);
    const reply = await ask(from, mine.begin - from, null);
    if (mine !== log || mine.turns !== turns || mine.begin <= reply.offset) return;
    const parts = reply.text.split('\n');
    const rest = parts.pop();
    for (const mark of mine.marks) {
      if (mark.line === 0) mark.at += rest.length;
      mark.line += parts.length;
    }
    mine.lines[0] = rest + (mine.lines[0] || '');
    mine.lines.unshift(...parts);
    mine.begin = reply.offset;
    mine.first -= parts.length;
    mine.most = mine.lines.length + LINES;
    if (parts.length) return;
  }
}

// The first line may be the rest of a line.
function shownLines() {
  const [first, ...rest] = log.lines;
  return log.begin > 0 && log.lines.length ? ['\u2026' + first, ...rest] : log.lines;
}

function lineOf(text, find) {
  const shown = text.replace(ESCAPE, '').replace(CONTROL, '');
  const low = shown.toLowerCase();
  if (!find || !low.includes(find)) return h('div', {class: 'line'}, shown + '\n');
  const parts = [];
  let at = 0;
  for (let found = low.indexOf(find); found >= 0; found = low.indexOf(find, at)) {
    parts.push(shown.slice(at, found), h('mark', {}, shown.slice(found, found + find.length)));
    at = found + find.length;
  }
  return h('div', {class: 'line hit'}, parts, shown.slice(at) + '\n');
}

// The line that stands at the top of `place`: its number, and how far above the top it begins.
function topLine(place) {
  const top = place.offsetTop + place.scrollTop;
  const lines = [...place.childNodes];
  const at = lines.findIndex((line) => line.offsetTop + line.offsetHeight > top);
  return at < 0 ? null : {number: at + log.drawnFirst, above: top - lines[at].offsetTop};
}

// Draws the log into `place`, and what was found into `says`. Adds only lines that are new, so that
// a selection stays, and follows the end unless a person has scrolled away from it. If other lines
// are dropped or read back, what a person reads stays where it is.
export function draw(place, says, find) {
  if (!log) return;
  const needle = find.toLowerCase();
  const of = [log.address, log.rank, log.turns, needle].join('/');
  const isOfThese = place.getAttribute('data-of') === of;
  const isSame = isOfThese && log.drawnBegin === log.begin;
  const isMoved = isOfThese && !isSame;
  const top = isMoved && topLine(place);
  const isAtEnd = place.scrollTop + place.clientHeight > place.scrollHeight - 40;
  if (!isSame || log.drawn !== log.next) {
    const kept = isSame ? Math.max(log.shown - 1, 0) : 0; /* the last line may have grown */
    while (place.childNodes.length > kept) place.lastChild.remove();
    place.append(...shownLines().slice(kept).map((line) => lineOf(line, needle)));
    place.setAttribute('data-of', of);
    log.shown = log.lines.length;
    log.drawn = log.next;
    log.drawnBegin = log.begin;
    log.drawnFirst = log.first;
    log.at = isSame ? log.at : 0;
    const line = top && place.childNodes[top.number - log.first];
    if (needle && !isSame && !isMoved) jump(place, 0);
    else if (!needle && log.isFollowed && (isAtEnd || !(isSame || isMoved)))
      place.scrollTop = place.scrollHeight;
    else if (line) place.scrollTop = line.offsetTop + top.above - place.offsetTop;
  }
  tell(place, says, find);
}

// Which file it is, and how much was found.
function tell(place, says, find) {
  const hits = place.querySelectorAll('.hit').length;
  const file = `${log.path} (${kib(log.size)})`;
  const found = find && `${hits} of ${plural(log.lines.length, 'line')} have "${find}"`;
  const isEnd = log.begin > 0 || log.isCut;
  const rank = log.rank ? ` --rank ${log.rank}` : '';
  const earlier = log.isCut && `earlier lines: phasectl logs ${log.address}${rank}`;
  const shown = [found, isEnd ? `the end of ${file}` : file, earlier].filter(Boolean).join('; ');
  const text = log.trouble || (log.path && shown);
  if (says.textContent !== text) says.textContent = text;
}

function kib(bytes) {
  return bytes < 10240 ? bytes + ' bytes' : Math.round(bytes / 1024) + ' KiB';
}

export function hasEarlier() {
  return Boolean(log && log.begin > 0);
}

// Moves to the next or previous line that was found.
export function jump(place, by) {
  const hits = [...place.querySelectorAll('.hit')];
  if (!hits.length) return;
  log.at = (((log.at + by) % hits.length) + hits.length) % hits.length;
  hits.forEach((hit, i) => hit.classList.toggle('now', i === log.at));
  place.scrollTop = hits[log.at].offsetTop - place.offsetTop - place.clientHeight / 2;
}
