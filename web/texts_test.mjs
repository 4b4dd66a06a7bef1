// node --test web/texts_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { textsOf } from './texts.js';

const user = (text, more) => ({ role: 'user', content: [{ kind: 'text', text }], ...more });
const model = (text, ...calls) => ({ role: 'assistant', content: [{ kind: 'text', text }, ...calls.map((call_id) => ({ kind: 'tool_call', call_id }))] });
const messages = [user('one'), model('a', 'c1'), { role: 'tool', call_id: 'c1' }, model('b'), user('kept in mind', { label: 'note' }), user('two'), model('c')];
const turns = [{ id: 'T2' }, { id: 'T1' }];
const turn = (id, text, steps, ...calls) => ({ turn: { id, conversation: 'C', text, steps }, events: calls.map((call_id) => ({ kind: 'call_start', call_id })) });

test('texts are those of the turn, or none where that is not sure', async () => {
  globalThis.sessionStorage = { getItem: () => null };
  globalThis.fetch = async (path) => Response.json(path.includes('/messages') ? { messages } : { turns });
  for (const [answer, want] of [
    [turn('T1', 'one', 2, 'c1'), ['a', 'b']],
    [turn('T2', 'two', 1), ['c']],
    [turn('T1', 'one', 2, 'c2'), undefined], // its calls are others
    [turn('T1', 'one', 3, 'c1'), undefined], // a step is missing
    [turn('T2', 'another', 1), undefined], // its messages were taken back, and others written
    [turn('T0', 'zero', 1), undefined],
  ]) assert.deepEqual(await textsOf(answer, new AbortController().signal), want, answer.turn.id);
});
