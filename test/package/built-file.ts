import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { locateExecutable } from '../../packaging/architecture.ts';
import { root } from './bare-root.ts';

// Files of tests run at the same time: the second one waits, and takes what is there.
const BUILD = `[ -e "$1" ] && [ -z "$(find package-lock.json package.json bin src cli console packaging migrations config docs monitoring systemd install.sh README.md CHANGELOG.md -newer "$1" | head -n 1)" ] ||
  exec "$0" packaging/build-file.ts`;

/** Makes dist/rasket, or the one for another architecture, unless it is newer than everything that it is made of; answers where it is. */
export function buildFile(architecture: string = process.arch): string {
  const file = locateExecutable(architecture);
  const lock = path.join(root, 'dist');
  fs.mkdirSync(lock, { recursive: true });
  execFileSync('flock', [lock, 'sh', '-c', BUILD, process.execPath, file], {
    cwd: root,
    env: { ...process.env, RASKET_PACKAGE_ARCH: architecture },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return file;
}
