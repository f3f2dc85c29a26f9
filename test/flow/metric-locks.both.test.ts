// Transactions that add to the metrics of one team at the same time, one of them in several steps, as a shared commit does.
import { expect, it } from 'vitest';
import { countEvents } from '../../src/mail/events/metric-counts.store.ts';
import type { NewEvent } from '../../src/mail/events/event.ts';
import { nextTurn } from '../../src/platform/clock.ts';
import type { Executor } from '../../src/platform/db/index.ts';
import { driver } from '../rig/database.ts';
import { startScene } from '../rig/scene.ts';

async function untilAnotherWaits(tx: Executor): Promise<void> {
  const sql = 'select pid from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))';
  while ((await tx.all(sql)).length === 0) await nextTurn();
}

// runs only with PostgreSQL: with SQLite one transaction writes at a time
it.runIf(driver === 'pg')(
  'a page of a broadcast and a commit of single mail with mail of the broadcast do not deadlock',
  async () => {
    await using scene = await startScene();
    const { db, ids, clock } = scene.app.world;
    const { id: teamId } = await scene.team();
    const domainId = ids.uuid();
    const broadcastId = ids.uuid();
    const build = (more: Partial<NewEvent>): NewEvent => {
      const event = { type: 'email.queued', teamId, subjectId: ids.uuid(), at: clock.now(), domainId, isFirst: true };
      return { ...event, ...more } as NewEvent;
    };
    const page = Promise.withResolvers<void>();
    await db.tx(async (tx) => {
      await countEvents(tx, ids, [build({})]);
      db.tx((other) => countEvents(other, ids, [build({ broadcastId })])).then(page.resolve, page.reject);
      await untilAnotherWaits(tx);
      await countEvents(tx, ids, [build({ broadcastId })]);
    });
    await page.promise;
    const counted = await db.all<{ scope: string }>('select scope from metric_counts where team_id = ?', [teamId]);
    expect(new Set(counted.map(({ scope }) => scope.split(':', 1)[0]))).toEqual(new Set(['team', 'd', 'b']));
  },
);
