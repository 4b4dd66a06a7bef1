// Somebody looks at everything that a daemon has: agents and a prompt, models, servers, jobs, schedules, nodes, audit and health, in both
// schemes and widths; and edits and forgets a memory.

import { accessible, ask, check, enter, journey, open, readable, until, visit } from '../browser.mjs';

// What each view has to say of the demonstration.
const views = {
  agents: /skipper/, 'agents/skipper': /You keep the log of a boat/, models: /script/, servers: /chartroom/, memories: /last voyage/,
  schedules: /Schedules/, jobs: /Jobs/, nodes: /Nodes/, audit: /Audit/, plan: /Secure/, compare: /Two runs/, people: /Waiting for you/, health: /Running since/,
};

await journey(async () => {
  const page = await enter();
  const faults = [];
  for (const [name, says] of Object.entries(views)) {
    await visit(page, `#/${name}`);
    await until(`${name} says ${says}`, async () => says.test(await readable(page)));
    for (const [width, colorScheme] of [[1280, 'light'], [400, 'dark'], [400, 'light'], [1280, 'dark']]) {
      await page.setViewportSize({ width, height: 860 });
      await page.emulateMedia({ colorScheme });
      await accessible(page, `${name}, ${width} ${colorScheme}`).catch((err) => faults.push(err.message));
    }
    const n = await page.evaluate(() => document.querySelectorAll('*').length);
    check(n <= 5000, name, 'has', n, 'nodes');
  }
  check(faults.length === 0, faults.join('\n'));

  await open(page, 'Memories');
  await page.getByRole('button', { name: 'Edit last voyage' }).click();
  await page.getByLabel('What is remembered').fill('Kiel to Nyborg, and back by the same way.');
  await page.getByRole('button', { name: 'Save' }).click();
  await until('the memory is written anew', async () => /back by the same way/.test(await page.getByRole('article', { name: 'last voyage' }).innerText()));
  await page.reload();
  await page.getByText('back by the same way').waitFor();
  await page.getByRole('button', { name: 'Forget last voyage' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
  await until('the memory is gone', async () => !/last voyage/.test(await readable(page)));
});
