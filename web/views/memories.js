// What agents have remembered: looked for, written anew, forgotten; and what waits for review.

import { html, nothing, count, counted, live, ref, repeat, when } from '../dom.js';
import { del, get, part, put } from '../api.js';
import { every } from '../list.js';
import { reveal } from '../text.js';
import { Dialog } from './dialog.js';

/** @typedef {import('../api.js').Schemas} Schemas */

// Who has said a memory, in words.
const origins = { user: 'a person said it', model: 'a model concluded it', tool: 'a model wrote it after it had read results of tools', page: 'a model wrote it after it had read something from elsewhere' };

// How many are listed at first and more each time, and how many at most; and how many of those that wait.
const step = 100, most = 200, mostWaiting = 10;
// How many can wait for one agent: they come first in the answer.
const canWait = 200;
// A longer memory is cut until somebody wants the whole.
const shortText = 1500;
// How long, in milliseconds, what has moved cannot be approved.
const settling = 500;

export default class Memories {
  title = 'Memories';
  /** @type {Schemas['Memory'][] | undefined} */
  memories;
  total = 0;
  text = '';
  agent = '';
  limit = step;
  /** @type {string[]} */
  agents = [];
  /** The memory that is being written anew, as it was. @type {Schemas['Memory'] | undefined} */
  editing;
  /** What was typed for it so far. */
  typed = '';
  /** The ids of those that are shown whole. @type {Set<string>} */
  whole = new Set();
  busy = '';
  /** When those that wait have changed, and with them their places. */
  changedAt = 0;
  asked = 0;

  /** @param {import('../app.js').Page} page */
  constructor(page) {
    this.page = page;
    this.dialog = new Dialog(page);
  }

  /** @param {AbortSignal} signal */
  async open(signal) {
    this.signal = signal;
    get('/v1/agents', signal).then((a) => { this.agents = a.agents.map((/** @type {Schemas['Agent']} */ x) => x.name); this.page.changed(); }, this.page.failed);
    await every(5000, signal, () => this.load(), this.page.failed);
  }

  async load() {
    const mine = ++this.asked;
    const answer = await get(`/v1/memories?q=${part(this.text)}&agent=${part(this.agent)}&limit=${this.limit + canWait}`, this.signal);
    if (mine !== this.asked) return; // another search has begun since
    const waits = (/** @type {Schemas['Memory'][]} */ all) => all.filter((m) => m.waiting).map((m) => m.id).join();
    if (waits(answer.memories) !== waits(this.memories ?? [])) this.settle();
    this.memories = answer.memories;
    this.total = answer.total;
    this.page.changed();
  }

  /** What has moved is not approved for a moment: the click was meant for what was there before. To reject it asks first. */
  settle() {
    this.changedAt = performance.now();
    setTimeout(() => this.page.changed(), settling + 20);
  }

  /** @param {() => void} change */
  look(change) {
    change();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load().catch(this.page.failed), 200);
  }

  /** Does what a person wants with one memory, and lists them again. @param {Schemas['Memory']} m @param {() => Promise<unknown>} work @param {string} said */
  async act(m, work, said) {
    this.busy = m.id;
    this.page.changed();
    try {
      await work();
      this.page.say(`${said}: ${m.name}`);
      document.getElementById('main')?.focus({ preventScroll: true }); // the button is gone
      if (this.editing?.id === m.id) this.editing = undefined;
    } catch (err) {
      this.page.failed(err);
    }
    this.busy = '';
    await this.load().catch(this.page.failed);
  }

  /** @param {Schemas['Memory']} m */
  path(m) { return `/v1/memories/${part(m.id)}`; }

  /** @param {Schemas['Memory']} m */
  forget(m) {
    this.dialog.ask({
      title: 'Forget this memory?', yes: 'Forget', danger: true, act: () => this.act(m, () => del(this.path(m)), 'forgotten'),
      body: html`<p>${reveal(m.name)}, of <bdi>${m.of}</bdi>. No file of the memories has its text then; conversations in which it was said still have it.</p>`,
    });
  }

  /** @param {Schemas['Memory']} m */
  reject(m) {
    this.dialog.ask({
      title: 'Reject this memory?', yes: 'Reject', danger: true, act: () => this.act(m, () => del(this.path(m)), 'rejected'),
      body: html`<p>${reveal(m.name)}. It is removed, and nothing is remembered.</p>`,
    });
  }

  /** @param {SubmitEvent} e */
  save = (e) => {
    e.preventDefault();
    const m = this.editing, content = this.typed;
    if (m) this.act(m, () => put(this.path(m), { content }), 'written anew');
  };

  draw() {
    const all = this.memories, waiting = all?.filter((m) => m.waiting) ?? [], kept = all?.filter((m) => !m.waiting).slice(0, this.limit) ?? [];
    const total = this.total - waiting.length;
    const lost = this.editing && all && !all.some((m) => m.id === this.editing?.id) ? this.editing : undefined;
    return html`<h1>Memories</h1>
      <search class="actions">
        <label>Search <input type="search" .value=${live(this.text)} @input=${(/** @type {InputEvent} */ e) => this.look(() => { this.text = value(e); this.limit = step; })}></label>
        <label>Agent <select @change=${(/** @type {Event} */ e) => this.look(() => { this.agent = value(e); })}>
          <option value="">all</option>${this.agents.map((a) => html`<option value=${a}>${a}</option>`)}</select></label>
      </search>
      ${!all ? html`<p class="waits">Asking the daemon …</p>` : html`
        ${waiting.length ? html`<h2>Waiting for review</h2>
          <p class="quiet">Found in conversations, and remembered only once you approve it.</p>
          ${repeat(waiting.slice(0, mostWaiting), (m) => m.id, (m) => this.review(m))}
          ${waiting.length > mostWaiting ? html`<p class="quiet">${count(waiting.length - mostWaiting)} more wait, and are shown when these are answered.</p>` : nothing}<h2>Remembered</h2>` : nothing}
        ${lost ? html`<p class="warn">The memory that you write anew is not in this list: it does not match, or it was changed or forgotten. Your text is still here.</p>${this.one(lost)}` : nothing}
        ${kept.length === 0 && !lost ? html`<p>${this.text || this.agent ? 'No memory matches.' : 'Nothing is remembered.'}</p>` : nothing}
        ${repeat(kept, (m) => m.id, (m) => this.one(m))}
        <p class="quiet">${count(kept.length)} of ${count(total)} listed
          ${kept.length >= total ? nothing : this.limit < most ? html`<button @click=${() => this.look(() => { this.limit += step; })}>Show more</button>` : '; search to see others'}</p>`}
      ${this.dialog.draw()}`;
  }

  /** @param {Schemas['Memory']} m */
  review(m) {
    const still = performance.now() - this.changedAt < settling;
    return html`<article class="card" aria-label=${m.name}>
      ${this.head(m)}
      <pre tabindex="0" aria-label="what would be remembered">${reveal(m.content)}</pre>
      ${m.replaces === undefined ? nothing : html`<p>It would take the place of:</p><pre tabindex="0" aria-label="what it replaces">${reveal(m.replaces)}</pre>`}
      ${this.page.may('administer') ? html`<div class="actions">
        <button class="primary" aria-label="Approve ${m.name}" ?disabled=${still || this.busy === m.id} @click=${() => this.act(m, () => put(this.path(m), { approve: true }), 'approved')}>Approve</button>
        <button aria-label="Reject ${m.name}" ?disabled=${this.busy === m.id} @click=${() => this.reject(m)}>Reject</button></div>` : nothing}
    </article>`;
  }

  /** @param {Schemas['Memory']} m */
  one(m) {
    const cut = m.content.length > shortText && !this.whole.has(m.id);
    return html`<article class="card" aria-label=${m.name}>
      ${this.head(m)}
      ${this.editing?.id === m.id ? html`<form @submit=${this.save}>
          <label class="tall">What is remembered <textarea ${ref(focus)} rows="5" required maxlength="65536" .value=${live(this.typed)}
            @input=${(/** @type {InputEvent} */ e) => { this.typed = value(e); }}></textarea></label>
          <p class="quiet">Once you save it, it counts as said by a person: agents ask before they replace it.</p>
          <div class="actions"><button class="primary" ?disabled=${this.busy === m.id}>Save</button>
            <button type="button" @click=${() => { this.editing = undefined; this.page.changed(); }}>Leave it</button></div></form>`
        : html`<p class="text">${cut ? m.content.slice(0, shortText) + '…' : m.content}</p>
          ${cut ? html`<button @click=${() => { this.whole.add(m.id); this.page.changed(); }}>Show all ${count(m.content.length)} characters</button>` : nothing}
          ${this.page.may('administer') ? html`<div class="actions">
            <button aria-label="Edit ${m.name}" @click=${() => { this.editing = m; this.typed = m.content; this.page.changed(); }}>Edit</button>
            <button class="danger" aria-label="Forget ${m.name}" ?disabled=${this.busy === m.id} @click=${() => this.forget(m)}>Forget</button></div>` : nothing}`}
    </article>`;
  }

  /** @param {Schemas['Memory']} m */
  head(m) {
    const source = m.sources?.findLast((s) => s.conversation);
    return html`<h3>${reveal(m.name)}</h3>
      <p class="quiet">${m.kind} of <bdi>${m.of}</bdi>${m.user ? ', in all projects' : ''} ·
        <span class=${m.origin === 'page' || m.origin === 'tool' ? 'warn' : 'quiet'}>${origins[m.origin]}</span>, trust ${m.trust} ·
        ${when(m.updated)}${m.uses ? ` · used ${counted(m.uses, 'time')}, last ${when(m.used)}` : ''}
        ${source?.conversation ? html` · <a href="#/conversations/${part(source.conversation)}">from this conversation</a>` : nothing}</p>`;
  }
}

/** @param {Event} e */
const value = (e) => /** @type {HTMLInputElement} */ (e.target).value;

/** Focuses an element once it is in the document. @param {Element | undefined} element */
const focus = (element) => queueMicrotask(() => /** @type {HTMLElement | undefined} */ (element)?.focus());
