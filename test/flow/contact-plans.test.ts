import { expect, it } from 'vitest';
import type { Db, Executor, Value } from '../../src/platform/db/index.ts';
import { eventPageOfSubjects } from '../../src/mail/events/index.ts';
import { listHistory } from '../../src/features/audience/index.ts';
import { listRunsOfContact } from '../../src/features/automations/index.ts';
import { listConsents, optOutsAmong, recordConsent } from '../../src/features/audience/contacts/consent.store.ts';
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

it('the activity of a contact is read by indexes in the order of the page', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  const { world } = scene.app;
  const { db, ids } = world;
  const contacts = Array.from({ length: 50 }, () => ids.uuid());
  const each = <Made>(make: (contact: string) => Made): Made[] =>
    Array.from({ length: 100 }, () => contacts.map(make)).flat();
  await db.tx((tx) =>
    tx.insertMany(
      'contact_history',
      ['contact_id', 'kind', 'id', 'team_id', 'data'],
      each((contact) => [contact, 'event', ids.uuid(), team.id, '{"name":"visit","payload":null}']),
    ),
  );
  await db.tx((tx) =>
    tx.insertMany(
      'events',
      ['id', 'team_id', 'type', 'subject_id', 'data', 'created_at'],
      each((contact) => [ids.uuid(), team.id, 'contact.updated', contact, null, 1]),
    ),
  );
  await db.tx((tx) =>
    tx.insertMany(
      'automation_runs',
      ['id', 'team_id', 'automation_id', 'version', 'contact_id', 'status', 'due_at', 'created_at', 'completed_at'],
      each((contact) => [ids.uuid(), team.id, team.id, 1, contact, 'completed', 1, 1, 1]),
    ),
  );
  await db.tx((tx) =>
    recordConsent(
      world,
      tx,
      { source: 'api' },
      each((id) => ({ contact: { team_id: team.id, id, email_key: id }, action: 'unsubscribed' as const })),
    ),
  );
  if (db.dialect === 'pg')
    for (const table of ['contact_history', 'events', 'automation_runs', 'consent_records'])
      await db.run(`analyze ${table}`);
  const [contact = ''] = contacts;
  const page = { limit: 20, after: ids.uuid() };
  const plans = {
    history: await explainQuery(db, (tx) => listHistory(tx, contact, 'event', page)),
    runs: await explainQuery(db, (tx) => listRunsOfContact(tx, contact, page)),
    consents: await explainQuery(db, (tx) => listConsents(tx, contact, page)),
    events: await explainQuery(db, (tx) =>
      eventPageOfSubjects(tx, { subjectIds: [contact], types: ['contact.updated'] }, page),
    ),
  };
  expect(plans.history).toMatch(/contact_history_pkey|USING PRIMARY KEY \(contact_id=\? AND kind=\? AND id</);
  expect(plans.runs).toContain('automation_runs_contact_id_id_index');
  expect(plans.consents).toContain('consent_records_of_contact');
  expect(plans.events).toContain('events_subject_id_id_index');
  for (const plan of [plans.history, plans.runs, plans.consents]) expect(plan).not.toMatch(/\bSort\b|TEMP B-TREE/);
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
    import_id: null,
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
