// The jobs: work that turns and hooks have queued, and what became of it.

import { html, nothing, when } from '../dom.js';
import { get, part, post } from '../api.js';
import { every } from '../list.js';
import { Dialog } from './dialog.js';
import { written } from '../written.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const step = 50, most = 200;
// A longer payload is cut for display.
const longest = 20_000;

export default class Jobs {
  title = 'Jobs';
  /** @type {Schemas['Job'][] | undefined} */
  jobs;
  /** The one whose payload is shown. @type {Schemas['Job'] | undefined} */
  one;
  status = '';
  limit = step;

  /** @param {import('../app.js').Page} page @param {string} [id] which is shown with its payload */
  constructor(page, id = '') {
    this.page = page;
    this.id = id;
    this.dialog = new Dialog(page);
  }

  /** @param {AbortSignal} signal */
  open(signal) {
    this.signal = signal;
    return every(3000, signal, () => this.load(), this.page.failed);
  }

  async load() {
    const { id, status } = this;
    const answer = await get(`/v1/jobs?limit=${this.limit}${status && `&status=${status}`}`, this.signal);
    const one = id ? await get(`/v1/jobs/${part(id)}`, this.signal) : undefined;
    if (id !== this.id || status !== this.status) return; // somebody has gone on since
    this.jobs = answer.jobs;
    this.one = one;
    this.page.changed();
  }

  again = () => this.load().catch(this.page.failed);

  /** @param {string} [id] */
  moved(id = '') {
    this.id = id;
    this.one = undefined;
    this.again();
    return true;
  }

  /** @param {Schemas['Job']} j @param {'cancel' | 'retry' | 'drop'} change */
  async change(j, change) {
    try {
      await post(`/v1/jobs/${j.id}`, { change });
      this.page.say(`${{ cancel: 'cancelled', retry: 'queued again', drop: 'dropped' }[change]}: job ${j.id}`);
      if (change === 'drop' && this.id === String(j.id)) this.page.go('jobs');
    } catch (err) {
      this.page.failed(err);
    }
    await this.again();
  }

  /** @param {Schemas['Job']} j */
  askCancel(j) {
    const body = html`<p><bdi>${j.kind}</bdi> <bdi>${j.key}</bdi>. If it waits it never runs; if it runs it is told to end.</p>`;
    this.dialog.ask({ title: `Cancel job ${j.id}?`, body, yes: 'Cancel the job', danger: true, act: () => this.change(j, 'cancel') });
  }

  /** @param {Schemas['Job']} j */
  askDrop(j) {
    const body = html`<p><bdi>${j.kind}</bdi> <bdi>${j.key}</bdi>. It is deleted with its payload.</p>`;
    this.dialog.ask({ title: `Drop job ${j.id}?`, body, yes: 'Drop it', danger: true, act: () => this.change(j, 'drop') });
  }

  draw() {
    const all = this.jobs;
    return html`<h1>Jobs</h1>
      <p class="quiet">Work outside of turns: hooks in the background, and what looks for memories.</p>
      <p><label>Status <select @change=${(/** @type {Event} */ e) => { this.status = /** @type {HTMLSelectElement} */ (e.target).value; this.limit = step; this.again(); }}>
        <option value="">all</option>${['queued', 'running', 'succeeded', 'failed', 'cancelled'].map((s) => html`<option>${s}</option>`)}</select></label></p>
      ${this.id ? this.payload() : nothing}
      ${!all ? html`<p class="waits">Asking the daemon …</p>`
        : all.length === 0 ? html`<p>${this.status ? `No job is ${this.status}.` : 'No job was queued yet.'}</p>`
          : html`<table class="wide list" tabindex="0" aria-label="Jobs">
        <thead><tr><th>Job</th><th>Kind</th><th>Key</th><th>Status</th><th>Attempts</th><th>Queued</th><th>Due</th><th>Conversation</th><th><span class="aside">Actions</span></th></tr></thead>
        <tbody>${all.map((j) => this.row(j))}</tbody></table>
        ${all.length < this.limit ? nothing : this.limit < most ? html`<p><button @click=${() => { this.limit += step; this.again(); }}>Show more</button></p>`
          : html`<p class="quiet">There may be more; choose a status.</p>`}`}
      ${this.dialog.draw()}`;
  }

  /** @param {Schemas['Job']} j */
  row(j) {
    return html`<tr>
      <td><a href="#/jobs/${j.id}" aria-current=${this.id === String(j.id) ? 'true' : nothing}>${j.id}</a></td><td><bdi>${j.kind}</bdi></td><td><bdi>${j.key}</bdi></td>
      <td><span class=${j.status === 'failed' ? 'bad' : j.status === 'succeeded' ? 'good' : 'quiet'}>${j.status}</span>${j.failure ? html` <bdi>${j.failure}</bdi>` : nothing}</td>
      <td>${j.attempts}</td><td>${when(j.created)}</td><td>${j.status === 'queued' ? when(j.due) : '–'}</td>
      <td>${j.conversation ? html`<a href="#/conversations/${part(j.conversation)}">open</a>` : '–'}</td>
      <td>${this.buttons(j)}</td></tr>`;
  }

  /** @param {Schemas['Job']} j */
  buttons(j) {
    if (!this.page.may('administer') || j.status === 'succeeded') return nothing;
    return html`<div class="actions">${j.status === 'queued' || j.status === 'running'
      ? html`<button class="danger" aria-label="Cancel job ${j.id}" @click=${() => this.askCancel(j)}>Cancel</button>`
      : html`<button aria-label="Retry job ${j.id}" @click=${() => this.change(j, 'retry')}>Retry</button>
        <button class="danger" aria-label="Drop job ${j.id}" @click=${() => this.askDrop(j)}>Drop</button>`}</div>`;
  }

  payload() {
    const j = this.one;
    if (!j) return html`<p class="waits">Asking for the job …</p>`;
    const text = j.payload === undefined ? '' : written(j.payload);
    return html`<section class="card" aria-label="job ${j.id}"><h2>Job ${j.id}</h2>
      <dl class="facts"><dt>Changed</dt><dd>${when(j.updated)}</dd>${j.owner ? html`<dt>Tried last by</dt><dd><bdi>${j.owner}</bdi></dd>` : nothing}
        ${j.turn ? html`<dt>Turn</dt><dd>${j.conversation ? html`<a href="#/turn/${part(j.conversation)}/${part(j.turn)}">${j.turn}</a>` : j.turn}</dd>` : nothing}
        <dt>Version of the payload</dt><dd>${j.version}</dd></dl>
      ${text ? html`<pre tabindex="0" aria-label="payload">${text.length > longest ? text.slice(0, longest) + '\n…' : text}</pre>`
        : html`<p class="quiet">It has no payload any more: a job that has succeeded keeps none.</p>`}
      <div class="actions">${this.buttons(j)}<a href="#/jobs">Close</a></div></section>`;
  }
}
