// node --test web/lit_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { Lit } from './lit.js';
import { said } from './runs.js';

const run = (subsystem, answer, more) => ({ kind: 'hook_run', time: '', subsystem, point: 'BeforeTool', turn: 'T', step: 1, call_id: 'c', status: 'succeeded', duration_ms: 1, answer, ...more });

test('runs light the lane of their field, or of the group or composite around it', () => {
  const lit = new Lit(['Guard', 'Core.Notes', 'Extra']);
  for (const [path, want] of [['Guard', 'Guard'], ['Core.Notes', 'Core.Notes'], ['Core.Notes.Inner', 'Core.Notes'], ['Extra[3]', 'Extra'], ['Extra[3].Guard', 'Extra'], ['Gone', ''], [undefined, '']]) {
    assert.equal(lit.lane(path), want, path);
  }
  lit.add(run('Extra[1]', ''), 5);
  lit.add(run('Extra[2]', 'deny'), 6);
  lit.add(run('Extra[3]', '', { status: 'skipped', by: 'Extra[2]' }), 7);
  lit.add(run('Extra[4]', 'deny', { status: 'timed_out' }), 8);
  assert.deepEqual(lit.dots.get('Extra|BeforeTool'), { asked: 3, skipped: 1, took: 3, answered: 2, denied: 2, broke: 1, last: 8 });
  assert.deepEqual(lit.of('Extra', 'BeforeTool').map((e) => e.subsystem), ['Extra[4]', 'Extra[3]', 'Extra[2]', 'Extra[1]']);
});

test('runs of before are added once, before those that came meanwhile', () => {
  const lit = new Lit(['Guard']), told = (seq) => run('Guard', '', { conversation: 'C', epoch: 1, seq });
  for (const seq of [3, 4]) lit.add(told(seq), 5);
  lit.before([{ kind: 'turn_start' }, told(1), told(2), told(3)]);
  assert.deepEqual(lit.runs.map((e) => e.seq), [1, 2, 3, 4]);
  assert.equal(lit.dots.get('Guard|BeforeTool').asked, 4);
});

test('who is being asked to approve', () => {
  const lit = new Lit(['Program', 'Approval']), lanes = ['Program', 'Approval'];
  const now = () => lanes.map((lane) => lit.asked(lanes).get(lane)?.length ?? 0), asked = { kind: 'approval_asked', turn: 'T', call_id: 'c' };
  lit.follow(asked);
  assert.deepEqual(now(), [1, 0]);
  lit.add(run('Program', '', { point: 'Approve' }), 0);
  assert.deepEqual(now(), [0, 1]);
  lit.follow({ ...asked, call_id: 'd' });
  lit.follow({ ...asked, kind: 'approval_given' });
  lit.follow(asked); // read late
  assert.deepEqual(now(), [1, 0]);
  lit.follow({ kind: 'turn_end', turn: 'T' });
  assert.deepEqual(now(), [0, 0]);
});

test('answered calls are forgotten by and by', () => {
  const lit = new Lit([]);
  for (let i = 0; i < 6000; i++) lit.follow({ kind: 'approval_given', turn: 'T', call_id: `c${i}` });
  assert.equal(lit.given.size, 5000);
  for (const [call_id, asks] of [['c5999', 0], ['c1', 1]]) {
    lit.follow({ kind: 'approval_asked', turn: 'T', call_id });
    assert.equal(lit.asking.size, asks, call_id);
  }
});

test('whose answer counts, as the runtime has it', () => {
  for (const [answers, combine, want] of [
    [['', ''], 'gate', undefined],
    [['narrow', 'ask', 'approve'], 'gate', 1],
    [['ask', 'deny'], 'gate', 1],
    [['ask', 'ask'], 'gate', 0],
    [['withhold', 'withhold'], 'judge', 1],
    [['', 'approve', 'refuse'], 'first', 1],
    [['deny', 'stop'], 'gate', 1],
    [['repair', 'narrow'], 'gate', 0],
  ]) {
    const lit = new Lit([]), runs = answers.map((a, i) => run(`F${i}`, a));
    for (const r of [run('Other', 'stop', { call_id: 'd' }), ...runs]) lit.add(r, 0);
    assert.equal(lit.counted(runs[0], combine), want === undefined ? undefined : runs[want], `${answers} ${combine}`);
  }
});

test('what a hook said, in words', () => {
  for (const [r, point, want] of [
    [{ status: 'succeeded' }, 'BeforeTool', 'no opinion'],
    [{ status: 'succeeded' }, 'Dispatch', 'takes the call'],
    [{ status: 'succeeded', changed: true }, 'TurnContext', 'added something'],
    [{ status: 'succeeded', changed: true }, 'RewriteArgs', 'changed it'],
    [{ status: 'denied', answer: 'deny' }, 'BeforeTool', 'deny'],
    [{ status: 'timed_out', answer: 'deny' }, 'BeforeTool', 'took too long, which counts as deny'],
    [{ status: 'skipped', by: 'Guard' }, 'BeforeTool', 'not asked: Guard had ended it'],
  ]) assert.equal(said(r, point), want);
});
