import type { Executor } from './types.ts';

/** Resolves when the database answers. */
export async function ping(db: Executor): Promise<void> {
  await db.get('select 1 as one');
}
