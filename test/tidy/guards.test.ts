import { execFile } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import config from '../../oxlint.config.ts';
import { format, typesAndLint, type Check } from './checks.ts';
import { cruise, type Cruise } from './cruise.ts';
import { plantTree } from './plant.ts';

const root = path.resolve(import.meta.dirname, '../..');
const configuration = ['package.json', 'tsconfig.json', '.dependency-cruiser.cjs', '.oxfmtrc.json'];
const ofLint = [...configuration, 'oxlint.config.ts', 'test/tidy/restricted-syntax.ts'];

describe('the import rules', () => {
  // Each file breaks the rule it is named after and no other.
  const planted: Record<string, string> = {
    'contract-imports-nothing-above-it': 'src/contract/a.ts -> ../protocol/text/index.ts',
    'program-files-imports-nothing-above-it': 'src/program-files/r.ts -> ../contract/index.ts',
    'protocol-imports-nothing-above-it': 'src/protocol/text/b.ts -> ../../platform/db/index.ts',
    'platform-imports-nothing-above-it': 'src/platform/db/c.ts -> ../../mail/events/index.ts',
    'tenancy-imports-nothing-above-it': 'src/tenancy/teams/d.ts -> ../../mail/emails/index.ts',
    'mail-imports-nothing-above-it': 'src/mail/queue/e.ts -> ../../features/metrics/index.ts',
    'features-imports-nothing-above-it': 'src/features/metrics/f.ts -> ../../operations.ts',
    'only-ports-know-transports': 'src/features/metrics/y.ts -> fastify',
    'protocol-is-pure': 'src/protocol/text/aa.ts -> node:fs',
    'few-parts-open-connections': 'src/mail/queue/ab.ts -> node:net',
    'rules-see-no-network': 'src/mail/emails/z.ts -> ../../platform/resolver/index.ts',
    'ports-never-meet': 'src/ports/http/g.ts -> ../smtp/index.ts',
    'only-bin-starts-the-app': 'src/open-world.ts -> ./app.ts',
    'operator-commands-load-no-server': 'bin/commands/y.ts -> ../../src/mail/queue/index.ts',
    'modules-are-entered-through-index': 'src/mail/queue/i.ts -> ../emails/read-emails.ts',
    'no-cycles': 'src/protocol/text/l.ts -> ./m.ts',
    'no-cycles-between-modules': 'src/mail/queue/n.ts -> ../deliver/index.ts',
    'sql-stays-in-stores': 'src/mail/emails/o.ts -> knex',
    'commands-do-not-import-node-http': 'cli/z.ts -> node:http',
    'migrations-stand-alone': 'migrations/0001_p.ts -> ../src/protocol/text/index.ts',
    'shipped-code-imports-no-tests': 'src/protocol/text/q.ts -> ../../../test/rig/clock.ts',
    'clients-see-only-the-contract': 'cli/r.ts -> ../src/protocol/text/index.ts',
    'server-knows-no-client': 'src/ports/http/t.ts -> ../../../cli/client/index.ts',
    'imports-resolve': 'src/protocol/text/v.ts -> ./nowhere.ts',
    'no-development-packages-in-the-program': 'src/protocol/text/w.ts -> fast-check',
  };

  const doors = [
    'src/app.ts',
    'src/contract/index.ts',
    'src/protocol/text/index.ts',
    'src/platform/db/index.ts',
    'src/platform/resolver/index.ts',
    'src/tenancy/teams/index.ts',
    'src/mail/events/index.ts',
    'src/mail/emails/index.ts',
    'src/mail/emails/read-emails.ts',
    'src/features/metrics/index.ts',
    'src/operations.ts',
    'src/ports/http/index.ts',
    'src/ports/smtp/index.ts',
    'test/rig/clock.ts',
    'cli/client/index.ts',
  ];

  const sound: Record<string, string> = {
    ...Object.fromEntries(doors.map((file) => [file, 'export const x = 1;\n'])),
    'src/mail/queue/index.ts': 'export const x = 1;\n',
    'src/mail/deliver/index.ts': "export { x } from '../queue/index.ts';\n",
    'src/protocol/text/m.ts': 'export const x = 1;\n',
    'src/mail/emails/emails.store.ts': "import type { Knex } from 'knex';\nexport type Rows = Knex;\n",
  };

  const trees: { remove: () => void }[] = [];
  afterAll(() => trees.forEach(({ remove }) => remove()));

  const cruiseTree = (files: Record<string, string>): Promise<Cruise> => {
    const tree = plantTree(files, configuration);
    trees.push(tree);
    return cruise(tree.root);
  };

  it('accept a valid tree and read every file of it', async () => {
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
    files['src/mail/queue/index.ts'] = "export { x } from './n.ts';\n";
    const result = await cruiseTree(files);
    const { forbidden } = createRequire(import.meta.url)(path.join(root, '.dependency-cruiser.cjs')) as {
      forbidden: { name: string; comment: string }[];
    };
    expect(Object.keys(planted).sort()).toEqual(forbidden.map(({ name }) => name).sort());
    expect([...result.broken].sort()).toEqual(Object.keys(planted).sort());
    expect(forbidden.filter(({ comment }) => comment.length < 60)).toEqual([]);
  });
});

/** Returns what a check says about a tree and how it ends. */
function run({ file, args, env }: Check, cwd: string, more: string[] = []): Promise<{ exit: number; said: string }> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(process.execPath, [file, ...args, ...more], options, (_, said) =>
      resolve({ exit: child.exitCode ?? -1, said }),
    );
  });
}

// Its types are checked although .gitignore names it; the check asks for it by name.
const generated = 'src/contract/types.gen.ts';

describe('types and lint rules', () => {
  // Each plant is one file with one violation of its rule.
  const plants: { file: string; code: string; rule: string }[] = [
    {
      file: 'src/mail/queue/a.ts',
      code: 'export const f = (p: Promise<void>) => { p; };',
      rule: 'no-floating-promises',
    },
    {
      file: 'cli/misused.ts',
      code: 'export const f = (p: Promise<boolean>): number => (p ? 1 : 2);',
      rule: 'no-misused-promises',
    },
    {
      file: 'console/await.tsx',
      code: 'export const f = async (x: number): Promise<number> => await x;',
      rule: 'await-thenable',
    },
    {
      file: 'migrations/0002_b.ts',
      code: 'export const f = async (p: Promise<void>): Promise<void> => {\n  try {\n    return p;\n  } catch {}\n};',
      rule: 'return-await',
    },
    {
      file: 'bin/switch.ts',
      code: "export const f = (x: 'a' | 'b'): void => {\n  switch (x) {\n    case 'a':\n  }\n};",
      rule: 'switch-exhaustiveness-check',
    },
    { file: 'src/platform/db/b.ts', code: "console.log('x');\nexport {};", rule: 'no-console' },
    { file: 'src/platform/config/b.ts', code: "console.log('x');\nexport {};", rule: 'no-console' },
    { file: 'src/platform/db/c.ts', code: 'export const x = process.env;', rule: 'no-restricted-properties' },
    { file: 'console/c.ts', code: 'export const x = process.env;', rule: 'no-restricted-properties' },
    {
      file: 'src/mail/queue/c.ts',
      code: "export const x = process.env['HOME'];",
      rule: 'no-restricted-properties',
    },
    { file: 'src/ports/http/d.ts', code: "export { env } from 'node:process';", rule: 'no-restricted-imports' },
    { file: 'src/protocol/dkim/e.ts', code: 'export const x = Date.now();', rule: 'no-restricted-properties' },
    { file: 'src/mail/events/e.ts', code: 'export const x = performance.now();', rule: 'no-restricted-properties' },
    { file: 'src/mail/emails/f.ts', code: 'export const x = new Date();', rule: 'restricted' },
    { file: 'src/mail/queue/g.ts', code: 'export const x = Math.random();', rule: 'no-restricted-properties' },
    { file: 'src/mail/emails/g.ts', code: "export const x = fetch('/');", rule: 'no-restricted-globals' },
    { file: 'src/mail/emails/h.ts', code: 'export const x = WebSocket;', rule: 'no-restricted-globals' },
    { file: 'src/protocol/dkim/g.ts', code: "export { connect } from 'node:net';", rule: 'no-restricted-imports' },
    {
      file: 'src/protocol/dkim/h.ts',
      code: "export { randomUUID } from 'node:crypto';",
      rule: 'no-restricted-imports',
    },
    { file: 'src/mail/queue/h.ts', code: 'setTimeout(() => {}, 1);\nexport {};', rule: 'no-restricted-globals' },
    {
      file: 'src/mail/queue/i.ts',
      code: "export { setTimeout } from 'node:timers/promises';",
      rule: 'no-restricted-imports',
    },
    {
      file: 'src/mail/emails/j.ts',
      code: "import { randomUUID } from 'node:crypto';\nexport const x = randomUUID;",
      rule: 'no-restricted-imports',
    },
    {
      file: 'src/mail/emails/k.ts',
      code: "export { randomUUID } from 'node:crypto';",
      rule: 'no-restricted-imports',
    },
    { file: 'cli/k.ts', code: 'export default 1;', rule: 'restricted' },
    { file: 'cli/l.ts', code: "export const x = 'See it with: rasket queue holds';", rule: 'restricted' },
    { file: 'console/m.ts', code: 'export const f = (x: string): string => `See rasket ${x}`;', rule: 'restricted' },
    { file: 'src/mail/events/index.ts', code: "export * from './z.ts';", rule: 'restricted' },
    { file: 'test/flow/l.test.ts', code: "import { it } from 'vitest';\nit.only('x', () => {});", rule: 'restricted' },
    { file: 'test/flow/m.test.ts', code: 'setTimeout(() => {}, 1);\nexport {};', rule: 'no-restricted-globals' },
    {
      file: 'test/flow/n.test.ts',
      code: "export { setTimeout } from 'node:timers/promises';",
      rule: 'no-restricted-imports',
    },
    { file: 'cli/o.ts', code: 'export const x = (y: any) => y;', rule: 'no-explicit-any' },
    { file: 'cli/p.ts', code: '// @ts-ignore\nexport const x = 1;', rule: 'ban-ts-comment' },
    { file: 'cli/eqeqeq.ts', code: 'export const f = (a: unknown): boolean => a == null;', rule: 'eqeqeq' },
    { file: 'cli/debugger.ts', code: 'debugger;\nexport {};', rule: 'no-debugger' },
    { file: 'cli/eval.ts', code: "eval('1');\nexport {};", rule: 'no-eval' },
    { file: 'cli/var.ts', code: 'export var x = 1;', rule: 'no-var' },
    { file: 'cli/const.ts', code: 'let x = 1;\nexport { x };', rule: 'prefer-const' },
    { file: 'cli/self.ts', code: 'export const f = (a: number): boolean => a === a;', rule: 'no-self-compare' },
    {
      file: 'cli/finally.ts',
      code: 'export const f = (): number => {\n  try {\n    return 1;\n  } finally {\n    return 2;\n  }\n};',
      rule: 'no-unsafe-finally',
    },
    {
      file: 'cli/chain.ts',
      code: 'export const f = (a?: { b: () => void }): void => (a?.b)!();',
      rule: 'no-unsafe-optional-chaining',
    },
    { file: 'cli/loss.ts', code: 'export const x = 5123000000000000000000000000001;', rule: 'no-loss-of-precision' },
    { file: 'cli/class.ts', code: 'export const x = /[👍]/;', rule: 'no-misleading-character-class' },
    {
      file: 'cli/else.ts',
      code: 'export const f = (a: boolean): number => {\n  if (a) return 1;\n  else if (a) return 2;\n  return 3;\n};',
      rule: 'no-dupe-else-if',
    },
    {
      file: 'cli/binary.ts',
      code: 'export const f = (a: number): boolean => (a + 1 ?? 2) === 3;',
      rule: 'no-constant-binary-expression',
    },
    { file: 'cli/throw.ts', code: "export const f = (): never => {\n  throw 'x';\n};", rule: 'no-throw-literal' },
    // Files that are not TypeScript are checked for their shape as well.
    { file: 'bin/shape.cjs', code: 'var x = 1;\nmodule.exports = x;', rule: 'no-var' },
    {
      file: 'cli/directive.ts',
      code: '// oxlint-disable-next-line no-eval -- there is none\nexport const x = 1;',
      rule: 'Unused oxlint-disable directive (no problems were reported).',
    },
    {
      file: 'cli/foreign.ts',
      code: '// eslint-disable-next-line no-eval -- there is none\nexport const x = 1;',
      rule: 'Unused eslint-disable directive (no problems were reported).',
    },
    // One plant for each promise of tsconfig.json.
    { file: 'src/ports/http/strict.ts', code: 'export const x: number = null;', rule: 'TS2322' },
    { file: 'cli/index-access.ts', code: 'export const f = (a: number[]): number => a[0];', rule: 'TS2322' },
    {
      file: 'cli/override.ts',
      code: 'export class A {\n  x(): void {}\n}\nexport class B extends A {\n  x(): void {}\n}',
      rule: 'TS4114',
    },
    {
      file: 'cli/fallthrough.ts',
      code: 'export const f = (a: number): void => {\n  switch (a) {\n    case 1:\n      f(2);\n    case 2:\n      f(3);\n  }\n};',
      rule: 'TS7029',
    },
    { file: 'cli/local.ts', code: 'const x = 1;\nexport {};', rule: 'TS6133' },
    { file: 'cli/parameter.ts', code: 'export const f = (a: number): void => {};', rule: 'TS6133' },
    { file: 'cli/erasable.ts', code: 'export enum E {\n  A,\n}', rule: 'TS1294' },
    { file: 'cli/verbatim.ts', code: "import { Check } from './type.ts';\nexport type X = Check;", rule: 'TS1484' },
    { file: 'cli/missing.ts', code: "export { x } from './nowhere.ts';", rule: 'TS2307' },
    { file: generated, code: "export const x: number = 'a';", rule: 'TS2322' },
  ];
  const allowed = {
    'src/platform/clock.ts': 'export const now = (): number => Date.now();\n',
    'src/platform/config/index.ts': 'export const env = process.env;\n',
    'src/mail/events/z.ts': 'export const z = 1;\n',
    'src/protocol/dkim/z.ts': "export { isIPv6 } from 'node:net';\n",
    'src/contract/generate.ts': "console.log('x');\nexport {};\n",
    'migrations/0001_a.ts': 'export default { up: 1 };\n',
    'cli/index.ts': "console.log(process.env['HOME']);\nexport {};\n",
    'cli/type.ts': 'export type Check = number;\n',
    'test/rig/waits.ts': 'setTimeout(() => {}, 1);\nexport {};\n',
  };

  type Report = { diagnostics: { filename: string; code?: string; message: string }[] };
  let report: Report;
  beforeAll(async () => {
    const violations = Object.fromEntries(plants.map(({ file, code }) => [file, `${code}\n`]));
    using tree = plantTree({ ...allowed, ...violations, '.gitignore': '*.gen.ts\n' }, ofLint);
    const { exit, said } = await run(typesAndLint, tree.root, ['--format', 'json']);
    expect(exit).toBe(1);
    report = JSON.parse(said) as Report;
  });

  // The rule is in brackets: `eslint(no-console)`, `typescript(TS2322)`.
  const brokenIn = (file: string): string[] =>
    report.diagnostics
      .filter(({ filename }) => filename === file)
      .map(({ code, message }) => /\((.*)\)/.exec(code ?? '')?.[1] ?? message);

  it.each(plants)('find the violation of $rule planted in $file', ({ file, rule }) => {
    expect(brokenIn(file)).toContain(rule);
  });

  it.each(Object.keys(allowed))('accept %s, which has an exception', (file) => {
    expect(brokenIn(file)).toEqual([]);
  });

  it('have a plant for each enabled rule', () => {
    const on = [config, ...config.overrides].flatMap(({ rules }) => Object.keys(rules));
    const planted = new Set(plants.map(({ rule }) => rule));
    expect(on.filter((name) => !planted.has(name.replace(/^.*\//, '')))).toEqual([]);
  });

  it('accept a valid tree', async () => {
    using tree = plantTree({ ...allowed, [generated]: 'export type X = 1;\n' }, ofLint);
    expect(await run(typesAndLint, tree.root)).toMatchObject({ exit: 0 });
  });

  it.each([
    { option: 'strict', to: { strikt: true }, says: 'Unknown compiler option' },
    { option: 'types', to: { types: ['nowhere'] }, says: "Cannot find type definition file for 'nowhere'" },
  ])('refuse a tsconfig.json in which $option has no effect', async ({ to, says }) => {
    using tree = plantTree({ ...allowed, [generated]: 'export type X = 1;\n' }, ofLint);
    const file = path.join(tree.root, 'tsconfig.json');
    const wanted = JSON.parse(fs.readFileSync(file, 'utf8')) as { compilerOptions: object };
    fs.writeFileSync(file, JSON.stringify({ ...wanted, compilerOptions: { ...wanted.compilerOptions, ...to } }));
    const { exit, said } = await run(typesAndLint, tree.root);
    expect(said).toContain(says);
    expect(exit).toBe(1);
  });
});

describe('the format check', () => {
  it.each([
    { file: 'src/a.ts', sound: "export const x = 'a';\n", broken: 'export const x = "a"\n' },
    { file: 'console/a.tsx', sound: 'export const x = <p>a</p>;\n', broken: 'export const x = <p  >a</p>;\n' },
    { file: '.a.cjs', sound: 'module.exports = 1;\n', broken: 'module.exports = 1\n' },
    { file: 'src/contract/a.yaml', sound: 'a: { b: 1 }\n', broken: 'a: {b:   1}\n' },
    { file: 'a.json', sound: '{ "a": 1 }\n', broken: '{"a":1}\n' },
  ])('accepts $file as it is formatted, and in no other form', async ({ file, sound, broken }) => {
    using good = plantTree({ [file]: sound }, configuration);
    using bad = plantTree({ [file]: broken }, configuration);
    const [accepted, refused] = await Promise.all([run(format, good.root), run(format, bad.root)]);
    expect(accepted).toMatchObject({ exit: 0 });
    expect(refused).toMatchObject({ exit: 1, said: expect.stringContaining(file) as string });
  });
});
