// Text from outside (hostile.json: written for this test after the kinds that the fixtures of DOMPurify tell apart) goes through the page's own functions, with and without what defends the page. One defence alone must do:
// the policy that the daemon sends (POLICY=off takes it away), or how text becomes nodes (TEXT=html makes markup of it).

import { readFileSync } from 'node:fs';
import { check, enter, equal, expect, figure, journey } from '../browser.mjs';

const texts = JSON.parse(readFileSync(new URL('../hostile.json', import.meta.url), 'utf8'))
  .map(({ name, text, times = 1 }) => ({ name, text: text.repeat(times) }));
const policy = process.env.POLICY !== 'off', safe = process.env.TEXT !== 'html';

// What a careless change of text.js would do.
const careless = (text) => `${text.replace(/^export (const|function) (markdown|reveal)\b/gm, '$1 kept_$2')}
const box = (text) => { const d = document.createElement('div'); d.innerHTML = text; return d; };
export const markdown = box, reveal = box;`;

await journey(async () => {
  const page = await enter();
  if (!safe || !policy) {
    await page.route('**/*', async (route) => {
      const url = new URL(route.request().url());
      if (url.origin !== new URL(page.url()).origin || url.pathname.startsWith('/v1/')) return route.fallback();
      const { 'if-none-match': _, ...sent } = route.request().headers(); // an answer of 304 has no text to change
      const answer = await route.fetch({ headers: sent });
      const headers = { ...answer.headers() };
      if (!policy) delete headers['content-security-policy'];
      const body = !safe && url.pathname === '/page/text.js' ? careless(await answer.text()) : await answer.body();
      return route.fulfill({ response: answer, headers, body });
    });
    await page.reload();
    await page.getByRole('banner').waitFor();
  }
  page.on('dialog', () => page.evaluate(() => { window.ran = 'dialog'; }));
  const found = await page.evaluate(async (texts) => {
    const { markdown, reveal } = await import('/page/text.js');
    const { html, render } = await import('/page/dom.js');
    const box = document.createElement('div');
    document.getElementById('main').append(box);
    const out = { slowest: 0, links: [], tags: [] };
    for (const { text } of texts) {
      const began = performance.now();
      try {
        render(html`<div class="text" title=${text} aria-label=${text}>${text}</div><div>${reveal(text)}</div><div>${markdown(text)}</div>`, box);
      } catch (err) { out.failed = String(err); }
      out.slowest = Math.max(out.slowest, performance.now() - began);
      await new Promise((done) => setTimeout(done, 20));
      for (const a of box.querySelectorAll('a[href]')) out.links.push(a.href);
      for (const e of box.querySelectorAll('*')) out.tags.push(e.localName);
      for (const a of box.querySelectorAll('a:not([target])')) a.click();
      box.querySelectorAll('*').forEach((e) => e.dispatchEvent(new MouseEvent('mouseover', { bubbles: true })));
    }
    await new Promise((done) => setTimeout(done, 300));
    return { ...out, tags: [...new Set(out.tags)], ran: window.ran };
  }, texts).catch((err) => ({ ran: `the page has gone: ${err}`, links: [], tags: [] }));
  const reached = page.foreign.length > 0 || found.ran !== undefined;
  if (process.env.REACHES === 'yes') { // known bad
    check(reached, 'without any defence nothing happened: this test sees nothing');
    page.foreign.length = 0;
    return expect(page, /./);
  }
  check(!reached, 'ran:', found.ran ?? 'nothing', 'asked for:', page.foreign);
  if (!safe) return expect(page, /TrustedHTML|Content Security Policy/);
  equal(found.failed, undefined, 'drawing failed');
  for (const href of found.links) check(/^(https?|mailto):/.test(href), 'a link leads to', href);
  for (const tag of found.tags) check(/^(div|bdi|span|p|br|hr|em|strong|del|code|pre|blockquote|ul|ol|li|a|h[1-6]|table|thead|tbody|tr|t[hd])$/.test(tag), 'there is a', tag);
  figure('slowest hostile text', `${Math.round(found.slowest)} ms`);
  check(found.slowest < 800, 'a text took', found.slowest);
});
