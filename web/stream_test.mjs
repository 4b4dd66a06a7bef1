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
