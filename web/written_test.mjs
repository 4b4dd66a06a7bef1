// node --test web/written_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { tooDeep, written } from './written.js';

const nested = (levels) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

test('a value is written with indentation as long as that stays small', () => {
  assert.equal(written({ a: [1, 'x'] }), '{\n  "a": [\n    1,\n    "x"\n  ]\n}');
  assert.equal(written({ a: 1 }, 1), '{\n "a": 1\n}');
  assert.equal(written('x'), '"x"');
  assert.equal(written(undefined), '');
  assert.equal(written(nested(500)).length, 1000);
});

test('what is nested as deeply as nobody reads is not written, and does not fail', () => {
  assert.equal(tooDeep(nested(900)), false);
  for (const levels of [1500, 9000, 50_000]) {
    assert.equal(tooDeep(nested(levels)), true);
    assert.match(written({ command: 'ls', x: nested(levels) }), /nested more than 1000 levels deep/);
  }
});
