// Tests the commands that show how providers take mail: to an operator by source and provider, to a team by domain.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addReputationCounts, type ReputationCount } from '../../src/mail/reputation/index.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { runInProcess } from './in-process.ts';

const DAY = 86_400_000;

let scene: Scene;
let team: Team;
let token: string;
beforeAll(async () => {
  scene = await startScene({
    startAt: '2026-11-30T10:02:00Z',
    config: {
      sources: { first: { source_v4: '127.0.8.1' }, second: { source_v4: '127.0.8.2' } },
      pools: { main: { sources: ['first', 'second'] } },
      providers: { acme: { title: 'Acme', domains: ['acme.test'] } },
    },
  });
  team = await scene.team();
  token = await scene.operator();
  const domain = await team.domain('shop.example.com');
  const count = async ({ daysAgo = 0, ...more }: Partial<ReputationCount> & { daysAgo?: number }): Promise<void> => {
    const { db, ids, clock } = scene.app.world;
    const one: ReputationCount = {
      source: 'first',
      provider: 'acme',
      domainId: domain.id,
      teamId: team.id,
      isMarketing: false,
      outcome: 'accepted',
      cause: '',
      count: 1,
      ...more,
    };
    await db.tx((tx) => addReputationCounts(tx, ids, clock.now() - daysAgo * DAY, [one]));
  };
  await count({ count: 1600 });
  await count({ count: 100, outcome: 'bounced', cause: 'recipient_unknown' });
  await count({ count: 500, daysAgo: 8 });
  await count({ count: 40, source: 'second', provider: '' });
});
afterAll(() => scene.close());

const run = (line: string, key: string) =>
  runInProcess(line.split(' '), {
    cwd: scene.dataDir,
    env: { HOME: scene.dataDir, RASKET_URL: scene.url, RASKET_API_KEY: key },
  });
async function done(line: string, key = token): Promise<string> {
  const ended = await run(line, key);
  expect(ended, `${line}\n${ended.stderr}`).toMatchObject({ code: 0 });
  return ended.stdout;
}

it('rasket reputation shows each source and provider with its rates, trend and level, and the blocklists of each source', async () => {
  const shown = await done('reputation');
  expect(shown).toMatch(
    /^first\tAcme\t1600\t0\t100 \(5\.88 %\)\t0\tworse\tbad\t5\.88 % of the recipients bounced; above 5 % .* Bounced: 100 recipient_unknown\.$/m,
  );
  expect(shown).toMatch(/^second\tReceivers without a provider\t40\t0\t0\t0\t–\tgood\t?$/m);
  expect(shown).toMatch(/^first\t127\.0\.8\.1\tnot checked\t?$/m);
});

it('rasket reputation --by domain shows each sending domain, and filters limit what is counted', async () => {
  expect(await done('reputation --by domain')).toMatch(/^shop\.example\.com\t1640\t0\t100 /m);
  expect(await done('reputation --by domain,provider --provider other')).toMatch(
    /^Receivers without a provider\tshop\.example\.com\t40\t/m,
  );
  expect(await done('reputation --days 1 --source second')).not.toMatch(/^first\t/m);
  const { days, data } = JSON.parse(await done('reputation --days 30 --json')) as { days: number; data: unknown[] };
  expect([days, data.length]).toEqual([30, 2]);
});

it('rasket reputation --limit shows the lines with most mail', async () => {
  const shown = await done('reputation --limit 1');
  expect(shown).toMatch(/^first\tAcme/m);
  expect(shown).not.toMatch(/^second\tReceivers/m);
});

it('a source that the settings lack is refused with the names of those that exist', async () => {
  expect(await run('reputation --source nobody', token)).toMatchObject({
    code: 65,
    stderr: expect.stringContaining(
      'source must be a source of the settings, or one with mail within these days; got "nobody". There are first, second',
    ),
  });
});

it('rasket domains reputation shows a team what each provider did with the mail of its domain', async () => {
  const shown = await done('domains reputation shop.example.com --days 2', team.key);
  expect(shown).toContain('shop.example.com, 2026-11-29 to 2026-11-30.');
  expect(shown).toContain('No DMARC reports about these days have arrived.');
  expect(shown).toMatch(/^Acme\t1600\t0\t100 \(5\.88 %\)\t0\t–\tbad\t/m);
  expect(shown).not.toContain('first');
  const answer = JSON.parse(await done('domains reputation shop.example.com --json', team.key)) as { object: string };
  expect(answer.object).toBe('domain_reputation');
});
