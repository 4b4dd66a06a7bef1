// One turn as a waterfall: where its time went, in the model, in tools, in hooks, and in waiting for people.

import { html, svg, nothing, count, counted, duration, money, when } from '../dom.js';
import { Failure, get, part } from '../api.js';
import { every } from '../list.js';
import { denies, runOf, said, turnPath } from '../runs.js';
import { at, own, waited, waterfall } from '../waterfall.js';
import { gone } from './call.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {import('../waterfall.js').Row} Row */

// The rows on one page, the runs of hooks below a row, and how many rows are unfolded at a time.
const lookAgain = 1500, rowsShown = 100, runsShown = 100, mostUnfolded = 6;
// Bars of hooks that are nearer than this are drawn as one. In percent.
const near = 0.3;
// The narrowest bar, in percent.
const narrowest = 0.4;
// Of why the model was asked again, so many are named.
const reasonsShown = 3;
/** What time is spent on, and whether it is named if there was none. @type {[keyof import('../waterfall.js').Sums, string, boolean][]} */
const parts = [['model', 'Model', true], ['tool', 'Tools', true], ['hook', 'Hooks', true], ['wait', 'Waiting for people', true], ['pause', 'Pauses before another attempt', false], ['rest', 'The runtime between them', true]];

export default class Turn {
  title = 'Turn';
  /** @type {Schemas['TurnEvents'] | undefined} */
  answer;
  /** @type {import('../waterfall.js').Waterfall | undefined} */
  fall;
  /** The keys of the rows whose hooks are shown. @type {Set<string>} */
  unfolded = new Set();
  /** The first row that is shown. */
  first = 0;
  withoutWaits = false;
  /** Nothing is asked for any more. */
  over = false;
  missing = false;
  /** The time at the left end of the bars, and that from there to the right end. In milliseconds. */
  left = 0;
  width = 1;

  /** @param {import('../app.js').Page} page @param {string} conversation @param {string} turn */
  constructor(page, conversation = '', turn = '') {
    this.page = page;
    this.conversation = conversation;
    this.turn = turn;
  }

  /** @param {AbortSignal} signal */
  async open(signal) {
    const ended = new AbortController();
    await every(lookAgain, AbortSignal.any([signal, ended.signal]), async () => {
      /** @type {Schemas['TurnEvents']} */
      const answer = await get(`${turnPath(this.conversation, this.turn)}?hooks=internal`, signal).catch((err) => {
        if (!(err instanceof Failure && err.status === 404)) throw err;
        this.missing = true;
        ended.abort();
      });
      if (!answer) return;
      this.answer = answer;
      this.fall = waterfall(answer.events, answer.turn.ended || !answer.events[0] ? 0 : Date.now() - at(answer.events[0].time));
      this.page.changed();
      if (answer.turn.ended) ended.abort();
    }, this.page.failed).finally(() => { this.over = true; this.page.changed(); });
  }

  draw() {
    if (!this.answer || !this.fall) return this.missing ? gone('turn') : this.over ? nothing : html`<p class="waits">Reading the turn …</p>`;
    const t = this.answer.turn, w = this.fall, rows = w.rows.slice(this.first, this.first + rowsShown);
    this.zoom(rows);
    return html`
      <h1>A turn of ${t.agent}${t.ended ? nothing : html` <span class="live quiet">runs</span>`}</h1>
      <p class="text">${t.text}</p>
      <dl class="facts">
        <dt>Began</dt><dd>${when(t.started)}${t.ended ? html`, took ${duration(Date.parse(t.ended) - Date.parse(t.started))}` : nothing}</dd>
        ${t.stop ? html`<dt>Ended</dt><dd>${t.stop}${t.error ? html`: <bdi class="bad">${t.error}</bdi>` : nothing}</dd>` : nothing}
        <dt>Steps and calls</dt><dd>${counted(t.steps, 'step')}, ${counted(t.calls, 'call')}${t.denied ? html`, <b class="bad">${count(t.denied)} denied</b>` : nothing}</dd>
        <dt>Tokens</dt><dd>${count(t.usage.input)} in, ${count(t.usage.output)} out${t.cost ? html`, ${money(t.cost)}` : nothing}</dd>
        <dt>See also</dt><dd class="actions">
          <a href="#/conversations/${part(t.conversation)}">the conversation</a>
          <a href="#/plan/${part(t.conversation)}/${part(t.id)}">what it lit in the plan</a>
          <a href="#/compare/${part(t.conversation)}/${part(t.id)}">compare with another run</a></dd>
      </dl>
      <h2>Where the time went</h2>
      ${this.sums(w)}
      ${w.sums.wait ? html`<p><label><input type="checkbox" .checked=${this.withoutWaits} @change=${() => { this.withoutWaits = !this.withoutWaits; this.page.changed(); }}>
        Leave out the time in which people were waited for</label></p>` : nothing}
      <table class="fall">
        <thead><tr><th>What</th><th class="bars"><span class="aside">When</span>${this.axis()}</th><th>Took</th><th>Hooks</th></tr></thead>
        <tbody>${rows.map((row) => [this.row(row), this.unfolded.has(row.key) ? this.hooks(row) : nothing])}</tbody>
      </table>
      ${w.rows.length > rowsShown ? html`<p class="actions">Rows ${count(this.first + 1)} to ${count(this.first + rows.length)} of ${count(w.rows.length)}
        <button ?disabled=${!this.first} @click=${() => this.move(-rowsShown)}>Earlier</button>
        <button ?disabled=${this.first + rowsShown >= w.rows.length} @click=${() => this.move(rowsShown)}>Later</button></p>` : nothing}
      ${this.answer.more ? html`<p class="warn">The turn has more events than are shown here.</p>` : nothing}
      ${w.rows.some((r) => r.passes.length) ? nothing : html`<p class="card warned">Hook runs were not recorded in this turn.
        <code>grapnel serve --hooks</code> (or <code>run --hooks</code>, <code>chat --hooks</code>) records them.</p>`}`;
  }

  /** @param {import('../waterfall.js').Waterfall} w */
  sums(w) {
    return html`<dl class="sums">${parts.map(([kind, name, always]) => always || w.sums[kind] ? html`
      <div><dt>${kind === 'rest' ? nothing : html`<svg class="key" aria-hidden="true"><rect class=${kind} width="100%" height="100%"></rect></svg>`} ${name}</dt>
        <dd>${w.sums[kind] ? duration(w.sums[kind]) : '–'}</dd></div>` : nothing)}
      <div><dt>Together</dt><dd>${duration(w.length)}</dd></div></dl>
      <p class="quiet">Each moment is counted once, also where several things happened at the same time.</p>`;
  }

  /** A time as it is drawn: without waits, if somebody wants that. @param {number} t */
  drawn(t) {
    return this.fall && this.withoutWaits ? t - waited(this.fall, t) : t;
  }

  /** Lays the time of the rows that are shown over the whole width: of a long turn that is a part of it. @param {Row[]} rows */
  zoom(rows) {
    const w = this.fall, own = rows.filter((r) => r.kind !== 'turn');
    const part = w && w.rows.length > rowsShown && own.length;
    const from = part ? Math.min(...own.map((r) => r.from)) : 0, to = part ? Math.max(...own.map((r) => r.to)) : w?.length ?? 0;
    this.left = this.drawn(from);
    this.width = Math.max(0.001, this.drawn(to) - this.left);
  }

  /** Where a time is drawn, in percent. @param {number} t */
  x(t) {
    return Math.max(-1, Math.min(101, 100 * (this.drawn(t) - this.left) / this.width));
  }

  axis() {
    return html`<svg class="axis" aria-hidden="true">${[0, 0.25, 0.5, 0.75].map((f) => svg`
      <line x1="${100 * f}%" x2="${100 * f}%" y1="0" y2="100%"></line><text x="${100 * f}%" dx="3" y="70%">${f || this.left ? duration(this.left + this.width * f) : '0'}</text>`)}</svg>`;
  }

  /** @param {Row} row */
  row(row) {
    const bad = row.outcome && row.outcome !== 'executed' && row.outcome !== 'answered';
    const hooks = row.passes.reduce((n, p) => n + p.runs.filter((r) => r.status !== 'skipped').length, 0);
    const took = row.intervals.length ? duration(own(row, (t) => this.drawn(t))) : '';
    const open = this.unfolded.has(row.key);
    return html`<tr class=${row.kind === 'turn' ? 'around' : ''}>
      <th scope="row" class="depth${Math.min(row.depth, 4)}">${row.call
        ? html`<a href="#/call/${part(this.conversation)}/${part(row.key.split(' ')[0] ?? '')}/${part(row.call)}"><bdi>${row.label}</bdi></a>` : row.label}${
        row.outcome ? html` <span class=${bad ? 'bad' : 'quiet'}>${bad ? '✗ ' : ''}${row.outcome}${row.by && row.outcome !== 'cancelled' ? ` by ${row.by}` : ''}</span>` : nothing}${
        row.again ? html`<div class="warn">${counted(row.again.length, 'attempt')} in vain: ${row.again.slice(-reasonsShown).map((why, i) => html`${i ? ', then ' : ''}<bdi>${why}</bdi>`)}</div>` : nothing}</th>
      <td class="bars"><svg role="img" aria-label=${inWords(row)}>${this.bars(row).map((i) => svg`
        <rect class=${i.kind} x="${this.x(i.from)}%" y=${i.kind === 'hook' ? '30%' : '10%'} height=${i.kind === 'hook' ? '40%' : '80%'}
          width="${Math.max(narrowest, this.x(i.to) - this.x(i.from))}%"><title>${i.text}: ${duration(i.to - i.from)}, after ${duration(i.from)}</title></rect>`)}</svg></td>
      <td>${took}</td>
      <td>${hooks ? html`<button aria-expanded=${open} aria-label="${counted(hooks, 'hook')} of ${row.label}" @click=${() => this.toggle(row)}>${open ? '▾' : '▸'} ${hooks}</button>` : nothing}</td></tr>`;
  }

  /** @param {number} by */
  move(by) {
    this.first = Math.max(0, this.first + by);
    this.page.changed();
  }

  /** The bars of a row, what hooks do below the others: many short hooks after each other are one bar. @param {Row} row */
  bars(row) {
    /** @type {(import('../waterfall.js').Interval & { n: number })[]} */
    const out = [];
    for (const i of row.intervals) {
      if (this.withoutWaits && i.kind === 'wait') continue;
      const last = out.at(-1);
      if (last?.kind === 'hook' && i.kind === 'hook' && Math.abs(this.x(i.from) - this.x(last.to)) < near) Object.assign(last, { to: Math.max(last.to, i.to), n: last.n + 1, text: `${last.n + 1} hooks` });
      else out.push({ ...i, n: 1 });
    }
    return out.sort((a, b) => Number(b.kind === 'hook') - Number(a.kind === 'hook'));
  }

  /** @param {Row} row */
  toggle(row) {
    if (!this.unfolded.delete(row.key)) this.unfolded.add(row.key);
    for (const oldest of this.unfolded) if (this.unfolded.size > mostUnfolded) this.unfolded.delete(oldest);
    this.page.changed();
  }

  /** The hooks of a row, by point. @param {Row} row */
  hooks(row) {
    let left = runsShown;
    return row.passes.map((p) => {
      const runs = p.runs.slice(0, Math.max(0, left));
      left -= p.runs.length;
      return runs.length === 0 ? nothing : html`<tr class="pass">
        <th scope="row" class="depth${Math.min(row.depth + 1, 4)}">${p.point}</th>
        <td><ul>${runs.map((r) => html`<li class=${r.status === 'skipped' ? 'quiet' : ''}>${r.subsystem}: <span class=${denies(r.answer) ? 'bad' : ''}>${
          said(runOf(r), r.point)}</span>${r.text ? html`: <bdi>${r.text}</bdi>` : nothing}${r.status === 'skipped' ? nothing : html` <span class="quiet">${duration(r.duration_ms ?? 0)}</span>`}</li>`)}</ul></td>
        <td>${duration(p.to - p.from)}</td><td></td></tr>`;
    }).concat(left < 0 ? html`<tr class="pass"><td colspan="4">There are more hooks than are shown here.</td></tr>` : nothing);
  }
}

/** The bars of a row for who does not see them. @param {Row} row */
function inWords(row) {
  const bars = row.intervals.filter((i) => i.kind !== 'hook').map((i) => `${i.text} ${duration(i.to - i.from)}`);
  const hooks = row.intervals.filter((i) => i.kind === 'hook').reduce((sum, i) => sum + i.to - i.from, 0);
  if (hooks) bars.push(`hooks ${duration(hooks)}`);
  return bars.length ? `after ${duration(row.from)}: ${bars.join(', ')}` : 'nothing';
}
