import { stopwatch } from '../../../platform/clock/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { createLeasedLoop, createTurns, leasesOf, type LeasedLoop } from '../../../platform/work-loop/index.ts';
import { claimImports, oldestWaitingOfEachTeam, type ImportRow } from '../contact-imports/index.ts';
import { carryImport } from './carry-import.ts';

export type Imports = LeasedLoop;

/**
 * The work loop of imports, woken by the commit that inserts one: each is claimed with a lease and carried batch by batch
 * from where it stands, one of a team at a time, and the teams take turns: one that takes long is put back for the next
 * team's, and goes on later.
 */
export function createImportLoop(world: World): Imports {
  const { db, config } = world;
  const { max_at_once: atOnceMax, lease_seconds: leaseSeconds, poll_ms: pollMs } = config.imports;
  const sliceMs = config.imports.slice_seconds * 1000;
  const owner = world.ids.uuid();
  const teams = createTurns();
  const loop: LeasedLoop<ImportRow> = createLeasedLoop<ImportRow>(world, {
    ...{ name: 'imports', wakeOn: ['contact_imports'], pollMs, atOnceMax },
    describe: ({ id }) => ({ importId: id }),
    lease: { owner, ms: leaseSeconds * 1000, leases: leasesOf(db, 'contact_imports') },
    async claim({ limit }, lease) {
      const waiting = await oldestWaitingOfEachTeam(db, lease.now);
      const ids = teams.inTurn(waiting, (one) => one.team_id).map(({ id }) => id);
      const items = await claimImports(db, lease, ids.slice(0, limit));
      teams.took(items.map((one) => one.team_id));
      // A team's next import waits for its one under way.
      return { items, left: items.length + loop.inFlight() > 0 ? 'blocked' : 'nothing' };
    },
    carry: (item, signal) => carryImport(world, { item, owner, signal, mustYield: createYieldCheck(world, sliceMs) }),
  });
  return loop;
}

/** Whether an import has had its time while another team waits. The time begins at its first batch, not at rows read before. */
function createYieldCheck({ db, clock }: World, sliceMs: number): () => Promise<boolean> {
  let elapsedMs: (() => number) | undefined;
  return async () => {
    elapsedMs ??= stopwatch();
    if (elapsedMs() < sliceMs) return false;
    elapsedMs = stopwatch();
    return (await oldestWaitingOfEachTeam(db, clock.now())).length > 0;
  };
}
