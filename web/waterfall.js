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
  const begin = events[0] ? at(events[0].time) : 0;
  /** @type {Map<string, Row>} */
  const rows = new Map();
  /** When what is not over yet began: the model of a step, a wait; and when the tool of a call had run. @type {Map<string, number>} */
  const open = new Map();
  /** When the model was asked in a step, as the hooks around it tell, until it is told what came of it. @type {Map<string, Interval[]>} */
  const asked = new Map();
  /** @type {Interval[]} */
  const waits = [];
  /** Calls whose time is that of the turns within them. @type {Set<string>} */
  const parents = new Set();
  /** @type {Map<string, Row[]>} */
  const byTurn = new Map();
  /** The last row of a call, by its depth and its id. @type {Map<string, Row>} */
  const calls = new Map();
  /** The call within which each turn was begun, as a key of calls and as its row, if that was there. @type {Map<string, { key: string, row: Row | undefined }>} */
  const begunBy = new Map();
  let last = 0;

  /** @param {Event} e @param {number} t @returns {Row} */
  const rowOf = (e, t) => {
    const kind = e.call_id ? 'call' : e.step ? 'model' : 'turn';
    const key = `${e.turn} ${e.step ?? ''} ${e.call_id ?? ''}`;
    let row = rows.get(key);
    if (!row) {
      const label = kind === 'call' ? e.tool ?? 'a call' : kind === 'model' ? `Step ${e.step}${e.depth ? ` of ${e.agent}` : ''}: model` : e.depth ? `Around the steps of ${e.agent}` : 'Around the steps';
      row = { key, turn: e.turn ?? '', kind, label, depth: e.depth ?? 0, from: t, to: t, intervals: [], passes: [], call: e.call_id };
      rows.set(key, row);
      push(byTurn, row.turn, row);
      if (e.call_id) calls.set(`${row.depth} ${e.call_id}`, row);
    }
    row.from = Math.min(row.from, t);
    row.to = Math.max(row.to, t);
    return row;
  };
  /** @param {Row} row @param {Kind} kind @param {number} from @param {number} to @param {string} text */
  const add = (row, kind, from, to, text) => row.intervals.push({ kind, from, to: Math.max(from, to), text });
  /** The model of a step has answered or failed. @param {string} step @param {number} t @param {string} text */
  const answered = (step, t, text) => {
    const row = rows.get(`${step} `), from = open.get(step), wraps = merged(asked.get(step) ?? []);
    if (row && wraps.length) row.intervals.push(...wraps.map((i, n) => ({ ...i, text: n === wraps.length - 1 ? text : i.text })));
    else if (row && from !== undefined) add(row, 'model', from, t, text);
    asked.delete(step);
    open.delete(step);
  };
  /** Nobody answers any more, since the turn has ended or is not over. @param {string} turn @param {number} t @param {string} text */
  const left = (turn, t, text) => {
    for (const row of byTurn.get(turn) ?? []) {
      const { key } = row, step = key.trim(), from = open.get(`${key} wait`);
      if (row.kind === 'model') answered(step, t, `the model, ${text}`);
      if (from !== undefined) wait(row, from, t, `waiting for a person, ${text}`);
      open.delete(`${key} wait`);
    }
  };
  /** @param {Row} row @param {number} from @param {number} to @param {string} text */
  const wait = (row, from, to, text) => {
    add(row, 'wait', from, to, text);
    waits.push({ kind: 'wait', from, to, text });
  };

  for (const told of events) {
    const e = { ...told, call_id: told.call_id ?? asker(told) };
    const t = at(e.time) - begin;
    last = Math.max(last, t);
    const step = `${e.turn} ${e.step}`, call = `${step} ${e.call_id}`;
    switch (e.kind) {
      case 'subagent_start': {
        const key = `${(e.depth ?? 1) - 1} ${e.call_id}`;
        parents.add(key);
        begunBy.set(e.turn ?? '', { key, row: calls.get(key) });
        rowOf({ ...e, step: undefined, call_id: undefined }, t);
        break;
      }
      case 'turn_start':
      case 'call_start':
        rowOf(e, t);
        break;
      case 'step_start':
        rowOf(e, t);
        open.set(step, t);
        break;
      case 'usage':
      case 'turn_retried':
        rowOf(e, t);
        answered(step, t, e.kind === 'usage' ? 'the model' : `the model, in vain: ${e.text}`);
        if (e.kind === 'turn_retried') {
          again(rowOf(e, t), e, t);
          open.set(step, t + (e.duration_ms ?? 0));
        }
        break;
      case 'calls_begin':
      case 'step_end':
        answered(step, t, 'the model');
        break;
      case 'error':
        if (e.step) answered(step, t, `the model, in vain: ${e.text}`);
        break;
      case 'approval_asked':
      case 'question_asked':
        open.set(`${call} wait`, t);
        break;
      case 'approval_given':
      case 'question_given': {
        const from = open.get(`${call} wait`);
        if (from === undefined) break;
        open.delete(`${call} wait`);
        const text = e.kind === 'question_given' ? 'waiting for the answer to a question' : `waiting for approval: ${e.answer}${e.by ? ` by ${e.by}` : ''}`;
        wait(rowOf(e, t), from, t, text);
        break;
      }
      case 'call_result': {
        const row = rowOf(e, t), to = open.get(`${call} ran`) ?? t;
        if (e.duration_ms !== undefined) row.intervals.unshift({ kind: 'tool', from: Math.max(0, to - e.duration_ms), to, text: `the tool ${e.tool}` });
        Object.assign(row, { outcome: e.outcome, by: e.by });
        break;
      }
      case 'hook_run': {
        const from = e.started ? at(e.started) - begin : t, to = Math.max(from, from + (e.duration_ms ?? 0));
        const row = rowOf(e, from);
        pass(row, e, from, to);
        if (e.status === 'skipped' || e.status === 'queued') break;
        last = Math.max(last, to);
        if (e.point === 'WrapModel') push(asked, step, { kind: 'model', from, to, text: 'the model' });
        if (around.has(e.point ?? '')) break;
        row.to = Math.max(row.to, to);
        if (e.point !== 'Approve') add(row, 'hook', from, to, `${e.subsystem} at ${e.point}: ${said(runOf(e), e.point)}`);
        if (afterTool.has(e.point ?? '') && !open.has(`${call} ran`)) open.set(`${call} ran`, from);
        if (e.call_id) break;
        if (afterModel.has(e.point ?? '') && open.has(step)) answered(step, from, 'the model');
        if (beforeModel.has(e.point ?? '')) open.set(step, to);
        break;
      }
      case 'turn_end':
        left(e.turn ?? '', t, 'until the turn ended');
    }
  }
  last = Math.max(last, until);
  for (const turn of byTurn.keys()) left(turn, last, 'not over yet');
  for (const row of rows.values()) for (const i of row.intervals) i.to = Math.max(i.from, Math.min(i.to, last));
  /** @type {Map<Row | undefined, string[]>} */
  const begun = new Map();
  for (const [turn, { key, row }] of begunBy) push(begun, row ?? calls.get(key), turn);
  return { rows: inside(byTurn, begun), length: last, sums: divided([...rows.values()], parents, last), waits: merged(waits) };
}

/** The model is asked again, at once or after a pause. @param {Row} row @param {Event} e @param {number} t */
function again(row, e, t) {
  (row.again ??= []).push(e.text ?? '');
  if (e.duration_ms) row.intervals.push({ kind: 'pause', from: t, to: t + e.duration_ms, text: 'a pause before the model is asked again' });
}

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
