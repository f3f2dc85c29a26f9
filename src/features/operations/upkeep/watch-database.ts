import path from 'node:path';
import type { World } from '../../../platform/world/index.ts';
import type { DatabaseWatch, Tell } from './database-watch.ts';
import { watchCommits } from './watch-commits.ts';
import { watchDamage, type DamageWatch } from './watch-damage.ts';
import { watchFiles } from './watch-files.ts';
import { watchMove } from './watch-move.ts';

/** Reports the node as not ready while the database was moved away, is missing, is damaged, or takes no commit. */
export function watchDatabase(world: World, tell: Tell): DamageWatch {
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
