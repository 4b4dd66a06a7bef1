// node --test web/terminal_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { plain, returned } from './terminal.js';

test('output is text: without sequences, and with each line as it was last', () => {
  for (const [output, want] of [
    ['', ''],
    ['a\nb\n', 'a\nb\n'],
    ['a\r\nb\r\r\n', 'a\nb\n'],
    ['10%\r50%\r100%\ndone', '100%\ndone'],
    ['10%\r100%\r', '100%'],
    ['\r', ''],
    ['a\n\rb\r\n\r', 'a\nb\n'],
    ['\x1b[1;31mred\x1b[0m \x9b2Kx', 'red x'],
    ['\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b(Bc', 'abc'],
  ]) assert.equal(plain(output), want, JSON.stringify(output));
});

test('a long line comes back, however it was written', () => {
  const long = 'x'.repeat(1_000_000);
  assert.equal(plain(`10%\r${long}`), long);
  assert.equal(plain(`${long}\r10%`), '10%');
  assert.equal(plain('\r'.repeat(1_000_000)), '');
  assert.equal(plain('a\r'.repeat(500_000)), 'a');
});

test('what a command returned is read from the result of its call', () => {
  const whole = JSON.stringify({ stdout: 'a\r\n\x1b[1mb', stderr: 'c,"exit_code":7}', exit_code: 2, duration_ms: 5 });
  assert.deepEqual(returned(whole), { stdout: 'a\nb', stderr: 'c,"exit_code":7}', exit_code: 2 });
  assert.deepEqual(returned(`${whole.slice(0, 14)} … ${whole.slice(20)}`.replace('"a', '"a"')), { exit_code: 2 }, 'its middle was cut out');
  for (const other of ['', 'text', '{"exit_code":1}', '{"stdout":1,"stderr":"","exit_code":1}', '{"stdout":"']) assert.equal(returned(other), undefined, other);
});
