// 10,000 messages, and a turn of more than 1,000 events a second: the page stays quick, and small.

import { ask, check, enter, equal, figure, journey, until, visit } from '../browser.mjs';

// Four times what the page is to keep to (200 ms, 100 ms): the machine of a test has other things to do.
const longestTask = 800, slowestEcho = 400, mostNodes = 5000;

// Watches long tasks, and how long a key takes until a frame shows its letter.
const watch = () => {
  window.tasks = [];
  new PerformanceObserver((list) => { for (const e of list.getEntries()) window.tasks.push(e.duration); }).observe({ type: 'longtask', buffered: true });
  window.echoes = [];
  addEventListener('keydown', (e) => {
    const began = e.timeStamp, field = e.target;
    const had = field.value?.length;
    requestAnimationFrame(() => setTimeout(() => { if (field.value?.length > had) window.echoes.push(performance.now() - began); }));
  }, true);
};

const p95 = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)];

await journey(async () => {
  const page = await enter({ init: watch });
  const nodes = async (where) => {
    const n = await page.evaluate(() => document.querySelectorAll('*').length);
    check(n <= mostNodes, `${where}: ${n} nodes`);
    return n;
  };
  const longest = () => page.evaluate(() => { const t = Math.max(0, ...window.tasks); window.tasks.length = 0; return t; });
  await longest();

  const began = Date.now();
  await visit(page, `#/conversations/${await ask('conversation')}`);
  const log = page.getByRole('region', { name: 'Messages' });
  await until('the last message is there', async () => /message 9999\b/.test(await log.innerText()));
  figure('10,000 messages are there after', `${Date.now() - began} ms`);
  figure('nodes', await nodes('at the end'));
  for (let i = 0; i < 12; i++) {
    await log.evaluate((e) => { e.scrollTop = 0; e.dispatchEvent(new Event('scroll')); });
    await page.waitForTimeout(150);
    await nodes('on the way up');
  }
  check(!/message 9999\b/.test(await log.innerText()), 'the end is still in the document');
  let task = await longest();
  figure('longest task while scrolling', `${Math.round(task)} ms`);
  check(task <= longestTask, 'a task took', task, 'ms while scrolling');
  await page.reload();
  await until('the last message is there again', async () => /message 9999\b/.test(await log.innerText()));
  await longest();

  const field = page.getByRole('textbox', { name: 'Message' });
  await field.focus();
  await ask('burst');
  await until('text comes', async () => /stream/.test(await log.innerText()));
  await page.evaluate(() => { window.echoes.length = 0; });
  const text = 'the quick brown fox jumps over the lazy dog while much is said, and each letter shows';
  await page.keyboard.type(text, { delay: 40 });
  const echoes = await page.evaluate(() => window.echoes);
  equal(await field.inputValue(), text, 'what was typed');
  await nodes('while a turn runs');
  task = await longest();
  const running = await ask('rate');
  figure('events a second', running);
  check(Number(running) >= 1000, 'there were only', running, 'events a second: the test is too easy');
  figure('longest task while a turn runs', `${Math.round(task)} ms`);
  figure('typing echoes, p95', `${Math.round(p95(echoes))} ms of ${echoes.length} keys`);
  check(echoes.length >= text.length / 2, 'too few keys were seen:', echoes.length);
  check(task <= longestTask, 'a task took', task, 'ms while a turn ran');
  check(p95(echoes) <= slowestEcho, 'typing echoes after', p95(echoes), 'ms');
});
