// The question before something is destroyed.

import { html, render } from './dom.js';

/**
 * Asks a person in a dialog, and says whether they want it. Escape is no.
 * @param {unknown} question @param {unknown} more what it is about, and what stays @param {string} action what the button says
 * @returns {Promise<boolean>}
 */
export function confirm(question, more, action) {
  const box = document.createElement('dialog');
  box.setAttribute('aria-labelledby', 'question');
  render(html`<h2 id="question">${question}</h2>${more}
    <div class="actions"><button class="danger" @click=${() => box.close('yes')}>${action}</button><button @click=${() => box.close()}>Cancel</button></div>`, box);
  document.body.append(box);
  box.showModal();
  /** @type {HTMLElement} */ (box.querySelector('button:last-child')).focus();
  return new Promise((done) => box.addEventListener('close', () => { box.remove(); done(box.returnValue === 'yes'); }));
}
