import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createComposer } from '../../src/mail/compose/index.ts';
import type { OutboundMessage } from '../../src/mail/deliver/index.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn, type Mail } from './mail.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MB = 1_000_000;

/** Bytes of buffers that somebody still holds. What a collection finds is freed beside it, and counted by the one that follows. */
function buffersHeld(): number {
  let held = Infinity;
  for (;;) {
    collectGarbage();
    const now = process.memoryUsage().arrayBuffers;
    if (now >= held) return held;
    held = now;
  }
}

/** Everything that a team has queued, composed and signed as the queue has it done. */
async function composed(
  scene: Scene,
  composer: ReturnType<typeof createComposer>,
  mail: Mail,
): Promise<OutboundMessage[]> {
  const sql = 'select id, email_id, domain_id from deliveries where team_id = ?';
  const rows = await scene.app.world.db.all<{ id: string; email_id: string; domain_id: string }>(sql, [mail.team.id]);
  const batch = await composer.open(rows);
  const { signal } = new AbortController();
  return Promise.all(rows.map((row) => batch.message(row, signal)));
}

function openReading(message: OutboundMessage): AsyncIterator<Buffer> {
  if (Array.isArray(message.content)) throw new Error('the whole message stands in memory');
  return message.content[Symbol.asyncIterator]();
}

it('no more than a few blocks of large mail in progress are in memory', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const mail = await mailIn(scene);
  const content = Buffer.alloc(8 * MB, 'attachment').toString('base64');
  for (let n = 0; n < 10; n++) await mail.send(`x${n}@one.example`, { attachments: [{ filename: 'a.bin', content }] });

  const before = buffersHeld();
  const messages = await composed(scene, createComposer(scene.app.world), mail);
  expect(buffersHeld() - before).toBeLessThan(4 * MB);
  const readings = messages.map(openReading);
  for (const reading of readings) for (let n = 0; n < 5; n++) await reading.next();
  expect(buffersHeld() - before).toBeLessThan(12 * MB);
  for (const reading of readings) await reading.return?.();

  let size = 0;
  for await (const block of messages[0]?.content ?? []) size += block.length;
  expect(size).toBe(messages[0]?.size);
});

it('texts in memory during slow deliveries are shared fairly among teams', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const many = await mailIn(scene);
  const few = await mailIn(scene);
  const html = '<p>The quick brown fox jumps.</p>\n'.repeat(55_000);
  for (let n = 0; n < 10; n++) await many.send(`x${n}@one.example`, { html, text: 'x' });
  for (let n = 0; n < 2; n++) await few.send(`y${n}@one.example`, { html, text: 'x' });
  const composer = createComposer(scene.app.world);
  const theirs = (await composed(scene, composer, many)).map(openReading);
  const ours = (await composed(scene, composer, few)).map(openReading);

  let begun = 0;
  const beginnings = theirs.map((reading) => reading.next().then(() => begun++));
  for (const reading of ours) await reading.next();
  expect(begun).toBeGreaterThan(2);
  expect(begun).toBeLessThan(8);
  // Each of theirs that ends lets the next begin.
  for (const [n, reading] of theirs.entries()) {
    await beginnings[n];
    await reading.return?.();
  }
  expect(begun).toBe(10);
  for (const reading of ours) await reading.return?.();
});

it('a team that used up its share of messages in memory has further ones read from disk, and other teams do not', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const many = await mailIn(scene);
  const few = await mailIn(scene);
  const attachments = [{ filename: 'a.bin', content: Buffer.alloc(205_000, 'x').toString('base64') }];
  for (let n = 0; n < 110; n++) await many.send(`x${n}@one.example`, { attachments });
  await few.send('y@one.example', { attachments });
  const composer = createComposer(scene.app.world);
  const theirs = await composed(scene, composer, many);
  const kept = theirs.filter(({ content }) => Array.isArray(content)).length;
  expect(kept).toBeGreaterThan(80);
  expect(kept).toBeLessThan(110);
  const [ours] = await composed(scene, composer, few);
  expect(Array.isArray(ours?.content)).toBe(true);
});
