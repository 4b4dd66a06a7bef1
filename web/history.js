// The messages of a conversation, as the store has them: a run of them is loaded, from the end or from where somebody looks.
// What was summed up is in the archive. It is loaded when somebody wants it, and has the indexes below 0.

import { blob, get } from './api.js';

/** @typedef {import('./api.js').Schemas} Schemas */
/** @typedef {Schemas['Message']} Message */

// How many messages come at once, and how many are held.
const page = 60, most = 1500;

export class History {
  /** The index of the first message that is loaded, without the archive. */
  start = 0;
  /** @type {Message[]} */
  messages = [];
  /** The numbers of their turns. @type {number[]} */
  turns = [];
  /** The archive, once it is loaded, and the numbers of its turns. @type {Message[] | undefined} */
  archive;
  /** @type {number[]} */
  archivedTurns = [];
  /** How many there are. */
  total = 0;
  loaded = false;

  /** @param {string} path of the conversation */
  constructor(path) { this.path = path; }

  /** The index of the first message that is loaded. */
  get first() { return this.start - (this.start === 0 ? this.archive?.length ?? 0 : 0); }

  /** The index after the last message that is loaded. */
  get end() { return this.start + this.messages.length; }

  /** @param {number} index @returns {Message | undefined} */
  at(index) { return index < 0 ? this.archive?.at(index) : this.messages[index - this.start]; }

  /** The number of the turn of a message, as a fork counts them; 0 if it is not known. @param {number} index */
  turn(index) { return (index < 0 ? this.archivedTurns.at(index) : this.turns[index - this.start]) ?? 0; }

  /** What begins with a summary has an archive. */
  get summed() { return this.start === 0 && this.messages[0]?.label === 'summary'; }

  /** Loads the archive: the export begins with it. */
  async unpack() {
    const [head = '', ...lines] = (await (await blob(`${this.path}/export`)).text()).split('\n');
    const archived = lines.slice(0, JSON.parse(head).archived ?? 0).map((line) => JSON.parse(line));
    this.archive = archived.map((x) => x.message);
    this.archivedTurns = archived.map((x) => x.turn ?? 0);
  }

  /** @param {string} query @returns {Promise<Schemas['Messages']>} */
  fetch(query) { return get(`${this.path}/messages?${query}`); }

  /**
   * Fetches the end again. What is loaded stays if it is still so.
   * @param {boolean} [follow] somebody looks at the end: it is loaded, even if what lies between is not
   */
  async tail(follow = true) {
    const end = await this.fetch(`limit=${page}`);
    const fits = this.loaded && end.first <= this.end && end.first >= this.start && end.total >= this.end &&
      end.messages.slice(0, this.end - end.first).every((m, i) => same(m, this.at(end.first + i)));
    this.total = end.total;
    if (fits && (follow || this.messages.length < most)) this.append(end);
    else if (fits) return; // what somebody reads stays; the rest is loaded when they come to it
    else if (follow || !this.loaded || this.end > end.total) this.take(end);
  }

  /** Adds what is new to the end, and lets go of as much at the beginning. @param {Schemas['Messages']} answer */
  append(answer) {
    const known = this.end - answer.first;
    this.messages.push(...answer.messages.slice(known));
    this.turns.push(...answer.turns?.slice(known) ?? []);
    const tooMany = Math.max(0, this.messages.length - most);
    this.messages.splice(0, tooMany);
    this.turns.splice(0, tooMany);
    this.start += tooMany;
  }

  /** @param {Schemas['Messages']} answer */
  take(answer) {
    this.start = answer.first;
    this.messages = answer.messages;
    this.turns = answer.turns ?? [];
    this.total = answer.total;
    this.archive = undefined; // it may have grown
    this.loaded = true;
  }

  /** Loads what comes before. */
  async earlier() {
    if (this.start === 0) return;
    const answer = await this.fetch(`before=${this.start}&limit=${page}`);
    if (answer.first + answer.messages.length !== this.start) return;
    this.start = answer.first;
    this.messages = [...answer.messages, ...this.messages].slice(0, most);
    this.turns = [...answer.turns ?? [], ...this.turns].slice(0, most);
  }

  /** Loads what comes after. */
  async later() {
    if (this.end >= this.total) return;
    const end = this.end, answer = await this.fetch(`before=${Math.min(end + page, this.total)}&limit=${page}`);
    if (this.end !== end || answer.first > end) return;
    this.append(answer);
  }

  /** Loads what is around a message. @param {number} index */
  async around(index) {
    this.take(await this.fetch(`before=${index + page / 2}&limit=${page}`));
  }
}

/**
 * Whether two messages at one index are the same one: a message never changes, but others can take its place.
 * @param {Message} a @param {Message | undefined} b
 */
function same(a, b) {
  return !!b && a.role === b.role && a.call_id === b.call_id && a.label === b.label && a.content?.length === b.content?.length &&
    (a.content ?? []).every((x, i) => x.kind === b.content?.[i]?.kind && x.text === b.content?.[i]?.text && x.call_id === b.content?.[i]?.call_id);
}

/** What a message says. @param {Message} m */
export const textOf = (m) => (m.content ?? []).filter((b) => b.kind === 'text').map((b) => b.text ?? '').join('\n');
