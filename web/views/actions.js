// What one can do with a conversation besides speaking in it.

import { html, nothing, count, counted, size } from '../dom.js';
import { Failure, blob, post } from '../api.js';
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
    const t = this.talk.about, runs = !!(t?.turn || this.talk.running), speaks = this.page.may('converse'), turns = t?.turns ?? 0;
    return html`<div class="actions">
      ${t?.interrupted && !runs && speaks ? html`<button class="primary" @click=${() => this.do('resume', {}, 'The turn goes on.')}>Resume</button>` : nothing}
      ${speaks ? html`<button ?disabled=${runs || turns < 2} @click=${() => this.compact(turns)}>Compact</button>
      <button ?disabled=${runs || turns === 0} @click=${() => this.undo(false)}>Undo files …</button>
      <button ?disabled=${runs || turns === 0} @click=${() => this.undo(true)}>Redo files …</button>` : nothing}
      <button @click=${() => this.export()}>Export</button>
      ${this.page.may('administer') ? html`<button class="danger" ?disabled=${runs} @click=${() => this.delete()}>Delete</button>` : nothing}
      ${runs && speaks ? html`<button class="danger" @click=${() => this.stop()}>Stop</button>` : nothing}
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

  /** @param {number} turns how many there are */
  compact(turns) {
    this.dialog.ask({
      title: 'Sum up older turns?', yes: 'Sum up',
      body: html`<p>The agent's model writes a summary in the place of the older turns. They go to the archive. This costs a call of the model.</p>
        <p><label>Turns that stay as they are <input name="keep" type="number" min="1" max=${turns - 1} value=${Math.min(2, turns - 1)}> of ${turns}</label></p>
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
      const plan = /** @type {Schemas['Undone']} */ (await post(`${this.talk.path}/undo`, { dry_run: true, redo })), which = `turn ${plan.turns.map((t) => t.number).join(', ')}`;
      this.dialog.ask({
        title: redo ? `Change the files again, as ${which} did?` : `Put the files back as they were before ${which}?`, yes: redo ? 'Redo' : 'Undo', danger: true,
        body: html`<p>${redo ? 'It was undone last.' : 'It is the last one that may have changed files, and is not undone yet.'} The messages stay.</p>
          ${paths('Is put back or changed', plan.restored)}${paths('Is removed', plan.removed)}
          ${paths('Stays, because somebody else has changed it', plan.conflicts.map((c) => `${c.path}: ${c.why}`))}
          ${paths('Is lost', plan.lost.map((c) => `${c.path}: ${c.why}`))}
          ${plan.restored.length + plan.removed.length + plan.conflicts.length + plan.lost.length === 0 ? html`<p>No file would change: they are as they were before it.</p>` : nothing}
          ${plan.unended ? html`<p class="warn">The program ended within the turn, so what others have changed since counts as its own.</p>` : nothing}`,
        act: async () => {
          const done = /** @type {Schemas['Undone']} */ (await post(`${this.talk.path}/undo`, { redo, latest: plan.turns[0]?.id ?? '' })); // what is shown, also if another turn has run meanwhile
          this.page.say(`${counted(done.restored.length, 'file')} put back, ${counted(done.removed.length, 'file')} removed.`);
        },
      });
    } catch (err) {
      if (!(err instanceof Failure) || err.code !== 'idle') return this.page.failed(err);
      this.dialog.ask({ title: redo ? 'There is nothing to redo' : 'There is nothing to undo', body: html`<p>The daemon says: ${err.message}.</p>` });
    }
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
        body: html`<p>${plan.conversations.length === 1 ? 'This conversation' : `This conversation and ${counted(plan.conversations.length - 1, 'conversation')} of tasks that it delegated`}. This cannot be taken back.</p>
          <table><thead><tr><th>Where</th><th>Deleted</th><th>Stays</th></tr></thead><tbody>${plan.places.filter((p) => p.deleted || p.kept).slice(0, mostPaths).map((p) => html`<tr>
            <td>${p.place}</td><td>${p.deleted ? `${p.what ?? 'entries'}: ${count(p.deleted)}` : 'nothing'}${p.bytes ? `, ${size(p.bytes)}` : ''}</td><td>${p.kept ?? ''}</td></tr>`)}</tbody></table>`,
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
      body: html`<p>A new conversation begins with the first ${turns === 1 ? 'turn' : counted(turns, 'turn')} of this one, which stays as it is. Its events stay here too: who decided, and when.</p>`,
      act: async () => {
        const made = /** @type {Schemas['Conversation']} */ (await post(`${this.talk.path}/fork`, { turns }));
        this.page.go('conversations', made.id);
      },
    });
  }

  /** @param {number} turns */
  rewind(turns) {
    const seen = this.talk.about?.turns ?? 0;
    this.dialog.ask({
      title: 'Rewind the conversation?', yes: 'Rewind', danger: true,
      body: html`<p>The first ${turns === 1 ? 'turn stays' : `${counted(turns, 'turn')} stay`}. Everything after them goes, as if it had not been said. What tools have done is not undone.</p>`,
      act: async () => {
        await post(`${this.talk.path}/rewind`, { turns, of: seen });
        await this.talk.refresh();
      },
    });
  }
}

/** @param {string} title @param {string[]} list */
const paths = (title, list) => list.length === 0 ? nothing : html`<h3>${title} (${list.length})</h3>
  <ul>${list.slice(0, mostPaths).map((p) => html`<li class="mono">${reveal(p)}</li>`)}</ul>${list.length > mostPaths ? html`<p>and ${list.length - mostPaths} more</p>` : nothing}`;
