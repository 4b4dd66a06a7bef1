// What one can do with a conversation besides speaking in it.

import { html, nothing, counted, size } from '../dom.js';
import { blob, post } from '../api.js';
import { reveal } from '../text.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {import('./conversation.js').Conversation} Conversation */

const mostPaths = 100;

export class Actions {
  /** @param {import('../app.js').Page} page @param {Conversation} talk @param {import('./dialog.js').Dialog} dialog */
  constructor(page, talk, dialog) {
    this.page = page;
    this.talk = talk;
    this.dialog = dialog;
  }

  draw() {
    const t = this.talk.about, runs = !!(t?.turn || this.talk.running), speaks = this.page.may('converse');
    return html`<div class="actions">
      ${runs && speaks ? html`<button class="danger" @click=${() => this.stop()}>Stop</button>` : nothing}
      ${t?.interrupted && !runs && speaks ? html`<button class="primary" @click=${() => this.do('resume', {}, 'The turn goes on.')}>Resume</button>` : nothing}
      ${speaks ? html`<button ?disabled=${runs} @click=${() => this.compact()}>Compact</button>
      <button ?disabled=${runs} @click=${() => this.undo(false)}>Undo</button>
      <button ?disabled=${runs} @click=${() => this.undo(true)}>Redo</button>` : nothing}
      <button @click=${() => this.export()}>Export</button>
      ${this.page.may('administer') ? html`<button class="danger" ?disabled=${runs} @click=${() => this.delete()}>Delete</button>` : nothing}
    </div>`;
  }

  /** @param {string} what @param {unknown} body @param {string} said */
  async do(what, body, said) {
    try {
      const answer = await post(`${this.talk.path}/${what}`, body);
      if (said) this.page.say(said);
      await this.talk.refresh();
      return answer;
    } catch (err) {
      this.page.failed(err);
      return undefined;
    }
  }

  stop() { return this.do('cancel', {}, 'The turn is being stopped.'); }

  compact() {
    this.dialog.ask({
      title: 'Sum up older turns?', yes: 'Sum up',
      body: html`<p>The agent's model writes a summary in the place of the older turns. They go to the archive. This costs a call of the model.</p>
        <p><label>Turns that stay as they are <input name="keep" type="number" min="1" value="2"></label></p>
        <p><label>What the summary has to pay attention to <input name="focus"></label></p>`,
      act: async (form) => {
        const focus = String(form.get('focus'));
        const c = /** @type {Schemas['Compaction']} */ (await post(`${this.talk.path}/compact`, { keep: Number(form.get('keep')), ...(focus && { focus }) }));
        this.page.say(`The summary stands for ${counted(c.archived, 'message')}.`);
        await this.talk.refresh();
      },
    });
  }

  /** @param {boolean} redo */
  async undo(redo) {
    try {
      const plan = /** @type {Schemas['Undone']} */ (await post(`${this.talk.path}/undo`, { dry_run: true, redo }));
      this.dialog.ask({
        title: redo ? 'Take back the last undo?' : 'Take back what the last turn changed in the project?', yes: redo ? 'Redo' : 'Undo', danger: true,
        body: html`<p>Turn ${plan.turns.map((t) => t.number).join(', ')}. The messages stay.</p>
          ${paths('Is put back or changed', plan.restored)}${paths('Is removed', plan.removed)}
          ${paths('Stays, because somebody else has changed it', plan.conflicts.map((c) => `${c.path}: ${c.why}`))}
          ${paths('Is lost', plan.lost.map((c) => `${c.path}: ${c.why}`))}
          ${plan.restored.length + plan.removed.length + plan.conflicts.length + plan.lost.length === 0 ? html`<p>No file would change: they are as they were before it.</p>` : nothing}
          ${plan.unended ? html`<p class="warn">The program ended within the turn, so what others have changed since counts as its own.</p>` : nothing}`,
        act: async () => {
          const done = /** @type {Schemas['Undone']} */ (await post(`${this.talk.path}/undo`, { redo }));
          this.page.say(`${counted(done.restored.length, 'file')} put back, ${counted(done.removed.length, 'file')} removed.`);
        },
      });
    } catch (err) { this.page.failed(err); }
  }

  async export() {
    try {
      const url = URL.createObjectURL(await blob(`${this.talk.path}/export`)), link = document.createElement('a');
      link.href = url;
      link.download = `conversation-${this.talk.id.replace(/[^\w-]/g, '')}.jsonl`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (err) { this.page.failed(err); }
  }

  async delete() {
    try {
      const conversation = this.talk.id, plan = /** @type {Schemas['Deleted']} */ (await post('/v1/deletions', { conversation, dry_run: true }));
      this.dialog.ask({
        title: 'Delete this conversation for good?', yes: 'Delete for good', danger: true,
        body: html`<p>${counted(plan.conversations.length, 'conversation')}, with those of delegated tasks. This cannot be taken back.</p>
          <table><thead><tr><th>Where</th><th>Deleted</th><th>Stays</th></tr></thead><tbody>${plan.places.slice(0, mostPaths).map((p) => html`<tr>
            <td>${p.place}</td><td>${p.deleted} ${p.what ?? ''}${p.bytes ? `, ${size(p.bytes)}` : ''}</td><td>${p.kept ?? ''}</td></tr>`)}</tbody></table>`,
        act: async () => {
          await post('/v1/deletions', { conversation });
          this.page.say('The conversation is deleted.');
          this.page.go('conversations');
        },
      });
    } catch (err) { this.page.failed(err); }
  }

  /** @param {number} turns */
  fork(turns) {
    this.dialog.ask({
      title: 'Fork the conversation?', yes: 'Fork',
      body: html`<p>A new conversation begins with the first ${counted(turns, 'turn')} of this one, which stays as it is.</p>`,
      act: async () => {
        const made = /** @type {Schemas['Conversation']} */ (await post(`${this.talk.path}/fork`, { turns }));
        this.page.go('conversations', made.id);
      },
    });
  }

  /** @param {number} turns */
  rewind(turns) {
    this.dialog.ask({
      title: 'Rewind the conversation?', yes: 'Rewind', danger: true,
      body: html`<p>The first ${counted(turns, 'turn')} stay. Everything after them goes, as if it had not been said. What tools have done is not undone.</p>`,
      act: async () => {
        await post(`${this.talk.path}/rewind`, { turns });
        await this.talk.refresh();
      },
    });
  }
}

/** @param {string} title @param {string[]} list */
const paths = (title, list) => list.length === 0 ? nothing : html`<h3>${title} (${list.length})</h3>
  <ul>${list.slice(0, mostPaths).map((p) => html`<li class="mono">${reveal(p)}</li>`)}</ul>${list.length > mostPaths ? html`<p>and ${list.length - mostPaths} more</p>` : nothing}`;
