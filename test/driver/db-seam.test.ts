import { describe } from 'vitest';
import { describeAbandoned, describeSeam } from '../platform/db-seam.ts';
import { isSqlite3Missing } from './sqlite3-installed.ts';

// skipped because the native sqlite3 module could not be built here; RASKET_TEST_PEERS=required insists on it.
describe.skipIf(isSqlite3Missing())('the database layer with sqlite3', describeSeam);
// skipped because the native sqlite3 module could not be built here; RASKET_TEST_PEERS=required insists on it.
describe.skipIf(isSqlite3Missing())('a database whose file was replaced, with sqlite3', describeAbandoned);
