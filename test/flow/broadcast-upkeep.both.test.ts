import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Value } from '../../src/platform/db/index.ts';
import { eraseRecipient } from '../../src/features/campaigns/broadcast-recipients/broadcast-recipients.store.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn } from './campaign.ts';
import { DAY, removeExpired } from './expiry.ts';
import { SECOND } from './mail.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

const arrivedAt = (subject: string): string[] =>
  scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`)).flatMap(({ rcptTo }) => rcptTo);

/** Counts the rows of a broadcast in each table. */
async function traces(id: string): Promise<Record<string, number>> {
  const { db } = scene.app.world;
  const found: Record<string, number> = {};
  for (const table of ['emails', 'broadcast_recipients', 'broadcast_links', 'broadcast_counts']) {
    found[table] = (await db.all(`select 1 from ${table} where broadcast_id = ?`, [id])).length;
  }
  found.bodies = (
    await db.all('select 1 from shared_bodies b join broadcasts on body_id = b.id where broadcasts.id = ?', [id])
  ).length;
  return found;
}

it('the report and the body of a broadcast are removed with the last of its emails, and its totals stay', async () => {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['clicked@simulator.rasket.test', 'ada@one.example', 'bob@one.example']);
  const id = await campaign.broadcast({ subject: 'Over' });
  await scene.settled();
  scene.clock.advance(2 * SECOND);
  await scene.settled();
  const counts = { sent: 3, delivered: 3, opened: 0, clicked: 1, bounced: 0, complained: 0, unsubscribed: 0 };
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', counts });
  scene.clock.advance(29 * DAY);
  await removeExpired(scene);
  expect(await traces(id)).toMatchObject({ emails: 3, broadcast_recipients: 3, broadcast_links: 1, bodies: 1 });
  scene.clock.advance(2 * DAY);
  expect((await removeExpired(scene)).reported).toBe(3);
  expect(await traces(id)).toMatchObject({ emails: 0, broadcast_recipients: 0, broadcast_links: 0, bodies: 0 });
  const { db } = scene.app.world;
  expect(await db.all('select 1 from shared_bodies where team_id = ?', [campaign.team.id])).toEqual([]);
  expect(await db.all('select 1 from broadcast_link_clicks')).toEqual([]);
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 3, counts });
  expect(await campaign.reported(id, 'recipients?type=sent')).toEqual([]);
  expect((await campaign.call('POST', `/broadcasts/${id}/duplicate`)).status).toBe(201);
});

it('a broadcast with waiting mail keeps body and report, however old it is', async () => {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['ada@one.example', 'late@kept.example']);
  const key = await scene.operator();
  const held = await scene.api('POST', '/operator/queue/holds', {
    key,
    body: { destination: 'kept.example', reason: 'test' },
  });
  const id = await campaign.broadcast({ subject: 'Kept' });
  await scene.settled();
  scene.clock.advance(40 * DAY);
  await removeExpired(scene);
  await removeExpired(scene);
  expect(await traces(id)).toMatchObject({ emails: 1, broadcast_recipients: 2, bodies: 1 });
  await scene.api('DELETE', `/operator/queue/holds/${held.body.id as string}`, { key });
  await scene.settled();
  expect(arrivedAt('Kept').sort()).toEqual(['ada@one.example', 'late@kept.example']);
  const [data] = scene.sink.messages.filter(({ rcptTo }) => rcptTo[0] === 'late@kept.example');
  expect(String(data?.data)).toContain('Hello reader');
  await removeExpired(scene);
  expect(await traces(id)).toMatchObject({ emails: 0, broadcast_recipients: 0, bodies: 0 });
});

it('an address that was erased and added again gets no broadcast a second time', async () => {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['last@one.example', 'first@one.example']);
  // One in five seconds, the newest first.
  const id = await campaign.broadcast({ subject: 'Erased', rate_per_minute: 12 });
  await scene.settled();
  expect(arrivedAt('Erased')).toEqual(['first@one.example']);
  await campaign.call('DELETE', '/contacts/first@one.example');
  await campaign.addContacts(['first@one.example']);
  // The address is after the cursor now, where a broken page would find it.
  await scene.app.world.db.run('update broadcasts set cursor_id = null where id = ?', [id]);
  for (let i = 0; i < 40; i++) {
    scene.clock.advance(SECOND);
    await scene.settled();
  }
  expect(await campaign.get(id)).toMatchObject({ status: 'sent' });
  expect(arrivedAt('Erased').sort()).toEqual(['first@one.example', 'last@one.example']);
});

it('an erasure finds the address in each report by its key', async () => {
  const campaign = await campaignIn(scene);
  const { db } = scene.app.world;
  const plan = await db.tx(async (tx) => {
    let lines: unknown[] = [];
    // In a table of a few rows PostgreSQL prefers to read them all; what matters is whether it could do otherwise.
    if (db.dialect === 'pg') await tx.run('set local enable_seqscan = off');
    const run = async (sql: string, values: readonly Value[] = []): Promise<number> => {
      lines = await tx.all(`explain ${db.dialect === 'pg' ? '' : 'query plan '}${sql}`, values);
      return 0;
    };
    await eraseRecipient({ ...tx, run }, campaign.team.id, 'a@one.example');
    return JSON.stringify(lines);
  });
  expect(plan).toMatch(
    /broadcast_recipients_pkey|sqlite_autoindex_broadcast_recipients_1 \(broadcast_id=\? AND email_key=\?\)/,
  );
  expect(plan).not.toMatch(/Seq Scan|SCAN/);
});
