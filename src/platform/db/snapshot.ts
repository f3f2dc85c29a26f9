import { open } from 'node:fs/promises';
import type { Db } from './types.ts';

/** Writes what is committed now into a new SQLite file, synced, while others go on writing to this one. */
export async function writeSnapshot(db: Db, file: string): Promise<void> {
  await db.withKnex((knex) => knex.raw('vacuum into ?', [file]));
  const handle = await open(file, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
