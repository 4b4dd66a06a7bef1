// Arguments of a call as JSON that a person changes.

import { unseenIn } from './text.js';
import { tooDeep, written } from './written.js';

/** Whether a number in it may be longer than JavaScript keeps. @param {unknown} value @returns {boolean} */
function rounded(value) {
  if (typeof value === 'number') return !(Number.isSafeInteger(value) || (Math.abs(value) < 1e15 && String(value).length < 16));
  return typeof value === 'object' && value !== null && Object.values(value).some(rounded);
}

/** A value as JSON that can be changed; what cannot be seen is written as its escape. @param {unknown} value */
export const editable = (value) => written(value).replace(/[^\n\x20-\x7e]/gu, (c) => (unseenIn(c) ? escaped(c) : c));

/** @param {string} c */
const escaped = (c) => c.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

/**
 * Reads arguments that somebody has written. The error says where they are wrong, and at is the place in the text.
 * @param {string} text
 * @returns {{ args: Record<string, never> } | { error: string, at: number }} as the types of the API have an object
 */
export function read(text) {
  let args;
  try {
    args = JSON.parse(text);
  } catch {
    const at = mistake(text);
    const before = text.slice(0, at).split('\n');
    const found = text.slice(at, at + 20).split('\n')[0];
    return { error: `This is not JSON from line ${before.length}, column ${(before.at(-1) ?? '').length + 1} on: ${found ? `"${found}" cannot stand there` : 'something is missing there'}.`, at };
  }
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return { error: 'Arguments are an object: { "name": value, … }.', at: 0 };
  if (tooDeep(args) || rounded(args)) return { error: 'A number is longer than a browser keeps; change this call with grapnel chat.', at: 0 };
  return { args };
}

/** The place of the first mistake in a text that is no JSON: browsers do not tell it, or each in its own words. @param {string} text */
function mistake(text) {
  const space = /[ \t\n\r]*/y;
  const token = /[{}[\],:]|"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/y;
  let at = 0, next = '';
  const step = () => {
    space.lastIndex = at + next.length;
    space.exec(text);
    at = token.lastIndex = space.lastIndex;
    next = token.exec(text)?.[0] ?? '';
    return true;
  };
  /** @param {string} want */
  const take = (want) => next === want && step();
  /** @returns {boolean} false at the mistake */
  const value = () => {
    if (take('[')) return take(']') || (list(value) && take(']'));
    if (take('{')) return take('}') || (list(() => next.startsWith('"') && step() && take(':') && value()) && take('}'));
    return next !== '' && !'}],:'.includes(next) && step();
  };
  /** @param {() => boolean} element */
  const list = (element) => {
    do { if (!element()) return false; } while (take(','));
    return true;
  };
  step();
  value();
  return at;
}
