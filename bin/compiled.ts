/**
 * The start of a build (`build.ts`). Its modules are in one folder: looking each of them up on the disk would take a
 * tenth of a command's time.
 */
import { registerHooks } from 'node:module';

const [, main = ''] = process.argv;
/** The path by which Node found this file; the launcher uses its real name. */
const folder = process
  .getBuiltinModule('node:url')
  .pathToFileURL(main)
  .href.replace(/[^/]*$/, '');

registerHooks({
  resolve: (specifier, { parentURL }, next) =>
    specifier.startsWith('./') && parentURL?.startsWith(folder)
      ? { url: folder + specifier.slice(2), format: 'module', shortCircuit: true }
      : next(specifier),
});

await import('./compiled-program.ts');
