// node --test web/json_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import './drawn.mjs';
import { editable, read } from './json.js';

test('what cannot be seen is written as its escape, and comes back as it was', () => {
  const args = { command: 'a\u202eb\u00a0c\u{e0041}', 'n\u200b': ['ü', 'a\nb', 1, null, true], ö: {} };
  const text = editable(args);
  assert.match(text, /"a\\u202eb\\u00a0c\\udb40\\udc41"/);
  assert.match(text, /"n\\u200b"/);
  assert.match(text, /"ü"/);
  assert.deepEqual(read(text), { args });
});

test('the place of a mistake is the first that cannot stand there', () => {
  for (const [text, error, at] of [
    ['', /line 1, column 1 on: something is missing/, 0],
    ['{"a": 1', /line 1, column 8 on: something is missing/, 7],
    ['{"a": 1}}', /line 1, column 9 on: "}" cannot/, 8],
    ['{\n  "a": 1,\n}', /line 3, column 1 on: "}" cannot/, 12],
    ['{"a": "x\ny"}', /line 1, column 7 on: ""x" cannot/, 6],
    ['{a: 1}', /column 2 on: "a: 1}" cannot/, 1],
    ['{"a": 01}', /column 7 on: "01}" cannot/, 6],
    ['{"a": "\\x"}', /column 7 on:/, 6],
    ['{"a" 1}', /column 6 on: "1}" cannot/, 5],
    ['{"a": nul}', /column 7 on: "nul}" cannot/, 6],
  ]) {
    const got = read(text);
    assert.match(got.error, error, text);
    assert.equal(got.at, at, text);
  }
});

test('arguments are an object whose numbers a browser keeps', () => {
  for (const text of ['[]', '1', 'null', '"x"']) assert.match(read(text).error, /Arguments are an object/, text);
  for (const text of ['{"n": 12345678901234567890}', '{"n": [{"m": 0.12345678901234567}]}', '{"n": 1e400}']) assert.match(read(text).error, /longer than a browser keeps/, text);
  for (const args of [{ n: 9007199254740991 }, { n: 0.5, m: -1e10 }]) assert.deepEqual(read(JSON.stringify(args)), { args });
});
