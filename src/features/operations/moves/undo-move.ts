import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { lockDataFolder, openDb } from '../../../platform/db/index.ts';
import { forgetMove, noteUnfinished, readMove } from '../../../tenancy/instance/index.ts';
import { MoveRefused, mustBeAlone, named, type MoveEnd } from './ends.ts';
import type { MoveOrder } from './move-database.ts';

/**
 * Makes the database that was moved the one in force again, as long as no server has used the copy, which is an unfinished one from then
 * on. What was sent from the copy would be sent again.
 */
export async function undoMove(order: Pick<MoveOrder, 'from' | 'to' | 'dataDir' | 'clock'>): Promise<void> {
  mkdirSync(path.join(order.dataDir, 'run'), { recursive: true, mode: 0o700 });
  const letGo = lockDataFolder(order.dataDir);
  try {
    await undo(named(order.from), named(order.to), order.clock.now());
  } finally {
    letGo();
  }
}

async function undo(from: MoveEnd, to: MoveEnd, at: number): Promise<void> {
  for (const { options, says } of [from, to])
    if (options.driver !== 'pg' && !existsSync(options.file)) throw new MoveRefused(`there is no database ${says}`);
  const source = await openDb(from.options);
  try {
    const mark = await readMove(source);
    if (mark?.state !== 'moved') throw new MoveRefused(`${from.says} was not moved: there is nothing to undo`);
    const target = await openDb(to.options);
    try {
      const copy = await readMove(target);
      const isCopy = copy?.state === 'copying' || copy?.state === 'copied';
      if (!isCopy || copy.installation !== mark.installation) throw wasUsed(from, to);
      await mustBeAlone(target, to.says);
      // First: a crash in between leaves a move that can be finished or undone once more.
      if (!(await noteUnfinished(target, copy, at))) throw wasUsed(from, to);
    } finally {
      await target.close();
    }
    await forgetMove(source);
  } finally {
    await source.close();
  }
}

const wasUsed = (from: MoveEnd, to: MoveEnd): MoveRefused =>
  new MoveRefused(
    `${to.says} is not an unused copy of ${from.says}: once it was used, what came since is brought back only by another move. Nothing was changed`,
  );
