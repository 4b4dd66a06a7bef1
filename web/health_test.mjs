// node --test web/health_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { markupOf } from './drawn.mjs';
import Health from './views/health.js';

test('the ids and names of a turn that runs stay within their places', () => {
  const health = new Health({});
  health.health = { status: 'ok', root: '/r', started: '2026-01-01T00:00:00Z', hooks: true };
  health.activity = { approvals: 0, questions: 0, queued_messages: 0, streams: 0, lagging: 0,
    turns: [{ conversation: 'cli:a/b#c', agent: 'A', sender: 'S', state: 'runs', calls: [{ tool: 'bash' }, { tool: 'read' }] }] };
  const markup = markupOf(health.draw());
  assert.match(markup, /href="#\/conversations\/cli%3Aa%2Fb%23c"/);
  for (const name of ['/r', 'A', 'S', 'bash', 'read']) assert.ok(markup.includes(`<bdi>${name}</bdi>`), name);
});
