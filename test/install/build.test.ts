import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Tree, type Run } from './tree.ts';

let tree: Tree;
beforeEach(() => {
  tree = new Tree();
  tree.markInstalled('prod');
  tree.bringBuilder();
  for (const folder of ['cli', 'console', 'migrations']) fs.mkdirSync(path.join(tree.folder, folder));
  tree.write('bin/main.ts', PROGRAM);
  tree.write('src/part.ts', "export const part = 'one';");
  tree.write('src/late.ts', "export const late = 'late one';");
  tree.write('beside.txt', 'beside');
});
afterEach(() => tree.remove());

/** Says what it was made of; with `wait` it loads a part when it is told to, with `fail` it fails. */
const PROGRAM = `
  import { readFileSync } from 'node:fs';
  import path from 'node:path';
  import { part } from '../src/part.ts';
  interface Report { main: string; part: string; beside: string[] }
  const beside = [new URL('../beside.txt', import.meta.url), path.join(import.meta.dirname, '../beside.txt')];
  const report: Report = { main: process.argv[1]!, part, beside: beside.map((file) => readFileSync(file, 'utf8')) };
  console.log(JSON.stringify(report));
  if (process.argv[2] === 'fail') (function failing(): void { throw new TypeError('planted'); })();
  if (process.argv[2] === 'wait') {
    process.stdin.resume();
    process.on('SIGUSR2', async () => {
      console.log((await import('../src/late.ts')).late);
      process.exit();
    });
    setInterval(() => undefined, 1000);
  }
`;

const BUILT = /\.cache\/build\/[0-9a-f]{64}\/main\.js$/;
const at = (...names: string[]): string => path.join(tree.folder, ...names);
const start = (args: string[] = [], env: Record<string, string> = {}): Run =>
  tree.start('/bin/sh', ['bin/rasket', ...args], { env });

/** Starts the program once, and returns what it reports about itself. */
async function started(env: Record<string, string> = {}): Promise<{ main: string; part: string; beside: string[] }> {
  const run = start([], env);
  expect(await run.ended, run.stderr).toBe(0);
  expect(run.stderr).toBe('');
  return JSON.parse(run.stdout);
}

const builds = (): string[] => fs.readdirSync(at('.cache/build')).sort();

describe('a build', () => {
  it('is made by the first start and used by the next, wherever the folder is then', async () => {
    const first = await started();
    expect(first).toEqual({ main: expect.stringMatching(BUILT), part: 'one', beside: ['beside', 'beside'] });
    expect(await started()).toEqual(first);
    expect(builds()).toHaveLength(1);
    // Compiled code goes with it.
    expect(fs.readdirSync(path.join(path.dirname(first.main), 'compile'))).toHaveLength(1);
    expect(await started({ NODE_COMPILE_CACHE: at('mine') })).toEqual(first);
    expect(fs.readdirSync(at('mine'))).toHaveLength(1);
    const moved = `${tree.folder}-moved`;
    fs.renameSync(tree.folder, moved);
    try {
      const run = tree.start('/bin/sh', [path.join(moved, 'bin/rasket')], { cwd: '/' });
      expect(await run.ended).toBe(0);
      expect(JSON.parse(run.stdout)).toEqual({ ...first, main: first.main.replace(tree.folder, moved) });
    } finally {
      fs.renameSync(moved, tree.folder);
    }
  });

  it.each([
    { what: 'written over', change: () => tree.write('src/part.ts', "export const part = 'two';") },
    {
      what: 'written over with the same size and given its time of before',
      change: () => {
        tree.write('src/part.ts', "export const part = 'two';");
        fs.utimesSync(at('src/part.ts'), IN_TIMES_TO_COME, IN_TIMES_TO_COME);
      },
    },
    {
      what: 'replaced by an older file',
      change: () => fs.renameSync(at('src/older'), at('src/part.ts')),
    },
    {
      what: 'deleted, and another one added',
      change: () => {
        fs.rmSync(at('src/part.ts'));
        tree.write('src/other.ts', "export const part = 'two';");
        tree.write('bin/main.ts', PROGRAM.replace('../src/part.ts', '../src/other.ts'));
      },
    },
  ])('is never older than its sources: one is $what', async ({ change }) => {
    tree.write('src/older', "export const part = 'two';");
    fs.utimesSync(at('src/older'), LONG_AGO, LONG_AGO);
    // The clock was ahead when these were written, and was set back.
    fs.utimesSync(at('src/part.ts'), IN_TIMES_TO_COME, IN_TIMES_TO_COME);
    expect(await started()).toMatchObject({ part: 'one' });
    change();
    expect(await started()).toMatchObject({ part: 'two', main: expect.stringMatching(BUILT) });
  });

  it('includes the operations, and is made again when the contract has changed', async () => {
    tree.write('src/contract/index.ts', "export { loadRoutes } from './routes.ts';");
    tree.write(
      'src/contract/routes.ts',
      "import { load } from './load.ts';\nexport const loadRoutes = (): string => load('emails.yaml');",
    );
    tree.write(
      'src/contract/load.ts',
      `import { readFileSync } from 'node:fs';
       export const load = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');`,
    );
    tree.write('src/contract/emails.yaml', 'one');
    tree.write(
      'src/part.ts',
      "import { loadRoutes } from './contract/index.ts';\nexport const part: string = loadRoutes();",
    );
    const { main, part } = await started();
    expect(part).toBe('one');
    expect(fs.readFileSync(main, 'utf8')).not.toContain('emails.yaml');
    tree.write('src/contract/emails.yaml', 'two');
    expect(await started()).toMatchObject({ part: 'two', main: expect.stringMatching(BUILT) });
  });

  it('does not use a source that was deleted', async () => {
    await started();
    fs.rmSync(at('src/part.ts'));
    const run = start();
    expect(await run.ended).toBe(1);
    expect(run.stderr).toMatch(/Cannot find module .*src\/part\.ts/);
  });

  it('names the lines of its sources when something fails', async () => {
    const listPlaces = (run: Run): string[] =>
      run.stderr.split('\n').flatMap((line) => /^ +at .*main\.ts:\d+/.exec(line)?.[0] ?? []);
    const built = start(['fail']);
    const source = tree.start(process.execPath, ['bin/main.ts', 'fail']);
    expect(await Promise.all([built.ended, source.ended])).toEqual([1, 1]);
    expect(JSON.parse(built.stdout.trim())).toMatchObject({ main: expect.stringMatching(BUILT) });
    expect(listPlaces(source)).toHaveLength(2);
    expect(listPlaces(built)).toEqual(listPlaces(source));
    expect(built.stderr).toContain('\nTypeError: planted\n');
  });

  // runs only where faketime is
  it.runIf(spawnSync('faketime', ['--version']).status === 0)('is the same in any year', async () => {
    await started();
    const run = tree.start('faketime', ['-f', '+400d', '/bin/sh', 'bin/rasket']);
    expect(await run.ended).toBe(0);
    expect(builds()).toHaveLength(1);
  });
});

const LONG_AGO = new Date(Date.parse('2001-01-01'));
const IN_TIMES_TO_COME = new Date(Date.parse('2201-01-01'));

describe('a start without a build', () => {
  it('runs the sources when no build can be written', async () => {
    tree.write('.cache', 'no folder');
    expect(await started()).toMatchObject({ main: at('bin/main.ts'), part: 'one' });
  });

  it('runs the sources when the build folder is a link to another place', async () => {
    fs.mkdirSync(at('elsewhere'));
    fs.symlinkSync(at('elsewhere'), at('.cache'));
    expect(await started()).toMatchObject({ main: at('bin/main.ts'), part: 'one' });
  });

  // runs only as root, who alone may give a folder away
  it.runIf(process.getuid?.() === 0)(
    'makes no build as an account that does not own the program, and uses an existing one',
    async () => {
      fs.chownSync(at('bin'), 65534, 65534);
      expect(await started()).toMatchObject({ main: at('bin/main.ts') });
      fs.chownSync(at('bin'), 0, 0);
      await started();
      fs.chownSync(at('bin'), 65534, 65534);
      expect(await started()).toMatchObject({ main: expect.stringMatching(BUILT) });
    },
  );

  it('runs the sources when they cannot be compiled, and tries again when something has changed', async () => {
    tree.write('src/late.ts', 'export const late = ;');
    expect(await started()).toMatchObject({ main: at('bin/main.ts') });
    const [failed] = builds();
    expect(fs.readFileSync(at('.cache/build', failed ?? ''), 'utf8')).toMatch(/src\/late\.ts:1:\d+: ERROR/);
    tree.standIn('compiler', `: >${at('asked')}; exit 1`);
    expect(await started({ ESBUILD_BINARY_PATH: at('path/compiler') })).toMatchObject({ main: at('bin/main.ts') });
    expect(fs.existsSync(at('asked'))).toBe(false);
    tree.write('src/late.ts', "export const late = 'late two';");
    expect(await started()).toMatchObject({ main: expect.stringMatching(BUILT) });
  });
});

it('a build that failed for a reason other than its sources is tried again', async () => {
  tree.standIn('compiler', `: >${at('asked')}; exit 1`);
  expect(await started({ ESBUILD_BINARY_PATH: at('path/compiler') })).toMatchObject({ main: at('bin/main.ts') });
  expect(fs.existsSync(at('asked'))).toBe(true);
  expect(await started()).toMatchObject({ main: expect.stringMatching(BUILT) });
});

describe('builds', () => {
  it('can be read by everybody who can read the sources', async () => {
    const run = tree.start('/bin/sh', ['-c', 'umask 077 && exec bin/rasket']);
    expect(await run.ended).toBe(0);
    const [name = ''] = builds();
    const modes = ['', '..', 'main.js'].map((part) => fs.statSync(at('.cache/build', name, part)).mode & 0o777);
    expect(modes).toEqual([0o755, 0o755, 0o644]);
  });

  it('that fail at once do not make the starts fail', async () => {
    tree.write('src/late.ts', 'export const late = ;');
    const reports = await Promise.all([started(), started(), started(), started()]);
    expect(new Set(reports.map(({ main }) => main))).toEqual(new Set([at('bin/main.ts')]));
    expect(builds()).toEqual([expect.stringMatching(/\.failed$/)]);
  });

  it('of two concurrent starts are one', async () => {
    const reports = await Promise.all([started(), started(), started()]);
    expect(new Set(reports.map(({ main }) => main)).size).toBe(1);
    expect(builds()).toHaveLength(1);
    expect(fs.existsSync(reports[0]?.main ?? '')).toBe(true);
  });

  it('that are cut off leave nothing that is used', async () => {
    tree.write('path/stuck', '#!/bin/sh\necho $PPID >builder.draft\nmv builder.draft builder\nexec sleep 600\n', 0o755);
    const run = start([], { ESBUILD_BINARY_PATH: at('path/stuck') });
    await expect.poll(() => fs.existsSync(at('builder'))).toBe(true);
    process.kill(Number(fs.readFileSync(at('builder'), 'utf8')), 'SIGKILL');
    expect(await run.ended).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ main: at('bin/main.ts'), part: 'one' });
    // Cut off later, while it was written.
    for (const name of ['old.77', 'young.78']) tree.write(`.cache/build/${name}/main.js`, 'throw');
    fs.utimesSync(at('.cache/build/old.77'), LONG_AGO, LONG_AGO);
    expect(await started()).toMatchObject({ main: expect.stringMatching(BUILT) });
    expect(builds()).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), 'young.78']);
  });

  it('with a file that a power cut left empty are not run, and are made again', async () => {
    const { main } = await started();
    fs.truncateSync(main);
    expect(await started()).toMatchObject({ main, part: 'one' });
    expect(fs.statSync(main).size).toBeGreaterThan(0);
    expect(builds()).toHaveLength(1);
  });

  // runs only where strace is, and may look at processes of its own
  it.runIf(spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0)(
    'are synced to disk before they get their name',
    async () => {
      const words = ['-f', '-y', '-e', 'trace=fsync,rename', '-o', at('calls')];
      const run = tree.start('strace', [...words, '/bin/sh', 'bin/rasket']);
      expect(await run.ended, run.stderr).toBe(0);
      const calls = fs.readFileSync(at('calls'), 'utf8').split('\n');
      const named = calls.findIndex((call) => /rename\(".*\.cache\/build\/[0-9a-f]{64}\.\d+"/.test(call));
      const [name = ''] = builds();
      const synced = calls.slice(0, named).filter((call) => call.includes(`fsync(`));
      const whatIsSynced = synced.map((call) => /build\/[0-9a-f]{64}\.\d+(\/[^>]+)?>/.exec(call)?.[1]?.slice(1) ?? '');
      const files = fs.readdirSync(at('.cache/build', name)).filter((file) => file !== 'compile');
      expect(whatIsSynced.sort()).toEqual(['', ...files].sort());
    },
  );

  it('recorded by an installation are run unchanged, and made from the sources when missing', async () => {
    const { main } = await started();
    tree.write('.installed-build', `${path.basename(path.dirname(main))}\n`);
    tree.write('src/part.ts', "export const part = 'two';");
    expect(await started()).toMatchObject({ main, part: 'one' });
    for (const name of [`${'0'.repeat(64)}\n`, '../../elsewhere\n', '']) {
      tree.write('elsewhere/main.js', 'throw');
      tree.write('.installed-build', name);
      expect(await started(), name).toMatchObject({ main: expect.stringMatching(BUILT), part: 'two' });
    }
  });

  it('used by a running server are kept, and of the others only the newest', async () => {
    const server = start(['wait']);
    await expect.poll(() => server.stdout).toContain('one');
    const mains = [];
    for (let edit = 0; edit < 7; edit++) {
      tree.write('src/late.ts', `export const late = 'edit ${edit}';`);
      mains.push((await started()).main);
    }
    expect(mains.filter((main) => fs.existsSync(main))).toEqual(mains.slice(-5));
    server.child.kill('SIGUSR2');
    expect(await server.ended, server.stderr).toBe(0);
    expect(server.stdout).toContain('late one');
  });
});
