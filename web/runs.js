// What views share that show runs of hooks: words for what a hook said, and whose answer counts.

import { Failure, get, part } from './api.js';

/** @typedef {import('./api.js').Schemas} Schemas */
/** @typedef {Pick<Schemas['ExplainedRun'], 'status' | 'answer' | 'reason' | 'by' | 'changed'>} Run */

/** What a point is for, of those around a call. @type {Record<string, string>} */
export const purpose = {
  Dispatch: 'the owner of the tool takes the call',
  OnInvalidTool: 'a call that fits no tool may be repaired',
  RewriteArgs: 'the arguments may be changed',
  BeforeTool: 'decides whether the tool may run',
  Approve: 'a person or a program approves or refuses',
  WrapTool: 'surrounds the tool while it runs',
  RewriteResult: 'the result may be changed',
  AfterTool: 'decides whether the model gets the result',
};

/** @type {Record<string, string>} */
const failures = { failed: 'failed', panicked: 'panicked', timed_out: 'took too long', interrupted: 'was interrupted' };

/** Whether the hook did not do what it was asked for. @param {Pick<Run, 'status'>} run */
export const broke = (run) => !!failures[run.status ?? ''];

/** The run of an event. @param {Schemas['Event']} e @returns {Run} */
export const runOf = (e) => ({ status: e.status ?? 'succeeded', answer: e.answer, reason: e.text, by: e.by, changed: e.changed });

/** What no answer means at a point. @param {string} point */
function silence(point) {
  if (point === 'Dispatch') return 'takes the call';
  if (point.startsWith('Rewrite') || point === 'Preprocess') return 'left it as it was';
  if (point.startsWith('Wrap')) return 'surrounded it';
  if (/^Turn|Context$|Sections$/.test(point)) return 'added nothing';
  if (/^(AfterTurn|AfterCompaction|OnEvent|OnClose|OnOpen|OnSessionEnd)$/.test(point)) return 'was told';
  return 'no opinion';
}

/** What the hook said at the point, without its reason. @param {Run} run @param {string | undefined} point */
export function said(run, point) {
  const failed = failures[run.status];
  if (failed) return run.answer ? `${failed}, which counts as ${run.answer}` : failed;
  if (run.status === 'skipped') return `not asked: ${run.by || 'another one'} had ended it`;
  if (run.status === 'queued') return 'queued as a job';
  if (run.answer) return run.answer;
  if (run.changed) return /^Turn|Context$|Sections$/.test(point ?? '') ? 'added something' : 'changed it';
  return silence(point ?? '');
}

// How severe the answers of one point are (package hook).
/** @type {Record<string, number>} */
const severity = { approve: 1, modify: 1, narrow: 1, context: 1, hint: 1, ask: 3, refuse: 3, withhold: 3, deny: 4, reject: 4, skip: 4, stop: 5 };

/** @param {string | undefined} answer */
const severe = (answer) => answer ? severity[answer] ?? 2 : 0;

/** Whether the answer stops what it is about. @param {string | undefined} answer */
export const denies = (answer) => severe(answer) >= 4 || answer === 'refuse' || answer === 'withhold';

/**
 * The run among those of one pass through a point whose answer counts; undefined if nobody had an opinion.
 * @param {Schemas['Event'][]} pass @param {string | undefined} combine how the point combines answers
 */
export function counting(pass, combine) {
  /** @type {Schemas['Event'] | undefined} */
  let win;
  for (const run of pass) {
    if (!run.answer) continue;
    const more = severe(run.answer) - severe(win?.answer);
    if (!win || (more > 0 && combine !== 'first') || (more === 0 && combine === 'judge')) win = run;
  }
  return win;
}

/** Where the turn is found. @param {string} conversation @param {string} turn */
export const turnPath = (conversation, turn) => `/v1/conversations/${part(conversation)}/turns/${part(turn)}`;

const conversationsOffered = 12, turnsOffered = 20;

/**
 * Turns of the conversations that changed last, the newest first.
 * @param {AbortSignal} signal @returns {Promise<Schemas['RanTurn'][]>}
 */
export async function recentTurns(signal) {
  const { conversations } = await get('/v1/conversations', signal);
  const last = conversations.sort((/** @type {any} */ a, /** @type {any} */ b) => b.updated.localeCompare(a.updated)).slice(0, conversationsOffered);
  const answers = await Promise.all(last.map((/** @type {{ id: string }} */ c) =>
    get(`/v1/conversations/${part(c.id)}/turns?limit=${turnsOffered}`, signal).catch(gone)));
  return answers.flatMap((a) => a.turns).sort((a, b) => b.started.localeCompare(a.started));
}

/** A conversation that was deleted in the meantime has no turns. @param {unknown} err */
function gone(err) {
  if (err instanceof Failure && err.status === 404) return { turns: [] };
  throw err;
}

/** A turn in a list to choose from. @param {Schemas['RanTurn']} t @param {string} when */
export const nameOf = (t, when) => `${when} · ${t.agent} · ${t.text.length > 60 ? `${t.text.slice(0, 60)}…` : t.text}`;
