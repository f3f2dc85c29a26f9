// The plans of the queue's statements: a look at the queue must not read what is not due, nor what is somebody else's.
import { expect, it } from 'vitest';
import { claimDue, nextDueAt, teamsWithDue, type DueWork } from '../../src/mail/queue/deliveries.store.ts';
import type { Executor } from '../../src/platform/db/index.ts';
import { startScene } from '../rig/scene.ts';

const TEAMS = 20;
const ROWS = 20_000;

/** Rows of many teams, most of them of the first and most of them not due. */
async function fill(db: Executor): Promise<void> {
  const uuid = (n: number, kind: string): string => `00000000-0000-7000-${kind}-${String(n).padStart(12, '0')}`;
  const columns = ['id', 'email_id', 'team_id', 'domain_id', 'destination', 'recipients', 'region', 'tls'];
  const rows = Array.from({ length: ROWS }, (_, n) => [
    uuid(n, '8000'),
    uuid(n, '8001'),
    uuid(n % 4 === 0 ? n % TEAMS : 0, '8002'),
    uuid(0, '8003'),
    `mail${n % 50}.example`,
    '["x@example.org"]',
    'eu-west-1',
    'opportunistic',
    n % 3 === 0 ? 1 : 0,
    1,
    n % 2 === 0 ? n : 1_000_000 + n,
    n % 5 === 0 ? 2 : n % 7 === 0 ? 1 : 0,
    n % 2,
  ]);
  await db.insertMany('deliveries', [...columns, 'attempt', 'accepted_at', 'due_at', 'lane', 'waits'], rows);
}

/** Returns the plans of the database for the statements that `work` sends. */
async function explainQueries(db: Executor, work: (tx: Executor) => Promise<unknown>): Promise<string> {
  const plans: string[] = [];
  const explain = async (sql: string, values: Parameters<Executor['all']>[1]): Promise<void> => {
    const rows = await db.all<Record<string, string>>(
      `explain ${db.dialect === 'pg' ? '' : 'query plan'} ${sql}`,
      values,
    );
    plans.push(...rows.map((row) => row['QUERY PLAN'] ?? row.detail ?? ''));
  };
  const spy: Executor = Object.assign(Object.create(db) as Executor, {
    dialect: db.dialect,
    all: async (sql: string, values: Parameters<Executor['all']>[1]) => (await explain(sql, values), []),
    get: async (sql: string, values: Parameters<Executor['all']>[1]) => void (await explain(sql, values)),
  });
  await work(spy);
  return plans.join('\n');
}

it('every claim query uses its index and reads the table only by key', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { db } = scene.app.world;
  await fill(db);
  await db.run('analyze deliveries');
  const claim = { owner: 'this process', now: ROWS, leaseUntil: 2 * ROWS, limit: 10, lane: 0 } as const;
  const teams = ['00000000-0000-7000-8002-000000000004', '00000000-0000-7000-8002-000000000008'];
  const atLimit = { teams: [], destinations: ['mail1.example'], pairs: [`${teams[0]} mail2.example`] };
  const share: DueWork['share'] = { teams, perTeam: 5, atLimit };

  const looks = {
    first: await explainQueries(db, (tx) => claimDue(tx, claim)),
    shared: await explainQueries(db, (tx) => claimDue(tx, { ...claim, share })),
    bounded: await explainQueries(db, (tx) => claimDue(tx, { ...claim, share: { ...share, scanMax: 100 } })),
    teams: await explainQueries(db, (tx) => teamsWithDue(tx, claim)),
    next: await explainQueries(db, (tx) => nextDueAt(tx, 'this process', ROWS)),
  };
  expect(looks.first).toMatch(/deliveries_due\b/);
  expect(looks.first).toMatch(/deliveries_leased\b/);
  expect(looks.shared).toMatch(/deliveries_due_by_team\b/);
  expect(looks.shared).toMatch(/deliveries_leased\b/);
  expect(looks.bounded).toMatch(/deliveries_due_by_team\b/);
  expect(looks.teams).toMatch(/deliveries_due_by_team\b/);
  expect(looks.next).toMatch(/deliveries_due\b/);
  expect(looks.next).toMatch(/deliveries_leased\b/);
  for (const [look, plan] of Object.entries(looks)) {
    // "SCAN deliveries" without an index, as SQLite writes it, and as PostgreSQL does.
    expect(plan, `${look}:\n${plan}`).not.toMatch(/SCAN (deliveries|due)(?! USING)|Seq Scan on deliveries/);
  }
});

it('a claim with a limited scan looks at so many deliveries of each team, and finds those of other teams behind a backlog', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { db } = scene.app.world;
  await fill(db);
  const [busy, quiet] = await db.all<{ team_id: string; count: number }>(
    'select team_id, count(*) as count from deliveries where lane = 0 group by team_id order by count(*) desc, team_id limit 2',
    [],
  );
  if (!busy || !quiet) throw new Error('the teams of the filled table could not be read');
  const busyRows = await db.all<{ id: string; destination: string }>(
    'select id, destination from deliveries where lane = 0 and lease_owner is null and team_id = ? order by due_at limit 8',
    [busy.team_id],
  );
  const atLimit = {
    teams: [],
    destinations: [],
    pairs: [...new Set(busyRows.slice(0, 5).map(({ destination }) => `${busy.team_id} ${destination}`))],
  };
  const claimWith = (scanMax: number | undefined) =>
    db
      .tx(async (tx) => {
        const claimed = await claimDue(tx, {
          owner: 'this process',
          now: ROWS,
          leaseUntil: 2 * ROWS,
          limit: 100,
          lane: 0,
          share: { teams: [busy.team_id, quiet.team_id], perTeam: 3, atLimit, scanMax },
        });
        throw Object.assign(new Error('undone'), { claimed });
      })
      .catch((error: Error & { claimed: { team_id: string; destination: string }[] }) => error.claimed);
  const countBy = (rows: readonly { team_id: string }[]) => [
    rows.filter(({ team_id: team }) => team === busy.team_id).length,
    rows.filter(({ team_id: team }) => team === quiet.team_id).length,
  ];
  expect(countBy(await claimWith(5))).toEqual([0, 3]);
  const all = await claimWith(undefined);
  expect(countBy(all)).toEqual([3, 3]);
  expect(all.every(({ team_id: team, destination }) => !atLimit.pairs.includes(`${team} ${destination}`))).toBe(true);
  expect(countBy(await claimWith(100_000))).toEqual([3, 3]);
});
