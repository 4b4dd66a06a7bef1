// node --test web/log_test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import './drawn.mjs';
import { Log } from './views/log.js';

/** A log of 500 pixels with elements one below the other, each with a name and a height, scrolled to a place. */
function boxed(heights, scrollTop) {
  const box = {
    scrollTop, clientHeight: 500, get scrollHeight() { return elements.reduce((n, el) => n + el.height, 0); },
    getBoundingClientRect: () => ({ top: 100, bottom: 600 }),
    querySelectorAll: (kind) => elements.filter((el) => kind === (el.id ? '.card.asked' : el.dataset.index ? '.item' : '')),
    querySelector: (what) => elements.find((el) => what === (el.id ? `#${el.id}` : `.item[data-index="${el.dataset.index}"]`)) ?? null,
  };
  const elements = Object.entries(heights).map(([name, height], i) => ({
    id: name.startsWith('wait') ? name : '', dataset: name.startsWith('i') ? { index: name.slice(1) } : {}, height,
    getBoundingClientRect() {
      const top = 100 - box.scrollTop + elements.slice(0, i).reduce((n, el) => n + el.height, 0);
      return { top, bottom: top + this.height };
    },
  }));
  const log = new Log({ changed() {} }, { following: false, history: { first: 0 } }, {});
  log.box = box;
  return { log, elements, tops: () => elements.map((el) => el.getBoundingClientRect().top) };
}

test('a card in sight stays where it is while what is above it grows; without one the message at the top does', () => {
  for (const [scrollTop, stays] of [
    [1000, 2], // within the card: no message is in sight
    [400, 2], // the card is in sight below what grows
    [0, 0],
  ]) {
    const { log, elements, tops } = boxed({ i0: 300, running: 400, 'wait-1': 1500 }, scrollTop), before = tops()[stays];
    const keep = log.anchor();
    elements[1].height += 80;
    log.placed(keep);
    assert.equal(tops()[stays], before, `scrolled to ${scrollTop}`);
  }
});

test('what is kept of what was drawn does not grow, and the newest stays', async () => {
  const log = new Log({ changed() {} }, { following: true }, {});
  globalThis.fetch = async () => Response.json({ text: 'x' });
  for (let i = 0; i < 2000; i++) {
    log.fold(`k${i}`);
    log.cached(`k${i}`, ['x'], () => i);
  }
  for (let i = 0; i < 60; i++) await log.wholeEvent(`k${i}`, '/v1/x').values[0]();
  assert.deepEqual([log.shown.size, log.cache.size, log.wholes.size], [1000, 500, 50]);
  assert.deepEqual([log.shown.has('k1999'), log.cached('k1999', ['x'], () => -1), log.wholes.get('k59/whole')], [true, 1999, 'x']);
  log.fold('k1999');
  assert.equal(log.shown.has('k1999'), false);
});
