import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation } from './views/conversation.js';

globalThis.sessionStorage ??= { getItem: () => null };
const page = { changed() {}, failed(err) { throw err; }, say() {}, waiting: { settle() {} } };
const say = (role, text, label) => ({ role, label, content: [{ kind: 'text', text }] });

/** A conversation with the messages: of each the number of its turn, its role and its text. */
async function talk(messages, ran) {
  globalThis.fetch = async (path) => Response.json(path.includes('/turns') ? { turns: ran.map((text, i) => ({ id: `t${ran.length - i}`, text })) } : {
    messages: messages.map(([, role, text, label]) => say(role, text, label)), turns: messages.map(([turn]) => turn), first: 0, total: messages.length,
  });
  const c = new Conversation(page, 'x');
  await c.history.tail();
  await c.readTurns();
  return c;
}

test('what was told to a turn while its last answer came begins none', async () => {
  const c = await talk([
    [1, 'user', 'one'], [1, 'assistant', '1'], [2, 'user', 'two'], [2, 'assistant', '2'], [2, 'user', 'and this'], [2, 'assistant', '2b'], [3, 'user', 'three'], [3, 'assistant', '3'],
  ], ['three', 'two', 'one']);
  deepEqual([0, 1, 2, 3, 4, 5, 6, 7].filter((i) => c.begins(i)), [0, 2, 6]);
  deepEqual([1, 3, 5, 7].map((i) => c.history.turn(i)), [1, 2, 2, 3], 'what a fork and a rewind count');
  equal(c.turnOf(5)?.id, 't2');
});

test('what follows a summary begins a turn', async () => {
  const c = await talk([[2, 'user', 'Sum', 'summary'], [3, 'user', 'three'], [3, 'assistant', '3']], ['three']);
  deepEqual([0, 1, 2].filter((i) => c.begins(i)), [1]);
  equal(c.turnOf(2)?.id, 't1');
});
