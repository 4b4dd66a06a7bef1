// One message over two layers: in the second run a member of the composite was turned off. The comparison shows first who decided otherwise.

import { accessible, ask, check, enter, journey, until, visit } from '../browser.mjs';

await journey(async () => {
  const page = await enter();
  const [conversation, turn, other, otherTurn] = (await ask('runs')).split(' ');
  await visit(page, `#/compare/${conversation}/${turn}/${other}/${otherTurn}`);
  await page.getByRole('status').getByText(/difference/).first().waitFor();
  const here = page.locator('tr.here');
  await until('the first difference is in view', async () => {
    const box = await here.boundingBox();
    return box && box.y >= 0 && box.y + box.height <= page.viewportSize().height;
  });
  const text = await here.innerText();
  check(/Policy at BeforeTool/.test(text) && /deny/.test(text), 'the first difference is not what the layer has changed:', text);
  const rows = await page.locator('tr.differs').allInnerTexts();
  check(rows.some((r) => /read: denied by .*Policy[\s\S]*read: executed/.test(r)), 'the outcomes are not side by side:', rows);
  await accessible(page, 'two layers');
  // The plan of the second one says who has turned the member off.
  await visit(page, '#/plan');
  await page.getByRole('heading', { name: /^Plan/ }).waitFor();
  await page.getByText(/Policy.*off|off.*Policy/s).first().waitFor();
});
