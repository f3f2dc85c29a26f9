import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { confirmationUrl } from '../../../src/features/audience/contacts/preference-links.ts';
import { administerTeam } from '../../../src/tenancy/teams/index.ts';
import { campaignIn, type Campaign } from '../../flow/campaign.ts';
import { bringMail, callMx } from '../../rig/mx.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
let campaign: Campaign;
let topicId: string;
let people = 0;
beforeAll(async () => {
  scene = await startScene({ roles: ['http', 'delivery', 'receiving'] });
});
afterAll(() => scene.close());
beforeEach(async () => {
  campaign = await campaignIn(scene);
  topicId = await campaign.make('/topics', { name: 'News', default_subscription: 'opt_in' });
  scene.sink.messages.length = 0;
});

const LIST_UNSUBSCRIBE = /^List-Unsubscribe: (.*)$/m;

const readHeader = (data: string): string =>
  LIST_UNSUBSCRIBE.exec(data.replaceAll(/\r\n[ \t]+/g, ' '))?.[1]?.trim() ?? '';

/** Sends a broadcast to a new contact, and returns what its mail program would send. */
async function received(more: object = {}) {
  const email = `reader${++people}@one.example`;
  const id = await campaign.make('/contacts', { email });
  const broadcast = await campaign.broadcast({ topic_id: topicId, ...more });
  await scene.settled();
  const data = scene.sink.messages.find(({ rcptTo }) => rcptTo.includes(email))?.data ?? '';
  const [, https = '', mailto = ''] = /^<(https?:[^<>]+)>, <mailto:([^<>]+)>$/.exec(readHeader(String(data))) ?? [];
  const { pathname: to, searchParams } = new URL(`mailto:${mailto}`);
  return { id, email, broadcast, https, to, subject: searchParams.get('subject') ?? '' };
}

const compose = (subject: string, headers: readonly string[] = []): string =>
  ['From: reader@one.example', `Subject: ${subject}`, ...headers, '', 'This was generated.', ''].join('\r\n');

const bring = (to: string, raw: string, from = 'reader@one.example') => bringMail(scene, { from, to: [to], raw });

const subscription = async (id: string): Promise<string> => {
  const { data } = (await campaign.read(`/contacts/${id}/topics`)) as { data: { id: string; subscription: string }[] };
  return data.find((one) => one.id === topicId)?.subscription ?? '';
};

const decisions = async (id: string): Promise<string[]> => {
  const { data } = (await campaign.read(`/contacts/${id}/activity`)) as {
    data: { type: string; source: string | null }[];
  };
  return data.flatMap(({ type, source }) => (source === null ? [] : `${type} ${source}`));
};

describe('mail to the unsubscribe address', () => {
  it('unsubscribes the contact from the topic, once, and gets no answer', async () => {
    const { id, to, subject, broadcast } = await received();
    expect(to).toBe(`unsubscribe@send.${campaign.domain.name}`);
    const sent = scene.sink.messages.length;
    for (let time = 0; time < 2; time++) expect(await bring(to, compose(subject))).toMatch(/^250 /);
    await scene.settled();
    expect(await subscription(id)).toBe('opt_out');
    expect(await campaign.read(`/contacts/${id}`)).toMatchObject({ unsubscribed: false });
    expect(await decisions(id)).toEqual(['topic_opt_out unsubscribe_mail']);
    expect(await campaign.reported(broadcast, 'recipients?type=unsubscribed')).toHaveLength(1);
    expect(scene.sink.messages).toHaveLength(sent);
    expect((await campaign.read('/emails/receiving')).data).toEqual([]);
  });

  it('unsubscribes from everything if the mail had no topic, and nobody else', async () => {
    const other = await received({ topic_id: null });
    const { id, to, subject } = await received({ topic_id: null });
    expect(
      await bring(to, compose(`Re: ${subject.toUpperCase().slice(0, 11)} ${subject.slice(12)} [external]`)),
    ).toMatch(/^250 /);
    expect(await campaign.read(`/contacts/${id}`)).toMatchObject({ unsubscribed: true });
    expect(await campaign.read(`/contacts/${other.id}`)).toMatchObject({ unsubscribed: false });
  });

  it('is refused without a genuine token of the team', async () => {
    const { id, email, to, subject } = await received();
    const token = subject.slice('unsubscribe '.length);
    const last = token.endsWith('A') ? 'Q' : 'A';
    const contact = { id, team_id: campaign.team.id, email_key: email };
    const confirmation = confirmationUrl(scene.app.world, scene.url, { contact, topicId }).split('/').at(-1) ?? '';
    const elsewhere = await campaignIn(scene);
    const refused = '550 5.7.1 This address accepts only mail that a List-Unsubscribe header of this server asks for';
    for (const forged of ['unsubscribe', '', token.slice(0, -1), `${token.slice(0, -1)}${last}`, confirmation])
      expect(await bring(to, compose(`unsubscribe ${forged}`)), forged).toContain(refused);
    expect(await bring(`unsubscribe@send.${elsewhere.domain.name}`, compose(subject))).toContain(refused);
    expect(await subscription(id)).toBe('opt_in');
  });

  it.each([
    ['a bounce', [], ''],
    ['an automatic reply', ['Auto-Submitted: auto-replied (vacation)'], undefined],
    ['a report', ['Content-Type: multipart/report; boundary=b'], undefined],
  ])('changes nothing if it is %s', async (_, headers, from) => {
    const { id, to, subject } = await received();
    expect(await bring(to, compose(subject, headers), from)).toMatch(/^250 /);
    expect(await subscription(id)).toBe('opt_in');
  });

  it('may say that a mail program generated it', async () => {
    const { id, to, subject } = await received();
    await bring(to, compose(subject, ['Auto-Submitted: auto-generated']));
    expect(await subscription(id)).toBe('opt_out');
  });

  it('is accepted for a suspended team, and for a contact that was deleted and comes back', async () => {
    const { id, email, to, subject } = await received({ topic_id: null });
    await campaign.call('DELETE', `/contacts/${id}`);
    await administerTeam(scene.app.world, campaign.team.id, { riskState: 'suspended' });
    expect(await bring(to, compose(subject))).toMatch(/^250 /);
    await administerTeam(scene.app.world, campaign.team.id, { riskState: 'normal' });
    const again = await campaign.make('/contacts', { email });
    expect(await campaign.read(`/contacts/${again}`)).toMatchObject({ unsubscribed: true });
  });

  it('has one recipient, so that refusing it refuses no other mail', async () => {
    const { to } = await received();
    const elsewhere = await campaignIn(scene);
    const client = await callMx(scene);
    try {
      await client.hear();
      await client.say('EHLO mx.example.org');
      await client.say('MAIL FROM:<reader@one.example>');
      expect(await client.say(`RCPT TO:<${to}>`)).toMatch(/^250 /);
      expect(await client.say(`RCPT TO:<unsubscribe@send.${elsewhere.domain.name}>`)).toMatch(/^452 4\.5\.3 /);
    } finally {
      client.end();
    }
  });
});

describe('the List-Unsubscribe header', () => {
  it('names the mail address after the link, which works on its own', async () => {
    const { id, https } = await received();
    const answer = await fetch(https, { method: 'POST', body: 'List-Unsubscribe=One-Click' });
    expect(answer.status).toBe(200);
    expect(await subscription(id)).toBe('opt_out');
  });

  it('has lines within the limit of RFC 5322 for the longest address', async () => {
    const email = `${'l'.repeat(64)}@${'d'.repeat(59)}.${'e'.repeat(60)}.${'f'.repeat(60)}.example`;
    await campaign.make('/contacts', { email });
    await campaign.broadcast({ topic_id: topicId });
    await scene.settled();
    const data = String(scene.sink.messages.find(({ rcptTo }) => rcptTo.includes(email))?.data);
    expect(readHeader(data)).toMatch(/^<http[^<>]+>, <mailto:[^<>]+>$/);
    const head = data.slice(0, data.indexOf('\r\n\r\n')).split('\r\n');
    expect(Math.max(...head.map((line) => line.length))).toBeLessThanOrEqual(998);
  });

  it('has the link alone while the MX record of the return path is missing', async () => {
    const { db } = scene.app.world;
    await db.run('update domains set failing_since = ? where id = ?', [scene.clock.now(), campaign.domain.id]);
    await campaign.addContacts(['alone@one.example']);
    await campaign.broadcast();
    await scene.settled();
    const data = String(scene.sink.messages.find(({ rcptTo }) => rcptTo.includes('alone@one.example'))?.data);
    expect(readHeader(data)).toMatch(/^<https?:[^<>]+>$/);
  });
});
