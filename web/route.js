// The state of the page, as it stands in the fragment of its address:
//   #/workflows?filter=trm   #/w/7   #/w/7/train?metric=loss&smooth=0.9&log=1
//   #/compare?with=7/train,9/train   #/nodes   #/costs?month=2026-11
// A link with the fragment shows the same to another person who may ask this daemon.

function parse(hash) {
  const [path, query] = hash.replace(/^#/, '').split(/\?(.*)/s);
  const parts = path.split('/').filter(Boolean).map(decode);
  const params = new URLSearchParams(query || '');
  if (parts[0] === 'w' && /^\d+$/.test(parts[1] || ''))
    return {
      view: parts[2] ? 'phase' : 'workflow',
      workflow: Number(parts[1]),
      phase: parts[2] || '',
      params,
    };
  const view = ['compare', 'costs', 'nodes'].includes(parts[0]) ? parts[0] : 'workflows';
  return {view, workflow: 0, phase: '', params};
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function current() {
  return parse(location.hash);
}

export function link(workflow, phase) {
  return '#/w/' + workflow + (phase ? '/' + encodeURIComponent(phase) : '');
}

// An address as a link. The link of a run leads to its phase, with the log of the run.
export function linkTo(address) {
  const [place, attempt] = address.split('#');
  const [workflow, phase] = place.split('/');
  return link(workflow, phase) + (attempt ? `?run=${attempt}` : '');
}

// The fragment with these params changed; empty ones are left out.
export function changed(changes) {
  const [path] = (location.hash || '#/workflows').split('?');
  const params = current().params;
  for (const [name, value] of Object.entries(changes)) {
    if (value === '' || value === null || value === undefined) params.delete(name);
    else params.set(name, value);
  }
  const query = params.toString().replaceAll('%2C', ',').replaceAll('%2F', '/');
  return path + (query ? '?' + query : '');
}

// The words of a param that is a list, such as with=7/train,9/train.
export function listOf(params, name) {
  return (params.get(name) || '').split(',').filter(Boolean);
}

// Goes on from here without a new entry in the history: for what a person types or slides.
export function replace(changes) {
  history.replaceState(null, '', changed(changes));
  window.dispatchEvent(new Event('hashchange'));
}

// Puts a word into a param that is a list, or takes it out.
export function toggle(name, word) {
  const words = listOf(current().params, name);
  const rest = words.filter((other) => other !== word);
  replace({[name]: (rest.length < words.length ? rest : [...words, word]).join(',')});
}
