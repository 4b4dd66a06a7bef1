// The MCP servers: how each is, what it offers, and what it has said on its error output.

import { html, nothing, counted, when } from '../dom.js';
import { poll } from '../list.js';
import { reveal } from '../text.js';

/** @typedef {import('../api.js').Schemas} Schemas */

// What the states mean, for who has not read the manual.
const meanings = {
  declared: 'Nobody has needed it so far; the first call starts it.', connecting: 'It is being started.', connected: '',
  idle: 'It was ended because nobody used it; the next call starts it.', lost: 'The next call starts it again.', refused: '', disabled: '',
};

// How many servers, and how many tools of one, are shown at most.
const most = 30, mostTools = 60;

export default class Servers {
  title = 'Servers';
  /** @type {Schemas['Server'][] | undefined} */
  servers;

  /** @param {import('../app.js').Page} page */
  constructor(page) { this.page = page; }

  /** @param {AbortSignal} signal */
  open(signal) {
    return poll('/v1/servers', 3000, signal, (answer) => { this.servers = answer.servers; this.page.changed(); }, this.page.failed);
  }

  draw() {
    return html`<h1>MCP servers</h1>
      ${!this.servers ? html`<p class="waits">Asking the daemon …</p>`
        : this.servers.length === 0 ? html`<p>This project uses none. They are declared in <code>.mcp.json</code>, or in the section <code>mcp</code> of an agent.</p>`
          : html`<p class="quiet">What a tool does, and which agent may use it, is on the page of an <a href="#/agents">agent</a>. Its calls are in the conversations.</p>
            ${this.servers.slice(0, most).map(one)}${this.servers.length > most ? html`<p class="quiet">${this.servers.length - most} more are not listed.</p>` : nothing}`}`;
  }
}

/** @param {Schemas['Server']} s */
function one(s) {
  const kind = s.state === 'connected' ? 'good' : s.state === 'lost' || s.state === 'refused' ? 'bad' : 'quiet';
  return html`<section class="card" aria-label=${s.name}>
    <h2 class="headed"><bdi>${s.name}</bdi> <span class=${kind}>${s.state}</span></h2>
    ${s.reason ? html`<p class="text">${reveal(s.reason)}</p>` : nothing}
    ${meanings[s.state] ? html`<p class="quiet">${meanings[s.state]}</p>` : nothing}
    <dl class="facts">
      ${s.since ? html`<dt>Since</dt><dd>${when(s.since)}</dd>` : nothing}
      <dt>${s.transport === 'http' ? 'URL' : 'Command'}</dt><dd class="mono">${reveal(s.place)}</dd>
      ${s.process ? html`<dt>Process</dt><dd>${s.process}</dd>` : nothing}
      <dt>For</dt><dd>${s.shared ? 'every agent' : 'the agent that declares it'}</dd>
      <dt>Tools</dt><dd>${s.tools.length === 0 ? 'none known yet' : html`${s.tools.slice(0, mostTools).map((t) => html`<bdi class="tag">${t}</bdi> `)}${s.tools.length > mostTools ? `and ${s.tools.length - mostTools} more` : nothing}`}</dd>
      ${s.refused_tools.length ? html`<dt>Refused tools</dt><dd>${s.refused_tools.slice(0, mostTools).map((t) => html`<div><bdi class="tag">${t.name}</bdi> <bdi>${t.reason}</bdi></div>`)}</dd>` : nothing}
    </dl>
    ${s.transport === 'http' ? nothing : s.log.length === 0 ? html`<p class="quiet">Its log is empty: that is what it writes to its error output, and it has written nothing since it was started.</p>`
      : html`<details ?open=${s.state === 'lost'}><summary>The end of its log (its error output), ${counted(s.log.length, 'line')}</summary>
        <pre tabindex="0" aria-label="log">${reveal(s.log.join('\n'))}</pre></details>`}
  </section>`;
}
