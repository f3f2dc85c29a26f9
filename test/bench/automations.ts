import Sqlite from 'better-sqlite3';
import path from 'node:path';
import { openWorld } from '../../src/open-world.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { migrate } from '../../src/platform/db/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createInstanceKey } from '../../src/platform/secrets/index.ts';
import type { World } from '../../src/platform/world.ts';
import { claimDueRuns, nextRunAt } from '../../src/features/automations/automation-runs.store.ts';
import { line, start, step } from '../api/automations/graph.ts';
import { initialise, startAppliance } from './appliance.ts';
import { pause, post, type Bench } from './bench.ts';
import { fillContacts } from './broadcast.ts';
import { median, shown } from './figures.ts';
import { readUsage, usageSince } from './process-usage.ts';

const EVENTS = 100_000;
const STEPS = 3;
/** Number of connections, each of which posts the same number of events. */
const CONNECTIONS = 40;
const PARKED = 1_000_000;
const CLAIMS = 500;
const CARRIED_MS_MAX = 600_000;

/** Measures runs of automations: how fast their steps are executed, and the cost of those that wait. */
export async function benchAutomations(bench: Bench): Promise<void> {
  await benchSteps(bench);
  await benchParked(bench);
}

/**
 * Sends events that each start a run of three steps, one per contact: the trigger, a condition that holds, and an
 * update of the contact. The runs are started by a process that executes none; then one that executes them is started.
 */
async function benchSteps(bench: Bench): Promise<void> {
  const events = bench.quick ? EVENTS / 20 : EVENTS;
  const raw = await bench.helper('./steps-process.ts');
  const order = { runs: bench.quick ? 500 : 5000, steps: STEPS };
  const bare = (): Promise<number> => raw.ask<number>({ ...order, file: path.join(bench.folder('steps'), 'raw.db') });
  const before = await bare();
  const { perSecond, micros } = await carry(bench, events);
  const after = await bare();
  bench.add({
    name: `steps of ${events.toLocaleString('en-US')} runs of three: trigger, condition, contact_update`,
    value: perSecond,
    unit: 'steps/s',
    baseline: { name: 'the rows of the same steps in SQLite, a commit each', value: (before + after) / 2 },
    target: { is: 'at least', value: 3000, of: 'value' },
    note: `${shown(micros)} µs of the main thread for each`,
  });
}

async function carry(bench: Bench, events: number): Promise<{ perSecond: number; micros: number }> {
  const dataDir = bench.folder('automations');
  const { team_id: teamId, api_key: key } = initialise(dataDir, bench.dns);
  fillContacts(dataDir, teamId, events);
  const options = { dataDir, dns: bench.dns, sinkPort: 1, key };
  const recorder = await startAppliance({ ...options, roles: 'http' });
  bench.stopLater(() => recorder.kill());
  await recorder.call('POST', '/events', { name: 'order' });
  const graph = line(
    start,
    step('unnamed', 'condition', { type: 'rule', field: 'last_name', operator: 'is_empty' }),
    step('name', 'contact_update', { last_name: 'Reached' }),
  );
  const connections = graph.connections.map((way) =>
    (way as { from: string }).from === 'unnamed' ? { ...(way as object), type: 'condition_met' } : way,
  );
  await recorder.call('POST', '/automations', { name: 'A', status: 'enabled', ...graph, connections });
  const load = await bench.helper('./load-process.ts');
  const bodies = Array.from({ length: events }, (_, i) =>
    JSON.stringify({ event: 'order', email: `person${i}@list${i % 10}.reader.test`, payload: { order: i } }),
  );
  await post(load, recorder, {
    load: { bodies, recipients: 0, deliveries: 0 },
    connections: CONNECTIONS,
    amount: events,
    path: '/events/send',
    isOnceEach: true,
  });
  await recorder.kill();
  const profileDir = bench.profileDir === undefined ? undefined : path.join(bench.profileDir, 'automations');
  const carrier = await startAppliance({ ...options, profileDir });
  bench.stopLater(() => carrier.kill());
  const used = readUsage(carrier.pid);
  const ms = await untilCarried(dataDir, events);
  const { mainSeconds } = usageSince(carrier.pid, used);
  await (profileDir === undefined ? carrier.kill() : carrier.stop());
  return { perSecond: (events * STEPS) / (ms / 1000), micros: (mainSeconds / (events * STEPS)) * 1e6 };
}

/** Measures from the first step of the first run to the last of the last. A missing step makes the row worthless. */
async function untilCarried(dataDir: string, runs: number): Promise<number> {
  const database = new Sqlite(path.join(dataDir, 'rasket.db'), { readonly: true });
  const open = database.prepare("select 1 from automation_runs where status = 'running' limit 1");
  const limit = performance.now() + CARRIED_MS_MAX;
  try {
    while (open.get() !== undefined) {
      if (performance.now() > limit) throw new Error(`the runs were not carried in ${CARRIED_MS_MAX} ms`);
      await pause(100);
    }
    const count = database.prepare("select count(*) from automation_run_steps where status = 'completed'").pluck();
    const steps = count.get();
    if (steps !== runs * STEPS) throw new Error(`${String(steps)} of ${runs * STEPS} steps were completed`);
    return database.prepare('select max(completed_at) - min(started_at) from automation_runs').pluck().get() as number;
  } finally {
    database.close();
  }
}

/** Measures a claim of due runs while a million runs wait for their time, against none. One run is due at each. */
async function benchParked(bench: Bench): Promise<void> {
  const parked = bench.quick ? PARKED / 5 : PARKED;
  const empty = await openRuns(bench, 0);
  const full = await openRuns(bench, parked);
  const [none, many]: [number[], number[]] = [[], []];
  for (let claim = 0; claim < CLAIMS; claim++) {
    none.push(await timeClaim(empty));
    many.push(await timeClaim(full));
  }
  bench.add({
    name: `a claim of a due run, ${parked.toLocaleString('en-US')} parked`,
    value: median(many),
    unit: 'µs',
    baseline: { name: 'µs, none parked', value: median(none) },
    target: { is: 'at most', value: 1.5, of: 'ratio' },
  });
  await empty.db.close();
  await full.db.close();
}

async function openRuns(bench: Bench, parked: number): Promise<World> {
  const dataDir = bench.folder('parked');
  createInstanceKey(dataDir);
  const log = createLog({ level: 'silent', format: 'json' });
  const world = await openWorld({ config: loadConfig({ env: {} }).config, dataDir, log, mayFound: true });
  await migrate(world.db);
  const database = new Sqlite(path.join(dataDir, world.config.database.path));
  database.pragma('synchronous = OFF');
  const columns = 'id, team_id, automation_id, version, contact_id, status, step_key, due_at, created_at, started_at';
  const later = Date.now() + 30 * 24 * 3_600_000;
  const fill = database.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
      insert into automation_runs (${columns})
        select printf('%08x-0000-4000-8000-%012x', ?, i), 't' || (i % 50), 'a' || (i % 200), 1, 'c' || i, 'running', 'wait', ? + i, 0, 0 from n`,
  );
  if (parked > 0) fill.run(parked, 2, later);
  fill.run(CLAIMS, 1, 1);
  database.close();
  return world;
}

/** Reads what is due now, and when the next one will be. */
async function timeClaim({ db }: World): Promise<number> {
  const now = Date.now();
  const begin = performance.now();
  const rows = await db.tx((tx) => claimDueRuns(tx, { owner: 'bench', now, until: now + 60_000, limit: 1 }));
  await nextRunAt(db, now);
  const micros = (performance.now() - begin) * 1000;
  if (rows.length !== 1) throw new Error('no run was due');
  // Marks the run as completed.
  await db.run("update automation_runs set status = 'completed', completed_at = ? where id = ?", [
    now,
    rows[0]?.id ?? '',
  ]);
  return micros;
}
