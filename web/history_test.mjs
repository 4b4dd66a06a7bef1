import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { History, textOf } from './history.js';

const say = (text, label) => ({ role: 'user', label, content: [{ kind: 'text', text }] });
const stored = [say('Sum', 'summary'), say('c'), say('d')], archived = [say('a'), say('b')];

globalThis.sessionStorage ??= { getItem: () => null };
globalThis.fetch = async (path) => path.endsWith('/export')
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
