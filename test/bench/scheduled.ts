import Sqlite from 'better-sqlite3';
import path from 'node:path';
import { claimDeliveries } from '../../src/mail/queue/claim.ts';
import { nextDueAt } from '../../src/mail/queue/deliveries.store.ts';
import { openWorld } from '../../src/open-world.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { migrate } from '../../src/platform/db/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createInstanceKey } from '../../src/platform/secrets/index.ts';
import type { World } from '../../src/platform/world.ts';
import type { Bench } from './bench.ts';
import { median } from './figures.ts';

const SCHEDULED = 1_000_000;
const LOOKS = 500;

/** Measures one poll of the queue while a million emails wait for their time, against a queue without any. */
export async function benchScheduled(bench: Bench): Promise<void> {
  const empty = await openQueue(bench, 0);
  const full = await openQueue(bench, bench.quick ? SCHEDULED / 5 : SCHEDULED);
  const [none, many]: [number[], number[]] = [[], []];
  for (let look = 0; look < LOOKS; look++) {
    none.push(await timeLook(empty));
    many.push(await timeLook(full));
  }
  bench.add({
    name: `a look at the queue, ${bench.quick ? '200,000' : '1,000,000'} scheduled`,
    value: median(many),
    unit: 'µs',
    baseline: { name: 'µs, none scheduled', value: median(none) },
    target: { is: 'at most', value: 1.5, of: 'ratio' },
  });
  await empty.db.close();
  await full.db.close();
}

async function openQueue(bench: Bench, scheduled: number): Promise<World> {
  const dataDir = bench.folder('scheduled');
  createInstanceKey(dataDir);
  const log = createLog({ level: 'silent', format: 'json' });
  const world = await openWorld({ config: loadConfig({ env: {} }).config, dataDir, log, mayFound: true });
  await migrate(world.db);
  const database = new Sqlite(path.join(dataDir, world.config.database.path));
  database.pragma('synchronous = OFF');
  const columns =
    'id, email_id, team_id, domain_id, destination, recipients, region, tls, attempt, accepted_at, due_at';
  database
    .prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
      insert into deliveries (${columns})
        select 'd' || i, 'e' || i, 't', 'd', 'mail' || (i % 50) || '.test', '["x@example.org"]', 'eu-west-1',
          'opportunistic', 0, ? + i * 1000, ? + i * 1000 from n where ? > 0`,
    )
    .run(Math.max(1, scheduled), ...Array.from({ length: 2 }, () => Date.now() + 3_600_000), scheduled);
  database.close();
  return world;
}

/** Measures both halves of a poll: the claim of what is due, and the query for when the next will be. */
async function timeLook(world: World): Promise<number> {
  const begin = performance.now();
  await world.db.tx((tx) => claimDeliveries(world, tx, { owner: 'bench', lane: 0, limit: 200 }));
  await nextDueAt(world.db, 'bench', world.clock.now());
  return (performance.now() - begin) * 1000;
}
