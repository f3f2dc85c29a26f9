import type { Executor } from './types.ts';

const behind = new WeakMap<Executor, Executor>();

/** Records that a wrapper of a database, such as one that audits a call, stands for that database. */
export function noteWrapper<Wrapper extends Executor>(wrapper: Wrapper, db: Executor): Wrapper {
  behind.set(wrapper, databaseBehind(db));
  return wrapper;
}

/**
 * Returns the key for what a process keeps once per database: limits, executors, caches. A wrapper as the key would
 * start with none.
 */
export const databaseBehind = (db: Executor): Executor => behind.get(db) ?? db;
