import type { Executor } from './types.ts';

const behind = new WeakMap<Executor, Executor>();

/** Notes that a wrapper of a database, such as one that audits a call, is that database to whatever is kept for it. */
export function noteWrapper<Wrapper extends Executor>(wrapper: Wrapper, db: Executor): Wrapper {
  behind.set(wrapper, databaseBehind(db));
  return wrapper;
}

/** The key for what a process keeps once for a database: limits, executors, caches. A wrapper would begin with none. */
export const databaseBehind = (db: Executor): Executor => behind.get(db) ?? db;
