// The messages of a conversation as one scrolls through them. Only some of them are in the document at a time.

import { html, nothing, count, counted, duration, keyed, money, ref, repeat, when } from '../dom.js';
import { get, part } from '../api.js';
import { bound } from '../bounded.js';
import { spell } from '../text.js';
import { element } from '../waiting.js';
import { waits } from './ask.js';
import { drawBlock, parse, reasoning, text, unparsed, weight } from './blocks.js';
import { drawCall } from './calls.js';
import { written } from '../written.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {Schemas['Message']} Message */
/** @typedef {import('../live.js').Run} Run */
/** @typedef {import('../live.js').Call} Call */

// So many messages and (about) nodes are in the document; so many come or go at once; so much Markdown is parsed in a frame.
const mostMessages = 60, mostNodes = 2400, atOnce = 12, parsedAtOnce = 4_000, mostParts = 1000, childParts = 250, mostBlocks = 12, mostWaiting = 3, mostOver = 2;
// What is kept of what was drawn: how much is shown of how many, of how many the whole, and how many values that take long to make.
const mostShown = 1000, mostWholes = 50, mostCached = 500;
// As near to an end in pixels, more is fetched; as near to the bottom, one follows.
const near = 700, bottom = 48;
// So long a card that has ended keeps the focus.
const lingers = 10_000;

export class Log {
  /** The messages in the document. */
  from = 0;
  to = 0;
  /** How much is shown of what is long, or that it is unfolded. @type {Map<string, number>} */
  shown = new Map();
  /** @type {Map<string, { of: string[], value: any }>} */
  cache = new Map();
  /** @type {HTMLElement | undefined} */
  box;
  /** What was drawn that waits. @type {import('../waiting.js').Item[]} */
  waited = [];
  lastTop = 0;
  fetching = false;

  /**
   * @param {import('../app.js').Page} page @param {import('./conversation.js').Conversation} talk
   * @param {{ fork: (turns: number) => void, rewind: (turns: number) => void }} actions
   */
  constructor(page, talk, actions) {
    this.page = page;
    this.talk = talk;
    this.actions = actions;
  }

  draw() {
    const h = this.talk.history;
    if (!h.loaded) return html`<p class="waits">Reading the messages …</p>`;
    this.window();
    this.parse();
    const keep = this.anchor();
    queueMicrotask(() => this.placed(keep));
    const indexes = Array.from({ length: this.to - this.from }, (_, i) => this.from + i);
    return html`<div class="log" tabindex="0" role="region" aria-label="Messages" @scroll=${() => this.scrolled()} ${ref((el) => { this.box = /** @type {HTMLElement} */ (el); })}>
      ${this.from > h.first || this.from > 0 ? html`<p class="quiet">${this.fetching ? 'Reading …' : `${counted(this.from - Math.min(h.first, 0), 'message')} before these`}</p>` : this.before()}
      ${h.total === 0 && this.talk.pending.length === 0 && !this.talk.running ? html`<p class="quiet">Nothing has been said here yet.</p>` : nothing}
      ${repeat(indexes, (i) => i, (i) => html`<div class="item ${i < 0 ? 'archived' : ''}" data-index=${i}>${this.message(i, /** @type {Message} */ (h.at(i)))}${this.footer(i)}</div>`)}
      ${this.to < h.total ? html`<p><button @click=${() => this.end()}>Go to the end (${counted(h.total - this.to, 'message')} more)</button></p>` : this.now()}
    </div>`;
  }

  /** Says which messages are in the document. */
  window() {
    const h = this.talk.history;
    if (this.talk.following && h.end === h.total) {
      this.to = h.end;
      this.from = this.back(this.to);
      return;
    }
    const { at } = this.talk;
    if (at !== undefined) this.from = Math.max(h.first, Math.min(at, h.end - 1) - 5);
    this.from = Math.min(Math.max(this.from, h.first), Math.max(h.first, h.end - 1));
    this.to = Math.min(h.end, Math.max(this.to, this.from + 1), this.forth(this.from));
    if (at !== undefined) this.to = this.forth(this.from);
  }

  /** The first message of as many as may be shown before a place. @param {number} to */
  back(to) {
    let left = mostNodes, i = to;
    while (i > this.talk.history.first && to - i < mostMessages && (left -= this.weight(i - 1)) > 0) i--;
    return Math.min(i, Math.max(to - 1, this.talk.history.first));
  }

  /** @param {number} from */
  forth(from) {
    let left = mostNodes, i = from;
    while (i < this.talk.history.end && i - from < mostMessages && (left -= this.weight(i)) > 0) i++;
    return Math.max(i, Math.min(from + 1, this.talk.history.end));
  }

  /** @param {number} i */
  weight(i) {
    const m = this.talk.history.at(i);
    return m?.role === 'tool' ? 1 : (m?.content ?? []).slice(0, mostBlocks).reduce((sum, b) => sum + weight(b), 20);
  }

  /** Parses Markdown, the newest first, and goes on in the next frame. */
  parse() {
    let left = parsedAtOnce;
    for (let i = this.to - 1; i >= this.from; i--) {
      const m = this.talk.history.at(i);
      if (m?.role !== 'assistant') continue;
      for (const b of m.content ?? []) {
        while (unparsed(b)) {
          if (left <= 0) return this.page.changed();
          left -= parse(b, m.content ?? []);
        }
      }
    }
  }

  /** What stays in its place while what is above it grows, and where it is: a card in sight, so that it can be answered, or the message at the top. */
  anchor() {
    if (!this.box || this.talk.following) return;
    const seen = this.box.getBoundingClientRect();
    for (const el of [...this.box.querySelectorAll('.card.asked'), ...this.box.querySelectorAll('.item')]) {
      const at = el.getBoundingClientRect();
      if (at.bottom > seen.top && at.top < seen.bottom) return { what: el.id ? `#${el.id}` : `.item[data-index="${/** @type {HTMLElement} */ (el).dataset.index}"]`, top: at.top };
    }
    return undefined;
  }

  /** Keeps in its place what somebody reads. @param {ReturnType<Log['anchor']>} keep */
  placed(keep) {
    const box = this.box;
    if (!box) return;
    if (this.talk.at !== undefined) {
      const el = box.querySelector(`.item[data-index="${this.talk.at}"]`);
      if (el) { el.scrollIntoView(); el.classList.add('found'); this.talk.at = undefined; }
    } else if (this.talk.following) box.scrollTop = box.scrollHeight;
    else if (keep) {
      const el = box.querySelector(keep.what);
      if (el) box.scrollTop += el.getBoundingClientRect().top - keep.top;
    }
    this.lastTop = box.scrollTop;
    if (box.scrollHeight < box.clientHeight + near && (this.from > 0 || this.from > this.talk.history.first)) this.up();
  }

  scrolled() {
    const box = this.box;
    if (!box) return;
    const below = box.scrollHeight - box.scrollTop - box.clientHeight;
    if (box.scrollTop < this.lastTop - 1 && below > bottom) this.talk.following = false;
    else if (below <= bottom && this.to === this.talk.history.total) this.talk.following = true;
    this.lastTop = box.scrollTop;
    if (box.scrollTop < near) this.up();
    else if (below < near) this.down();
  }

  async up() {
    const h = this.talk.history;
    if (this.fetching || this.from <= 0 && this.from === h.first || this.talk.following && this.back(this.to) === this.from && this.from > h.first) return;
    if (this.from <= h.first && !await this.fetch(() => h.earlier())) return;
    this.from = Math.max(h.first, this.from - atOnce);
    this.to = Math.min(this.to, this.forth(this.from));
    this.page.changed();
  }

  async down() {
    const h = this.talk.history;
    if (this.fetching || this.talk.following || this.to >= h.total) return;
    if (this.to >= h.end && !await this.fetch(() => h.later())) return;
    this.to = Math.min(h.end, this.to + atOnce);
    this.from = Math.max(this.from, this.back(this.to));
    this.page.changed();
  }

  /** @param {() => Promise<void>} load */
  async fetch(load) {
    this.fetching = true;
    try {
      await load();
      await this.talk.match();
      return true;
    } catch (err) {
      this.page.failed(err);
      return false;
    } finally {
      this.fetching = false;
    }
  }

  async end() {
    this.talk.following = true;
    await this.talk.refresh();
    this.page.changed();
  }

  /** What leads to the archive, and in it what it is. */
  before() {
    const h = this.talk.history;
    if (h.first < 0) return html`<p class="quiet">The archive: the model is told only its summary.</p>`;
    if (!h.summed) return nothing;
    return html`<p><button ?disabled=${this.fetching} @click=${() => this.unpack()}>Show what was said before the summary</button></p>`;
  }

  /** Shows the last turn of the archive. */
  async unpack() {
    const h = this.talk.history;
    this.talk.following = false;
    if (!await this.fetch(() => h.unpack())) return;
    let at = -1;
    while (at > h.first && !this.talk.begins(at)) at--;
    if (at >= h.first) this.talk.at = at;
    this.page.changed();
  }

  /** @param {number} i @param {Message} m */
  message(i, m) {
    if (m.role === 'tool') return this.result(i, m);
    const blocks = m.content ?? [], said = m.role === 'assistant', turn = this.talk.turnOf(i)?.id ?? '', from = this.shown.get(`${i}/from`) ?? 0;
    if (m.label) {
      const key = `${i}/label`, open = this.shown.has(key);
      return html`<div class="entry"><button class="fold" aria-expanded=${open} @click=${() => this.fold(key)}>${open ? '▾' : '▸'} ${
        m.label === 'summary' ? 'Summary of what was said before' : html`<bdi>${spell(m.label)}</bdi>, entered by the framework`}</button>
        ${open ? blocks.slice(0, mostBlocks).map((b, n) => drawBlock(this, `${i}/${n}`, b, false)) : nothing}</div>`;
    }
    return html`<article class=${said ? 'reply' : 'prompt'}>
      ${said && this.goesOn(i, m) ? nothing : html`<h3 class="quiet"><bdi>${spell((said ? m.from ?? this.talk.about?.agent : this.talk.about?.sender) ?? '')}</bdi></h3>`}
      ${m.partial ? html`<p class="warn">cut off when the turn was cancelled</p>` : nothing}
      ${blocks.slice(from, from + mostBlocks).map((b, n) => b.kind === 'tool_call' ? this.storedCall(i, b, turn) : drawBlock(this, `${i}/${from + n}`, b, said))}
      ${blocks.length > mostBlocks ? html`<p class="actions"><span class="quiet">Parts ${from + 1} to ${Math.min(from + mostBlocks, blocks.length)} of ${blocks.length}</span>
        <button ?disabled=${from === 0} @click=${() => this.turnTo(`${i}/from`, from - mostBlocks)}>Before</button>
        <button ?disabled=${from + mostBlocks >= blocks.length} @click=${() => this.turnTo(`${i}/from`, from + mostBlocks)}>After</button></p>` : nothing}
    </article>`;
  }

  /** Whether the same agent has said the message before. @param {number} i @param {Message} m */
  goesOn(i, m) {
    let j = i - 1;
    while (this.talk.history.at(j)?.role === 'tool') j--;
    const before = this.talk.history.at(j);
    return j >= this.from && before?.role === 'assistant' && before.from === m.from;
  }

  /** @param {number} i @param {Schemas['Block']} b @param {string} turn */
  storedCall(i, b, turn) {
    const answer = this.answer(i, b.call_id ?? ''), result = answer?.result;
    const known = turn ? this.talk.details(turn)?.calls.get(b.call_id ?? '') : undefined;
    const call = {
      id: b.call_id ?? '', tool: b.tool ?? '', args: b.json, progress: '', children: known?.children ?? [],
      result: answer && '', failed: !!result?.failure, outcome: known?.outcome, ms: known?.ms, by: known?.by, asked: known?.asked, answer: known?.answer,
    };
    if (answer && !call.outcome && result?.failure === 'denied') call.outcome = 'denied';
    return drawCall(this, call, turn, answer ? result?.content ?? [] : undefined);
  }

  /** The result of a call, which is a message after it. @param {number} i @param {string} call */
  answer(i, call) {
    for (let j = i + 1; j < this.talk.history.end; j++) {
      const m = this.talk.history.at(j);
      if (m?.role === 'tool' && m.call_id === call) return m;
      if (m?.role === 'assistant') return;
    }
    return undefined;
  }

  /** A result whose call is not loaded. @param {number} i @param {Message} m */
  result(i, m) {
    for (let j = i - 1; j >= this.talk.history.first; j--) if (this.talk.history.at(j)?.role === 'assistant') return nothing;
    return drawCall(this, { id: m.call_id ?? '', tool: m.tool ?? '', args: undefined, progress: '', children: [], result: '', failed: !!m.result?.failure }, '', m.result?.content ?? []);
  }

  /** What a turn has cost, below its last message. @param {number} i */
  footer(i) {
    const h = this.talk.history, about = this.talk.about;
    const last = i + 1 === h.total || i === -1 || this.talk.begins(i + 1);
    if (!last || !about || i + 1 === h.total && (about.turn || this.talk.running)) return nothing;
    const t = this.talk.turnOf(i), n = i < 0 ? 0 : this.number(i), stopped = t?.stop === 'cancelled' && t.ended;
    return html`<div class="turn quiet">
      ${t ? html`<span>${spell(this.talk.agent?.model ?? '')}</span>
        <span>${when(t.started)}${t.ended ? html`, <span class=${stopped ? 'warn' : ''}>${stopped ? 'stopped after' : 'took'} ${duration(Date.parse(t.ended) - Date.parse(t.started))}</span>` : nothing}</span>
        <span>${count(t.usage.input)} tokens in, ${count(t.usage.output)} out</span>${t.cost ? html`<span>${money(t.cost)}</span>` : nothing}
        ${t.stop && t.stop !== 'completed' && !stopped ? html`<span class="warn">${t.stop.replaceAll('_', ' ')}${t.error ? html`: <bdi>${spell(t.error)}</bdi>` : nothing}</span>` : nothing}
        ${t.denied ? html`<span class="bad">${counted(t.denied, 'call')} denied</span>` : nothing}
        <a href="#/turn/${part(this.talk.id)}/${part(t.id)}">waterfall</a>` : this.talk.unrecorded(i) ? html`<span>No events of this turn are here: it came with a fork or an import, or they are not kept any more.</span>` : nothing}
      ${n > 0 && this.page.may('converse') ? html`<button @click=${() => this.actions.fork(n)}>Fork here</button>
        ${i + 1 < h.total ? html`<button @click=${() => this.actions.rewind(n)}>Rewind to here</button>` : nothing}` : nothing}
    </div>`;
  }

  /** Which of the turns that have ended it is, counted from 1; 0 if it is none of them. @param {number} i */
  number(i) {
    const n = this.talk.history.turn(i);
    return n <= (this.talk.about?.turns ?? 0) ? n : 0;
  }

  /** What happens now. */
  now() {
    const run = this.talk.running;
    const pending = this.talk.pending.map((p) => html`<article class="prompt pending"><h3 class="quiet">${p.state}</h3>${text(this, 'pending', p.text)}</article>`);
    return html`
      ${run ? nothing : pending}
      ${run ? html`<article class="reply"><h3 class="quiet"><bdi>${spell(run.agent)}</bdi> <span class="live">runs</span></h3>${this.parts(run)}</article>` : nothing}
      ${repeat(this.waiting(), (item) => item.n, (item) => waits(this.page, item))}
      ${run ? pending : nothing}`;
  }

  /** What waits for a person here, and what has just ended. */
  waiting() {
    const all = this.page.waiting.of(this.talk.id), open = all.filter((x) => !x.over).slice(0, mostWaiting), over = all.filter((x) => x.over).slice(-mostOver);
    const items = all.filter((x) => open.includes(x) || over.includes(x));
    if (this.waited.some((x) => !items.includes(x))) queueMicrotask(() => this.page.waiting.settle(0)); // those below have moved up
    this.waited = items;
    for (const x of over) if (performance.now() - x.ended > lingers && element(x)?.contains(document.activeElement)) this.box?.focus({ preventScroll: true }); // else it would stay
    return items;
  }

  /** The steps of a turn that are not in the messages. @param {Run} run */
  parts(run) {
    const parts = run.steps.flatMap((s) => s.parts);
    let left = parts.length;
    for (let room = run.depth ? childParts : mostParts; left > 0 && room > 0; left--) room -= partWeight(parts[left - 1]);
    return html`${left ? html`<p class="quiet">${counted(left, 'part')} before this</p>` : nothing}
      ${parts.slice(left).map((p, i) => {
        const key = `${run.id}/live/${left + i}`;
        switch (p.kind) {
          case 'text': return html`<div>${p.text.pieces.slice(-10).map((piece) => html`<div class="text">${piece}</div>`)}</div>`;
          case 'reasoning': return reasoning(this, key, p.text.pieces);
          case 'call': return keyed(p.call.id, drawCall(this, p.call, run.id));
          case 'steered': return html`<div class="prompt"><b class="quiet">told while it runs</b><div class="text">${p.text.slice(0, 2000)}</div></div>`;
          default: return html`<p class="note ${p.bad ? 'bad' : 'quiet'}">${p.bad ? '✗' : '·'} <bdi>${spell(p.text.slice(0, 500))}</bdi></p>`;
        }
      })}`;
  }

  /** Shows other parts of a message, or more of a text, for somebody who reads. @param {string} key @param {number} n */
  turnTo(key, n) {
    this.talk.following = false;
    this.show(key, n);
  }

  /** Unfolds or folds. @param {string} key */
  fold(key) {
    if (this.shown.delete(key)) this.page.changed();
    else this.show(key, 1);
  }

  /** @param {string} key @param {number} n */
  show(key, n) {
    this.shown.delete(key); // what was touched last is the newest
    this.shown.set(key, n);
    bound(this.shown, mostShown);
    this.page.changed();
  }

  /** @param {string} key @param {number} shown @param {number} step @param {string} label */
  more(key, shown, step, label) {
    return html`<button class="more" @click=${() => this.turnTo(key, shown + step)}>${label}</button>`;
  }

  /** What an event had before its middle was cut out for the stream. @type {Map<string, string>} */
  wholes = new Map();

  /** A button for the whole event, and then what it says. @param {string} key @param {string} [path] */
  wholeEvent(key, path) {
    if (!path) return nothing;
    const at = `${key}/whole`, known = this.wholes.get(at);
    if (known !== undefined) return text(this, at, known);
    return html`<button class="more" @click=${async () => {
      try {
        const e = /** @type {Schemas['Event']} */ (await get(path));
        this.wholes.set(at, spell([e.args && written(e.args), e.result, e.text].filter(Boolean).join('\n')));
        bound(this.wholes, mostWholes);
        this.page.changed();
      } catch (err) { this.page.failed(err); }
    }}>Its middle is left out: show the whole</button>`;
  }

  /** A value that takes long to make, made once. @template T @param {string} key @param {string[]} of what it is made of @param {() => T} make @returns {T} */
  cached(key, of, make) {
    let known = this.cache.get(key);
    if (!known || known.of.some((text, i) => text !== of[i])) {
      this.cache.delete(key);
      this.cache.set(key, known = { of, value: make() });
      bound(this.cache, mostCached);
    }
    return known.value;
  }
}

/** How many nodes a part of a running step takes, about. @param {import('../live.js').Part | undefined} part */
const partWeight = (part) => part?.kind === 'call' ? weight({ kind: 'tool_call', json: part.call.args }) : 40;
