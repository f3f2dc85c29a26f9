import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrate } from '../../src/platform/db/index.ts';
import { openScratchDb, type ScratchDb } from '../platform/scratch-db.ts';
import { isSqlite3Missing } from './sqlite3-installed.ts';

// skipped because the native sqlite3 module could not be built here; RASKET_TEST_PEERS=required insists on it.
describe.skipIf(isSqlite3Missing())('a failed statement', () => {
  let scratch: ScratchDb;
  beforeEach(async () => {
    scratch = await openScratchDb();
    await migrate(scratch.db);
  });
  afterEach(() => scratch.close());

  // knex would put them there; the other drivers never do.
  it('does not put its values into the error, and so into the log', async () => {
    const row = ['secret-bucket-name', 1, null];
    const failing = scratch.db.insertMany('rate_limits', ['bucket', 'tokens', 'updated_at'], [row]);
    const error = await failing.then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error).toBeInstanceOf(Error);
    expect(`${error?.message} ${error?.stack}`).not.toContain('secret-bucket-name');
  });
});
