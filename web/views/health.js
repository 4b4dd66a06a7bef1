// How the daemon is, and what it does right now.

import { html, nothing, count, counted, money, when } from '../dom.js';
import { part } from '../api.js';
import { poll } from '../list.js';

/** @typedef {import('../api.js').Schemas} Schemas */

export default class Health {
  title = 'Health';
  /** @type {Schemas['Health'] | undefined} */
  health;
  /** @type {Schemas['Activity'] | undefined} */
  activity;

  /** @param {import('../app.js').Page} page */
  constructor(page) { this.page = page; }

  /** @param {AbortSignal} signal */
  async open(signal) {
    await Promise.all([
      poll('/v1/health', 5000, signal, (h) => { this.health = h; this.page.changed(); }, this.page.failed),
      poll('/v1/activity', 2000, signal, (a) => { this.activity = a; this.page.changed(); }, this.page.failed),
    ]);
  }

  draw() {
    const h = this.health, a = this.activity;
    if (!h || !a) return html`<p class="waits">Asking the daemon …</p>`;
    return html`
      <h1>Health</h1>
      <dl class="facts">
        <dt>Status</dt><dd>${h.status}</dd>
        <dt>Project</dt><dd><bdi>${h.root}</bdi></dd>
        <dt>Running since</dt><dd>${when(h.started)}</dd>
        <dt>Waiting for people</dt><dd>${counted(a.approvals, 'approval')}, ${counted(a.questions, 'question')}</dd>
        <dt>Queued</dt><dd>${counted(a.queued_messages, 'message')}${a.queued_jobs === undefined ? nothing : `, ${counted(a.queued_jobs, 'job')}`}</dd>
        <dt>Streams</dt><dd>${counted(a.streams, 'reader')}, ${count(a.lagging)} behind</dd>
        ${a.today ? html`<dt>Today</dt><dd>${counted(a.today.calls, 'call')} of a model, ${money(a.today.cost) || 'no price known'}</dd>` : nothing}
        ${h.abandoned?.length ? html`<dt>Abandoned</dt><dd>${h.abandoned.map((x) => html`<div><bdi>${x.tool ?? x.hook}</bdi> ${x.point ?? ''} × ${x.count}</div>`)}</dd>` : nothing}
      </dl>
      <h2>Turns that run</h2>
      ${a.turns.length === 0 ? html`<p>None.</p>` : html`<table>
        <thead><tr><th>Agent</th><th>Sender</th><th>State</th><th>Step</th><th>Calls</th></tr></thead>
        <tbody>${a.turns.map((t) => html`<tr>
          <td><a href="#/conversations/${part(t.conversation)}"><bdi>${t.agent}</bdi></a></td><td><bdi>${t.sender}</bdi></td><td>${t.state}</td><td>${t.step ?? ''}</td>
          <td>${(t.calls ?? []).map((c, i) => html`${i ? ', ' : ''}<bdi>${c.tool}</bdi>`)}</td></tr>`)}</tbody></table>`}`;
  }
}
