// The arguments of a call, for somebody who decides about it: each member as text, line by line, with what cannot be seen made visible. A
// long one is cut in its middle until all of it is asked for.

import { html, nothing, counted, size } from './dom.js';
import { reveal, unseenIn } from './text.js';
import { tooDeep, written } from './written.js';

// How much is shown before somebody asks for all of it, and how much of one member at least.
const mostChars = 6000, mostLines = 40, leastChars = 800, leastLines = 8;
// More members, lines or marks than these are shown as text in large pieces, so that a call makes few elements whatever is in it.
const mostMembers = 12, mostRows = 150, mostMarks = 30, piece = 16_000;

/**
 * @param {import('./api.js').Schemas['Ask']} ask @param {boolean} whole
 * @returns {{ whole: boolean, body: unknown, left: number, chars: number, exact: boolean }} what to draw, how many characters are left out of
 *   how many, and whether the arguments can be written again without a change
 */
export function shown(ask, whole) {
  const exact = !ask.rounded && !tooDeep(ask.args);
  let members = Object.entries(ask.args).map(([name, value]) => ({ name, text: typeof value === 'string' ? value : written(value) }));
  // The browser has rounded a number, or there is too much: the daemon's own text has everything, as it is.
  if (!exact || members.length > mostMembers) members = [{ name: '', text: ask.shown }];
  const room = { chars: mostChars, lines: mostLines, left: 0 };
  const rows = members.map(({ name, text }) => {
    const hidden = unseenIn(text);
    return html`
      <dt>${reveal(name || 'all arguments', mostMarks)}${hidden
        ? html`<span class="warn">contains ${counted(hidden, 'character')} that cannot be seen; the marks show where</span>` : nothing}</dt>
      <dd>${whole ? all(text) : cut(text, room)}</dd>`;
  });
  const body = members.length ? html`<dl class="args">${rows}</dl>` : html`<p>Without arguments.</p>`;
  return { whole, body, left: room.left, chars: members.reduce((n, m) => n + m.text.length, 0), exact };
}

/** @param {string} text */
function all(text) {
  const list = text.split('\n');
  if (list.length <= mostRows && text.length <= 20 * mostChars) return lines(list, 1);
  const pieces = [];
  for (let from = 0; from < text.length;) {
    let to = from + piece;
    if (to < text.length) to = text.lastIndexOf('\n', to) > from ? text.lastIndexOf('\n', to) + 1 : whole(text, to);
    pieces.push(html`<div class="piece">${reveal(text.slice(from, to), 0)}</div>`);
    from = to;
  }
  return html`<pre class="exact" tabindex="0" aria-label="the whole text">${pieces}</pre>`;
}

/** @param {string} text @param {{ chars: number, lines: number, left: number }} room */
function cut(text, room) {
  const chars = Math.max(room.chars, leastChars), rows = Math.max(room.lines, leastLines);
  const begin = text.slice(0, whole(text, Math.floor(chars * 0.6))).split('\n').slice(0, Math.ceil(rows * 0.6)).join('\n');
  const rest = text.slice(begin.length);
  const end = rest.slice(whole(rest, Math.max(0, rest.length - Math.floor(chars * 0.4)))).split('\n').slice(-Math.floor(rows * 0.4)).join('\n');
  const left = text.length - begin.length - end.length;
  const fits = left <= 0 || (text.length <= chars && text.split('\n').length <= rows);
  if (fits) {
    const list = text.split('\n');
    room.chars -= text.length;
    room.lines -= list.length;
    return lines(list, 1);
  }
  room.chars = room.lines = 0;
  room.left += left;
  const between = text.slice(begin.length, text.length - end.length).split('\n').length - 1;
  const first = begin.split('\n');
  return html`${lines(first, 1)}
    <p class="left">… ${counted(left, 'character')}${between ? ` on ${counted(between + 1, 'line')}` : ''} not shown …</p>
    ${lines(end.split('\n'), first.length + between)}`;
}

/** Where a text can be cut near a place without cutting a character. @param {string} text @param {number} at */
const whole = (text, at) => (/[\uDC00-\uDFFF]/.test(text[at] ?? '') ? at + 1 : at);

/** @param {string[]} list @param {number} first the number of the first one */
function lines(list, first) {
  const marks = unseenIn(list.join('\n')) > mostMarks ? 0 : mostMarks;
  if (list.length === 1 && first === 1) return html`<div class="exact line">${reveal(list[0] ?? '', marks)}</div>`;
  return html`<ol class="exact lines" start=${first}>${list.map((line) => html`<li>${reveal(line, marks)}</li>`)}</ol>`;
}

/** How much of it is not shown, for people. @param {ReturnType<typeof shown>} s */
export const missing = (s) => `${size(s.left)} of ${size(s.chars)}`;
