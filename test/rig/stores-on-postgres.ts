import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { readSources } from '../tidy/tree.ts';
import { coverageFolder, type Functions } from './function-coverage.ts';
import { listFunctions } from './store-functions.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Functions that only ever run on SQLite, with the reason. */
const ONE_PROCESS = 'only SQLite’s data folder is one process’s alone, so that every other lease is over';
const ON_SQLITE_ALONE: Record<string, string> = {
  'src/mail/queue/deliveries.store.ts leaseOwners': ONE_PROCESS,
  'src/platform/work-loop/leases.store.ts releaseAll': ONE_PROCESS,
  'src/features/webhooks/endpoints/webhooks.store.ts releaseAll': ONE_PROCESS,
  'src/features/audience/contacts/audience.store.ts nextBatchSize':
    'SQLite reads an audience batch by batch, PostgreSQL in one statement',
  'src/features/audience/contacts/audience.store.ts buildEndQuery':
    'SQLite reads an audience batch by batch, PostgreSQL in one statement',
  'src/features/audience/contacts/engagement.store.ts moveForwardOnSqlite':
    'PostgreSQL moves all rows forward in one statement, in moveForwardOnPg',
  'src/mail/emails/search-blocks.store.ts formatGrams': 'words of FTS5; PostgreSQL has an index of integers',
  'src/features/inbox/store/search.store.ts formatGrams': 'words of FTS5; PostgreSQL has an index of integers',
};

/**
 * Fails the run if a function of a store does not run on PostgreSQL. `npm test` runs only a part of the test files
 * there, so that part has to run every function of every store: what the other files test is then a matter of rules,
 * which no database changes.
 */
export class StoresOnPostgres implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    rmSync(coverageFolder(process.pid), { recursive: true, force: true });
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    const project = this.#vitest?.projects.find(({ name }) => name === 'pg');
    if (!project) return;
    const ran = new Set(modules.filter((module) => module.project === project).map(({ moduleId }) => moduleId));
    const { testFiles } = await project.globTestFiles();
    // A run of some files says nothing about the part as a whole.
    if (ran.size === 0 || testFiles.some((file) => !ran.has(file))) return;
    const missing = neverRun(readRun());
    rmSync(coverageFolder(process.pid), { recursive: true, force: true });
    if (missing.length === 0) return;
    console.error(
      `\n The project pg runs these functions of stores never, so that nothing shows what they do on PostgreSQL. Let a file that runs\n` +
        ` them be named .both.test.ts:\n${missing.map((line) => `   ${line}`).join('\n')}\n`,
    );
    process.exitCode = 1;
  }
}

function readRun(): Map<string, Set<string>> {
  const folder = coverageFolder(process.pid);
  const ran = new Map<string, Set<string>>();
  for (const name of readdirSync(folder)) {
    const functions = JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as Functions;
    for (const [file, names] of Object.entries(functions)) ran.set(file, new Set([...(ran.get(file) ?? []), ...names]));
  }
  return ran;
}

function neverRun(ran: Map<string, Set<string>>): string[] {
  return readSources(ROOT, (file) => file.endsWith('.store.ts')).flatMap((source) =>
    listFunctions(source)
      .filter((name) => !ran.get(source.path)?.has(name) && !(`${source.path} ${name}` in ON_SQLITE_ALONE))
      .map((name) => `${source.path} ${name}`),
  );
}
