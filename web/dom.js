// What every view draws with: the template function of lit-html, and how times and numbers are written.

export { html, svg, nothing, render } from './lib/lit-html.js';
export { repeat } from './lib/directives/repeat.js';
export { live } from './lib/directives/live.js';
export { keyed } from './lib/directives/keyed.js';
export { ref } from './lib/directives/ref.js';

/** A duration in milliseconds, for people. @param {number} ms */
export function duration(ms) {
  if (ms < 1) return '<1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** A cost in billionths of a dollar, for people; '' is none. @param {number | undefined} cost */
export function money(cost) {
  if (!cost) return '';
  const dollars = cost / 1e9;
  return `$${dollars < 0.01 ? dollars.toPrecision(2) : dollars.toFixed(2)}`;
}

/** A number with its digits in groups. @param {number | undefined} n */
export const count = (n) => (n ?? 0).toLocaleString('en');

/** "1 message", "2 messages". @param {number} n @param {string} noun */
export const counted = (n, noun) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;

const clockTime = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** The time of day, with the date if it was another day. @param {string | undefined} time */
export function when(time) {
  if (!time) return '';
  const at = new Date(time);
  const clock = clockTime.format(at);
  return at.toDateString() === new Date().toDateString() ? clock : `${at.toLocaleDateString()} ${clock}`;
}

/** A size in bytes, for people. @param {number} n */
export function size(n) {
  if (n < 1000) return `${n} B`;
  if (n < 1e6) return `${(n / 1e3).toFixed(1)} kB`;
  return `${(n / 1e6).toFixed(1)} MB`;
}
