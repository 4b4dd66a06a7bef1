// The daemon's public API (docs/openapi.yaml), as any other client uses it: with a token, or with the cookie of a link.

/** @typedef {import('./wire.js').components['schemas']} Schemas */

/** What the daemon says against a request. */
export class Failure extends Error {
  /** @param {number} status 0: the daemon was not reached @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// A token that somebody has typed is kept for this tab only.
const kept = 'grapnel.token';

/** @param {string} token '' is none */
export function useToken(token) {
  if (token) sessionStorage.setItem(kept, token);
  else sessionStorage.removeItem(kept);
}

/** @param {string} method @param {string} path @param {unknown} [body] @param {RequestInit} [more] */
async function ask(method, path, body, more) {
  const headers = new Headers(more?.headers);
  const token = sessionStorage.getItem(kept);
  if (token) headers.set('Authorization', `Bearer ${token}`);
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  let answer;
  try {
    answer = await fetch(path, { ...more, method, headers, cache: 'no-store', body: body === undefined ? null : JSON.stringify(body) });
  } catch (err) {
    if (more?.signal?.aborted) throw err;
    throw new Failure(0, 'unreachable', 'the daemon does not answer; is it running?');
  }
  if (answer.ok) return answer;
  let said = { code: 'internal', message: `${answer.status} ${answer.statusText}` };
  try {
    said = (await answer.json()).error ?? said;
  } catch { /* what is between us and the daemon has answered */ }
  throw new Failure(answer.status, said.code, said.message);
}

/** @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] */
async function json(method, path, body, signal) {
  const answer = await ask(method, path, body, signal && { signal });
  return answer.status === 204 ? undefined : answer.json();
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = (path, signal) => json('GET', path, undefined, signal);
/** @param {string} path @param {unknown} [body] @returns {Promise<any>} */
export const post = (path, body = {}) => json('POST', path, body);
/** @param {string} path @param {unknown} body @returns {Promise<any>} */
export const put = (path, body) => json('PUT', path, body);
/** @param {string} path @returns {Promise<any>} */
export const del = (path) => json('DELETE', path);
/** The answer as a file. @param {string} path @returns {Promise<Blob>} */
export const blob = async (path) => (await ask('GET', path)).blob();

/** A part of a path. @param {string} text */
export const part = encodeURIComponent;

/**
 * @typedef {object} StreamOptions
 * @property {string} [after] the id of the last event that is known; '' begins with what happens now
 * @property {AbortSignal} signal ends the stream
 * @property {(event: Schemas['Event'], id: string) => void} event
 * @property {(name: string, data: any) => void} [note] of the stream itself: lagged, restarted, waiting
 * @property {(state: 'live' | 'lost', why: string) => void} [state]
 */

// How long to wait before the next try to reach the daemon, and how long a page may be out of sight before its stream ends until somebody looks
// again: a browser has six connections to a host, for all its tabs together.
const firstPause = 250, longestPause = 5000, outOfSight = 5000;

/**
 * Reads a stream of events until it is ended, over lost connections and restarted daemons: it goes on after the last event that it has.
 * It throws what the daemon says against it, if that will not pass.
 * @param {string} path @param {StreamOptions} o
 */
export async function stream(path, o) {
  let after = o.after ?? '', pause = firstPause;
  while (!o.signal.aborted) {
    await seen(o.signal);
    const unseen = new AbortController(), done = whenUnseen(() => unseen.abort());
    try {
      const answer = await ask('GET', path, undefined, { signal: AbortSignal.any([o.signal, unseen.signal]), headers: after ? { 'Last-Event-ID': after } : {} });
      o.state?.('live', '');
      pause = firstPause;
      for await (const e of events(/** @type {ReadableStream<BufferSource>} */ (answer.body))) {
        if (e.id) after = e.id;
        if (e.name === 'closed') break;
        const data = e.data ? JSON.parse(e.data) : undefined;
        if (e.name) o.note?.(e.name, data);
        else if (data) o.event(data, after);
      }
      throw new Failure(0, 'unreachable', 'the daemon has ended the connection');
    } catch (err) {
      if (o.signal.aborted) return;
      if (unseen.signal.aborted) continue;
      if (err instanceof Failure && err.status >= 400 && err.status < 500 && err.status !== 429) throw err;
      o.state?.('lost', err instanceof Error ? err.message : String(err));
    } finally {
      done();
    }
    await sleep(pause, o.signal);
    pause = Math.min(pause * 2, longestPause);
  }
}

/** Waits until somebody can see the page. @param {AbortSignal} signal @returns {Promise<void>} */
const seen = (signal) => new Promise((done) => {
  const look = () => {
    if (document.hidden && !signal.aborted) return;
    document.removeEventListener('visibilitychange', look);
    signal.removeEventListener('abort', look);
    done();
  };
  document.addEventListener('visibilitychange', look);
  signal.addEventListener('abort', look);
  look();
});

/** Calls once nobody has seen the page for a while. @param {() => void} call @returns {() => void} ends that */
function whenUnseen(call) {
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(call, outOfSight);
  };
  document.addEventListener('visibilitychange', look);
  look();
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}

/** @param {number} ms @param {AbortSignal} signal */
const sleep = (ms, signal) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal.addEventListener('abort', () => { clearTimeout(timer); done(undefined); }, { once: true });
});

/**
 * The server-sent events of a body (WHATWG HTML, 9.2.6).
 * @param {ReadableStream<BufferSource>} body
 */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '', id = '', name = '';
  /** @type {string[]} */
  let data = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const colon = line.indexOf(':');
      const field = colon < 0 ? line : line.slice(0, colon);
      const text = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
      if (line === '') {
        if (id || name || data.length) yield { id, name, data: data.join('\n') };
        id = ''; name = ''; data = [];
      } else if (field === 'id') id = text;
      else if (field === 'event') name = text;
      else if (field === 'data') data.push(text);
    }
  }
}
