import { expect, it } from 'vitest';
import type { Db, Executor, Value } from '../../src/platform/db/index.ts';
import { optOutsAmong, recordConsent } from '../../src/features/audience/contacts/consent.store.ts';
import {
  findContactsByIds,
  findContactsByKeys,
  insertContacts,
} from '../../src/features/audience/contacts/contacts.store.ts';
import { importRows } from '../../src/features/audience/contacts/import-rows.ts';
import { startScene } from '../rig/scene.ts';

it('a batch of an import looks up its own addresses, and reads no other contact', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  const { db } = scene.app.world;
  await fill(db, team.id);
  const keys = Array.from({ length: 200 }, (_, n) => address(n));
  const byKeys = await explainQuery(db, (tx) => findContactsByKeys(tx, team.id, keys));
  expect(byKeys).toContain('contacts_email');
  expect(byKeys).toMatch(/team_id\W+.*email_key/s);
  const byIds = await explainQuery(db, (tx) => findContactsByIds(tx, team.id, [team.id]));
  expect(byIds).toMatch(/team_id\W+.*\bid\b/s);
  for (const plan of [byKeys, byIds]) expect(plan).not.toMatch(/Seq Scan on contacts|SCAN contacts|\(team_id=\?\)/);
});

it('a page of an import queries once what its addresses opted out of, and reads no other row', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  const { world } = scene.app;
  const contacts = Array.from({ length: 2_000 }, (_, n) => ({
    team_id: team.id,
    id: `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`,
    email_key: address(n),
  }));
  const left = contacts.map((contact) => ({ contact, action: 'unsubscribed' as const }));
  await world.db.tx((tx) => recordConsent(world, tx, { source: 'one_click' }, left));
  if (world.db.dialect === 'pg') await world.db.run('analyze consent_records');
  const keys = contacts.slice(0, 200).map((contact) => contact.email_key);
  const plan = await explainQuery(world.db, (tx) => optOutsAmong(tx, team.id, keys));
  expect(plan).toContain('consent_records_of_email');
  expect(plan).toMatch(/team_id\W+.*email_hash/s);
  expect(plan).not.toMatch(/Seq Scan on consent_records|SCAN consent_records/);
  const asked: string[] = [];
  await world.db.tx(async (tx) => {
    const all: Executor['all'] = (sql, values) => (asked.push(sql), tx.all(sql, values));
    const rows = contacts.slice(0, 200).map(({ email_key: key }, row) => ({
      row,
      read: {
        email: key,
        emailKey: key,
        first_name: undefined,
        last_name: undefined,
        unsubscribed: undefined,
        values: {},
      },
    }));
    const page = {
      teamId: team.id,
      importId: world.ids.uuid(),
      rows,
      declare: async () => [],
      onConflict: 'skip' as const,
      segmentIds: [],
      topics: [],
      startAutomations: false,
    };
    expect(await importRows(world, { ...tx, all }, page)).toMatchObject({ created: 200 });
  });
  expect(asked.filter((sql) => sql.includes('from consent_records'))).toHaveLength(1);
  const out = await world.db.all('select 1 from contacts where team_id = ? and unsubscribed = 1', [team.id]);
  expect(out).toHaveLength(200);
});

const address = (n: number): string => `person${n}@example.org`;

async function fill(db: Db, teamId: string): Promise<void> {
  const nothing = { first_name: null, last_name: null, first_name_key: null, last_name_key: null, properties: null };
  const rows = Array.from({ length: 5_000 }, (_, n) => ({
    ...nothing,
    folded: null,
    unsubscribed: 0,
    created_at: 1,
    updated_at: 1,
    team_id: teamId,
    id: `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`,
    email: address(n),
    email_key: address(n),
  }));
  await db.tx((tx) => insertContacts(tx, rows));
  if (db.dialect === 'pg') await db.run('analyze contacts');
}

async function explainQuery(db: Db, work: (tx: Executor) => Promise<unknown>): Promise<string> {
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
