// A person stops a turn, steers another, and does to a conversation what can be done: undo, fork, rewind, compact, export, delete.

import { readFileSync } from 'node:fs';
import { accessible, ask, check, enter, equal, journey, open, readable, until, visit } from '../browser.mjs';

await journey(async () => {
  const page = await enter({ hash: `#/conversations/${await ask('conversation')}` });
  const field = page.getByRole('textbox', { name: 'Message' });
  const log = page.getByRole('region', { name: 'Messages' });
  const send = async (text) => { await field.fill(text); await field.press('Enter'); };
  const idle = () => until('no turn runs', async () => await page.getByRole('button', { name: 'Stop' }).count() === 0);

  await send('Count slowly.');
  await until('it runs', async () => /word-3\b/.test(await log.innerText()));
  await page.getByRole('button', { name: 'Stop' }).click();
  await idle();
  check(!/word-60\b/.test(await log.innerText()), 'the turn was not stopped');
  await until('it says that it was cut off', async () => /cancelled|stopped|cut off/.test(await log.innerText()));

  await send('Sail on.');
  await until('it runs', async () => /word-3\b/.test((await log.innerText()).split('Sail on.').at(-1)));
  await page.getByRole('button', { name: 'Steer' }).waitFor();
  await send('Turn to port!');
  await log.getByText('is told before the next step').waitFor();
  check(/Turn to port!/.test(await log.innerText()), 'what was sent is nowhere');
  await until('it was steered', async () => /To port, as you say/.test(await log.innerText()), 25);
  await idle();
  check(!/is told before/.test(await log.innerText()), 'what was told is shown as if it was not');

  await send('Write the log.');
  await ask('approve');
  await until('the file is written', async () => /It is written/.test(await log.innerText()));
  await idle();
  await page.getByRole('button', { name: 'Undo' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('log.txt').first().waitFor();
  await accessible(page, 'what an undo would do');
  await ask('written');
  await dialog.getByRole('button', { name: 'Undo' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await ask('undone');

  const at = page.url();
  await page.getByRole('button', { name: 'Fork here' }).first().click();
  await dialog.getByRole('button', { name: 'Fork' }).click();
  await until('the fork is open', async () => page.url() !== at);
  await until('the fork has the first turn alone', async () => { const t = await log.innerText(); return /word-3\b/.test(t) && !/It is written/.test(t); });
  await page.goBack();
  await until('the conversation is whole', async () => /It is written/.test(await log.innerText()));

  await page.getByRole('button', { name: 'Rewind to here' }).last().click();
  await dialog.getByRole('button', { name: 'Rewind' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await until('the last turn is gone', async () => { const t = await log.innerText(); return /To port/.test(t) && !/It is written/.test(t); });

  await page.getByRole('button', { name: 'Compact' }).click();
  await dialog.getByLabel('Turns that stay as they are').fill('1');
  await dialog.getByRole('button', { name: 'Sum up' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await until('a summary stands for what was said', async () => /Summary/.test(await log.innerText()) && !/Count slowly/.test(await log.innerText()));
  await log.getByRole('button', { name: 'Show what was said before the summary' }).click();
  await until('the archive is there', async () => /Count slowly/.test(await log.innerText()));
  check(/stopped after/.test(await log.innerText()), 'the turn in the archive does not say how it ended');
  await accessible(page, 'the archive');

  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
  const lines = readFileSync(await download.path(), 'utf8').trim().split('\n').map((l) => JSON.parse(l));
  equal(lines[0].format, 'grapnel conversation', 'the format of the export');

  await page.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete for good' }).waitFor();
  await accessible(page, 'what a deletion would do');
  await dialog.getByRole('button', { name: 'Delete for good' }).click();
  await until('the list is there', async () => !page.url().includes(new URL(at).hash));
  await ask('deleted');
  page.expected.push(/404 .*\/v1\/conversations\//);
  await page.goBack();
  await page.getByRole('heading', { name: 'No such conversation' }).waitFor();
});
