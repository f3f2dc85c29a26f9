// a day of mail ends --> the operators get one summary of it in the morning, from any number of nodes
import { afterEach, describe, expect, it } from 'vitest';
import { startApp, type App } from '../../src/app.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { putWarmUp } from '../../src/mail/egress/index.ts';
import { addReputationCounts, type ReputationCount } from '../../src/mail/reputation/index.ts';
import { setSending } from '../../src/tenancy/instance/index.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR, mailIn, type Mail } from './mail.ts';

const DAY = 24 * HOUR;
const OPS = ['ops@example.org', 'night@example.net'];

let scene: Scene;
let mail: Mail;
afterEach(() => scene?.close());

async function start(summaryTo = OPS): Promise<void> {
  scene = await startScene({
    startAt: '2026-11-30T06:00:00Z',
    config: {
      reputation: { summary_to: summaryTo, summary_hour: 7 },
      sources: { first: { source_v4: '127.0.8.1' }, fresh: { source_v4: '127.0.8.2' } },
      pools: { main: { sources: ['first'] }, apart: { sources: ['fresh'], domains: ['apart.example'] } },
      providers: { acme: { title: 'Acme <&> Co', domains: ['acme.test'] } },
    },
  });
  mail = await mailIn(scene);
}

async function count({ daysAgo = 1, ...more }: Partial<ReputationCount> & { daysAgo?: number }): Promise<void> {
  const { db, ids, clock } = scene.app.world;
  const one: ReputationCount = {
    source: 'first',
    provider: 'acme',
    domainId: mail.domain.id,
    teamId: mail.team.id,
    isMarketing: false,
    outcome: 'accepted',
    cause: '',
    count: 1,
    ...more,
  };
  await db.tx((tx) => addReputationCounts(tx, ids, clock.now() - daysAgo * DAY, [one]));
}

async function run(app: App = scene.app): Promise<void> {
  await app.jobs.find(({ name }) => name === 'send-reputation-summary')?.run(new AbortController().signal);
}

/** Returns the summaries that arrived, by recipient, with the soft line breaks of their encoding removed. */
async function takeSummaries(): Promise<Map<string, string>> {
  await scene.settled();
  const found = scene.sink.messages.splice(0);
  return new Map(
    found.map(({ rcptTo, data }) => [
      rcptTo.join(' '),
      Buffer.from(
        data
          .toString('latin1')
          .replaceAll('=\r\n', '')
          .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        'latin1',
      ).toString(),
    ]),
  );
}

const outcomes = () => scene.app.world.db.all<{ outcome: string }>('select outcome from reputation_summaries', []);

describe('the daily summary', () => {
  it('is sent once to each address after its hour, and says what is bad, what changed and how far warm-ups are', async () => {
    await start();
    await count({ count: 1000, daysAgo: 2 });
    await count({ count: 1000 });
    await count({ count: 100, outcome: 'bounced', cause: 'recipient_unknown' });
    await count({ count: 30, provider: '' });
    await putWarmUp(scene.app.world.db, { source: 'fresh', state: 'warming', now: scene.clock.now() });
    await run();
    expect(await takeSummaries()).toEqual(new Map());
    scene.clock.advance(HOUR);
    await run();
    const summaries = await takeSummaries();
    expect([...summaries.keys()].toSorted()).toEqual(OPS.toSorted());
    const text = summaries.get(OPS[0] ?? '') ?? '';
    expect(text).toMatch(/From: rasket <notifications@/);
    expect(text).toMatch(/^Subject: Reputation of rasket\.test on 2026-11-29: 1 bad/m);
    expect(text).toMatch(/^Auto-Submitted: auto-generated/m);
    expect(text).toContain('1,030 accepted, 0 deferred, 100 bounced, 0 complained.');
    expect(text).toContain(
      'first → Acme <&> Co: 1,000 accepted, 0 deferred, 100 bounced (9.09 %), 0 complained. 9.09 % of the recipients bounced; above 5 % providers block a sender.',
    );
    expect(text).toContain('first → Acme <&> Co: good → bad');
    expect(text).toContain('fresh: it has sent nothing yet');
    expect(text).toContain('<li>first → Acme &lt;&amp;&gt; Co: 1,000 accepted');
    expect(text).not.toContain('Acme <&> Co: good → bad</li>');

    for (let hour = 0; hour < 20; hour++) {
      await run();
      scene.clock.advance(HOUR / 2);
    }
    expect(await takeSummaries()).toEqual(new Map());
    expect(await outcomes()).toEqual([{ outcome: 'sent' }]);
  });

  it('is not sent again by a process that restarts, or that died before it recorded that it was sent', async () => {
    await start();
    await count({ count: 40 });
    scene.clock.advance(HOUR);
    await run();
    expect((await takeSummaries()).size).toBe(2);
    await scene.restart();
    await run();
    await scene.app.world.db.run('delete from reputation_summaries', []);
    await scene.restart();
    await run();
    expect(await takeSummaries()).toEqual(new Map());
  });

  // runs only on PostgreSQL, because SQLite has one node
  it.runIf(driver === 'pg')('is sent once by two nodes that run the job at the same time', async () => {
    await start();
    await count({ count: 40 });
    const log = createLog({ level: 'error', format: 'json', write: (line) => void scene.log.push(line) });
    const { config, clock } = scene.app.world;
    const options = { config, dataDir: scene.dataDir, clock, log, version: '0.0.0-test' };
    const other = await startApp({ ...options, roles: ['scheduler'] });
    try {
      scene.clock.advance(HOUR);
      await Promise.allSettled([run(), run(other)]);
      await Promise.all([run(), run(other)]);
      expect([...(await takeSummaries()).keys()].toSorted()).toEqual(OPS.toSorted());
      const { db } = scene.app.world;
      expect(await db.all("select id from emails where subject like 'Reputation of%'", [])).toHaveLength(2);
    } finally {
      await other.close(0);
    }
  });

  it('is not sent about a day without mail, unless something is wrong', async () => {
    await start();
    scene.clock.advance(HOUR);
    await run();
    expect(await takeSummaries()).toEqual(new Map());
    expect(await outcomes()).toEqual([{ outcome: 'nothing to report' }]);
    await scene.restart({ delivery: { capture: true } });
    scene.clock.advance(DAY);
    await run();
    const captured = await scene.app.world.db.all<{ subject: string }>('select subject from emails', []);
    expect(captured).toEqual(OPS.map(() => ({ subject: 'Reputation of rasket.test on 2026-11-30: 1 finding' })));
  });

  it('is sent to nobody without addresses, and waits while sending is off', async () => {
    await start([]);
    await count({ count: 40 });
    scene.clock.advance(HOUR);
    await run();
    expect(await outcomes()).toEqual([]);
    await scene.restart({ reputation: { summary_to: OPS } });
    await setSending(scene.app.world, { isOn: false, reason: 'Moving house' });
    await run();
    expect(await outcomes()).toEqual([]);
    await setSending(scene.app.world, { isOn: true });
    await run();
    expect((await takeSummaries()).size).toBe(2);
  });

  it('is not sent from a domain of one of several teams, unless the operator has chosen it', async () => {
    await start();
    await count({ count: 40 });
    await scene.team();
    scene.clock.advance(HOUR);
    await run();
    expect(await takeSummaries()).toEqual(new Map());
    expect(await outcomes()).toMatchObject([{ outcome: expect.stringContaining('set accounts.mail_from') }]);
    expect(scene.log.join('')).toContain('the summary of reputation could not be sent');
    await count({ count: 40, daysAgo: 0 });
    await scene.restart({ accounts: { mail_from: `operators@${mail.domain.name}` } });
    scene.clock.advance(DAY);
    await run();
    expect([...(await takeSummaries()).values()][0]).toContain(`From: rasket <operators@${mail.domain.name}>`);
  });

  it('its text is not shown to the team whose domain it is sent from, and costs it no quota', async () => {
    await start();
    await count({ count: 40 });
    const { body: before } = await scene.api('GET', '/usage', { key: mail.team.key });
    scene.clock.advance(HOUR);
    await run();
    const { body } = await scene.api('GET', '/emails', { key: mail.team.key });
    const email = await scene.api('GET', `/emails/${body.data[0].id}`, { key: mail.team.key });
    expect(email.body).toMatchObject({ content_withheld: 'account_mail' });
    expect(email.text).not.toContain('Acme');
    const { body: after } = await scene.api('GET', '/usage', { key: mail.team.key });
    expect(after.emails.daily.used).toBe(before.emails.daily.used);
  });
});
