import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tableShapes } from '../../../src/platform/db/index.ts';
import { HASHED_TABLES, listUnclassifiedTables } from '../../../src/features/customers/index.ts';
import { findTraces, findTracesInFiles } from '../../rig/every-table.ts';
import { buildForm } from '../../rig/forms.ts';
import { createInbox } from '../../rig/inboxes.ts';
import { MESSAGE, receiveMail } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { sceneFor, startWebhookReceiver, type WebhookReceiver } from '../../rig/webhook-receiver.ts';

const ADA = 'ada@wonderland.example';
const BOB = 'bob@bystander.example';

let scene: Scene;
let team: Team;
let receiver: WebhookReceiver;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  scene = await startScene(sceneFor(receiver));
  receiver.publishIn(scene.dns);
  // Answers of endpoints are stored, and may repeat what they got.
  receiver.reply((response, { body }) => response.end(body));
  team = await scene.team();
});
afterAll(async () => {
  await scene.close();
  await receiver.close();
});

const call = async (method: string, url: string, body?: object) => {
  const answer = await scene.api(method, url, { key: team.key, ...(body ? { body } : {}) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
};

interface Report {
  erased: { table: string; rows: number }[];
  kept: { table: string; rows: number; reason: string }[];
  not_searched: { table: string; reason: string }[];
}

const erase = async (): Promise<Report> => {
  const report = await call('POST', '/contacts/erase', { email: ADA, with_mail: true });
  // Requests are logged, and endpoints are told, after the response; listing the log waits for it.
  await scene.settled();
  await call('GET', '/logs');
  return report;
};

/** Puts the address into everything that a team has, by the calls that do so in practice. */
async function spread(): Promise<void> {
  const { db, ids } = scene.app.world;
  const from = `Shop <shop@${(await team.domain()).name}>`;
  const inbox = await createInbox(scene, team);
  const events = ['contact.created', 'contact.deleted', 'suppression.added', 'email.delivered'];
  await call('POST', '/webhooks', { endpoint: receiver.url('/hook'), events });
  await call('POST', '/contact-properties', { key: 'alias', type: 'string' });
  await call('POST', '/contacts', { email: ADA, first_name: 'Ada', properties: { alias: `also ${ADA}` } });
  await call('POST', '/events', { name: 'order.placed' });
  const trigger = { key: 'start', type: 'trigger', config: { event_name: 'order.placed' } };
  const wait = { key: 'wait', type: 'delay', config: { duration: '1 day' } };
  const connections = [{ from: 'start', to: 'wait' }];
  const steps = [trigger, wait];
  await call('POST', '/automations', { name: 'Thanks', status: 'enabled', steps, connections });
  await call('POST', '/events/send', { event: 'order.placed', email: ADA, payload: { reply_to: ADA } });
  await call('POST', '/emails', { from, to: ADA, subject: `For ${ADA}`, text: ADA, headers: { 'X-Contact': ADA } });
  await call('POST', '/emails', { from, to: [BOB, ADA], subject: 'Both', text: 'Hello', reply_to: ADA });
  await call('POST', '/emails', { from, to: BOB, subject: 'News', text: 'Hello', reply_to: `Ada <${ADA}>` });
  await inbox.receive({ from: `Ada <${ADA}>`, subject: 'A question', text: `I am ${ADA}`, mailFrom: ADA });
  await receiveMail(scene, team, {
    raw: MESSAGE.replace('Message-ID: <question', `Reply-To: ${ADA}\r\nMessage-ID: <elsewhere`),
  });
  await inbox.call('POST', '/drafts', { to: [ADA], subject: 'Draft', text: ADA });
  await call('POST', '/suppressions', { email: ADA });
  await call('DELETE', `/suppressions/${ADA}`);
  await call('POST', '/suppressions', { email: ADA });
  await call('GET', `/contacts/${encodeURIComponent(ADA)}`);
  // Only the log of requests has these, percent-encoded in a path, and in a link within JSON.
  await scene.api('GET', `/segments/${encodeURIComponent(ADA)}`, { key: team.key });
  const html = `<a href="https://example.com/100%?e=${encodeURIComponent(ADA)}">Order</a>`;
  await scene.api('POST', '/templates', { key: team.key, body: { name: '', html } });
  await call('PATCH', `/contacts/${ADA}`, { last_name: 'Lovelace', unsubscribed: true });
  await call('POST', '/segments', { name: 'Ada', filter: { field: 'email', op: 'eq', value: ADA } });
  for (const rows of [`email,note\n${ADA},x\n`, `email,note\n${BOB},write to ${ADA}\n`, `email,seats\nnobody,${ADA}\n`])
    await scene.api('POST', '/contacts/imports', { key: team.key, ...buildForm(rows) });
  const broadcast = ids.uuid();
  const texts = [broadcast, team.id, 'News', from, 'Hello', '[]', 'sent', 1, 1, ids.uuid()];
  const columns = ['id', 'team_id', 'name', 'sender', 'subject', 'reply_to_list', 'status', 'created_at', 'updated_at'];
  await db.insertMany('broadcasts', [...columns, 'body_id'], [texts]);
  const link = [
    broadcast,
    'hash',
    'plain hash',
    ids.uuid(),
    `https://example.com/?e=${encodeURIComponent(ADA)}&x=${ADA}`,
  ];
  await db.insertMany('broadcast_links', ['broadcast_id', 'url_hash', 'plain_hash', 'id', 'url'], [link]);
  await scene.settled();
}

/** Returns the tables in which the address is, and which a report does not name, or with another number of rows. */
async function findUnreported({ kept, not_searched: left }: Report): Promise<string[]> {
  const found = await findTraces(scene.app.world.db, [ADA, encodeURIComponent(ADA)]);
  const unsearched = new Set(left.map(({ table }) => table));
  const counted = kept.filter(({ table }) => !(table in HASHED_TABLES));
  const rows = new Map(counted.map((one) => [one.table, one.rows]));
  const hidden = Object.entries(found).filter(
    ([table, those]) => !unsearched.has(table) && rows.get(table) !== those.length,
  );
  const invented = [...rows.keys()].filter((table) => !(table in found));
  return [...hidden.map(([table]) => table), ...invented].sort();
}

describe('POST /contacts/erase with mail', () => {
  it('the report names every table and no file that still has the address, and the rows of each', async () => {
    await spread();
    const report = await erase();
    expect(report.erased).toEqual(
      expect.arrayContaining([
        { table: 'contacts', rows: 1 },
        { table: 'contact_texts', rows: 1 },
        { table: 'emails', rows: 3 },
        { table: 'inbox_drafts', rows: 1 },
        { table: 'received_emails', rows: 2 },
        { table: 'contact_imports', rows: 3 },
        { table: 'broadcast_links', rows: 1 },
        { table: 'automation_runs', rows: 1 },
      ]),
    );
    expect(report.kept.map(({ table }) => table)).toEqual([
      'audit_log',
      'consent_records',
      'events',
      'segments',
      'suppressions',
      'webhook_payloads',
    ]);
    expect(report.kept.find(({ table }) => table === 'consent_records')).toMatchObject({ rows: 1 });
    for (const { reason } of [...report.kept, ...report.not_searched]) expect(reason).toMatch(/\w+ \w+/);
    expect(await findUnreported(report)).toEqual([]);
    expect(findTracesInFiles(path.join(scene.dataDir, 'blobs'), [ADA])).toEqual([]);
  });

  it('a repeated erasure reports that nothing was left, and the same rows as kept', async () => {
    const { kept } = await erase();
    expect(await erase()).toMatchObject({ contact: null, emails: 0, erased: [], kept });
  });

  it('a new table that has the address is not reported, which this guard notices', async () => {
    const { db } = scene.app.world;
    await db.run('create table planted (id text primary key, note text not null)');
    try {
      await db.run('insert into planted (id, note) values (?, ?)', ['1', `Call ${ADA}`]);
      expect(await findUnreported(await erase())).toEqual(['planted']);
      expect(listUnclassifiedTables(await tableShapes(db))).toEqual(['planted']);
    } finally {
      await db.run('drop table planted');
    }
    expect(listUnclassifiedTables(await tableShapes(db))).toEqual([]);
  });

  it('the erasure of a contact alone reports its rows, and what is kept of it', async () => {
    await call('POST', '/contacts', { email: BOB, unsubscribed: true });
    await call('POST', '/suppressions', { email: BOB });
    const report = await call('POST', '/contacts/erase', { email: BOB });
    expect(report.erased).toEqual(expect.arrayContaining([{ table: 'contacts', rows: 1 }]));
    expect(report.kept.map(({ table }: { table: string }) => table)).toEqual(['consent_records', 'suppressions']);
    expect(report.not_searched).toEqual([]);
  });
});
