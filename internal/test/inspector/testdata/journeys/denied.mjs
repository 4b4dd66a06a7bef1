// Somebody who has never seen the page finds out why a call was denied, and by whom.

import { accessible, check, enter, figure, journey, open, readable, until } from '../browser.mjs';

await journey(async () => {
  const page = await enter();
  let clicks = 0;
  const click = async (what) => { await what.waitFor(); await what.click(); clicks++; };
  await page.getByRole('link', { name: 'Conversations' }).waitFor();
  await accessible(page, 'the conversations');
  await click(page.getByRole('link', { name: /What do the notices to mariners say/ }).first());
  await until('the conversation says that the call was denied', async () => /curl -s --data-binary/.test(await readable(page)) && /denied/i.test(await readable(page)));
  await accessible(page, 'a conversation');
  const why = page.getByRole('link', { name: /who decided/i }).last();
  await click(why);
  await page.getByRole('heading', { name: /bash was denied by .*Secure.* at BeforeTool/ }).waitFor();
  const text = await readable(page);
  check(/curl -s --data-binary @log\/day-2\.md/.test(text), 'it is not the call:', text);
  check(/the user has not named/.test(text), 'the reason is not shown:', text);
  figure('clicks to who denied the call', clicks);
  check(clicks <= 3, 'it took', clicks, 'clicks');
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 400]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await accessible(page, `who decided, ${width} ${colorScheme}`);
    }
  }
  if (process.env.PICTURE) {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.evaluate(() => { scrollTo(0, 0); document.activeElement?.blur(); });
    await page.screenshot({ path: process.env.PICTURE });
  }
});
