// One thing that waits for a person, as a card: a call to approve, or questions to answer. Views draw it with waits(page, item).

import { html, nothing, counted, live, ref, when } from '../dom.js';
import { reveal } from '../text.js';
import { missing, shown } from '../args.js';
import { editable, read } from '../json.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {import('../app.js').Page} Page */
/** @typedef {import('../waiting.js').Item} Item */

/** @param {Page} page @param {Item} item */
export const waits = (page, item) => html`
  <section class="card asked ${item.over ? 'over' : ''}" id="wait-${item.n}" tabindex="-1" aria-labelledby="wait-${item.n}-title">
    ${item.ask ? ask(page, item, item.ask) : item.inquiry ? inquiry(page, item, item.inquiry) : nothing}
  </section>`;

/** @param {Item} item @param {unknown} text */
const title = (item, text) => html`<h2 id="wait-${item.n}-title">${text}</h2>`;

/**
 * What will run stands next to the buttons, so that both are seen together also where a view shows the end of the card.
 * @param {Page} page @param {Item} item @param {Schemas['Ask']} a
 */
function ask(page, item, a) {
  const head = title(item, html`<bdi>${a.agent || 'An agent'}</bdi> ${item.over ? 'wanted' : 'wants'} to run <code>${reveal(a.tool)}</code>`);
  if (item.over) return ended(item, head, a.shown);
  if (item.shown?.whole !== item.whole) item.shown = shown(a, item.whole);
  return html`
    ${head}
    ${origin(a, a.depth)}
    ${a.reason ? html`<h3>Why you are asked</h3><p>${reveal(a.reason)}</p>` : nothing}
    ${a.part && a.part !== a.args.command ? html`<p>It is about this part: <code class="exact">${reveal(a.part.slice(0, longestPart))}</code>${a.part.length > longestPart
      ? html` <span class="warn">… and ${counted(a.part.length - longestPart, 'character')} more</span>` : nothing}</p>` : nothing}
    ${sentences('It reaches', a.reaches)}
    ${sentences('If you approve it, it is limited', grant(a.grant))}
    ${sentences('In the sandbox', a.sandbox, 'quiet')}
    <h3>What will run: <code>${reveal(a.tool)}</code>${a.agent ? html`, for <bdi>${a.agent}</bdi>` : nothing}</h3>
    ${item.shown?.body}
    ${item.shown?.left ? html`<p class="warn">${missing(item.shown)} is not shown.
      <button @click=${() => page.waiting.unfold(item)}>Show all</button></p>` : nothing}
    ${sentences('Be careful', a.remarks, 'warn')}
    <p class="quiet">${expiry(a, a.approved_on_timeout
      ? html`<strong class="warn">Without an answer it is approved</strong>` : 'Without an answer it is refused')}</p>
    ${page.may('approve') ? decide(page, item, a) : html`<p class="quiet">You may see this, but not answer it: that takes the scope approve.</p>`}`;
}

/** How it ended, with so much of it that one knows what it was. @param {Item} item @param {unknown} head @param {string} what */
const ended = (item, head, what) => html`${head}
  <p class="quiet exact">${reveal(what.length > 160 ? `${what.slice(0, 160)} …` : what, 5)}</p>
  <p class="text">${item.over}</p>`;

/** Who asks, from where, and since when. @param {Schemas['Ask'] | Schemas['Inquiry']} x @param {number} [depth] */
const origin = (x, depth) => html`<p class="quiet">In ${location.hash.startsWith(`#/conversations/${encodeURIComponent(x.conversation)}`) ? 'this conversation'
  : html`<a href="#/conversations/${encodeURIComponent(x.conversation)}">its conversation</a>`}${
  depth ? `, ${depth === 1 ? 'by an agent that its agent runs' : `by an agent ${depth} levels below its own`}` : ''}, asked at ${when(x.asked)}.</p>`;

/** What happens when nobody answers, and when. @param {Schemas['Ask'] | Schemas['Inquiry']} x @param {unknown} what */
const expiry = (x, what) => (x.expires
  ? html`${what} in <time datetime=${x.expires} title=${when(x.expires)}>${words(Date.parse(x.expires) - Date.now())}</time>.`
  : 'It waits until its turn ends.');

/** A time that is left, in words. @param {number} ms */
function words(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return counted(s, 'second');
  if (s < 3600) return `${counted(Math.floor(s / 60), 'minute')} ${counted(s % 60, 'second')}`;
  return `${counted(Math.floor(s / 3600), 'hour')} ${counted(Math.floor(s / 60) % 60, 'minute')}`;
}

// So much is shown of the part of a call that an ask is about; it is among the arguments, too.
const longestPart = 2000;

/** All sentences: the daemon sends no more than can be read. @param {string} head @param {string[] | undefined} list @param {string} [kind] */
const sentences = (head, list, kind = '') => (list?.length
  ? html`<h3 class=${kind}>${head}</h3><ul class=${kind}>${list.map((s) => html`<li>${reveal(s, 10)}</li>`)}</ul>` : nothing);

/** @param {Schemas['Ask']['grant']} g */
function grant(g) {
  if (!g) return [];
  return [
    g.void && 'It may do nothing at all.',
    g.read_only && 'It may read, and change nothing.',
    g.no_network && 'It reaches nothing beyond this machine.',
    g.root && `It may touch files only below ${g.root}`,
    g.timeout && `It is ended after ${words(g.timeout / 1e6)}.`,
    g.max_output && `Its output is cut at ${counted(g.max_output, 'byte')}.`,
  ].filter((s) => typeof s === 'string');
}

/** The answers to an ask. @param {Page} page @param {Item} item @param {Schemas['Ask']} a */
function decide(page, item, a) {
  if (item.draft !== undefined) return editor(page, item);
  const { waiting } = page, off = !waiting.ready(item), cut = !!item.shown?.left, unseen = cut || !!a.masked;
  const offer = a.offers?.find((o) => o.id === item.remember);
  const and = offer ? ' and remember' : '';
  const remember = offer && { remember: offer.id };
  const approve = () => waiting.answer(item, { answer: 'approve', ...remember }, offer ? 'You approved it, and such calls from now on.' : 'You approved it.');
  const refuse = () => waiting.answer(item, { answer: 'refuse', ...(item.reason.trim() && { reason: item.reason.trim() }), ...remember },
    offer ? 'You refused it, and such calls from now on.' : 'You refused it.');
  /** @param {() => void} act */
  const settled = (act) => () => { if (waiting.ready(item)) act(); };
  return html`
    ${cut ? nothing : offers(page, item, a, offer)}
    <label class="why">Reason, if you refuse it; the model reads it
      <input maxlength="4096" autocomplete="off" .value=${live(item.reason)} @input=${(/** @type {any} */ e) => { item.reason = e.target.value; }}></label>
    <p class="actions">
      ${unseen
        ? html`<button aria-disabled=${off} aria-haspopup="dialog" @click=${settled(() => { waiting.settle(waiting.items.indexOf(item)); dialog(item)?.showModal(); })}>Approve without seeing all of it …</button>`
        : html`<button class="primary" aria-disabled=${off} @click=${settled(approve)}>Approve${and}</button>`}
      <button class="danger" aria-disabled=${off} @click=${settled(refuse)}>Refuse${and}</button>
      ${cut || a.masked || item.shown?.exact === false ? nothing
        : html`<button aria-disabled=${off} @click=${settled(() => { item.draft = editable(a.args); page.changed(); })}>Change the arguments …</button>`}
      ${item.busy ? html`<span class="waits">Telling the daemon …</span>` : nothing}
    </p>
    ${item.error ? html`<p class="bad" role="alert">${item.error}</p>` : nothing}
    ${unseen ? html`<dialog id="wait-${item.n}-sure" aria-labelledby="wait-${item.n}-ask">
      <h3 id="wait-${item.n}-ask">Approve what you have not seen?</h3>
      ${cut && item.shown ? html`<p>${missing(item.shown)} of the arguments is not shown. It may hold anything.</p>` : nothing}
      ${a.masked ? html`<p>What looks like a secret is masked, and the tool gets it as it is. The page cannot show it.</p>` : nothing}
      <p class="actions">
        ${cut ? html`<button @click=${() => { dialog(item)?.close(); waiting.unfold(item); }}>Show all first</button>` : nothing}
        <button class="danger" aria-disabled=${off} @click=${settled(() => { dialog(item)?.close(); approve(); })}>Approve unseen</button>
        <button @click=${() => dialog(item)?.close()}>Cancel</button>
      </p></dialog>` : nothing}`;
}

/** @param {Item} item */
const dialog = (item) => /** @type {HTMLDialogElement | null} */ (document.getElementById(`wait-${item.n}-sure`));

/**
 * What can be remembered with the answer. Whoever chooses something sees it also where the list is folded.
 * @param {Page} page @param {Item} item @param {Schemas['Ask']} a @param {Schemas['Ask']['offers'] extends (infer O)[] | undefined ? O | undefined : never} offer
 */
function offers(page, item, a, offer) {
  if (!a.offers?.length) return nothing;
  /** @param {string} id @param {unknown} text */
  const choice = (id, text) => html`<label class="choice"><input type="radio" name="wait-${item.n}-remember" .checked=${live(item.remember === id)}
    @change=${() => { item.remember = id; page.changed(); }}><span>${text}</span></label>`;
  return html`<details class="remember">
    <summary>${offer ? html`<strong>Remembered with your answer:</strong> ${reveal(offer.text)}` : 'Remember the answer …'}</summary>
    <fieldset>
      <legend>From now on your answer, approve or refuse, is also given, without asking, to:</legend>
      ${choice('', 'nothing else: it is for this call, now')}
      ${a.offers.map((o) => choice(o.id, reveal(o.text, 10)))}
    </fieldset></details>`;
}

/** Other arguments in the place of the model's. @param {Page} page @param {Item} item */
function editor(page, item) {
  const id = `wait-${item.n}-args`;
  const send = () => {
    if (!page.waiting.ready(item)) return;
    const got = read(item.draft ?? '');
    if ('args' in got) return page.waiting.answer(item, { answer: 'modify', args: got.args }, 'You approved it with other arguments.');
    item.error = got.error;
    page.changed();
    const box = /** @type {HTMLTextAreaElement | null} */ (document.getElementById(id));
    box?.focus();
    box?.setSelectionRange(got.at, Math.min(got.at + 1, box.value.length));
  };
  const cancel = () => { item.draft = undefined; item.error = ''; page.waiting.settle(page.waiting.items.indexOf(item)); page.waiting.show(item); };
  return html`
    <label class="why" for=${id}>Arguments, as JSON. They are checked like the model's, and may be asked about again.</label>
    <textarea id=${id} class="mono" rows="8" spellcheck="false" aria-invalid=${!!item.error} aria-describedby="${id}-error" ${ref(focused)}
      .value=${live(item.draft ?? '')} @input=${(/** @type {any} */ e) => { item.draft = e.target.value; }}></textarea>
    <p class="bad" id="${id}-error" role="alert">${item.error}</p>
    <p class="actions">
      <button class="primary" aria-disabled=${!page.waiting.ready(item)} @click=${send}>Approve with these</button>
      <button @click=${cancel}>Keep the model's</button>
      ${item.busy ? html`<span class="waits">Telling the daemon …</span>` : nothing}
    </p>`;
}

/** Who opens the editor begins to write. @param {Element | undefined} box */
const focused = (box) => { if (box instanceof HTMLElement) requestAnimationFrame(() => box.focus()); };

// So many questions and options are shown; agents have four of each, and programs may ask more.
const mostQuestions = 8, mostOptions = 30;

/** @param {number} n @param {string} what */
const leftOut = (n, what) => n > 0 ? html`<p class="warn">${counted(n, `more ${what}`)} ${n === 1 ? 'is' : 'are'} not shown: a terminal shows all.</p>` : nothing;

/** @param {Page} page @param {Item} item @param {Schemas['Inquiry']} q */
function inquiry(page, item, q) {
  const head = title(item, html`<bdi>${q.agent}</bdi> ${item.over ? 'asked' : 'asks'} you`);
  if (item.over) return ended(item, head, q.questions[0]?.text ?? '');
  const answers = page.may('converse');
  return html`
    ${head}
    ${origin(q)}
    ${q.questions.slice(0, mostQuestions).map((question, i) => fields(page, item, question, i, answers))}
    ${leftOut(q.questions.length - mostQuestions, 'question')}
    <p class="quiet">${expiry(q, 'Without an answer the agent goes on')}</p>
    ${answers ? replies(page, item) : html`<p class="quiet">You may see this, but not answer it: that takes the scope converse.</p>`}`;
}

/** @param {Page} page @param {Item} item @param {Schemas['Question']} q @param {number} i @param {boolean} answers */
function fields(page, item, q, i, answers) {
  const given = /** @type {Item['given'][0]} */ (item.given[i]);
  const name = `wait-${item.n}-q${i}`;
  /** @param {string} label @param {boolean} on */
  const choose = (label, on) => {
    given.chosen = q.multi ? given.chosen.filter((l) => l !== label).concat(on ? [label] : []) : on ? [label] : [];
    item.error = '';
    page.changed();
  };
  return html`<fieldset class="question" ?disabled=${!answers}>
    <legend>${q.header ? html`<span class="quiet">${reveal(q.header)}:</span> ` : nothing}${reveal(q.text, 20)}</legend>
    ${(q.options ?? []).slice(0, mostOptions).map((o) => html`<label class="choice">
      <input type=${q.multi ? 'checkbox' : 'radio'} name=${name} .checked=${live(given.chosen.includes(o.label))}
        @change=${(/** @type {any} */ e) => choose(o.label, e.target.checked)}>
      <span>${reveal(o.label, 10)}${o.description ? html` <span class="quiet">${reveal(o.description, 10)}</span>` : nothing}</span></label>`)}
    ${leftOut((q.options?.length ?? 0) - mostOptions, 'option')}
    ${!q.multi && given.chosen.length ? html`<button type="button" @click=${() => choose('', false)}>Choose none</button>` : nothing}
    <label class="why">${q.options?.length ? 'Or in your own words' : 'Your answer'}
      <textarea rows="2" .value=${live(given.text)} @input=${(/** @type {any} */ e) => { given.text = e.target.value; }}></textarea></label>
  </fieldset>`;
}

/** @param {Page} page @param {Item} item */
function replies(page, item) {
  const { waiting } = page;
  /** @param {Item['given']} given @param {string} done */
  const send = (given, done) => waiting.reply(item, given.map((g) => ({ ...(g.chosen.length && { chosen: g.chosen }), ...(g.text.trim() && { text: g.text.trim() }) })), done);
  const answer = () => {
    if (!waiting.ready(item)) return;
    const missed = item.given.filter((g) => !g.chosen.length && !g.text.trim()).length;
    if (missed < item.given.length) return send(item.given, missed ? `You answered, and left ${counted(missed, 'question')} out.` : 'You answered.');
    item.error = 'Choose or write an answer, or leave all questions out.';
    page.changed();
  };
  const none = () => { if (waiting.ready(item)) send(item.given.map(() => ({ chosen: [], text: '' })), 'You left the questions without an answer.'); };
  const off = !waiting.ready(item);
  return html`<p class="actions">
      <button class="primary" aria-disabled=${off} @click=${answer}>Answer</button>
      <button aria-disabled=${off} @click=${none}>Leave all out</button>
      ${item.busy ? html`<span class="waits">Telling the daemon …</span>` : nothing}
    </p>
    ${item.error ? html`<p class="bad" role="alert">${item.error}</p>` : nothing}`;
}
