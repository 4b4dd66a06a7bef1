// node --test web/align_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { align, common } from './align.js';

/** Entries of words: what is before a colon says what is alike. */
const entries = (text) => text.split(' ').filter(Boolean).map((key) => ({ key, like: key.split(':')[0] }));
const shown = (left, right) => align(entries(left), entries(right)).map((p) => {
  const of = (list, at) => at < 0 ? '' : entries(list)[at].key;
  return p.same ? of(left, p.left) : `${of(left, p.left)}|${of(right, p.right)}`;
}).join(' ');

test('what is equal is paired, what is alike differs, the rest stands alone', () => {
  for (const [left, right, want] of [
    ['', '', ''],
    ['a b', 'a b', 'a b'],
    ['a b', '', 'a| b|'],
    ['', 'a', '|a'],
    ['a b c', 'a c', 'a b| c'],
    ['a c', 'a b c', 'a |b c'],
    ['a call:1 z', 'a call:2 z', 'a call:1|call:2 z'],
    ['a x:1 call:1 z', 'a call:2 z', 'a x:1| call:1|call:2 z'],
    ['call:1 call:2', 'call:2 call:1', 'call:1| call:2 |call:1'],
    ['a a a', 'a a', 'a a a|'],
  ]) assert.equal(shown(left, right), want, `${left} / ${right}`);
});

test('every entry is there once, in order', () => {
  let seed = 1;
  const random = (n) => (seed = seed * 48271 % 2147483647) % n;
  for (let round = 0; round < 300; round++) {
    const list = () => Array.from({ length: random(12) }, () => ({ key: `k${random(4)}:${random(2)}`, like: `k${random(4)}` }));
    const left = list(), right = list(), pairs = align(left, right);
    assert.deepEqual(pairs.map((p) => p.left).filter((i) => i >= 0), left.map((_, i) => i));
    assert.deepEqual(pairs.map((p) => p.right).filter((i) => i >= 0), right.map((_, i) => i));
    for (const p of pairs) assert.equal(p.same, p.left >= 0 && p.right >= 0 && left[p.left].key === right[p.right].key && p.same);
    assert.equal(pairs.filter((p) => p.same).length, common(left.map((e) => e.key), right.map((e) => e.key)).length);
  }
});

test('long lists are matched nearly as well, in bounded time', () => {
  const of = (side, n) => Array.from({ length: n }, (_, i) => i % 10 ? `k${i}` : `${side}${i}`);
  const left = of('l', 9000), right = of('r', 9000).toSpliced(4000, 0, ...Array.from({ length: 200 }, (_, i) => `more${i}`));
  const began = performance.now();
  const n = common(left, right).length;
  assert.ok(performance.now() - began < 2000);
  assert.ok(n > 7900, `${n} of 8100`);
  assert.equal(common(left, left.map((k) => `x${k}`)).length, 0);
});
