import fs from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { driver } from '../rig/database.ts';
import { listen } from './blocker.ts';
import { Desk, expectOneLine } from './desk.ts';
import { Installation, type Made } from './installation.ts';

// A dozen processes one after the other, on whatever else the machine does.
vi.setConfig({ testTimeout: 180_000 });

let installation: Installation;
beforeAll(async () => void (installation = await Installation.make()));
afterAll(() => installation.clear());

let desk: Desk;
let env: Record<string, string>;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
});
afterEach(() => desk.clear());

const readMode = (file: string): string => (fs.statSync(file).mode & 0o777).toString(8);

async function init(data: string, ...words: string[]): Promise<Made> {
  const ended = await desk.rasket(['init', '--data', data, '--json', ...words], { env });
  expect(ended, ended.stderr).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(ended.stdout) as Made;
}

/** Makes an installation as `rasket init` does. */
const install = (): Promise<Made> => installation.copyTo(desk, 'data', env);

describe('rasket init', () => {
  it('makes a private folder and a working key, once', async () => {
    env = await desk.database('empty');
    fs.mkdirSync(desk.at('data'), { mode: 0o755 });
    const made = await init('data');
    expect(made).toEqual({
      team_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      team: 'my-team',
      api_key: expect.stringMatching(/^rk_/),
      url: 'http://127.0.0.1:3000',
      data: desk.at('data'),
    });
    expect([desk.at('data'), desk.at('data/run'), desk.at('data/instance.key')].map(readMode)).toEqual([
      '700',
      '700',
      '600',
    ]);
    expectOneLine(await desk.rasket(['init', '--data', 'data'], { env }), /already has a team; .*--team NAME/);

    const server = await desk.serve(['serve', '--data', 'data'], { env });
    const other = await init('data', '--team', 'Marketing');
    for (const key of [made.api_key, other.api_key]) {
      const asked = await desk.rasket(['domains', 'list', '--url', server.url, '--api-key', key, '--json']);
      expect(JSON.parse(asked.stdout)).toMatchObject({ object: 'list', data: [] });
    }
    expectOneLine(
      await desk.rasket(['teams', 'create', 'Marketing', '--data', 'data'], { env }),
      /named marketing already exists; .* List them with: rasket teams list --data /,
    );
    const teams = await desk.rasket(['teams', 'list', '--data', 'data', '--json'], { env });
    expect((JSON.parse(teams.stdout) as { slug: string }[]).map((team) => team.slug).sort()).toEqual([
      'marketing',
      'my-team',
    ]);
    expect(await server.stop()).toMatchObject({ code: 0 });
  });

  it('can be repeated when an earlier attempt left an unfinished folder', async () => {
    fs.mkdirSync(desk.at('data/run'), { recursive: true });
    desk.write('data/instance.key', '');
    await init('data');
  });
});

// skipped because with SQLite the database is in the folder itself
describe.skipIf(driver !== 'pg')('a database that already has teams', () => {
  it.each(['init', 'dev'])('is not used by the new folder of rasket %s', async (verb) => {
    const made = await install();
    const refused = await desk.rasket([verb, '--data', 'other'], { env: { ...env, RASKET_HTTP_PORT: '0' } });
    expectOneLine(refused, /belongs to another data folder; copy that folder's instance\.key/);
    const teams = await desk.rasket(['teams', 'list', '--data', 'data', '--json'], { env });
    expect(JSON.parse(teams.stdout)).toEqual([expect.objectContaining({ id: made.team_id })]);
    fs.copyFileSync(desk.at('data/instance.key'), desk.at('other/instance.key'));
    expect(await desk.rasket(['init', '--data', 'other', '--team', 'Second'], { env })).toMatchObject({ code: 0 });
  });
});

describe('rasket serve', () => {
  // skipped because with PostgreSQL it would be the same: no role's own start reads or writes
  it.skipIf(driver === 'pg').each(['http', 'delivery', 'scheduler'])('runs only the role %s', async (role) => {
    await install();
    const server = await desk.serve(['serve', '--data', 'data', '--roles', role], { env });
    expect(server.ready).toMatchObject({ pid: server.pid, roles: [role] });
    expect(Object.keys(server.ready.listeners)).toEqual(role === 'http' ? ['http'] : []);
    expect(readMode(server.readyFile)).toBe('600');
    expect(await server.stop()).toMatchObject({ code: 0 });
    expect(fs.existsSync(server.readyFile)).toBe(false);
  });

  // skipped because with PostgreSQL the processes of one machine may share a folder
  it.skipIf(driver === 'pg')(
    'runs alone on its data folder, and a refused second one leaves the first unharmed',
    async () => {
      await install();
      const first = await desk.serve(['serve', '--data', 'data'], { env });
      expect(first.ready.listeners.http?.port).toBeGreaterThan(0);
      const second = await desk.rasket(['serve', '--data', 'data'], { env: { ...env, RASKET_HTTP_PORT: '0' } });
      expectOneLine(second, /another rasket process \(\d+\) is using .*data; stop it first/);
      expect(JSON.parse(fs.readFileSync(first.readyFile, 'utf8'))).toMatchObject({ pid: first.pid });
      const health = await desk.rasket(['health', '--url', first.url]);
      expect(health.code).toBe(0);
    },
  );

  // runs only with PostgreSQL, because SQLite bears one process
  it.runIf(driver === 'pg')('does not touch the ready file of another process on the same folder', async () => {
    await install();
    const first = await desk.serve(['serve', '--data', 'data', '--roles', 'http'], { env });
    const second = await desk.serve(['serve', '--data', 'data', '--roles', 'delivery'], { env });
    expect(await first.stop()).toMatchObject({ code: 0 });
    expect(JSON.parse(fs.readFileSync(second.readyFile, 'utf8'))).toMatchObject({ pid: second.pid });
    expect(await second.stop()).toMatchObject({ code: 0 });
    expect(fs.existsSync(second.readyFile)).toBe(false);
  });

  // skipped because with PostgreSQL it would be the same: the file stands in the data folder
  it.skipIf(driver === 'pg')('does not take the ready file of a killed process for its own', async () => {
    await install();
    const killed = await desk.serve(['serve', '--data', 'data'], { env });
    killed.kill('SIGKILL');
    await killed.ended;
    expect(fs.existsSync(killed.readyFile)).toBe(true);
    const blocker = await listen(0);
    const refused = await desk.rasket(['serve', '--data', 'data'], {
      env: { ...env, RASKET_HTTP_PORT: `${blocker.port}` },
    });
    expectOneLine(
      refused,
      new RegExp(`port ${blocker.port} on 127\\.0\\.0\\.1 is in use by .*; .*http\\.port \\(RASKET_HTTP_PORT\\)`),
    );
    expect(fs.existsSync(killed.readyFile)).toBe(false);
    blocker.close();
    await desk.serve(['serve', '--data', 'data'], { env });
  });
});
