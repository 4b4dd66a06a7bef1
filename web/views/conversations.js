// The conversations, and beside the list the one that is chosen.

import { html, nothing, counted, keyed, ref, repeat, when } from '../dom.js';
import { get, part, post } from '../api.js';
import { every } from '../list.js';
import { Actions } from './actions.js';
import { Composer } from './composer.js';
import { Conversation, gone } from './conversation.js';
import { Dialog } from './dialog.js';
import { Log } from './log.js';
import { tasks } from './tasks.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const lookAgain = 4000, listed = 60, matches = 20;

export default class Conversations {
  /** @type {Schemas['Conversation'][] | undefined} */
  list;
  shown = listed;
  /** @type {Schemas['Agent'][]} */
  agents = [];
  /** What a search has found. @type {Schemas['Match'][] | undefined} */
  found;
  words = '';
  searching = false;
  starting = false;
  /** The conversation that was just begun: one goes on in its field once that is there. */
  begun = '';
  /** @type {{ id: string, talk: Conversation, log: Log, composer: Composer, actions: Actions, end: AbortController } | undefined} */
  chosen;

  /** @param {import('../app.js').Page} page @param {string} [id] @param {string} [at] the message to show */
  constructor(page, id, at) {
    this.page = page;
    this.dialog = new Dialog(page);
    this.choose(id, at);
  }

  get title() { return this.chosen?.talk.about?.title || 'Conversations'; }

  /** @param {string} [id] @param {string} [at] */
  choose(id, at) {
    this.chosen?.end.abort();
    this.chosen = undefined;
    if (!id) return;
    const end = new AbortController(), talk = new Conversation(this.page, id), actions = new Actions(this.page, talk, this.dialog);
    const [, archived, index] = /^(archive-)?(\d+)$/.exec(at ?? '') ?? [];
    this.chosen = { id, talk, actions, end, log: new Log(this.page, talk, actions), composer: new Composer(this.page, talk) };
    talk.open(end.signal, index === undefined ? undefined : Number(index), !!archived).catch((err) => {
      if (end.signal.aborted) return;
      if (gone(err)) talk.missing = true; else this.page.failed(err);
      this.page.changed();
    });
  }

  /** @param {string} [id] @param {string} [at] */
  moved(id, at) {
    if (id !== this.chosen?.id || at) this.choose(id, at);
    this.look().catch(this.page.failed); // the place may have changed because there is one more, or one less
    return true;
  }

  /** Reads the list. @param {AbortSignal} [signal] */
  async look(signal) {
    this.list = (await get('/v1/conversations', signal)).conversations;
    this.page.changed();
  }

  /** @param {AbortSignal} signal */
  async open(signal) {
    signal.addEventListener('abort', () => this.chosen?.end.abort());
    await Promise.all([
      every(lookAgain, signal, () => this.look(signal), this.page.failed),
      get('/v1/agents', signal).then((a) => { this.agents = a.agents; this.page.changed(); }),
    ]);
  }

  draw() {
    return html`<div class="talks ${this.chosen ? 'open' : ''}">
      <aside class="list" aria-label="Conversations">
        <h1>Conversations</h1>
        <form class="actions" role="search" @submit=${(/** @type {SubmitEvent} */ e) => this.search(e)}>
          <label class="aside" for="words">Search</label><input id="words" name="words" type="search" placeholder="Search what was said" @search=${(/** @type {Event} */ e) => { if (!(/** @type {HTMLInputElement} */ (e.target).value)) this.found = undefined; this.page.changed(); }}>
          <button>Search</button></form>
        ${this.page.may('converse') ? this.start() : nothing}
        ${this.searching ? html`<p class="waits">Searching …</p>` : this.found ? this.results(this.found) : this.entries()}
      </aside>
      <section class="talk" aria-label="Conversation">${this.chosen ? keyed(this.chosen.id, this.conversation(this.chosen)) : html`<p class="quiet">Choose a conversation, or begin one.</p>`}</section>
      ${this.dialog.draw()}
    </div>`;
  }

  /** Begins a conversation. */
  start() {
    if (!this.starting) return html`<p><button @click=${() => { this.starting = true; this.page.changed(); }}>New conversation</button></p>`;
    const agents = [...this.agents.filter((a) => a.model), ...this.agents.filter((a) => !a.model)]; // the first one is chosen: it can run
    return html`<form class="card start" @submit=${(/** @type {SubmitEvent} */ e) => this.begin(e)}>
      <label>Agent <select name="agent" ${ref(focus)}>${agents.map((a) => html`<option value=${a.name}>${a.name}${a.model ? '' : ' (names no model)'}</option>`)}</select></label>
      <label>Sender <input name="sender" maxlength="256" placeholder="a new one"></label>
      <div class="actions"><button class="primary">Begin</button><button type="button" @click=${() => { this.starting = false; this.page.changed(); }}>Leave it</button></div></form>`;
  }

  /** @param {SubmitEvent} e */
  async begin(e) {
    e.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (e.target)), agent = String(form.get('agent') ?? ''), sender = String(form.get('sender'));
    try {
      const made = await post('/v1/conversations', { ...(agent && { agent }), ...(sender && { sender }) });
      this.starting = false;
      this.page.go('conversations', made.id);
      this.begun = made.id;
    } catch (err) { this.page.failed(err); }
  }

  entries() {
    const now = this.chosen?.talk.about, list = this.list?.map((c) => c.id === now?.id ? now : c); // of the open one more is known, and earlier
    if (!list) return html`<p class="waits">Asking the daemon …</p>`;
    if (list.length === 0) return html`<p class="quiet">There are none yet.</p>`;
    return html`<ul>${repeat(list.slice(0, this.shown), (c) => c.id, (c) => html`<li>
        <a href="#/conversations/${part(c.id)}" aria-current=${c.id === this.chosen?.id ? 'page' : nothing}>
          <span class="text">${c.title || 'nothing said yet'}</span>
          <span class="quiet line">${when(c.updated)} · ${counted(c.turns, 'turn')}</span>
          <span class="quiet line" title=${c.sender}><bdi>${c.agent}</bdi> · <bdi>${short(c.sender)}</bdi></span>
          ${this.marks(c)}</a></li>`)}</ul>
      ${list.length > this.shown ? html`<button @click=${() => { this.shown = Math.min(this.shown + listed, 3 * listed); this.page.changed(); }} ?disabled=${this.shown >= 3 * listed}>${
        this.shown >= 3 * listed ? `${counted(list.length - this.shown, 'more conversation')}: search for them` : `Show more of ${list.length}`}</button>` : nothing}`;
  }

  /** @param {Schemas['Conversation']} c */
  marks(c) {
    const waits = this.page.waiting.of(c.id).some((x) => !x.over) || c.inquiries;
    const runs = c.turn && !(c.id === this.chosen?.id && this.chosen.talk.ran === c.turn);
    if (!runs && !c.interrupted && !waits) return nothing;
    return html`<span class="marks">${runs ? html`<span class="mark live">runs</span>` : nothing}${waits ? html`<span class="mark warn">waits for a person</span>` : nothing}${
      c.interrupted && !c.turn ? html`<span class="mark warn">interrupted</span>` : nothing}</span>`;
  }

  /** @param {SubmitEvent} e */
  async search(e) {
    e.preventDefault();
    const words = this.words = String(new FormData(/** @type {HTMLFormElement} */ (e.target)).get('words')).trim();
    if (!words) { this.found = undefined; return this.page.changed(); }
    this.searching = true;
    this.page.changed();
    try {
      this.found = (await get(`/v1/search?q=${part(words)}&limit=${matches}`)).matches;
      this.page.say(`${counted(this.found?.length ?? 0, 'message')} found`);
    } catch (err) { this.page.failed(err); }
    this.searching = false;
    this.page.changed();
  }

  /** @param {Schemas['Match'][]} found */
  results(found) {
    return html`<p>${counted(found.length, 'message')} with <bdi>${this.words}</bdi> <button @click=${() => { this.found = undefined; this.page.changed(); }}>Show all conversations</button></p>
      <ul>${found.map((m) => html`<li><a href=${`#/conversations/${part(m.conversation)}/${m.archived ? 'archive-' : ''}${m.message}`}>
        <span class="text">${m.snippet}</span>
        <span class="quiet line">${when(m.updated)} · ${m.role}${m.archived ? ' · in the archive' : ''}</span>
        <span class="quiet line" title=${m.sender}><bdi>${m.agent}</bdi> · <bdi>${short(m.sender)}</bdi></span></a></li>`)}</ul>`;
  }

  /** @param {NonNullable<Conversations['chosen']>} c */
  conversation({ talk, log, composer, actions }) {
    const t = talk.about;
    if (talk.missing) return html`<h2>No such conversation</h2><p>It does not exist, or not any more. <a href="#/conversations">All conversations</a></p>`;
    if (!t) return html`<p class="waits">Reading the conversation …</p>`;
    if (talk.id === this.begun && talk.history.loaded) {
      this.begun = '';
      requestAnimationFrame(() => document.getElementById('say')?.focus());
    }
    return html`<div class="head">
        <a class="back" href="#/conversations">← All conversations</a>
        <h2 class="text">${t.title || 'A new conversation'}</h2>
        <p class="quiet"><bdi>${t.agent}</bdi> with <bdi>${t.sender}</bdi> · ${t.turn || talk.running ? `turn ${t.turns + 1} runs` : counted(t.turns, 'turn')} · ${talk.agent?.model ?? ''}</p>
        ${actions.draw()}
        ${tasks(talk)}</div>
      ${talk.lost ? html`<p class="warn lost" role="status">The connection is lost: ${talk.lost}. Trying again …</p>` : nothing}
      ${talk.waitsForDaemon ? html`<p class="warn">The turn was interrupted, and waits for a daemon that has its project.</p>` : nothing}
      ${t.interrupted && !t.turn ? html`<p class="warn">A turn was interrupted: its process has died. Resume continues it.</p>` : nothing}
      ${log.draw()}
      ${composer.draw()}`;
  }
}

/** A name with its two ends, of which the last one differs most. @param {string} name */
const short = (name) => name.length > 20 ? `${name.slice(0, 5)}…${name.slice(-13)}` : name;

/** Who opens the form goes on in it. @param {Element | undefined} el */
const focus = (el) => { if (el instanceof HTMLElement) requestAnimationFrame(() => el.focus()); };
