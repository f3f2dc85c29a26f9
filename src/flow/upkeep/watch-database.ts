import path from 'node:path';
import type { World } from '../../platform/world/index.ts';
import type { DatabaseWatch, Tell } from './database-watch.ts';
import { watchFiles } from './watch-files.ts';
import { watchMove } from './watch-move.ts';

/** Nothing is written to a database that was moved away, or to an SQLite file that is not in its place any more. */
export function watchDatabase(world: World, tell: Tell): DatabaseWatch {
  const file = path.resolve(world.dataDir, world.config.database.path);
  const watches = [watchMove(world, tell)];
  if (world.db.dialect === 'sqlite') watches.push(watchFiles(world, file, tell));
  return {
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
