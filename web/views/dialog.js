// A question before something is done that cannot be taken back, or that wants to be looked at first.

import { html, nothing, ref } from '../dom.js';

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {unknown} body what will be done
 * @property {string} [yes] the label of the button that does it; without it there is nothing to do
 * @property {boolean} [danger]
 * @property {(form: FormData) => Promise<void>} [act]
 */

export class Dialog {
  /** @type {Question | undefined} */
  question;
  busy = false;

  /** @param {import('../app.js').Page} page */
  constructor(page) { this.page = page; }

  /** @param {Question} question */
  ask(question) {
    this.question = question;
    this.page.changed();
  }

  draw() {
    const q = this.question;
    if (!q) return nothing;
    return html`<dialog aria-labelledby="question" ${ref((el) => { const d = /** @type {HTMLDialogElement | undefined} */ (el); queueMicrotask(() => { if (d?.isConnected && !d.open) d.showModal(); }); })}
        @close=${() => { this.question = undefined; this.page.changed(); }}>
      <form @submit=${(/** @type {SubmitEvent} */ e) => this.act(e)}>
        <h2 id="question">${q.title}</h2>
        ${q.body}
        <p class="actions">
          ${q.yes ? html`<button class=${q.danger ? 'danger' : 'primary'} ?disabled=${this.busy}>${this.busy ? 'Wait …' : q.yes}</button>` : nothing}
          <button type="button" ?autofocus=${!!q.danger} @click=${(/** @type {Event} */ e) => close(e)}>${q.yes ? 'Leave it' : 'Close'}</button></p>
      </form></dialog>`;
  }

  /** @param {SubmitEvent} e */
  async act(e) {
    e.preventDefault();
    const form = /** @type {HTMLFormElement} */ (e.target), q = this.question;
    if (!q?.act || this.busy) return;
    this.busy = true;
    this.page.changed();
    try {
      await q.act(new FormData(form));
    } catch (err) {
      this.page.failed(err);
    }
    this.busy = false;
    if (this.question === q) form.closest('dialog')?.close();
    this.page.changed();
  }
}

/** @param {Event} e */
const close = (e) => /** @type {HTMLElement} */ (e.target).closest('dialog')?.close();
