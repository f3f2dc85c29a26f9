/** The build options for single modules, shared by a checkout (`build.ts`) and the single file (`packaging/`). */
import { fileURLToPath } from 'node:url';
import type { BuildOptions, Plugin } from 'esbuild';

/** Optional dependencies of packages that are not used here: other databases of knex, React developer tools. */
const UNUSED = [
  'mariadb',
  'mysql',
  'mysql2',
  'oracledb',
  'pg-native',
  'pg-query-stream',
  'react-devtools-core',
  'tedious',
];
/** Native addons, which may be missing. */
const OPTIONAL = ['keytar', '@napi-rs/keyring', 'sqlite3'];

/** Packages that stay outside of every module: their imports are resolved on the disk. */
export const APART: readonly string[] = [...UNUSED, ...OPTIONAL];

export const COMMON = {
  bundle: true,
  write: false,
  platform: 'node',
  target: 'node24',
  tsconfigRaw: {},
  logLevel: 'error',
  define: { 'process.env.DEV': '"false"', 'process.env.NODE_ENV': '"production"' },
} satisfies BuildOptions;

/**
 * Modules with their packages, each loaded on demand: finding hundreds of files on the disk would take much of a start.
 */
export const MODULES = {
  splitting: true,
  format: 'esm',
  jsx: 'automatic',
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  minifyWhitespace: true,
} satisfies BuildOptions;

/** JSX is compiled already. */
const withoutLoaders: Plugin = {
  name: 'without-loaders',
  setup({ onLoad }) {
    onLoad({ filter: /\/cli\/commands\/load-tsx\.ts$/ }, () => ({
      contents: 'export const loadTsx = async () => undefined;',
    }));
  },
};

/** Every command begins with it. */
const withCommander: Plugin = {
  name: 'with-commander',
  setup({ onResolve }) {
    onResolve({ filter: /^commander$/ }, () => ({ path: fileURLToPath(import.meta.resolve('commander')) }));
  },
};

/** Replaces the loaders of routes and commands with their results, which are known when the build is made. */
const withOperations: Plugin = {
  name: 'with-operations',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/contract\/routes\.ts$/ }, async () => {
      // Imported only here: other builds have no contract.
      const { loadRoutes } = await import('../src/contract/index.ts');
      return { contents: `const routes = ${JSON.stringify(loadRoutes())};\nexport const loadRoutes = () => routes;` };
    });
    onLoad({ filter: /\/src\/contract\/commands\.ts$/ }, async () => {
      const { loadCommands } = await import('../src/contract/index.ts');
      // Parsing a text is several times as fast as so many object literals.
      const text = JSON.stringify(JSON.stringify(loadCommands()));
      return { contents: `const commands = JSON.parse(${text});\nexport const loadCommands = () => commands;` };
    });
  },
};

/**
 * Replaces imports of Node.js modules, which read every export and so load everything behind those; this reads only the
 * named ones.
 */
export const builtins: Plugin = {
  name: 'builtins',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^node:/ }, ({ path: name, kind }) =>
      // A required module may be a function.
      kind === 'require-call' ? { path: name, external: true } : { path: name, namespace: 'builtin' },
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path: name }) => {
      const names = Object.keys(process.getBuiltinModule(name) ?? {}).filter((one) => /^[a-z]\w*$/i.test(one));
      const named = names.map((one) => `export const ${one} = /* @__PURE__ */ (() => part().${one})();`);
      const part = `const part = () => process.getBuiltinModule(${JSON.stringify(name)});`;
      // Commander imports all of it, and uses none of it here.
      const getters = names.map((one) => `get ${one}() { return part().${one}; }`);
      const whole = name === 'node:child_process' ? `{ ${getters.join(', ')} }` : '/* @__PURE__ */ part()';
      return { contents: [part, `export default ${whole};`, ...named].join('\n') };
    });
  },
};

export const PLUGINS: readonly Plugin[] = [withoutLoaders, withCommander, withOperations, builtins];
