import { moduleUrl, serveModules } from '../src/program-files/index.ts';
import { prepareProcess } from './prepare-process.ts';

/** Starts the modules inside the file. */
export function start(command: string): void {
  prepareProcess(command);
  serveModules();
  void import(moduleUrl('main.js'));
}
