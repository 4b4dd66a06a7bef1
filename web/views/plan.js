// The plan as a living picture: the fields of the composite as columns, the points as rows, and what a turn lights.

import { html, nothing, count, counted, duration, when } from '../dom.js';
import { get, part, stream } from '../api.js';
import { Lit } from '../lit.js';
import { denies, nameOf, purpose, recentTurns, runOf, said, turnPath } from '../runs.js';
import { fieldsOf } from './call.js';

/** @typedef {import('../api.js').Schemas} Schemas */

// A dot glows for so long; the page is drawn again so often while events come. In milliseconds.
const glows = 700, drawnEvery = 120;
const runsShown = 20, turnsNamed = 3;

/** How answers become one. @type {Record<string, string>} */
const combined = {
  union: 'all that they give is used', join: 'their texts are joined', fold: 'each gets the value of the one before', gate: 'the first that blocks ends it; else the most severe answer counts',
  judge: 'all are asked, and the most severe answer counts', first: 'the first answer counts', nest: 'each surrounds those after it', each: 'all are told',
};

export default class Plan {
  title = 'Plan';
  /** @type {Schemas['Plan'] | undefined} */
  plan;
  /** @type {Map<string, Schemas['PlanMember']>} */
  fields = new Map();
  /** @type {string[]} */
  lanes = [];
  lit = new Lit([]);
  recorded = true;
  /** The turns to choose from. @type {Schemas['RanTurn'][]} */
  turns = [];
  /** The turn that is replayed; undefined: what happens now is shown. @type {Schemas['RanTurn'] | undefined} */
  turn;
  /** The turns that run, by their id. @type {Map<string, Schemas['Event']>} */
  running = new Map();
  onlyTurns = true;
  /** The dot that somebody asks about; without a point it is the field. */
  chosen = { path: '', point: '' };
  /** The dot that Tab leads to. */
  at = '';
  timer = 0;

  /** @param {import('../app.js').Page} page @param {string} conversation @param {string} turn */
  constructor(page, conversation = '', turn = '') {
    this.page = page;
    this.place = { conversation, turn };
  }

  /** @param {AbortSignal} signal */
  async open(signal) {
    this.signal = signal;
    const [plan, health] = await Promise.all([get('/v1/plan', signal), get('/v1/health', signal)]);
    this.plan = plan;
    this.recorded = !!health.hooks;
    this.fields = fieldsOf(plan);
    this.lanes = [...this.fields].filter(([, f]) => !f.composite?.members.length).map(([path]) => path);
    this.lit = new Lit(this.lanes);
    this.page.changed();
    recentTurns(signal).then((turns) => { this.turns = turns; this.page.changed(); }, this.page.failed);
    this.replay().catch(this.page.failed);
    await stream('/v1/events?hooks=internal&payload=cut', { signal, event: (e) => this.happened(e) });
  }

  /** @param {string} conversation @param {string} turn */
  moved(conversation = '', turn = '') {
    this.place = { conversation, turn };
    this.lit = new Lit(this.lanes);
    this.replay().catch(this.page.failed);
    return true;
  }

  /** Shows what the chosen turn has lit. */
  async replay() {
    const { conversation, turn } = this.place;
    this.turn = undefined;
    if (!turn) return;
    /** @type {Schemas['TurnEvents']} */
    const answer = await get(`${turnPath(conversation, turn)}?hooks=internal`, this.signal);
    if (turn !== this.place.turn) return;
    this.turn = answer.turn;
    for (const e of answer.events) if (e.kind === 'hook_run') this.lit.add(e, 0);
    this.page.changed();
  }

  /** @param {Schemas['Event']} e */
  happened(e) {
    if (e.kind === 'turn_start' && !e.depth) {
      if (!this.running.size && !this.place.turn) this.lit = new Lit(this.lanes);
      this.running.set(e.turn ?? '', e);
    } else if (e.kind === 'turn_end' && !e.depth) this.running.delete(e.turn ?? '');
    else if (e.kind !== 'hook_run' || this.place.turn) return;
    else this.lit.add(e, performance.now());
    this.soon();
  }

  soon() {
    this.timer ||= window.setTimeout(() => {
      this.timer = 0;
      this.page.changed();
      const now = performance.now();
      if (!this.signal?.aborted && [...this.lit.dots.values()].some((d) => d.last && now - d.last < glows)) this.soon();
    }, drawnEvery);
  }

  draw() {
    if (!this.plan) return html`<p class="waits">Reading the plan …</p>`;
    const shown = this.plan.points.filter((p) => !this.onlyTurns || inTurn.has(p.scope));
    return html`
      <h1>Plan <span class="quiet mono">${this.plan.type}</span></h1>
      <p class="quiet">Each column is a field of the composite, each row a point, from the beginning of a turn to its end. A dot says that the field is asked there.
        Arrow keys move between the dots.</p>
      ${this.recorded ? nothing : html`<p class="card warned">This daemon records no hook runs, so nothing lights up: <code>grapnel serve --hooks</code> records them.</p>`}
      <div class="actions">
        <label>Show <select @change=${(/** @type {Event} */ e) => this.choose(/** @type {HTMLSelectElement} */ (e.target).value)}>
          <option value="" .selected=${!this.place.turn}>what happens now</option>
          ${this.turn && !this.turns.some((t) => t.id === this.turn?.id) ? this.option(this.turn) : nothing}
          ${this.turns.map((t) => this.option(t))}</select></label>
        <label><input type="checkbox" .checked=${this.onlyTurns} @change=${() => { this.onlyTurns = !this.onlyTurns; this.page.changed(); }}> only what is within turns</label>
      </div>
      ${this.now()}
      <div class="plan" tabindex="0" role="region" aria-label="The plan">
        <table @keydown=${(/** @type {KeyboardEvent} */ e) => this.walk(e)}>
          <thead><tr><th scope="col">Point</th>${this.lanes.map((path) => html`<th scope="col"><button class="lane" aria-pressed=${this.chosen.path === path && !this.chosen.point}
            @click=${() => this.ask(path, '')}>${path}</button></th>`)}</tr></thead>
          <tbody>${this.rows(shown)}</tbody>
        </table>
      </div>
      <section class="about" aria-live="polite">${this.about()}</section>
      <p class="legend quiet"><span class="dot">2</span> the second to be asked <span class="dot maybe">2</span> perhaps: known only at run time
        <span class="dot asked">3</span> was asked three times <span class="dot answered">1</span> and answered <span class="dot denied">✗</span> and denied
        <span class="dot broke">!</span> failed <span class="dot skipped">–</span> was not asked, because another one had ended it</p>
      ${this.plan.off?.length ? html`<p>Turned off: ${this.plan.off.map((o) => html`<span class="off"><b>${o.field}</b> by ${o.by}</span> `)}</p>` : nothing}`;
  }

  /** @param {Schemas['RanTurn']} t */
  option(t) {
    return html`<option value="${t.conversation} ${t.id}" .selected=${t.id === this.place.turn}>${nameOf(t, when(t.started))}</option>`;
  }

  /** @param {string} value */
  choose(value) {
    if (value) this.page.go('plan', ...value.split(' '));
    else this.page.go('plan');
  }

  /** Which turn it is that lights the picture. */
  now() {
    const t = this.turn;
    if (this.place.turn) {
      return t ? html`<p>What a turn of ${t.agent} lit: <a href="#/turn/${part(t.conversation)}/${part(t.id)}">${t.text}</a></p>` : html`<p class="waits">Reading the turn …</p>`;
    }
    const all = [...this.running.values()];
    if (!all.length) return html`<p class="quiet">No turn runs. ${this.lit.dots.size ? 'This is what the last one lit.' : 'The next one lights the picture.'}</p>`;
    return html`<p><span class="live">Now</span> ${all.slice(0, turnsNamed).map((e) => html` <a href="#/turn/${part(e.conversation ?? '')}/${part(e.turn ?? '')}">${e.agent}: ${(e.text ?? '').slice(0, 80)}</a>`)}${
      all.length > turnsNamed ? ` and ${count(all.length - turnsNamed)} more` : ''}</p>`;
  }

  /** @param {Schemas['PlanPoint'][]} points */
  rows(points) {
    let scope = '', first = true;
    return points.map((p) => {
      const head = p.scope === scope ? nothing : html`<tr class="scope"><th scope="rowgroup">${p.scope}</th><td colspan=${this.lanes.length}></td></tr>`;
      scope = p.scope;
      const calls = new Map(p.calls.map((c) => [c.member, c]));
      return [head, html`<tr>
        <th scope="row">${p.name} <span class="quiet">${p.kind}</span></th>
        ${this.lanes.map((path) => {
          const call = calls.get(path);
          if (!call) return html`<td></td>`;
          const key = `${path}|${p.name}`, tab = this.at ? this.at === key : first;
          first = false;
          return html`<td>${this.dot(path, p, call, key, tab)}</td>`;
        })}</tr>`];
    });
  }

  /** @param {string} path @param {Schemas['PlanPoint']} p @param {Schemas['PlanPoint']['calls'][0]} call @param {string} key @param {boolean} tab */
  dot(path, p, call, key, tab) {
    const d = this.lit.dots.get(key);
    const state = !d ? (call.maybe ? 'maybe' : '') : d.denied ? 'denied' : d.broke ? 'broke' : d.answered ? 'answered' : d.asked ? 'asked' : 'skipped';
    const glow = d?.last && performance.now() - d.last < glows ? ' lit' : '';
    const text = !d ? (this.lit.dots.size ? '' : call.order) : d.denied ? '✗' : d.broke ? '!' : d.asked ? d.asked > 99 ? '99+' : d.asked : '–';
    const name = `${path} at ${p.name}${d ? `: asked ${d.asked}${d.asked > 99 ? ' (99+)' : ''}, answered ${d.answered}, denied ${d.denied}, not asked ${d.skipped}` : `, ${call.order} in order`}`;
    return html`<button class="dot ${state}${glow}" tabindex=${tab ? 0 : -1} aria-label=${name} title=${name} aria-pressed=${this.chosen.path === path && this.chosen.point === p.name}
      @focus=${() => { this.at = key; }} @click=${() => this.ask(path, p.name)}>${text}</button>`;
  }

  /** @param {string} path @param {string} point */
  ask(path, point) {
    this.chosen = { path, point };
    this.page.changed();
    requestAnimationFrame(() => document.querySelector('.about')?.scrollIntoView({ block: 'nearest' }));
  }

  /** Moves between the dots by the arrow keys. @param {KeyboardEvent} e */
  walk(e) {
    const cell = /** @type {HTMLElement} */ (e.target).closest('td');
    const row = /** @type {HTMLTableRowElement | null} */ (cell?.parentElement ?? null);
    if (!cell || !row || !e.key.startsWith('Arrow')) return;
    const back = e.key === 'ArrowLeft' || e.key === 'ArrowUp';
    const along = e.key === 'ArrowLeft' || e.key === 'ArrowRight';
    const table = /** @type {HTMLTableElement} */ (row.closest('table'));
    const line = along ? [...row.cells] : [...table.rows].map((r) => r.cells[cell.cellIndex]);
    const here = along ? cell.cellIndex : row.rowIndex;
    const rest = back ? line.slice(0, here).reverse() : line.slice(here + 1);
    const next = rest.map((c) => c?.querySelector('button.dot')).find((b) => b instanceof HTMLElement);
    if (!(next instanceof HTMLElement)) return;
    e.preventDefault();
    next.focus();
    this.page.changed();
  }

  /** What is known of the field or the dot that somebody has clicked. */
  about() {
    const { path, point } = this.chosen, field = this.fields.get(path);
    if (!field) return html`<p class="quiet">Choose a dot or the name of a field to see what it does there, who put it there, and what it answered.</p>`;
    const p = this.plan?.points.find((x) => x.name === point), call = p?.calls.find((c) => c.member === path);
    return html`
      <h2>${path}${p ? ` at ${p.name}` : ''}</h2>
      <dl class="facts">
        <dt>Declared as</dt><dd><code>${path.split('.').at(-1)} ${field.type}${tagOf(field, call?.use)}</code> ${field.optional ? html`<span class="quiet">(optional)</span>` : nothing}</dd>
        ${p && call ? html`
          <dt>The point</dt><dd>${p.kind}${purpose[p.name] ? `: ${purpose[p.name]}` : ''}; ${combined[p.combine] ?? p.combine}</dd>
          <dt>Order</dt><dd>${p.calls.map((c, i) => html`${i ? ' → ' : ''}${c.member === path ? html`<b>${c.member}</b>` : c.member}`)}${p.reverse ? html` <span class="quiet">(the last field first)</span>` : nothing}</dd>
          ${p.kind === 'facade' || p.kind === 'observe' ? nothing : html`<dt>If it fails</dt><dd>${failing(p, call.use)}</dd>`}
          <dt>Time</dt><dd>${call.use.timeout ? `at most ${call.use.timeout}` : 'no limit'}${call.use.mode ? `, ${call.use.mode}` : ''}</dd>`
        : html`<dt>Points</dt><dd>${this.plan?.points.filter((x) => x.calls.some((c) => c.member === path && !c.maybe)).map((x) => x.name).join(', ') || 'known only at run time'}</dd>`}
        <dt>Its tools</dt><dd>${field.tools?.join(', ') || (field.dynamic ? 'known only at run time' : 'none')}</dd>
      </dl>
      ${p ? this.asked(path, p) : nothing}`;
  }

  /** How often the field was asked at the point, and what it answered. @param {string} path @param {Schemas['PlanPoint']} p */
  asked(path, p) {
    const runs = this.lit.of(path, p.name), d = this.lit.dots.get(`${path}|${p.name}`);
    if (!d) return html`<p>${this.place.turn ? 'It was not asked in this turn' : 'It was not asked since this page follows'}, or its runs here are not recorded.</p>`;
    return html`
      <p>Asked ${counted(d.asked, 'time')}, ${duration(d.took)} in all; answered ${count(d.answered)}, denied ${count(d.denied)}, failed ${count(d.broke)}${
        d.skipped ? `; not asked ${counted(d.skipped, 'time')}, because another one had ended the point` : ''}.</p>
      <table class="runs"><thead><tr><th>About</th><th>Answer</th><th>Took</th><th>Whose answer counts</th></tr></thead>
      <tbody>${runs.slice(0, runsShown).map((r) => {
        const won = p.kind === 'decide' ? this.lit.counted(r, p.combine) : undefined;
        return html`<tr><td>${r.call_id ? html`<a href="#/call/${part(r.conversation ?? '')}/${part(r.turn ?? '')}/${part(r.call_id)}">${r.tool ?? r.call_id}</a>, ` : nothing}${r.step ? `step ${r.step}` : 'the turn'}</td>
          <td class=${denies(r.answer) ? 'bad' : ''}>${said(runOf(r), p.name)}${r.text ? html`: <bdi>${r.text}</bdi>` : nothing}</td>
          <td class="num">${r.status === 'skipped' ? '' : duration(r.duration_ms ?? 0)}</td>
          <td>${p.kind !== 'decide' ? 'it decides nothing' : !won ? 'nobody had an opinion' : won === r ? html`<b>its own</b>` : `${won.subsystem}: ${won.answer}`}</td></tr>`;
      })}</tbody></table>
      ${runs.length > runsShown ? html`<p class="quiet">The newest ${runsShown} of ${count(runs.length)}.</p>` : nothing}`;
  }
}

const inTurn = new Set(['session', 'turn', 'step', 'tool call']);

/** The tag of a field, as far as it matters at a point. @param {Schemas['PlanMember']} field @param {Schemas['PlanPoint']['calls'][0]['use'] | undefined} use */
function tagOf(field, use) {
  const own = [use?.policy, use?.mode, use?.timeout && `timeout=${use.timeout}`, use?.visibility && `visibility=${use.visibility}`].filter(Boolean).join(',');
  const words = [field.optional && 'optional', field.prefix && `prefix=${field.prefix}`, field.requires?.length && `requires=${field.requires.join('|')}`,
    ...(field.match ?? []).map((m) => `match=${m}`), own && `${use?.name}: ${own}`].filter(Boolean);
  return words.length ? ` \`hook:"${words.join('; ')}"\`` : '';
}

/** @param {Schemas['PlanPoint']} p @param {Schemas['PlanPoint']['calls'][0]['use']} use */
function failing(p, use) {
  const closed = use.policy ? use.policy === 'failclosed' : p.closed;
  return closed ? 'failclosed: its failure counts as a refusal' : 'failopen: the others decide without it';
}
