// The record of what agents did and who allowed it, and whether somebody has changed it.

import { html, nothing, when } from '../dom.js';
import { get, part } from '../api.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const limit = 100;

export default class Audit {
  title = 'Audit';
  /** @type {Schemas['Audit'] | undefined} */
  audit;
  /** Where the records begin that are shown; '' is the newest. */
  before = '';
  asking = false;

  /** @param {import('../app.js').Page} page */
  constructor(page) { this.page = page; }

  /** The whole record is checked for each answer, so it is asked for only when somebody wants it. @param {AbortSignal} signal */
  async open(signal) {
    this.signal = signal;
    if (this.page.may('administer')) await this.show('');
  }

  /** @param {string} before */
  async show(before) {
    this.asking = true;
    this.page.changed();
    try {
      this.audit = await get(`/v1/audit?limit=${limit}&before=${part(before)}`, this.signal);
      this.before = before;
    } catch (err) {
      this.page.failed(err);
    }
    this.asking = false;
    this.page.changed();
  }

  draw() {
    return html`<h1>Audit</h1>${this.page.may('administer') ? this.drawRecord()
      : html`<p>The record is shown to those with the scope administer: it outlives the conversations that it is about.</p>`}`;
  }

  drawRecord() {
    const a = this.audit;
    if (!a) return this.asking ? html`<p class="waits">Reading and checking the whole record …</p>` : this.drawButtons();
    return html`
      ${a.verified ? a.entries.length === 0 && !this.before ? nothing : html`<p class="good">✓ Every record was checked: none was changed, and none is missing.</p>`
        : html`<p class="bad">✗ The record is not as it was written: <bdi>${a.problem}</bdi></p>`}
      ${a.off ? html`<p>${a.entries.length ? 'No agent of the project is recorded now.' : 'Nothing is recorded: no agent of the project has asked for it.'} Give an agent the section <code>audit</code>, or write <code>audit: {}</code>
        in <code>~/.grapnel/config.yaml</code> for all. Without it calls that were denied are in the
        <a href="#/conversations">conversations</a>, each with the link "who decided".</p>` : nothing}
      ${this.drawButtons()}
      ${a.entries.length === 0 ? a.off && !this.before ? nothing : html`<p>Nothing is recorded${this.before ? ' before that' : ' yet'}.</p>` : html`<table class="wide" tabindex="0" aria-label="Records">
        <thead><tr><th class="number">N</th><th>Time</th><th>Agent</th><th>What</th><th>Tool</th><th>Decision</th><th>By</th><th>Conversation</th></tr></thead>
        <tbody>${a.entries.map(row)}</tbody></table>`}
      ${a.entries.length > 20 ? this.drawButtons() : nothing}`;
  }

  drawButtons() {
    const next = this.audit?.next;
    return html`<p class="actions">
      <button ?disabled=${this.asking} @click=${() => this.show('')}>${this.before ? 'Newest' : 'Read again'}</button>
      ${next ? html`<button ?disabled=${this.asking} @click=${() => this.show(next)}>Older</button>` : nothing}
      ${this.asking ? html`<span class="waits">Reading and checking the whole record …</span>` : nothing}</p>`;
  }
}

/** @param {Schemas['AuditEntry']} e */
function row(e) {
  const said = e.decision || e.stop || '';
  return html`<tr>
    <td class="number" title=${e.node ?? nothing}>${e.n}</td><td>${when(e.time)}</td>
    <td>${e.depth ? html`<span class="quiet" title="run by another agent">${'↳'.repeat(Math.min(e.depth, 5))} </span>` : nothing}<bdi>${e.agent}</bdi></td>
    <td>${e.kind.replaceAll('_', ' ')}</td><td>${tool(e)}</td>
    <td class=${tone(said)}><bdi>${said}</bdi></td><td><bdi>${e.by ?? ''}</bdi></td>
    <td>${e.conversation ? html`<a href="#/conversations/${part(e.conversation)}"><span title=${e.conversation}>…${e.conversation.slice(-8)}</span></a>` : nothing}</td></tr>`;
}

/** The tool of a record, which leads to who decided about the call. @param {Schemas['AuditEntry']} e */
function tool(e) {
  const name = html`<bdi>${e.tool ?? ''}</bdi>`;
  if (!e.tool || !e.call || !e.conversation || !e.turn) return name;
  return html`<a href="#/call/${part(e.conversation)}/${part(e.turn)}/${part(e.call)}" title="Who decided about the call">${name}</a>`;
}

/** @param {string} said */
function tone(said) {
  if (/^(deny|denied|refuse|reject|rejected|failed|fail|error)/.test(said)) return 'bad';
  return /^(approve|approved|always)/.test(said) ? 'good' : '';
}
