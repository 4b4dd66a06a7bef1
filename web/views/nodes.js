// The daemons that share the store.

import { html, nothing, when } from '../dom.js';
import { poll } from '../list.js';

/** @typedef {import('../api.js').Schemas} Schemas */

// How many nodes, and how many projects of one, are shown at most.
const most = 100, mostProjects = 10;

export default class Nodes {
  title = 'Nodes';
  /** @type {Schemas['Node'][] | undefined} */
  nodes;

  /** @param {import('../app.js').Page} page */
  constructor(page) { this.page = page; }

  /** @param {AbortSignal} signal */
  open(signal) {
    return poll('/v1/nodes', 3000, signal, (answer) => { this.nodes = answer.nodes; this.page.changed(); }, this.page.failed);
  }

  draw() {
    const all = this.nodes;
    return html`<h1>Nodes</h1>
      ${!all ? html`<p class="waits">Asking the daemon …</p>`
        : all.length === 0 ? html`<p>This daemon shares its store with no other. With a PostgreSQL database several can run side by side.</p>`
          : html`<table class="wide list" tabindex="0" aria-label="Nodes">
        <thead><tr><th>Node</th><th>State</th><th>Turns</th><th>Last seen</th><th>Version</th><th>URL</th><th>Projects</th></tr></thead>
        <tbody>${all.slice(0, most).map(row)}</tbody></table>
        ${all.length > most ? html`<p class="quiet">${all.length - most} more are not listed; <code>grapnel nodes</code> has all.</p>` : nothing}`}`;
  }
}

/** @param {Schemas['Node']} n */
function row(n) {
  return html`<tr>
    <td><bdi class="mono">${n.id}</bdi>${n.self ? html` <b>answers here</b>` : nothing}</td>
    <td>${n.alive ? html`<span class="good">alive</span>` : html`<span class="bad">dead</span>`}</td>
    <td>${n.turns ?? (n.alive ? 'did not answer' : '–')}</td><td>${when(n.seen)}</td><td><bdi>${n.version ?? ''}</bdi></td><td><bdi>${n.url}</bdi></td>
    <td class="long">${n.projects.length === 0 ? '–' : n.projects.slice(0, mostProjects).map((p) => html`<div><bdi>${p.project}</bdi>${p.root === p.project ? nothing : html` in <bdi>${p.root}</bdi>`}
      ${p.differs ? html` <span class="warn">its files differ from those of another node</span>` : nothing}</div>`)}${n.projects.length > mostProjects ? html`<div class="quiet">and ${n.projects.length - mostProjects} more</div>` : nothing}</td></tr>`;
}
