/**
 * The entry point of a thread of the single file; its first argument selects the thread
 * (`src/program-files/thread.ts`).
 */
import { moduleUrl, serveModules } from '../src/program-files/index.ts';

const [, , name = ''] = process.argv;
serveModules();
void import(moduleUrl(name));
