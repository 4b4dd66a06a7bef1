// node --test web/stream_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import './drawn.mjs';
import { Failure, stream } from './api.js';

/** What a stream tells of bodies that come one after the other, each in pieces. */
async function told(...bodies) {
  const got = [], end = new AbortController();
  globalThis.fetch = async (path, { headers }) => {
    const after = headers.get('Last-Event-ID');
    got.push(after === null ? 'begins' : `goes on after ${after}`);
    const pieces = bodies.shift();
    if (!pieces) end.abort();
    return new Response(new ReadableStream({ start(c) { for (const p of pieces ?? []) c.enqueue(new TextEncoder().encode(p)); c.close(); } }));
  };
  await stream('/v1/events', { signal: end.signal, event: (e, id) => got.push(`${id} ${e.kind}`), note: (name) => got.push(name), state: (state) => got.push(state) });
  return got;
}

test('events are read however they are cut, and the stream goes on after the last one', async () => {
  assert.deepEqual(await told([': hello\n\nid: 1-1\ndata: {"ki', 'nd":"a"}\n', '\nid:1-2\ndata: {"kind":\ndata: "b"}\n\nevent: lagged\n', '\nid: 1-3\ndata: {"kind":"lost"}\n']),
    ['begins', 'live', '1-1 a', '1-2 b', 'lagged', 'lost', 'goes on after 1-2', 'live']);
});

test('what will not pass ends a stream', async () => {
  globalThis.fetch = async () => Response.json({ error: { code: 'not_found', message: 'no such conversation' } }, { status: 404 });
  await assert.rejects(stream('/v1/events', { signal: new AbortController().signal, event() {} }), new Failure(404, 'not_found', 'no such conversation'));
});

test('a stream ends while nobody sees the page, and goes on where it was', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const got = [], end = new AbortController();
  globalThis.fetch = async (path, { headers, signal }) => {
    got.push(headers.get('Last-Event-ID') ?? 'begins');
    return new Response(new ReadableStream({ start(c) {
      c.enqueue(new TextEncoder().encode('id: 1-1\ndata: {"kind":"a"}\n\n'));
      signal.addEventListener('abort', () => c.error(signal.reason), { once: true });
    } }));
  };
  const hide = (hidden) => { document.hidden = hidden; document.dispatchEvent(new Event('visibilitychange')); };
  const settled = async () => { for (let i = 0; i < 50; i++) await new Promise(setImmediate); };
  const streams = stream('/v1/events', { signal: end.signal, event: (e) => got.push(e.kind), state: (state) => got.push(state) });
  await settled();
  hide(true);
  t.mock.timers.tick(4000);
  hide(false);
  t.mock.timers.tick(4000);
  await settled();
  assert.deepEqual(got, ['begins', 'live', 'a'], 'a glance at another tab ends nothing');
  hide(true);
  t.mock.timers.tick(6000);
  await settled();
  assert.deepEqual(got, ['begins', 'live', 'a'], 'it is not lost');
  hide(false);
  await settled();
  assert.deepEqual(got, ['begins', 'live', 'a', '1-1', 'live', 'a']);
  end.abort();
  await streams;
});
