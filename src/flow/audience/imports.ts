import type { World } from '../../platform/world/index.ts';
import { createWorkLoop, type WorkLoop } from '../../platform/work-loop/index.ts';
import {
  claimImports,
  releaseAllImports,
  releaseImport,
  renewImports,
  type ImportRow,
} from '../../resources/contact-imports/index.ts';
import { carryImport } from './carry-import.ts';

export type Imports = Pick<WorkLoop, 'idle' | 'wake' | 'state'> & {
  start(): Promise<void>;
  stop(graceMs: number): Promise<void>;
};

/** The work loop of imports: each is claimed with a lease and carried batch by batch from where it stands. */
export function createImports(world: World): Imports {
  const { db, clock, log, config } = world;
  const { max_at_once: atOnceMax, lease_seconds: leaseSeconds, poll_ms: pollMs } = config.imports;
  const leaseMs = leaseSeconds * 1000;
  const owner = world.ids.uuid();
  const until = (): number => clock.now() + leaseMs;
  const loop: WorkLoop<ImportRow> = createWorkLoop<ImportRow>({
    name: 'imports',
    describe: ({ id }) => ({ importId: id }),
    clock,
    log,
    pollMs,
    capacity: () => atOnceMax - loop.inFlight(),
    async claim({ limit }) {
      const items = await claimImports(db, { owner, now: clock.now(), until: until() }, Math.min(limit, atOnceMax));
      return { items, left: items.length < Math.min(limit, atOnceMax) ? 'nothing' : 'crowded' };
    },
    carry: (item, signal) => carryImport(world, { item, owner, signal }),
    giveBack: async (items) => void (await Promise.all(items.map(({ id }) => releaseImport(db, id, owner)))),
    renew: {
      everyMs: leaseMs / 3,
      work: async (items) => {
        const ids = items.map(({ id }) => id);
        if (ids.length > 0) await renewImports(db, ids, owner, until());
      },
    },
  });
  let stopListening = (): void => undefined;
  return {
    idle: () => loop.idle(),
    wake: () => loop.wake(),
    state: () => loop.state(),
    async start() {
      // SQLite bears one process: whoever held a lease is gone.
      if (db.dialect === 'sqlite') await releaseAllImports(db);
      stopListening = db.onCommit('contact_imports', () => loop.wake());
      loop.start();
    },
    async stop(graceMs) {
      stopListening();
      // A batch is short, and the rest is where the next start goes on.
      await loop.stop(Math.min(graceMs, 0));
    },
  };
}
