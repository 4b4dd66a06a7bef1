// Many tabs are open, more than a browser has connections to one host. Those that nobody sees hold none, and go on when somebody looks.

import { ask, check, enter, journey, readable, until, visit } from '../browser.mjs';

await journey(async () => {
  const first = await enter(), conversation = await ask('begin');
  const hide = (tab, hidden) => tab.evaluate((h) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => h });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  let last = first;
  for (let i = 0; i < 7; i++) {
    await visit(last, `#/conversations/${conversation}`);
    await last.getByText('I look.').first().waitFor();
    await hide(last, true);
    last = await first.context().newPage();
    await last.goto(new URL('/', first.url()).href);
  }
  await visit(last, '#/health');
  await last.getByRole('heading', { name: /Health/ }).waitFor();
  await until('the daemon answers', async () => /Running since/.test(await readable(last)));
  // The first tab did not hear of what came meanwhile, and does when somebody looks at it.
  await ask('ended');
  await hide(first, false);
  await first.getByText('I have looked.').first().waitFor();
  check(await first.getByText(/connection .* is lost/i).count() === 0, 'a tab that nobody sees says that its connection is lost');
});
