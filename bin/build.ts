/**
 * Compiles the program, with the packages that every start loads, into a few files: `node bin/build.ts FOLDER`. To find and load
 * hundreds of small ones is the larger part of a start. The launcher runs this, and names the folder after the state of the
 * sources; what is imported when it is needed is a file of its own, and a package of that kind stays where it is.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';
import { APART, COMMON, MODULES, PLUGINS } from './build-plugins.ts';

const root = path.resolve(import.meta.dirname, '..');

/**
 * A running server loads parts of its build later. Besides the builds known to be in use, this many are kept for
 * processes that cannot be seen.
 */
const KEPT = 5;
/** Anything else of this age is not a build in progress: a build that was cut off, or the mark of one that failed. */
const LEFTOVER_MS = 3_600_000;

// The process that made the build also goes on as another user (installation.ts), and loads the remaining parts as that
// user.
process.umask(0o022);

/** CommonJS inside a module requires parts of Node with this, and packages that are installed next to it. */
const REQUIRE = `const require = (name) => process.getBuiltinModule(name) ?? process.getBuiltinModule('node:module').createRequire(import.meta.url)(name);`;

async function makeBuild(folder: string): Promise<void> {
  const { outputFiles } = await build({
    ...COMMON,
    ...MODULES,
    absWorkingDir: root,
    entryPoints: { main: 'bin/compiled.ts' },
    outdir: folder,
    external: [...APART, 'better-sqlite3'],
    banner: { js: REQUIRE },
    plugins: [withContract, besideTheSource(folder), whatIsLoadedLater, ...PLUGINS],
  });
  // Renamed when it is complete: another start may have made the same build by now, and this one may be cut off.
  const draft = `${folder}.${process.pid}`;
  try {
    mkdirSync(draft, { recursive: true });
    for (const { path: file, contents } of outputFiles)
      writeFileSync(path.join(draft, path.basename(file)), contents, { flush: true });
    syncFolder(draft);
    // A power cut may leave an empty file; the launcher does not run a build with an empty main.js.
    if (statSync(path.join(folder, 'main.js'), { throwIfNoEntry: false })?.size === 0)
      rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
}

function syncFolder(folder: string): void {
  const open = openSync(folder, 'r');
  try {
    fsyncSync(open);
  } finally {
    closeSync(open);
  }
}

/**
 * Includes the merged document: the launcher names a build after its sources too, so that no start reads them again.
 */
const withContract: Plugin = {
  name: 'with-contract',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /\/src\/contract\/carried\.ts$/ }, () => ({
      contents: `import { readFileSync } from 'node:fs';
import document from 'merged document';
export const readCarried = () => readFileSync(new URL(document, import.meta.url), 'utf8');`,
    }));
    onResolve({ filter: /^merged document$/ }, () => ({ path: 'openapi.json', namespace: 'contract' }));
    onLoad({ filter: /.*/, namespace: 'contract' }, async () => {
      const { loadContract } = await import('../src/contract/index.ts');
      return { contents: JSON.stringify(loadContract()), loader: 'file' };
    });
  },
};

/** Packages that are imported on demand stay where they are: they are the larger half, and not needed by a start. */
const whatIsLoadedLater: Plugin = {
  name: 'what-is-loaded-later',
  setup({ onResolve }) {
    onResolve({ filter: /^[@a-z]/ }, ({ path: name, kind }) =>
      kind === 'dynamic-import' ? { path: name, external: true } : undefined,
    );
  },
};

/**
 * Makes modules find their files (settings, migrations, the contract, threads) next to their source instead of the
 * build.
 */
function besideTheSource(folder: string): Plugin {
  return {
    name: 'beside-the-source',
    setup({ onLoad }) {
      onLoad({ filter: /\.tsx?$/ }, ({ path: file }) => {
        const source = readFileSync(file, 'utf8');
        if (!source.includes('import.meta.')) return undefined;
        // Relative, because the program is moved as a whole once it is ready (install.sh).
        const here = path.relative(folder, file);
        const contents = source
          .replaceAll('import.meta.url', `new URL(${JSON.stringify(here)}, import.meta.url).href`)
          .replaceAll('import.meta.dirname', `(import.meta.dirname + ${JSON.stringify(`/${path.dirname(here)}`)})`);
        return { contents, loader: file.endsWith('x') ? 'tsx' : 'ts' };
      });
    },
  };
}

function removeOld(parent: string, now: number): void {
  const made = readdirSync(parent).map((name) => {
    const stat = statSync(path.join(parent, name), { throwIfNoEntry: false });
    return { name, at: stat?.mtimeMs ?? now };
  });
  made.sort((one, other) => other.at - one.at);
  const isBuild = (name: string): boolean => !name.includes('.');
  const running = readdirSync('/proc').map(readCommandLine).join('\n');
  const old = made.filter(({ name }) => isBuild(name)).slice(KEPT);
  const left = made.filter(({ name, at }) => !isBuild(name) && at < now - LEFTOVER_MS);
  for (const { name } of [...old, ...left]) {
    if (!running.includes(name)) rmSync(path.join(parent, name), { recursive: true, force: true });
  }
}

function readCommandLine(pid: string): string {
  try {
    return /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
  } catch {
    return '';
  }
}

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node bin/build.ts FOLDER');
  process.exitCode = 64;
} else {
  const target = path.resolve(folder);
  try {
    await makeBuild(target);
    removeOld(path.dirname(target), Date.now());
  } catch (error) {
    console.error(error);
    // The sources are at fault, and will be at the next start; a full disk will not.
    process.exitCode = error instanceof Error && 'errors' in error ? 1 : 2;
  }
}
