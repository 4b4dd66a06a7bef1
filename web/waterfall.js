// Where the time of a turn went: its events as rows of intervals. A row is a step's request to the model, a call, or what lies around the steps.

import { runOf, said } from './runs.js';

/** @typedef {import('./api.js').Schemas['Event']} Event */
/** @typedef {'model' | 'tool' | 'hook' | 'wait' | 'pause'} Kind a pause is that before the model is asked again */
/** @typedef {{ kind: Kind, from: number, to: number, text: string }} Interval in milliseconds since the turn began */
/** @typedef {{ point: string, from: number, to: number, runs: Event[] }} Pass the hooks of a row at one point */
/**
 * @typedef {object} Row
 * @property {string} key
 * @property {string} turn
 * @property {'turn' | 'model' | 'call' | 'child'} kind
 * @property {string} label
 * @property {number} depth
 * @property {number} from
 * @property {number} to
 * @property {Interval[]} intervals
 * @property {Pass[]} passes
 * @property {string} [call] the id of the call
 * @property {string} [outcome]
 * @property {string} [by] who answered in place of the tool
 * @property {string[]} [again] why the model was asked again, for each time
 */
/** How the time from the beginning to the end is divided: no moment is counted twice. @typedef {Record<Kind | 'rest', number>} Sums */
/** @typedef {{ rows: Row[], length: number, sums: Sums, waits: Interval[] }} Waterfall */

/** A time in milliseconds, with what is below them. @param {string} time */
export const at = (time) => Date.parse(time) + Number(`0.${/\.\d{3}(\d+)/.exec(time)?.[1] ?? '0'}`);

// Hooks that surround the model or a tool: their time is that of what they surround.
const around = new Set(['WrapModel', 'WrapTool']);

/** @param {Event[]} events of a turn, in order @param {number} [until] how long a turn that still runs has run @returns {Waterfall} */
export function waterfall(events, until = 0) {
  const building = new Building(events[0] ? at(events[0].time) : 0);
  for (const e of events) building.take({ ...e, call_id: e.call_id ?? asker(e) });
  return building.done(until);
}

/** The key of a step's row. @param {Event} e */
const stepOf = (e) => `${e.turn} ${e.step ?? ''} `;

/** The key of an event's row: that of its call, its step or its turn. @param {Event} e */
const keyOf = (e) => stepOf(e) + (e.call_id ?? '');

/** What is known of a turn, and of the turns within it, after some of its events. All times are milliseconds since it began. */
class Building {
  /** @type {Map<string, Row>} */
  rows = new Map();
  /** @type {Map<string, Row[]>} */
  byTurn = new Map();
  /** The last row of a call, by its depth and its id. @type {Map<string, Row>} */
  calls = new Map();
  /**
   * The call within which each turn was begun, as a key of calls and as its row, if that was there.
   * @type {Map<string, { call: string, row: Row | undefined }>}
   */
  begunBy = new Map();
  /** Since when the model of a step is asked. @type {Map<string, number>} */
  asked = new Map();
  /** When it was asked, as the hooks around it tell, until it is told what came of it. @type {Map<string, Interval[]>} */
  surrounded = new Map();
  /** Since when people are waited for, in a row. @type {Map<string, number>} */
  waiting = new Map();
  /** When the tool of a call had run. @type {Map<string, number>} */
  ran = new Map();
  /** @type {Interval[]} */
  waits = [];
  last = 0;

  /** @param {number} begin when the turn began */
  constructor(begin) { this.begin = begin; }

  /** @param {Event} e */
  take(e) {
    const t = at(e.time) - this.begin;
    this.last = Math.max(this.last, t);
    switch (e.kind) {
      case 'subagent_start': this.within(e, t); break;
      case 'turn_start': case 'call_start': this.row(e, t); break;
      case 'step_start':
        this.row(e, t);
        this.asked.set(stepOf(e), t);
        break;
      case 'usage':
        this.row(e, t);
        this.answered(stepOf(e), t, 'the model');
        break;
      case 'turn_retried': this.again(e, t); break;
      case 'calls_begin': case 'step_end': this.answered(stepOf(e), t, 'the model'); break;
      case 'error': if (e.step) this.answered(stepOf(e), t, `the model, in vain: ${e.text}`); break;
      case 'approval_asked': case 'question_asked': this.waiting.set(keyOf(e), t); break;
      case 'approval_given': this.given(e, t, `waiting for approval: ${e.answer}${e.by ? ` by ${e.by}` : ''}`); break;
      case 'question_given': this.given(e, t, 'waiting for the answer to a question'); break;
      case 'call_result': this.result(e, t); break;
      case 'hook_run': this.hook(e, t); break;
      case 'turn_end': this.leave(e.turn ?? '', t, 'until the turn ended'); break;
    }
  }

  /** The row of an event. It reaches to the time. @param {Event} e @param {number} t @returns {Row} */
  row(e, t) {
    let row = this.rows.get(keyOf(e));
    if (!row) {
      row = { key: keyOf(e), turn: e.turn ?? '', ...named(e), depth: e.depth ?? 0, from: t, to: t, intervals: [], passes: [], call: e.call_id };
      this.rows.set(row.key, row);
      push(this.byTurn, row.turn, row);
      if (e.call_id) this.calls.set(`${row.depth} ${e.call_id}`, row);
    }
    row.from = Math.min(row.from, t);
    row.to = Math.max(row.to, t);
    return row;
  }

  /** A turn begins within a call. @param {Event} e @param {number} t */
  within(e, t) {
    const call = `${(e.depth ?? 1) - 1} ${e.call_id}`;
    this.begunBy.set(e.turn ?? '', { call, row: this.calls.get(call) });
    this.row({ ...e, step: undefined, call_id: undefined }, t);
  }

  /** The model of a step has answered or failed. @param {string} step @param {number} t @param {string} text */
  answered(step, t, text) {
    const row = this.rows.get(step), from = this.asked.get(step), apart = merged(this.surrounded.get(step) ?? []), last = apart.at(-1);
    this.surrounded.delete(step);
    this.asked.delete(step);
    if (row?.kind !== 'model') return;
    if (last) {
      last.text = text;
      row.intervals.push(...apart);
    } else if (from !== undefined) add(row, 'model', from, t, text);
  }

  /** The model is asked again, at once or after a pause. @param {Event} e @param {number} t */
  again(e, t) {
    const row = this.row(e, t), pause = e.duration_ms ?? 0;
    this.answered(stepOf(e), t, `the model, in vain: ${e.text}`);
    (row.again ??= []).push(e.text ?? '');
    if (pause) add(row, 'pause', t, t + pause, 'a pause before the model is asked again');
    this.asked.set(stepOf(e), t + pause);
  }

  /** Somebody has answered. @param {Event} e @param {number} t @param {string} text */
  given(e, t, text) {
    if (this.waiting.has(keyOf(e))) this.waited(this.row(e, t), t, text);
  }

  /** @param {Row} row @param {number} to @param {string} text */
  waited(row, to, text) {
    const from = this.waiting.get(row.key);
    if (from === undefined) return;
    this.waiting.delete(row.key);
    add(row, 'wait', from, to, text);
    this.waits.push({ kind: 'wait', from, to, text });
  }

  /** @param {Event} e @param {number} t */
  result(e, t) {
    const row = this.row(e, t), to = this.ran.get(row.key) ?? t;
    if (e.duration_ms !== undefined) row.intervals.unshift({ kind: 'tool', from: Math.max(0, to - e.duration_ms), to, text: `the tool ${e.tool}` });
    Object.assign(row, { outcome: e.outcome, by: e.by });
  }

  /** @param {Event} e of the kind hook_run @param {number} t */
  hook(e, t) {
    const from = e.started ? at(e.started) - this.begin : t, to = Math.max(from, from + (e.duration_ms ?? 0)), point = e.point ?? '';
    const row = this.row(e, from);
    pass(row, e, from, to);
    if (e.status === 'skipped' || e.status === 'queued') return;
    this.last = Math.max(this.last, to);
    if (point === 'WrapModel') push(this.surrounded, stepOf(e), { kind: 'model', from, to, text: 'the model' });
    if (around.has(point)) return;
    row.to = Math.max(row.to, to);
    if (point !== 'Approve') add(row, 'hook', from, to, `${e.subsystem} at ${point}: ${said(runOf(e), point)}`);
    if (afterTool.has(point) && !this.ran.has(row.key)) this.ran.set(row.key, from);
    if (!e.call_id) this.beside(point, stepOf(e), from, to);
  }

  /**
   * A hook before the model has run, and the model is asked from its end on; or one after it, and the model had answered when it began.
   * @param {string} point @param {string} step @param {number} from @param {number} to
   */
  beside(point, step, from, to) {
    if (afterModel.has(point) && this.asked.has(step)) this.answered(step, from, 'the model');
    if (beforeModel.has(point)) this.asked.set(step, to);
  }

  /** Nobody answers any more, since the turn has ended or is not over. @param {string} turn @param {number} t @param {string} text */
  leave(turn, t, text) {
    for (const row of this.byTurn.get(turn) ?? []) {
      if (row.kind === 'model') this.answered(row.key, t, `the model, ${text}`);
      this.waited(row, t, `waiting for a person, ${text}`);
    }
  }

  /** @param {number} until @returns {Waterfall} */
  done(until) {
    const last = Math.max(this.last, until);
    for (const turn of this.byTurn.keys()) this.leave(turn, last, 'not over yet');
    const rows = [...this.rows.values()];
    for (const row of rows) for (const i of row.intervals) i.to = Math.max(i.from, Math.min(i.to, last));
    const parents = new Set([...this.begunBy.values()].map(({ call }) => call));
    return { rows: inside(this.byTurn, this.begun()), length: last, sums: divided(rows, parents, last), waits: merged(this.waits) };
  }

  /** The turns that were begun within each call. */
  begun() {
    /** @type {Map<Row | undefined, string[]>} */
    const begun = new Map();
    for (const [turn, { call, row }] of this.begunBy) push(begun, row ?? this.calls.get(call), turn);
    return begun;
  }
}

/** What a row is, and what it is called, by its first event. @param {Event} e @returns {Pick<Row, 'kind' | 'label'>} */
function named(e) {
  if (e.call_id) return { kind: 'call', label: e.tool ?? 'a call' };
  if (e.step) return { kind: 'model', label: `Step ${e.step}${e.depth ? ` of ${e.agent}` : ''}: model` };
  return { kind: 'turn', label: e.depth ? `Around the steps of ${e.agent}` : 'Around the steps' };
}

/** @param {Row} row @param {Kind} kind @param {number} from @param {number} to @param {string} text */
const add = (row, kind, from, to, text) => row.intervals.push({ kind, from, to: Math.max(from, to), text });

// Where several things happen at once, the first of these counts. A tool within which a turn runs has only what nothing in that turn has.
const ranks = /** @type {const} */ (['wait', 'tool', 'model', 'hook', 'pause', 'outer']);

/** Divides the time among what happened in it. @param {Row[]} rows @param {Set<string>} parents @param {number} length @returns {Sums} */
function divided(rows, parents, length) {
  /** @type {Record<string, Interval[]>} */
  const of = {};
  for (const row of rows) for (const i of row.intervals) (of[i.kind === 'tool' && parents.has(`${row.depth} ${row.call}`) ? 'outer' : i.kind] ??= []).push(i);
  const sums = { model: 0, tool: 0, hook: 0, wait: 0, pause: 0, rest: length };
  /** @type {Interval[]} */
  let taken = [];
  for (const rank of ranks) {
    const all = merged([...taken, ...of[rank] ?? []]), more = total(all) - total(taken);
    sums[rank === 'outer' ? 'tool' : rank] += more;
    sums.rest -= more;
    taken = all;
  }
  return { ...sums, rest: Math.max(0, sums.rest) };
}

/** @param {Interval[]} apart that do not overlap */
const total = (apart) => apart.reduce((sum, i) => sum + i.to - i.from, 0);

/**
 * The rows with those of a turn below the call within which it was begun: of several turns the last one first. What has no place is at the end.
 * @param {Map<string, Row[]>} byTurn @param {Map<Row | undefined, string[]>} begun the turns that were begun within a row @returns {Row[]}
 */
function inside(byTurn, begun) {
  /** @type {Row[]} */
  const out = [];
  /** @type {Set<string>} */
  const placed = new Set();
  /** @param {string} turn */
  const place = (turn) => {
    if (placed.has(turn)) return;
    placed.add(turn);
    for (const row of byTurn.get(turn) ?? []) {
      out.push(row);
      for (const within of begun.get(row)?.toReversed() ?? []) place(within);
    }
  };
  for (const [turn, rows] of byTurn) if (rows[0]?.depth === 0) place(turn);
  for (const turns of begun.values()) turns.forEach(place);
  return out;
}

/** Adds a value to the list under a key. @template K, V @param {Map<K, V[]>} lists @param {K} key @param {V} value */
function push(lists, key, value) {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** The call whose tool asks a question. @param {Event} e */
const asker = (e) => e.inquiry?.id.startsWith(`${e.turn}/`) ? e.inquiry.id.slice((e.turn ?? '').length + 1) : undefined;

/** How long a row took: from beginning to end, without what lies between. @param {Row} row @param {(t: number) => number} [drawn] */
export const own = (row, drawn = (t) => t) => merged(row.intervals).reduce((sum, i) => sum + drawn(i.to) - drawn(i.from), 0);

const afterTool = new Set(['RewriteResult', 'AfterTool']);
// Before these have ended, the model is not asked.
const beforeModel = new Set(['BeforeStep', 'RewriteRequest', 'BeforeModel']);
const afterModel = new Set(['RewriteReply', 'AfterModel']);

/** @param {Row} row @param {Event} e @param {number} from @param {number} to */
function pass(row, e, from, to) {
  const last = row.passes.at(-1);
  if (last?.point === e.point && !last?.runs.some((r) => r.subsystem === e.subsystem)) {
    last?.runs.push(e);
    if (last) last.to = Math.max(last.to, to);
  } else row.passes.push({ point: e.point ?? '', from, to, runs: [e] });
}

/** Intervals without overlaps, in order. @param {Interval[]} all */
function merged(all) {
  /** @type {Interval[]} */
  const out = [];
  for (const i of [...all].sort((a, b) => a.from - b.from)) {
    const last = out.at(-1);
    if (last && i.from <= last.to) last.to = Math.max(last.to, i.to);
    else out.push({ ...i });
  }
  return out;
}

/** How much of the time before t people were waited for. @param {Waterfall} w @param {number} t */
export const waited = (w, t) => w.waits.reduce((sum, i) => sum + Math.max(0, Math.min(i.to, t) - i.from), 0);
