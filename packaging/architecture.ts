/** The architectures that packages are made for, and the Node of each. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { root } from './modules.ts';

/** Architecture names of Node and of Debian. */
export const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Returns the architecture of this machine, or the other one by `RASKET_PACKAGE_ARCH`. */
export function readArchitecture(): string {
  const architecture = process.env['RASKET_PACKAGE_ARCH'] || process.arch;
  if (ARCHITECTURES[architecture] === undefined)
    throw new Error(
      `RASKET_PACKAGE_ARCH is ${architecture}; packages are made for ${Object.keys(ARCHITECTURES).join(' and ')}`,
    );
  return architecture;
}

/** Returns the path of the executable for an architecture. */
export const locateExecutable = (arch: string): string =>
  path.join(root, 'dist', arch === process.arch ? 'rasket' : `rasket-${arch}`);

interface Locked {
  version: string;
  integrity: string;
}

/**
 * Returns the Node that the executable is made from. The one of another architecture is downloaded from the registry,
 * as the lockfile names it.
 */
export function fetchRuntime(arch: string): string {
  if (arch === process.arch) return process.execPath;
  const lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };
  const name = `node-linux-${arch}`;
  const locked = lock.packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`package-lock.json names no ${name}`);
  if (`v${locked.version}` !== process.version)
    throw new Error(`${name} is ${locked.version} and this is Node ${process.version}: they must be the same`);
  const folder = path.join(root, '.cache', `${name}-${locked.version}`);
  if (!existsSync(folder)) take(`${name}@${locked.version}`, locked.integrity, folder);
  return path.join(folder, 'bin/node');
}

function take(wanted: string, integrity: string, folder: string): void {
  mkdirSync(path.dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}.work-`);
  try {
    // Not installed: npm omits packages for another processor.
    execFileSync('npm', ['pack', '--silent', '--pack-destination', work, wanted], {
      stdio: ['ignore', 'ignore', 'inherit'],
      cwd: work,
    });
    const archive = path.join(work, `${wanted.replace('@', '-')}.tgz`);
    const [kind = '', sum] = integrity.split(/-(.*)/s);
    if (createHash(kind).update(readFileSync(archive)).digest('base64') !== sum)
      throw new Error(`${wanted} of the registry is not the one that package-lock.json names`);
    execFileSync('tar', ['-xzf', archive, '-C', work]);
    renameSync(path.join(work, 'package'), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
