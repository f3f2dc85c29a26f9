// Files of ours and parts of Node.js are named in full where they are imported, so that there is nothing to look up: no
// folder, no package. Vitest would tell its main process of each of these thousands of imports, which takes the half of what
// a process needs to import the program. Only watching asks for that, to know which tests a changed file is of.
import { registerHooks } from 'node:module';

const OURS = /^\.\.?\/.*\.tsx?$/;

if (process.env['VITEST_MODE'] !== 'WATCH') {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith('node:')) return { url: specifier, format: 'builtin', shortCircuit: true };
      const { parentURL } = context;
      if (!OURS.test(specifier) || !parentURL?.startsWith('file:') || parentURL.includes('/node_modules/'))
        return next(specifier, context);
      return { url: new URL(specifier, parentURL).href, shortCircuit: true };
    },
  });
}
