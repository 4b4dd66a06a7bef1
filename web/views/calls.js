// A call of a tool: what it was to do, what came of it, and who decided.

import { html, nothing, counted, duration } from '../dom.js';
import { part } from '../api.js';
import { diff } from '../diff.js';
import { plain, returned } from '../terminal.js';
import { reveal, spell } from '../text.js';
import { image } from './blocks.js';
import { written } from '../written.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {import('../live.js').Call} Call */
/** @typedef {import('./log.js').Log} Log */

const firstLook = 600, firstLines = 8, diffLines = 24, mostMembers = 12, mostChildren = 20, oneLine = 100, mostCompared = 40_000;

/** @type {Record<string, [string, string, string]>} a sign, a word and a class */
const outcomes = {
  executed: ['✓', 'done', 'good'], answered: ['✓', 'answered', 'good'], failed: ['✗', 'failed', 'bad'], denied: ['⊘', 'denied', 'bad'],
  cancelled: ['✗', 'cancelled', 'warn'], timed_out: ['✗', 'timed out', 'bad'], panicked: ['✗', 'crashed', 'bad'], unknown: ['✗', 'not available', 'bad'],
  invalid: ['✗', 'wrong arguments', 'bad'], interrupted: ['✗', 'interrupted', 'warn'],
};

/**
 * @param {Log} log @param {Call} call @param {string} turn '' is not known @param {readonly Schemas['Block'][]} [blocks] of the result, as they are stored
 */
export function drawCall(log, call, turn, blocks) {
  const key = `${turn}/${call.id}`;
  const code = exitCode(call, blocks);
  return html`<div class="call" role="group" aria-label="call of ${call.tool}">
    <div class="head">${code && (call.outcome ?? 'executed') === 'executed' ? html`<span class="bad">✗ exit code ${code}</span>` : state(call)} <b class="mono text">${spell(call.tool)}</b>
      ${call.ms === undefined ? nothing : html`<span class="quiet">${duration(call.ms)}</span>`}
      ${turn ? html`<a href="#/call/${part(log.talk.id)}/${part(turn)}/${part(call.id)}">who decided</a>` : nothing}</div>
    ${asked(log, call)}
    ${args(log, key, call)}
    ${call.result === undefined && call.progress ? html`<pre class="text">${spell(plain(call.progress))}</pre>` : nothing}
    ${call.children.slice(0, mostChildren).map((child) => drawChild(log, child))}
    ${blocks ? blocks.map((b, i) => b.kind === 'image' ? image(log, `${key}/${i}`, b) : result(log, `${key}/${i}`, call, b, textOf(b)))
      : call.result === undefined ? nothing : result(log, key, call, call, call.result)}
  </div>`;
}

/** @param {Call} call */
function state(call) {
  if (call.outcome === undefined) {
    if (call.asked && !call.answer) return html`<span class="warn">? waits for approval</span>`;
    return call.result === undefined ? html`<span class="quiet live">runs</span>` : html`<span class=${call.failed ? 'bad' : 'good'}>${call.failed ? '✗ failed' : '✓ done'}</span>`;
  }
  const [sign, word, kind] = outcomes[call.outcome] ?? ['·', call.outcome, 'quiet'];
  return html`<span class=${kind}>${sign} ${word}${call.by && call.outcome !== 'cancelled' ? html` by <b><bdi>${spell(call.by)}</bdi></b>` : nothing}</span>`;
}

/** @param {Log} log @param {Call} call */
function asked(log, call) {
  if (!call.asked) return nothing;
  return html`<p class="quiet">asked about: <bdi>${spell(call.asked)}</bdi>${call.answer ? html` → <bdi>${spell(call.answer)}</bdi>`
    : log.waited.some((x) => x.ask?.call_id === call.id) ? ' · answer it below' : html` · <a href="#/people">answer it</a>`}</p>`;
}

/** @param {Log} log @param {string} key @param {Call} call */
function args(log, key, call) {
  const a = call.args;
  if (!a || typeof a !== 'object' || Array.isArray(a)) return a === undefined || a === null ? nothing : long(log, `${key}/args`, json(a), log.wholeEvent(key, call.full));
  const members = /** @type {Record<string, unknown>} */ (a), full = log.wholeEvent(key, call.full);
  if (typeof members.command === 'string') {
    return [long(log, `${key}/args`, `$ ${members.command}`, full), rest(log, key, members, ['command'])];
  }
  if (typeof members.old_string === 'string' && typeof members.new_string === 'string') {
    return [html`<p class="mono text">${spell(String(members.file_path ?? ''))}</p>`, drawDiff(log, `${key}/args`, members.old_string, members.new_string),
      rest(log, key, members, ['old_string', 'new_string', 'file_path'])];
  }
  if (typeof members.file_path === 'string' && typeof members.content === 'string') {
    return [html`<p class="mono text">${spell(members.file_path)}</p>`, drawDiff(log, `${key}/args`, '', members.content), rest(log, key, members, ['file_path', 'content'])];
  }
  return rest(log, key, members, []);
}

/** The arguments by name. @param {Log} log @param {string} key @param {Record<string, unknown>} members @param {string[]} without */
function rest(log, key, members, without) {
  const names = Object.keys(members).filter((n) => !without.includes(n));
  if (names.length === 0) return nothing;
  if (names.length > mostMembers) return long(log, `${key}/rest`, json(members));
  return html`<dl class="members">${names.map((n) => html`<dt class="mono text">${spell(n)}</dt><dd>${member(log, `${key}/${n}`, members[n])}</dd>`)}</dl>`;
}

/** @param {Log} log @param {string} key @param {unknown} value */
function member(log, key, value) {
  const text = typeof value === 'string' ? value : json(value);
  return text.length <= oneLine && !text.includes('\n') ? html`<span class="mono text">${reveal(text)}</span>` : long(log, key, text);
}

/**
 * How a file is changed, as far as that is compared. What is written to a file is shown as it is, and not as a terminal would.
 * @param {string} before @param {string} after
 */
function changes(before, after) {
  const lines = diff(spell(before.slice(0, mostCompared)), spell(after.slice(0, mostCompared)));
  const left = Math.max(0, before.length - mostCompared) + Math.max(0, after.length - mostCompared);
  return left ? [...lines, { sign: /** @type {const} */ ('…'), text: `${counted(left, 'character')} more` }] : lines;
}

/** @param {Log} log @param {string} key @param {string} before @param {string} after */
function drawDiff(log, key, before, after) {
  const all = log.cached(key, [before, after], () => changes(before, after));
  const n = log.shown.get(key) ?? diffLines;
  return html`<div class="diff mono" role="group" aria-label="changed lines">${all.slice(0, n).map((l) => html`<div class=${
    { '-': 'out', '+': 'in', ' ': '', '…': 'quiet' }[l.sign]}>${l.sign} ${l.text}</div>`)}</div>
    ${all.length > n ? log.more(key, n, 200, `Show more of ${counted(all.length, 'line')}`) : nothing}`;
}

/** @param {Schemas['Block']} b */
const textOf = (b) => b.text ?? (b.json === undefined ? `[${[b.kind, b.mime, b.name].filter(Boolean).join(' ')}]` : json(b.json));

/** The JSON of values, which are written once. @type {WeakMap<object, string>} */
const texts = new WeakMap();

/** @param {unknown} value */
function json(value) {
  if (typeof value !== 'object' || !value) return written(value);
  let known = texts.get(value);
  if (known === undefined) {
    const short = written(value, 0);
    texts.set(value, known = short.length <= oneLine ? short : written(value, 1));
  }
  return known;
}

/** @param {Log} log @param {string} key @param {Call} call @param {object} of what has the text @param {string} text */
function result(log, key, call, of, text) {
  const full = log.wholeEvent(key, call.full), ran = output(of, text);
  if (ran?.stdout === undefined) return long(log, `${key}/result`, text, full, call.failed ? 'bad' : '');
  return [
    ran.stdout ? long(log, `${key}/result`, ran.stdout, full) : nothing,
    ran.stderr ? [html`<p class="quiet">on stderr:</p>`, long(log, `${key}/stderr`, ran.stderr)] : nothing,
    html`<p class=${ran.exit_code ? 'bad' : 'quiet'}>exit code ${String(ran.exit_code)}${ran.stdout || ran.stderr ? '' : ', no output'}</p>`,
  ];
}

/** What commands have returned, which is read once. @type {WeakMap<object, import('../terminal.js').Returned | undefined>} */
const outputs = new WeakMap();

/** @param {object} of @param {string} text */
function output(of, text) {
  if (!outputs.has(of)) outputs.set(of, returned(text));
  return outputs.get(of);
}

/** The exit code of a command, where it is not 0. @param {Call} call @param {readonly Schemas['Block'][] | undefined} blocks */
function exitCode(call, blocks) {
  const all = blocks ? blocks.map((b) => output(b, textOf(b))) : [call.result ? output(call, call.result) : undefined];
  return all.find((ran) => ran?.exit_code)?.exit_code ?? 0;
}

/**
 * A text of which at first only the beginning is shown.
 * @param {Log} log @param {string} key @param {string} text @param {unknown} [whole] a button for the rest that is not here @param {string} [kind]
 */
export function long(log, key, text, whole = nothing, kind = '') {
  const lines = firstLines - 1, n = log.shown.get(key) ?? Math.min(firstLook, nth(text, lines));
  return html`<pre class="text ${kind}">${few(text.slice(0, n))}</pre>${
    text.length > n ? log.more(key, n, 20_000, `Show more (${counted(text.length - n, 'character')})`) : whole}`;
}

/** @param {string} text */
const few = (text) => text.length <= firstLook ? reveal(text, 20) : spell(text);

/** The place after so many lines. @param {string} text @param {number} lines */
function nth(text, lines) {
  let at = -1;
  for (let i = 0; i <= lines; i++) {
    at = text.indexOf('\n', at + 1);
    if (at < 0) return text.length;
  }
  return at;
}

/** The turn of an agent that a call runs. @param {Log} log @param {import('../live.js').Run} run @returns {unknown} */
function drawChild(log, run) {
  const key = `child/${run.id}`, open = log.shown.has(key);
  return html`<div class="child"><button class="fold" aria-expanded=${open} @click=${() => log.fold(key)}>${open ? '▾' : '▸'} <b><bdi>${spell(run.agent)}</bdi></b>
      <span class="text">${spell(run.text.slice(0, 120))}</span> <span class="quiet">${run.ended ? run.stop : html`<span class="live">runs</span>`}, ${counted(run.calls.size, 'call')}</span></button>
    ${open ? html`<div class="inner">
      ${log.parts(run)}
      ${run.said && !run.steps.some((s) => s.parts.some((p) => p.kind === 'text')) ? html`<div class="text">${run.said.slice(0, 20_000)}</div>` : nothing}</div>` : nothing}</div>`;
}
