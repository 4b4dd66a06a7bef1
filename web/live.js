// What turns do, put together from their events: of a turn as it runs, with the deltas of what the model says, and of one that has ended, from
// the events that were kept.

/** @typedef {import('./api.js').Schemas} Schemas */
/** @typedef {Schemas['Event']} Event */

/**
 * A call of a tool.
 * @typedef {object} Call
 * @property {string} id
 * @property {string} tool
 * @property {unknown} args
 * @property {string} [full] the path of the event that has the whole arguments or result
 * @property {string} progress what it has said so far, the newest of it
 * @property {string} [asked] why a person is asked
 * @property {string} [answer] what was answered, and by whom
 * @property {string} [result]
 * @property {boolean} [failed]
 * @property {string} [outcome]
 * @property {number} [ms]
 * @property {string} [by] which hook decided
 * @property {Run[]} children the turns of agents that it runs
 */

/**
 * What a step consists of, in its order.
 * @typedef {{ kind: 'text' | 'reasoning', text: Growing } | { kind: 'call', call: Call } | { kind: 'note', text: string, bad: boolean } | { kind: 'steered', text: string }} Part
 */

/** @typedef {{ parts: Part[], done: boolean, stored: boolean }} Step */

/**
 * The turn of an agent.
 * @typedef {object} Run
 * @property {string} id
 * @property {string} agent
 * @property {number} depth
 * @property {string} text what began it
 * @property {Step[]} steps
 * @property {Map<string, Call>} calls
 * @property {boolean} ended
 * @property {string} said the answer, once it has ended
 * @property {string} stop
 */

// What the daemon says of an ask whose turn has ended (approval.Interrupted).
const unanswered = 'The turn ended before the user answered.';

const longestPiece = 2000, longestProgress = 4000, mostParts = 500;

/** A text that grows. Only its last piece changes, so that a browser has little to lay out again. */
class Growing {
  /** @type {string[]} */
  pieces = [];
  length = 0;

  /** @param {string} text */
  add(text) {
    this.length += text.length;
    const last = this.pieces.length - 1, piece = (this.pieces[last] ?? '') + text;
    const line = piece.length > longestPiece ? piece.lastIndexOf('\n') : -1;
    if (line > 0) this.pieces.splice(Math.max(last, 0), 1, piece.slice(0, line), piece.slice(line + 1));
    else if (piece.length > 4 * longestPiece) this.pieces.splice(Math.max(last, 0), 1, piece, '');
    else this.pieces[Math.max(last, 0)] = piece;
  }
}

/** The turns of a conversation by what their events say. */
export class Runs {
  /** @type {Map<string, Run>} */
  byTurn = new Map();

  /** The turn of an event, with the event in it. @param {Event} e @returns {Run | undefined} */
  take(e) {
    if (!e.turn) return;
    const run = this.byTurn.get(e.turn) ?? this.begin(e);
    if (e.kind === 'subagent_start') this.child(run, e);
    else apply(run, e);
    return run;
  }

  /** @param {Event} e @returns {Run} */
  begin(e) {
    const run = { id: e.turn ?? '', agent: e.agent ?? '', depth: e.depth ?? 0, text: '', steps: [], calls: new Map(), ended: false, said: '', stop: '' };
    this.byTurn.set(run.id, run);
    return run;
  }

  /** Puts the turn below the call that runs it. @param {Run} run @param {Event} e */
  child(run, e) {
    run.text = e.text ?? '';
    for (const parent of [...this.byTurn.values()].reverse()) {
      const call = parent.depth === run.depth - 1 && parent.calls.get(e.call_id ?? '');
      if (call && !call.children.includes(run)) return void call.children.push(run);
    }
  }

  /** @param {string} turn */
  forget(turn) { this.byTurn.delete(turn); }
}

/** @param {Run} run */
function step(run) {
  const last = run.steps.at(-1);
  if (last && !last.done) return last;
  const next = { parts: [], done: false, stored: false };
  run.steps.push(next);
  return next;
}

/** @param {Run} run @param {Part} part */
function add(run, part) {
  const parts = step(run).parts;
  if (parts.length < mostParts) parts.push(part);
}

/** @param {Run} run @param {string} text @param {boolean} [bad] */
const note = (run, text, bad = false) => add(run, { kind: 'note', text, bad });

/** @param {Run} run @param {'text' | 'reasoning'} kind @param {string} text */
function say(run, kind, text) {
  let last = step(run).parts.at(-1);
  if (last?.kind !== kind) add(run, last = { kind, text: new Growing() });
  last.text.add(text);
}

/** @param {Run} run @param {Event} e */
function apply(run, e) {
  const call = e.call_id ? run.calls.get(e.call_id) : undefined;
  switch (e.kind) {
    case 'turn_start': run.text = e.text ?? ''; run.ended = false; break;
    case 'text_delta': say(run, 'text', e.text ?? ''); break;
    case 'reasoning_delta': say(run, 'reasoning', e.text ?? ''); break;
    case 'call_start': {
      if (call) break;
      const begun = { id: e.call_id ?? '', tool: e.tool ?? '', args: e.args, full: e.full, progress: '', children: [] };
      run.calls.set(begun.id, begun);
      add(run, { kind: 'call', call: begun });
      break;
    }
    case 'call_progress': if (call) call.progress = (call.progress + (e.text ?? '')).slice(-longestProgress); break;
    case 'approval_asked': if (call) call.asked = e.text || 'it needs approval'; break;
    case 'approval_timed_out': if (call) call.answer = 'nobody answered in time'; break;
    case 'approval_given':
      if (call) { call.args = e.args ?? call.args; call.answer = e.text === unanswered ? 'the turn ended before an answer' : `${{ approve: 'approved', refuse: 'refused', modify: 'approved with other arguments' }[e.answer ?? ''] ?? e.answer ?? ''} by ${e.by ?? ''}`; }
      break;
    case 'call_result':
      if (call) Object.assign(call, { result: e.result ?? '', failed: !!e.is_error, outcome: e.outcome, ms: e.duration_ms, by: e.by, full: e.full ?? call.full });
      break;
    case 'turn_retried': // what was said is dropped
      step(run).parts = step(run).parts.filter((p) => p.kind !== 'text' && p.kind !== 'reasoning');
      note(run, `asked again: ${e.text ?? ''}`);
      break;
    case 'steered': add(run, { kind: 'steered', text: e.text ?? '' }); break;
    case 'steer_refused': note(run, `a message was refused: ${e.text ?? ''}`, true); break;
    case 'skill_loaded': note(run, `skill loaded: ${e.text ?? ''}`); break;
    case 'compacted': note(run, 'older turns were summed up'); break;
    case 'hook_failed': note(run, `${e.subsystem ?? 'a hook'} failed at ${e.point ?? '?'}: ${e.text ?? ''}`, true); break;
    case 'error': note(run, e.text ?? 'an error', true); break;
    case 'diagnostic': if (e.visibility === 'user') note(run, e.text ?? ''); break;
    case 'step_end': step(run).done = true; break;
    case 'turn_end':
      for (const s of run.steps) s.done = true;
      Object.assign(run, { ended: true, said: e.text ?? '', stop: e.stop ?? '' });
      break;
    case 'subagent_end': case 'plan_updated': case 'hook_run': break;
    default: if (e.text) note(run, e.text); // what a subsystem tells by an event of its own
  }
}
