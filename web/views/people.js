// What waits for people: calls to approve and questions to answer, the oldest first.

import { html, nothing, counted, repeat } from '../dom.js';
import { Failure, get } from '../api.js';
import { waits } from './ask.js';

/** @typedef {import('../api.js').Schemas} Schemas */

// Each may be long; so many are shown at once.
const most = 5;

export default class People {
  title = 'Waiting';
  /** How many are passed over. */
  from = 0;
  /** @type {Schemas['Sandbox'] | undefined} */
  sandbox;
  /** Whether the browser shows notifications: to ask it takes long. @type {NotificationPermission | 'never'} */
  notices = permission();

  /** @param {import('../app.js').Page} page */
  constructor(page) { this.page = page; }

  /** @param {AbortSignal} signal */
  async open(signal) {
    const clock = setInterval(() => { if (this.page.waiting.open().length) this.page.changed(); }, 1000); // times are counted down
    signal.addEventListener('abort', () => clearInterval(clock));
    await this.page.waiting.look(signal);
    try {
      this.sandbox = await get('/v1/sandbox', signal);
    } catch (err) {
      if (!(err instanceof Failure && err.status === 404)) throw err;
    }
    this.page.changed();
  }

  draw() {
    const { waiting } = this.page;
    const { items } = waiting;
    this.from = Math.min(this.from, Math.max(0, items.length - 1));
    const after = items.length - this.from - most;
    return html`
      <h1>Waiting for you</h1>
      ${this.notice()}
      ${waiting.silent.length ? html`<p class="warn">${counted(waiting.silent.length, 'daemon')} did not answer in time: what waits there is not shown.</p>` : nothing}
      ${!waiting.looked ? html`<p class="waits">Asking the daemon …</p>` : items.length ? nothing : html`<p>Nothing waits.</p>`}
      ${this.from ? html`<p><button @click=${() => this.turn(-most)}>Show those before (${this.from})</button></p>` : nothing}
      ${repeat(items.slice(this.from, this.from + most), (item) => item.n, (item) => waits(this.page, item))}
      ${after > 0 ? html`<p><button @click=${() => this.turn(most)}>Show the next (${after} more)</button></p>` : nothing}
      ${this.sandbox ? confines(this.sandbox) : nothing}`;
  }

  /** Whether the browser tells when something waits, and a button to let it. */
  notice() {
    switch (this.notices) {
      case 'never': return html`<p class="quiet">This browser shows no notifications for this page.</p>`;
      case 'granted': return html`<p class="quiet">When this page is not in front, the browser tells you that something waits.</p>`;
      case 'denied': return html`<p class="quiet">The browser shows no notifications for this page. Its settings for this site can allow them.</p>`;
      default: return html`<p><button @click=${() => this.allow()}>Tell me when something waits</button></p>`;
    }
  }

  async allow() {
    await Notification.requestPermission().catch(this.page.failed);
    this.notices = permission();
    this.page.changed();
  }

  /** @param {number} by */
  turn(by) {
    this.from = Math.max(0, this.from + by);
    this.page.waiting.settle(0);
    const first = this.page.waiting.items[this.from];
    if (first) this.page.waiting.show(first);
  }
}

const permission = () => ('Notification' in window && isSecureContext ? Notification.permission : 'never');

/** What every command may do without further questions. @param {Schemas['Sandbox']} s */
function confines(s) {
  const open = s.level !== 'full' || !s.confined;
  return html`<details class="confines">
    <summary>The sandbox of commands: ${s.level === 'full' ? 'complete' : s.level === 'reduced' ? 'reduced' : 'none'} on this machine, ${
      s.confined ? 'so commands run without being asked about' : 'and commands are asked about'}</summary>
    <dl class="facts">
      ${open && (s.why || s.unasked) ? html`<dt>Why</dt><dd>${[s.why, s.unasked].filter(Boolean).join('; ')}</dd>` : nothing}
      ${list('Leaves open', s.open)}
      ${list('To have it whole', s.remedy)}
      <dt>Mode</dt><dd>${s.mode}</dd>
      ${list('They may write', s.writable)}
      ${list('They may read', s.readable)}
      ${list('What stays as it is', s.protected)}
      ${list('They reach', s.hosts.length ? s.hosts : ['nothing beyond this machine'])}
      ${list('Variables they see', s.variables)}
      <dt>Limits</dt><dd>${s.limits}</dd>
    </dl></details>`;
}

/** @param {string} name @param {string[] | undefined} values */
function list(name, values) {
  const all = [...new Set(values)]; // PATH may name a folder twice
  return all.length ? html`<dt>${name}</dt><dd class="text">${all.slice(0, 40).join('\n')}${all.length > 40 ? `\nand ${all.length - 40} more` : ''}</dd>` : nothing;
}
