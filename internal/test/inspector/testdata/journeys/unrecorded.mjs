// A daemon that records no hook runs: the page still says who denied a call, and how more becomes known.

import { accessible, ask, check, enter, journey, readable, visit } from '../browser.mjs';

await journey(async () => {
  const page = await enter();
  const [conversation] = (await ask('denied')).split(' ');
  await visit(page, `#/conversations/${conversation}`);
  await page.getByText('I have looked.').waitFor();
  await page.getByText(/denied by Policy/).first().waitFor();
  await page.getByRole('link', { name: 'who decided' }).first().click();
  await page.getByRole('heading', { name: /read was denied by Policy/ }).waitFor();
  const text = await readable(page);
  check(text.includes('grapnel serve --hooks'), 'nothing says how hook runs are recorded');
  check(/The model was told/.test(text), 'the reason is not there');
  await accessible(page, 'a call without hook runs');
  await visit(page, '#/plan');
  await page.getByText('records no hook runs').waitFor();
  await accessible(page, 'a plan without hook runs');
});
