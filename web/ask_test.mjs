// node --test web/ask_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { textOf } from './drawn.mjs';
import { waits } from './views/ask.js';

/** The card of an ask. @param {object} ask */
const card = (ask) => textOf(waits({ may: () => false }, { n: 1, ask: { tool: 'bash', args: { command: 'ls' }, shown: '', conversation: 'C', asked: '2026-01-01T00:00:00Z', ...ask } }));

test('a card shows every remark, also one that comes last', () => {
  const remarks = [...Array.from({ length: 21 }, (_, i) => `argument ${i} is odd`), 'what looks like a secret is masked here'];
  const text = card({ remarks });
  for (const remark of remarks) assert.ok(text.includes(remark), remark);
});

test('a part of a call that is too long says how much of it is left out', () => {
  assert.match(card({ part: 'x'.repeat(2500) }), /x … and 500 characters more/);
  assert.doesNotMatch(card({ part: 'x'.repeat(2000) }), /more/);
});

test('arguments that are masked are approved by a second step only, and not changed', () => {
  const page = { may: () => true, changed() {}, waiting: { ready: () => true, items: [] } };
  const of = (ask) => textOf(waits(page, { n: 1, reason: '', remember: '', ask: { tool: 'bash', args: { command: 'ls' }, shown: '', conversation: 'C', asked: '2026-01-01T00:00:00Z', ...ask } }));
  assert.match(of({}), /Approve\s[\s\S]*Change the arguments/);
  const masked = of({ masked: true });
  assert.match(masked, /Approve without seeing all of it[\s\S]*What looks like a secret is masked[\s\S]*Approve unseen/);
  assert.doesNotMatch(masked, /Change the arguments|Show all first/);
});
