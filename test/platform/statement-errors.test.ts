import { afterEach, beforeEach, expect, it } from 'vitest';
import { migrate } from '../../src/platform/db/index.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

let scratch: ScratchDb;
beforeEach(async () => {
  scratch = await openScratchDb();
  await migrate(scratch.db);
});
afterEach(() => scratch.close());

it('a failed statement does not carry its values into the error, and so into the log', async () => {
  const row = ['secret-bucket-name', 1, null];
  const failing = scratch.db.insertMany('rate_limits', ['bucket', 'tokens', 'updated_at'], [row]);
  const error = await failing.then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  expect(`${error?.message} ${error?.stack}`).not.toContain('secret-bucket-name');
});
