import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROLES, startApp, type App, type Role } from '../../src/app.ts';
import { createLog, type Log } from '../../src/platform/log/index.ts';
import { OperatorFault } from '../explain.ts';
import { dataFolder, DEVELOPMENT_MARK, mustBeInitialised, readConfig, type DataOptions } from './open.ts';

export interface ServeOptions extends DataOptions {
  roles?: string;
  version: string;
}

export async function serve(options: ServeOptions): Promise<void> {
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  mustBeInitialised(dataDir);
  if (existsSync(path.join(dataDir, DEVELOPMENT_MARK))) {
    throw new OperatorFault(
      `${dataDir} belongs to the development profile, whose domain nobody owns; run it with: rasket dev --data ${dataDir}`,
    );
  }
  const roles = readRoles(options.roles);
  const log = createLog(config.log);
  const app = await startApp({ config, dataDir, roles, version: options.version, log });
  announce(app, dataDir, roles, options.version);
  await untilStopped(app, dataDir, config.http.shutdown_seconds * 1000, log);
}

function readRoles(text: string | undefined): readonly Role[] {
  if (text === undefined) return ROLES;
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(ROLES as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw new OperatorFault(`${JSON.stringify(unknown)} is no role; the roles are ${ROLES.join(', ')}`);
  }
  return names as Role[];
}

const readyFile = (dataDir: string): string => path.join(dataDir, 'run', 'ready.json');

/** Says once, to programs and to people, that everything listens. Scripts wait for the file to appear. */
export function announce(app: App, dataDir: string, roles: readonly Role[], version: string): void {
  const http = app.http && { host: app.http.host, port: app.http.port, url: app.http.url };
  const ready = { pid: process.pid, version, roles, listeners: http ? { http } : {} };
  const file = readyFile(dataDir);
  writeFileSync(`${file}.part`, JSON.stringify(ready), { mode: 0o600 });
  renameSync(`${file}.part`, file);
  app.world.log.info({ ...ready, data: dataDir }, 'ready');
}

/** The first signal lets what is in hand end, a second one stops at once. */
export async function untilStopped(app: App, dataDir: string, graceMs: number, log: Log): Promise<void> {
  const first = Promise.withResolvers<NodeJS.Signals>();
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals++;
    if (signals === 1) return first.resolve(signal);
    log.warn({ signal }, 'stopped at once');
    process.exit(1);
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  // Listeners keep the process up, but a process with the delivery role alone has none.
  const keepUp = setInterval(() => undefined, 2 ** 30);
  const signal = await first.promise;
  log.info({ signal, graceMs }, 'stopping');
  rmSync(readyFile(dataDir), { force: true });
  await app.close(graceMs);
  clearInterval(keepUp);
  log.info('stopped');
}
