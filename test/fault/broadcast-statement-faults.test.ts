// a page of a broadcast --> fails at each of its statements and commits in turn --> is tried again: each contact has it once
import { expect, it } from 'vitest';
import { createBroadcastLoop } from '../../src/features/campaigns/sending/process-broadcast.ts';
import { campaignIn } from '../flow/campaign.ts';
import { breakable } from '../rig/breakable.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { breakOff } from './broken-off.ts';

const CONTACTS = ['ada@one.example', 'bob@two.example'];

// A fault is planted at every statement and after every commit. A kill between two commits is met by chance; here each is met.
it('a broadcast page survives a lost connection at any statement, also after a commit: nobody gets it twice or is left out', async () => {
  // Only the loop of this test carries broadcasts, so that counting statements is exact.
  await using scene = await startScene({ roles: ['http'] });
  const campaign = await campaignIn(scene);
  await campaign.addContacts(CONTACTS);
  const faults = breakable(scene.app.world, 'ECONNRESET', { isAnswerLost: true });
  const createLoop = () => createBroadcastLoop(scene.app.world, () => undefined);
  let isReached = true;
  for (let n = 1; isReached; n++) {
    const id = await campaign.broadcast({ subject: `News ${n}` });
    const before = await counts(scene);
    isReached = await breakOff(scene, faults, n, createLoop);
    const { status, recipients, excluded, total } = await campaign.get(id);
    expect([n, status, recipients, excluded, total]).toEqual([n, 'sent', CONTACTS.length, 0, CONTACTS.length]);
    const grown = (await counts(scene)).map((now, i) => now - (before[i] ?? 0));
    expect([n, grown]).toEqual([n, [CONTACTS.length, CONTACTS.length, CONTACTS.length]]);
    expect(await writtenTo(scene, id)).toEqual(CONTACTS);
    expect(n).toBeLessThan(100);
    if (!isReached) expect(n).toBeGreaterThan(15);
  }
}, 120_000);

/** Returns the contacts that have an email of the broadcast. */
async function writtenTo({ app: { world } }: Scene, broadcast: string): Promise<string[]> {
  const rows = await world.db.all<{ email: string }>(
    'select r.email from broadcast_recipients r join emails e on e.id = r.email_id where r.broadcast_id = ?',
    [broadcast],
  );
  return rows.map(({ email }) => email).sort();
}

function counts({ app: { world } }: Scene): Promise<number[]> {
  const queries = [
    'select count(*) as n from emails',
    'select count(*) as n from deliveries',
    "select count(*) as n from events where type = 'email.queued'",
  ];
  return Promise.all(queries.map(async (sql) => Number((await world.db.get<{ n: number }>(sql))?.n)));
}
