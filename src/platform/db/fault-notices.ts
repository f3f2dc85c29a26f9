import { isCommitFault, isDatabaseDamage } from './faults.ts';
import { writesRows } from './memo.ts';
import type { DatabaseFault, Db } from './types.ts';
import { isFenced } from './write-fence.ts';

/** The methods that a driver provides; `around` adds the notices of faults. */
export type DriverDb = Omit<Db, 'onFenced' | 'onFault'>;

/** Notifies the listeners of every statement and commit that fails because of the database, whoever calls it. */
export interface FaultNotices {
  /** Reports a fault for which no caller waits. */
  note(error: unknown): void;
  around(db: DriverDb): Db;
}

export function createFaultNotices(): FaultNotices {
  const ofFence = new Set<() => void>();
  const ofFaults = new Set<(fault: DatabaseFault) => void>();

  function note(error: unknown, isWrite = false): void {
    if (isFenced(error)) for (const fire of ofFence) fire();
    if (isDatabaseDamage(error)) for (const fire of ofFaults) fire({ kind: 'damage', error });
    if (isWrite && isCommitFault(error)) for (const fire of ofFaults) fire({ kind: 'commit', error });
  }

  async function noticing<T>(work: Promise<T>, isWrite = true): Promise<T> {
    try {
      return await work;
    } catch (error) {
      note(error, isWrite);
      throw error;
    }
  }

  return {
    note,
    around: (db) => ({
      ...db,
      // These statements may write too, and return the written rows.
      all: <T>(...statement: Parameters<Db['all']>) => noticing(db.all<T>(...statement), writesRows(statement[0])),
      get: <T>(...statement: Parameters<Db['get']>) => noticing(db.get<T>(...statement), writesRows(statement[0])),
      run: (...statement) => noticing(db.run(...statement)),
      runEach: (...statement) => noticing(db.runEach(...statement)),
      insertMany: (...insert) => noticing(db.insertMany(...insert)),
      tx: (work) => noticing(db.tx(work)),
      txUnsynced: (work) => noticing(db.txUnsynced(work)),
      onFenced(fire) {
        ofFence.add(fire);
        return () => void ofFence.delete(fire);
      },
      onFault(fire) {
        ofFaults.add(fire);
        return () => void ofFaults.delete(fire);
      },
    }),
  };
}
