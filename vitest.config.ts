import { availableParallelism } from 'node:os';
import path from 'node:path';
import { defineConfig } from 'vitest/config';
import { SlowestFiles } from './test/rig/slowest-files.ts';
import { SlowestFirst } from './test/rig/slowest-first.ts';
import { StoresOnPostgres } from './test/rig/stores-on-postgres.ts';

const major = Number(process.versions.node.split('.')[0]);
if (major !== 24) {
  throw new Error(
    `The tests run under the Node.js 24 that comes with the dependencies, and this is ${process.version} (${process.execPath}). ` +
      'Start them with `npm test`, `npx vitest` or `node_modules/.bin/node node_modules/vitest/vitest.mjs`: ' +
      'the native SQLite driver crashes on older versions.',
  );
}

// Folders of test/ that need no database of ours. Every other folder of test/ runs once per database,
// so that a new folder is never left out by accident.
const plain = ['contract', 'config', 'install', 'protocol', 'rig', 'vectors'].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);
// The suffix of a file's name says which databases it runs on, in every other folder:
//   x.plain.test.ts   no database of ours.
//   x.sqlite.test.ts  SQLite alone: what would be the same whatever the database behind it, such as what is said at a terminal, what
//                     is refused before a statement runs, bytes on HTTP, SMTP and DNS. Its statements run elsewhere on both.
//   x.both.test.ts    SQLite and PostgreSQL in `npm test`: what a dialect can change (the database seam, claims, faults, races,
//                     models, paging, search, filters, query plans) and one file of each family. `StoresOnPostgres` fails the run
//                     when these files leave a function of a store out.
//   x.test.ts         SQLite in `npm test`, PostgreSQL in `npm run test:all`.
const withoutDatabase = 'test/**/*.plain.test.{ts,tsx}';
const onSqliteAlone = 'test/**/*.sqlite.test.{ts,tsx}';
const onBoth = 'test/**/*.both.test.{ts,tsx}';
const apart = ['tidy', 'driver', 'peers', 'package', 'browser', 'bench'].map((folder) => `test/${folder}/**`);
// Planted violations prove that each check can fail: once in the suite, not at every check.
const GUARDS = ['test/tidy/guards.test.ts', 'test/tidy/rules.test.ts'];

// The console and tables at a terminal show local times.
process.env['TZ'] = 'UTC';

// Compiled code is kept between runs: every process that runs files would spend a second on compiling it again.
process.env['NODE_COMPILE_CACHE'] ??= path.join(import.meta.dirname, '.cache/compile');

const globalSetup = ['test/rig/global-setup.ts'];
const perDatabase = { include: ['test/**/*.test.{ts,tsx}'], exclude: [...plain, withoutDatabase, ...apart] };

export default defineConfig({
  test: {
    pool: 'forks',
    // One more than there are cores, because a file spends a fifth of its time waiting for its database, servers and mail.
    maxWorkers: availableParallelism() + 1,
    // A process for each file would spend half of the suite on starting and importing.
    isolate: false,
    // Files run as Node.js runs the program itself: types are stripped, and imports are unchanged. Nothing here is
    // mocked or transformed, and Vite's own loader costs a tenth of the suite.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // The limit is long, since a busy machine is not a failure; a test that hangs is found by any limit.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // The limit of `expect.poll`; that of `vi.waitFor` is in rig/patience.ts.
    expect: { poll: { timeout: 90_000 } },
    // A test that passes the second time has a defect that would be ignored.
    retry: 0,
    setupFiles: ['test/rig/leaves-nothing.ts', 'test/rig/asserts-something.ts'],
    reporters: ['default', new SlowestFiles(), new StoresOnPostgres()],
    passWithNoTests: false,
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{bin,src,cli,console,migrations}/**/*.test.{ts,tsx}', ...plain, withoutDatabase],
        },
      },
      {
        extends: true,
        test: { name: 'tidy', include: ['test/tidy/**/*.test.ts'], exclude: GUARDS },
      },
      { extends: true, test: { name: 'guards', include: GUARDS } },
      {
        extends: true,
        test: { name: 'sqlite', env: { RASKET_TEST_DB: 'better-sqlite3' }, globalSetup, ...perDatabase },
      },
      {
        extends: true,
        test: {
          name: 'pg',
          env: { RASKET_TEST_DB: 'pg' },
          globalSetup,
          setupFiles: ['test/rig/store-coverage.ts'],
          include: [onBoth],
          exclude: perDatabase.exclude,
        },
      },
      {
        extends: true,
        test: {
          name: 'pg-rest',
          // What repeats by RASKET_TEST_SCALE does so on SQLite, and in `pg` what a dialect can change.
          env: { RASKET_TEST_DB: 'pg', RASKET_TEST_SCALE: '1' },
          globalSetup,
          ...perDatabase,
          exclude: [...perDatabase.exclude, onSqliteAlone, onBoth],
        },
      },
      {
        extends: true,
        test: {
          name: 'sqlite3',
          env: { RASKET_TEST_DB: 'sqlite3' },
          globalSetup,
          include: ['test/driver/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'peers',
          env: { RASKET_TEST_DB: 'better-sqlite3' },
          globalSetup,
          include: ['test/{package,peers}/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          env: { RASKET_TEST_DB: 'better-sqlite3' },
          globalSetup,
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 300_000,
        },
      },
    ],
  },
});
