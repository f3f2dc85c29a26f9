import { expect, it } from 'vitest';
import type { Db, Executor, Value } from '../../src/platform/db/index.ts';
import { findContactsByIds, findContactsByKeys, insertContacts } from '../../src/resources/contacts/contacts.store.ts';
import { startScene } from '../rig/scene.ts';

it('a batch of an import looks for its own addresses, and reads no other contact', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  const { db } = scene.app.world;
  await fill(db, team.id);
  const keys = Array.from({ length: 200 }, (_, n) => address(n));
  const byKeys = await planOf(db, (tx) => findContactsByKeys(tx, team.id, keys));
  expect(byKeys).toContain('contacts_email');
  expect(byKeys).toMatch(/team_id\W+.*email_key/s);
  const byIds = await planOf(db, (tx) => findContactsByIds(tx, team.id, [team.id]));
  expect(byIds).toMatch(/team_id\W+.*\bid\b/s);
  for (const plan of [byKeys, byIds]) expect(plan).not.toMatch(/Seq Scan on contacts|SCAN contacts|\(team_id=\?\)/);
});

const address = (n: number): string => `person${n}@example.org`;

async function fill(db: Db, teamId: string): Promise<void> {
  const nothing = { first_name: null, last_name: null, first_name_key: null, last_name_key: null, properties: null };
  const rows = Array.from({ length: 5_000 }, (_, n) => ({
    ...{ ...nothing, folded: null, unsubscribed: 0, created_at: 1, updated_at: 1, team_id: teamId },
    ...{ id: `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`, email: address(n), email_key: address(n) },
  }));
  await db.tx((tx) => insertContacts(tx, rows));
  if (db.dialect === 'pg') await db.run('analyze contacts');
}

async function planOf(db: Db, work: (tx: Executor) => Promise<unknown>): Promise<string> {
  return db.tx(async (tx) => {
    let plan = '';
    const all = async (sql: string, values: readonly Value[] = []): Promise<never[]> => {
      const lines = await tx.all(`explain ${tx.dialect === 'pg' ? '' : 'query plan '}${sql}`, values);
      plan = lines.map((line) => Object.values(line).join(' ')).join('\n');
      return [];
    };
    await work({ ...tx, all });
    return plan;
  });
}
