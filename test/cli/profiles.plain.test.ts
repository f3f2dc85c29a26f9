import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startAnswering } from './contract-server.ts';
import { Desk, expectOneLine, root } from './desk.ts';

type Answering = Awaited<ReturnType<typeof startAnswering>>;

vi.setConfig({ testTimeout: 180_000 });

let desk: Desk;
let servers: Answering[] = [];
beforeEach(() => {
  desk = new Desk();
});
afterEach(async () => {
  for (const server of servers) server.close();
  servers = [];
  await desk.clear();
});

async function serving(): Promise<Answering> {
  const server = await startAnswering(({ method }) => ({
    status: 200,
    body: method === 'POST' ? { id: 'e-1' } : { object: 'list', has_more: false, data: [] },
  }));
  servers.push(server);
  return server;
}
const login = (server: Answering, key: string, ...more: string[]) =>
  desk.rasket(['login', '--url', server.url, '--api-key', key, ...more]);
const keysAt = (server: Answering) => server.asked.map(({ headers }) => headers.authorization);
const send = ['send', '--from', 'a@example.com', '--to', 'b@example.org', '--subject', 'Hi', '--text', 'x'];

/** Writes the file that a running development server leaves for the command line. */
function developmentAt(server: Answering): string {
  const access = { url: server.url, api_key: 'rk_development', process: { pid: process.pid, started: '' } };
  desk.write('dev/run/dev.json', JSON.stringify(access));
  return desk.at('dev');
}

it('commands use the server of the login, also while a development server runs', async () => {
  const mine = await serving();
  const development = await serving();
  const data = developmentAt(development);
  await login(mine, 'rk_mine');
  expect(await desk.rasket(send)).toMatchObject({ code: 0 });
  // The first request has no key: what answers there may be another program.
  expect(keysAt(mine)).toEqual([undefined, 'Bearer rk_mine', 'Bearer rk_mine']);
  expect(await desk.rasket([...send, '--data', data])).toMatchObject({ code: 0 });
  expect(keysAt(development)).toEqual(['Bearer rk_development']);
});

it('commands use the server of the login, and not the one of this checkout, when no folder is named', async () => {
  const mine = await serving();
  const development = await serving();
  // A developer of this checkout may have the file already; then it is left as it is.
  const file = path.join(root, '.rasket/run/dev.json');
  const wasThere = fs.existsSync(path.join(root, '.rasket'));
  if (!wasThere) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, JSON.stringify({ url: development.url, api_key: 'rk_development' }));
  }
  try {
    const env = { RASKET_DATA: undefined };
    await login(mine, 'rk_mine');
    expect(await desk.rasket(send, { env })).toMatchObject({ code: 0 });
    // The first request has no key: what answers there may be another program.
    expect(keysAt(mine)).toEqual([undefined, 'Bearer rk_mine', 'Bearer rk_mine']);
    expect(development.asked).toEqual([]);
  } finally {
    if (!wasThere) fs.rmSync(path.join(root, '.rasket'), { recursive: true });
  }
});

it('a profile takes precedence over the login, a flag over the variable, and an explicit address over both', async () => {
  const plain = await serving();
  const staging = await serving();
  const live = await serving();
  await login(plain, 'rk_plain');
  await login(staging, 'rk_staging', '--profile', 'staging');
  await login(live, 'rk_live', '--profile', 'live');
  for (const server of servers) server.asked.length = 0;
  const env = { RASKET_PROFILE: 'staging' };
  await desk.rasket(send, { env });
  await desk.rasket([...send, '--profile', 'live'], { env });
  await desk.rasket(send);
  expect([plain, staging, live].map(keysAt)).toEqual([['Bearer rk_plain'], ['Bearer rk_staging'], ['Bearer rk_live']]);
  // The key of a profile goes to its own address alone.
  expectOneLine(await desk.rasket([...send, '--profile', 'live', '--url', plain.url]), /No API key is set for http/);
  expect(fs.statSync(desk.at('config/rasket/profiles/live.json')).mode & 0o777).toBe(0o600);
});

it('a profile takes precedence over a folder whose development server runs', async () => {
  const staging = await serving();
  const development = await serving();
  const data = developmentAt(development);
  await login(staging, 'rk_staging', '--profile', 'staging');
  staging.asked.length = 0;
  await desk.rasket([...send, '--profile', 'staging'], { env: { RASKET_DATA: data } });
  expect(keysAt(staging)).toEqual(['Bearer rk_staging']);
  expect(development.asked).toEqual([]);
});

it('typed options take precedence over every variable, and use their own key', async () => {
  const staging = await serving();
  const development = await serving();
  const shell = await serving();
  const data = developmentAt(development);
  await login(staging, 'rk_staging', '--profile', 'staging');
  const ofTheShell = { RASKET_URL: shell.url, RASKET_API_KEY: 'rk_shell' };
  const typed: [args: string[], env: Record<string, string>, at: Answering, key: string][] = [
    [['--data', data], { RASKET_PROFILE: 'staging' }, development, 'rk_development'],
    [['--data', data], ofTheShell, development, 'rk_development'],
    [['--profile', 'staging'], { ...ofTheShell, RASKET_DATA: data }, staging, 'rk_staging'],
    [['--profile', 'staging', '--api-key', 'rk_typed'], ofTheShell, staging, 'rk_typed'],
    [['--url', staging.url], ofTheShell, staging, 'rk_shell'],
    [['--url', staging.url], { RASKET_PROFILE: 'other', RASKET_API_KEY: 'rk_shell' }, staging, 'rk_shell'],
  ];
  for (const [args, env, at, key] of typed) {
    for (const server of servers) server.asked.length = 0;
    const ended = await desk.rasket([...send, ...args], { env });
    expect(ended, `${args.join(' ')}: ${ended.stderr}`).toMatchObject({ code: 0 });
    expect(keysAt(at), args.join(' ')).toEqual([`Bearer ${key}`]);
    expect(servers.flatMap(keysAt), args.join(' ')).toHaveLength(1);
  }
  for (const server of servers) server.asked.length = 0;
  const both = await desk.rasket([...send, '--profile', 'staging', '--data', data]);
  expectOneLine(both, /--profile staging and --data \S+ name different servers; give only one of them/, 64);
  expect(servers.flatMap(keysAt)).toEqual([]);
});

it('the key of a development server is sent only to its own process, whoever listens at its address', async () => {
  const taker = await serving();
  const data = developmentAt(taker);
  const gone = spawnSync(process.execPath, ['--version']).pid;
  const leftBy = (mark: object | undefined) =>
    desk.write('dev/run/dev.json', JSON.stringify({ url: taker.url, api_key: 'rk_development', process: mark }));
  for (const mark of [undefined, { pid: gone, started: '' }, { pid: process.pid, started: '1' }]) {
    leftBy(mark);
    for (const words of [send, ['domains', 'list'], ['health'], [...send, '--api-key', 'rk_typed']]) {
      const ended = await desk.rasket([...words, '--data', data]);
      expectOneLine(
        ended,
        /No development server is running on \S+\/dev\. .* --profile\. Next: .*: rasket dev --data \S+\/dev\n$/,
        69,
      );
    }
    // An address that was named may be somebody else's, who gets no key of this one.
    expectOneLine(await desk.rasket([...send, '--data', data, '--url', taker.url]), /No API key is set for/, 77);
    expect(taker.asked).toEqual([]);
  }
  expect((await desk.rasket(['doctor', '--data', data])).stdout).toContain('No development server is running on');
  expect(taker.asked).toEqual([]);
});

it('the folder of an installation is not taken for the folder of a development server', async () => {
  desk.write('prod/instance.key', 'x');
  const ended = await desk.rasket(['emails', 'list', '--data', 'prod']);
  expectOneLine(ended, /\S+\/prod is the data folder of an installation; .* Next: .*: rasket login --url URL/, 69);
});

const REFUSED = { statusCode: 401, name: 'invalid_api_key', message: 'The API key is not valid.' };

it('a refused key is named by its source, with the command that replaces it there', async () => {
  let isGood = true;
  const server = await startAnswering(() =>
    isGood ? { status: 200, body: { object: 'list', has_more: false, data: [] } } : { status: 401, body: REFUSED },
  );
  servers.push(server);
  const data = developmentAt(server);
  await login(server, 'rk_plain');
  await login(server, 'rk_staging', '--profile', 'staging');
  isGood = false;
  const kept = (name: string): string => desk.at('config/rasket', name);
  const inVariable = { RASKET_API_KEY: 'rk_shell', RASKET_URL: server.url };
  const plain = `rasket login --url ${server.url}`;
  const staging = `rasket login --profile staging --url ${server.url}`;
  const correct = 'Correct it there, or remove it and store a key with: ';
  const refused: [args: string[], env: Record<string, string>, where: string, next: string][] = [
    [[], {}, kept('credentials.json'), `Set one with: ${plain}`],
    [['--profile', 'staging'], {}, kept('profiles/staging.json'), `Set one with: ${staging}`],
    [[], { RASKET_PROFILE: 'staging' }, kept('profiles/staging.json'), `Set one with: ${staging}`],
    [
      ['--data', data],
      {},
      `${data}/run/dev.json`,
      `Restart that server, which creates a valid key: rasket dev --data ${data}`,
    ],
    [['--data', data, '--api-key', 'rk_typed'], {}, '--api-key', `${correct + plain} --api-key`],
    [['--profile', 'staging', '--api-key', 'rk_typed'], {}, '--api-key', `${correct + staging} --api-key`],
    [[], inVariable, 'RASKET_API_KEY', `${correct + plain} --api-key`],
  ];
  for (const [args, env, where, next] of refused) {
    const ended = await desk.rasket(['emails', 'list', ...args], { env });
    expect(ended.stderr, args.join(' ')).toBe(
      `rasket: The API key in ${where} was not accepted by ${server.url} (invalid_api_key). ${next}\n`,
    );
    expect(ended.code).toBe(77);
  }
});

it('profiles are listed, and removed one by one', async () => {
  const server = await serving();
  await login(server, 'rk_plain');
  await login(server, 'rk_live', '--profile', 'live');
  const env = { RASKET_PROFILE: 'live' };
  const { stdout } = await desk.rasket(['profiles', '--json'], { env });
  expect(JSON.parse(stdout)).toMatchObject([
    { name: null, url: server.url, in_force: false },
    { name: 'live', url: server.url, in_force: true },
  ]);
  expect(stdout).not.toContain('rk_live');
  await desk.rasket(['logout', '--profile', 'live']);
  expectOneLine(
    await desk.rasket(send, { env }),
    /There is no profile live\. Create it with: rasket login --url URL --profile live$/m,
  );
  expect((await desk.rasket(send)).code).toBe(0);
});

it.each(['../x', '', 'a/b', '-x', 'a'.repeat(65)])('a profile cannot have the name %j', async (name) => {
  const server = await serving();
  const ended = await login(server, 'rk_live', `--profile=${name}`);
  expectOneLine(ended, /A profile name has 1 to 64 letters, digits, dots, underscores and hyphens/, 64);
  expect(server.asked).toEqual([]);
});

it.each(['-v', '-V', '--version', 'version'])('rasket %s prints the version', async (word) => {
  expect(await desk.rasket([word])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+(?:\+[0-9a-f]{8})?\n$/),
  });
});

it('a damaged profile prevents neither a login nor the list of the others', async () => {
  const server = await serving();
  await login(server, 'rk_good', '--profile', 'good');
  desk.write('config/rasket/profiles/bad.json', '{"url":');
  fs.chmodSync(desk.at('config/rasket/profiles/bad.json'), 0o600);
  const says =
    /bad\.json does not contain a url and an api_key\. Write it again with: rasket login --url URL --profile bad\n$/;
  expect(await login(server, 'rk_mine')).toMatchObject({ code: 0, stderr: '' });
  const shown = await desk.rasket(['profiles']);
  expect(shown).toMatchObject({ code: 77, stdout: expect.stringContaining(server.url) });
  expect(shown.stderr).toMatch(says);
  const listed = await desk.rasket(['profiles', '--json']);
  expect((JSON.parse(listed.stdout) as { name: string }[]).map(({ name }) => name)).toEqual([null, 'good']);
});
