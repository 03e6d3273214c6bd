// Asks the daemon. The token of the address comes out of the fragment at the first load, and stays
// in this tab. A tab that a link opens asks the other tabs of this page for it. The page of the
// next daemon has another name: the tabs of the two pages do not hear each other.

const TOKEN = 'phased-token';
const KEPT_MAX = 200; /* answers about runs that have ended */
const TABS_MS = 400; /* a new tab waits this long before it says that it has no token */
const tabs = new BroadcastChannel('phased');
let isGood = false; /* the daemon has taken the token */
let isOld = false; /* the daemon had taken the token, and no longer does: it has begun anew */

tabs.addEventListener('message', ({data}) => {
  if (data === 'token?' && isGood) tabs.postMessage({token: sessionStorage.getItem(TOKEN)});
  if (data.token && !hasToken()) {
    sessionStorage.setItem(TOKEN, data.token);
    location.reload();
  }
});

function judgeToken(isTaken) {
  isOld = !isTaken && (isOld || isGood);
  isGood = isTaken;
}

// Returns whether the address had a token.
export function takeToken() {
  const found = /^#([0-9a-f]{64})(.*)$/.exec(location.hash);
  if (!found) return false;
  sessionStorage.setItem(TOKEN, found[1]);
  history.replaceState(null, '', '#' + (found[2] || '/workflows'));
  return true;
}

export function hasToken() {
  return sessionStorage.getItem(TOKEN) !== null;
}

// Gives the other tabs time to answer. If one of them does, the listener above loads this tab anew,
// also if the answer comes late.
export function askOtherTabs() {
  tabs.postMessage('token?');
  return new Promise((resolve) => setTimeout(resolve, TABS_MS));
}

// `code` is a code of doc/api.md, or: away (no answer), forbidden (the token is not the daemon's).
class ApiError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function ask(path, options, seconds) {
  const limit = AbortSignal.timeout(seconds * 1000);
  const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
  const headers = {Authorization: 'Bearer ' + sessionStorage.getItem(TOKEN)};
  let reply;
  let body;
  try {
    reply = await fetch(path, {...options, signal, headers: {...headers, ...options.headers}});
    body = await (reply.ok ? reply.json() : reply.json().catch(() => null));
  } catch (error) {
    if (options.signal && options.signal.aborted) throw error;
    throw new ApiError('away', 'The daemon does not answer.');
  }
  judgeToken(reply.status !== 403);
  if (reply.ok) return body;
  if (reply.status === 403)
    throw new ApiError(
      'forbidden',
      isOld
        ? 'The daemon was started anew, and each daemon has a new token.'
        : 'The daemon does not know the token of this tab.',
    );
  const error = (body && body.error) || {};
  throw new ApiError(error.code || 'internal', error.message || `status ${reply.status}`);
}

export function get(path, signal, seconds = 20) {
  return ask('/v1' + path, {signal}, seconds);
}

export function post(path, body) {
  return ask(
    '/v1' + path,
    {method: 'POST', body: JSON.stringify(body), headers: {'Content-Type': 'application/json'}},
    30,
  );
}

// Keeps at most `most` values in a map. The oldest value goes first.
export function keep(map, key, value, most) {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value);
}

// Answers about a run that has ended do not change: they are asked for once. Series are not kept
// here, because curves.js keeps what it made of them.
const kept = new Map();

export async function getOnce(run, path, signal) {
  const key = pathOf(run.address) + path;
  if (kept.has(key)) return kept.get(key);
  const reply = await get(key, signal);
  if (run.state === 'ended' && !path.startsWith('/metrics')) keep(kept, key, reply, KEPT_MAX);
  return reply;
}

// "7", "7/train" and "7/train#2" as the segments of a path.
export function pathOf(address) {
  const found = /^(\d+)(?:\/([^#]+))?(?:#(\d+))?$/.exec(address);
  if (!found) throw new ApiError('bad_request', `${address} is not an address`);
  const [, workflow, phase, attempt] = found;
  return (
    '/workflows/' +
    workflow +
    (phase ? '/phases/' + encodeURIComponent(phase) : '') +
    (attempt ? '/runs/' + attempt : '')
  );
}
