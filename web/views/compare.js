// Two turns side by side, such as one message over two agents or two layers: what differs first is in view.

import { html, nothing, count, counted, duration, when } from '../dom.js';
import { Failure, get, part } from '../api.js';
import { align } from '../align.js';
import { entriesOf } from '../entries.js';
import { textsOf } from '../texts.js';
import { nameOf, recentTurns, turnPath } from '../runs.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {import('../entries.js').Entry} Entry */

// The rows on one page, how many of them stand before a difference, and the characters of a text.
const rowsShown = 300, before = 50, textShown = 600;

export default class Compare {
  title = 'Compare';
  /** The turns to choose from. @type {Schemas['RanTurn'][] | undefined} */
  turns;
  /** The two that are compared. @type {(Schemas['TurnEvents'] | undefined)[]} */
  sides = [undefined, undefined];
  /** Which of the chosen turns do not exist. @type {boolean[]} */
  missing = [];
  /** What the model said in the steps of each; undefined where that is not known. @type {(string[] | undefined)[]} */
  texts = [];
  /** @type {Entry[][]} */
  entries = [[], []];
  /** @type {import('../align.js').Pair[]} */
  pairs = [];
  /** The rows that differ. @type {number[]} */
  differences = [];
  /** Which of them is in view. */
  at = 0;
  silent = false;
  /** The first row that is shown. */
  first = 0;

  /** @param {import('../app.js').Page} page @param {string[]} places conversation and turn of the left, and of the right */
  constructor(page, ...places) {
    this.page = page;
    this.places = [places.slice(0, 2), places.slice(2, 4)];
  }

  /** @param {AbortSignal} signal */
  async open(signal) {
    recentTurns(signal).then((turns) => { this.turns = turns; this.page.changed(); }, this.page.failed);
    this.sides = await Promise.all(this.places.map(([conversation, turn], side) => turn ? get(`${turnPath(conversation ?? '', turn)}?hooks=internal`, signal).catch((err) => {
      if (!(err instanceof Failure && err.status === 404)) throw err;
      this.missing[side] = true;
    }) : undefined));
    this.texts = await Promise.all(this.sides.map((side) => side && textsOf(side, signal).catch((err) => { this.page.failed(err); return undefined; })));
    this.compare();
  }

  compare() {
    const [left, right] = this.sides;
    this.page.changed();
    if (!left || !right) return;
    const [said, saidRight] = this.texts, known = said && saidRight;
    this.entries = [entriesOf(left.events, this.silent, known && said), entriesOf(right.events, this.silent, known && saidRight)];
    this.pairs = align(this.entries[0] ?? [], this.entries[1] ?? []);
    this.differences = this.pairs.flatMap((p, i) => p.same ? [] : [i]);
    this.at = 0;
    if (this.differences.length) this.show(0);
  }

  /** Brings a difference into view. @param {number} at */
  show(at) {
    this.at = at;
    const row = this.differences[at] ?? 0;
    if (row < this.first || row >= this.first + rowsShown) this.first = Math.max(0, row - before);
    this.page.changed();
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const element = document.getElementById(`row-${row}`);
      element?.scrollIntoView({ block: 'center' });
      element?.focus({ preventScroll: true });
    }));
  }

  /** @param {number} by */
  move(by) {
    this.first = Math.max(0, this.first + by);
    this.page.changed();
  }

  draw() {
    const [left, right] = this.sides;
    return html`
      <h1>Two runs side by side</h1>
      <div class="sides">${this.chooser(0, 'Left')}${this.chooser(1, 'Right')}</div>
      ${left && right ? this.result(left, right) : html`<p class="quiet">Choose two turns: their steps, calls, decisions and texts are shown side by side. Turns with the
        same message as the other one are offered first, such as the same question to two agents.</p>`}`;
  }

  /** @param {number} side @param {string} label */
  chooser(side, label) {
    const chosen = this.places[side]?.[1], other = this.sides[1 - side]?.turn, own = this.sides[side]?.turn;
    const all = [...this.turns ?? []];
    if (own && !all.some((t) => t.id === own.id)) all.unshift(own);
    const same = all.filter((t) => other && t.text === other.text && t.id !== other.id);
    const rest = all.filter((t) => !same.includes(t) && t.id !== other?.id);
    /** @param {Schemas['RanTurn']} t */
    const option = (t) => html`<option value="${t.conversation} ${t.id}" .selected=${t.id === chosen}>${nameOf(t, when(t.started))}</option>`;
    return html`<div><label>${label} <select @change=${(/** @type {Event} */ e) => this.choose(side, /** @type {HTMLSelectElement} */ (e.target).value)}>
      <option value="" .selected=${!chosen}>${this.turns ? 'choose a turn' : 'reading the turns …'}</option>
      ${same.length ? html`<optgroup label="The same message">${same.map(option)}</optgroup>` : nothing}
      ${same.length && rest.length ? html`<optgroup label="Others">${rest.map(option)}</optgroup>` : rest.map(option)}</select></label>${this.missing[side] ? html`<p class="warn">This turn does not exist, or not any more: choose another one.</p>` : nothing}</div>`;
  }

  /** @param {number} side @param {string} value */
  choose(side, value) {
    const places = [...this.places];
    places[side] = value ? value.split(' ') : [];
    const [left = [], right = []] = places;
    if (!left.length && right.length) this.page.go('compare', ...right);
    else this.page.go('compare', ...left, ...right);
  }

  /** @param {Schemas['TurnEvents']} left @param {Schemas['TurnEvents']} right */
  result(left, right) {
    const n = this.differences.length;
    return html`
      <div class="differs-bar actions" role="status">
        <b>${n ? counted(n, 'difference') : 'The two runs are the same'}</b>
        ${n ? html`<span>Difference ${count(this.at + 1)} is in view.</span>
          <button ?disabled=${this.at === 0} @click=${() => this.show(this.at - 1)}>Previous</button>
          <button class="primary" ?disabled=${this.at === n - 1} @click=${() => this.show(this.at + 1)}>Next difference</button>` : nothing}
        <label><input type="checkbox" .checked=${this.silent} @change=${() => { this.silent = !this.silent; this.compare(); }}> also hooks without an opinion</label>
        <div class="compared" aria-hidden="true"><span class="mark"></span>${[left, right].map(({ turn: t }, side) => html`<b>${side ? 'Right' : 'Left'}: ${t.agent}, ${when(t.started)}</b>`)}</div>
      </div>
      <table class="compare">
        <thead><tr><th class="mark">Compared</th>${[left, right].map(({ turn: t }, side) => html`<th>${side ? 'Right' : 'Left'}: <a href="#/turn/${part(t.conversation)}/${part(t.id)}">${t.agent}</a>, ${when(t.started)}<div class="quiet">
          ${counted(t.steps, 'step')}, ${counted(t.calls, 'call')}, ${count(t.denied)} denied, ${count(t.usage.input)} + ${count(t.usage.output)} tokens${
          t.ended ? `, ${duration(Date.parse(t.ended) - Date.parse(t.started))}` : ''}</div></th>`)}</tr></thead>
        <tbody>${this.pairs.slice(this.first, this.first + rowsShown).map((p, i) => this.row(p, this.first + i))}</tbody>
      </table>
      ${this.pairs.length > rowsShown ? html`<p class="actions">Rows ${count(this.first + 1)} to ${count(Math.min(this.first + rowsShown, this.pairs.length))} of ${count(this.pairs.length)}
        <button ?disabled=${!this.first} @click=${() => this.move(-rowsShown)}>Earlier</button>
        <button ?disabled=${this.first + rowsShown >= this.pairs.length} @click=${() => this.move(rowsShown)}>Later</button></p>` : nothing}
      ${this.texts.every(Boolean) ? nothing : html`<p class="quiet">Of one of the turns it is not known any more what the model said before its last step.</p>`}
      ${left.more || right.more ? html`<p class="warn">One of the turns has more events than are compared here.</p>` : nothing}`;
  }

  /** @param {import('../align.js').Pair} p @param {number} i */
  row(p, i) {
    const a = this.entries[0]?.[p.left], b = this.entries[1]?.[p.right];
    const here = !p.same && this.differences[this.at] === i;
    const word = p.same ? 'same' : a && b ? '≠ differs' : a ? '← only left' : '→ only right';
    return html`<tr id="row-${i}" tabindex="-1" class="${p.same ? '' : 'differs'} ${here ? 'here' : ''}">
      <td class="mark ${p.same ? 'quiet' : ''}">${word}</td>${this.cell(a, 0)}${this.cell(b, 1)}</tr>`;
  }

  /** @param {Entry | undefined} e @param {number} side */
  cell(e, side) {
    if (!e) return html`<td class="none"><span class="quiet">–</span></td>`;
    const conversation = this.sides[side]?.turn.conversation ?? '';
    const text = e.text.length > textShown ? `${e.text.slice(0, textShown)} … (${count(e.text.length - textShown)} more characters)` : e.text;
    return html`<td><div class=${e.bad ? 'bad' : ''}>${e.bad ? '✗ ' : ''}${e.call
      ? html`<a href="#/call/${part(conversation)}/${part(e.turn)}/${part(e.call)}">${e.title}</a>` : html`<b>${e.title}</b>`}</div>${
      text ? html`<div class="text">${text}</div>` : nothing}</td>`;
  }
}
