import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { lockDataFolder, rewriteFile } from '../../src/platform/db/index.ts';
import { OperatorFault } from '../explain.ts';
import { dataFolder, mustBeInitialised, readConfig, withStore, type DataOptions } from './open.ts';

export async function vacuum(options: DataOptions): Promise<void> {
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  if (config.database.driver === 'pg') {
    throw new OperatorFault(
      'PostgreSQL reuses free space automatically (autovacuum); to return it to the system, run VACUUM FULL there',
    );
  }
  mustBeInitialised(dataDir);
  const file = path.resolve(dataDir, config.database.path);
  const before = formatSize(file);
  await withStore(config, dataDir, async ({ db }) => {
    mkdirSync(path.join(dataDir, 'run'), { recursive: true, mode: 0o700 });
    const release = lockDataFolder(dataDir);
    await rewriteFile(db).finally(release);
  });
  console.log(`${file} had ${before} MB and has ${formatSize(file)} MB now.`);
}

const formatSize = (file: string): string => ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) / 1e6).toFixed(1);
