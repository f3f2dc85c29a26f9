// The plans of the runs' statements: neither a million parked runs nor a million ended ones may be read by a look.
import { expect, it } from 'vitest';
import type { Db } from '../../src/platform/db/index.ts';
import {
  claimDueRuns,
  listRunRows,
  nextRunAt,
  removeEndedRuns,
} from '../../src/features/automations/automation-runs.store.ts';
import { explainQueries } from '../rig/plans.ts';
import { startScene } from '../rig/scene.ts';

const ROWS = 20_000;
const DUE = 600;
const NOW = 1_000_000;
const uuid = (n: number, kind: string): string => `00000000-0000-7000-${kind}-${String(n).padStart(12, '0')}`;
const team = (n: number): string => uuid(n, '8001');
const automation = (n: number): string => uuid(n, '8002');

/** Runs of many teams and automations: some are due, a half is parked, and the others have ended. */
async function fill(db: Db): Promise<void> {
  const columns = ['id', 'team_id', 'automation_id', 'version', 'contact_id', 'status', 'due_at', 'created_at'];
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const isRunning = n < DUE || n % 2 === 0;
    const status = isRunning ? 'running' : (['completed', 'failed', 'cancelled'] as const)[n % 3];
    return [
      uuid(n, '8000'),
      team(n % 20),
      automation(n % 200),
      1,
      uuid(n, '8003'),
      status ?? null,
      n < DUE ? n : NOW + n,
      n,
      isRunning ? null : n,
    ];
  });
  await db.insertMany('automation_runs', [...columns, 'completed_at'], rows);
  await db.withKnex((knex) => knex.raw(db.dialect === 'pg' ? 'vacuum analyze automation_runs' : 'analyze'));
}

/** Each look, and the indexes that it may not do without. */
const LOOKS: Record<string, { ask(db: Db): Promise<unknown>; by: string[] }> = {
  'claimDueRuns, with more due than are looked at for their teams': {
    ask: (db) => claimDueRuns(db, { owner: 'a', now: NOW, until: NOW, limit: 20 }),
    by: ['automation_runs_due', 'automation_runs_turns'],
  },
  nextRunAt: { ask: (db) => nextRunAt(db, NOW), by: ['automation_runs_due'] },
  'a page of an automation’s runs': {
    ask: (db) => listRunRows(db, automation(1), {}, { limit: 20 }),
    by: ['automation_runs_automation_id_id_index'],
  },
  'a page of those of two statuses': {
    ask: (db) => listRunRows(db, automation(1), { statuses: ['failed', 'cancelled'] }, { limit: 20 }),
    by: ['automation_runs_automation_id_status_id_index'],
  },
  'a page of the runs of a contact in an automation': {
    ask: (db) => listRunRows(db, automation(1), { contactId: uuid(1, '8003') }, { limit: 20 }),
    by: ['automation_runs_of_contact_by_id'],
  },
  'removal by age': {
    ask: (db) => removeEndedRuns(db, { teamId: team(1), beforeMs: ROWS / 2 }, 100),
    by: ['automation_runs_ended'],
  },
};

const plansTogether = async (db: Db, ask: (db: Db) => Promise<unknown>): Promise<string> =>
  (await explainQueries(db, () => ask(db), 'automation_runs')).join('\n');
const reads = (plan: string, index: string): boolean => new RegExp(`\\b${index}\\b`).test(plan);

it.each(Object.entries(LOOKS))('the query “%s” uses its index, and does not without it', async (_, { ask, by }) => {
  await using scene = await startScene({ roles: ['http'] });
  const { db } = scene.app.world;
  await fill(db);
  const plan = await plansTogether(db, ask);
  for (const index of by) expect(reads(plan, index), plan).toBe(true);
  expect(plan).not.toMatch(/SCAN automation_runs(?! USING)|Seq Scan on automation_runs|TEMP B-TREE/);
  for (const index of by) await db.run(`drop index ${index}`);
  const without = await plansTogether(db, ask);
  for (const index of by) expect(reads(without, index), without).toBe(false);
});
