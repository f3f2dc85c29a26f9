import path from 'node:path';
import type { World } from '../../../platform/world.ts';
import { systemClock, repeat } from '../../../platform/clock.ts';
import { buildFinding, type Finding } from '../../../platform/finding.ts';
import {
  tryCommit,
  DatabaseMoved,
  moveUnderWay,
  readMove,
  saysMoved,
  saysUnderWay,
  type MoveMark,
} from '../../../tenancy/instance/index.ts';
import {
  checkDatabase,
  hasTable,
  missingTableIn,
  DatabaseFileLost,
  putBack,
  rescueName,
  type DatabaseCheck,
} from '../../../platform/db/index.ts';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

const RETRY_MS = 1000;
/** Longest time that a caller of `check` waits for a commit that is in progress. */
const ANSWER_MS_MAX = 2000;

/**
 * Watches the commits. A node whose last commit failed can accept nothing, so it is not ready until one succeeds. A
 * load balancer meanwhile sends it no requests that could commit, so it tries commits of its own, the first one at
 * once, because a connection that was lost in a transaction says nothing about the next one. The duration of a commit
 * is ignored.
 */
function watchCommits({ db, clock, log }: Watched): DatabaseWatch {
  let failing: { error: unknown; since: number } | undefined;
  /** Resolves once it is known whether the commit after the failed one succeeds. */
  let trying: Promise<void> | undefined;
  let isStopped = false;
  let cancel = (): void => undefined;

  async function attempt(): Promise<void> {
    const error = await tryCommit({ db, clock }).then(
      () => undefined,
      (fault: unknown) => fault ?? new Error('commit rejected with undefined'),
    );
    if (error === undefined) {
      if (failing) log.warn('commits to the database succeed again');
      failing = undefined;
      return;
    }
    if (!failing) log.error({ err: error }, 'commits to the database fail: this node is not ready until one succeeds');
    failing = { error, since: failing?.since ?? clock.now() };
    if (!isStopped) cancel = systemClock.timer(RETRY_MS, () => void attempt());
  }

  const stopNotices = db.onFault(({ kind }) => {
    if (kind !== 'commit' || failing || trying || isStopped) return;
    trying = attempt().finally(() => (trying = undefined));
  });

  const findings: DatabaseWatch['findings'] = () => {
    if (!failing) return [];
    const { code } = failing.error as { code?: unknown };
    const summary = `What is accepted cannot be written to the database (${String(code ?? 'unknown')}).`;
    return [buildFinding('database_failing', { summary, since: failing.since })];
  };

  /** Resolves with whether the commit in progress ended in time. */
  const hasEnded = (attempted: Promise<void>): Promise<boolean> =>
    new Promise((resolve) => {
      const cancelWait = systemClock.timer(ANSWER_MS_MAX, () => resolve(false));
      void attempted.then(() => resolve(true)).finally(cancelWait);
    });

  return {
    gone: new Promise(() => undefined),
    findings,
    async check() {
      if (trying && !(await hasEnded(trying)))
        throw new Error(`no commit ended within ${ANSWER_MS_MAX} ms after one had failed`);
      if (failing) throw new Error('the last commit failed', { cause: failing.error });
    },
    async stop() {
      isStopped = true;
      stopNotices();
      cancel();
    },
  };
}

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
function watchDamage({ clock, config, dataDir, db, log, random }: World): DamageWatch {
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
    const advice = 'restore a backup, or repair the database and wait for the next check';
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
      log.warn({ tables: found.tables }, 'a check of the whole database passed: it is no longer damaged');
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
        ? [
            buildFinding('database_damaged', {
              summary: `The database is damaged (${damage.says}).`,
              since: damage.since,
            }),
          ]
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

const FILES_POLL_MS = 1000;
/** A file that is renamed to and fro is back by then. */
const POLLS_LOST = 2;

/**
 * Watches for an SQLite file that is deleted, renamed or replaced while the server runs. The open connections still
 * hold its data, everything accepted before and since, which is lost when the process ends. The server then accepts and
 * sends nothing more, writes the data to a copy next to the original path, and stops. If the copy cannot be written, it
 * stays and tries again, because nothing else has the data.
 */
function watchFiles({ db, clock, log }: Watched, file: string, tell: ReportFinding): DatabaseWatch {
  const gone = Promise.withResolvers<Error>();
  let polls = 0;
  let found: { summary: string; since: number } | undefined;
  let rescued: string | undefined;

  const findings = () =>
    found ? [buildFinding('storage_unwritable', { ...found, summary: `${found.summary}.` })] : [];

  async function look(pollsLost: number): Promise<void> {
    if (rescued !== undefined) return;
    if (found) return rescue(found);
    // An unresponsive disk says nothing about the file.
    const lost = await db.lostFile().catch(() => undefined);
    polls = lost === undefined ? 0 : polls + 1;
    if (lost === undefined || polls < pollsLost) return;
    found = { summary: `${lost} beside this server, which takes and sends nothing any more`, since: clock.now() };
    log.fatal(found.summary);
    await rescue(found);
  }

  async function rescue({ summary, since }: { summary: string; since: number }): Promise<void> {
    const copy = rescueName(file, since);
    try {
      await db.abandonInto(copy);
    } catch (error) {
      const says = `${summary}; all that it held is in this process alone, and cannot be written to ${copy}: make that possible, and do not end the process`;
      log.fatal({ err: error }, says);
      return;
    }
    rescued = copy;
    const says = `${summary}; all that it held is in ${copy}: put that in its place (${putBack(file, copy)}) and start the server again`;
    found = { summary: says, since };
    log.fatal(says);
    const [finding] = findings();
    if (finding)
      await tell(finding, copy).catch((error: unknown) =>
        log.error({ err: error }, 'could not report that the database file was lost'),
      );
    gone.resolve(new DatabaseFileLost(says));
  }

  let looking = look(POLLS_LOST);
  const endPolls = repeat(systemClock, FILES_POLL_MS, () => (looking = look(POLLS_LOST)));
  return {
    gone: gone.promise,
    findings,
    check: () => (found ? Promise.reject(new DatabaseFileLost(found.summary)) : Promise.resolve()),
    async stop() {
      endPolls();
      await looking;
      // The file may have gone a moment ago, and its data is lost once the connections are closed.
      await look(1);
    },
  };
}

const MOVE_POLL_MS = 1000;

/**
 * Watches whether the database was moved. A node that was cut off or suspended during a move learns of it by the first
 * refused write. During the move it waits, because the move may still fail; once the move has ended, the node
 * acknowledges no request any more and has to end. `tell` reports that outside the database, which cannot record it any
 * more.
 */
function watchMove({ db, clock, log }: Watched, tell: ReportFinding): DatabaseWatch {
  const gone = Promise.withResolvers<Error>();
  let found: { summary: string; since: number } | undefined;
  let following: Promise<void> | undefined;
  let isStopped = false;
  let wake = (): void => undefined;

  function note(summary: string): Finding {
    found = { summary, since: found?.since ?? clock.now() };
    return buildFinding('database_moved', { ...found, summary: `${summary}.` });
  }

  async function follow(): Promise<void> {
    let isSaid = false;
    while (!isStopped) {
      const mark = await findMove().catch(() => 'unknown' as const);
      if (mark === undefined) {
        found = undefined;
        if (isSaid) log.warn('the move of this database failed or was canceled; this node continues');
        return;
      }
      if (mark !== 'unknown' && mark.state !== 'leaving') return leave(mark);
      if (mark !== 'unknown') note(saysUnderWay(mark));
      if (mark !== 'unknown' && !isSaid) log.error(`${saysUnderWay(mark)}; this node waits`);
      isSaid ||= mark !== 'unknown';
      await new Promise<void>((done) => {
        wake = done;
        systemClock.timer(MOVE_POLL_MS, done);
      });
    }
  }

  /** Returns the mark of the move that makes the database refuse writes; undefined once nothing does. */
  const findMove = async (): Promise<MoveMark | undefined> => (await moveUnderWay(db)) ?? (await readMove(db));

  async function leave(mark: MoveMark): Promise<void> {
    const summary = saysMoved(mark);
    const finding = note(summary);
    log.fatal(summary);
    isStopped = true;
    await tell(finding, `${mark.other} ${mark.at}`).catch((error: unknown) =>
      log.error({ err: error }, 'could not report that the database was moved'),
    );
    gone.resolve(new DatabaseMoved(summary));
  }

  const stopFencing = db.onFenced(() => {
    if (isStopped || following) return;
    note('this database refuses what is written, because it is being or was moved to another one');
    following = follow().finally(() => (following = undefined));
  });
  return {
    gone: gone.promise,
    findings: () => (found ? [buildFinding('database_moved', { ...found, summary: `${found.summary}.` })] : []),
    check: () => (found ? Promise.reject(new Error(found.summary)) : Promise.resolve()),
    async stop() {
      stopFencing();
      isStopped = true;
      wake();
      await following;
    },
  };
}

/**
 * Records in the data folder that the SQLite file is open, so that the next process knows if this one did not close it.
 */
interface OpenFileMark {
  /** The previous process did not close the file. */
  wasLeftOpen: boolean;
  close(): void;
}

export function noteOpenFile(runDir: string): OpenFileMark {
  const file = path.join(runDir, 'database-open');
  const wasLeftOpen = existsSync(file);
  // A full disk refuses the start later, with a better message.
  if (!wasLeftOpen) writeMark(file);
  return { wasLeftOpen, close: () => rmSync(file, { force: true }) };
}

function writeMark(file: string): void {
  try {
    writeFileSync(file, '', { mode: 0o600 });
  } catch {
    return;
  }
}

/** Watches whether this process may still use its database. */
export interface DatabaseWatch {
  /** Resolves with the reason once the process can do nothing any more and has to end. */
  gone: Promise<Error>;
  findings(): readonly Finding[];
  /** Rejects while nothing can be written. */
  check(): Promise<void>;
  /** Stops watching, after finishing a report in progress. */
  stop(): Promise<void>;
}

/** Reports a finding if the database cannot record that; the same `event` only once. */
type ReportFinding = (finding: Finding, event: string) => Promise<void>;

type Watched = Pick<World, 'db' | 'clock' | 'log'>;

/** Reports the node as not ready while the database was moved away, is missing, is damaged, or takes no commit. */
export function watchDatabase(world: World, tell: ReportFinding): DamageWatch {
  const file = path.resolve(world.dataDir, world.config.database.path);
  const damage = watchDamage(world);
  const watches: DatabaseWatch[] = [watchMove(world, tell), damage, watchCommits(world)];
  if (world.db.dialect === 'sqlite') watches.push(watchFiles(world, file, tell));
  return {
    ...damage,
    gone: Promise.race(watches.map((watch) => watch.gone)),
    findings: () => watches.flatMap((watch) => watch.findings()),
    async check() {
      for (const watch of watches) await watch.check();
    },
    async stop() {
      for (const watch of watches) await watch.stop();
    },
  };
}
