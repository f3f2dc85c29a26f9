/** What a build makes of single modules, for a checkout (`build.ts`) and for the single file (`packaging/`). */
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';

/** JSX is compiled already. */
export const withoutLoaders: Plugin = {
  name: 'without-loaders',
  setup({ onLoad }) {
    onLoad({ filter: /\/cli\/commands\/load-tsx\.ts$/ }, () => ({
      contents: 'export const loadTsx = async () => undefined;',
    }));
  },
};

/** Every command begins with it. */
export const withCommander: Plugin = {
  name: 'with-commander',
  setup({ onResolve }) {
    onResolve({ filter: /^commander$/ }, () => ({ path: fileURLToPath(import.meta.resolve('commander')) }));
  },
};

/** Where the operations are found is known by now; the launcher names a build after the contract too. */
export const withRoutes: Plugin = {
  name: 'with-routes',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/contract\/routes\.ts$/ }, async () => {
      // Only here: a build of something else has no contract.
      const { loadRoutes } = await import('../src/contract/index.ts');
      return { contents: `const routes = ${JSON.stringify(loadRoutes())};\nexport const loadRoutes = () => routes;` };
    });
  },
};

/** An import of a part of Node.js reads everything that the part exports, and so loads what that is made of; this, what is named. */
export const builtins: Plugin = {
  name: 'builtins',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^node:/ }, ({ path: name, kind }) =>
      // What is required may be a function.
      kind === 'require-call' ? { path: name, external: true } : { path: name, namespace: 'builtin' },
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path: name }) => {
      const names = Object.keys(process.getBuiltinModule(name) ?? {}).filter((one) => /^[a-z]\w*$/i.test(one));
      const named = names.map((one) => `export const ${one} = /* @__PURE__ */ (() => part.${one})();`);
      const part = `const part = process.getBuiltinModule(${JSON.stringify(name)});`;
      return { contents: [part, 'export default part;', ...named].join('\n') };
    });
  },
};
