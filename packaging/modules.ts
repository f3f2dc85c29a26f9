/** Compiles the program and its packages into the modules of the single file. */
import path from 'node:path';
import { build, type Plugin } from 'esbuild';
import { APART, builtins, COMMON, MODULES, PLUGINS } from '../bin/build-plugins.ts';

export const root: string = path.resolve(import.meta.dirname, '..');

/** Modules that a file cannot contain are absent, whatever is on the disk. */
const ABSENT = [...APART, 'better-sqlite3/build'];

/** CommonJS inside a module requires parts of Node with this; whether a package exists does not depend on the disk. */
const REQUIRE = `const require = (name) => {
  const part = process.getBuiltinModule(name);
  if (part !== undefined) return part;
  throw Object.assign(new Error("Cannot find module '" + name + "': it is not a part of the single file"), { code: 'MODULE_NOT_FOUND' });
};`;

export async function compileModules(): Promise<Map<string, Uint8Array>> {
  const { outputFiles } = await build({
    ...COMMON,
    ...MODULES,
    absWorkingDir: root,
    entryPoints: {
      main: 'packaging/main.ts',
      'authentication-thread': 'src/mail/receive/authentication-thread.ts',
      'reader-thread': 'src/mail/receive/reader-thread.ts',
      'backup-thread': 'src/features/installation/backups/backup-thread.ts',
      'check-thread': 'src/platform/db/check-thread.ts',
      'text-thread': 'src/text-thread.ts',
    },
    outdir: path.join(root, 'dist'),
    external: ABSENT,
    banner: { js: REQUIRE },
    plugins: [withUndici, withAddon, withPackages, ...PLUGINS],
  });
  return new Map(outputFiles.map(({ path: file, contents }) => [path.basename(file), contents]));
}

/** A program of one piece, which the executable or a thread of it starts with. */
export async function compileStart(entry: string, version: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    ...COMMON,
    absWorkingDir: root,
    entryPoints: [entry],
    format: 'cjs',
    outdir: path.join(root, 'dist'),
    define: { ...COMMON.define, VERSION: JSON.stringify(version), 'import.meta.url': '"file:///proc/self/exe"' },
    // It is evaluated without a function around it in a thread.
    banner: { js: '"use strict";' },
    supported: { 'dynamic-import': true },
    plugins: [builtins],
  });
  const [made] = outputFiles;
  if (made === undefined) throw new Error(`${entry} made nothing`);
  return made.contents;
}

/** The first webhook loads it, here from the same module. */
const withUndici: Plugin = {
  name: 'with-undici',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/platform\/fetch\/undici\.ts$/ }, ({ path: file }) => ({
      contents: `export const undici = () => require('undici');`,
      resolveDir: path.dirname(file),
      loader: 'js',
    }));
  },
};

/** Only Node knows the export names of CommonJS that is imported on demand; it reads the file to find them. */
const withPackages: Plugin = {
  name: 'with-packages',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^[@a-z]/ }, ({ path: name, kind, resolveDir }) =>
      kind === 'dynamic-import' && !name.startsWith('node:') && !ABSENT.includes(name)
        ? { path: name, namespace: 'package', pluginData: resolveDir }
        : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'package' }, async ({ path: name, pluginData: resolveDir }) => {
      const exported = (await import(name)) as Record<string, unknown>;
      if (!('module.exports' in exported))
        return { contents: `export * from '${name}'; ${formatDefaultExport(name, exported)}`, resolveDir };
      const names = Object.keys(exported).filter((one) => /^[a-z_$][\w$]*$/i.test(one) && one !== 'default');
      const lines = names.map((one) => `export const ${one} = all.${one};`);
      return { contents: [`const all = require('${name}');`, 'export default all;', ...lines].join('\n'), resolveDir };
    });
  },
};

const formatDefaultExport = (name: string, exported: object): string =>
  'default' in exported ? `export { default } from '${name}';` : '';

/** SQLite's addon is found by our module and nowhere else. */
const withAddon: Plugin = {
  name: 'with-addon',
  setup({ onLoad }) {
    onLoad({ filter: /\/better-sqlite3\/lib\/binding\.js$/ }, () => ({
      contents: `let addon;
exports.getBinding = (given) => given ?? (addon ??= require('./src/program-files/index.ts').loadAddon());`,
      resolveDir: root,
      loader: 'js',
    }));
  },
};
