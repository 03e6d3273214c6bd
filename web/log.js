// The log of one rank of a run, as it grows: follows its end, reads back on demand, and finds text.
import {get, pathOf} from './api.js';
import {h} from './dom.js';
import {plural} from './format.js';

const CHUNK = 65536;
const CHUNKS = 16; /* that are read back at once */
const SKIP = 1048576; /* what grew by more than this is not read on, but anew from its end */
const LINES = 5000; /* older lines are dropped, when there are so many more: */
const LINES_MORE = 1000;
const NOTHING = {
  begin: 0,
  next: -1,
  size: 0,
  path: '',
  isPartial: false,
  at: 0,
  cuts: 0,
  trouble: '',
};
const ANSI = /\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

// The log that is shown. Its `lines` stand in the file from `begin` to `next`; the last is partial
// as long as no newline follows.
let log = null;

// What a terminal would show of the line: a progress bar overwrites itself.
function plain(line) {
  return line.replace(/\r+$/, '').split('\r').at(-1).replace(ANSI, '');
}

// Without an offset: the end of the file.
function ask(offset, max, signal) {
  const from = offset === null ? '' : `&offset=${offset}`;
  return get(`${pathOf(log.address)}/log?rank=${log.rank}${from}&max=${max}`, signal);
}

function append(text) {
  const parts = text.split('\n');
  if (log.isPartial) parts[0] = log.lines.pop() + parts[0];
  log.isPartial = parts.at(-1) !== '';
  if (!log.isPartial) parts.pop();
  log.lines.push(...parts);
  if (log.lines.length > LINES + LINES_MORE) {
    log.lines.splice(0, log.lines.length - LINES);
    log.cuts++;
  }
}

// Reads what is new; at first, the end of the file. Returns the log, or null if there is no file.
export async function read(address, rank, isFollowed, signal) {
  if (!log || log.address !== address || log.rank !== rank)
    log = {address, rank, ...NOTHING, lines: [], turns: 0};
  log.isFollowed = isFollowed;
  const mine = log;
  if (!isFollowed && mine.next >= 0) return mine;
  try {
    for (let i = 0; i < 8; i++) {
      const reply = await ask(mine.next < 0 ? null : mine.next, CHUNK, signal);
      if (mine !== log) return log;
      // A file that became shorter is another file: somebody has rotated the log.
      const grew = reply.size - mine.next;
      if (mine.next >= 0 && (grew < 0 || grew > SKIP)) {
        Object.assign(mine, NOTHING, {lines: [], turns: mine.turns + 1});
        continue;
      }
      Object.assign(mine, {
        size: reply.size,
        path: reply.path,
        next: reply.next,
        begin: mine.next < 0 ? reply.offset : mine.begin,
        trouble: '',
      });
      append(reply.text);
      if (reply.next >= reply.size || !reply.text) break;
    }
  } catch (error) {
    if (error.code !== 'not_found') throw error;
    mine.trouble = error.message;
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
    mine.lines[0] = parts.pop() + (mine.lines[0] || '');
    mine.lines.unshift(...parts);
    mine.begin = reply.offset;
    if (parts.length) return;
  }
}

// The first line may be the rest of a line.
function shownLines() {
  const [first, ...rest] = log.lines;
  return log.begin > 0 && !log.cuts && log.lines.length ? ['\u2026' + first, ...rest] : log.lines;
}

function lineOf(text, find) {
  const shown = plain(text);
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

// Draws the log into `place`, and what was found into `says`. Adds only lines that are new, so that
// a selection stays, and follows the end unless a person has scrolled away from it.
export function draw(place, says, find) {
  if (!log) return;
  const needle = find.toLowerCase();
  const of = [log.address, log.rank, log.turns, log.begin, log.cuts, needle].join('/');
  const isSame = place.getAttribute('data-of') === of;
  const isAtEnd = place.scrollTop + place.clientHeight > place.scrollHeight - 40;
  if (!isSame || log.drawn !== log.next) {
    const kept = isSame ? Math.max(log.shown - 1, 0) : 0; /* the last line may have grown */
    while (place.childNodes.length > kept) place.lastChild.remove();
    place.append(...shownLines().slice(kept).map((line) => lineOf(line, needle)));
    place.setAttribute('data-of', of);
    log.shown = log.lines.length;
    log.drawn = log.next;
    log.at = isSame ? log.at : 0;
    if (needle && !isSame) jump(place, 0);
    else if (!needle && log.isFollowed && (isAtEnd || !isSame))
      place.scrollTop = place.scrollHeight;
  }
  tell(place, says, find);
}

// Which file it is, and how much was found.
function tell(place, says, find) {
  const hits = place.querySelectorAll('.hit').length;
  const file = `${log.path} (${kib(log.size)})`;
  const found = find && `${hits} of ${plural(log.lines.length, 'line')} have "${find}"`;
  const shown = log.begin > 0 || log.cuts ? `the end of ${file}` : file;
  const text = log.trouble || (log.path && [found, shown].filter(Boolean).join('; '));
  if (says.textContent !== text) says.textContent = text;
}

function kib(bytes) {
  return bytes < 10240 ? bytes + ' bytes' : Math.round(bytes / 1024) + ' KiB';
}

export function hasEarlier() {
  return Boolean(log && log.begin > 0 && !log.cuts);
}

// Moves to the next or previous line that was found.
export function jump(place, by) {
  const hits = [...place.querySelectorAll('.hit')];
  if (!hits.length) return;
  log.at = (((log.at + by) % hits.length) + hits.length) % hits.length;
  hits.forEach((hit, i) => hit.classList.toggle('now', i === log.at));
  place.scrollTop = hits[log.at].offsetTop - place.offsetTop - place.clientHeight / 2;
}
