// Imports of our files and of parts of Node.js have full names, so nothing has to be looked up: no folder, no package.
// Vitest would report each of these thousands of imports to its main process, which takes half of the time that a
// process needs to import the program. Only watch mode needs that, to know which tests a changed file belongs to.
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
