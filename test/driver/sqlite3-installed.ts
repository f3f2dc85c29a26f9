import { createRequire } from 'node:module';

/** The driver is built from source where no ready one exists, which needs a compiler that not every machine has. */
export function isSqlite3Missing(): boolean {
  if (process.env.RASKET_TEST_PEERS === 'required') return false;
  try {
    createRequire(import.meta.url)('sqlite3');
    return false;
  } catch {
    return true;
  }
}
