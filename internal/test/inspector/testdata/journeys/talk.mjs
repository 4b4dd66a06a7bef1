// A person begins a conversation, sees the reply grow, finds it again after a reload, and by what was said in it.

import { accessible, ask, check, enter, equal, journey, open, readable, until } from '../browser.mjs';

await journey(async () => {
  const page = await enter();
  await open(page, 'Conversations');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByLabel('Sender').fill('a captain');
  await accessible(page, 'a new conversation');
  await page.getByRole('button', { name: 'Begin' }).click();
  const field = page.getByRole('textbox', { name: 'Message' });
  await field.fill('Count slowly.');
  await field.press('Enter');
  equal(await field.inputValue(), '', 'what is left in the field');
  await until('the reply begins', async () => /word-3\b/.test(await readable(page)));
  const before = (await readable(page)).match(/word-\d+/g).length;
  check(before < 60, 'the reply came at once, so this sees nothing grow');
  await until('the reply grows', async () => (await readable(page)).match(/word-\d+/g).length > before);
  await accessible(page, 'a turn that runs');
  await until('the reply is whole', async () => /word-60\b/.test(await readable(page)));
  await page.getByRole('link', { name: 'waterfall' }).waitFor();
  await page.reload();
  await until('the reply stands after a reload', async () => /word-60\b/.test(await readable(page)));
  equal((await readable(page)).match(/word-60\b/g).length, 1, 'how often the reply is there');
  check(/tokens in/.test(await readable(page)), 'nothing says what the turn took');
  for (const colorScheme of ['dark', 'light']) {
    for (const width of [400, 1280]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 860 });
      await accessible(page, `a conversation, ${width} ${colorScheme}`);
    }
  }

  await ask('other');
  const search = page.getByRole('search').getByRole('searchbox');
  await search.fill('anchorage');
  await search.press('Enter');
  const hit = page.getByRole('complementary', { name: 'Conversations' }).getByRole('link', { name: /anchorage/ }).first();
  await hit.waitFor();
  await accessible(page, 'what a search found');
  await hit.click();
  await until('the found conversation is open', async () => /Aye: the anchorage is safe/.test(await page.getByRole('region', { name: 'Messages' }).innerText()));
});
