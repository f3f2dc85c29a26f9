import type { Executor } from '../../platform/db/index.ts';
import { emailLogFields } from '../../platform/log/index.ts';
import type { World } from '../../platform/world.ts';
import { handedOffBy, leaseOwners, reschedule, unclaimUnsent, type DeliveryRow } from './deliveries.store.ts';
import { findAbandonedLogs, type HandOffOptions, type AbandonedLog } from './hand-off-log.ts';

/**
 * A PostgreSQL server that loses its client goes on with the statement, and may commit a claim or a hand-off after we
 * have checked for it. So we check again after each of these.
 */
const LATE_COMMITS_MS = [1_000, 10_000, 60_000];

/** Claims that this process holds in the database and does not know of, because the result of the commit was lost. */
interface OrphanedClaims {
  /** Notes that a claim failed, and may have been committed all the same. */
  suspect(): void;
  /** Checks without a suspicion, for commits later than the last of `LATE_COMMITS_MS`. */
  checkOnce(): void;
  /** Releases our claims except those in `carried`, if there is a suspicion. No claim may be under way meanwhile. */
  release(carried: () => string[]): Promise<void>;
  stop(): void;
}

export function createOrphanedClaims(
  world: World,
  options: { unclaimAllBut(carried: string[]): Promise<number>; wake(): void },
): OrphanedClaims {
  let mayBeSome = false;
  let timers: (() => void)[] = [];
  const stop = (): void => timers.splice(0).forEach((cancel) => cancel());
  const checkOnce = (): void => {
    mayBeSome = true;
    options.wake();
  };
  return {
    suspect() {
      mayBeSome = true;
      stop();
      // An embedded database commits before it returns, or never.
      if (world.db.dialect === 'pg') timers = LATE_COMMITS_MS.map((waitMs) => world.clock.timer(waitMs, checkOnce));
    },
    checkOnce() {
      if (world.db.dialect === 'pg') checkOnce();
    },
    async release(carried) {
      if (!mayBeSome) return;
      // Cleared before the statement, so that a suspicion that arises meanwhile stays. A failed statement is one
      // itself.
      mayBeSome = false;
      const count = await options.unclaimAllBut(carried());
      if (count > 0) world.log.warn({ count }, 'took back claims whose result was lost');
    },
    stop,
  };
}

interface Recovered {
  released: number;
  inDoubt: number;
}

interface Recovery {
  /** Numbers of deliveries that the first pass recovered. */
  recovered: Recovered;
  /** Lease owners of the earlier processes that ended without closing their logs. */
  owners: readonly string[];
  stop(): Promise<void>;
}

/**
 * Recovers the deliveries that earlier processes of this data folder held. One that did not reach its final dot is due
 * at once; one that may have passed it is never sent again, and fails after two hours unless a report says otherwise.
 */
export async function recoverDeliveries(world: World, runDir: string, options: HandOffOptions = {}): Promise<Recovery> {
  // An embedded database has one process: the holder of any lease has ended, with or without a log.
  const isAlone = world.db.dialect === 'sqlite';
  const left = findAbandonedLogs(runDir, { ...options, isAlone });
  const owners: Owners = new Map(left.map((log) => [log.owner, log.marked]));
  if (isAlone) for (const owner of await leaseOwners(world.db)) if (!owners.has(owner)) owners.set(owner, undefined);
  const recovered = await takeBackFrom(world, owners);
  let cancel = (): void => undefined;
  let pass = Promise.resolve();
  const goOn = ([waitMs, ...rest]: readonly number[]): void => {
    // The logs stay until the last pass, in case this process is killed before it.
    if (waitMs === undefined) return left.forEach((log) => log.remove());
    cancel = world.clock.timer(waitMs, () => {
      pass = takeBackFrom(world, owners).then(
        () => goOn(rest),
        (error: unknown) => {
          world.log.error({ err: error }, 'could not check for deliveries of an earlier process');
          goOn([waitMs, ...rest]);
        },
      );
    });
  };
  goOn(isAlone || left.length === 0 ? [] : LATE_COMMITS_MS);
  return {
    recovered,
    owners: [...owners.keys()],
    async stop() {
      cancel();
      await pass;
      cancel();
    },
  };
}

type Owners = Map<string, AbandonedLog['marked']>;

async function takeBackFrom(world: World, owners: Owners): Promise<Recovered> {
  const recovered: Recovered = { released: 0, inDoubt: 0 };
  for (const [owner, marked] of owners) {
    await world.db.tx(async (tx) => {
      recovered.released += await unclaimUnsent(tx, owner, world.clock.now());
      for (const row of await handedOffBy(tx, owner)) recovered[await takeBack(world, tx, owner, row, marked)]++;
    });
  }
  const { released, inDoubt } = recovered;
  if (released + inDoubt > 0) world.log.warn({ released, inDoubt }, 'took back deliveries of an earlier process');
  return recovered;
}

async function takeBack(
  world: World,
  tx: Executor,
  owner: string,
  row: DeliveryRow,
  marked: AbandonedLog['marked'],
): Promise<keyof Recovered> {
  const now = world.clock.now();
  const doubtUntil = (row.handed_off_at ?? now) + world.config.delivery.ambiguous_hours * 3_600_000;
  // `claim.ts` and `conclude.ts` write both times, this far apart. Any other due date means that it was in doubt before, and
  // was claimed only to be failed.
  const isOwnersHandOff = row.due_at === doubtUntil;
  const isUnsent = isOwnersHandOff && marked !== undefined && !marked.has(row.id);
  const recipients = JSON.parse(row.recipients) as string[];
  const back = { recipients, attempt: row.attempt - 1 };
  await reschedule(tx, owner, row, {
    ...back,
    ...(isUnsent ? { due_at: now, handed_off_at: null } : { due_at: doubtUntil, handed_off_at: row.handed_off_at }),
  });
  if (isUnsent) return 'released';
  const detail = 'the process ended between the final dot and the reply';
  world.mailLog.ambiguous({ ...emailLogFields(row.email_id, row.request_id), to: recipients, detail });
  return 'inDoubt';
}
