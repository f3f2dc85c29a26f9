import { NEW_FILE_PRAGMA } from './pragmas.ts';
import type { Db, Row } from './types.ts';

/** Of all pages, those that stay free: what is written next would only have to ask for them again. */
const KEPT_SHARE = 0.05;

/** `pragma` runs one to its end and answers the number in its first row. */
export async function cutUnusedPages(
  pragma: (text: string) => Promise<number> | number,
  pagesMax: number,
): Promise<number> {
  const free = await pragma('freelist_count');
  const kept = Math.ceil((await pragma('page_count')) * KEPT_SHARE);
  const count = Math.min(pagesMax, free - kept);
  if (count <= 0) return 0;
  await pragma(`incremental_vacuum(${count})`);
  return free - (await pragma('freelist_count'));
}

export const firstNumber = (rows: readonly Row[]): number => Number(Object.values(rows[0] ?? {})[0] ?? 0);

/**
 * Writes the whole SQLite file anew, without unused pages and so that it can be cut from then on. Needs as much free room
 * as the file has, and no other process may be using it.
 */
export async function rewriteFile(db: Db): Promise<void> {
  await db.withKnex(async (knex) => {
    await knex.raw(`pragma ${NEW_FILE_PRAGMA}`);
    await knex.raw('vacuum');
  });
}
