// The agents: a list of them, or one of them (see agent.js).

import { html, count } from '../dom.js';
import { part } from '../api.js';
import { poll } from '../list.js';
import { drawAgent, modelOf, withCode } from './agent.js';

/** @typedef {import('../api.js').Schemas} Schemas */

/** @typedef {{ agent?: Schemas['Agent'], prompt?: Schemas['Prompt'], tools?: Schemas['Tool'][], filter: string }} One what is known of one agent */

// How many agents are listed at most: clients may make any number.
const most = 300;

export default class Agents {
  title = 'Agents';
  /** @type {Schemas['Agent'][] | undefined} */
  agents;
  /** The model of agents that name none; '' is none. @type {string | undefined} */
  standard;
  /** @type {One} */
  one = { filter: '' };

  /** @param {import('../app.js').Page} page @param {string} [name] the agent that is shown; without it the list is */
  constructor(page, name = '') {
    this.page = page;
    this.name = name;
    if (name) this.title = `Agent ${name}`;
  }

  /** @param {AbortSignal} signal */
  async open(signal) {
    const name = part(this.name), every = 10_000, { failed } = this.page;
    const standard = poll('/v1/models', every, signal, (m) => { this.standard = m.default ?? ''; this.page.changed(); }, failed);
    await Promise.all(!name ? [standard, poll('/v1/agents', 5000, signal, (a) => { this.agents = a.agents; this.page.changed(); }, failed)] : [
      standard,
      poll(`/v1/agents/${name}`, every, signal, (a) => { this.one.agent = a; this.page.changed(); }, failed),
      poll(`/v1/agents/${name}/prompt`, every, signal, (p) => { this.one.prompt = p; this.page.changed(); }, failed),
      poll(`/v1/tools?agent=${name}`, every, signal, (t) => { this.one.tools = t.tools; this.page.changed(); }, failed),
    ]);
  }

  draw() {
    if (this.name) return drawAgent(this.name, this.one, this.page, this.standard);
    if (!this.agents) return html`<p class="waits">Asking for the agents …</p>`;
    return html`
      <h1>Agents</h1>
      ${this.agents.length === 0 ? html`<p>None is registered.</p>` : html`<table class="wide" tabindex="0" aria-label="Agents">
        <thead><tr><th>Agent</th><th>What for</th><th>Model</th><th class="number">Tools</th></tr></thead>
        <tbody>${this.agents.slice(0, most).map((a) => html`<tr>
          <th scope="row"><a href="#/agents/${part(a.name)}"><bdi>${a.name}</bdi></a></th><td class="text long">${withCode(a.description ?? '')}</td>
          <td>${modelOf(a.model, this.standard)}</td><td class="number">${count(a.tools.length)}</td></tr>`)}</tbody></table>`}
      ${this.agents.length > most ? html`<p class="quiet">${count(this.agents.length - most)} more are not listed; <code>#/agents/NAME</code> shows one of them.</p>` : ''}`;
  }
}
