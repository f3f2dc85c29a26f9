import path from 'node:path';
import { systemClock } from '../../../platform/clock/index.ts';
import { checkDatabase, hasTable, missingTableIn, type DatabaseCheck } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { findingOf } from '../findings/index.ts';
import type { DatabaseWatch } from './database-watch.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Upper bounds for a check that runs while the server does other work. */
const NIGHTLY_MS = 10 * MINUTE_MS;
const AFTER_UNCLEAN_STOP_MS = 2 * MINUTE_MS;
const OF_DAMAGE_MS = 60 * MINUTE_MS;
/** Time between two checks of a damaged database; doubled after each. */
const RECHECK_MS = 5000;
const RECHECK_MS_MAX = 60 * MINUTE_MS;
const FAULTS_LOGGED_MAX = 10;

const isWhole = ({ tables, checked }: DatabaseCheck): boolean => tables > 0 && checked === tables;

export interface DamageWatch extends DatabaseWatch {
  /**
   * Reads the whole database, as far as the time limit allows. Rejects if it cannot be read for another reason than
   * damage.
   */
  examine(signal?: AbortSignal): Promise<Omit<DatabaseCheck, 'faults'> & { faults: number }>;
  /** Does the same in the background, because the previous process did not close the file. */
  examineAfterUncleanStop(): void;
}

/**
 * Watches for damage of the database. Damage does not pass by itself, and a statement that succeeds elsewhere proves
 * nothing, so the node is not ready until a check of the whole database passes. The first check follows at once,
 * because a disk may fail for a moment.
 */
export function watchDamage({ clock, config, dataDir, db, log, random }: World): DamageWatch {
  const stopping = new AbortController();
  let damage: { says: string; since: number } | undefined;
  /** Counts faults, so that a check that started before a fault does not deny it. */
  let met = 0;
  let rechecks = 0;
  let lastMetAt = -Infinity;
  let cancel = (): void => undefined;
  let underWay: Promise<unknown> = Promise.resolve();
  /** Tables that a statement missed; a check of the others says nothing about them. */
  const missing = new Set<string>();

  function note(says: string, error?: unknown): void {
    met += 1;
    if (damage || stopping.signal.aborted) return;
    const now = clock.now();
    if (now - lastMetAt > DAY_MS) rechecks = 0;
    lastMetAt = now;
    damage = { says, since: now };
    const advice = 'restore a backup, or mend the database and wait for the next check';
    log.error({ err: error, says, advice }, 'the database is damaged: this node is not ready until a check passes');
    recheckIn(rechecks === 0 ? 0 : delayMs());
  }

  const delayMs = (): number => Math.min(RECHECK_MS_MAX, RECHECK_MS * 2 ** (rechecks - 1));

  function recheckIn(ms: number): void {
    cancel();
    cancel = systemClock.timer(ms, () => void recheck());
  }

  async function recheck(): Promise<void> {
    rechecks += 1;
    await check({ isFull: true, budgetMs: OF_DAMAGE_MS }).catch((error: unknown) =>
      log.error({ err: error }, 'a damaged database could not be checked'),
    );
    if (damage && !stopping.signal.aborted) recheckIn(delayMs());
  }

  /** Runs the checks one after the other, because each one reads the whole disk. */
  function check(how: { isFull: boolean; budgetMs: number }, signal?: AbortSignal): Promise<DatabaseCheck> {
    const run = underWay.then(() => checkOnce(how, signal));
    underWay = run.catch(() => undefined);
    return run;
  }

  async function checkOnce(
    { isFull, budgetMs }: { isFull: boolean; budgetMs: number },
    signal: AbortSignal = stopping.signal,
  ): Promise<DatabaseCheck> {
    const before = met;
    const file = path.resolve(dataDir, config.database.path);
    const either = AbortSignal.any([signal, stopping.signal]);
    const found = await checkDatabase(db, { file, isFull, budgetMs, from: random(), signal: either });
    for (const table of missing) {
      if (await hasTable(db, table)) missing.delete(table);
      else found.faults.push(`${table}: the table is missing`);
    }
    const [first] = found.faults;
    if (first !== undefined) {
      const { tables, checked, faults } = found;
      log.error(
        { tables, checked, faults: faults.slice(0, FAULTS_LOGGED_MAX) },
        'a check of the database found damage',
      );
      note(first);
      if (damage) damage.says = first;
    } else if (damage && isFull && isWhole(found) && met === before) {
      damage = undefined;
      log.warn({ tables: found.tables }, 'a check of the whole database passed: it is not damaged any more');
    }
    return found;
  }

  const stopNotices = db.onFault(({ kind, error }) => {
    if (kind !== 'damage') return;
    const table = missingTableIn(error);
    if (table !== undefined) missing.add(table);
    const says = error instanceof Error ? error.message : String(error);
    note(table === undefined ? says : `${table}: the table is missing`, error);
  });

  return {
    gone: new Promise(() => undefined),
    findings: () =>
      damage
        ? [findingOf('database_damaged', { summary: `The database is damaged (${damage.says}).`, since: damage.since })]
        : [],
    check: () => (damage ? Promise.reject(new Error(`the database is damaged: ${damage.says}`)) : Promise.resolve()),
    async examine(signal) {
      const { faults, ...found } = await check({ isFull: false, budgetMs: NIGHTLY_MS }, signal);
      return { ...found, faults: faults.length };
    },
    examineAfterUncleanStop() {
      void check({ isFull: false, budgetMs: AFTER_UNCLEAN_STOP_MS }).then(
        ({ faults, ...found }) =>
          log.info({ ...found, faults: faults.length }, 'the database was checked after an unclean stop'),
        (error: unknown) => log.error({ err: error }, 'the database could not be checked after an unclean stop'),
      );
    },
    async stop() {
      stopNotices();
      cancel();
      stopping.abort();
      await underWay;
    },
  };
}
