// What the model said in each step of a turn. Events do not have it; the messages do, but they do not say which turn they are of.

import { get, part } from './api.js';

/** @typedef {import('./api.js').Schemas} Schemas */

// So many of the last messages and turns are looked through.
const messagesRead = 200, turnsRead = 100;

/**
 * The texts of the steps, the first step's first; undefined if it is not sure which messages are those of the turn: they are too old, were
 * rewound, or its calls are others.
 * @param {Schemas['TurnEvents']} answer @param {AbortSignal} signal
 * @returns {Promise<string[] | undefined>}
 */
export async function textsOf(answer, signal) {
  const { turn, events } = answer, path = `/v1/conversations/${part(turn.conversation)}`;
  /** @type {[Schemas['Messages'], Schemas['RanTurns']]} */
  const [{ messages }, { turns }] = await Promise.all([get(`${path}/messages?limit=${messagesRead}`, signal), get(`${path}/turns?limit=${turnsRead}`, signal)]);
  const newer = turns.findIndex((t) => t.id === turn.id);
  const begins = messages.flatMap((m, i) => m.role === 'user' && !m.label ? [i] : []);
  const begin = begins.at(-1 - newer);
  if (newer < 0 || begin === undefined) return undefined;
  const own = messages.slice(begin, begins[begins.length - newer]);
  const said = own.filter((m) => m.role === 'assistant');
  if (said.length !== turn.steps || !words(own[0]).startsWith(turn.text.replace(/…$/, ''))) return undefined;
  const called = events.filter((e) => e.kind === 'call_start' && !e.depth).map((e) => e.call_id);
  const known = new Set(said.flatMap((m) => m.content ?? []).map((b) => b.call_id));
  return called.every((id) => known.has(id)) ? said.map(words) : undefined;
}

/** @param {Schemas['Message'] | undefined} m */
const words = (m) => (m?.content ?? []).flatMap((b) => b.kind === 'text' && b.text ? [b.text] : []).join('\n');
