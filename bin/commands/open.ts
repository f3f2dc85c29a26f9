import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openWorld } from '../../src/app.ts';
import { loadConfig, type Config } from '../../src/platform/config/index.ts';
import { holdDataFolder, migrate, schemaState } from '../../src/platform/db/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { instanceKeyPath } from '../../src/platform/secrets/index.ts';
import type { World } from '../../src/platform/world/index.ts';
import { OperatorFault } from '../explain.ts';

export interface DataOptions {
  data?: string;
  config?: string;
}

export const programRoot = fileURLToPath(new URL('../../', import.meta.url));

/** The file that marks a data folder of the development profile. */
export const DEVELOPMENT_MARK = 'development';

export const dataFolder = (options: DataOptions): string =>
  path.resolve(options.data ?? process.env.RASKET_DATA ?? 'data');

export const developmentFolder = (options: DataOptions): string =>
  path.resolve(options.data ?? process.env.RASKET_DATA ?? path.join(programRoot, '.rasket'));

export function readConfig(options: DataOptions, profile: 'production' | 'development' = 'production'): Config {
  const file = options.config ?? process.env.RASKET_CONFIG;
  return loadConfig({ ...(file === undefined ? {} : { file }), profile, env: process.env }).config;
}

export function mustBeInitialised(dataDir: string, make = `rasket init --data ${dataDir}`): void {
  if (!existsSync(dataDir) || !statSync(dataDir).isDirectory() || !existsSync(instanceKeyPath(dataDir))) {
    throw new OperatorFault(`${dataDir} is no data folder of rasket; make one with: ${make}`);
  }
  const key = instanceKeyPath(dataDir);
  if (Buffer.from(readFileSync(key, 'utf8').trim(), 'base64').length !== INSTANCE_KEY_BYTES) {
    throw new OperatorFault(
      `${key} is damaged; restore it from a backup, because what the database holds encrypted cannot be read without it`,
    );
  }
}

const INSTANCE_KEY_BYTES = 32;

/** A server that runs relies on the schema it found, so a pending migration waits until it is stopped. */
export async function migrateAlone({ db, dataDir }: World): Promise<string[]> {
  if ((await schemaState(db)).pending.length === 0) return [];
  // On a database server, migrations lock one another out, and are made so that the release before goes on beside them.
  if (db.dialect === 'pg') return migrate(db);
  mkdirSync(path.join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  const letGo = holdDataFolder(dataDir);
  try {
    return await migrate(db);
  } finally {
    letGo();
  }
}

/** A world for one command of the operator, migrated and closed afterwards; it logs only what went wrong. */
export async function withWorld<T>(config: Config, dataDir: string, work: (world: World) => Promise<T>): Promise<T> {
  mustBeInitialised(dataDir);
  const log = createLog({ level: 'error', format: 'pretty' });
  const world = await openWorld({ config, dataDir, log });
  try {
    await migrateAlone(world);
    return await work(world);
  } finally {
    await world.commits.settled();
    world.resolver.close();
    await world.db.close();
  }
}
