// One agent: its prompt as its model is told it, with who says each part, its tools, its settings, and its instruction files.

import { html, nothing, count, counted } from '../dom.js';
import { written } from '../written.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {import('./agents.js').One} One */

// How many tools are shown at once; the filter finds the others.
const mostTools = 100;

/** @param {string} name @param {One} one @param {import('../app.js').Page} page @param {string | undefined} standard the model of agents that name none */
export function drawAgent(name, one, page, standard) {
  const { agent, prompt } = one;
  return html`
    <p><a href="#/agents">All agents</a></p>
    <h1><bdi>${name}</bdi></h1>
    ${agent ? html`<p class="text">${withCode(agent.description || 'It has no description.')}</p>` : html`<p class="waits">Asking for the agent …</p>`}
    ${prompt ? html`${facts(prompt, standard)}${shares(prompt)}${promptTable(prompt)}${toolTable(one, prompt, page)}${sections(prompt)}${instructions(prompt)}`
      : html`<p class="waits">Asking for its prompt …</p>`}`;
}

/**
 * The model of an agent. One that has none cannot run.
 * @param {string | undefined} model @param {string | undefined} standard the one of agents that name none; undefined is not known
 */
export function modelOf(model, standard) {
  if (model) return html`<bdi>${model}</bdi>`;
  if (standard === '') return html`<span class="warn">none, so it cannot run: its file or <code>~/.grapnel/config.yaml</code> names one with <code>model:</code></span>`;
  return html`the default${standard ? html`, <bdi>${standard}</bdi>` : nothing}`;
}

/** A text in which `backticks` stand around code. @param {string} text */
export const withCode = (text) => text.split(/`([^`]+)`/).map((t, i) => (i % 2 ? html`<code>${t}</code>` : t));

/** @param {Schemas['Prompt']} p @param {string | undefined} standard */
const facts = (p, standard) => html`<dl class="facts">
  <dt>Model</dt><dd>${modelOf(p.model, standard)}</dd>
  <dt>Told before the history</dt><dd>about ${counted(p.tokens, 'token')}: ${count(p.tokens - p.tool_tokens)} of prompt, ${count(p.tool_tokens)} of tools</dd></dl>`;

/** Who says how much of it, the most first. @param {Schemas['Prompt']} p */
function shares(p) {
  /** @type {Map<string, { prompt: number, tools: number }>} */
  const of = new Map();
  const who = (/** @type {string} */ by) => of.get(by) ?? of.set(by, { prompt: 0, tools: 0 }).get(by);
  for (const x of p.parts) /** @type {any} */ (who(x.contributor)).prompt += x.tokens;
  for (const t of p.tools) /** @type {any} */ (who(t.owner)).tools += t.tokens;
  const rows = [...of].map(([by, n]) => ({ by, ...n, sum: n.prompt + n.tools })).sort((a, b) => b.sum - a.sum);
  return html`
    <h2>Who says how much</h2>
    <table class="wide" tabindex="0" aria-label="Who says how much">
      <thead><tr><th>Who</th><th class="number">Prompt</th><th class="number">Tools</th><th class="number">Together</th><th class="share">Share of all</th></tr></thead>
      <tbody>${rows.slice(0, mostTools).map((x) => html`<tr>
        <th scope="row"><bdi>${contributor(x.by)}</bdi></th><td class="number">${about(x.prompt)}</td><td class="number">${about(x.tools)}</td>
        <td class="number">${about(x.sum)}</td><td class="share">${share(x.sum, p)}</td></tr>`)}</tbody></table>
    ${rows.length > mostTools ? html`<p class="quiet">${count(rows.length - mostTools)} more say less.</p>` : nothing}`;
}

/** @param {number} tokens */
const about = (tokens) => (tokens ? `~${count(tokens)}` : '–');

/** @param {number} tokens @param {Schemas['Prompt']} p */
const share = (tokens, p) => html`${bar(tokens / Math.max(1, p.tokens))} ${(100 * tokens / Math.max(1, p.tokens)).toFixed(1)} %`;

/** @param {Schemas['Prompt']} p */
function promptTable(p) {
  return html`
    <h2>Prompt</h2>
    <p class="quiet">The parts in the order in which the model gets them. ${p.turn
      ? 'The last ones were added by hooks to the last turn, and are for that turn alone.'
      : 'Hooks have added nothing to the last turn, or there was none yet.'}</p>
    <table class="wide parts" tabindex="0" aria-label="Prompt">
      <thead><tr><th>Who says it, and where</th><th class="number">Tokens</th><th class="share">Share of all</th><th>Text</th></tr></thead>
      <tbody>${p.parts.map((x) => html`<tr>
        <th scope="row"><bdi>${contributor(x.contributor)}</bdi> <span class="place">${x.point}${x.id ? html` <bdi>${x.id}</bdi>` : nothing}</span></th>
        <td class="number">~${count(x.tokens)}</td>
        <td class="share">${share(x.tokens, p)}</td>
        <td class="long"><details><summary><bdi>${firstLine(x.text)}</bdi></summary><pre class="text">${x.text}</pre></details></td></tr>`)}</tbody></table>`;
}

/** @param {string} by */
const contributor = (by) => ({ agent: 'the agent itself', runtime: 'the runtime' })[by] ?? by;

// How much of a part is shown before somebody opens it.
const longestLine = 70;

/** @param {string} text */
function firstLine(text) {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  return line.length > longestLine ? `${line.slice(0, longestLine)}…` : line;
}

/** A bar as long as a part of a whole, beside the number that it shows. @param {number} share 0 to 1 */
export const bar = (share) => html`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width=${Math.max(1, share * 100)} height="10"></rect></svg>`;

/** @param {One} one @param {Schemas['Prompt']} p @param {import('../app.js').Page} page */
function toolTable(one, p, page) {
  const tools = one.tools;
  if (!tools) return html`<h2>Tools</h2><p class="waits">Asking for its tools …</p>`;
  const tokens = new Map(p.tools.map((t) => [t.name, t.tokens]));
  const wanted = one.filter.toLowerCase();
  const found = tools.filter((t) => `${t.name} ${t.owner}`.toLowerCase().includes(wanted));
  const mine = tools.filter((t) => !t.out_of_scope).length;
  return html`
    <h2>Tools</h2>
    <p class="quiet">It may use ${count(mine)} of ${counted(tools.length, 'tool')}${p.searched
      ? `; ${count(p.searched)} of them are told to the model when it searches for them` : ''}.</p>
    ${tools.length > 20 ? html`<p><label>Find <input type="search" .value=${one.filter}
      @input=${(/** @type {InputEvent} */ e) => { one.filter = /** @type {HTMLInputElement} */ (e.target).value; page.changed(); }}></label></p>` : nothing}
    <table class="wide" tabindex="0" aria-label="Tools">
      <thead><tr><th>Tool</th><th>Of</th><th class="number">Tokens</th><th class="share">Share of all</th><th>Allowed</th><th>What it does</th></tr></thead>
      <tbody>${found.slice(0, mostTools).map((t) => html`<tr class=${t.out_of_scope ? 'quiet' : ''}>
        <th scope="row" class="name"><bdi>${t.name}</bdi></th><td class="name"><bdi>${t.owner}</bdi></td>
        <td class="number">${tokens.has(t.name) ? `~${count(tokens.get(t.name))}` : ''}</td>
        <td class="share">${tokens.has(t.name) ? share(tokens.get(t.name) ?? 0, p) : nothing}</td>
        <td class="why">${t.out_of_scope ? html`no: <bdi>${t.out_of_scope}</bdi>` : 'yes'}</td>
        <td class="long"><bdi>${firstLine(t.description)}</bdi>${notes(t)}</td></tr>`)}</tbody></table>
    ${found.length > mostTools ? html`<p class="quiet">${count(found.length - mostTools)} more; type a part of a name to find one.</p>` : nothing}`;
}

/** @param {Schemas['Tool']} t */
function notes(t) {
  const words = [t.read_only && 'reads only', t.destructive && 'may destroy', t.idempotent && 'same again has no further effect', t.open_world && 'reaches outside'].filter(Boolean);
  return words.length ? html` <span class="quiet">(${words.join(', ')})</span>` : nothing;
}

/** @param {Schemas['Prompt']} p */
function sections(p) {
  const names = Object.keys(p.sections).sort();
  return html`
    <h2>Sections</h2>
    ${names.length === 0 ? html`<p>It has no settings of its own for subsystems.</p>` : html`<table class="wide" tabindex="0" aria-label="Sections">
      <thead><tr><th>Subsystem</th><th>Settings</th></tr></thead>
      <tbody>${names.map((n) => html`<tr><th scope="row"><bdi>${n}</bdi></th><td class="long"><code class="text">${written(p.sections[n], 1)}</code></td></tr>`)}</tbody></table>`}`;
}

/** @param {Schemas['Prompt']} p */
function instructions(p) {
  return html`
    <h2>Instruction files</h2>
    ${p.instructions_off ? html`<p>Turned off by <bdi>${p.instructions_off}</bdi>.</p>`
      : p.instructions.length === 0 ? html`<p>The project has none, such as AGENTS.md.</p>` : html`<table class="wide" tabindex="0" aria-label="Instruction files">
      <thead><tr><th>File</th><th class="number">Tokens</th><th>Imported by</th><th>Notes</th></tr></thead>
      <tbody>${p.instructions.slice(0, mostTools).map((f) => html`<tr>
        <th scope="row"><bdi>${f.path}</bdi></th><td class="number">~${count(f.tokens)}</td><td><bdi>${f.imported_by ?? ''}</bdi></td><td class="long"><bdi>${f.note ?? ''}</bdi></td></tr>`)}</tbody></table>`}`;
}
