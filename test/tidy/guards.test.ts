import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { ESLint } from 'eslint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cruise, type Cruise } from './cruise.ts';
import { plantTree } from './plant.ts';

const root = path.resolve(import.meta.dirname, '../..');
const configuration = [
  'package.json',
  'tsconfig.json',
  'eslint.config.js',
  '.dependency-cruiser.cjs',
  '.prettierrc.json',
];

describe('the import rules', () => {
  // Each file breaks the rule it is named after and no other.
  const planted: Record<string, string> = {
    'contract-imports-nothing-above-it': 'src/contract/a.ts -> ../protocol/text/index.ts',
    'protocol-imports-nothing-above-it': 'src/protocol/text/b.ts -> ../../platform/db/index.ts',
    'platform-imports-nothing-above-it': 'src/platform/db/c.ts -> ../../events/index.ts',
    'events-imports-nothing-above-it': 'src/events/d.ts -> ../resources/emails/index.ts',
    'resources-imports-nothing-above-it': 'src/resources/emails/e.ts -> ../../flow/mail/queue/index.ts',
    'flow-imports-nothing-above-it': 'src/flow/mail/queue/f.ts -> ../../../operations/index.ts',
    'operations-imports-nothing-above-it': 'src/operations/x.ts -> ../http/index.ts',
    'operations-know-no-transport': 'src/operations/y.ts -> fastify',
    'resources-see-no-network': 'src/resources/emails/z.ts -> ../../platform/resolver/index.ts',
    'ports-never-meet': 'src/http/g.ts -> ../smtp/index.ts',
    'only-bin-starts-the-app': 'src/http/h.ts -> ../app.ts',
    'modules-are-entered-through-index': 'src/flow/mail/queue/i.ts -> ../../../resources/emails/present.ts',
    'modules-are-entered-through-index-from-outside': 'src/cron/j.ts -> ../resources/emails/present.ts',
    'whole-folders-are-entered-through-index': 'src/flow/mail/queue/k.ts -> ../../../events/vocabulary.ts',
    'whole-folders-are-entered-through-index-from-outside': 'src/entry.ts -> ./events/vocabulary.ts',
    'no-cycles': 'src/protocol/text/l.ts -> ./m.ts',
    'no-cycles-between-modules': 'src/flow/mail/queue/n.ts -> ../deliver/index.ts',
    'sql-stays-in-stores': 'src/resources/emails/o.ts -> knex',
    'migrations-stand-alone': 'migrations/0001_p.ts -> ../src/protocol/text/index.ts',
    'nothing-imports-tests': 'src/protocol/text/q.ts -> ../../../test/rig/clock.ts',
    'clients-see-only-the-contract': 'cli/r.ts -> ../src/protocol/text/index.ts',
    'console-takes-no-command-of-the-cli': 'console/s.tsx -> ../cli/output/table.ts',
    'server-knows-no-client': 'src/http/t.ts -> ../../cli/client/index.ts',
    'console-is-entered-through-main': 'cli/u.ts -> ../console/screens/emails.tsx',
    'imports-resolve': 'src/protocol/text/v.ts -> ./nowhere.ts',
    'no-development-packages-in-the-program': 'src/protocol/text/w.ts -> fast-check',
  };

  const doors = [
    ...[
      'src/app.ts',
      'src/contract/index.ts',
      'src/protocol/text/index.ts',
      'src/platform/db/index.ts',
      'src/platform/resolver/index.ts',
      'src/events/index.ts',
      'src/operations/index.ts',
    ],
    ...[
      'src/resources/emails/index.ts',
      'src/resources/emails/present.ts',
      'src/events/vocabulary.ts',
      'src/http/index.ts',
    ],
    ...[
      'src/smtp/index.ts',
      'test/rig/clock.ts',
      'cli/output/table.ts',
      'cli/client/index.ts',
      'console/screens/emails.tsx',
    ],
  ];

  const sound: Record<string, string> = {
    ...Object.fromEntries(doors.map((file) => [file, 'export const x = 1;\n'])),
    'src/flow/mail/queue/index.ts': 'export const x = 1;\n',
    'src/flow/mail/deliver/index.ts': "export { x } from '../queue/index.ts';\n",
    'src/protocol/text/m.ts': 'export const x = 1;\n',
    'src/resources/emails/emails.store.ts': "import type { Knex } from 'knex';\nexport type Rows = Knex;\n",
  };

  const trees: { remove: () => void }[] = [];
  afterAll(() => trees.forEach(({ remove }) => remove()));

  const cruiseTree = (files: Record<string, string>): Promise<Cruise> => {
    const tree = plantTree(files, configuration);
    trees.push(tree);
    return cruise(tree.root);
  };

  it('accept a sound tree and look into every file of it', async () => {
    const result = await cruiseTree(sound);
    expect(result.violations).toEqual([]);
    expect(result.modules).toBe(Object.keys(sound).length);
  });

  it('find one planted violation of each rule, and every rule has its plant', async () => {
    const files: Record<string, string> = { ...sound };
    for (const plant of Object.values(planted)) {
      const [file = '', target = ''] = plant.split(' -> ');
      files[file] = `import * as taken from '${target}';\nexport const x = taken;\n`;
    }
    files['src/protocol/text/m.ts'] = "import { x as l } from './l.ts';\nexport const x: unknown = l;\n";
    files['src/flow/mail/queue/index.ts'] = "export { x } from './n.ts';\n";
    const result = await cruiseTree(files);
    const { forbidden } = createRequire(import.meta.url)(path.join(root, '.dependency-cruiser.cjs')) as {
      forbidden: { name: string; comment: string }[];
    };
    expect(Object.keys(planted).sort()).toEqual(forbidden.map(({ name }) => name).sort());
    expect([...result.broken].sort()).toEqual(Object.keys(planted).sort());
    expect(forbidden.filter(({ comment }) => comment.length < 60)).toEqual([]);
  });

  it('find every way in which a resource might reach another machine', async () => {
    const ways = ['world', 'resolver', 'fetch', 'api-call'].map((name) => `../../platform/${name}/index.ts`);
    const targets = [...ways, 'node:net', 'node:tls', 'node:https', 'node:dns/promises', 'http2'];
    const result = await cruiseTree({
      ...Object.fromEntries(ways.map((way) => [`src/${way.replace('../../', '')}`, 'export interface X { x: 1 }\n'])),
      ...Object.fromEntries(
        targets.map((target, i) => [`src/resources/emails/a${i}.ts`, `export type * as taken from '${target}';\n`]),
      ),
    });
    const found = result.violations.filter((violation) => violation.startsWith('resources-see-no-network'));
    expect(found.length, result.violations.join('\n')).toBe(targets.length);
  });
});

describe('the lint rules', () => {
  const plants = [
    {
      file: 'src/flow/mail/queue/a.ts',
      code: 'export const f = (p: Promise<void>) => { p; };',
      rule: '@typescript-eslint/no-floating-promises',
    },
    { file: 'src/platform/db/b.ts', code: "console.log('x');\nexport {};", rule: 'no-console' },
    { file: 'src/platform/db/c.ts', code: 'export const x = process.env;', rule: 'no-restricted-properties' },
    {
      file: 'src/flow/mail/queue/c.ts',
      code: "export const x = process.env['HOME'];",
      rule: 'no-restricted-properties',
    },
    { file: 'src/http/d.ts', code: "export { env } from 'node:process';", rule: 'no-restricted-imports' },
    { file: 'src/protocol/dkim/e.ts', code: 'export const x = Date.now();', rule: 'no-restricted-properties' },
    { file: 'src/resources/emails/f.ts', code: 'export const x = new Date();', rule: 'no-restricted-syntax' },
    { file: 'src/flow/mail/queue/g.ts', code: 'export const x = Math.random();', rule: 'no-restricted-properties' },
    { file: 'src/flow/mail/queue/h.ts', code: 'setTimeout(() => {}, 1);\nexport {};', rule: 'no-restricted-globals' },
    {
      file: 'src/flow/mail/queue/i.ts',
      code: "export { setTimeout } from 'node:timers/promises';",
      rule: 'no-restricted-imports',
    },
    {
      file: 'src/resources/emails/j.ts',
      code: "export { randomUUID } from 'node:crypto';",
      rule: 'no-restricted-imports',
    },
    { file: 'cli/k.ts', code: 'export default 1;', rule: 'no-restricted-syntax' },
    { file: 'src/events/index.ts', code: "export * from '../http/z.ts';", rule: 'no-restricted-syntax' },
    {
      file: 'test/flow/l.test.ts',
      code: "import { it } from 'vitest';\nit.only('x', () => {});",
      rule: 'no-restricted-syntax',
    },
    { file: 'test/flow/m.test.ts', code: 'setTimeout(() => {}, 1);\nexport {};', rule: 'no-restricted-globals' },
    {
      file: 'test/flow/n.test.ts',
      code: "export { setTimeout } from 'node:timers/promises';",
      rule: 'no-restricted-imports',
    },
    { file: 'cli/o.ts', code: 'export const x = (y: any) => y;', rule: '@typescript-eslint/no-explicit-any' },
  ];
  const allowed = {
    'src/platform/clock/index.ts': 'export const now = (): number => Date.now();\n',
    'src/platform/config/index.ts': 'export const env = process.env;\n',
    'src/http/z.ts': 'export const z = 1;\n',
    'migrations/0001_a.ts': 'export default { up: 1 };\n',
    'cli/index.ts': "console.log(process.env['HOME']);\nexport {};\n",
  };

  let results: ESLint.LintResult[] = [];
  let tree: ReturnType<typeof plantTree>;
  beforeAll(async () => {
    const violations = Object.fromEntries(plants.map(({ file, code }) => [file, `${code}\n`]));
    tree = plantTree({ ...allowed, ...violations }, configuration);
    results = await new ESLint({ cwd: tree.root }).lintFiles(['.']);
  }, 60_000);
  afterAll(() => tree.remove());

  const rulesBrokenIn = (file: string): (string | null)[] => {
    const result = results.find(({ filePath }) => filePath === path.join(tree.root, file));
    if (!result) throw new Error(`${file} was not linted`);
    return result.messages.map(({ ruleId, message }) => ruleId ?? message);
  };

  it.each(plants)('$rule finds its plant in $file', ({ file, rule }) => {
    expect(rulesBrokenIn(file)).toContain(rule);
  });

  it.each(Object.keys(allowed))('%s, which may do what others may not, is accepted', (file) => {
    expect(rulesBrokenIn(file)).toEqual([]);
  });
});

describe('the other checks', () => {
  const exitOf = (cwd: string, script: string, args: string[]): Promise<number> =>
    new Promise((resolve) => {
      const child = execFile(process.execPath, [script, ...args], { cwd }, () => resolve(child.exitCode ?? -1));
    });
  const packages = path.join(root, 'node_modules');
  const typesAndLint = path.join(root, 'test/tidy/types-and-lint.ts');
  const prettier = path.join(packages, 'prettier/bin/prettier.cjs');

  it.each([
    {
      check: 'types',
      script: typesAndLint,
      args: [],
      sound: 'export const x = 1;\n',
      broken: "export const x: number = 'a';\n",
    },
    {
      check: 'lint',
      script: typesAndLint,
      args: [],
      sound: 'export const x = async (): Promise<void> => undefined;\nawait x();\n',
      broken: 'export const x = async (): Promise<void> => undefined;\nx();\n',
    },
    {
      check: 'format',
      script: prettier,
      args: ['--check', 'src'],
      sound: "export const x = 'a';\n",
      broken: 'export const x = "a"\n',
    },
  ])('$check accepts a sound file and fails on a planted fault', async ({ script, args, sound, broken }) => {
    const good = plantTree({ 'src/a.ts': sound }, configuration);
    const bad = plantTree({ 'src/a.ts': broken }, configuration);
    try {
      const exits = await Promise.all([exitOf(good.root, script, args), exitOf(bad.root, script, args)]);
      expect(exits[0]).toBe(0);
      expect(exits[1]).toBeGreaterThan(0);
    } finally {
      good.remove();
      bad.remove();
    }
  });
});
