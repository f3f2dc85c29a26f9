/**
 * Builds `dist/rasket`, one executable for this machine's architecture: Node with the program's modules and files
 * inside, including all licences. `RASKET_PACKAGE_ARCH=arm64` (or x64) builds it for the other one, as
 * `dist/rasket-arm64`. `src/program-files/` defines its content and how that is found again.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { inject } from 'postject';
import { loadContract } from '../src/contract/index.ts';
import { readCommit, readVersion } from '../src/program-files/index.ts';
import { fetchRuntime, locateExecutable, readArchitecture } from './architecture.ts';
import { licensesText } from './licenses.ts';
import { compileModules, compileStart, root } from './modules.ts';
import { endWithCleanUp } from './work-folder.ts';

/** Node looks for this mark in its own executable to learn that it contains a program. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/**
 * The flags that `bin/rasket` passes, and no debugger by a signal; flags of the environment or the command line are
 * ignored.
 */
const FLAGS = ['--max-semi-space-size=8', '--disable-sigusr1'];
/** Files that the program reads. */
const FILES = [
  'package.json',
  'config/default.toml',
  'config/development.toml',
  'config/providers.toml',
  'config/replies.toml',
  'config/common-passwords.txt',
  'LICENSE',
];
/** Folders whose names the program lists. */
const FOLDERS = ['migrations', 'config/rehearsals'];
/** Files that `rasket --unpack` writes, and folders of such files. */
const UNPACKED = ['install.sh', 'systemd', 'config', 'docs', 'monitoring', 'LICENSE', 'README.md', 'CHANGELOG.md'];

/** The parts that executables for all architectures share. */
export type Parts = ReadonlyMap<string, Uint8Array>;

export interface Executable {
  target: string;
  architecture: string;
  parts: Parts;
}

export async function buildExecutable({ target, architecture, parts }: Executable): Promise<void> {
  const runtime = fetchRuntime(architecture);
  mkdirSync(path.dirname(target), { recursive: true });
  const work = mkdtempSync(`${target}.work-`);
  const removeWork = (): void => rmSync(work, { recursive: true, force: true });
  using _cleaned = endWithCleanUp(removeWork);
  const addon = path.join(root, 'node_modules/better-sqlite3/prebuilds', `linux-${architecture}.node`);
  const assets = new Map([...parts, ['better_sqlite3.node', readFileSync(addon)] as const]);
  const config = writeParts(work, assets, await compileStart('packaging/boot.ts', readVersion()));
  execFileSync(process.execPath, ['--experimental-sea-config', config], {
    stdio: ['ignore', 'ignore', 'inherit'],
    cwd: work,
  });
  const made = path.join(work, 'rasket');
  copyFileSync(runtime, made);
  chmodSync(made, 0o755);
  await injectBlob(made, readFileSync(path.join(work, 'blob')));
  renameSync(made, target);
}

/** The public key of a release is kept in its executables, which check later releases with it. */
export async function makeParts(releaseKey = ''): Promise<Parts> {
  const parts = new Map<string, Uint8Array>();
  for (const [name, bytes] of await compileModules()) parts.set(`app/${name}`, bytes);
  parts.set('thread.cjs', await compileStart('packaging/thread.ts', readVersion()));
  parts.set('src/contract/openapi.json', Buffer.from(JSON.stringify(loadContract())));
  const folders = Object.fromEntries(FOLDERS.map((folder) => [folder, readdirSync(path.join(root, folder))]));
  parts.set('folders.json', Buffer.from(JSON.stringify(folders)));
  const unpacked = UNPACKED.flatMap(listFiles);
  for (const name of [...FILES, ...unpacked]) parts.set(name, readFileSync(path.join(root, name)));
  parts.set('LICENSES.txt', Buffer.from(licensesText()));
  parts.set('.commit', Buffer.from(readCommit(root)));
  parts.set('release.pub', Buffer.from(releaseKey));
  const names = [...unpacked, 'LICENSES.txt', ...(releaseKey === '' ? [] : ['release.pub'])];
  parts.set('unpacked.json', Buffer.from(JSON.stringify(names)));
  return parts;
}

function listFiles(name: string): string[] {
  if (statSync(path.join(root, name)).isFile()) return [name];
  return readdirSync(path.join(root, name)).flatMap((entry) => listFiles(`${name}/${entry}`));
}

function writeParts(work: string, assets: Parts, main: Uint8Array): string {
  const places: Record<string, string> = {};
  for (const [at, [name, bytes]] of [...assets].entries()) {
    const file = path.join(work, `asset-${at}`);
    writeFileSync(file, bytes);
    places[name] = file;
  }
  writeFileSync(path.join(work, 'main.cjs'), main);
  const config = {
    main: path.join(work, 'main.cjs'),
    output: path.join(work, 'blob'),
    disableExperimentalSEAWarning: true,
    useCodeCache: false,
    execArgv: FLAGS,
    execArgvExtension: 'none',
    assets: places,
  };
  writeFileSync(path.join(work, 'config.json'), JSON.stringify(config));
  return path.join(work, 'config.json');
}

/** The postject package warns of notes in Node's executable that have no name, which is of no consequence. */
async function injectBlob(file: string, blob: Buffer): Promise<void> {
  const { warn } = console;
  console.warn = (...words: unknown[]) => {
    if (!String(words[0]).includes("Can't find string offset for section name '.note")) warn(...words);
  };
  try {
    await inject(file, 'NODE_SEA_BLOB', blob, { sentinelFuse: FUSE });
  } finally {
    console.warn = warn;
  }
}

if (import.meta.main) {
  const architecture = readArchitecture();
  const target = locateExecutable(architecture);
  await buildExecutable({ target, architecture, parts: await makeParts() });
  console.log(`${target}: ${Math.round(statSync(target).size / 1_000_000)} MB`);
}
