// node --test web/waterfall_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { own, waited, waterfall } from './waterfall.js';

const time = (ms) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
const told = (ms, kind, more) => ({ kind, time: time(ms), turn: 'T', agent: 'a', ...more });
const hook = (from, ms, point, more) => told(from + ms, 'hook_run', { started: time(from), duration_ms: ms, subsystem: 'Guard', point, status: 'succeeded', ...more });
const bars = (w) => w.rows.map((r) => [r.label, ...r.intervals.filter((i) => i.kind !== 'hook').map((i) => `${i.kind} ${i.from}-${i.to}`)].join(', '));

test('the model, hooks, an approval and two tools at once', () => {
  const slow = { step: 1, call_id: 'c1', tool: 'bash' }, quick = { step: 1, call_id: 'c2', tool: 'read' };
  const w = waterfall([
    told(0, 'turn_start'), hook(0, 10, 'BeforeTurn'), told(10, 'step_start', { step: 1 }), hook(10, 5, 'BeforeModel', { step: 1 }),
    told(115, 'usage', { step: 1 }), told(115, 'call_start', slow), told(115, 'call_start', quick), hook(115, 5, 'BeforeTool', slow),
    told(120, 'approval_asked', slow), hook(120, 1000, 'Approve', { ...slow, answer: 'approve' }), told(1120, 'approval_given', { ...slow, answer: 'approve', by: 'P' }),
    told(1130, 'call_result', { ...quick, outcome: 'executed', duration_ms: 10 }),
    hook(1320, 30, 'RewriteResult', slow), told(1350, 'call_result', { ...slow, outcome: 'executed', duration_ms: 200 }), told(1360, 'turn_end'),
  ]);
  assert.deepEqual(bars(w), ['Around the steps', 'Step 1: model, model 15-115', 'bash, tool 1120-1320, wait 120-1120', 'read, tool 1120-1130']);
  assert.deepEqual(w.sums, { model: 100, tool: 200, hook: 50, wait: 1000, pause: 0, rest: 10 });
  assert.equal(w.length, 1360);
  assert.equal(waited(w, 620), 500);
  assert.equal(own(w.rows[2]), 1235);
  assert.equal(own(w.rows[2], (t) => t - waited(w, t)), 235);
});

test('a denied call has no tool, and one that asks is not busy while people are waited for', () => {
  const denied = { step: 1, call_id: 'c1', tool: 'bash' }, asks = { step: 1, call_id: 'c2', tool: 'ask_user' };
  const w = waterfall([
    told(0, 'turn_start'), told(0, 'call_start', denied), hook(0, 2, 'BeforeTool', { ...denied, answer: 'deny', status: 'denied' }),
    hook(2, 0, 'BeforeTool', { ...denied, subsystem: 'Audit', status: 'skipped' }), told(3, 'call_result', { ...denied, outcome: 'denied', by: 'Guard' }),
    told(5, 'call_start', asks), told(10, 'question_asked', { step: 1, inquiry: { id: 'T/c2' } }), told(510, 'question_given', { step: 1, inquiry: { id: 'T/c2' } }),
    told(520, 'call_result', { ...asks, outcome: 'executed', duration_ms: 515 }),
  ]);
  assert.deepEqual(bars(w), ['Around the steps', 'bash', 'ask_user, tool 5-520, wait 10-510']);
  assert.deepEqual(w.sums, { model: 0, tool: 15, hook: 2, wait: 500, pause: 0, rest: 3 });
  assert.equal(w.rows[1].by, 'Guard');
  assert.deepEqual(w.rows[1].passes.map((p) => [p.point, p.runs.length]), [['BeforeTool', 2]]);
});

test('the time of a turn within a call is counted once, and what was tried in vain is the time of the model', () => {
  const call = { step: 1, call_id: 'c1', tool: 'delegate' }, child = { turn: 'U', agent: 'b', depth: 1 };
  const w = waterfall([
    told(0, 'turn_start'), told(0, 'step_start', { step: 1 }), told(100, 'turn_retried', { step: 1, text: 'busy', duration_ms: 50 }), told(200, 'usage', { step: 1 }),
    told(200, 'call_start', call), told(200, 'call_start', { step: 1, call_id: 'c2', tool: 'read' }), told(200, 'subagent_start', { ...child, call_id: 'c1', tool: 'delegate' }), told(200, 'turn_start', child),
    told(200, 'step_start', { ...child, step: 1 }), told(290, 'usage', { ...child, step: 1 }), told(300, 'call_result', { ...call, outcome: 'executed', duration_ms: 100 }),
  ]);
  assert.deepEqual(bars(w), ['Around the steps', 'Step 1: model, model 0-100, pause 100-150, model 150-200', 'delegate, tool 200-300', 'Around the steps of b', 'Step 1 of b: model, model 200-290', 'read']);
  assert.deepEqual(w.sums, { model: 240, tool: 10, hook: 0, wait: 0, pause: 50, rest: 0 });
  assert.deepEqual(w.rows[1].again, ['busy']);
  assert.deepEqual(w.rows.map((r) => r.depth), [0, 0, 0, 1, 1, 0]);
});

test('a hook that asks the model has what remains, and hooks around the model are not counted beside it', () => {
  const step = { step: 1 };
  const w = waterfall([
    told(0, 'turn_start'), told(0, 'step_start', step),
    hook(15, 100, 'WrapModel', { ...step, subsystem: 'Inner' }), hook(10, 110, 'WrapModel', step), told(125, 'usage', step), // a summary for the hook below
    hook(0, 150, 'RewriteRequest', { ...step, subsystem: 'Compact' }), hook(150, 5, 'BeforeModel', step),
    hook(160, 40, 'WrapModel', step), told(210, 'usage', step), told(220, 'turn_end'),
  ]);
  assert.deepEqual(bars(w), ['Around the steps', 'Step 1: model, model 10-120, model 160-200']);
  assert.deepEqual(w.sums, { model: 150, tool: 0, hook: 45, wait: 0, pause: 0, rest: 25 });
});

test('what is not over when the turn ends, or is not over yet', () => {
  const call = { step: 1, call_id: 'c1', tool: 'bash' };
  const begin = [told(0, 'turn_start'), told(0, 'step_start', { step: 1 }), told(50, 'usage', { step: 1 }), told(50, 'call_start', call), told(60, 'approval_asked', call)];
  for (const [events, until, to] of [[[...begin, told(200, 'turn_end')], 0, 200], [begin, 300, 300], [[...begin, told(200, 'call_result', { ...call, outcome: 'cancelled' }), told(210, 'turn_end')], 0, 210]]) {
    const w = waterfall(events, until);
    assert.equal(bars(w)[2], `bash, wait 60-${to}`);
    assert.deepEqual(w.sums, { model: 50, tool: 0, hook: 0, wait: to - 60, pause: 0, rest: 10 });
  }
  assert.deepEqual(bars(waterfall([...begin.slice(0, 2), told(80, 'turn_end')])), ['Around the steps', 'Step 1: model, model 0-80']);
});

test('a question that no tool asks is waited for in its step', () => {
  const step = { step: 1 }, inquiry = { id: 'of a hook' };
  const begin = [told(0, 'turn_start'), told(0, 'step_start', step), told(50, 'usage', step), told(60, 'question_asked', { ...step, inquiry })];
  for (const end of [told(160, 'question_given', { ...step, inquiry }), told(160, 'turn_end')]) {
    assert.deepEqual(bars(waterfall([...begin, end])), ['Around the steps', 'Step 1: model, model 0-50, wait 60-160']);
  }
});

test('a hook that asks the model twice, where no hook surrounds the model', () => {
  const step = { step: 1 };
  const w = waterfall([
    told(0, 'turn_start'), told(0, 'step_start', step), hook(5, 5, 'BeforeModel', step), hook(60, 1, 'AfterModel', { ...step, answer: 'retry' }),
    hook(65, 5, 'BeforeModel', step), hook(120, 1, 'AfterModel', step), told(121, 'usage', step), hook(0, 130, 'RewriteRequest', { ...step, subsystem: 'Compact' }),
    hook(130, 5, 'BeforeModel', step), told(200, 'usage', step), hook(200, 5, 'AfterModel', step), told(210, 'turn_end'),
  ]);
  assert.deepEqual(bars(w), ['Around the steps', 'Step 1: model, model 10-60, model 70-120, model 135-200']);
  assert.deepEqual(w.sums, { model: 165, tool: 0, hook: 40, wait: 0, pause: 0, rest: 5 });
});

test('turns stand below the call that began them, also where calls of two turns have one id', () => {
  const of = (turn, depth, call_id) => [told(0, 'subagent_start', { turn, depth, call_id }), told(0, 'call_start', { turn, depth, step: 1, call_id: 'same', tool: `by ${turn}` })];
  const call = (call_id) => told(0, 'call_start', { step: 1, call_id, tool: call_id });
  const w = waterfall([
    told(0, 'turn_start'), call('c1'), ...of('U', 1, 'c1'), ...of('X', 2, 'same'), call('c2'), ...of('V', 1, 'c2'), ...of('Y', 2, 'same'), ...of('W', 1, 'c2'), ...of('Z', 1, 'gone'),
  ]);
  assert.deepEqual(w.rows.filter((r) => r.call).map((r) => `${r.depth} ${r.label}`),
    ['0 c1', '1 by U', '2 by X', '0 c2', '1 by W', '1 by V', '2 by Y', '1 by Z']);
});

test('a turn with very many turns in it comes back', () => {
  const events = [told(0, 'turn_start')], n = 20_000;
  for (let i = 0; i < n; i++) {
    const child = { turn: `U${i}`, depth: 1 };
    events.push(told(i, 'call_start', { step: 1, call_id: `c${i}`, tool: 'delegate' }), told(i, 'subagent_start', { ...child, call_id: `c${i}` }), told(i, 'turn_start', child), told(i, 'turn_end', child));
  }
  const w = waterfall(events);
  assert.deepEqual(w.rows.slice(1).map((r) => `${r.depth} ${r.turn}`), Array.from({ length: n }, (_, i) => ['0 T', `1 U${i}`]).flat());
});
