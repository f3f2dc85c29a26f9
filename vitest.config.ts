import { defineConfig } from 'vitest/config';

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
const apart = ['tidy', 'driver', 'peers', 'browser', 'bench'].map((folder) => `test/${folder}/**`);

// That each check can fail is proved with planted violations: once in the suite, not at every check.
const GUARDS = 'test/tidy/guards.test.ts';

const perDatabase = { include: ['test/**/*.test.{ts,tsx}'], exclude: [...plain, ...apart] };

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // A test that passes the second time is a defect that was seen and thrown away.
    retry: 0,
    passWithNoTests: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{bin,src,cli,console,migrations}/**/*.test.{ts,tsx}', ...plain],
        },
      },
      {
        extends: true,
        test: { name: 'tidy', include: ['test/tidy/**/*.test.ts'], exclude: [GUARDS], testTimeout: 60_000 },
      },
      { extends: true, test: { name: 'guards', include: [GUARDS], testTimeout: 60_000 } },
      { extends: true, test: { name: 'sqlite', env: { RASKET_TEST_DB: 'better-sqlite3' }, ...perDatabase } },
      {
        extends: true,
        test: {
          name: 'pg',
          env: { RASKET_TEST_DB: 'pg' },
          globalSetup: ['test/rig/global-setup.ts'],
          ...perDatabase,
        },
      },
      {
        extends: true,
        test: { name: 'sqlite3', env: { RASKET_TEST_DB: 'sqlite3' }, include: ['test/driver/**/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'peers',
          env: { RASKET_TEST_DB: 'better-sqlite3' },
          include: ['test/peers/**/*.test.ts'],
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          env: { RASKET_TEST_DB: 'better-sqlite3' },
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
