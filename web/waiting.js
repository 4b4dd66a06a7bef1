// What waits for a person: calls to approve, and questions of agents. The page has one list of it: the frame counts it, and views show it.

import { Failure, get, part, post } from './api.js';

/** @typedef {import('./api.js').Schemas} Schemas */

/**
 * One thing that waits: an ask or an inquiry, and what somebody on this page has done about it so far.
 * @typedef {object} Item
 * @property {number} n its number on this page: the ids in the document are made of it
 * @property {string} id
 * @property {Schemas['Ask']} [ask]
 * @property {Schemas['Inquiry']} [inquiry]
 * @property {number} since when it came, or moved
 * @property {boolean} busy its answer is on the way
 * @property {string} error what is wrong with the answer
 * @property {string} over how it ended; '' while it waits
 * @property {number} ended when that was
 * @property {boolean} whole all of the arguments is shown
 * @property {ReturnType<typeof import('./args.js').shown>} [shown] the arguments as they are shown
 * @property {string} reason why it is refused
 * @property {string} remember the id of the offer that is chosen; '' is none
 * @property {string | undefined} draft other arguments, while somebody writes them
 * @property {{ chosen: string[], text: string }[]} given an answer to each question
 */

// How often the daemon is asked what waits, in milliseconds, while somebody looks at the page and while nobody does.
const often = 1000, seldom = 3000, longestPause = 5000;
// What comes or moves cannot be answered at once: a click or a key may have been meant for what was there before.
const settling = 500;
// How long it stays to be read how something ended.
const lingers = 10_000;

// So much of what others have answered is told.
const longest = 500;

// What the daemon says of an ask whose turn has ended (approval.Interrupted).
const ended = 'The turn ended before the user answered.';

// What the events call who has answered, unless a token has another name.
const by = 'inspector';

// What the daemon has the model read of a refusal without a reason (approval.saidNo).
const noReason = 'The user said no.';

export class Waiting {
  /** Those that came first are first, and new ones are added below: nothing moves down. @type {Item[]} */
  items = [];
  /** The ids of daemons that did not say what waits there. @type {string[]} */
  silent = [];
  /** Why the daemon cannot be asked now; '' if it can. */
  lost = '';
  last = 0;
  looked = false;

  /**
   * @param {{ changed: () => void, say: (text: string) => void, failed: (err: unknown) => void }} page
   * @param {() => void} arrived is called when something new waits
   */
  constructor(page, arrived) { this.page = page; this.arrived = arrived; }

  /** Asks the daemon what waits, every so often. @param {AbortSignal} signal */
  async follow(signal) {
    document.addEventListener('visibilitychange', () => this.settle(0), { signal });
    while (!signal.aborted) {
      const began = performance.now();
      await this.look(signal).then(() => this.reached(''), (err) => {
        if (signal.aborted) return;
        if (err instanceof Failure && err.status === 401) this.page.failed(err);
        else this.reached(err instanceof Error ? err.message : String(err));
      });
      const took = performance.now() - began; // long lists take their time
      const pause = Math.min(Math.max(document.hidden ? seldom : often, 5 * took), longestPause);
      await new Promise((done) => {
        const timer = setTimeout(done, pause);
        signal.addEventListener('abort', () => { clearTimeout(timer); done(undefined); }, { once: true });
      });
    }
  }

  /** @param {string} lost */
  reached(lost) {
    if (lost === this.lost) return;
    this.lost = lost;
    this.page.say(lost ? '' : 'The daemon answers again.');
    this.page.changed();
  }

  /** @param {AbortSignal} [signal] */
  async look(signal) {
    const [asks, inquiries] = await Promise.all([get('/v1/asks', signal), get('/v1/inquiries', signal)]);
    this.take(asks.asks, inquiries.inquiries, [...asks.unanswered ?? [], ...inquiries.unanswered ?? []]);
  }

  /** @param {Schemas['Ask'][]} asks @param {Schemas['Inquiry'][]} inquiries @param {string[]} silent */
  take(asks, inquiries, silent) {
    const now = performance.now();
    const open = new Map([...asks, ...inquiries].map((x) => [x.id, x]));
    if (silent.length !== this.silent.length) this.page.changed();
    this.silent = silent;
    if (!silent.length) for (const item of this.open()) if (!open.has(item.id)) this.gone(item);
    for (const item of this.items.filter((x) => x.over && now - x.ended > lingers && !element(x)?.contains(document.activeElement))) {
      this.items.splice(this.items.indexOf(item), 1);
      this.page.changed();
    }
    for (const item of this.open()) open.delete(item.id);
    const fresh = [...open.values()].sort((a, b) => Date.parse(a.asked) - Date.parse(b.asked));
    if (fresh.length) {
      for (const x of fresh) this.items.push(this.item(x, now));
      if (this.looked || document.hidden) this.arrived();
    }
    this.looked = true;
    if (this.items.length) this.page.changed(); // the times that are left
  }

  /** @param {Schemas['Ask'] | Schemas['Inquiry']} x @param {number} since @returns {Item} */
  item(x, since) {
    return {
      n: ++this.last, id: x.id, ...('questions' in x ? { inquiry: x } : { ask: x }), since,
      busy: false, error: '', over: '', ended: 0, whole: false, reason: '', remember: '', draft: undefined,
      given: 'questions' in x ? x.questions.map(() => ({ chosen: [], text: '' })) : [],
    };
  }

  /** What still waits. */
  open() { return this.items.filter((x) => !x.over); }

  /** What waits, or waited a moment ago, in a conversation. @param {string} conversation */
  of(conversation) { return this.items.filter((x) => (x.ask ?? x.inquiry)?.conversation === conversation); }

  /** Those from a place on cannot be answered for a moment. @param {number} from */
  settle(from) {
    for (const item of this.items.slice(from)) item.since = performance.now();
    this.page.changed();
    setTimeout(() => this.page.changed(), settling + 20);
  }

  /**
   * Says where they are, before the page is drawn. What it returns is called in the next frame, when a log that keeps its place has scrolled, too: those
   * that were moved, by whatever was drawn, settle.
   * @returns {() => void}
   */
  watch() {
    const before = this.open().map((item) => ({ item, top: element(item)?.getBoundingClientRect().top ?? 0 }));
    return () => {
      const moved = before.filter(({ item, top }) => Math.abs((element(item)?.getBoundingClientRect().top ?? 0) - top) > 1);
      for (const { item } of moved) item.since = performance.now();
      if (moved.length > 0) this.settle(this.items.length);
    };
  }

  /** All of its arguments is shown from now on. @param {Item} item */
  unfold(item) {
    item.whole = true;
    this.settle(this.items.indexOf(item));
  }

  /** Whether its buttons may do anything. @param {Item} item */
  ready(item) { return !item.over && !item.busy && !this.lost && performance.now() - item.since >= settling; }

  /** Answers an ask. @param {Item} item @param {Omit<Schemas['Answer'], 'by'>} answer @param {string} done what is said then */
  answer(item, answer, done) { return this.send(item, `/v1/asks/${part(item.id)}`, { ...answer, by }, done); }

  /** Answers an inquiry. @param {Item} item @param {Schemas['Given']} given @param {string} done */
  reply(item, given, done) { return this.send(item, `/v1/inquiries/${part(item.id)}`, { given, by }, done); }

  /** @param {Item} item @param {string} path @param {unknown} body @param {string} done */
  async send(item, path, body, done) {
    item.busy = true;
    item.error = '';
    this.page.changed();
    try {
      await post(path, body);
      this.end(item, done);
    } catch (err) {
      if (!(err instanceof Failure) || err.status === 401 || err.status === 0) this.page.failed(err);
      else if (item.over) { /* the list has said so before the answer did */ }
      else if (err.status === 409 || err.status === 404) {
        const how = await this.how(item).catch(() => '');
        this.end(item, `Your answer came too late. ${how || err.message}`);
      } else item.error = err.message;
    }
    item.busy = false;
    this.page.changed();
    this.look().catch(() => {});
  }

  /** Somebody else has answered it, or nobody can any more. @param {Item} item */
  gone(item) {
    if (item.busy) return; // the answer says what has become of it
    this.end(item, 'It does not wait any more.');
    this.how(item).then((how) => how && this.tell(item, how)).catch(() => {});
  }

  /** @param {Item} item @param {string} how */
  end(item, how) {
    const here = element(item)?.contains(document.activeElement);
    item.ended = performance.now();
    this.tell(item, how);
    if (here) this.focusAfter(item);
  }

  /** @param {Item} item @param {string} how */
  tell(item, how) {
    item.over = how;
    this.page.say(how);
  }

  /** Moves the focus from one that has ended to the next, on no button. @param {Item} item */
  focusAfter(item) {
    const at = this.items.indexOf(item);
    const next = [...this.items.slice(at + 1), ...this.items.slice(0, at)].find((x) => !x.over && element(x)) ?? item;
    this.show(next);
  }

  /** Moves the focus to one, on no button. @param {Item} item */
  show(item) {
    this.page.changed();
    requestAnimationFrame(() => element(item)?.focus());
  }

  /** How it ended, as the events of its turn tell; '' if they do not. @param {Item} item */
  async how(item) {
    const { conversation, turn } = /** @type {Schemas['Ask'] | Schemas['Inquiry']} */ (item.ask ?? item.inquiry);
    const { events } = /** @type {{ events: Schemas['Event'][] }} */ (await get(`/v1/conversations/${part(conversation)}/turns/${part(turn)}`));
    for (const e of events.reverse()) {
      if (e.turn !== turn) continue; // a turn within it, or around it
      if (item.ask && e.call_id === item.ask.call_id) {
        if (e.kind === 'approval_timed_out' || lastOf(e) === 'timeout') return `Nobody answered in time, and it was ${past(e.answer)}.`;
        if (e.text === ended) return ended;
        if (e.kind === 'approval_given') return `${upper(past(e.answer))} ${who(e)}${e.text && e.text !== noReason ? `: "${e.text.slice(0, longest)}"` : '.'}`;
      }
      if (item.inquiry && e.kind === 'question_given' && e.inquiry?.id === item.id) {
        const given = e.response?.given.map((g) => [...g.chosen ?? [], g.text].filter(Boolean).join(', ') || 'no answer').join('; ');
        return given === undefined ? `There was no answer: ${e.text || 'nobody gave one'}.` : `Answered ${who(e)}: ${given.slice(0, longest)}`;
      }
    }
    return '';
  }
}

/** Its place in the document. @param {Item} item */
export const element = (item) => document.getElementById(`wait-${item.n}`);

/** @param {string | undefined} answer */
const past = (answer) => ({ approve: 'approved', refuse: 'refused', modify: 'approved with other arguments' })[answer ?? ''] ?? answer ?? 'answered';

/** @param {string} text */
const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** The last word of the path of the hook that took the answer. @param {Schemas['Event']} e */
const lastOf = (e) => (e.by ?? '').split('.').pop() ?? '';

/** Where, or by whom, it was answered. @param {Schemas['Event']} e */
function who(e) {
  const last = lastOf(e);
  if (last === by) return 'in another window';
  return `by ${last === 'rule' ? 'what was remembered' : last || 'somebody'}`;
}
