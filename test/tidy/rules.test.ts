import { afterEach, describe, expect, it } from 'vitest';
import { plantTree } from './plant.ts';
import { rules } from './rules.ts';

const sound: Record<string, string> = {
  'package.json': '{ "dependencies": { "knex": "3.3.0" } }',
  'package-lock.json': '{ "packages": {} }',
  'README.md':
    'See `src/app.ts`, `src/resources/<family>/` and [the tests](test/rig/clock.test.ts). Types such as `text/html` are no paths.',
  'src/app.ts': 'export const app = 1;\n',
  'src/contract/emails.yaml': 'paths:\n  /emails:\n    get:\n      operationId: listEmails\n',
  'src/contract/errors.yaml': 'errors: {}\n',
  'src/resources/emails/index.ts': 'export {};\n',
  'src/resources/emails/send-email.ts': 'export {};\n',
  'test/rig/clock.test.ts':
    "// skipped because the clock of this machine cannot be set\nit.skip('runs backwards', () => {});\n",
};

const word = (...parts: string[]): string => parts.join('');
const lines = (count: number): string => 'export {};\n'.repeat(count);
const longFunction = (count: number): string => `export function far(): void {\n${'  void 0;\n'.repeat(count - 2)}}\n`;

// One violation or more for every promise in rules.ts; each is planted alone into the sound tree above.
const plants: Record<string, Record<string, string>[]> = {
  'no file is longer than 400 lines without a reason on its first line': [
    { 'src/long.ts': lines(401) },
    { 'src/long.ts': `// Over 400 lines because\n${lines(401)}` },
  ],
  'no function is longer than 70 lines, and the known long ones only shrink': [
    { 'src/far.ts': longFunction(71) },
    { 'src/far.ts': longFunction(90), 'test/tidy/long-functions.json': '{ "src/far.ts#far": 80 }' },
    { 'src/far.ts': longFunction(75), 'test/tidy/long-functions.json': '{ "src/far.ts#far": 80 }' },
    { 'test/tidy/long-functions.json': '{ "src/gone.ts#far": 80 }' },
  ],
  'no file or folder has a name that names nothing': [
    { 'src/protocol/utils/index.ts': '' },
    { 'src/flow/queue-manager.ts': '' },
    { 'test/rig/helpers.ts': '' },
  ],
  'file names are kebab-case': [{ 'src/protocol/quotedPrintable.ts': '' }, { 'cli/Send.tsx': '' }],
  'every test file belongs to a project that runs it': [
    { 'src/protocol/dkim.spec.ts': '' },
    { 'config/default.test.ts': '' },
    { 'test/bench/send.test.ts': '' },
  ],
  'the first level holds the fixed names only': [{ 'scripts/release.sh': '' }, { 'notes.txt': '' }],
  'every path that a README cites exists': [
    { 'README.md': 'Read `src/flow/queue/claim.ts`.' },
    { 'src/README.md': 'Read `resources/domains/`.' },
    { 'src/README.md': 'Read `src/<layer>/claim.ts`.' },
    { 'README.md': 'Read [the map](src/README.md).' },
  ],
  'a family has the same name in every tree': [
    { 'src/contract/domains.yaml': 'paths:\n  /domains:\n    get:\n      operationId: listDomains\n' },
    { 'src/resources/mails/index.ts': 'export {};\n' },
    { 'test/api/mail/list.test.ts': '' },
    { 'cli/commands/domain/list.ts': '' },
  ],
  'a test that does not run says why': [
    { 'test/flow/a.test.ts': word('it', ".skip('a', () => {});\n") },
    { 'test/flow/a.test.ts': word('describe', ".skipIf(true)('a', () => {});\n") },
    { 'test/flow/a.test.ts': word('it', ".todo('a');\n") },
    { 'test/flow/a.test.ts': word("it('a', (ctx) => ctx", '.skip());\n') },
  ],
  'package.json names exact versions': [
    { 'package.json': '{ "dependencies": { "knex": "^3.3.0" } }' },
    { 'package.json': '{ "devDependencies": { "vitest": "latest" } }' },
  ],
  'the lockfile records no download address': [
    { 'package-lock.json': '{ "packages": { "a": { "resolved": "https://packages.example/a.tgz" } } }' },
  ],
  'nothing names a path or a registry of one machine': [
    { 'src/app.ts': word("export const at = '/ho", "me/ada/rasket/data';\n") },
    { 'config/default.toml': word('path = "/ro', 'ot/rasket.db"\n') },
    { '.npmrc': word('registry=https://regis', 'try.packages.org/\n') },
  ],
};

let remove = (): void => {};
afterEach(() => remove());

function findIn(files: Record<string, string>, find: (typeof rules)[number]['find']): string[] {
  const tree = plantTree(files);
  remove = tree.remove;
  return find(tree.root).map(({ at, says }) => `${at} ${says}`);
}

describe.each(rules)('the rule "$promise"', ({ promise, find }) => {
  it('accepts a sound tree', () => {
    expect(findIn(sound, find)).toEqual([]);
  });

  it('has planted violations', () => {
    expect(plants[promise]?.length ?? 0).toBeGreaterThan(0);
  });

  it.each((plants[promise] ?? []).map((files) => ({ files, names: Object.keys(files).join(' and ') })))(
    'fails on a planted $names',
    ({ files }) => {
      expect(findIn({ ...sound, ...files }, find)).not.toEqual([]);
    },
  );
});
