// An agent asks. The person chooses one answer of several, with the keyboard, and writes another.

import { accessible, ask, enter, journey, open, until } from '../browser.mjs';

await journey(async () => {
  const page = await enter();
  await ask('begin');
  await open(page, 'Waiting');
  await page.getByRole('heading', { name: /asks you/ }).waitFor();
  await accessible(page, 'questions');
  await page.getByRole('radio', { name: /the grapnel/ }).focus();
  await page.keyboard.press('Space');
  await page.getByRole('group', { name: /Who is to read it/ }).getByRole('textbox').fill('the harbour master');
  const answer = page.getByRole('button', { name: 'Answer', exact: true });
  await until('it can be answered', async () => await answer.getAttribute('aria-disabled') !== 'true' && await answer.isEnabled());
  await answer.press('Enter');
  await page.getByText('You answered').first().waitFor();
  await ask('ended');
});
