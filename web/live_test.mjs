import { equal } from 'node:assert/strict';
import { test } from 'node:test';
import { Runs } from './live.js';

const asked = [
  { kind: 'turn_start', turn: 't', text: 'Moor.' },
  { kind: 'call_start', turn: 't', call_id: 'c', tool: 'bash' },
  { kind: 'approval_asked', turn: 't', call_id: 'c', text: 'it may change things' },
];

/** @param {object} given what is told of the answer */
function answer(given) {
  const runs = new Runs();
  for (const e of [...asked, { kind: 'approval_given', turn: 't', call_id: 'c', ...given }]) runs.take(e);
  return runs.byTurn.get('t').calls.get('c').answer;
}

test('an answer says who gave it', () => {
  equal(answer({ answer: 'refuse', by: 'Approval.inspector', text: 'Not now.' }), 'refused by Approval.inspector');
});

test('a turn that ended before an answer was refused by nobody', () => {
  equal(answer({ answer: 'refuse', by: 'Approval', text: 'The turn ended before the user answered.' }), 'the turn ended before an answer');
});
