/** Where a build begins (`build.ts`). Its modules stand beside each other: to look for each of them on the disk is a tenth of a command. */
import { registerHooks } from 'node:module';

const [, main = ''] = process.argv;
/** As Node has found this file; the launcher calls it by its real name. */
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
