import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createComposer } from '../../src/mail/compose/index.ts';
import { startScene } from '../rig/scene.ts';
import { connect, logIn } from './dialogue.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const MB = 1_000_000;
const BLOCK = Buffer.from(`${'0123456789'.repeat(7)}\r\n`.repeat(900));

it('a submitted message of 50 MB costs less than 150 MB of memory, client included, and its delivery a few blocks', async () => {
  await using scene = await startScene({ roles: ['http', 'submission'] });
  const team = await scene.team();
  const from = `me@${(await team.domain()).name}`;
  const client = await connect(scene, 'tls');
  await logIn(client, team.key);
  await client.say(`MAIL FROM:<${from}> SIZE=${50 * MB}`);
  await client.say('RCPT TO:<someone@example.net>');
  await client.say('DATA');
  collectGarbage();
  const before = process.memoryUsage().rss;
  let peak = before;
  client.send(`From: ${from}\r\nContent-Type: application/octet-stream\r\n\r\n`);
  for (let sent = 0; sent < 50 * MB - BLOCK.length; sent += BLOCK.length) {
    await client.flow(BLOCK);
    peak = Math.max(peak, process.memoryUsage().rss);
  }
  client.send('.\r\n');
  expect((await client.reply()).join()).toMatch(/^250 2\.6\.0 /);
  peak = Math.max(peak, process.memoryUsage().rss);
  client.end();
  expect((peak - before) / MB).toBeLessThan(150);

  const sql = 'select id, email_id, domain_id from deliveries where team_id = ?';
  const rows = await scene.app.world.db.all<{ id: string; email_id: string; domain_id: string }>(sql, [team.id]);
  const batch = await createComposer(scene.app.world).open(rows);
  collectGarbage();
  const held = process.memoryUsage().arrayBuffers;
  let most = 0;
  const message = rows[0] && (await batch.message(rows[0], new AbortController().signal));
  let size = 0;
  let blocks = 0;
  for await (const block of message?.content ?? []) {
    size += block.length;
    if (++blocks % 100 !== 0) continue;
    collectGarbage();
    most = Math.max(most, process.memoryUsage().arrayBuffers - held);
  }
  expect(size).toBe(message?.size);
  expect(size).toBeGreaterThan(49 * MB);
  expect(most).toBeLessThan(8 * MB);
});
