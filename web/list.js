// What views share that show a list which is fetched again every so often.

import { Failure, get } from './api.js';

/**
 * Does something now and every so often until the signal, while somebody looks. It goes on when the daemon cannot be reached, which
 * failed is told of once until it is back; other errors end it, as do all without failed.
 * @param {number} ms @param {AbortSignal} signal @param {() => Promise<void>} work @param {(err: unknown) => void} [failed]
 */
export async function every(ms, signal, work, failed) {
  let lost = false;
  while (!signal.aborted) {
    try {
      if (!document.hidden) await work();
      lost = false;
    } catch (err) {
      if (signal.aborted || !failed || !(err instanceof Failure) || err.status > 0 && err.status < 500) throw err;
      if (!lost) failed(err);
      lost = true;
    }
    await pause(ms, signal);
  }
}

/** Waits so long, or until the signal. @param {number} ms @param {AbortSignal} signal */
const pause = (ms, signal) => new Promise((done) => {
  const end = () => { clearTimeout(timer); signal.removeEventListener('abort', end); done(undefined); };
  const timer = setTimeout(end, ms);
  signal.addEventListener('abort', end);
});

/**
 * Fetches a path now and every so often: see every.
 * @param {string} path @param {number} ms @param {AbortSignal} signal @param {(answer: any) => void} got @param {(err: unknown) => void} [failed]
 */
export const poll = (path, ms, signal, got, failed) => every(ms, signal, async () => got(await get(path, signal)), failed);
