// node --test web/runs_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import './drawn.mjs';
import { broke, counting, denies, nameOf, recentTurns, turnPath } from './runs.js';

test('which answers stop what they are about', () => {
  for (const answer of ['deny', 'stop', 'reject', 'skip', 'refuse', 'withhold']) assert.equal(denies(answer), true, answer);
  for (const answer of ['approve', 'ask', 'modify', 'narrow', 'something new', '', undefined]) assert.equal(denies(answer), false, answer);
  for (const [status, want] of [['failed', true], ['timed_out', true], ['panicked', true], ['interrupted', true], ['succeeded', false], ['skipped', false]]) {
    assert.equal(broke({ status }), want, status);
  }
});

test('the most severe answer counts, of equal ones the first, or the last where all are asked', () => {
  for (const [answers, combine, want] of [
    [['', undefined], 'gate', undefined],
    [['approve', 'ask', 'deny'], 'gate', 2],
    [['deny', 'deny'], 'gate', 0],
    [['deny', 'reject'], 'judge', 1],
    [['approve', 'deny'], 'first', 0],
    [['something new', 'approve'], 'gate', 0],
  ]) {
    const pass = answers.map((answer) => ({ answer }));
    assert.equal(counting(pass, combine), want === undefined ? undefined : pass[want], `${answers} ${combine}`);
  }
});

test('turns to choose from are the newest of the conversations that changed last, without those that are gone', async () => {
  const conversations = Array.from({ length: 15 }, (_, i) => ({ id: `c/${i}`, updated: `2026-01-${10 + i}` }));
  globalThis.fetch = async (path) => {
    if (path === '/v1/conversations') return Response.json({ conversations });
    const n = Number(/c%2F(\d+)/.exec(path)[1]);
    if (n === 14) return Response.json({ error: { code: 'not_found', message: '' } }, { status: 404 });
    return Response.json({ turns: [{ id: `t${n}`, started: `2026-01-${n % 2 ? 30 : 10 + n}`, agent: 'a', text: 'x'.repeat(n * 10) }] });
  };
  const turns = await recentTurns(new AbortController().signal);
  assert.deepEqual(turns.map((t) => t.id), ['t13', 't11', 't9', 't7', 't5', 't3', 't12', 't10', 't8', 't6', 't4']);
  assert.equal(nameOf(turns[0], '12:00'), `12:00 · a · ${'x'.repeat(60)}…`);
  assert.equal(turnPath('a/b', 'T#1'), '/v1/conversations/a%2Fb/turns/T%231');
});
