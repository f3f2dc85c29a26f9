import { stopwatch } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';
import { createWorkLoop, type WorkLoop } from '../../platform/work-loop/index.ts';
import {
  claimImports,
  oldestWaitingOfEachTeam,
  releaseAllImports,
  releaseImport,
  renewImports,
  type ImportRow,
} from '../../resources/contact-imports/index.ts';
import { carryImport } from './carry-import.ts';

export type Imports = Pick<WorkLoop, 'idle' | 'wake' | 'state'> & {
  start(): Promise<void>;
  /** Without grace: a batch is short, and the next start goes on behind it. */
  stop(): Promise<void>;
};

/** Beyond, the turns begin anew. */
const TURNS_KEPT = 10_000;

/**
 * The work loop of imports, woken by the commit that inserts one: each is claimed with a lease and carried batch by batch
 * from where it stands, one of a team at a time, and the teams take turns: one that takes long is put back for the next
 * team's, and goes on later.
 */
export function createImportLoop(world: World): Imports {
  const { db, clock, log, config } = world;
  const { max_at_once: atOnceMax, lease_seconds: leaseSeconds, poll_ms: pollMs } = config.imports;
  const leaseMs = leaseSeconds * 1000;
  const sliceMs = config.imports.slice_seconds * 1000;
  const owner = world.ids.uuid();
  const until = (): number => clock.now() + leaseMs;
  /** When each team that has something waiting had its last turn. */
  const turns = new Map<string, number>();
  let turn = 0;
  /** Whose last turn is longest ago comes first. */
  function inTurn<Waiting extends { team_id: string }>(waiting: readonly Waiting[]): Waiting[] {
    const last = (one: Waiting): number => turns.get(one.team_id) ?? 0;
    return waiting.toSorted((a, b) => last(a) - last(b));
  }
  const loop: WorkLoop<ImportRow> = createWorkLoop<ImportRow>({
    name: 'imports',
    describe: ({ id }) => ({ importId: id }),
    clock,
    log,
    pollMs,
    capacity: () => atOnceMax - loop.inFlight(),
    async claim({ limit }) {
      const waiting = await oldestWaitingOfEachTeam(db, clock.now());
      const wanted = inTurn(waiting).slice(0, Math.min(limit, atOnceMax));
      const ids = wanted.map(({ id }) => id);
      const items = await claimImports(db, { owner, now: clock.now(), until: until() }, ids);
      if (turns.size > TURNS_KEPT) turns.clear();
      for (const { team_id: teamId } of items) turns.set(teamId, ++turn);
      // A team's next import waits for its one under way.
      return { items, left: items.length + loop.inFlight() > 0 ? 'blocked' : 'nothing' };
    },
    carry: (item, signal) => carryImport(world, { item, owner, signal, mustYield: createYieldCheck(world, sliceMs) }),
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
    async stop() {
      stopListening();
      await loop.stop(0);
    },
  };
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
