// The schedules: what runs by itself, when, and how it went.

import { html, nothing, count, when } from '../dom.js';
import { del, get, part } from '../api.js';
import { every } from '../list.js';
import { Dialog } from './dialog.js';

/** @typedef {import('../api.js').Schemas} Schemas */

// A longer prompt is cut in the list; the page of the schedule has the whole.
const shortText = 160;
// How many schedules, and how many runs of one, are shown at most.
const most = 200, mostRuns = 100;

export default class Schedules {
  title = 'Schedules';
  /** @type {Schemas['Schedule'][] | undefined} */
  schedules;
  /** The one whose runs are shown. @type {Schemas['Schedule'] | undefined} */
  one;

  /** @param {import('../app.js').Page} page @param {string} [name] whose runs are shown */
  constructor(page, name = '') {
    this.page = page;
    this.name = name;
    this.dialog = new Dialog(page);
  }

  /** @param {AbortSignal} signal */
  open(signal) {
    this.signal = signal;
    return every(5000, signal, () => this.load(), this.page.failed);
  }

  async load() {
    this.schedules = (await get('/v1/schedules', this.signal)).schedules;
    this.one = this.name ? await get(`/v1/schedules/${part(this.name)}`, this.signal) : undefined;
    this.page.changed();
  }

  /** @param {string} [name] */
  moved(name = '') {
    this.name = name;
    this.one = undefined;
    this.load().catch(this.page.failed);
    return true;
  }

  /** @param {Schemas['Schedule']} s */
  ask(s) {
    const body = html`<p>Agent <bdi>${s.agent}</bdi>, ${s.when}. What is known of its runs goes too; its conversation stays, and a run that is going on ends as it would.</p>`;
    this.dialog.ask({ title: `Remove the schedule ${s.name}?`, body, yes: 'Remove', danger: true, act: () => this.remove(s) });
  }

  /** @param {Schemas['Schedule']} s */
  async remove(s) {
    await del(`/v1/schedules/${part(s.name)}`);
    this.page.say(`removed: ${s.name}`);
    if (this.name === s.name) this.page.go('schedules');
    await this.load();
  }

  draw() {
    const all = this.schedules;
    return html`<h1>Schedules</h1>
      ${!all ? html`<p class="waits">Asking the daemon …</p>`
        : all.length === 0 ? html`<p>This project has none. <code>grapnel schedule add "0 7 * * 1-5" "What is new?"</code> adds one.</p>`
          : html`<table class="wide list" tabindex="0" aria-label="Schedules">
        <thead><tr><th>Name</th><th>When</th><th>Agent</th><th>Next</th><th>Last</th><th>Missed</th><th>Prompt</th><th><span class="aside">Actions</span></th></tr></thead>
        <tbody>${all.slice(0, most).map((s) => this.row(s))}</tbody></table>
        ${all.length > most ? html`<p class="quiet">${count(all.length - most)} more are not listed; <code>grapnel schedule list</code> has all.</p>` : nothing}`}
      ${this.name ? this.runs() : nothing}
      ${this.dialog.draw()}`;
  }

  /** @param {Schemas['Schedule']} s */
  row(s) {
    return html`<tr>
      <td><a href="#/schedules/${part(s.name)}" aria-current=${s.name === this.name ? 'true' : nothing}>${s.name}</a></td>
      <td><code>${s.when}</code></td><td><bdi>${s.agent}</bdi></td>
      <td>${s.next ? when(s.next) : 'when it happens'}</td>
      <td>${s.last ? html`${status(s.last)} ${when(s.last.began ?? s.last.due)}` : 'never'}</td>
      <td>${s.missed ? html`<span class="warn">${count(s.missed)}, last ${when(s.missed_last)}</span>` : '0'}</td>
      <td class="text long">${s.prompt.length > shortText ? s.prompt.slice(0, shortText) + '…' : s.prompt}</td>
      <td>${this.page.may('administer') ? html`<button class="danger" aria-label="Remove ${s.name}" @click=${() => this.ask(s)}>Remove</button>` : nothing}</td></tr>`;
  }

  runs() {
    const s = this.one;
    if (!s) return html`<p class="waits">Asking for its runs …</p>`;
    return html`<section aria-label="runs of ${s.name}"><h2>${s.name}</h2>
      <dl class="facts"><dt>Sender</dt><dd><bdi>${s.sender}</bdi></dd><dt>If no daemon ran in time</dt><dd>${s.late === 'run' ? 'it runs once' : 'it is reported'}</dd>
        <dt>Prompt</dt><dd class="text">${s.prompt}</dd></dl>
      ${!s.runs?.length ? html`<p>It has not run yet.</p>` : html`<table class="wide list" tabindex="0" aria-label="Runs">
        <thead><tr><th>Due</th><th>Began</th><th>Ended</th><th>Status</th><th>Conversation</th><th>Why</th></tr></thead>
        <tbody>${s.runs.slice(0, mostRuns).map((r) => html`<tr><td>${when(r.due)}</td><td>${when(r.began)}</td><td>${when(r.ended)}</td><td>${status(r)}</td>
          <td>${r.conversation ? html`<a href="#/conversations/${part(r.conversation)}">open</a>` : '–'}</td><td class=${r.note ? 'long' : nothing}><bdi>${r.note ?? ''}</bdi></td></tr>`)}</tbody></table>`}
    </section>`;
  }
}

/** @param {Schemas['ScheduleRun']} r */
const status = (r) => html`<span class=${r.status === 'completed' ? 'good' : r.status === 'running' ? 'quiet' : 'bad'}>${r.status}</span>`;
