// rasket sso and what of rasket members belongs to it --> the API, as the owner of a team
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SEALED_SSO_SECRETS } from '../../src/tenancy/sso-rows/index.ts';
import { createPeople, type Person } from '../rig/people.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startStandInProvider, type StandInProvider } from '../rig/stand-in-provider.ts';
import { runInProcess } from './in-process.ts';

const SECRET = '3kQv6tXe9cJa1mSf4dPg';

describe('the single sign-on of a team at the command line', () => {
  let scene: Scene;
  let team: Team;
  let ada: Person;
  let home: string;
  let provider: StandInProvider;
  let issuer: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    home = scratchFolder('rasket-sso-');
    scene = await startScene({ roles: ['http'], config: { sso: { allow_private: ['127.0.0.0/8'] } } });
    provider = await startStandInProvider(() => scene.clock.now());
    issuer = provider.issuer;
    team = await scene.team('Engines');
    ada = await createPeople(scene).person({ email: 'ada@people.example', team, role: 'owner' });
    const token = await createPeople(scene).program(ada, team.id);
    env = { HOME: home, RASKET_URL: scene.url, RASKET_API_KEY: token };
    fs.writeFileSync(path.join(home, 'secret'), `${SECRET}\n`);
  });
  afterAll(async () => {
    await provider?.close();
    await scene?.close();
    fs.rmSync(home, { recursive: true, force: true });
  });

  const rasket = (...words: string[]) => runInProcess(words, { cwd: home, env });
  const good = async (...words: string[]): Promise<string> => {
    const ended = await rasket(...words);
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    return ended.stdout;
  };
  const shown = async () => JSON.parse(await good('sso', 'get', '--json'));

  it('does not exist at first, and the command says how to set it up', async () => {
    const ended = await rasket('sso', 'get');
    expect(ended.code).toBe(66);
    expect(ended.stderr).toContain(
      `Set it up with: rasket sso set --url ${scene.url} --issuer URL --client-id ID --client-secret-file -`,
    );
  });

  it('is set up with a secret from a file, which no process list shows', async () => {
    const wrong = await rasket('sso', 'set', '--issuer', issuer, '--client-secret', SECRET);
    expect(wrong).toMatchObject({ code: 64, stderr: expect.stringContaining("unknown option '--client-secret'") });
    expect((await rasket('sso', 'set')).stderr).toContain('give at least one setting to change.');
    fs.writeFileSync(path.join(home, 'empty'), '\n');
    const empty = await rasket('sso', 'set', '--issuer', issuer, '--client-secret-file', 'empty');
    expect(empty).toMatchObject({ code: 64, stderr: expect.stringContaining('--client-secret-file is empty') });
    const made = await good(
      'sso',
      'set',
      '--issuer',
      issuer,
      '--client-id',
      'rasket',
      '--client-secret-file',
      'secret',
    );
    expect(made).toContain(
      `Single sign-on through ${issuer}: nobody can sign in through it before a domain is verified.`,
    );
    expect(made).toContain(
      `Register this redirect address with the provider: ${scene.app.world.origin()}/auth/sso/callback`,
    );
    const { db, secrets } = scene.app.world;
    const row = await db.get<{ id: string; client_secret: string }>('select id, client_secret from sso_connections');
    expect(secrets.open(row?.client_secret ?? '', SEALED_SSO_SECRETS.purpose, row?.id ?? '')).toBe(SECRET);
  });

  it('rasket sso says which field is wrong if the provider does not answer, and shows the last failure', async () => {
    const words = ['--issuer', 'http://127.0.0.1:3', '--client-id', 'rasket', '--client-secret-file', 'secret'];
    const refused = await rasket('sso', 'set', ...words);
    expect(refused).toMatchObject({
      code: 65,
      stderr: expect.stringContaining('issuer is not a usable OpenID Connect'),
    });
    expect(await shown()).toMatchObject({ issuer, failing_since: null, last_failure: null });
    const at = scene.clock.now();
    const failing =
      'update sso_connections set failing_since = ?, last_failure_at = ?, last_failure_kind = ?, last_failure = ?';
    const { db } = scene.app.world;
    await db.run(failing, [at, at, 'provider_wrong', 'it said invalid_client']);
    const table = await good('sso', 'get');
    expect(table).toMatch(/Failing since +\S.*\n.*Last failure +\S.*\n.*Its reason +it said invalid_client/);
    await good('sso', 'set', '--default-role', 'member');
    expect(await shown()).toMatchObject({ failing_since: null, last_failure: { reason: 'it said invalid_client' } });
  });

  it('takes another secret from standard input', async () => {
    const words = ['sso', 'set', '--client-secret-file', '-'];
    const ended = await runInProcess(words, { cwd: home, env, input: 'another one\n' });
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    const { db, secrets } = scene.app.world;
    const row = await db.get<{ id: string; client_secret: string }>('select id, client_secret from sso_connections');
    expect(secrets.open(row?.client_secret ?? '', SEALED_SSO_SECRETS.purpose, row?.id ?? '')).toBe('another one');
  });

  it('keeps settings that are not named', async () => {
    await scene.app.world.db.run('update sso_connections set enforced = 1, tested_at = ?', [scene.clock.now()]);
    await scene.app.world.db.run('update team_members set sso_exempt = 1');
    const locked = await rasket('sso', 'set', '--default-role', 'viewer');
    // It is still enforced, which takes more than there is here.
    expect(locked).toMatchObject({ code: 65, stderr: expect.stringContaining('cannot be enforced yet') });
    await good('sso', 'set', '--default-role', 'viewer', '--no-enforced');
    expect(await shown()).toMatchObject({
      issuer: issuer,
      client_id: 'rasket',
      default_role: 'viewer',
      enforced: false,
    });
    await good('sso', 'set', '--issuer', issuer);
    expect(await shown()).toMatchObject({ default_role: 'viewer', tested_at: expect.any(String) });
  });

  it('has domains, each with the record that proves it', async () => {
    const added = await good('sso', 'add-domain', 'example.com');
    const { domains } = await shown();
    const [{ record }] = domains;
    expect(added).toBe(`Publish this TXT record:\n${record.name}\n${record.value}\n`);
    const unproven = await rasket('sso', 'verify-domain', 'example.com');
    expect(unproven).toMatchObject({ code: 1, stderr: expect.stringContaining('example.com is not verified: ') });
    scene.dns.set(record.name, 'TXT', [[record.value]]);
    expect(await good('sso', 'verify-domain', 'example.com')).toBe('example.com is verified.\n');
    const table = await good('sso', 'get');
    expect(table).toContain('example.com');
    expect(table).toContain(record.value);
    const unknown = await rasket('sso', 'verify-domain', 'other.example');
    expect(unknown).toMatchObject({ code: 66, stderr: expect.stringContaining('rasket sso get') });
    await good('sso', 'remove-domain', 'example.com');
    expect((await shown()).domains).toEqual([]);
  });

  it('exempts a person, and removes a link to the provider', async () => {
    expect(await good('members', 'update', ada.email, '--no-sso-exempt')).toBe('ada@people.example is now owner.\n');
    expect(await good('members', 'update', ada.email, '--sso-exempt')).toBe(
      'ada@people.example is now owner, and exempt from single sign-on.\n',
    );
    expect((await rasket('members', 'update', ada.email)).stderr).toContain('name at least one thing to change.');
    const unlinked = 'The next sign-in of ada@people.example through the provider links the account again.\n';
    expect(await good('members', 'unlink', ada.email)).toBe(unlinked);
  });

  it('is removed after confirmation', async () => {
    expect((await rasket('sso', 'remove')).stderr).toContain('--yes');
    expect(await good('sso', 'remove', '--yes')).toBe('The team no longer has single sign-on.\n');
    expect((await ada.call('GET', `/teams/${team.id}/sso`)).status).toBe(404);
  });

  it('requires a person, and says so to a key', async () => {
    const refused = await runInProcess(['sso', 'get'], { cwd: home, env: { ...env, RASKET_API_KEY: team.key } });
    expect(refused).toMatchObject({
      code: 77,
      stderr: expect.stringContaining(`Sign in with: rasket login --url ${scene.url}`),
    });
  });
});
