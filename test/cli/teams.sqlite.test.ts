import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Desk, expectOneLine, type Server } from './desk.ts';
import { Installation } from './installation.ts';

// Several processes one after the other, on whatever else the machine does.
vi.setConfig({ testTimeout: 180_000 });

let installation: Installation;
beforeAll(async () => void (installation = await Installation.make()));
afterAll(() => installation.clear());

let desk: Desk;
let env: Record<string, string>;
let key: string;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
  desk.write('rasket.toml', '[plans.small]\nname = "Small"\ndaily_cap = 7\n');
  env.RASKET_CONFIG = desk.at('rasket.toml');
  key = (await installation.copyTo(desk, 'data', env)).api_key;
});
afterEach(() => desk.clear());

const rasket = (...words: string[]) => desk.rasket([...words, '--data', 'data'], { env });
const api = (url: string, ...words: string[]) => desk.rasket([...words, '--url', url, '--api-key', key, '--json']);
const readName = (stdout: string): string => (JSON.parse(stdout) as { name: string }).name;

describe('rasket teams create', () => {
  it('names rasket dev as the next step in a folder of the development server', async () => {
    expect((await rasket('teams', 'create', 'Second')).stdout).toContain(
      'start the server with    rasket serve --data',
    );
    desk.write('data/development', '');
    expect((await rasket('teams', 'create', 'Third')).stdout).toContain('start the server with    rasket dev --data');
  });
});

describe('rasket teams next to a running server', () => {
  it('prints its address, and suspends, resumes and changes a team with effect at once', async () => {
    const server = await desk.serve(['serve', '--data', 'data'], { env });
    await suspendsAndResumes(server);
    await givesPlanAndName(server);
    const enforces = await rasket('teams', 'sso-off', 'my-team', '--reason', 'Nobody gets in');
    expect(enforces).toMatchObject({ code: 65, stderr: expect.stringContaining('does not enforce single sign-on') });
    expect((await rasket('teams', 'sso-off', 'my-team')).code).toBe(64);
    const domain = await rasket('teams', 'sso-off', 'my-team', '--domain', 'corp.example', '--reason', 'Not theirs');
    expect(domain).toMatchObject({ code: 66, stderr: expect.stringContaining('of the single sign-on of my-team') });
    const { stdout } = await rasket('teams', 'create', 'Second');
    expect(stdout).toContain(`rasket login --url ${server.url} --api-key\n`);
    expect(stdout).not.toContain('start the server');
  });

  /** The very next request of a suspended team is refused. */
  async function suspendsAndResumes(server: Server): Promise<void> {
    expect(readName((await api(server.url, 'team', 'get')).stdout)).toBe('My team');
    const suspended = await rasket('teams', 'suspend', 'my-team');
    expect(suspended).toMatchObject({
      code: 0,
      stderr: '',
      stdout: 'My team is suspended: its keys are refused, and its accepted mail is paused until it is resumed.\n',
    });
    const refused = await api(server.url, 'team', 'get');
    expect(refused.code).toBe(77);
    expect(readName(refused.stdout)).toBe('suspended_api_key');
    expect((await rasket('teams', 'resume', 'my-team', '--json')).stdout).toContain('"risk_state":"normal"');
    expect(readName((await api(server.url, 'team', 'get')).stdout)).toBe('My team');
  }

  async function givesPlanAndName(server: Server): Promise<void> {
    const changed = await rasket('teams', 'update', 'my-team', '--plan', 'small', '--name', 'Ours', '--json');
    expect(JSON.parse(changed.stdout)).toMatchObject({ slug: 'my-team', name: 'Ours', plan: 'small' });
    expect(JSON.parse((await api(server.url, 'team', 'get')).stdout)).toMatchObject({
      name: 'Ours',
      plan: { code: 'small', name: 'Small', limits: { daily_cap: 7 } },
    });
    const listed = await rasket('teams', 'list');
    const [titles, ...rows] = listed.stdout.split('\n');
    expect(titles?.split('\t')).toEqual(['ID', 'SLUG', 'NAME', 'PLAN', 'STATE', 'ADMINS', 'REASON', 'CREATED']);
    expect(rows).toEqual([expect.stringMatching(/^[0-9a-f-]{36}\tmy-team\tOurs\tsmall\tnormal\t\t\t\d{4}-.*Z$/), '']);
  }
});

describe('rasket teams delete', () => {
  it('suspends a team with the reason until it is kept, and asks before it deletes at once', async () => {
    await rasket('teams', 'create', 'Leaving');
    const suspended = await rasket('teams', 'suspend', 'leaving', '--reason', 'Complaints', '--json');
    expect(JSON.parse(suspended.stdout)).toMatchObject({ risk_state: 'suspended', risk_reason: 'Complaints' });
    expect((await rasket('teams', 'get', 'leaving')).stdout).toMatch(/State +suspended\nReason +Complaints\n/);
    const asked = await rasket('teams', 'delete', 'leaving', '--reason', 'The contract ended');
    expect(asked.stdout).toContain('To keep it until then, run: rasket teams keep leaving');
    expect((await rasket('teams', 'list')).stdout).toMatch(
      /\tto be deleted on \d{4}-\d\d-\d\d\t\tThe contract ended\t/,
    );
    expectOneLine(await rasket('teams', 'resume', 'leaving'), /is to be deleted on .* rasket teams keep leaving/);
    expect((await rasket('teams', 'keep', 'leaving')).stdout).toBe('Leaving is kept: it is suspended, as before.\n');
    const now = ['teams', 'delete', 'leaving', '--reason', 'The contract ended', '--now'];
    expect(await rasket(...now)).toMatchObject({ code: 64, stderr: expect.stringContaining('add --yes') });
    const exported = await rasket('teams', 'export', 'leaving', '--to', desk.at('leaving'), '--json');
    expect(JSON.parse(exported.stdout)).toMatchObject({ team: { slug: 'leaving' }, faults: [] });
    expect((await rasket(...now, '--yes')).stdout).toMatch(/^Leaving is deleted: \d+ rows, with 0 emails/);
    expect((await rasket('teams', 'get', 'leaving')).code).toBe(66);
  });
});

describe('rasket teams', () => {
  it('says in its help that mail of a suspended team waits until it is resumed', async () => {
    const { stdout } = await desk.rasket(['teams', '--help'], { env });
    const help = stdout.replaceAll(/\s+/g, ' ');
    expect(help).toContain('pause its mail until it is resumed');
    expect(help).not.toContain('still delivered');
  });

  it('replaces the admins of a team, and shows them', async () => {
    const admins = async (...words: string[]): Promise<unknown> =>
      JSON.parse((await rasket('teams', 'update', 'my-team', ...words, '--json')).stdout).admin_emails;
    expect(await admins('--admin', 'a@example.com', 'b@example.com', 'A@example.com')).toEqual([
      'a@example.com',
      'b@example.com',
    ]);
    expect((await rasket('teams', 'list')).stdout).toMatch(
      /\tMy team\tstandard\tnormal\ta@example\.com, b@example\.com\t/,
    );
    expect(await admins('--admin', 'c@example.com')).toEqual(['c@example.com']);
    expect(await admins('--no-admin')).toEqual([]);
    await rasket('teams', 'create', 'Other', '--admin', 'o@example.com');
    expect((await rasket('teams', 'list')).stdout).toMatch(/\tOther\tstandard\tnormal\to@example\.com\t/);
  });

  it('takes up to 20 admins, each a bare address', async () => {
    const named = (count: number) => Array.from({ length: count }, (_, i) => `a${i}@example.com`);
    const update = (...admins: string[]) => rasket('teams', 'update', 'my-team', '--admin', ...admins);
    expect((await update(...named(20))).code).toBe(0);
    expectOneLine(await update(...named(21)), /at most 20 admin addresses; got 21/);
    expectOneLine(await update('nobody'), /admin address "nobody"/);
    expectOneLine(await update('Ann <ann@example.com>'), /"Ann <ann@example.com>" must not contain a name/);
  });

  it('reports its errors in one line', async () => {
    expectOneLine(await rasket('teams', 'update', 'my-team', '--plan', 'huge'), /no plan "huge".* standard, small/);
    expectOneLine(
      await rasket('teams', 'suspend', 'nobody'),
      /Team "nobody" not found\. List them with: rasket teams list --data /,
      66,
    );
    expectOneLine(await rasket('teams', 'update', 'my-team'), /--name, --plan, --admin or --no-admin/, 64);
  });
});

describe('rasket sending', () => {
  it('shows the switch and moves it, with a reason while it is off', async () => {
    const said = async (...words: string[]) => (await rasket('sending', ...words)).stdout;
    expect(await said()).toBe('Sending is on.\n');
    expect(await said('off', '--reason', 'Moving house')).toBe('Sending is off: Moving house.\n');
    const marketing = { marketing: 'on', marketing_reason: null, restored_broadcasts: 0 };
    expect(JSON.parse(await said('--json'))).toEqual({ sending: 'off', reason: 'Moving house', ...marketing });
    expect(await said('off')).toBe('Sending is off.\n');
    expect(await said('on')).toBe('Sending is on.\n');
    expect(JSON.parse(await said('--json'))).toEqual({ sending: 'on', reason: null, ...marketing });
  });

  it('has a separate switch for marketing mail', async () => {
    const said = async (...words: string[]) => (await rasket('sending', ...words)).stdout;
    expect(await said('off', '--marketing', '--reason', 'Complaints')).toBe('Marketing mail is off: Complaints.\n');
    expect(await said()).toBe(
      'Sending is on.\nMarketing mail is off: Complaints.\nTurn it on with: rasket sending on --marketing\n',
    );
    expect(JSON.parse(await said('--json'))).toEqual({
      sending: 'on',
      reason: null,
      marketing: 'off',
      marketing_reason: 'Complaints',
      restored_broadcasts: 0,
    });
    expect(await said('on', '--marketing')).toBe('Marketing mail is on.\n');
    expect(await said()).toBe('Sending is on.\n');
  });

  it('refuses other words than on and off, and an invalid reason', async () => {
    expect(await rasket('sending', 'maybe')).toMatchObject({ code: 64, stderr: expect.stringMatching(/on, off/) });
    expectOneLine(await rasket('sending', 'on', '--reason', 'x'), /--reason can only be used with: rasket sending off/);
    expectOneLine(await rasket('sending', 'off', '--reason', 'x'.repeat(201)), /at most 200 characters/);
    expectOneLine(await rasket('sending', 'off', '--reason', 'a\nb'), /one line/);
    expect((await rasket('sending')).stdout).toBe('Sending is on.\n');
  });
});
