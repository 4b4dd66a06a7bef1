// A turn as a list of what happened, for comparing: what was said and called, who decided, and what came of it.

import { broke, denies, runOf, said } from './runs.js';
import { written } from './written.js';

/** @typedef {import('./api.js').Schemas['Event']} Event */
/**
 * @typedef {object} Entry
 * @property {string} key equal for what is the same in both runs
 * @property {string} like equal for what may be compared
 * @property {string} title
 * @property {string} text
 * @property {boolean} bad
 * @property {string} turn
 * @property {string} [call]
 */

// The runtime marks what comes from outside with eight digits that differ each time.
const marks = /\b[0-9a-f]{8}\b/g;

/**
 * @param {Event[]} events of a turn @param {boolean} silent also the hooks that had no opinion
 * @param {string[]} [texts] what the model said in each step, if that is known
 * @returns {Entry[]}
 */
export function entriesOf(events, silent, texts) {
  return events.flatMap((e) => {
    const told = tell(e, silent, e.depth ? undefined : texts);
    if (!told) return [];
    const depth = '› '.repeat(e.depth ?? 0), title = depth + told.title;
    return [{ key: `${title}\n${told.text.replace(marks, '')}`, like: depth + told.like, title, text: told.text, bad: !!told.bad, turn: e.turn ?? '', call: e.call_id }];
  });
}

/** @param {Event} e @param {boolean} silent @param {string[] | undefined} texts @returns {{ title: string, text: string, like: string, bad?: boolean } | undefined} */
function tell(e, silent, texts) {
  const text = e.text ?? '';
  switch (e.kind) {
    case 'turn_start': return { title: 'Message', text, like: 'message' };
    case 'step_start': return { title: `Step ${e.step}`, text: '', like: `step ${e.step}` };
    case 'usage': {
      const words = texts?.[(e.step ?? 0) - 1];
      return words ? { title: 'The model says', text: words, like: 'text' } : undefined;
    }
    case 'call_start': return { title: `Call of ${e.tool}`, text: typeof e.args === 'string' ? e.args : written(e.args, 0), like: `call ${e.tool}` };
    case 'approval_asked': return { title: `Approval asked for ${e.tool}`, text, like: 'approval asked' };
    case 'approval_timed_out': return { title: `Nobody approved ${e.tool} in time`, text, like: 'approval given', bad: true };
    case 'approval_given': return { title: `Approval of ${e.tool}: ${e.answer}`, text: [e.by && `by ${e.by}`, text].filter(Boolean).join(': '), like: 'approval given', bad: denies(e.answer) };
    case 'call_result': {
      const bad = e.outcome !== 'executed' && e.outcome !== 'answered';
      return { title: `${e.tool}: ${e.outcome}${e.by && e.outcome !== 'cancelled' ? ` by ${e.by}` : ''}`, text: e.result ?? '', like: `result ${e.tool}`, bad };
    }
    case 'question_asked': return { title: 'Question', text, like: 'question' };
    case 'question_given': return { title: 'Answer to the question', text, like: 'answer' };
    case 'subagent_start': return { title: `Agent ${e.agent} begins`, text, like: 'subagent' };
    case 'subagent_end': return { title: `Agent ${e.agent} ends: ${e.stop}`, text, like: 'subagent end' };
    case 'steered': return { title: 'Message to the running turn', text, like: 'steered' };
    case 'turn_retried': return { title: 'The step is tried again', text, like: 'retried' };
    case 'compacted': return { title: 'Older messages were summed up', text, like: 'compacted' };
    case 'diagnostic': return { title: 'Remark', text, like: `remark ${text.split(':')[0]}` };
    case 'error': return { title: 'Error', text, like: 'error', bad: true };
    case 'turn_end': return { title: `Ended: ${e.stop}`, text: texts ? '' : text, like: 'end', bad: e.stop === 'error' || e.stop === 'denied' };
    case 'hook_run': {
      const run = runOf(e);
      if (!silent && !(e.answer || broke(run) || e.changed)) return undefined;
      return { title: `${e.subsystem} at ${e.point}`, text: [said(run, e.point), text].filter(Boolean).join(': '), like: `hook ${e.point} ${e.subsystem}`, bad: denies(e.answer) || broke(run) };
    }
    case 'hook_failed': return { title: `${e.subsystem} failed at ${e.point}`, text, like: `failed ${e.point}`, bad: true };
  }
  return undefined;
}
