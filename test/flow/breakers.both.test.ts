// mail is reported as spam or bounces --> a breaker slows it down, pauses it, tries it again --> finding, webhook event, explanation
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addReputationCounts } from '../../src/mail/reputation/index.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import {
  BREAKER_SETTINGS,
  complain,
  deliver,
  describeStates,
  evaluate,
  listArrived,
  listTeamBreakers,
  listLimitEvents,
  many,
} from './breakers-desk.ts';
import { HOUR, MINUTE, SECOND } from './mail.ts';

let scene: Scene;
let operator: string;
beforeAll(async () => {
  scene = await startScene({
    startAt: '2026-11-30T09:10:00Z',
    networkWaits: 'by hand',
    roles: ['http', 'delivery', 'receiving'],
    sink: {
      script(line) {
        if (/^RCPT TO:<gone/i.test(line)) return '550 5.1.1 No such user';
        return /^RCPT TO:<later/i.test(line) ? '450 4.2.1 Later' : undefined;
      },
    },
    config: BREAKER_SETTINGS,
  });
  operator = await scene.operator();
});
afterAll(() => scene.close());

const readStates = async (campaign: Campaign): Promise<string[]> =>
  describeStates(await listTeamBreakers(scene, campaign.team, operator));

async function sendTransactional(campaign: Campaign, to: string, subject: string): Promise<string> {
  return campaign.make('/emails', {
    from: `Example <hello@${campaign.domain.name}>`,
    to: [to],
    subject,
    text: 'It works.',
  });
}

const countTo = (addresses: readonly string[], domain: string): number =>
  addresses.filter((address) => address.endsWith(`@${domain}`)).length;

/** Finds an email of the team that waits for a receiver. */
async function findWaiting(campaign: Campaign, destination: string): Promise<string> {
  const { body } = await scene.api('GET', `/operator/queue/deliveries?destination=${destination}&limit=100`, {
    key: operator,
  });
  const rows = body.data as { email_id: string; team_id: string; state: string }[];
  return rows.find((row) => row.team_id === campaign.team.id && row.state !== 'under_way')?.email_id ?? '';
}

const explain = async (campaign: Campaign, emailId: string): Promise<string> =>
  ((await campaign.read(`/emails/${emailId}/attempts`)) as { pending: { waits_because: string }[] }).pending[0]
    ?.waits_because ?? '';

const readFindings = async (campaign: Campaign): Promise<{ summary: string; subjects: string[] }[]> =>
  (
    (await campaign.read('/findings')) as { findings: { code: string; summary: string; subjects: string[] }[] }
  ).findings.filter(({ code }) => code === 'sending_limited');

/** Sends a broadcast to 30 recipients of Acme and 60 others. */
async function sendFirst(campaign: Campaign): Promise<void> {
  await campaign.addContacts([...many(30, 'a', 'acme.example'), ...many(60, 'b', 'zeta.example')]);
  await campaign.broadcast({ subject: `First ${campaign.domain.name}` });
  await deliver(scene);
}

describe('complaints at one provider', () => {
  let campaign: Campaign;
  let first: string;
  let second: string;
  beforeAll(async () => {
    campaign = await campaignIn(scene);
    first = `First ${campaign.domain.name}`;
    second = `Second ${campaign.domain.name}`;
    await sendFirst(campaign);
  });

  it('slow down the marketing mail of the domain to it, and nothing else', async () => {
    expect(listArrived(scene, first)).toHaveLength(90);
    await complain(scene, first, many(3, 'a', 'acme.example'));
    await evaluate(scene);
    // 3 of 30 are the limit.
    expect(await readStates(campaign)).toEqual([]);
    await complain(scene, first, ['a3@acme.example']);
    await evaluate(scene);
    await evaluate(scene);
    expect(await readStates(campaign)).toEqual(['domain acme slow']);
    expect(await listLimitEvents(scene, campaign.domain.id)).toEqual(['slowed marketing acme complaints']);

    await campaign.broadcast({ subject: second });
    scene.clock.advance(SECOND);
    const arrived = () => listArrived(scene, second);
    await expect.poll(() => countTo(arrived(), 'zeta.example'), { timeout: 10_000 }).toBe(60);
    const waitsInTurn = countTo(arrived(), 'acme.example');
    expect(waitsInTurn).toBeLessThan(20);
    // Transactional mail of the same domain passes the marketing mail that waits for its turn.
    await sendTransactional(campaign, 'person@acme.example', 'Receipt');
    await expect.poll(() => listArrived(scene, 'Receipt'), { timeout: 5_000 }).toEqual(['person@acme.example']);
    expect(countTo(arrived(), 'acme.example')).toBeLessThan(20);
  });

  it('pause the mail as soon as the higher limit is exceeded, and what waits says why', async () => {
    await complain(scene, first, many(8, 'a', 'acme.example'));
    await evaluate(scene);
    expect(await readStates(campaign)).toEqual(['domain acme paused']);
    await deliver(scene);
    const paused = countTo(listArrived(scene, second), 'acme.example');
    scene.clock.advance(30 * MINUTE);
    await evaluate(scene);
    await deliver(scene);
    expect(countTo(listArrived(scene, second), 'acme.example')).toBe(paused);

    const [breaker] = await listTeamBreakers(scene, campaign.team, operator);
    const figures = `${breaker?.bad_recipients} of ${breaker?.recipients} recipients reported it as spam within 24 hours`;
    expect(breaker).toMatchObject({ bad_recipients: 8, trips: 1 });
    const why = `marketing mail from ${campaign.domain.name} to Acme is paused until ${breaker?.until.slice(11, 16)} UTC because ${figures}; then a few messages are tried`;
    const waiting = await findWaiting(campaign, 'acme.example');
    expect(await explain(campaign, waiting)).toBe(why);
    expect((await scene.api('GET', `/operator/queue/emails/${waiting}`, { key: operator })).body.pending).toMatchObject(
      [{ waits_because: why }],
    );
    expect(await listLimitEvents(scene, campaign.domain.id)).toEqual([
      'slowed marketing acme complaints',
      'paused marketing acme complaints',
    ]);
    expect(await readFindings(campaign)).toMatchObject([
      {
        subjects: [campaign.domain.name],
        summary: expect.stringMatching(
          `^Marketing mail from ${campaign.domain.name} to Acme is paused until .*, because ${figures}`,
        ),
      },
    ]);
    const { body } = await scene.api('GET', '/operator/findings', { key: operator });
    expect((body.findings as { code: string }[]).filter(({ code }) => code === 'sending_limited')).toHaveLength(1);
  });

  it('leave transactional mail, other providers and other teams alone during the pause', async () => {
    const other = await campaignIn(scene);
    expect(await readFindings(other)).toEqual([]);
    await other.addContacts(many(3, 'c', 'acme.example'));
    await other.broadcast({ subject: 'Of another team' });
    await sendTransactional(campaign, 'person@acme.example', 'Receipt in the pause');
    await campaign.addContacts(['d@zeta.example']);
    await campaign.broadcast({ subject: 'Third' });
    await deliver(scene);
    expect(listArrived(scene, 'Of another team')).toHaveLength(3);
    expect(listArrived(scene, 'Receipt in the pause')).toHaveLength(1);
    const third = listArrived(scene, 'Third');
    expect(countTo(third, 'zeta.example')).toBe(61);
    expect(countTo(third, 'acme.example')).toBe(0);
  });

  it('keep the pause over a restart', async () => {
    await scene.restart();
    await deliver(scene);
    expect(await readStates(campaign)).toEqual(['domain acme paused']);
    expect(countTo(listArrived(scene, 'Third'), 'acme.example')).toBe(0);
  });

  it('keep the pause until it is decided about, even if that is late', async () => {
    scene.clock.advance(2 * HOUR);
    await deliver(scene);
    expect(countTo(listArrived(scene, 'Third'), 'acme.example')).toBe(0);
  });

  it('are followed by a probe, and by a pause of twice the time if new mail is reported too', async () => {
    await evaluate(scene);
    expect(await readStates(campaign)).toEqual(['domain acme probing']);
    scene.clock.advance(10 * SECOND);
    await deliver(scene);
    expect(countTo(listArrived(scene, 'Third'), 'acme.example')).toBeGreaterThan(10);
    const readers = listArrived(scene, 'Third').filter((address) => address.endsWith('@acme.example'));
    await complain(scene, 'Third', readers.slice(0, 15));
    await evaluate(scene);
    const [breaker] = await listTeamBreakers(scene, campaign.team, operator);
    expect(breaker).toMatchObject({ state: 'paused', trips: 2 });
    expect(Date.parse(breaker?.until ?? '') - scene.clock.now()).toBe(2 * HOUR);
  });

  it('are followed by a probe, and by higher and higher rates if new mail is taken well', async () => {
    scene.clock.advance(2 * HOUR);
    await evaluate(scene);
    await campaign.addContacts(many(15, 'h', 'acme.example'));
    await campaign.broadcast({ subject: 'Fourth' });
    await deliver(scene);
    expect(countTo(listArrived(scene, 'Fourth'), 'acme.example')).toBeGreaterThanOrEqual(10);
    scene.clock.advance(HOUR);
    await evaluate(scene);
    expect(await readStates(campaign)).toEqual(['domain acme recovering']);
    for (let step = 0; step < 6; step++) {
      scene.clock.advance(5 * MINUTE);
      await evaluate(scene);
    }
    expect(await readStates(campaign)).toEqual([]);
    expect(await readFindings(campaign)).toEqual([]);
    expect((await listLimitEvents(scene, campaign.domain.id)).slice(2)).toEqual([
      'probing marketing acme complaints',
      'paused marketing acme complaints',
      'probing marketing acme complaints',
      'resumed marketing acme complaints',
    ]);
    expect(await scene.app.world.db.all("select id from throttles where reaction = 'breaker'", [])).toEqual([]);
  });
});

describe('bounces', () => {
  it('pause the marketing mail of the domain to all receivers, and a person can release it', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts([...many(20, 'e', 'small.example'), ...many(10, 'gone', 'little.example')]);
    await campaign.addContacts(['later@tiny.example']);
    await campaign.broadcast({ subject: 'Old list' });
    await deliver(scene);
    await evaluate(scene);
    expect(await readStates(campaign)).toEqual(['domain everywhere paused']);
    const id = await campaign.broadcast({ subject: 'Once more' });
    await sendTransactional(campaign, 'f@small.example', 'Receipt after bounces');
    await deliver(scene);
    expect(listArrived(scene, 'Once more')).toEqual([]);
    expect(listArrived(scene, 'Receipt after bounces')).toHaveLength(1);
    expect(await campaign.get(id)).toMatchObject({ status: 'sending', waiting_reason: 'sending_limited' });
    expect(await explain(campaign, await findWaiting(campaign, 'tiny.example'))).toMatch(
      `marketing mail from ${campaign.domain.name} is paused until`,
    );

    const [breaker] = await listTeamBreakers(scene, campaign.team, operator);
    expect(breaker).toMatchObject({ bad_recipients: 10, recipients: 30 });
    const path = `/operator/breakers/${breaker?.id}/release`;
    const refused = await scene.api('POST', path, { key: operator, body: { reason: ' ' } });
    expect(refused.status).toBe(400);
    const released = await scene.api('POST', path, { key: operator, body: { reason: 'The list was cleaned' } });
    expect(released.body).toMatchObject({ object: 'breaker_release', id: breaker?.id, breaker: { state: 'closed' } });
    scene.clock.advance(5 * SECOND);
    await deliver(scene);
    expect(listArrived(scene, 'Once more')).toHaveLength(20);
    await evaluate(scene);
    // The bounces from before count no more.
    expect(await readStates(campaign)).toEqual([]);
    expect(await listLimitEvents(scene, campaign.domain.id)).toEqual([
      'paused marketing everywhere bounces',
      'resumed marketing everywhere bounces',
    ]);
    expect((await scene.api('POST', path, { key: operator, body: { reason: 'Again' } })).status).toBe(404);
  });

  it('because of the address that mail leaves by trip nothing', async () => {
    const campaign = await campaignIn(scene);
    const { db, ids, clock } = scene.app.world;
    const key = {
      source: '',
      provider: 'acme',
      domainId: campaign.domain.id,
      teamId: campaign.team.id,
      isMarketing: true,
    };
    await db.tx((tx) =>
      addReputationCounts(tx, ids, clock.now(), [
        { ...key, outcome: 'accepted', cause: '', count: 30 },
        { ...key, outcome: 'bounced', cause: 'ip_reputation', count: 30 },
      ]),
    );
    await evaluate(scene);
    expect(await readStates(campaign)).toEqual([]);
  });

  it('of two domains of a team limit all domains of the team', async () => {
    const campaign = await campaignIn(scene);
    const second = await campaign.team.domain();
    const gone = many(6, 'gone-team', 'nowhere.example');
    await campaign.addContacts([...many(13, 'g', 'small.example'), ...gone.slice(0, 3)]);
    await campaign.broadcast({ subject: 'By the first' });
    await deliver(scene);
    await campaign.addContacts(gone.slice(3));
    await campaign.broadcast({ subject: 'By the second', from: `Example <news@${second.name}>` });
    await deliver(scene);
    await evaluate(scene);
    // 3 of 16 each are too few to judge a domain; 6 of 32 slow the team down.
    expect(await readStates(campaign)).toEqual(['team everywhere slow']);
    for (const { id } of [campaign.domain, second])
      expect(await listLimitEvents(scene, id)).toEqual(['slowed marketing everywhere bounces']);
    const rows = await scene.app.world.db.all<{ sender_domain: string }>(
      "select sender_domain from throttles where reaction = 'breaker' and value = 30",
      [],
    );
    expect(rows.map((row) => row.sender_domain).toSorted()).toEqual([campaign.domain.name, second.name].toSorted());
    const [breaker] = await listTeamBreakers(scene, campaign.team, operator);
    const released = await scene.api('POST', `/operator/breakers/${breaker?.id}/release`, {
      key: operator,
      body: { reason: 'The list was cleaned' },
    });
    expect(released.body.breaker).toMatchObject({ scope: 'team', domain: null, state: 'closed' });
    for (const { id } of [campaign.domain, second])
      expect((await listLimitEvents(scene, id)).at(-1)).toBe('resumed marketing everywhere bounces');
  });
});
