import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { History, textOf } from './history.js';

const say = (text, label) => ({ role: 'user', label, content: [{ kind: 'text', text }] });
const stored = [say('Sum', 'summary'), say('c'), say('d')], archived = [say('a'), say('b')];

globalThis.sessionStorage ??= { getItem: () => null };
// A conversation of as many messages as `total` says, when it is not 0.
let total = 0;
const page = (path) => {
  const asked = new URL(path, 'http://x').searchParams, end = Math.min(Number(asked.get('before') ?? total), total), first = Math.max(0, end - Number(asked.get('limit')));
  return Response.json({ messages: Array.from({ length: end - first }, (_, i) => say(`m${first + i}`)), first, total });
};
globalThis.fetch = async (path) => total ? page(path) : path.endsWith('/export')
  ? new Response([{ archived: 2, messages: 3 }, ...[...archived, ...stored].map((message) => ({ message }))].map((x) => JSON.stringify(x)).join('\n'))
  : Response.json({ messages: stored, first: 0, total: 3 });

test('the archive has the indexes below 0', async () => {
  const h = new History('/v1/conversations/x');
  await h.tail();
  equal(h.summed, true);
  equal(h.first, 0);
  await h.unpack();
  deepEqual([h.first, h.end, h.total], [-2, 3, 3]);
  deepEqual([-2, -1, 0, 2].map((i) => textOf(h.at(i))), ['a', 'b', 'Sum', 'd']);
  await h.tail();
  equal(h.first, -2, 'what is loaded stays');
});

test('what is followed for long does not grow, and what was let go of comes again', async () => {
  const h = new History('/v1/conversations/x');
  for (total = 20; total < 4000; total += 20) await h.tail();
  equal(h.messages.length, 1500);
  equal(h.end, h.total);
  equal(textOf(h.at(h.end - 1)), `m${h.total - 1}`);
  const first = h.first;
  await h.earlier();
  equal(h.first, first - 60);
  equal(textOf(h.at(h.first)), `m${h.first}`);
});

test('what somebody reads stays while much is said', async () => {
  const h = new History('/v1/conversations/x');
  total = 60;
  await h.tail();
  for (; total < 4000; total += 20) await h.tail(false);
  equal(textOf(h.at(0)), 'm0');
  equal(h.messages.length <= 1500 + 60, true, `${h.messages.length} are held`);
  await h.later();
  equal(textOf(h.at(h.end - 1)), `m${h.end - 1}`, 'the rest is there when it is looked for');
});
