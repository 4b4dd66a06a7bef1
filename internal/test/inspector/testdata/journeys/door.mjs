// Somebody whom the daemon does not know, and somebody who has a link: they see the door and the page, in both schemes and widths. What does
// not exist, and a daemon that does not answer, are told of.

import { accessible, ask, check, enter, expect, journey, open, until, visit } from '../browser.mjs';

await journey(async (browser) => {
  for (const dark of [false, true]) {
    for (const width of [1280, 400]) {
      const page = await enter({ dark, width });
      await open(page, 'Health');
      await page.getByRole('heading', { name: 'Health' }).waitFor();
      await accessible(page, `health, ${width} ${dark ? 'dark' : 'light'}`);
      if (width > 400 || dark) continue;
      await visit(page, '#/nowhere');
      await page.getByRole('heading', { name: 'No such page' }).waitFor();
      expect(page, /404/);
      await visit(page, '#/agents/nobody');
      await page.getByRole('heading', { name: 'Not found' }).waitFor();
      await page.getByRole('main').getByRole('link', { name: 'Agents' }).click();
      await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor();
      // What cannot be drawn takes nothing else with it.
      await page.route(/\/v1\/nodes/, (route) => route.fulfill({ json: { nodes: [{ id: 'without projects' }] } }));
      await open(page, 'Nodes');
      await page.getByRole('alert').getByText(/cannot be shown/).waitFor();
      await accessible(page, 'a view that cannot be drawn');
      await page.unroute(/\/v1\/nodes/);
      expect(page, /TypeError/);
      await open(page, 'Agents');
      await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor();
      await open(page, 'Nodes');
      await page.getByText('shares its store with no other').waitFor();
      await page.route(/\/v1\//, (route) => route.abort());
      await until('the lost daemon is told of in one place', async () => (await page.getByText('the daemon does not answer').count()) === 1);
      await page.unroute(/\/v1\//);
      expect(page, /ERR_FAILED/);
      await page.getByText('The daemon answers again').waitFor();
      // Who leaves while the daemon does not answer is told that the session goes on.
      const leave = async () => {
        await page.getByRole('button', { name: 'Leave' }).click();
        await page.getByRole('button', { name: 'End the session' }).click();
      };
      await page.route(/\/v1\/session/, (route) => route.abort());
      await leave();
      await page.getByRole('alert').getByText('The session has not ended: the daemon does not answer').waitFor();
      await page.getByRole('button', { name: 'Leave' }).waitFor();
      await page.unroute(/\/v1\/session/);
      await leave();
      await page.getByLabel('Token').waitFor();
      await accessible(page, 'the door');
      await page.reload();
      await page.getByLabel('Token').fill('not-a-token');
      await page.getByRole('button', { name: 'Enter' }).click();
      await until('it says that it does not know the token', async () => /does not know/.test(await page.getByRole('alert').innerText()));
      expect(page, /401/);
      // What else the daemon says against a token is said as it is.
      await page.route(/\/v1\/me/, (route) => route.fulfill({ status: 403, json: { error: { code: 'forbidden', message: 'this needs the scope read' } } }));
      await page.getByRole('button', { name: 'Enter' }).click();
      await until('it says why the token does not do', async () => (await page.getByRole('alert').innerText()).startsWith('this needs the scope read'));
      await page.unroute(/\/v1\/me/);
      expect(page, /403/);
    }
  }
  // A link opens the page once. Who has entered by it comes back by it all the same; others read what to do.
  const page = await browser.newPage(), link = await ask('link');
  await page.goto(link);
  await page.getByRole('banner').waitFor();
  check(!page.url().includes('link'), 'the address tells how somebody came', page.url());
  await page.goto(link);
  await page.getByRole('banner').waitFor();
  check(await page.getByRole('alert').count() === 0, 'who is here is told that the link is used');
  const stranger = await browser.newPage();
  await stranger.goto(link);
  await stranger.getByRole('alert').getByText('This link was used already').waitFor();
  await accessible(stranger, 'a link that was used');
  // A link that is followed counts instead of a token of before.
  await stranger.evaluate(() => sessionStorage.setItem('grapnel.token', 'of-yesterday'));
  await stranger.goto(await ask('link'));
  await stranger.getByRole('banner').waitFor();
});
