import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bringMail } from '../rig/mx.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { HOUR, MINUTE, SECOND } from './mail.ts';

const many = (count: number, name: string, domain: string): string[] =>
  Array.from({ length: count }, (_, i) => `${name}${i}@${domain}`);
const arrivedAt = (scene: Scene, subject: string): string[] =>
  scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`)).flatMap(({ rcptTo }) => rcptTo);

/** One second, which is a look of the loop. */
async function look(scene: Scene): Promise<void> {
  scene.clock.advance(SECOND);
  await scene.settled();
}

const HOST = 'mail.holds.example';

/** Nobody lives at bad.example; shut.example takes nothing for now, as long as it is closed. */
function createSink(): { isShut: boolean; script: (command: string) => string | undefined } {
  const sink = {
    isShut: true,
    script(command: string): string | undefined {
      if (!command.startsWith('RCPT')) return undefined;
      if (command.includes('@bad.example')) return '550 5.1.1 No such user';
      return sink.isShut && command.includes('@shut.example') ? '450 4.2.1 Later' : undefined;
    },
  };
  return sink;
}

describe('a broadcast', () => {
  let scene: Scene;
  let sink: ReturnType<typeof createSink>;
  beforeAll(async () => {
    sink = createSink();
    scene = await startScene({
      sink,
      roles: ['http', 'delivery', 'receiving'],
      config: {
        broadcasts: { hold_after: 10, hold_complaint_after: 10 },
        instance: { host: HOST },
        delivery: { retry_minutes: [5] },
      },
    });
  });
  afterAll(() => scene.close());

  /** Half of the addresses bounce, in pages of two, five seconds apart. */
  async function bouncing(subject: string): Promise<{ campaign: Campaign; id: string }> {
    const campaign = await campaignIn(scene);
    // The last to come are mailed first.
    const pairs = Array.from({ length: 20 }, (_, i) => [`good${i}@one.example`, `gone${subject}${i}@bad.example`]);
    await campaign.addContacts(pairs.flat());
    return { campaign, id: await campaign.broadcast({ subject, rate_per_minute: 24 }) };
  }

  const goOn = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) await look(scene);
  };

  it('whose emails bounce is held with the figures and sends no page, and after a resume only later bounces count', async () => {
    const { campaign, id } = await bouncing('Bouncing');
    await goOn(60);
    expect(await campaign.get(id)).toMatchObject({
      status: 'sending',
      recipients: 10,
      held: { reason: 'bounces', detail: '5 of 10 emails bounced (50 %); the limit is 5 %' },
      counts: { sent: 10, delivered: 5, bounced: 5, complained: 0 },
    });
    expect(arrivedAt(scene, 'Bouncing')).toHaveLength(5);
    expect((await campaign.call('POST', `/broadcasts/${id}/resume`)).status).toBe(200);
    await look(scene);
    // The bounces that held it do not hold it again.
    expect(await campaign.get(id)).toMatchObject({ status: 'sending', held: null });
    await goOn(60);
    expect(await campaign.get(id)).toMatchObject({
      recipients: 20,
      held: { reason: 'bounces', detail: '5 of 10 emails bounced (50 %); the limit is 5 %' },
      counts: { delivered: 10, bounced: 10 },
    });
  });

  it('with few bounces continues, whatever their share', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts([...many(18, 'good', 'one.example'), ...many(2, 'gone', 'bad.example')]);
    const id = await campaign.broadcast({ subject: 'Few', rate_per_minute: 24 });
    await goOn(80);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', held: null, counts: { bounced: 2, delivered: 18 } });
  });

  /** Reports mail as spam, as a provider's feedback loop does. */
  async function complain(subject: string, recipients: number): Promise<void> {
    const mails = scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`));
    for (const { mailFrom, rcptTo } of mails.slice(0, recipients)) {
      const raw = [
        'From: fbl@provider.example',
        'Content-Type: multipart/report; report-type=feedback-report; boundary=b',
        '',
        '--b',
        'Content-Type: message/feedback-report',
        '',
        'Feedback-Type: abuse',
        `Original-Mail-From: <${mailFrom}>`,
        `Original-Rcpt-To: <${rcptTo[0]}>`,
        '--b--',
        '',
      ].join('\r\n');
      await bringMail(scene, { from: '', to: [mailFrom], raw });
    }
  }

  it('that is reported as spam is held', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(20, 'spammed', 'one.example'));
    const id = await campaign.broadcast({ subject: 'Spam', rate_per_minute: 24 });
    await goOn(20);
    await complain('Spam', 3);
    await goOn(60);
    expect(await campaign.get(id)).toMatchObject({
      status: 'sending',
      recipients: 10,
      counts: { delivered: 10, complained: 3 },
      held: { reason: 'complaints', detail: '3 of 10 emails were reported as spam (30 %); the limit is 0.3 %' },
    });
  });

  it('too small to be judged alone is held with the figures of all broadcasts of its team within 24 hours', async () => {
    const campaign = await campaignIn(scene);
    const segments: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'clean']) {
      const emails = many(7, `small-${name}`, 'one.example').map((email, i) =>
        i >= 2 && i <= 4 && name !== 'clean' ? email.replace('one.', 'bad.') : email,
      );
      await campaign.addContacts(emails);
      const filter = { field: 'email', op: 'contains', value: `small-${name}` };
      segments.push(await campaign.make('/segments', { name, filter }));
    }
    const sendTo = async (segment: number): Promise<string> => {
      const id = await campaign.broadcast({
        subject: `Small ${segment}`,
        segment_id: segments[segment],
        rate_per_minute: 24,
      });
      await goOn(40);
      return id;
    };
    const first = await sendTo(0);
    const second = await sendTo(1);
    const clean = await sendTo(4);
    const third = await sendTo(2);
    expect(await campaign.get(first)).toMatchObject({
      status: 'sent',
      held: null,
      counts: { bounced: 3, delivered: 4 },
    });
    expect(await campaign.get(second)).toMatchObject({
      status: 'sending',
      recipients: 6,
      held: {
        reason: 'bounces',
        detail:
          '3 of 6 emails bounced (50 %), of all broadcasts of the team within 24 hours 6 of 13 (46.15 %); the limit is 5 %',
      },
    });
    expect(await campaign.get(clean)).toMatchObject({ status: 'sent', held: null, counts: { delivered: 7 } });
    expect(await campaign.get(third)).toMatchObject({ held: { reason: 'bounces' } });
    // The person who resumes it has seen the figures, so they do not hold it again.
    expect((await campaign.call('POST', `/broadcasts/${third}/resume`)).status).toBe(200);
    await goOn(60);
    expect(await campaign.get(third)).toMatchObject({ status: 'sent', held: null });
    scene.clock.advance(25 * HOUR);
    expect(await campaign.get(await sendTo(3))).toMatchObject({
      status: 'sent',
      held: null,
      counts: { bounced: 3, delivered: 4 },
    });
  });

  it('to the simulator is held for no bounce and no complaint', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts([
      ...many(10, 'complained+', `simulator.${HOST}`),
      ...many(10, 'bounced+', `simulator.${HOST}`),
    ]);
    const id = await campaign.broadcast({ subject: 'Simulated', rate_per_minute: 24 });
    await goOn(80);
    expect(await campaign.get(id)).toMatchObject({
      status: 'sent',
      held: null,
      counts: { delivered: 10, bounced: 10, complained: 10 },
    });
  });

  it('is not held for bounces of addresses that were suppressed before they bounced', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(20, 'known', 'one.example'));
    const id = await campaign.broadcast({ subject: 'Known', rate_per_minute: 24 });
    await goOn(20);
    const sent = scene.sink.messages.filter(({ data }) => data.includes('Subject: Known\r\n')).slice(0, 4);
    expect(sent).toHaveLength(4);
    for (const { mailFrom, rcptTo } of sent) {
      const [email = ''] = rcptTo;
      expect((await campaign.call('POST', '/suppressions', { email })).status).toBeLessThan(300);
      const raw = [
        'From: MAILER-DAEMON@mx.one.example',
        'Subject: Undelivered Mail Returned to Sender',
        'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
        '',
        '--b',
        'Content-Type: message/delivery-status',
        '',
        'Reporting-MTA: dns; mx.one.example',
        '',
        `Final-Recipient: rfc822; ${email}`,
        'Action: failed',
        'Status: 5.1.1',
        'Diagnostic-Code: smtp; 550 5.1.1 no such user',
        '--b--',
        '',
      ].join('\r\n');
      await bringMail(scene, { from: '', to: [mailFrom], raw });
    }
    await goOn(80);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', held: null, counts: { delivered: 20, bounced: 4 } });
  });

  /** All its emails are in the queue before the first bounces; those to shut.example are tried again later. */
  async function queued(subject: string): Promise<{ campaign: Campaign; id: string }> {
    sink.isShut = true;
    const campaign = await campaignIn(scene);
    await campaign.addContacts([...many(10, `gone${subject}`, 'bad.example'), ...many(4, 'later', 'shut.example')]);
    const id = await campaign.broadcast({ subject });
    await scene.settled();
    await look(scene);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 14, held: { reason: 'bounces' } });
    sink.isShut = false;
    scene.clock.advance(6 * MINUTE);
    await scene.settled();
    return { campaign, id };
  }

  const waits = async (state: string): Promise<{ hold_reason: string | null }[]> => {
    const answer = await scene.api('GET', `/operator/queue/deliveries?state=${state}`, { key: await scene.operator() });
    return answer.body.data;
  };

  it('that is held also keeps its queued mail until it is resumed', async () => {
    const { campaign, id } = await queued('Queued');
    expect(arrivedAt(scene, 'Queued')).toEqual([]);
    expect((await waits('held')).map(({ hold_reason: reason }) => reason)).toEqual(Array(4).fill('bounces'));
    // The job of every minute leaves what is held as it is.
    await scene.app.jobs.find(({ name }) => name === 'release-ended-holds')?.run();
    expect(await waits('held')).toHaveLength(4);
    expect((await campaign.call('POST', `/broadcasts/${id}/resume`)).status).toBe(200);
    await scene.settled();
    expect(arrivedAt(scene, 'Queued').sort()).toEqual(many(4, 'later', 'shut.example'));
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', held: null });
  });

  it('that is canceled while it is held removes its mail from the queue', async () => {
    const { campaign, id } = await queued('Dropped');
    expect((await campaign.call('POST', `/broadcasts/${id}/cancel`)).status).toBe(200);
    expect(await waits('held')).toEqual([]);
    scene.clock.advance(HOUR);
    await scene.settled();
    expect(arrivedAt(scene, 'Dropped')).toEqual([]);
    expect(await campaign.get(id)).toMatchObject({ status: 'canceled', held: null });
    const emails = (await campaign.read('/emails?limit=100')).data as { to: string[]; last_event: string }[];
    const ended = emails.filter(({ to }) => to[0]?.endsWith('@shut.example'));
    expect(ended.map(({ last_event: state }) => state)).toEqual(Array(4).fill('failed'));
    expect((await campaign.call('POST', `/broadcasts/${id}/resume`)).status).toBe(403);
  });
});
