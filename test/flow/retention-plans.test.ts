import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRemoval } from '../../src/features/installation/upkeep/remove-expired.ts';
import type { Executor, Value } from '../../src/platform/db/index.ts';
import { insertRecipients } from '../../src/features/campaigns/broadcast-recipients/broadcast-recipients.store.ts';
import { insertSharedBodies } from '../../src/mail/shared-bodies/index.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { DAY, writeSent } from './expiry.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

/** Every statement of a removal, with its values. */
async function statementsOfRemoval(): Promise<Map<string, readonly Value[]>> {
  const { world } = scene.app;
  const seen = new Map<string, readonly Value[]>();
  const noting = (on: Executor): Executor => ({
    ...on,
    all: (sql, values = []) => (seen.set(sql, values), on.all(sql, values)),
    get: (sql, values = []) => (seen.set(sql, values), on.get(sql, values)),
    run: (sql, values = []) => (seen.set(sql, values), on.run(sql, values)),
  });
  const db = { ...world.db, ...noting(world.db) };
  db.tx = (work) => world.db.tx((tx) => work(noting(tx)));
  await createRemoval({ ...world, db })();
  return seen;
}

/** A broadcast that is over, with a report and a body. */
async function writeReport({ api, app: { world } }: Scene, team: Team): Promise<void> {
  const draft = { from: 'news@example.com', subject: 'News', html: '<p>Hello</p>' };
  const { body } = await api('POST', '/broadcasts', { key: team.key, body: draft });
  const content = { id: world.ids.uuid(), team_id: team.id, html: '<p>Hello</p>', text: null, created_at: 0 };
  const shared = { ...content, first_email_id: null, last_email_id: null };
  const row = { broadcast_id: body.id, email_key: 'a@example.org', id: world.ids.uuid(), contact_id: null };
  await world.db.tx(async (tx) => {
    await insertSharedBodies(tx, [shared]);
    await tx.run("update broadcasts set status = 'sent', body_id = ? where id = ?", [shared.id, body.id]);
    await insertRecipients(tx, [{ ...row, email: 'a@example.org', email_id: world.ids.uuid(), excluded: null }]);
  });
}

/** A run that is over. */
async function writeRun({ app: { world } }: Scene, team: Team): Promise<void> {
  const columns = ['id', 'team_id', 'automation_id', 'version', 'contact_id', 'status', 'due_at', 'created_at'];
  const ids = Array.from({ length: 3 }, () => world.ids.uuid());
  const row = [ids[0] ?? '', team.id, ids[1] ?? '', 1, ids[2] ?? '', 'completed', 0, 0, world.clock.now()];
  await world.db.insertMany('automation_runs', [...columns, 'completed_at'], [row]);
}

it('no statement of a removal scans a whole table', async () => {
  const team = await scene.team();
  await writeSent(scene, team.id, 5);
  await writeReport(scene, team);
  await writeRun(scene, team);
  scene.clock.advance(31 * DAY);
  const statements = await statementsOfRemoval();
  expect(statements.size).toBeGreaterThanOrEqual(17);
  const { db } = scene.app.world;
  const plans: string[] = [];
  for (const [sql, values] of statements) {
    // Rows of every team may expire, so this statement is meant to read all teams.
    if (sql.includes('from teams')) continue;
    const plan = await db.tx(async (tx) => {
      // In a table of a few rows PostgreSQL prefers to read them all; what matters is whether it could do otherwise.
      if (db.dialect === 'pg') await tx.run('set local enable_seqscan = off');
      const lines = await tx.all(`explain ${db.dialect === 'pg' ? '' : 'query plan '}${sql}`, values);
      return lines.map((line) => Object.values(line).join(' ')).join('\n');
    });
    plans.push(plan);
    // SQLite by itself scans only the values of a parameter and the ids that a subquery has found.
    expect(plan.replaceAll(/SCAN (json_each|CONSTANT ROW)/g, ''), sql).not.toMatch(/Seq Scan on|SCAN \w/);
  }
  // A range of ids of every team would be read without it, and its emails' events among them.
  expect(plans.join('\n')).toContain('events_besides_emails');
  expect(plans.join('\n')).toContain('broadcasts_ended');
  expect(plans.join('\n')).toContain('shared_bodies_of_requests');
});
