// Durations, numbers, money and times as text, in the forms that phasectl uses.

export function two(n) {
  return String(n).padStart(2, '0');
}

export function duration(seconds) {
  if (!(seconds >= 0)) return '';
  if (seconds > 0 && seconds < 9.95) return seconds.toFixed(1) + 's';
  const whole = Math.round(seconds);
  const days = Math.floor(whole / 86400);
  const hours = Math.floor(whole / 3600) % 24;
  const minutes = Math.floor(whole / 60) % 60;
  if (days) return `${days}d${two(hours)}h`;
  if (hours) return `${hours}h${two(minutes)}m`;
  return minutes ? `${minutes}m${two(whole % 60)}s` : `${whole}s`;
}

const NOT_FINITE = {inf: Infinity, '-inf': -Infinity};

// A value as a number. Undefined: there is no value, or the value is NaN.
export function toNumber(value) {
  return typeof value === 'number' ? value : NOT_FINITE[value];
}

// A value may be the text nan, inf or -inf. Four digits of a number are shown, as by phasectl.
export function number(value) {
  if (typeof value !== 'number') return value === null || value === undefined ? '' : String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return String(value);
  if (size >= 1000 && size < 1e9) return value.toFixed(0);
  const short = (text) => text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
  const [digits, exponent] = value.toExponential(3).split('e');
  if (exponent >= -4 && exponent < 9) return short(value.toPrecision(4));
  return `${short(digits)}e${exponent[0]}${two(exponent.slice(1))}`;
}

export function cost(dollars) {
  if (typeof dollars !== 'number') return '';
  return dollars > 0 && dollars < 0.01 ? '<$0.01' : '$' + dollars.toFixed(2);
}

export function time(seconds) {
  if (typeof seconds !== 'number') return '';
  const date = new Date(seconds * 1000);
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  if (date.toDateString() === new Date().toDateString()) return clock;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock}`;
}

// "$15 and 5 hours" of a budget.
export function budget(limits) {
  const words = {
    usd: (n) => '$' + n,
    gpu_hours: (n) => n + ' GPU hours',
    hours: (n) => n + ' hours',
  };
  return Object.entries(limits || {})
    .filter(([key, value]) => words[key] && value !== null)
    .map(([key, value]) => words[key](value))
    .join(' and ');
}

export function plural(count, word) {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

export function now() {
  return Date.now() / 1000;
}
