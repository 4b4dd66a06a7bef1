// A conversation in which everything is hostile, and one message of 50 MB: the page shows them, nothing runs, nothing is reached, and the
// page can still be used.

import { accessible, ask, check, enter, figure, journey, open, readable, until, visit } from '../browser.mjs';

await journey(async () => {
  const page = await enter({ init: () => {
    window.tasks = [];
    new PerformanceObserver((list) => { for (const e of list.getEntries()) window.tasks.push(e.duration); }).observe({ type: 'longtask', buffered: true });
  } });
  await visit(page, `#/conversations/${await ask('hostile')}`);
  const log = page.getByRole('region', { name: 'Messages' });
  await until('the end is there', async () => /the end of it/.test(await log.innerText()));
  for (let i = 0; i < 15; i++) { // through all of it, with everything unfolded
    await log.evaluate((e) => { for (const b of e.querySelectorAll('button')) if (/^\s*(▸|Show)/.test(b.textContent)) b.click(); });
    await log.evaluate((e) => { e.scrollTop = Math.max(0, e.scrollTop - e.clientHeight); });
    await page.waitForTimeout(60);
    if (await page.getByText('the beginning of it').count()) break;
  }
  await accessible(page, 'a hostile conversation');
  const n = await page.evaluate(() => document.querySelectorAll('*').length);
  check(n <= 5000, 'there are', n, 'nodes');
  // Links of a model lead elsewhere only if one follows them.
  const links = await log.locator('a[href]').evaluateAll((all) => all.map((a) => [a.getAttribute('href'), a.rel, a.target]));
  for (const [href, rel, target] of links) {
    check(/^#\/|^(https?|mailto):/.test(href), 'a link leads to', href);
    check(href.startsWith('#/') || (/noopener/.test(rel) && target === '_blank'), 'a link can reach this page:', href);
  }
  for (const place of [`#/people`, `#/compare`, `#/plan`, `#/health`]) {
    await visit(page, place);
    await page.getByRole('heading').first().waitFor();
  }
  await page.getByRole('link', { name: 'Conversations' }).click();
  await open(page, 'Waiting');

  await page.evaluate(() => { window.tasks.length = 0; });
  const large = await ask('large'), began = Date.now();
  await visit(page, `#/conversations/${large}`);
  await until('the end of the large one is there', async () => /a small one/.test(await log.innerText()), 30);
  figure('a message of 50 MB is there after', `${Date.now() - began} ms`);
  const task = await page.evaluate(() => Math.max(0, ...window.tasks));
  figure('longest task with 50 MB', `${Math.round(task)} ms`);
  check(task <= 2000, 'the page stood still for', task, 'ms');
  const field = page.getByRole('textbox', { name: 'Message' });
  await field.fill('still here');
  check((await readable(page)).length < 400_000, 'the whole of it is in the document');
  check(await page.evaluate(() => window.ran) === undefined, 'ran:', await page.evaluate(() => window.ran));
});
