/** Where a thread of the single file begins; which one, its first argument says (`src/program-files/thread.ts`). */
import { moduleUrl, serveModules } from '../src/program-files/index.ts';

const [, , name = ''] = process.argv;
serveModules();
void import(moduleUrl(name));
