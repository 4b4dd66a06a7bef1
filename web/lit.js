// What turns have lit in the plan: the runs of hooks, by field and point.

import { bound } from './bounded.js';
import { broke, counting, denies, runOf } from './runs.js';

/** @typedef {import('./api.js').Schemas['Event']} Event */
/**
 * What is known of one field at one point.
 * @typedef {object} Dot
 * @property {number} asked
 * @property {number} skipped
 * @property {number} took in milliseconds
 * @property {number} answered
 * @property {number} denied
 * @property {number} broke
 * @property {number} last when it was last told of
 */

/** @param {Event} e */
const idOf = (e) => `${e.conversation} ${e.epoch}-${e.seq}`;

// How many runs are kept for who asks about a dot, and how many answered calls.
const kept = 5000;

export class Lit {
  /** @type {Map<string, Dot>} */
  dots = new Map();
  /** @type {Event[]} */
  runs = [];

  /** @param {string[]} lanes the paths of the fields that are drawn */
  constructor(lanes) { this.lanes = new Set(lanes); }

  /** The lane of a path: that of the field, or of the group or composite around it. @param {string | undefined} path */
  lane(path = '') {
    let at = path.replace(/\[.*/, '');
    while (at && !this.lanes.has(at)) at = at.slice(0, Math.max(0, at.lastIndexOf('.')));
    return at;
  }

  /** @param {Event} e of the kind hook_run @param {number} now */
  add(e, now) {
    if (this.runs.push(e) > 2 * kept) this.runs = this.runs.slice(-kept);
    const key = `${this.lane(e.subsystem)}|${e.point}`;
    let dot = this.dots.get(key);
    if (!dot) this.dots.set(key, dot = { asked: 0, skipped: 0, took: 0, answered: 0, denied: 0, broke: 0, last: 0 });
    dot.last = now;
    if (e.status === 'skipped') {
      dot.skipped++;
      return;
    }
    dot.asked++;
    dot.took += e.duration_ms ?? 0;
    if (e.answer) dot.answered++;
    if (denies(e.answer)) dot.denied++;
    if (broke(runOf(e))) dot.broke++;
  }

  /** Puts runs of before this page followed in front of those that are here, each once. @param {Event[]} events */
  before(events) {
    const earlier = events.filter((e) => e.kind === 'hook_run'), known = new Set(earlier.map(idOf)), here = this.runs.filter((e) => !known.has(idOf(e)));
    this.dots = new Map();
    this.runs = [];
    for (const e of [...earlier, ...here]) this.add(e, 0);
  }

  /** Calls that wait for an approval. @type {Map<string, Event>} */
  asking = new Map();
  /** Those that were answered: what is read later about them is old. @type {Set<string>} */
  given = new Set();

  /** Follows which calls wait for an approval. @param {Event} e */
  follow(e) {
    const call = `${e.turn} ${e.call_id}`;
    if (e.kind === 'approval_asked') {
      if (!this.given.has(call)) this.asking.set(call, e);
    } else if (e.kind === 'approval_given') {
      this.asking.delete(call);
      this.given.add(call);
      bound(this.given, kept);
    } else if (e.kind === 'call_result') this.asking.delete(call);
    else if (e.kind === 'turn_end') for (const [key, asked] of this.asking) if (asked.turn === e.turn) this.asking.delete(key);
  }

  /**
   * Who is being asked to approve which calls: of each, the first of the point's lanes that has not answered.
   * @param {string[]} lanes in order @returns {Map<string, Event[]>}
   */
  asked(lanes) {
    /** @type {Map<string, Event[]>} */
    const out = new Map(), answered = new Set();
    if (this.asking.size) for (const r of this.runs) if (r.point === 'Approve') answered.add(`${r.turn} ${r.call_id} ${this.lane(r.subsystem)}`);
    for (const [call, e] of this.asking) {
      const lane = lanes.find((l) => !answered.has(`${call} ${l}`));
      if (lane) out.set(lane, [...out.get(lane) ?? [], e]);
    }
    return out;
  }

  /** The runs of a dot, the newest first. @param {string} path @param {string} point */
  of(path, point) {
    return this.runs.filter((e) => e.point === point && this.lane(e.subsystem) === path).reverse();
  }

  /** The run whose answer counted, in the pass of a run through its point. @param {Event} run @param {string | undefined} combine */
  counted(run, combine) {
    return counting(this.runs.filter((e) => e.point === run.point && e.turn === run.turn && e.step === run.step && e.call_id === run.call_id), combine);
  }
}
