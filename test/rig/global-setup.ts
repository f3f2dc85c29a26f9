import type { TestProject } from 'vitest/node';
import { startPostgres } from './pg.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Address of a PostgreSQL whose role may create databases; each test file makes and drops its own. */
    pgUrl: string;
  }
}

/** Runs once per `vitest run`, and only when a test file of the `pg` project is selected. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['RASKET_TEST_PG_URL'];
  if (given) {
    project.provide('pgUrl', given);
    return async () => {};
  }
  const server = await startPostgres();
  project.provide('pgUrl', server.url);
  return server.stop;
}
