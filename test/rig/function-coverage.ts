import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Returns the folder of a run: its processes are children of the one process that started it. */
export const coverageFolder = (mainPid: number): string => path.join(ROOT, `.cache/stores-on-postgres/${mainPid}`);

export type Functions = Record<string, string[]>;

// This module is loaded once per process, unlike a setup file, which runs for each test file.
const session = new Session();
session.connect();
session.post('Profiler.enable');
// No counts are collected: V8 then optimizes a function as usual once it has run.
session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: false });
// An inspector session that is connected keeps its process alive.
process.once('disconnect', () => session.disconnect());

const seen = new Map<string, Set<string>>();

/** Records which functions of stores have run in this process so far. */
export function writeStoreFunctions(): void {
  session.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (error) throw error;
    for (const { url, functions } of taken.result) {
      if (!url.startsWith('file:') || !/\.store\.ts($|\?)/.test(url)) continue;
      const file = path.relative(ROOT, fileURLToPath(url.replace(/\?.*$/, '')));
      const names = seen.get(file) ?? new Set();
      seen.set(file, names);
      for (const { functionName, ranges } of functions) if (ranges[0]!.count > 0) names.add(functionName);
    }
  });
  const folder = coverageFolder(process.ppid);
  mkdirSync(folder, { recursive: true });
  const functions: Functions = Object.fromEntries([...seen].map(([file, names]) => [file, [...names]]));
  writeFileSync(path.join(folder, `${process.pid}.json`), JSON.stringify(functions));
}
