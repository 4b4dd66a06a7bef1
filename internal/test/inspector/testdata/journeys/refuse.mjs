// Two people look at one approval. The first one refuses with a reason, which the model reads; the second is told who was first.

import { ask, enter, equal, expect, journey, readable, until, visit } from '../browser.mjs';

await journey(async () => {
  const first = await enter({ hash: '#/people' }), second = await enter({ hash: '#/people' });
  await ask('begin');
  for (const page of [first, second]) await page.getByRole('heading', { name: /wants to run/ }).waitFor();
  const button = second.getByRole('button', { name: 'Approve', exact: true });
  await until('approve can be pressed', async () => await button.getAttribute('aria-disabled') !== 'true' && await button.isEnabled());
  // The second page does not hear of the first one's answer before it sends its own.
  await second.route(/\/v1\/(asks|inquiries)(\?|$)/, () => {});
  await first.getByLabel(/Reason/).fill('not in the harbour');
  const refuse = first.getByRole('button', { name: 'Refuse', exact: true });
  await until('refuse can be pressed', async () => await refuse.getAttribute('aria-disabled') !== 'true');
  await refuse.click();
  await first.getByText('You refused it').first().waitFor();
  await ask('ended');
  await button.click();
  expect(second, /409/);
  await until('the second person is told who was first, how, and why', async () => /too late\. Refused in another window: "not in the harbour"/.test(await second.locator('body').innerText()));
  await second.unroute(/\/v1\/(asks|inquiries)(\?|$)/);
  equal(/Approve/.test(await readable(first)), false, 'the first page still offers to approve');
  await visit(first, '#/health');
});
