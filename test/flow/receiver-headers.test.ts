// headers that receivers use: Feedback-ID, List-Id and Date, as they arrive at the recipient's server
import { Resolver } from 'node:dns/promises';
import { authenticate } from 'mailauth';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { supply } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import type { SinkMessage } from '../rig/sink.ts';
import { connect, logIn, submit } from '../smtp/dialogue.ts';
import { desk, mail as mailStep } from './automations-desk.ts';
import { campaignIn, POSTAL_ADDRESS } from './campaign.ts';
import { advanceToNextAttempt, HOUR, mailIn, listMessages, MINUTE } from './mail.ts';

const DAY = 24 * HOUR;

/** Reads the values of a header field, unfolded. */
function readHeader(data: Buffer, name: string): string[] {
  const head = (data.toString('utf8').split('\r\n\r\n', 1)[0] ?? '').replaceAll(/\r\n[ \t]+/g, ' ');
  return head
    .split('\r\n')
    .filter((line) => line.toLowerCase().startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).trim());
}

const findArrived = (scene: Scene, subject: string): SinkMessage[] =>
  scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`));

/** Reads a header of the only message with a subject. */
function readOnly(scene: Scene, subject: string, name: string): string[] {
  const found = findArrived(scene, subject);
  expect(found).toHaveLength(1);
  return readHeader(found[0]?.data ?? Buffer.alloc(0), name);
}

/** Expects valid signatures that cover a header, as the recipient's server sees them. */
async function expectSigned(scene: Scene, message: SinkMessage | undefined, name: string): Promise<void> {
  const data = message?.data ?? Buffer.alloc(0);
  const dns = new Resolver();
  dns.setServers([scene.dns.server]);
  const found = await authenticate(data, {
    ip: '192.0.2.25',
    helo: 'mail.rasket.test',
    sender: message?.mailFrom ?? '',
    mta: 'mx.example.net',
    disableBimi: true,
    resolver: (host: string, type: string) => dns.resolve(host, type) as Promise<string[]>,
  });
  expect(found.dkim.results.map(({ status }) => status.result)).not.toContain('fail');
  expect(found.dkim.results.length).toBeGreaterThan(0);
  for (const signature of readHeader(data, 'dkim-signature')) {
    const signed = /\bh=([^;]*);/.exec(signature)?.[1]?.replaceAll(' ', '').split(':');
    expect(signed).toContain(name);
  }
}

describe('the header Feedback-ID', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http', 'scheduler', 'delivery', 'submission'] });
  });
  afterAll(() => scene.close());

  it('names the stream and a stable sender for transactional mail, and is signed', async () => {
    const mail = await mailIn(scene);
    const other = await mailIn(scene);
    await mail.send('ann@one.example', { subject: 'Feedback one' });
    await mail.send('bob@two.example', { subject: 'Feedback two', html: '<p>x</p>' });
    await other.send('ann@one.example', { subject: 'Feedback three' });
    await scene.settled();
    const [one = '', ...more] = readOnly(scene, 'Feedback one', 'feedback-id');
    expect(more).toEqual([]);
    expect(one).toMatch(/^transactional:[0-9a-z]{5,15}$/);
    expect(readOnly(scene, 'Feedback two', 'feedback-id')).toEqual([one]);
    const [three = ''] = readOnly(scene, 'Feedback three', 'feedback-id');
    expect(three).toMatch(/^transactional:[0-9a-z]{5,15}$/);
    expect(three).not.toBe(one);
    expect(mail.team.id.replaceAll('-', '')).not.toContain(one.split(':')[1]);
    await expectSigned(scene, findArrived(scene, 'Feedback one')[0], 'feedback-id');
  });

  it('is kept as the sender wrote it, and is signed', async () => {
    const mail = await mailIn(scene);
    await mail.send('ann@one.example', { subject: 'Own id', headers: { 'feedback-id': 'a:b:c:acme-shop' } });
    await scene.settled();
    expect(readOnly(scene, 'Own id', 'feedback-id')).toEqual(['a:b:c:acme-shop']);
    await expectSigned(scene, findArrived(scene, 'Own id')[0], 'feedback-id');
  });

  it('is one header when it is given twice in different case, and absent when it is empty', async () => {
    const mail = await mailIn(scene);
    const twice = { 'feedback-id': 'a:b:c:acme-shop', 'Feedback-ID': 'd:e:f:acme-shop', 'X-Other': '1' };
    await mail.send('ann@one.example', { subject: 'Given twice', headers: twice });
    await mail.send('ann@one.example', { subject: 'Given empty', headers: { 'Feedback-ID': '' } });
    await mail.send('ann@one.example', { subject: 'Given blank', headers: { 'feedback-id': ' ' } });
    await scene.settled();
    expect(readOnly(scene, 'Given twice', 'feedback-id')).toEqual(['d:e:f:acme-shop']);
    expect(readOnly(scene, 'Given twice', 'x-other')).toEqual(['1']);
    expect(readOnly(scene, 'Given empty', 'feedback-id')).toEqual([]);
    expect(readOnly(scene, 'Given blank', 'feedback-id')).toEqual([]);
    await expectSigned(scene, findArrived(scene, 'Given twice')[0], 'feedback-id');
  });

  it('is added to a message that a client composed, and nothing else of it changes', async () => {
    const mail = await mailIn(scene);
    const from = `a@${mail.domain.name}`;
    const session = await connect(scene, 'starttls');
    await logIn(session, mail.team.key);
    const written = (subject: string, more = '') =>
      `From: ${from}\r\nTo: ann@one.example\r\nSubject: ${subject}\r\nDate: Fri, 20 Nov 2026 00:00:00 +0000\r\n${more}\r\nHello\r\n`;
    for (const [subject, more] of [
      ['By SMTP', ''],
      ['By SMTP with its own', 'Feedback-ID: mine:sender1\r\n'],
    ] as const) {
      const content = written(subject, more);
      expect(await submit(session, { from, to: ['ann@one.example'], content })).toMatch(/^250 /);
    }
    session.end();
    await scene.settled();
    const sender = /^transactional:[0-9a-z]{5,15}$/;
    expect(readOnly(scene, 'By SMTP', 'feedback-id')).toEqual([expect.stringMatching(sender)]);
    expect(readOnly(scene, 'By SMTP with its own', 'feedback-id')).toEqual(['mine:sender1']);
    expect(readOnly(scene, 'By SMTP', 'date')).toEqual(['Fri, 20 Nov 2026 00:00:00 +0000']);
    await expectSigned(scene, findArrived(scene, 'By SMTP')[0], 'feedback-id');
    await expectSigned(scene, findArrived(scene, 'By SMTP with its own')[0], 'feedback-id');
  });

  it('names the broadcast, and List-Id names its topic or segment', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['ann@one.example']);
    const topic = await campaign.make('/topics', { name: 'Offers', default_subscription: 'opt_in' });
    const plain = await campaign.broadcast({ subject: 'To a segment' });
    const topical = await campaign.broadcast({ subject: 'To a topic', topic_id: topic });
    await scene.settled();
    expect(readOnly(scene, 'To a segment', 'feedback-id')).toEqual([
      expect.stringMatching(new RegExp(`^${plain}:broadcast:[0-9a-z]{5,15}$`)),
    ]);
    expect(readOnly(scene, 'To a topic', 'feedback-id')).toEqual([
      expect.stringMatching(new RegExp(`^${topical}:broadcast:[0-9a-z]{5,15}$`)),
    ]);
    expect(readOnly(scene, 'To a segment', 'list-id')).toEqual([`<${campaign.segmentId}.${campaign.domain.name}>`]);
    expect(readOnly(scene, 'To a topic', 'list-id')).toEqual([`<${topic}.${campaign.domain.name}>`]);
    await expectSigned(scene, findArrived(scene, 'To a topic')[0], 'list-id');
    await expectSigned(scene, findArrived(scene, 'To a topic')[0], 'feedback-id');
  });

  it('names the automation, and List-Id names its topic', async () => {
    const has = await supply(scene);
    const team = desk(scene, has);
    await team.must('PATCH', '/team', { postal_address: POSTAL_ADDRESS });
    await team.call('PATCH', `/contacts/${has.contact}/topics`, [{ id: has.topic, subscription: 'opt_in' }]);
    const automation = await team.automate(mailStep('mail', has, undefined, { topic_id: has.topic }));
    await team.send({ product: 'Tea' });
    await scene.settled();
    expect(readOnly(scene, 'Thanks', 'feedback-id')).toEqual([
      expect.stringMatching(new RegExp(`^${automation}:automation:[0-9a-z]{5,15}$`)),
    ]);
    expect(readOnly(scene, 'Thanks', 'list-id')).toEqual([`<${has.topic}.${has.domain}>`]);
  });

  it('is accompanied by List-Id in API mail with a topic, unless the sender wrote one', async () => {
    const campaign = await campaignIn(scene);
    const topic = await campaign.make('/topics', { name: 'News', default_subscription: 'opt_in' });
    const send = async (subject: string, more: object): Promise<void> => {
      const from = `a@${campaign.domain.name}`;
      const { status } = await campaign.call('POST', '/emails', {
        from,
        to: 'ann@one.example',
        subject,
        text: 'x',
        ...more,
      });
      expect(status).toBe(200);
    };
    await send('No topic', {});
    await send('With topic', { topic_id: topic });
    await send('Own list', { topic_id: topic, headers: { 'LIST-ID': '<own.example.com>' } });
    await scene.settled();
    expect(readOnly(scene, 'No topic', 'list-id')).toEqual([]);
    expect(readOnly(scene, 'With topic', 'list-id')).toEqual([`<${topic}.${campaign.domain.name}>`]);
    expect(readOnly(scene, 'Own list', 'list-id')).toEqual(['<own.example.com>']);
  });
});

it('the settings delivery.feedback_id and delivery.list_id turn the headers off', async () => {
  await using scene = await startScene({ config: { delivery: { feedback_id: false, list_id: false } } });
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['ann@one.example']);
  await campaign.broadcast({ subject: 'Bare' });
  await scene.settled();
  expect(readOnly(scene, 'Bare', 'feedback-id')).toEqual([]);
  expect(readOnly(scene, 'Bare', 'list-id')).toEqual([]);
});

describe('the header Date', () => {
  let scene: Scene;
  let contents: Buffer[];
  beforeAll(async () => {
    contents = [];
    scene = await startScene({ sink: { onContent: (data) => contents.push(data) } });
  });
  afterAll(() => scene.close());

  const toSeconds = (date: string | undefined): number => Math.floor(Date.parse(date ?? '') / 1000);
  const now = (): number => Math.floor(scene.clock.now() / 1000);

  it('is the time of the first attempt of mail that an operator held for days', async () => {
    const mail = await mailIn(scene);
    const key = await scene.operator();
    const body = { destination: 'held.example', reason: 'test' };
    const hold = (await scene.api('POST', '/operator/queue/holds', { key, body })).body.id as string;
    const id = await mail.send('ann@held.example');
    await scene.settled();
    scene.clock.advance(3 * DAY);
    await scene.settled();
    expect(listMessages(scene, id)).toEqual([]);
    await scene.api('DELETE', `/operator/queue/holds/${hold}`, { key });
    await scene.settled();
    const dates = listMessages(scene, id).flatMap(({ data }) => readHeader(data, 'date'));
    expect(dates.map(toSeconds)).toEqual([now()]);
  });

  it('is the time of the first attempt of scheduled mail that was due while sending was off', async () => {
    const mail = await mailIn(scene);
    const scheduled_at = new Date(scene.clock.now() + 10 * MINUTE).toISOString();
    const id = await mail.send('ann@later.example', { scheduled_at });
    const key = await scene.operator();
    const body = { destination: 'later.example', reason: 'test' };
    const hold = (await scene.api('POST', '/operator/queue/holds', { key, body })).body.id as string;
    scene.clock.advance(DAY);
    await scene.settled();
    await scene.api('DELETE', `/operator/queue/holds/${hold}`, { key });
    await scene.settled();
    const dates = listMessages(scene, id).flatMap(({ data }) => readHeader(data, 'date'));
    expect(dates.map(toSeconds)).toEqual([now()]);
  });

  it('stays the same as all other bytes at each further attempt, at another destination and after a restart', async () => {
    const mail = await mailIn(scene);
    const began = now();
    const id = await mail.send(['dot-tempfail-once@first.example', 'tempfail-once@second.example'], {
      html: '<p>Hello</p>',
      attachments: [{ filename: 'a.txt', content: Buffer.from('content').toString('base64') }],
    });
    await scene.settled();
    await scene.restart();
    while ((await mail.account(id)).waiting.length > 0) await advanceToNextAttempt(scene, id);
    const sent = contents.filter((data) => data.includes(`Message-ID: <${id}@`));
    expect(sent).toHaveLength(3);
    expect(new Set(sent.map(String)).size).toBe(1);
    expect(readHeader(sent[0] ?? Buffer.alloc(0), 'date').map(toSeconds)).toEqual([began]);
    expect(now()).toBeGreaterThan(began);
  });

  it('is the time at which mail could be signed when its domain had lost its records before', async () => {
    const mail = await mailIn(scene);
    const { db } = scene.app.world;
    const id = await mail.send('ann@signed.example', {
      scheduled_at: new Date(scene.clock.now() + MINUTE).toISOString(),
    });
    const { verified_at: verifiedAt } = (await db.get<{ verified_at: number }>(
      'select verified_at from domains where id = ?',
      [mail.domain.id],
    ))!;
    await db.run('update domains set verified_at = null where id = ?', [mail.domain.id]);
    scene.clock.advance(2 * MINUTE);
    await scene.settled();
    expect((await mail.account(id)).waiting).toEqual(['ann@signed.example']);
    // The second attempt finds it unverified as well.
    await advanceToNextAttempt(scene, id);
    expect((await mail.account(id)).waiting).toEqual(['ann@signed.example']);
    await db.run('update domains set verified_at = ? where id = ?', [verifiedAt, mail.domain.id]);
    scene.clock.advance(DAY);
    await scene.settled();
    const dates = listMessages(scene, id).flatMap(({ data }) => readHeader(data, 'date'));
    expect(dates.map(toSeconds)).toEqual([now()]);
  });
});
