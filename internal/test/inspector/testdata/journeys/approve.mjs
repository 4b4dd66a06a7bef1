// A call waits for an approval. The person sees exactly what will run, with the character that would hide a part of it, and approves it.

import { accessible, ask, check, enter, journey, open, readable, until } from '../browser.mjs';

await journey(async () => {
  const page = await enter();
  await ask('begin');
  await until('the navigation says that something waits', async () => /1/.test(await page.getByRole('link', { name: /^Waiting/ }).innerText()));
  await open(page, 'Waiting');
  await page.getByRole('heading', { name: /wants to run/ }).waitFor();
  const shown = await readable(page);
  check(shown.includes('printf moored > moored.txt'), 'the command is not there:', shown);
  check(shown.includes('U+202E'), 'the character that turns the direction is not made visible:', shown);
  check(/1 character/.test(shown), 'nothing says that there is a character that cannot be seen:', shown);
  check(!shown.includes('\u202e'), 'the character itself is in the page');
  await accessible(page, 'an approval');
  await page.setViewportSize({ width: 400, height: 860 });
  await accessible(page, 'an approval, narrow');
  await page.emulateMedia({ colorScheme: 'dark' });
  await accessible(page, 'an approval, dark');
  const approve = page.getByRole('button', { name: 'Approve', exact: true });
  await until('approve can be pressed', async () => await approve.isEnabled() && await approve.getAttribute('aria-disabled') !== 'true');
  await approve.focus();
  await page.keyboard.press('Enter');
  await page.getByText('You approved it').first().waitFor();
  await ask('ended');
});
