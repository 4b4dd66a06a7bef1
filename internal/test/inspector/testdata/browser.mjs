// What every journey has: a browser, pages that are watched, and words with the test that has started it.

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const require = createRequire(join(process.env.PACKAGES, 'x'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has the test do something, and returns what it says. */
export async function ask(what) {
  console.log(`ASK ${what}`);
  const { value, done } = await answers.next();
  if (done || !value.startsWith('OK')) throw new Error(`the test did not ${what}: ${value}`);
  return value.slice(3);
}

/** A figure for the log of the test. */
export const figure = (name, value) => console.log(`FIGURE ${name}: ${value}`);

export function check(holds, ...otherwise) {
  if (!holds) throw new Error(otherwise.map((x) => typeof x === 'string' ? x : JSON.stringify(x)).join(' '));
}

export function equal(got, want, what) {
  check(JSON.stringify(got) === JSON.stringify(want), `${what}: got`, got, 'want', want);
}

/** Waits until what it returns holds, and returns that. */
export async function until(what, holds, seconds = 15) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) throw new Error(`in ${seconds} s never: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

const pages = [];
let browser;

/**
 * Opens a page by a new link, as another person would, and watches it: each of its errors is in page.wrong, unless a pattern of
 * page.expected matches it.
 */
export async function enter({ width = 1280, height = 860, dark = false, hash = '', init, token } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce', acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.wrong = [];
  page.foreign = [];
  page.expected = [];
  pages.push(page);
  const link = await ask('link');
  const own = new URL(link).origin;
  const say = (text) => page.wrong.push(text);
  page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') say(`console: ${m.text()} ${m.location().url}`); });
  page.on('pageerror', (e) => say(`error: ${e.message}`));
  page.on('dialog', (d) => { say(`dialog: ${d.message()}`); d.dismiss(); });
  page.on('popup', (p) => say(`popup: ${p.url()}`));
  // A stream ends when the page leaves a view.
  page.on('requestfailed', (r) => { if (r.failure()?.errorText !== 'net::ERR_ABORTED') say(`failed: ${r.method()} ${r.url()} ${r.failure()?.errorText}`); });
  await context.route((url) => url.origin !== own && !['data:', 'blob:'].includes(url.protocol), (route) => {
    page.foreign.push(route.request().url());
    return route.abort();
  });
  if (init) await context.addInitScript(init);
  await page.goto(token ? own : link);
  if (token) {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Enter' }).click();
    expect(page, /401/);
  }
  await page.getByRole('banner').waitFor();
  if (hash) await visit(page, hash);
  return page;
}

/** Goes to a place within the page. */
export const visit = (page, hash) => page.evaluate((h) => { location.hash = h; }, hash);

/** Goes to a view as a person does, by the name in the navigation. */
export async function open(page, name) {
  const link = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: false }).first();
  if (!await link.isVisible()) await page.getByRole('button', { name: /menu|views/i }).click();
  await link.click();
}

/** What axe finds that is serious, in what the page shows. */
export async function accessible(page, where) {
  if (!await page.evaluate(() => 'axe' in window)) {
    const session = await page.context().newCDPSession(page);
    await session.send('Runtime.evaluate', { expression: axe });
    await session.detach();
  }
  const found = await page.evaluate(async () => {
    const result = await window.axe.run(document, { resultTypes: ['violations'] });
    return result.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
      .map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(', ')}: ${v.nodes[0].failureSummary}`);
  });
  check(found.length === 0, `${where}: axe finds`, found);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(wide <= 0, `${where}: the page is ${wide} pixels wider than the window`);
}

/** The page as text, to find what a person can read. */
export const readable = (page) => page.getByRole('main').innerText();

/** Has what the page said against itself until now pass, where that is expected. */
export const expect = (page, ...patterns) => page.expected.push(...patterns);

/** Plays a journey, and fails loudly. */
export async function journey(play) {
  browser = await chromium.launch({ executablePath: process.env.BROWSER, args: ['--no-sandbox', '--headless=shell', '--disable-gpu'] });
  let failed;
  try {
    await play(browser);
    for (const page of pages) {
      const wrong = page.wrong.filter((text) => !page.expected.some((p) => p.test(text)));
      check(wrong.length === 0, 'the page had errors:', wrong);
      check(page.foreign.length === 0, 'the page asked for what is not of the daemon:', page.foreign);
    }
  } catch (err) {
    failed = err;
    for (const [i, page] of pages.entries()) {
      if (page.isClosed()) continue;
      const path = join(process.env.SHOTS, `${i}.png`);
      await page.screenshot({ path, timeout: 5000 }).then(() => console.log(`SHOT ${path} ${page.url()}`), () => {});
      console.log(`PAGE ${i} had: ${JSON.stringify(page.wrong)} ${JSON.stringify(page.foreign)}`);
      console.log(`PAGE ${i} shows: ${(await page.locator('body').innerText({ timeout: 3000 }).catch(() => '?')).slice(0, 3000)}`);
    }
  }
  await browser.close().catch(() => {});
  if (failed) console.log(`FAILED ${failed.stack}`);
  process.exit(failed ? 1 : 0);
}

/** Presses Tab until what has the focus has a role and a name, as somebody without a pointer does. */
export async function tabTo(page, role, name, most = 80) {
  const target = page.getByRole(role, { name }).first();
  await target.waitFor();
  for (let i = 0; i < most; i++) {
    await page.keyboard.press('Tab');
    if (await target.evaluate((e) => e === document.activeElement)) return target;
  }
  throw new Error(`${most} times Tab do not lead to the ${role} ${name}`);
}
