// reports about mail --> each recipient counts once, for the mail that the report is about --> breakers, rates and findings
import { expect, it, onTestFinished } from 'vitest';
import { putWarmUp } from '../../src/mail/egress/index.ts';
import { bringMail } from '../rig/mx.ts';
import { startScene, type Scene, type SceneOptions } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import {
  BREAKER_SETTINGS,
  complain,
  deliver,
  describeStates,
  evaluate,
  listTeamBreakers,
  many,
  recordOutcomes,
} from './breakers-desk.ts';
import { HOUR, mailIn } from './mail.ts';

const DAY = 24 * HOUR;

async function open(config: SceneOptions['config'] = BREAKER_SETTINGS): Promise<{ scene: Scene; operator: string }> {
  const scene = await startScene({
    startAt: '2026-11-30T09:10:00Z',
    networkWaits: 'by hand',
    roles: ['http', 'delivery', 'receiving'],
    ...(config ? { config } : {}),
  });
  onTestFinished(() => scene.close());
  return { scene, operator: await scene.operator() };
}

/** Sends a broadcast with each of these subjects to the contacts of a campaign. */
async function broadcastAll(scene: Scene, campaign: Campaign, subjects: readonly string[]): Promise<void> {
  for (const subject of subjects) {
    await campaign.broadcast({ subject });
    await deliver(scene);
  }
}

/** Reports all mail that a recipient got as returned, because `final` does not exist. */
async function returnMail(scene: Scene, recipient: string, final: string): Promise<void> {
  for (const { mailFrom, rcptTo } of scene.sink.messages) {
    if (rcptTo[0] !== recipient) continue;
    const raw = [
      'From: MAILER-DAEMON@acme.example',
      'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      'The mail could not be delivered.',
      '--b',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; acme.example',
      '',
      `Final-Recipient: rfc822; ${final}`,
      'Action: failed',
      'Status: 5.1.1',
      'Diagnostic-Code: smtp; 550 5.1.1 no such user',
      '',
      '--b--',
      '',
    ].join('\r\n');
    await bringMail(scene, { from: '', to: [mailFrom], raw });
  }
}

/** The recipients of a team by outcome, as breakers and as rates of streams count them. */
async function readSums(scene: Scene, { team }: Pick<Campaign, 'team'>): Promise<Record<string, number>[]> {
  const { db } = scene.app.world;
  const outcomes = await db.all<{ outcome: string; count: number }>(
    'select outcome, sum(count) as count from reputation_counts where team_id = ? group by outcome order by outcome',
    [team.id],
  );
  const streams = await db.all<Record<string, number>>(
    `select sum(delivered) as delivered, sum(bounced) as bounced, sum(complained) as complained from stream_counts
      where team_id = ?`,
    [team.id],
  );
  return [
    Object.fromEntries(outcomes.map(({ outcome, count }) => [outcome, Number(count)])),
    ...streams.map((row) => Object.fromEntries(Object.entries(row).map(([name, count]) => [name, Number(count)]))),
  ];
}

const listFigures = async (scene: Scene, { team }: Campaign, operator: string): Promise<string[]> =>
  (await listTeamBreakers(scene, team, operator))
    .map(({ provider, state, bad_recipients: bad, recipients }) => `${provider} ${state} ${bad} of ${recipients}`)
    .toSorted();

it('one subscriber who reports many broadcasts as spam counts once, and trips no breaker', async () => {
  const { scene, operator } = await open();
  const campaign = await campaignIn(scene);
  const subjects = ['N0.', 'N1.', 'N2.', 'N3.', 'N4.'];
  await campaign.addContacts(['eve@acme.example']);
  await broadcastAll(scene, campaign, subjects);
  await recordOutcomes(scene, campaign, { accepted: 15 });
  for (const subject of subjects) await complain(scene, subject, ['eve@acme.example']);
  await evaluate(scene);
  expect(await listTeamBreakers(scene, campaign.team, operator)).toEqual([]);
  expect(await readSums(scene, campaign)).toEqual([
    { accepted: 20, complained: 1 },
    { delivered: 5, bounced: 0, complained: 1 },
  ]);
});

it('failure reports that cannot suppress their recipient count once for a domain within the window', async () => {
  const { scene, operator } = await open();
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['eve@acme.example']);
  await broadcastAll(scene, campaign, ['N0.', 'N1.', 'N2.', 'N3.', 'N4.']);
  await recordOutcomes(scene, campaign, { accepted: 20 });
  await returnMail(scene, 'eve@acme.example', 'somebody@else.example');
  await evaluate(scene);
  expect(await listTeamBreakers(scene, campaign.team, operator)).toEqual([]);
  expect(await readSums(scene, campaign)).toEqual([
    { accepted: 24, bounced: 1 },
    { delivered: 4, bounced: 1, complained: 0 },
  ]);
  scene.clock.advance(DAY);
  await broadcastAll(scene, campaign, ['N5.', 'N6.']);
  await returnMail(scene, 'eve@acme.example', 'somebody@else.example');
  expect(await readSums(scene, campaign)).toEqual([
    { accepted: 25, bounced: 2 },
    { delivered: 5, bounced: 2, complained: 0 },
  ]);
});

it('mail that was accepted and returned later counts as bounced only', async () => {
  const { scene } = await open();
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['gone@acme.example', 'ada@acme.example']);
  await broadcastAll(scene, campaign, ['News']);
  scene.clock.advance(2 * HOUR);
  await returnMail(scene, 'gone@acme.example', 'gone@acme.example');
  expect(await readSums(scene, campaign)).toEqual([
    { accepted: 1, bounced: 1 },
    { delivered: 1, bounced: 1, complained: 0 },
  ]);
});

it('complaints about the mail of yesterday are compared with that mail, and not with the little mail of today', async () => {
  const { scene, operator } = await open();
  const campaign = await campaignIn(scene);
  const readers = many(6, 'reader', 'acme.example');
  await campaign.addContacts(readers);
  await broadcastAll(scene, campaign, ['Yesterday']);
  await recordOutcomes(scene, campaign, { accepted: 2000 });
  scene.clock.advance(DAY);
  await recordOutcomes(scene, campaign, { accepted: 20 });
  await complain(scene, 'Yesterday', readers);
  await evaluate(scene);
  expect(await listTeamBreakers(scene, campaign.team, operator)).toEqual([]);
});

it.each([2, 5])(
  'complaints that come %d days after their mail trip a breaker if too many are about it',
  async (days) => {
    const { scene, operator } = await open();
    const campaign = await campaignIn(scene);
    const readers = many(20, 'reader', 'acme.example');
    await campaign.addContacts(readers);
    await broadcastAll(scene, campaign, ['Bad news']);
    // Mail to another provider, which nobody reports.
    await recordOutcomes(scene, campaign, { accepted: 2 });
    scene.clock.advance(days * DAY);
    // The hours of days that are over were added up.
    await scene.app.jobs.find(({ name }) => name === 'roll-reputation-counts')?.run(new AbortController().signal);
    await complain(scene, 'Bad news', readers.slice(0, 6));
    await evaluate(scene);
    expect(await listFigures(scene, campaign, operator)).toEqual(['acme paused 6 of 20', 'null paused 6 of 22']);
  },
);

it('a probe is not judged by complaints about mail from before the pause', async () => {
  const { scene, operator } = await open();
  const campaign = await campaignIn(scene);
  const readers = many(20, 'reader', 'acme.example');
  await campaign.addContacts(readers);
  await broadcastAll(scene, campaign, ['Bad news']);
  await complain(scene, 'Bad news', readers.slice(0, 6));
  await evaluate(scene);
  scene.clock.advance(2 * HOUR);
  await evaluate(scene);
  const probing = ['domain acme probing', 'domain everywhere probing'];
  expect(describeStates(await listTeamBreakers(scene, campaign.team, operator))).toEqual(probing);
  await complain(scene, 'Bad news', readers.slice(6, 12));
  await evaluate(scene);
  expect(describeStates(await listTeamBreakers(scene, campaign.team, operator))).toEqual(probing);
});

it('mail that is given up while it waits for a warm-up bounces, but is in no rate and no finding', async () => {
  const { scene } = await open({
    sources: { fresh: { source_v4: '127.0.8.1' } },
    pools: { main: { sources: ['fresh'] } },
    warm_up: { daily: [4, 4, 4, 4], hours: 1, idle_days: 30 },
    broadcasts: { hold_after: 10 },
  });
  await putWarmUp(scene.app.world.db, { source: 'fresh', state: 'warming', now: scene.clock.now() });
  await scene.restart();
  const mail = await mailIn(scene);
  const ids: string[] = [];
  for (let n = 0; n < 40; n++) ids.push(await mail.send(`reader${n}@example.org`));
  await scene.settled();
  for (let hour = 0; hour < 51; hour++) {
    scene.clock.advance(HOUR);
    await scene.settled();
  }
  const delivered = scene.sink.messages.length;
  expect(delivered).toBeLessThan(20);
  const types = await Promise.all(ids.map(async (id) => (await scene.events(id)).map(({ type }) => type)));
  expect(types.filter((list) => list.includes('email.bounced'))).toHaveLength(40 - delivered);
  const { body } = await scene.api('GET', '/findings', { key: mail.team.key });
  expect((body.findings as { code: string }[]).map(({ code }) => code)).not.toContain('bounce_rate_high');
  const [, streams] = await readSums(scene, mail);
  expect(streams).toMatchObject({ bounced: 0 });
});
