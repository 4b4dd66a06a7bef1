// node --test web/entries_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import './drawn.mjs';
import { entriesOf } from './entries.js';

const call = { turn: 'T', tool: 'bash', call_id: 'c' };
const shown = (events, silent = false, texts = undefined) => entriesOf(events, silent, texts).map((e) => `${e.title}${e.text && `: ${e.text}`}${e.bad ? ' (bad)' : ''}`);

test('what happened in a turn, in words', () => {
  assert.deepEqual(shown([
    { kind: 'turn_start', turn: 'T', text: 'Moor.' }, { kind: 'step_start', turn: 'T', step: 1 }, { kind: 'usage', turn: 'T', step: 1 },
    { kind: 'call_start', ...call, args: { command: 'ls' } }, { kind: 'approval_asked', ...call, text: 'it may change things' },
    { kind: 'approval_given', ...call, answer: 'refuse', by: 'P', text: 'no' }, { kind: 'call_result', ...call, outcome: 'denied', by: 'P', result: 'denied' },
    { kind: 'subagent_start', turn: 'U', depth: 1, agent: 'b' }, { kind: 'plan_updated', turn: 'T' }, { kind: 'turn_end', turn: 'T', stop: 'error', text: 'bye' },
  ]), ['Message: Moor.', 'Step 1', 'Call of bash: {"command":"ls"}', 'Approval asked for bash: it may change things', 'Approval of bash: refuse: by P: no (bad)',
    'bash: denied by P: denied (bad)', '› Agent b begins', 'Ended: error: bye (bad)']);
});

test('hooks without an opinion are there when somebody wants them', () => {
  const run = (more) => ({ kind: 'hook_run', turn: 'T', subsystem: 'Guard', point: 'BeforeTool', status: 'succeeded', ...more });
  const events = [run({}), run({ answer: 'deny', text: 'why' }), run({ status: 'timed_out' })];
  const spoke = ['Guard at BeforeTool: deny: why (bad)', 'Guard at BeforeTool: took too long (bad)'];
  assert.deepEqual(shown(events), spoke);
  assert.deepEqual(shown(events, true), ['Guard at BeforeTool: no opinion', ...spoke]);
});

test('what a model said stands in its step, and not again at the end', () => {
  const events = [{ kind: 'usage', turn: 'T', step: 1 }, { kind: 'usage', turn: 'U', depth: 1, step: 1 }, { kind: 'usage', turn: 'T', step: 2 }, { kind: 'turn_end', turn: 'T', stop: 'completed', text: 'b' }];
  assert.deepEqual(shown(events, false, ['a', 'b']), ['The model says: a', 'The model says: b', 'Ended: completed']);
});

test('two runs are the same but for the marks of what comes from outside', () => {
  const of = (mark, text) => entriesOf([{ kind: 'call_result', ...call, outcome: 'executed', result: `<${mark}>${text}</${mark}>` }], false)[0];
  assert.equal(of('0123abcd', 'x').key, of('89abcdef', 'x').key);
  assert.notEqual(of('0123abcd', 'x').key, of('0123abcd', 'y').key);
  assert.equal(of('0123abcd', 'x').like, of('0123abcd', 'y').like);
  assert.match(of('0123abcd', 'x').text, /0123abcd/);
});
