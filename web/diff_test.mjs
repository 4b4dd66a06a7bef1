// node --test web/diff_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { diff } from './diff.js';

const shown = (before, after) => diff(before, after).map((l) => l.sign + l.text).join(' ');
const lines = (text) => text.split('').join('\n');

test('lines that go and come, and those around them', () => {
  for (const [before, after, want] of [
    ['', '', ''],
    ['', 'ab', '+a +b'],
    ['ab', '', '-a -b'],
    ['abc', 'abc', ' a  b  c'],
    ['abc', 'axc', ' a -b +x  c'],
    ['abcd', 'bcde', '-a  b  c  d +e'],
    ['12345abc', '12345axc', '…3 equal lines  4  5  a -b +x  c'],
    ['xabcde', 'yabcde', '-x +y  a  b  c …2 equal lines'],
  ]) assert.equal(shown(lines(before), lines(after)), want, `${before} / ${after}`);
});

test('a change has all lines of both texts, in order', () => {
  let seed = 1;
  const random = (n) => (seed = seed * 48271 % 2147483647) % n;
  for (let round = 0; round < 300; round++) {
    const text = () => Array.from({ length: 1 + random(12) }, () => `l${random(4)}`), a = ['a', ...text(), 'z'], b = ['b', ...text(), 'y'];
    const all = diff(a.join('\n'), b.join('\n')), of = (signs) => all.filter((l) => signs.includes(l.sign)).map((l) => l.text);
    assert.deepEqual([of(' -'), of(' +')], [a, b]);
  }
});

test('of texts that are too long all is removed and added', () => {
  const of = (side) => Array.from({ length: 600 }, (_, i) => i % 2 ? `${i}` : `${side}${i}`);
  const all = diff(of('a').join('\n'), [...of('b'), 'end'].join('\n'));
  assert.deepEqual([all.length, all.findIndex((l) => l.sign === '+')], [1201, 600]);
});
