import { accessSync, constants, mkdirSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import path from 'node:path';
import { mustBeOurs } from '../src/program-files/index.ts';

/** The variables that the launcher of a checkout (`bin/rasket`) sets before it starts Node; it gives the reasons. */
const OF_SERVERS = { UV_THREADPOOL_SIZE: '8', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_ARENA_MAX: '2' };

export function prepareProcess(command: string): void {
  if (['serve', 'dev'].includes(command)) startWithVariables();
  const cache = cacheFolder();
  if (cache !== undefined) enableCompileCache(cache);
}

/** The C library reads these when a process begins: it becomes itself once more. */
function startWithVariables(): void {
  const missing = Object.entries(OF_SERVERS).filter(([name]) => !process.env[name]);
  if (missing.length === 0) return;
  const env = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined));
  // Suppresses the warning of `execve`, which would be the first line of every log.
  process.removeAllListeners('warning');
  process.execve?.(process.execPath, process.argv.slice(1), { ...env, ...Object.fromEntries(missing) });
}

/**
 * Returns the folder in which compiled code is kept between starts. As in a checkout, only we may write to it, because
 * its content is executed.
 */
function cacheFolder(): string | undefined {
  const { NODE_COMPILE_CACHE: named, XDG_CACHE_HOME: cache, HOME: home } = process.env;
  if (named) return undefined;
  const parent = cache || (home && path.join(home, '.cache'));
  // A relative path would be another folder wherever a command is called.
  if (!parent || !path.isAbsolute(parent)) return undefined;
  const folder = path.join(parent, 'rasket', 'compile');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    mustBeOurs(folder);
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return undefined;
  }
}
