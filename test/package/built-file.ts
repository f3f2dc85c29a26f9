import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root } from './bare-root.ts';

// Files of tests run beside each other: whoever comes second waits, and takes what is there.
const BUILD = `[ -e dist/rasket ] && [ -z "$(find package-lock.json package.json bin src cli console packaging migrations config -newer dist/rasket | head -n 1)" ] ||
  exec "$0" packaging/build-file.ts`;

/** Makes dist/rasket, unless it is newer than everything that it is made of. */
export function buildFile(): void {
  const lock = path.join(root, 'dist');
  fs.mkdirSync(lock, { recursive: true });
  execFileSync('flock', [lock, 'sh', '-c', BUILD, process.execPath], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
