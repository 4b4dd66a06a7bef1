// One conversation: its messages, as the store has them, and over them what its turns do right now.

import { Failure, get, part, post, stream } from '../api.js';
import { History, textOf } from '../history.js';
import { Runs } from '../live.js';

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {import('../live.js').Run} Run */

const turnsAtOnce = 50, mostDetails = 40, detailsAtOnce = 1;

const steers = 'is told before the next step', queued = 'waits until the turn has ended, as long as this page is open';

export class Conversation {
  /** @type {Schemas['Conversation'] | undefined} */
  about;
  /** @type {Schemas['Agent'] | undefined} */
  agent;
  /** @type {Schemas['Tasks'] | undefined} */
  tasks;
  runs = new Runs();
  /** The turns, the newest first. @type {Schemas['RanTurn'][]} */
  turns = [];
  moreTurns = false;
  turnsRead = false;
  /** The turn that has ended last here. */
  ran = '';
  /** The turn that each message which began one began. @type {Map<number, Schemas['RanTurn']>} */
  begun = new Map();
  /** Why the stream is lost; '' while it lives. */
  lost = '';
  waitsForDaemon = false;
  /** What was sent and is not in the messages yet, and what has become of it so far. @type {{ text: string, state: string }[]} */
  pending = [];
  /** Somebody looks at the end. */
  following = true;
  /** The message to show next; below 0 it is in the archive. @type {number | undefined} */
  at;
  /** There is no such conversation (any more). */
  missing = false;

  /** @param {import('../app.js').Page} page @param {string} id */
  constructor(page, id) {
    this.page = page;
    this.id = id;
    this.path = `/v1/conversations/${part(id)}`;
    this.history = new History(this.path);
  }

  /** The turn of the conversation that runs, as its events say. @returns {Run | undefined} */
  get running() {
    return [...this.runs.byTurn.values()].find((r) => r.depth === 0 && !r.ended && this.live.has(r.id));
  }
  /** Turns that this page has seen run. @type {Set<string>} */
  live = new Set();

  /** @param {AbortSignal} signal @param {number} [at] the message to show @param {boolean} [archived] it is in the archive */
  async open(signal, at, archived = false) {
    this.following = at === undefined;
    const about = this.about = /** @type {Schemas['Conversation']} */ (await get(this.path, signal));
    await (at === undefined ? this.history.tail() : this.history.around(archived ? 0 : at));
    if (archived) await this.history.unpack();
    if (at !== undefined) {
      this.at = archived ? at - (this.history.archive?.length ?? 0) : at;
      while (this.at > this.history.first && this.history.at(this.at)?.role === 'tool') this.at--; // a result is shown with its call
    }
    this.page.changed();
    await this.readTurns();
    this.readTasks();
    get(`/v1/agents/${part(about.agent)}`, signal).then((a) => { this.agent = a; this.page.changed(); }).catch(() => {}); // it may be gone
    const runs = this.turns.find((t) => t.id === about.turn);
    await stream(`${this.path}/events`, {
      after: runs ? before(runs.first) : about.last_event_id,
      signal,
      event: (e) => this.take(e),
      note: (name) => this.note(name),
      state: (state, why) => this.state(state === 'lost' ? why : ''),
    });
  }

  /** @param {Schemas['Event']} e */
  take(e) {
    if (this.live.has(e.turn ?? '') && !this.runs.byTurn.has(e.turn ?? '')) return; // of a turn that has ended long ago
    const run = this.runs.take(e);
    if (run && run.depth === 0 && !this.live.has(run.id)) {
      this.live.add(run.id);
      run.ended = false;
    }
    switch (e.kind) {
      case 'turn_start': if (!e.depth) { this.waitsForDaemon = false; this.refresh(); } break;
      case 'steered': case 'steer_refused': if (!e.depth) { this.told(e.text ?? ''); this.refresh(); } break;
      case 'step_end': case 'compacted': if (!e.depth) this.refresh(); break;
      case 'plan_updated': this.readTasks(); break;
      case 'turn_end': if (!e.depth) this.ended(e); break;
      case 'approval_asked': case 'approval_given': case 'approval_timed_out': case 'question_asked': case 'question_given': this.page.waiting.look().catch(() => {}); break;
    }
    this.page.changed();
  }

  /** @param {Schemas['Event']} e */
  ended(e) {
    this.ran = e.turn ?? '';
    this.forgetDetails();
    this.refresh().then(() => { this.pending = this.pending.filter((p) => p.state !== steers); this.page.changed(); });
    this.page.say(`The turn has ended: ${e.stop ?? ''}`);
  }

  /** A turn was told what was sent to it, or it was refused. @param {string} text as hooks have left it */
  told(text) {
    const waiting = this.pending.filter((p) => p.state === steers), sent = waiting.find((p) => p.text === text) ?? waiting[0];
    this.pending = this.pending.filter((p) => p !== sent);
    this.page.waiting.settle(0);
  }

  /** What a stream says of itself. @param {string} name */
  note(name) {
    if (name === 'waiting') this.waitsForDaemon = true;
    if (name === 'restarted') { // what was told and not written down has not happened
      for (const id of this.live) this.runs.forget(id);
      this.live.clear();
      this.pending = this.pending.filter((p) => p.state !== steers);
    }
    this.refresh();
    this.page.changed();
  }

  /** @param {string} why */
  state(why) {
    if (why && !this.lost) this.page.say('The connection to the daemon is lost.');
    if (!why && this.lost) { this.page.say('The connection is back.'); this.refresh(); }
    this.lost = why;
    this.page.changed();
  }

  /** @type {Promise<void> | undefined} */
  reading;
  /** @type {Promise<void> | undefined} */
  next;

  /** Reads again what the store has, once at a time. It ends when what the store has now is there. @returns {Promise<void>} */
  refresh() {
    if (this.reading) return this.next ??= this.reading.then(() => { this.next = undefined; return this.refresh(); });
    return this.reading = this.read().catch((err) => this.failed(err)).finally(() => { this.reading = undefined; });
  }

  /** @param {unknown} err */
  failed(err) {
    if (gone(err)) this.missing = true;
    else if (!unreachable(err)) this.page.failed(err);
    this.page.changed();
  }

  async read() {
    const steps = [...this.live].flatMap((id) => this.runs.byTurn.get(id)?.steps ?? []).filter((s) => s.done && !s.stored);
    const [about] = await Promise.all([get(this.path), this.history.tail(this.following)]);
    this.about = about;
    for (const s of steps) { s.stored = true; s.parts = []; }
    this.page.changed();
    await Promise.all([this.readTurns(), this.readTasks()]);
  }

  async readTurns() {
    const newest = /** @type {Schemas['RanTurns']} */ (await get(`${this.path}/turns?limit=${turnsAtOnce}`)).turns;
    const oldest = newest.at(-1), known = oldest ? this.turns.findIndex((t) => t.id === oldest.id) : -1;
    if (known < 0) this.moreTurns = newest.length === turnsAtOnce;
    this.turns = known < 0 ? newest : [...newest, ...this.turns.slice(known + 1)];
    await this.match();
    this.turnsRead = true;
  }

  /** Finds the turn that each message began, from the end: by its text. */
  async match() {
    const h = this.history;
    for (;;) {
      const begun = this.begun = new Map();
      let next = 0;
      for (let i = h.end - 1; i >= h.first; i--) {
        const m = h.at(i);
        if (m?.role !== 'user' || m.label || i > h.first && !this.begins(i)) continue;
        const found = this.turns.findIndex((t, n) => n >= next && begins(t, textOf(m)));
        if (found < 0) continue;
        begun.set(i, /** @type {Schemas['RanTurn']} */ (this.turns[found]));
        next = found + 1;
      }
      this.page.changed();
      if (next < this.turns.length || !this.moreTurns) return;
      const more = /** @type {Schemas['RanTurns']} */ (await get(`${this.path}/turns?limit=${turnsAtOnce}&before=${part(this.turns.at(-1)?.id ?? '')}`)).turns;
      this.moreTurns = more.length === turnsAtOnce;
      this.turns.push(...more);
    }
  }

  /** Whether a message begins a turn, and was not told to one that ran. @param {number} index */
  begins(index) {
    const h = this.history, m = h.at(index);
    if (m?.role !== 'user' || m.label) return false;
    if (index === h.first) return h.start === 0 || this.begun.has(index);
    return h.turn(index) !== h.turn(index - 1) || h.at(index - 1)?.label === 'summary';
  }

  /** The turn of a message. @param {number} index @returns {Schemas['RanTurn'] | undefined} */
  turnOf(index) {
    for (let i = index; i >= this.history.first; i--) {
      if (this.begins(i)) return this.begun.get(i);
      if (this.history.at(i)?.label === 'summary') return undefined;
    }
    return undefined;
  }

  /** Whether the beginning of the message's turn is here, and no event of it. @param {number} index */
  unrecorded(index) {
    if (this.moreTurns || !this.turnsRead || this.turnOf(index)) return false;
    for (let i = index; i >= this.history.first && this.history.at(i)?.label !== 'summary'; i--) if (this.begins(i)) return true;
    return false;
  }

  async readTasks() {
    this.tasks = await get(`${this.path}/tasks`).catch(() => undefined); // its agent may be gone
    this.page.changed();
  }

  /** The turns whose events are being fetched, or were. @type {Set<string>} */
  detailed = new Set();
  fetching = 0;

  /**
   * What an ended turn did, by the events that were kept. They are fetched if they are not there yet.
   * @param {string} turn @returns {Run | undefined}
   */
  details(turn) {
    const run = this.runs.byTurn.get(turn);
    if (run || this.detailed.has(turn) || this.fetching >= detailsAtOnce) return run;
    this.detailed.add(turn);
    this.fetching++;
    get(`${this.path}/turns/${part(turn)}`).then((/** @type {Schemas['TurnEvents']} */ answer) => {
      this.forgetDetails();
      for (const e of answer.events) this.runs.take(e);
    }).catch(() => {}).finally(() => { this.fetching--; this.page.changed(); }); // without them outcomes and times are not shown
    return undefined;
  }

  /** Lets go of the oldest turns that have ended, if there are many: they are fetched again when they are shown. */
  forgetDetails() {
    if (this.runs.byTurn.size <= mostDetails * 4) return;
    const ended = [...this.runs.byTurn.values()].filter((r) => r.ended && r.id !== this.ran);
    for (const r of ended.slice(0, mostDetails * 2)) this.runs.forget(r.id);
    this.detailed.clear();
  }

  /** Says something, to a turn that runs if there is one. @param {Schemas['NewMessage']} message */
  async send(message) {
    const pending = { text: message.text, state: message.when_busy === 'steer' ? steers : message.when_busy === 'queue' ? queued : 'is being sent …' };
    this.pending.push(pending);
    this.page.waiting.settle(0); // it is drawn below what waits here
    this.following = true;
    this.page.changed();
    try {
      const turn = /** @type {Schemas['Turn']} */ (await post(`${this.path}/messages`, message));
      if (turn.steered && this.running) return; // an event tells when it was told
      await this.refresh();
      this.pending = this.pending.filter((p) => p !== pending);
    } catch (err) {
      this.pending = this.pending.filter((p) => p !== pending);
      throw err;
    } finally {
      this.page.changed();
    }
  }
}

/** @param {unknown} err */
export const gone = (err) => err instanceof Failure && err.status === 404;

/** @param {unknown} err */
const unreachable = (err) => err instanceof Failure && err.status === 0; // the stream says so

/** The id of the event before. @param {string} id */
function before(id) {
  const [epoch, seq] = id.split('-');
  return `${epoch}-${Math.max(0, Number(seq) - 1)}`;
}

/** @param {Schemas['RanTurn']} turn @param {string} text */
const begins = (turn, text) => turn.text.trim().slice(0, 150) === text.trim().slice(0, 150);
