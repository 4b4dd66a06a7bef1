// Where one writes to an agent. The text stays in its field until it is sent, so that typing waits for nothing.

import { html, nothing, ref, size } from '../dom.js';

/** @typedef {import('../api.js').Schemas} Schemas */

const mostFiles = 20, largest = 16 << 20, together = 24 << 20;

export class Composer {
  /** @type {{ name: string, bytes: number, data: string }[]} */
  files = [];
  /** What becomes of a message while a turn runs. @type {'steer' | 'queue'} */
  busy = 'steer';
  /** @type {HTMLTextAreaElement | undefined} */
  field;

  /** @param {import('../app.js').Page} page @param {import('./conversation.js').Conversation} talk */
  constructor(page, talk) {
    this.page = page;
    this.talk = talk;
  }

  draw() {
    if (!this.page.may('converse')) return html`<p class="quiet">Your token may read this conversation, and not speak in it.</p>`;
    const runs = !!(this.talk.about?.turn || this.talk.running);
    return html`<form class="composer" @submit=${(/** @type {Event} */ e) => { e.preventDefault(); this.send(); }}>
      <label class="aside" for="say">Message</label>
      <textarea id="say" rows="3" placeholder="Write to the agent. Enter sends, Shift+Enter begins a line." @keydown=${(/** @type {KeyboardEvent} */ e) => this.key(e)}
        @paste=${(/** @type {ClipboardEvent} */ e) => this.attach(e.clipboardData?.files)} ${ref((el) => { this.field = /** @type {HTMLTextAreaElement} */ (el); })}></textarea>
      ${this.files.length ? html`<ul class="files">${this.files.map((f) => html`<li><bdi>${f.name}</bdi>, ${size(f.bytes)}
        <button type="button" aria-label="Leave out ${f.name}" @click=${() => { this.files = this.files.filter((x) => x !== f); this.page.changed(); }}>✕</button></li>`)}</ul>` : nothing}
      <div class="actions">
        <button class="primary">${runs ? (this.busy === 'steer' ? 'Steer' : 'Queue') : 'Send'}</button>
        <label class="button">Attach files <input class="aside" type="file" multiple @change=${(/** @type {Event} */ e) => this.chosen(e)}></label>
        ${runs ? html`<label>While it runs <select @change=${(/** @type {Event} */ e) => { this.busy = /** @type {HTMLSelectElement} */ (e.target).value === 'queue' ? 'queue' : 'steer'; this.page.changed(); }}>
          <option value="steer" ?selected=${this.busy === 'steer'}>tell it before its next step</option><option value="queue" ?selected=${this.busy === 'queue'}>wait until it has ended</option></select></label>` : nothing}
      </div></form>`;
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return;
    e.preventDefault();
    this.send();
  }

  async send() {
    const field = this.field, text = field?.value ?? '';
    if (!field || !text.trim()) return;
    const runs = !!(this.talk.about?.turn || this.talk.running), files = this.files;
    field.value = '';
    this.files = [];
    try {
      await this.talk.send({ text, ...(files.length && { files: files.map(({ name, data }) => ({ name, data })) }), ...(runs && { when_busy: this.busy }) });
    } catch (err) {
      if (!field.value) { field.value = text; this.files = files; }
      this.page.failed(err);
    }
  }

  /** @param {Event} e */
  async chosen(e) {
    const input = /** @type {HTMLInputElement} */ (e.target);
    await this.attach(input.files);
    input.value = '';
  }

  /** @param {FileList | null | undefined} list */
  async attach(list) {
    for (const f of list ?? []) {
      try {
        if (this.files.length >= mostFiles) throw new Error(`${f.name}: a message has at most ${mostFiles} files`);
        if (f.size > largest || this.files.reduce((sum, x) => sum + x.bytes, f.size) > together) throw new Error(`${f.name} is too large: a file has at most ${size(largest)}, all of a message ${size(together)}`);
        if (f.size === 0) throw new Error(`${f.name} is empty`);
        this.files = [...this.files, { name: f.name, bytes: f.size, data: await base64(f) }];
        this.page.changed();
      } catch (err) { this.page.failed(err); }
    }
  }
}

/** @param {File} file @returns {Promise<string>} */
const base64 = (file) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(String(reader.result).replace(/^[^,]*,/, ''));
  reader.onerror = () => failed(new Error(`${file.name} cannot be read`));
  reader.readAsDataURL(file);
});
