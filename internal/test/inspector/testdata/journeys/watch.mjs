// A person looks at a conversation that others began. The daemon dies, which the page says; it comes back, and so does the page. Then
// the person approves what the agent wants to do, and sees the whole reply once.

import { ask, check, enter, equal, expect, figure, journey, open, readable, until, visit } from '../browser.mjs';

await journey(async () => {
  const page = await enter({ token: await ask('token') }); // a link's session ends with its daemon, a token does not
  expect(page, /ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|ERR_SOCKET|ERR_NETWORK|Failed to fetch/);
  await visit(page, `#/conversations/${await ask('begin')}`);
  await page.getByText('Moor the boat.').first().waitFor();
  await until('the text grows', async () => /word-1\d\b/.test(await readable(page)));
  const before = (await readable(page)).match(/word-\d+/g).length;
  await until('the text grows live', async () => (await readable(page)).match(/word-\d+/g).length > before);
  await ask('kill');
  const lost = Date.now();
  await until('the page says that it has lost the daemon', async () => /lost|not answer|connect/i.test(await page.locator('body').innerText()));
  await ask('start');
  await until('the page is live again', async () => !/lost the|has lost|does not answer/i.test(await page.locator('body').innerText()), 20);
  figure('back after', `${Date.now() - lost} ms`);
  await until('something waits', async () => /1/.test(await page.getByRole('link', { name: /^Waiting/ }).innerText()), 20);
  await open(page, 'Waiting');
  await page.getByRole('heading', { name: /wants to run/ }).waitFor();
  const approve = page.getByRole('button', { name: 'Approve', exact: true });
  await until('approve can be pressed', async () => await approve.getAttribute('aria-disabled') !== 'true' && await approve.isEnabled());
  await approve.click();
  await page.getByText('You approved it').first().waitFor();
  await page.goBack();
  await page.getByText('It is moored, and so is the dinghy.').first().waitFor();
  const end = await ask('ended');
  await until('the page shows the reply once', async () => (await readable(page)).split(end).length === 2);
  await page.reload();
  await page.getByText(end).first().waitFor();
  const text = await readable(page);
  equal(text.split(end).length - 1, 1, 'how often the reply is there');
  equal(text.match(/word-60\b/g)?.length, 1, 'how often the end of the first text is there');
  check(/approv|allowed|bash/i.test(text), 'nothing of the call is shown');
});
