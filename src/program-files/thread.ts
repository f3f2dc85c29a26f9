import path from 'node:path';
import type { Worker, WorkerOptions } from 'node:worker_threads';
import { isSingleFile, programRoot } from './places.ts';

const sea = process.getBuiltinModule('node:sea');

/**
 * Starts a thread with a module of ours, such as `src/features/installation/backups/backup-thread.ts`, or with the code
 * in a data: URL.
 */
export function startThread(module: string | URL, options: WorkerOptions = {}): Worker {
  // Loaded on demand, because most commands start no thread.
  const { Worker: Thread } = process.getBuiltinModule('node:worker_threads');
  if (module instanceof URL) return new Thread(module, options);
  if (!isSingleFile) return new Thread(path.join(programRoot, module), options);
  const name = `${path.basename(module, '.ts')}.js`;
  // A thread has hooks of its own, so its first module installs them.
  return new Thread(sea.getAsset('thread.cjs', 'utf8'), {
    ...options,
    eval: true,
    argv: [name, ...(options.argv ?? [])],
  });
}
