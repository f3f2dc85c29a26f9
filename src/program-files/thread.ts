import path from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { isSingleFile, programRoot } from './places.ts';

const sea = process.getBuiltinModule('node:sea');

/** Starts a thread at a module of ours, such as `src/resources/backups/backup-thread.ts`, or at what stands in a data: URL. */
export function startThread(module: string | URL, options: WorkerOptions = {}): Worker {
  if (module instanceof URL) return new Worker(module, options);
  if (!isSingleFile) return new Worker(path.join(programRoot, module), options);
  const name = `${path.basename(module, '.ts')}.js`;
  // A thread has hooks of its own, so it begins with what sets them.
  return new Worker(sea.getAsset('thread.cjs', 'utf8'), {
    ...options,
    eval: true,
    argv: [name, ...(options.argv ?? [])],
  });
}
