import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Reporter, TestModule, TestProject } from 'vitest/node';

const SHOWN = 10;
const LONG_SECONDS = 8;

/** The files that took longer than eight seconds when `RASKET_TEST_SECONDS=write npm test` was last run, with their seconds. */
const LONG_FILES = path.join(import.meta.dirname, 'long-files.json');
export const longFiles = (): Record<string, number> =>
  JSON.parse(readFileSync(LONG_FILES, 'utf8')) as Record<string, number>;

export const formatFileName = (project: TestProject, file: string): string =>
  `${project.name} ${path.relative(project.config.root, file)}`;

/** Names the files that took longest, where the suite can become faster. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const timed = modules
      .map((module) => {
        const { duration, collectDuration, prepareDuration, setupDuration } = module.diagnostic();
        const seconds = (duration + collectDuration + prepareDuration + setupDuration) / 1000;
        return { name: formatFileName(module.project, module.moduleId), seconds };
      })
      .sort((a, b) => b.seconds - a.seconds);
    if (process.env['RASKET_TEST_SECONDS'] === 'write') write(timed);
    if (timed.length <= SHOWN) return;
    const lines = timed.slice(0, SHOWN).map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`);
    console.log(`\n The slowest files\n${lines.join('\n')}\n`);
  }
}

function write(timed: readonly { name: string; seconds: number }[]): void {
  const listed = new Map(Object.entries(longFiles()));
  for (const { name, seconds } of timed) listed.set(name, Math.round(seconds));
  // Files that were not run keep their seconds.
  const long = [...listed].filter(([name, seconds]) => seconds > LONG_SECONDS && existsSync(name.split(' ')[1] ?? ''));
  writeFileSync(LONG_FILES, `${JSON.stringify(Object.fromEntries(long.sort((a, b) => b[1] - a[1])), null, 2)}\n`);
}
