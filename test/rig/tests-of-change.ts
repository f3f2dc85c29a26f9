import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** Folders whose tests have another name: the start of a source path, and starts of test paths. */
const TESTS_OF: [source: string, tests: string[]][] = [
  ['src/mail/accept/', ['test/api/emails/', 'test/smtp/submitted-']],
  ['src/mail/schedule/', ['test/api/emails/schedule']],
  ['src/mail/queue/', ['test/flow/claim', 'test/flow/fair-claims', 'test/flow/falls-due', 'test/fault/steps']],
  ['src/mail/queue-admin/', ['test/api/queue/']],
  ['src/mail/compose/', ['test/api/emails/what-arrives', 'test/flow/signing-keys', 'test/smtp/submitted-mail']],
  ['src/mail/deliver/', ['test/flow/deliver-', 'test/flow/outcomes', 'test/flow/retries']],
  ['src/mail/settle/', ['test/flow/outcomes', 'test/flow/retries', 'test/smtp/receiving/return-traffic']],
  ['src/mail/receive/', ['test/smtp/receiving/', 'test/api/received-emails/']],
  ['src/mail/domain-reports/', ['test/smtp/receiving/domain-reports', 'test/cli/domain-reports']],
  ['src/mail/capture/', ['test/flow/playground-page']],
  ['src/features/webhooks/', ['test/flow/webhooks', 'test/api/webhooks/']],
  ['src/features/tracking/', ['test/flow/tracking']],
  ['src/mail/domain-dns/', ['test/api/domains/', 'test/api/dns/', 'test/api/domain-claims/']],
  ['src/features/audience/import-runner/', ['test/api/contact-imports/', 'test/api/contacts/', 'test/api/topics/']],
  ['src/features/installation/upkeep/', ['test/flow/retention', 'test/flow/sweep', 'test/api/logs/retention']],
  ['src/tenancy/access/', ['test/api/conventions/']],
  ['src/mail/contents/', ['test/api/attachments/']],
  ['src/tenancy/instance/', ['test/cli/wrong-database', 'test/flow/send-switch']],
  ['src/tenancy/operators/', ['test/cli/operators']],
  ['src/mail/events/', ['test/api/emails/history', 'test/api/webhooks/webhook-events', 'test/api/metrics/']],
  ['src/platform/db/', ['test/platform/', 'test/driver/']],
  ['src/platform/config/', ['test/config/']],
  ['src/platform/', ['test/platform/']],
  ['src/protocol/', []],
  ['src/contract/', ['test/contract/', 'test/api/conventions/']],
  ['src/features/audience/operations.ts', ['test/api/contacts/', 'test/api/segments/', 'test/api/topics/']],
  ['src/operations.ts', ['test/api/conventions/']],
  ['src/ports/http/', ['test/api/conventions/']],
  ['src/ports/smtp/', ['test/smtp/']],
  ['src/', ['test/api/emails/send-email', 'test/api/system/']],
  ['config/', ['test/config/']],
  ['migrations/', ['test/platform/migrate', 'test/api/conventions/']],
  ['cli/', ['test/cli/commands', 'test/cli/families', 'test/cli/lists', 'test/cli/sessions']],
  ['console/', ['test/console/frames', 'test/console/keys']],
  ['bin/', ['test/cli/starts', 'test/cli/operators', 'test/install/launcher']],
  ['install.sh', ['test/install/install']],
  ['test/tidy/', ['test/tidy/']],
];

/** Returns filters for vitest that select the tests of changed files, and the files without a known test. */
export function testsOfChange(root: string, changed: readonly string[]): { filters: string[]; unknown: string[] } {
  const filters = new Set<string>();
  const unknown: string[] = [];
  for (const file of changed) {
    const tests = findTests(root, file);
    for (const test of tests) filters.add(test);
    if (tests.length === 0 && /\.(tsx?|yaml|toml|sh)$/.test(file)) unknown.push(file);
  }
  return { filters: [...filters].sort(), unknown };
}

function findTests(root: string, file: string): string[] {
  if (/\.test\.tsx?$/.test(file)) return [file];
  const tests = besides(root, file);
  const family =
    /^(?:src\/(?:tenancy|mail|features\/[^/]+)|cli\/commands)\/([^/]+)\/|^(?:src\/contract|cli\/families)\/([^/.]+)\./.exec(
      file,
    );
  const name = family?.[1] ?? family?.[2];
  if (name !== undefined && existsSync(path.join(root, `test/api/${name}`))) tests.push(`test/api/${name}/`);
  // The first matching row is the nearest: longer paths come before the folders that contain them.
  const row = TESTS_OF.find(([source]) => file.startsWith(source));
  // A family has its own tests; those of the whole tree would be most of the suite.
  if (row && (name === undefined || !['src/', 'src/contract/', 'cli/'].includes(row[0]) || file.startsWith('cli/')))
    tests.push(...row[1]);
  return tests;
}

/** Returns the folder of a file if it has tests: unit tests of a source are in its folder, as are tests that share a file. */
function besides(root: string, file: string): string[] {
  const folder = path.dirname(file);
  const at = path.join(root, folder);
  if (folder === '.' || file.startsWith('test/rig/') || !existsSync(at)) return [];
  return readdirSync(at).some((name) => /\.test\.tsx?$/.test(name)) ? [`${folder}/`] : [];
}

/** Returns rows that select no test, because their files were moved. */
export function rowsWithoutTests(files: readonly string[]): string[] {
  return TESTS_OF.flatMap(([, tests]) => tests).filter(
    (test) => !files.some((file) => file.startsWith(test) && /\.test\.tsx?$/.test(file)),
  );
}
