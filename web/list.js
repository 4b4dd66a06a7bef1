// What views share that show a list which is fetched again every so often.

import { get } from './api.js';

/**
 * Fetches a path now and every so often until the signal, while somebody looks.
 * @param {string} path @param {number} every in milliseconds @param {AbortSignal} signal @param {(answer: any) => void} got
 */
export async function poll(path, every, signal, got) {
  while (!signal.aborted) {
    if (!document.hidden) got(await get(path, signal));
    await new Promise((done) => { setTimeout(done, every); signal.addEventListener('abort', done, { once: true }); });
  }
}
