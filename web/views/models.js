// What the models have cost, and which models there are.

import { html, nothing, count, counted, money } from '../dom.js';
import { get, part } from '../api.js';
import { poll } from '../list.js';
import { bar } from './agent.js';

/** @typedef {import('../api.js').Schemas} Schemas */

// How many rows are shown at once; the filter finds the other models.
const most = 100;

export default class Models {
  title = 'Models';
  /** @type {Schemas['Spending'] | undefined} */
  spending;
  /** @type {Schemas['Models'] | undefined} */
  models;
  by = 'model';
  since = '';
  /** Whether models are shown whose vendors have no key here. */
  all = false;
  filter = '';
  /** Ends what follows the spending that was asked for. @type {AbortController | undefined} */
  following;

  /** @param {import('../app.js').Page} page */
  constructor(page) { this.page = page; }

  /** @param {AbortSignal} signal */
  async open(signal) {
    this.signal = signal;
    await Promise.all([this.fetchModels(), this.follow()]);
  }

  /** Follows the spending that is asked for now, until another one is. */
  async follow() {
    this.following?.abort();
    const one = this.following = new AbortController();
    this.signal?.addEventListener('abort', () => one.abort());
    await poll(`/v1/spending?by=${part(this.by)}&since=${part(this.since)}`, 5000, one.signal, (s) => { this.spending = s; this.page.changed(); }, this.page.failed);
  }

  async fetchModels() {
    this.models = await get(this.all ? '/v1/models?all=1' : '/v1/models', this.signal);
    this.page.changed();
  }

  draw() {
    return html`<h1>Models</h1>
      <h2>Spending</h2>
      <p class="actions">
        ${this.choice('Add up by', this.by, { model: 'model', agent: 'agent', day: 'day' }, (v) => { this.by = v; })}
        ${this.choice('of', this.since, { '1d': 'today', '7d': 'the last 7 days', '30d': 'the last 30 days', '': 'all time' }, (v) => { this.since = v; })}</p>
      ${this.spending ? drawSpending(this.spending) : html`<p class="waits">Asking what was spent …</p>`}
      <h2>Models to choose from</h2>
      ${this.models ? this.drawModels(this.models) : html`<p class="waits">Asking for the models …</p>`}`;
  }

  /** @param {string} label @param {string} now @param {Record<string, string>} choices @param {(value: string) => void} set */
  choice(label, now, choices, set) {
    const chosen = (/** @type {Event} */ e) => {
      set(/** @type {HTMLSelectElement} */ (e.target).value);
      this.spending = undefined;
      this.follow().catch(this.page.failed);
      this.page.changed();
    };
    return html`<label>${label} <select @change=${chosen}>
      ${Object.entries(choices).map(([value, text]) => html`<option value=${value} ?selected=${value === now}>${text}</option>`)}</select></label>`;
  }

  /** @param {Schemas['Models']} m */
  drawModels(m) {
    const wanted = this.filter.toLowerCase();
    const found = m.models.filter((x) => `${x.model} ${x.name ?? ''} ${(x.aliases ?? []).join(' ')}`.toLowerCase().includes(wanted));
    const missing = m.vendors.filter((v) => !v.key);
    return html`
      <p>${m.default ? html`Agents that name no model have <b><bdi>${m.default}</bdi></b>.` : 'There is no default model: an agent has to name one.'}</p>
      <p class="actions">
        <label>Find <input type="search" .value=${this.filter} @input=${(/** @type {InputEvent} */ e) => {
          this.filter = /** @type {HTMLInputElement} */ (e.target).value; this.page.changed(); }}></label>
        <label><input type="checkbox" .checked=${this.all} @change=${() => { this.all = !this.all; this.fetchModels().catch(this.page.failed); }}>
          also without a key</label></p>
      ${found.length === 0 ? html`<p>${m.models.length ? 'No model has that in its name.' : 'There is a key for none of the vendors below.'}</p>` : html`<table class="wide" tabindex="0" aria-label="Models">
        <thead><tr><th>Model</th><th class="number">Window</th><th class="number">Answer</th><th class="number">$ per M in</th><th class="number">$ per M out</th><th>Key</th><th>Takes</th></tr></thead>
        <tbody>${found.slice(0, most).map((x) => html`<tr class=${x.key ? '' : 'quiet'}>
          <th scope="row"><bdi>${x.model}</bdi></th>
          <td class="number">${known(x.window)}</td><td class="number">${known(x.output)}</td>
          <td class="number">${x.price ? x.price.input : 'unknown'}</td><td class="number">${x.price ? x.price.output : 'unknown'}</td>
          <td>${x.key ? 'yes' : 'no'}</td><td class="long">${(x.accepts ?? []).join(', ')}</td></tr>`)}</tbody></table>`}
      ${found.length > most ? html`<p class="quiet">${count(found.length - most)} more; type a part of a name to find one.</p>` : nothing}
      <p class="quiet">Prices are in US dollars per million tokens, as published up to ${m.date}.</p>
      ${missing.length ? html`<h3>Vendors without a key</h3>
        <table class="wide" tabindex="0" aria-label="Vendors without a key"><thead><tr><th>Vendor</th><th class="number">Models</th><th>What to set</th></tr></thead>
        <tbody>${missing.map((v) => html`<tr><th scope="row"><bdi>${v.vendor}</bdi></th><td class="number">${count(v.models)}</td><td class="text long">${v.hint ?? ''}</td></tr>`)}</tbody></table>` : nothing}`;
  }
}

/** @param {number | undefined} n */
const known = (n) => n ? count(n) : 'unknown';

/** @param {Schemas['Spending']} s */
function drawSpending(s) {
  if (s.total.calls === 0) return html`<p>No model was asked.</p>`;
  // Without a price the share is that of the tokens.
  const size = (/** @type {Schemas['Spent']} */ x) => s.total.cost ? x.cost : (x.usage.input ?? 0) + (x.usage.output ?? 0);
  const whole = Math.max(1, size(s.total));
  const shown = s.by === 'day' ? s.spent.slice(-most) : s.spent.slice(0, most);
  const row = (/** @type {Schemas['Spent']} */ x, /** @type {string} */ name) => html`<tr>
    <th scope="row"><bdi>${name}</bdi></th><td class="number">${count(x.calls)}</td>
    <td class="number">${count(x.usage.input)}</td><td class="number">${count(x.usage.output)}</td><td class="number">${cost(x)}</td>
    <td>${bar(size(x) / whole)} ${Math.round(100 * size(x) / whole)} %</td></tr>`;
  return html`<table class="wide" tabindex="0" aria-label="Spending">
      <thead><tr><th>${{ model: 'Model', agent: 'Agent', day: 'Day' }[s.by]}</th><th class="number">Calls</th><th class="number">Tokens in</th><th class="number">Tokens out</th>
        <th class="number">Cost</th><th>Share of the ${s.total.cost ? 'cost' : 'tokens'}</th></tr></thead>
      <tbody>${shown.map((x) => row(x, x.name))}</tbody><tfoot>${row(s.total, 'All')}</tfoot></table>
    ${s.spent.length > shown.length ? html`<p class="quiet">${count(s.spent.length - shown.length)} more are in the sum, and are not listed.</p>` : nothing}
    ${s.total.unpriced ? html`<p class="quiet">${counted(s.total.unpriced, 'call')} had no known price; a price in <code>~/.grapnel/prices.json</code> counts for later ones.</p>` : nothing}
    ${s.total.estimated ? html`<p class="quiet">The usage of ${counted(s.total.estimated, 'call')} was not reported, and is estimated.</p>` : nothing}`;
}

/** @param {Schemas['Spent']} x */
function cost(x) {
  if (x.unpriced === x.calls) return 'unknown';
  return x.unpriced ? `${money(x.cost) || '$0'} and ${counted(x.unpriced, 'call')} unknown` : money(x.cost) || '$0';
}
