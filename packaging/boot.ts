/** Where the single file begins, as CommonJS, which is what Node 24 starts in an executable. */
import { moduleUrl, serveModules } from '../src/program-files/index.ts';
import { prepareProcess } from './prepare-process.ts';

declare const VERSION: string;

const [, , first = '', ...rest] = process.argv;
if (rest.length === 0 && ['--version', '-V', '-v', 'version'].includes(first)) {
  process.stdout.write(`${VERSION}\n`);
} else {
  prepareProcess(first);
  serveModules();
  void import(moduleUrl('main.js'));
}
