// Without a pointer: the plan lights up while a turn passes, a dot explains what happened there, and two runs of a message are compared,
// whose first difference is in view.

import { accessible, ask, check, enter, figure, journey, readable, tabTo, until, visit } from '../browser.mjs';

await journey(async () => {
  const page = await enter();
  await page.getByRole('heading').first().waitFor();
  await page.evaluate(() => document.activeElement.blur());
  await tabTo(page, 'link', /^Skip to/);
  await tabTo(page, 'link', 'Plan');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /^Plan/ }).waitFor();
  await page.getByRole('table').first().waitFor();
  await accessible(page, 'the plan');

  // What the last turn has lit is there, and the next one begins anew.
  const refused = page.getByRole('button', { name: /Secure at BeforeTool.*denied [1-9]/ });
  await page.getByText('This is what the last one lit').waitFor();
  await refused.waitFor();
  const begun = ask('begin'), asking = page.getByRole('button', { name: /Approval at Approve: is being asked now/ });
  await asking.waitFor();
  check(await refused.count() === 0, 'what the turn before has lit is still there');
  check(await page.getByRole('button', { name: /Secure at BeforeTool.*asked [1-9]/ }).count() > 0, 'no dot lights');
  await begun;
  // Who opens the plan while the turn runs sees what it has lit so far, and who is being asked.
  await visit(page, '#/health');
  await page.getByRole('heading', { name: /Health/ }).waitFor();
  await visit(page, '#/plan');
  await asking.waitFor();
  check(await page.getByRole('button', { name: /Secure at BeforeTool.*asked [1-9]/ }).count() > 0, 'what the turn lit before is missing');
  const place = await ask('ended');
  await until('the refusal lights', async () => await refused.count() > 0);
  await until('nobody is asked any more', async () => await asking.count() === 0);
  figure('nodes of the plan', await page.evaluate(() => document.querySelectorAll('*').length));
  check(await page.evaluate(() => document.querySelectorAll('*').length) <= 5000, 'the plan has too many nodes');

  // Arrow keys move between dots; Enter asks about one.
  const dot = page.getByRole('button', { name: /Secure at BeforeTool/ }).first();
  await page.getByRole('button', { name: / at / }).first().focus();
  await page.keyboard.press('ArrowRight');
  check(await page.evaluate(() => / at /.test(document.activeElement.getAttribute('aria-label') ?? '')), 'an arrow key does not move to a dot');
  await dot.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /Secure at BeforeTool/ }).waitFor();
  check(/denied/.test(await readable(page)), 'the dot does not say that it denied');
  await accessible(page, 'a dot explained');

  // From there to the call.
  const call = page.getByRole('link', { name: 'bash', exact: true }).first();
  await call.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /bash was denied by .*Secure.* at BeforeTool/ }).waitFor();
  check((await readable(page)).includes('curl -s --data-binary'), 'the call is not shown');
  await accessible(page, 'who decided');

  // The turn as a waterfall.
  await tabTo(page, 'link', /the turn of/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Where the time went' }).waitFor();
  await accessible(page, 'a waterfall');
  for (const scheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width: 400, height: 860 });
    await accessible(page, `a waterfall, narrow, ${scheme}`);
  }
  await page.setViewportSize({ width: 1280, height: 600 });

  // Two runs of the same message.
  const [conversation, turn, other, otherTurn] = place.split(' ');
  await visit(page, `#/compare/${conversation}/${turn}`);
  const right = page.getByLabel('Right');
  await until('the other run is offered', async () => await right.locator(`option[value="${other} ${otherTurn}"]`).count() > 0);
  await right.selectOption(`${other} ${otherTurn}`);
  await page.getByRole('status').getByText(/difference/).first().waitFor();
  await until('the first difference is in view', () => page.evaluate(() => {
    const row = [...document.querySelectorAll('tr')].find((r) => /differs|only left|only right/.test(r.cells[0]?.innerText ?? ''));
    const box = row?.getBoundingClientRect();
    return box && box.top < innerHeight && box.bottom > 0;
  }));
  await accessible(page, 'two runs');
});
