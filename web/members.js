// What the GPUs of a run do, and the members of a sweep.
import {canDraw, swatch} from './chart.js';
import {slotOf} from './curves.js';
import {h} from './dom.js';
import {duration, number, toNumber} from './format.js';
import {bar, state, table} from './parts.js';
import {link} from './route.js';
import {noteOf, stateOf} from './words.js';

export function gpuTable(gpus) {
  if (!gpus || !gpus.gpus.length) return null;
  const paces = gpus.paces
    .filter((pace) => pace.step_seconds)
    .map((pace) => `${pace.node}: ${number(pace.step_seconds)}s a step`)
    .join('; ');
  const memory = (gpu) =>
    typeof gpu.memory_mib === 'number'
      ? `${(gpu.memory_mib / 1024).toFixed(1)} of ` +
        `${(gpu.memory_total_mib / 1024).toFixed(0)} GiB`
      : '';
  const idle = (gpu) => (gpu.sampled > 0 ? Math.round((100 * gpu.idle) / gpu.sampled) + ' %' : '');
  return [
    paces && h('p', {}, paces),
    table(
      'GPUs',
      [
        ['node', 'name'],
        ['GPU', 'num'],
        ['busy', 'step'],
        ['memory', 'num'],
        ['power', 'num'],
        ['idle so far', 'num'],
        ['model', ''],
      ],
      gpus.gpus.map((gpu) => ({
        key: gpu.node + gpu.gpu,
        cells: [
          gpu.node,
          gpu.gpu,
          typeof gpu.util === 'number' &&
            h(
              'span',
              {class: 'progress busy'},
              h('progress', {
                max: 100,
                value: gpu.util,
                'aria-label': `GPU ${gpu.gpu} is ${gpu.util} % busy`,
              }),
              h('span', {class: 'num'}, gpu.util + ' %'),
            ),
          memory(gpu),
          typeof gpu.power_w === 'number' ? `${gpu.power_w} W` : '',
          idle(gpu),
          gpu.model || '',
        ],
      })),
      'fit',
    ),
  ];
}

// In words for people. Without `best`, members have no value, and nothing was chosen.
function standing({standing: word, value}) {
  if (word !== 'left') return word;
  return toNumber(value) === undefined ? '' : 'stayed';
}

const STANDINGS = ['best', 'left', '', 'cut', 'out'];

// Members that may still be chosen stand before those that cannot, the best values first. `soFar`
// has the values of members that run; `isBest` is added: the member would win now, or has won.
export function sortMembers({members: all, so_far: soFar}) {
  const values = soFar ? soFar.values : {};
  const shown = all.map((member) => ({...member, value: values[member.phase] ?? member.value}));
  const rank = (member) => STANDINGS.indexOf(member.standing || '');
  const lacks = ({value}) => toNumber(value) === undefined;
  const best = toNumber((shown.find((member) => member.standing === 'best') || {}).value);
  const far = (member) => {
    const value = toNumber(member.value);
    if (value === undefined) return 0;
    if (soFar) return soFar.goal === 'max' ? -value : value;
    return best === undefined || value === best ? 0 : Math.abs(value - best);
  };
  const sorted = shown.sort(
    (a, b) =>
      rank(a) - rank(b) ||
      lacks(a) - lacks(b) ||
      (far(a) === far(b) ? a.number - b.number : far(a) - far(b)),
  );
  return sorted.map((member, i) => ({
    ...member,
    isBest: soFar ? i === 0 && !lacks(member) : member.standing === 'best',
  }));
}

// "the lowest last(loss) so far"
export function rankedBy({so_far: soFar}) {
  return soFar && `the ${soFar.goal === 'max' ? 'highest' : 'lowest'} ${soFar.value} so far`;
}

export function members({phase}, route) {
  if (!Array.isArray(phase.members)) return null;
  const params = [...new Set(phase.members.flatMap((member) => Object.keys(member.case || {})))];
  const mark = (member) =>
    canDraw() && member.begun && slotOf(member) !== undefined
      ? swatch(slotOf(member))
      : null;
  const rows = sortMembers(phase).map((member) => ({
    key: member.phase,
    open: true,
    class: member.isBest ? 'best' : '',
    cells: [
      [mark(member), h('a', {href: link(route.workflow, member.phase)}, member.phase)],
      ...params.map((name) => String((member.case || {})[name] ?? '')),
      state(stateOf(member)),
      bar(member),
      number(member.value),
      standing(member) ? state(standing(member), standing(member) === 'best' ? '★' : '·') : '',
      member.attempts || '',
      member.gpu_seconds ? duration(member.gpu_seconds) : '',
      member.out_reason || (member.state === 'succeeded' && !member.reused ? '' : noteOf(member)),
    ],
  }));
  return table(
    'members',
    [
      ['member', 'name'],
      ...params.map((name) => [name, 'num']),
      ['state', ''],
      ['step', 'step'],
      ['value', 'num'],
      ['standing', ''],
      ['runs', 'num'],
      ['GPU time', 'num'],
      ['note', 'wide'],
    ],
    rows,
  );
}
