// Who decided about one call: in one sentence, and then all who were asked, in order.

import { html, nothing, duration, when } from '../dom.js';
import { Failure, get, part } from '../api.js';
import { every } from '../list.js';
import { returned } from '../terminal.js';
import { reveal } from '../text.js';
import { broke, denies, purpose, said, turnPath } from '../runs.js';
import { written } from '../written.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ point: Schemas['ExplainedPoint'], run: Schemas['ExplainedRun'] }} Deciding */

const lookAgain = 1500, runsShown = 400, hostsNamed = 5;

export default class Call {
  title = 'Call';
  /** @type {Schemas['Explained'] | undefined} */
  call;
  /** @type {Map<string, Schemas['PlanMember']>} */
  fields = new Map();
  /** @type {Schemas['Event'] | undefined} */
  start;
  /** @type {Schemas['Event'] | undefined} */
  result;
  /** What was answered to who asked for an approval. @type {Schemas['Event'] | undefined} */
  given;
  /** Nothing is asked for any more. */
  over = false;
  missing = false;
  /** What the sandbox is now. @type {Schemas['Sandbox'] | undefined} */
  sandbox;

  /** @param {import('../app.js').Page} page @param {string} conversation @param {string} turn @param {string} id */
  constructor(page, conversation = '', turn = '', id = '') {
    this.page = page;
    this.turn = turnPath(conversation, turn);
    this.id = id;
  }

  /** @param {AbortSignal} signal */
  async open(signal) {
    const ended = new AbortController();
    get('/v1/sandbox', signal).then((sandbox) => { this.sandbox = sandbox; this.page.changed(); }, () => undefined); // it only adds a sentence
    const missing = (/** @type {unknown} */ err) => {
      if (!(err instanceof Failure && err.status === 404)) throw err;
      this.missing = true;
    };
    await every(lookAgain, AbortSignal.any([signal, ended.signal]), async () => {
      /** @type {[Schemas['Explained'] | undefined, Schemas['TurnEvents'] | undefined, Schemas['Plan']]} */
      const [call, turn, plan] = await Promise.all([get(`${this.turn}/calls/${part(this.id)}`, signal).catch(missing), get(this.turn, signal).catch(missing), get('/v1/plan', signal)]);
      if (!call || !turn) return ended.abort();
      this.call = call;
      this.fields = fieldsOf(plan);
      for (const e of turn.events) {
        if (e.call_id !== this.id || e.turn !== call.turn) continue;
        if (e.kind === 'call_start') this.start = e;
        if (e.kind === 'call_result') this.result = e;
        if (e.kind === 'approval_given') this.given = e;
      }
      this.title = `${call.tool}: ${call.outcome ?? 'runs'}`;
      this.page.changed();
      if (call.outcome || turn.turn.ended) ended.abort();
    }, this.page.failed).finally(() => { this.over = true; this.page.changed(); });
  }

  draw() {
    const c = this.call;
    if (!c) return this.missing ? gone('call') : this.over ? nothing : html`<p class="waits">Asking who decided about the call …</p>`;
    return html`
      ${this.verdict(c)}
      <h2>What was called</h2>
      <p><bdi class="mono">${c.tool}</bdi>, a tool of ${c.owner ? html`<b>${c.owner}</b>` : 'a field that is not known any more'}</p>
      ${this.start?.args === undefined ? nothing : html`<pre tabindex="0" aria-label="The arguments">${reveal(argsOf(this.start.args))}</pre>`}
      ${this.result?.result ? html`<details><summary>What the model was told</summary><pre tabindex="0">${reveal(this.result.result)}</pre></details>` : nothing}
      <h2>Who was asked, in order</h2>
      ${c.recorded ? nothing : html`<p class="card warned">Hook runs were not recorded in this turn, so only approvals and failures are known: not who had no
        opinion, or was overruled. <code>grapnel serve --hooks</code> (or <code>run --hooks</code>, <code>chat --hooks</code>) records them.</p>`}
      <p class="quiet">A field is a part of the daemon's program, such as Secure. All fields are asked at points, such as BeforeTool, one after the other. The tag stands
        beside the field in the program: <code>failclosed</code> makes a failure of the hook a refusal, <code>failopen</code> lets the others decide without it.
        An answer by <code>Approval.inspector</code> is one that Approval got through this page.</p>
      ${this.points(c)}
      <h2>Where it was</h2>
      <dl class="facts">
        <dt>Turn</dt><dd><a href="#/turn/${part(c.conversation)}/${part(c.turn)}">step ${c.step} of the turn of ${c.agent}</a></dd>
        <dt>Conversation</dt><dd><a href="#/conversations/${part(c.conversation)}">${c.conversation}</a></dd>
        <dt>Called</dt><dd>${when(c.time)}${c.duration_ms ? html`, took ${duration(c.duration_ms)}` : nothing}</dd>
        <dt>Id</dt><dd><bdi class="mono">${c.id}</bdi>${c.others ? html`; ${c.others} earlier in this turn had the same id` : nothing}</dd>
      </dl>`;
  }

  /** The answer to "why, and by whom?". @param {Schemas['Explained']} c */
  verdict(c) {
    const d = deciding(c);
    const bad = c.outcome && c.outcome !== 'executed' && c.outcome !== 'answered';
    const code = c.outcome === 'executed' && this.fields.get(c.owner ?? '')?.type === commands ? returned(this.result?.result ?? '')?.exit_code : 0;
    return html`<section class="verdict ${bad ? 'refused' : code ? 'doubtful' : ''}">
      <h1>${code && !d ? html`! <bdi class="mono">${c.tool}</bdi> ran, but its command ended with exit code ${code}` : sentence(c, d)}</h1>
      ${!d && c.outcome === 'denied' && this.result?.result ? html`<p>The model was told:</p><blockquote>${reveal(this.result.result)}</blockquote>` : nothing}
      ${d?.run.reason ? html`<p>The reason that ${d.run.field ?? 'it'} gave:</p><blockquote>${reveal(d.run.reason)}</blockquote>` : nothing}
      <ul>
        ${d ? html`<li>${d.run.field ?? 'A hook'} is ${this.declared(d.run.field)}. It was asked at <b>${d.point.point}</b>${
          purpose[d.point.point] ? html`: ${purpose[d.point.point]}` : nothing}.</li>` : nothing}
        ${d && broke(d.run) ? html`<li>It ${said(d.run, d.point.point)}, because its fail policy says so: ${d.run.option}.</li>` : nothing}
        ${aftermath(c, d, this.given?.by)}
        ${this.unasked(c)}
      </ul>
    </section>`;
  }

  /** Why nobody was asked about a call that ran. @param {Schemas['Explained']} c */
  unasked(c) {
    if (c.outcome !== 'executed' || !c.recorded || c.points.some((p) => p.point === 'Approve' && p.runs.length)) return nothing;
    const s = this.sandbox, confined = s?.confined && c.tool === 'bash' && this.fields.get(c.owner ?? '')?.type === commands;
    return html`<li>Nobody had to approve it${confined ? html`: a command is not asked about as long as the sandbox holds it${reach(s)}, or where a rule allows it` : nothing}.</li>`;
  }

  /** The declaration of a field. @param {string | undefined} path */
  declared(path) {
    const field = this.fields.get((path ?? '').replace(/\[\d+\]/g, ''));
    return field ? html`the field <code>${path} ${field.type}</code> of the composite` : 'a hook that is not in the plan of now';
  }

  /** All who were asked, cut where nobody reads on. @param {Schemas['Explained']} c */
  points(c) {
    let left = runsShown;
    const shown = c.points.filter((p) => (left -= p.runs.length) >= 0);
    return html`${shown.map((p) => this.point(p))}
      ${shown.length < c.points.length ? html`<p>${c.points.length - shown.length} more passes through points are not shown: <code>grapnel explain</code> has them.</p>` : nothing}`;
  }

  /** @param {Schemas['ExplainedPoint']} p */
  point(p) {
    return html`
      <h3>${p.point} <span class="quiet">${purpose[p.point] ?? ''}</span></h3>
      <table class="runs">
        <thead><tr><th>Field</th><th>Answer</th><th>Took</th><th>Tag</th></tr></thead>
        <tbody>${p.runs.map((r) => html`<tr class=${r.counts ? 'counts' : r.status === 'skipped' ? 'quiet' : ''}>
          <td>${r.field ?? 'not known'}</td>
          <td>${r.counts ? html`<b class=${denies(r.answer) ? 'bad' : r.answer === 'ask' ? 'warn' : 'good'}>${denies(r.answer) ? '✗' : r.answer === 'ask' ? '?' : '✓'} ${
            said(r, p.point)}, and this counts</b>` : said(r, p.point)}${
            r.by && r.status !== 'skipped' ? html` by ${r.by}` : nothing}${
            r.reason ? html`<div>${reveal(r.reason)}</div>` : nothing}</td>
          <td class="num">${r.duration_ms ? duration(r.duration_ms) : ''}</td>
          <td><code>${r.option ?? ''}</code></td></tr>`)}</tbody>
      </table>
      ${p.why ? html`<p class="quiet">${p.why}.</p>` : nothing}`;
  }
}

/** @param {unknown} args */
const argsOf = (args) => typeof args === 'string' ? args : written(args);

/**
 * The fields of a plan by their paths.
 * @param {{ members: Schemas['PlanMember'][] }} plan
 * @returns {Map<string, Schemas['PlanMember']>}
 */
export function fieldsOf(plan, within = '') {
  const out = new Map();
  for (const m of plan.members) {
    out.set(within + m.field, m);
    for (const [path, inner] of m.composite ? fieldsOf(m.composite, `${within}${m.field}.`) : []) out.set(path, inner);
  }
  return out;
}

/** The answer that made the call end as it did; undefined if the tool just ran. @param {Schemas['Explained']} c @returns {Deciding | undefined} */
function deciding(c) {
  if (c.outcome === 'cancelled') return undefined; // what is refused because the turn has ended, nobody has refused
  const counted = c.points.flatMap((point) => point.runs.filter((run) => run.counts).map((run) => ({ point, run })));
  const stopped = counted.filter((d) => denies(d.run.answer));
  if (c.outcome === 'denied' || stopped.length) return stopped.at(-1);
  if (c.outcome === 'answered') return counted.findLast((d) => d.run.answer === 'answer');
  return undefined;
}

/** @type {Record<string, string>} */
const outcomes = {
  executed: 'ran', failed: 'ran and failed', cancelled: 'was not run: the turn was cancelled before', timed_out: 'took too long and was ended', panicked: 'panicked',
  unknown: 'was not run: there is no such tool, or the agent may not use it', invalid: 'was not run: its arguments do not fit', interrupted: 'was interrupted, and nobody knows how far it came',
};

/** @param {Schemas['Explained']} c @param {Deciding | undefined} d */
function sentence(c, d) {
  const tool = html`<bdi class="mono">${c.tool}</bdi>`;
  const by = html`${d?.run.field ?? 'a hook that was not recorded'} at ${d?.point.point}`;
  if (!c.outcome) return html`${tool} has not ended yet`;
  if (c.outcome === 'denied') return d ? html`✗ ${tool} was denied by ${by}` : html`✗ ${tool} was denied ${c.by ? html`by ${c.by}` : 'by a hook that was not recorded'}`;
  if (d?.run.answer === 'withhold') return html`✗ ${tool} ran, but ${by} withheld its result from the model`;
  if (c.outcome === 'answered') return html`✓ ${tool} did not run: ${d ? by : c.by || 'a hook'} answered in its place`;
  return html`${c.outcome === 'executed' ? '✓' : '✗'} ${tool} ${outcomes[c.outcome] ?? c.outcome}`;
}

/** What came of the decision for the others. @param {Schemas['Explained']} c @param {Deciding | undefined} d @param {string | undefined} through what approvals came through */
function aftermath(c, d, through) {
  const skipped = d?.point.runs.filter((r) => r.status === 'skipped').map((r) => r.field) ?? [];
  const approve = c.points.filter((p) => p.point === 'Approve').flatMap((p) => p.runs).find((r) => r.counts);
  const asked = c.points.filter((p) => p.point === 'BeforeTool').flatMap((p) => p.runs).find((r) => r.counts && r.answer === 'ask');
  return html`
    ${skipped.length ? html`<li>That ended ${d?.point.point}: ${skipped.join(', ')} ${skipped.length === 1 ? 'was' : 'were'} not asked any more.</li>` : nothing}
    ${asked ? html`<li>${asked.field ?? 'A hook'} wanted it approved${asked.reason ? html`: <q>${reveal(asked.reason)}</q>` : nothing}.</li>` : nothing}
    ${approve && denies(approve.answer) && c.outcome === 'cancelled' ? html`<li>${approve.field ?? 'Somebody'} was asked to approve it, and nobody had answered${
      approve.duration_ms ? html` after ${duration(approve.duration_ms)}` : nothing}.</li>`
    : approve ? html`<li>${approve.field ?? 'Somebody'} said ${said(approve, 'Approve')}${through ? html`: the answer came through <b>${through}</b>` : nothing}${
      approve.duration_ms ? html`, after ${duration(approve.duration_ms)}` : nothing}.</li>` : nothing}
    ${c.outcome === 'denied' ? html`<li>${c.recorded && !approve ? 'Nobody was asked to approve it, and the' : 'The'} tool did not run.</li>` : nothing}`;
}

// The type of the field whose tools run commands.
const commands = '*ostools.OS';

/** What the sandbox of now lets a command reach. @param {Schemas['Sandbox']} s */
const reach = (s) => html` (it now lets it connect to ${s.hosts.length ? `${s.hosts.slice(0, hostsNamed).join(', ')}${s.hosts.length > hostsNamed ? ' …' : ''} only` : 'nothing beyond this machine'}${
  s.level === 'full' ? '' : `, as far as this machine can enforce that: ${s.level}`})`;

/** What stands in place of what is not there any more, or never was. @param {string} what */
export const gone = (what) => html`<h1>This ${what} does not exist, or not any more</h1>
  <p>It was deleted, is too old to be kept, or the address is not right. <a href="#/conversations">All conversations</a></p>`;
