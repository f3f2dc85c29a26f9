import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { scratchFolder } from './scratch.ts';

/** Returns the data folder of another node: the nodes of an installation share its key and its blobs. The test removes it. */
export function nodeFolder({ dataDir }: { dataDir: string }): string {
  const folder = scratchFolder('rasket-node-');
  mkdirSync(path.join(folder, 'run'), { mode: 0o700 });
  copyFileSync(path.join(dataDir, 'instance.key'), path.join(folder, 'instance.key'));
  symlinkSync(path.join(dataDir, 'blobs'), path.join(folder, 'blobs'));
  return folder;
}
