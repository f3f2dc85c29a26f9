import { isDatabaseSetback } from './faults.ts';
import type { Executor } from './types.ts';

/**
 * Does several works in one transaction of SQLite, each behind a savepoint: one that fails is undone alone, and its error is its
 * answer. A database that fails fails them all.
 */
export async function eachAlone(
  tx: Executor,
  works: readonly ((tx: Executor) => Promise<void>)[],
): Promise<(undefined | Error)[]> {
  const answers: (undefined | Error)[] = [];
  for (const work of works) {
    await tx.run('savepoint one_of_many');
    try {
      await work(tx);
      answers.push(undefined);
    } catch (error) {
      if (isDatabaseSetback(error)) throw error;
      await tx.run('rollback to one_of_many');
      answers.push(error instanceof Error ? error : new Error(String(error)));
    }
    await tx.run('release one_of_many');
  }
  return answers;
}
