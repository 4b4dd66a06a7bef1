// The parts of a message: texts, reasoning, images and files.

import { html, nothing, count, counted, size } from '../dom.js';
import { firstBytes, sizeOf } from '../picture.js';
import { markdown, spell } from '../text.js';
import { written } from '../written.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {Schemas['Block']} Block */
/** @typedef {import('./log.js').Log} Log */

// A longer text is shown as it is, and by and by. So is a text with more elements than a message may have.
const longestText = 20_000, mostElements = 400;

/**
 * A block as Markdown: its sections, and those of them that are parsed. Parsing takes long, so it is done by and by; a section of null, or
 * one that is not parsed yet, is shown as text.
 * @typedef {{ sections: string[], parsed: (Node | null)[], elements: number }} Formatted
 */

/** @type {WeakMap<Block, Formatted>} */
const formatted = new WeakMap();

/** How many nodes a block takes, about. @param {Block} b */
export function weight(b) {
  if (b.kind !== 'tool_call') return 6 + 3 * elements(b);
  const args = b.json && typeof b.json === 'object' ? Object.keys(b.json) : [];
  return 60 + 12 * Math.min(args.length, 12) + (args.includes('new_string') || args.includes('content') ? 120 : 0);
}

/** How many elements its Markdown has. @param {Block} b */
const elements = (b) => formatted.get(b)?.elements ?? 0;

/** Whether there is Markdown in the block that is not parsed yet. @param {Block} b */
export function unparsed(b) {
  if (b.kind !== 'text' || !b.text || b.text.length > longestText) return false;
  const f = formatted.get(b);
  return !f || f.parsed.length < f.sections.length;
}

/** Parses the next section of a block of a message. @param {Block} b @param {readonly Block[]} of all of the message @returns {number} its length */
export function parse(b, of) {
  let f = formatted.get(b);
  if (!f) formatted.set(b, f = { sections: split(b.text ?? ''), parsed: [], elements: 0 });
  const section = f.sections[f.parsed.length] ?? '', left = of.reduce((n, other) => n - elements(other), mostElements);
  const node = section.length <= longestSection && left > 0 ? markdown(section) : null, n = node instanceof Element ? node.querySelectorAll('*').length : 0;
  f.parsed.push(n > left ? null : node);
  if (n <= left) f.elements += n;
  return section.length;
}

// A section ends where a line ends that nothing goes on after, once it is that long.
const section = 2000, longestSection = 5000;

/** @param {string} text */
function split(text) {
  const out = [];
  let now = '', fence = '';
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (now.length > section && !fence && !/^[\s|>]/.test(line)) { out.push(now); now = ''; }
    if (mark) fence = !fence ? mark : mark.startsWith(fence) ? '' : fence;
    now += (now && '\n') + line;
  }
  out.push(now);
  return out;
}

/** @param {Log} log @param {string} key @param {Block} b */
function said(log, key, b) {
  const f = formatted.get(b);
  if (!f) return text(log, key, b.text ?? '');
  return f.sections.map((s, i) => f.parsed[i] ?? html`<div class="text">${s}</div>`);
}

/** @param {Log} log @param {string} key @param {Block} b @param {boolean} byModel it is said by a model: its Markdown is shown */
export function drawBlock(log, key, b, byModel) {
  switch (b.kind) {
    case 'text': return b.name ? file(log, key, b) : byModel ? said(log, key, b) : text(log, key, b.text ?? '');
    case 'reasoning': return reasoning(log, key, b.text ? [b.text] : []);
    case 'image': return image(log, key, b);
    case 'json': return html`<pre class="text">${spell(written(b.json).slice(0, longestText))}</pre>`;
    default: return html`<p class="quiet">[${b.kind} <bdi>${spell(b.name ?? b.uri ?? b.mime ?? '')}</bdi>]</p>`;
  }
}

/** @param {Log} log @param {string} key @param {string} whole */
export function text(log, key, whole) {
  const n = log.shown.get(key) ?? longestText;
  if (whole.length <= n) return html`<div class="text">${whole}</div>`;
  return html`${pieces(whole, n).map((p) => html`<div class="text">${p}</div>`)}
    ${log.more(key, n, longestText, `Show more (${counted(whole.length - n, 'character')})`)}`;
}

/** @param {string} whole @param {number} n */
function pieces(whole, n) {
  const out = [];
  for (let i = 0; i < n; i += longestText) out.push(whole.slice(i, Math.min(i + longestText, n)));
  return out;
}

/** @param {Log} log @param {string} key @param {Block} b */
const file = (log, key, b) => html`<p class="quiet">file <b><bdi>${spell(b.name ?? '')}</bdi></b>, ${size((b.text ?? '').length)}</p>
  ${log.shown.has(key) ? text(log, `${key}/text`, b.text ?? '') : nothing}
  <button aria-expanded=${log.shown.has(key)} @click=${() => log.fold(key)}>${log.shown.has(key) ? 'Fold' : 'Show'}</button>`;

/** @param {Log} log @param {string} key @param {string[]} parts */
export function reasoning(log, key, parts) {
  const open = log.shown.has(key), n = parts.reduce((sum, p) => sum + p.length, 0);
  if (n === 0) return nothing;
  return html`<div class="reasoning"><button class="fold" aria-expanded=${open} @click=${() => log.fold(key)}>${open ? '▾' : '▸'} Reasoning (${counted(n, 'character')})</button>
    ${open ? html`<div class="quiet">${parts.slice(-10).map((p) => html`<div class="text">${p.slice(-longestText)}</div>`)}</div>` : nothing}</div>`;
}

// Images that are shown at once: of so many characters of base64, and so many pixels when they are decoded.
const images = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'], atOnce = 3_000_000, mostPixels = 16_000_000;

/** What an image's data is as an address; such addresses reach nothing. @type {WeakMap<Block, string>} */
const addresses = new WeakMap();
/** How large images are; undefined if that is not known. @type {WeakMap<Block, import('../picture.js').Size | undefined>} */
const sizes = new WeakMap();

/** @param {string} data */
const base64 = (data) => data.replace(/[^A-Za-z0-9+/=]/g, '');

/** @param {Log} log @param {string} key @param {Block} b */
export function image(log, key, b) {
  const data = b.data ?? '';
  if (!data || !images.includes(b.mime ?? '')) return html`<p class="quiet">[image <bdi>${spell(b.name ?? b.mime ?? '')}</bdi> that is not shown]</p>`;
  if (!sizes.has(b)) sizes.set(b, sizeOf(base64(data.slice(0, firstBytes))));
  const s = sizes.get(b), large = data.length > atOnce || !s || s.width * s.height > mostPixels;
  if (large && !log.shown.has(key)) return html`<p><button @click=${() => log.fold(key)}>Show an image of ${size(Math.floor(data.length * 3 / 4))}, ${
    s ? `${count(s.width)} × ${count(s.height)} pixels` : 'of unknown size in pixels'}</button></p>`;
  let address = addresses.get(b);
  if (!address) addresses.set(b, address = `data:${b.mime};base64,${base64(data)}`);
  return html`<img class="picture" src=${address} alt=${b.name || 'an image of the conversation'} decoding="async">`;
}
