// The plan as a living picture: the fields of the composite as columns, the points as rows, and what a turn lights.

import { html, nothing, count, counted, duration, when } from '../dom.js';
import { Failure, get, part, stream } from '../api.js';
import { bound } from '../bounded.js';
import { Lit } from '../lit.js';
import { denies, nameOf, purpose, recentTurns, runOf, said, turnPath } from '../runs.js';
import { fieldsOf } from './call.js';

/** @typedef {import('../api.js').Schemas} Schemas */

// A dot glows for so long; the page is drawn again so often while events come. In milliseconds.
const glows = 700, drawnEvery = 120;
const runsShown = 20, turnsNamed = 3, turnsRead = 10, mostEnded = 1000;

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
  /** Those that ended since it was asked which run. @type {Set<string>} */
  ended = new Set();
  /** The beginning of the turn that ended last. @type {Schemas['Event'] | undefined} */
  last;
  /** There is no turn such as the chosen one. */
  missing = false;
  /** Who is being asked to approve which calls. @type {Map<string, Schemas['Event'][]>} */
  waiting = new Map();
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
    if (this.place.turn) {
      this.offer().catch((err) => { if (!signal.aborted) this.page.failed(err); });
      this.look();
    }
    await stream('/v1/events?hooks=internal&payload=cut', { signal, event: (e) => this.happened(e), state: (state) => { if (state === 'live' && !this.place.turn) this.look(); } });
  }

  /** @param {string} conversation @param {string} turn */
  moved(conversation = '', turn = '') {
    this.place = { conversation, turn };
    this.lit = new Lit(this.lanes);
    this.last = undefined;
    this.look();
    return true;
  }

  /** Reads the turns to choose from. */
  async offer() {
    this.turns = await recentTurns(/** @type {AbortSignal} */ (this.signal));
    this.page.changed();
    return this.turns;
  }

  /** Reads what has happened before: in the chosen turn, or in those that run. */
  look() {
    this.missing = false;
    (this.place.turn ? this.replay() : this.catchUp()).catch((err) => { if (!this.signal?.aborted) this.page.failed(err); });
  }

  /** The turn with its events; undefined if there is none. @param {string} conversation @param {string} turn @returns {Promise<Schemas['TurnEvents'] | undefined>} */
  read(conversation, turn) {
    return get(`${turnPath(conversation, turn)}?hooks=internal`, this.signal).catch((err) => { if (!(err instanceof Failure && err.status === 404)) throw err; });
  }

  /** Shows what the chosen turn has lit. */
  async replay() {
    const { conversation, turn } = this.place;
    this.turn = undefined;
    const answer = await this.read(conversation, turn);
    if (turn !== this.place.turn) return;
    this.missing = !answer;
    this.turn = answer?.turn;
    this.lit.before(answer?.events ?? []);
    this.page.changed();
  }

  /** Shows what the turns that run have lit before this page followed them; if none does, what the last one has lit. */
  async catchUp() {
    this.running.clear();
    this.ended.clear();
    /** @type {Schemas['Activity']} */
    const { turns } = await get('/v1/activity', this.signal);
    const ran = await Promise.all(turns.slice(0, turnsRead).map((t) => t.id ? this.read(t.conversation, t.id) : undefined));
    for (const t of ran) {
      const start = t?.events[0];
      if (!start || t.turn.ended || this.ended.has(t.turn.id)) continue;
      this.running.set(t.turn.id, start);
      if (!this.place.turn) for (const e of t.events) this.lit.follow(e);
    }
    const events = ran.flatMap((t) => t?.events ?? []), [last] = await this.offer();
    if (last && !this.running.size && !this.last) {
      const read = await this.read(last.conversation, last.id);
      if (!this.running.size) { // none has begun meanwhile
        events.push(...read?.events ?? []);
        this.last = read?.events[0];
      }
    }
    if (!this.place.turn) this.lit.before(events);
    this.page.changed();
  }

  /** @param {Schemas['Event']} e */
  happened(e) {
    if (e.kind === 'turn_start' && !e.depth) {
      if (!this.running.size && !this.place.turn) this.lit = new Lit(this.lanes);
      this.running.set(e.turn ?? '', e);
    } else if (e.kind === 'turn_end' && !e.depth) {
      this.last = this.running.get(e.turn ?? '');
      this.running.delete(e.turn ?? '');
      this.ended.add(e.turn ?? '');
      bound(this.ended, mostEnded);
    }
    if (this.place.turn) {
      if (e.kind !== 'turn_start' && e.kind !== 'turn_end') return;
    } else if (e.kind === 'hook_run') this.lit.add(e, performance.now());
    else this.lit.follow(e);
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
    this.waiting = this.place.turn ? new Map() : this.lit.asked(this.plan.points.find((p) => p.name === 'Approve')?.calls.map((c) => c.member) ?? []);
    const shown = this.plan.points.filter((p) => !this.onlyTurns || inTurn.has(p.scope));
    return html`
      <h1>Plan <span class="quiet mono">${this.plan.type}</span></h1>
      <p class="quiet">A turn passes the points from top to bottom. Each column is a field: a part of the daemon's program, such as Secure. A circle says that the field is
        asked at that point, and tells what it did there. Arrow keys move between the circles.</p>
      ${words()}
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
      <p class="legend quiet"><span class="dot">2.</span> is asked second <span class="dot maybe">2?</span> perhaps: known only at run time
        <span class="dot asked">3×</span> was asked three times <span class="dot answered">1×</span> and answered <span class="dot denied">✗</span> and denied
        <span class="dot broke">!</span> failed <span class="dot skipped">–</span> was not asked, because another one had ended it <span class="dot asking">…</span> is being asked now</p>
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
      return this.missing ? html`<p class="warn">This turn does not exist, or not any more: choose another one.</p>` : t ? html`<p>What a turn of ${t.agent} lit: <a href="#/turn/${part(t.conversation)}/${part(t.id)}">${t.text}</a></p>` : html`<p class="waits">Reading the turn …</p>`;
    }
    const all = [...this.running.values()];
    if (!all.length) return html`<p class="quiet">No turn runs. ${!this.lit.dots.size ? 'The next one lights the picture.' : this.last
      ? html`This is what the last one lit: ${this.link(this.last)}` : 'This is what the last one lit.'}</p>`;
    return html`<p><span class="live">Now</span> ${all.slice(0, turnsNamed).map((e) => html` ${this.link(e)}`)}${
      all.length > turnsNamed ? ` and ${count(all.length - turnsNamed)} more` : ''}</p>`;
  }

  /** A turn by its beginning. @param {Schemas['Event']} e */
  link(e) {
    return html`<a href="#/turn/${part(e.conversation ?? '')}/${part(e.turn ?? '')}">${e.agent}: ${(e.text ?? '').slice(0, 80)}</a>`;
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
    const asking = p.name === 'Approve' && this.waiting.has(path);
    const state = asking ? 'asking' : !d ? (call.maybe ? 'maybe' : '') : d.denied ? 'denied' : d.broke ? 'broke' : d.answered ? 'answered' : d.asked ? 'asked' : 'skipped';
    const glow = d?.last && performance.now() - d.last < glows ? ' lit' : '';
    const order = this.lit.dots.size ? '' : call.order;
    const text = asking ? '…' : !d ? (call.maybe ? `${order}?` : order && `${order}.`) : d.denied ? '✗' : d.broke ? '!' : d.asked ? d.asked > 99 ? '99+' : `${d.asked}×` : '–';
    const name = `${path} at ${p.name}${asking ? ': is being asked now' : ''}${d ? `: asked ${d.asked}${d.asked > 99 ? ' (99+)' : ''}, answered ${d.answered}, of these denied ${d.denied}${d.skipped ? `, not asked ${d.skipped}` : ''}` : `, ${call.order} in order${call.maybe ? ', perhaps' : ''}`}`;
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
          <dt>Time</dt><dd>${call.use.timeout ? `at most ${call.use.timeout}` : 'no limit by its tag'}${p.name === 'Approve' ? '; a question to a person says itself until when it waits' : ''}${call.use.mode ? `, ${call.use.mode}` : ''}</dd>`
        : html`<dt>Points</dt><dd>${this.plan?.points.filter((x) => x.calls.some((c) => c.member === path && !c.maybe)).map((x) => x.name).join(', ') || 'known only at run time'}</dd>`}
        <dt>Its tools</dt><dd>${field.tools?.join(', ') || (field.dynamic ? 'known only at run time' : 'none')}</dd>
      </dl>
      ${p ? this.asked(path, p) : nothing}`;
  }

  /** How often the field was asked at the point, and what it answered. @param {string} path @param {Schemas['PlanPoint']} p */
  asked(path, p) {
    const runs = this.lit.of(path, p.name), d = this.lit.dots.get(`${path}|${p.name}`), asking = p.name === 'Approve' ? this.waiting.get(path) ?? [] : [];
    const now = asking.slice(0, runsShown).map((e) => html`<p><b>It is being asked now</b>, since ${when(e.time)}, about
      <a href="#/call/${part(e.conversation ?? '')}/${part(e.turn ?? '')}/${part(e.call_id ?? '')}">${e.tool}</a>, step ${e.step}${this.page.may('approve') ? html`: <a href="#/people">what waits for you</a>` : nothing}</p>`);
    if (!d) return asking.length ? now : html`<p>${this.place.turn ? 'It was not asked in this turn' : 'It was not asked in what is shown here'}, or its runs here are not recorded.</p>`;
    return html`${now}
      <p>Asked ${counted(d.asked, 'time')}, ${duration(d.took)} in all; it gave ${d.answered ? counted(d.answered, 'answer') : 'no answer'}${d.denied ? `, of which ${count(d.denied)} denied` : ''}${
        d.broke ? `; it failed ${counted(d.broke, 'time')}` : ''}${d.skipped ? `; not asked ${counted(d.skipped, 'time')}, because another one had ended the point` : ''}.</p>
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

/** What the words of the picture mean. */
const words = () => html`<details class="words"><summary>What the words mean</summary><dl class="facts">
  <dt>Composite</dt><dd>the daemon's program as one Go struct: whatever takes part is a field of it</dd>
  <dt>Field</dt><dd>one part, such as Secure or Memory. Extra are hooks that the program adds when it runs</dd>
  <dt>Point</dt><dd>a moment at which fields are asked, such as BeforeTool: a tool is about to run</dd>
  <dt>Hook</dt><dd>what a field does at a point</dd>
  <dt>decide</dt><dd>a point at which fields may allow, refuse, or want something else; how their answers become one differs</dd>
  <dt>rewrite</dt><dd>each field may change what is on its way, such as the request to the model</dd>
  <dt>contribute</dt><dd>each field may add something, such as memories to the prompt</dd>
  <dt>wrap</dt><dd>fields surround the model or the tool while it runs; one that has nothing to do this time is left out</dd>
  <dt>observe</dt><dd>fields are told, and change nothing</dd>
  <dt>facade</dt><dd>what the program asks its fields about themselves, such as their tools; most of this is not recorded, so it does not light</dd>
  <dt>Tag</dt><dd>what stands beside a field in the program: limits and options for its hooks</dd>
  <dt>failclosed, failopen</dt><dd>if the hook fails, that counts as a refusal; or the others decide without it</dd></dl></details>`;

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
