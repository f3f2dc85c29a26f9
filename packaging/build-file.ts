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
import { architecture, locateExecutable, fetchRuntime } from './architecture.ts';
import { licensesText } from './licenses.ts';
import { compileModules, compileStart, root, readVersion } from './modules.ts';

/** Node looks for this mark in its own executable to learn that it contains a program. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/**
 * The flags that `bin/rasket` passes, and no debugger by a signal; flags of the environment or the command line are
 * ignored.
 */
const FLAGS = ['--max-semi-space-size=8', '--disable-sigusr1'];
const FILES = [
  'package.json',
  'config/default.toml',
  'config/development.toml',
  'config/providers.toml',
  'config/replies.toml',
  'LICENSE',
];
/** Folders whose names the program lists; the files of the second are read as well. */
const FOLDERS = ['migrations', 'config/rehearsals'];

export async function buildFile(target: string): Promise<void> {
  const version = readVersion();
  const runtime = fetchRuntime(architecture);
  mkdirSync(path.dirname(target), { recursive: true });
  const work = mkdtempSync(`${target}.work-`);
  try {
    const assets = new Map<string, Uint8Array>([...(await buildAssets(version)), ...listEmbedded()]);
    const config = writeParts(work, assets, await compileStart('packaging/boot.ts', version));
    execFileSync(process.execPath, ['--experimental-sea-config', config], {
      stdio: ['ignore', 'ignore', 'inherit'],
      cwd: work,
    });
    const made = path.join(work, 'rasket');
    copyFileSync(runtime, made);
    chmodSync(made, 0o755);
    await inject(made, 'NODE_SEA_BLOB', readFileSync(path.join(work, 'blob')), { sentinelFuse: FUSE });
    renameSync(made, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function buildAssets(version: string): Promise<Map<string, Uint8Array>> {
  const assets = new Map<string, Uint8Array>();
  for (const [name, bytes] of await compileModules()) assets.set(`app/${name}`, bytes);
  assets.set('thread.cjs', await compileStart('packaging/thread.ts', version));
  assets.set('src/contract/openapi.json', Buffer.from(JSON.stringify(loadContract())));
  const folders = Object.fromEntries(FOLDERS.map((folder) => [folder, readdirSync(path.join(root, folder))]));
  assets.set('folders.json', Buffer.from(JSON.stringify(folders)));
  return assets;
}

function* listEmbedded(): Iterable<[string, Uint8Array]> {
  for (const name of FILES) yield [name, readFileSync(path.join(root, name))];
  for (const file of readdirSync(path.join(root, 'config/rehearsals'))) {
    const name = `config/rehearsals/${file}`;
    yield [name, readFileSync(path.join(root, name))];
  }
  yield ['LICENSES.txt', Buffer.from(licensesText())];
  const addon = path.join(root, 'node_modules/better-sqlite3/prebuilds', `linux-${architecture}.node`);
  yield ['better_sqlite3.node', readFileSync(addon)];
}

function writeParts(work: string, assets: ReadonlyMap<string, Uint8Array>, main: Uint8Array): string {
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

const target = locateExecutable(architecture);
await buildFile(target);
console.log(`${target}: ${Math.round(statSync(target).size / 1_000_000)} MB`);
