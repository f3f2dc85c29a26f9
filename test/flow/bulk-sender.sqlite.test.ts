// what Gmail and Yahoo require of bulk senders --> a broadcast as their servers get it
import { Resolver } from 'node:dns/promises';
import { authenticate } from 'mailauth';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { press, visit } from '../rig/preference-pages.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import type { SinkMessage } from '../rig/sink.ts';
import { makeCertificate } from '../rig/tls.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { readMail } from './reader.ts';

const ONE_CLICK = { body: 'List-Unsubscribe=One-Click' };

let scene: Scene;
let greetings: string[];
beforeAll(async () => {
  greetings = [];
  const script = (command: string): undefined => {
    if (/^EHLO/i.test(command)) greetings.push(command);
    return undefined;
  };
  const certificate = makeCertificate({ names: ['mx.sink.test'] });
  scene = await startScene({ sink: { tls: 'starttls', certificate, script } });
});
afterAll(() => scene.close());

interface Sent {
  campaign: Campaign;
  id: string;
  messages: SinkMessage[];
}

/** A broadcast to so many contacts, as it arrived. */
async function broadcast(count: number, more: Record<string, unknown> = {}): Promise<Sent> {
  const campaign = await campaignIn(scene);
  const host = `d${campaign.domain.id}.example`;
  await campaign.addContacts(Array.from({ length: count }, (_, n) => `reader${n}@${host}`));
  const id = await campaign.broadcast(more);
  await scene.settled();
  const messages = scene.sink.messages.filter(({ rcptTo }) => rcptTo[0]?.endsWith(host));
  expect(messages).toHaveLength(count);
  return { campaign, id, messages };
}

/** Returns the auth results of the receiving server for mail that comes from `ip`. */
function judged({ data, mailFrom }: Pick<SinkMessage, 'data' | 'mailFrom'>, ip: string) {
  const dns = new Resolver();
  dns.setServers([scene.dns.server]);
  return authenticate(data, {
    ip,
    helo: 'mail.rasket.test',
    sender: mailFrom,
    mta: 'mx.example.net',
    disableBimi: true,
    resolver: (name: string, type: string) => dns.resolve(name, type) as Promise<string[]>,
  });
}

/** Header fields, unfolded, in their order. */
const listHeaders = ({ data }: Pick<SinkMessage, 'data'>): [name: string, value: string][] =>
  (data.toString('utf8').split('\r\n\r\n', 1)[0] ?? '')
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
    .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]);
const listValues = (message: Pick<SinkMessage, 'data'>, name: string): string[] =>
  listHeaders(message).flatMap(([each, value]) => (each === name ? [value] : []));
const readUnsubscribeLink = (message: SinkMessage | undefined): string =>
  /^<([^<>]*)>/.exec((message ? listValues(message, 'list-unsubscribe')[0] : undefined) ?? '')?.[1] ?? '';

describe('the sender of bulk mail', () => {
  it('passes SPF, DKIM and DMARC, and both are aligned with its From', async () => {
    const { campaign, messages } = await broadcast(2);
    const { name } = campaign.domain;
    scene.dns.set(`_dmarc.${name}`, 'TXT', [['v=DMARC1; p=reject; adkim=s; aspf=r']]);
    // The operator publishes the address that mail comes from.
    scene.dns.set(scene.app.world.config.instance.host, 'A', ['192.0.2.25']);
    for (const message of messages) {
      const found = await judged(message, '192.0.2.25');
      expect(found.spf && found.spf.status.result).toBe('pass');
      expect(found.dkim.results.every(({ status }) => status.result === 'pass')).toBe(true);
      expect(found.dmarc).toMatchObject({ status: { result: 'pass', header: { from: name } } });
      expect(found.dmarc && found.dmarc.alignment).toMatchObject({
        spf: { result: `send.${name}` },
        dkim: { result: name },
      });
    }
  });

  it('signs with a 2048-bit key, as Gmail requires', async () => {
    const { campaign, messages } = await broadcast(1);
    const signatures = listValues(messages[0] ?? { data: Buffer.alloc(0) }, 'dkim-signature');
    const rsa = signatures.find((value) => value.includes('a=rsa-sha256')) ?? '';
    expect(rsa).toContain(`d=${campaign.domain.name};`);
    const bytes = Buffer.from((/\bb=([^;]*)$/.exec(rsa)?.[1] ?? '').replaceAll(' ', ''), 'base64').length;
    expect(bytes * 8).toBe(2048);
  });

  it('has one From on a verified domain, and one Message-ID of its own', async () => {
    const { campaign, messages } = await broadcast(3);
    for (const message of messages) {
      expect(listValues(message, 'from')).toEqual([`Example <news@${campaign.domain.name}>`]);
      for (const name of ['date', 'message-id', 'subject', 'to', 'mime-version', 'content-type'])
        expect([name, listValues(message, name).length]).toEqual([name, 1]);
    }
    const ids = messages.flatMap((message) => listValues(message, 'message-id'));
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(new RegExp(`^<[^<>@ ]+@${campaign.domain.name.replaceAll('.', '\\.')}>$`));
    const foreign = { from: 'A <a@gmail.com>', subject: 'x', segment_id: campaign.segmentId, html: 'x', send: true };
    expect((await campaign.call('POST', '/broadcasts', foreign)).status).toBe(422);
  });

  it('greets with the name that reverse DNS must return, and uses TLS when it is offered', async () => {
    const { messages } = await broadcast(1);
    expect(messages.map(({ tls }) => tls)).toEqual([true]);
    expect(new Set(greetings)).toEqual(new Set([`EHLO ${scene.app.world.config.instance.host}`]));
  });
});

describe('the way to unsubscribe', () => {
  it('has both RFC 8058 headers under the DKIM signature, which changing or removing one breaks', async () => {
    const { messages } = await broadcast(1);
    const [message] = messages;
    if (!message) return expect.unreachable();
    expect(listValues(message, 'list-unsubscribe-post')).toEqual(['List-Unsubscribe=One-Click']);
    expect(readUnsubscribeLink(message)).toMatch(/^https?:\/\/[^<>, ]+$/);
    const text = message.data.toString('latin1');
    const changes = [
      text.replace(/^List-Unsubscribe: <[^]*?>\r\n/m, ''),
      text.replace(/^List-Unsubscribe-Post: .*\r\n/m, ''),
      text.replace(/^List-Unsubscribe: </m, 'List-Unsubscribe: <https://evil.example/>, <'),
      `List-Unsubscribe: <https://evil.example/>\r\n${text}`,
    ];
    const loadResults = async (raw: string): Promise<string[]> => {
      const { dkim } = await judged({ data: Buffer.from(raw, 'latin1'), mailFrom: message.mailFrom }, '127.0.0.1');
      return dkim.results.map(({ status }) => String(status.result));
    };
    expect(new Set(await loadResults(text))).toEqual(new Set(['pass']));
    for (const change of changes) {
      expect(change).not.toBe(text);
      expect(await loadResults(change)).not.toContain('pass');
    }
  });

  it('includes a link in HTML and text, also when the author forgot one', async () => {
    const { messages } = await broadcast(1, { html: '<p>Hello</p>' });
    const { html, text } = await readMail(messages[0]?.data ?? Buffer.alloc(0));
    const [, href = ''] = /<a [^>]*href="([^"]*)"[^>]*>Unsubscribe<\/a>/.exec(html) ?? [];
    expect(href).toBe(readUnsubscribeLink(messages[0]));
    expect(text).toContain(`Unsubscribe: ${href}`);
  });

  it('is not triggered by a mail gateway that opens the link', async () => {
    const { campaign, messages } = await broadcast(1);
    for (const method of ['GET', 'HEAD'])
      expect((await visit(scene, readUnsubscribeLink(messages[0]), { method })).status).toBe(200);
    const { body } = await campaign.call('GET', `/contacts/${messages[0]?.rcptTo[0]}`);
    expect(body).toMatchObject({ unsubscribed: false });
  });

  it('takes effect at once, also for mail that was accepted before', async () => {
    const { campaign, messages } = await broadcast(3);
    const host = messages[0]?.rcptTo[0]?.split('@')[1] ?? '';
    const operator = await scene.operator();
    const hold = { destination: host, reason: 'test' };
    const held = await scene.api('POST', '/operator/queue/holds', { key: operator, body: hold });
    const second = await campaign.broadcast({ subject: 'The second' });
    await scene.settled();
    expect(await campaign.get(second)).toMatchObject({ status: 'sent', recipients: 3 });
    const [byClick, byPage] = messages;
    expect((await visit(scene, readUnsubscribeLink(byClick), ONE_CLICK)).status).toBe(200);
    await press(scene, await visit(scene, readUnsubscribeLink(byPage)), 'unsubscribe');
    await scene.api('DELETE', `/operator/queue/holds/${held.body.id as string}`, { key: operator });
    await scene.settled();
    const stays = messages[2]?.rcptTo[0];
    expect(await campaign.reported(second, 'recipients?type=delivered')).toEqual([stays]);
    expect(await campaign.reported(second, 'recipients?type=suppressed')).toHaveLength(2);
    const third = await campaign.broadcast({ subject: 'The third' });
    await scene.settled();
    expect(await campaign.reported(third, 'recipients?type=sent')).toEqual([stays]);
  });
});

describe('the opinion of readers', () => {
  it('is measured as complaints per delivered email, by broadcast and domain, and complainants get nothing more', async () => {
    const campaign = await campaignIn(scene);
    const host = `simulator.${scene.app.world.config.instance.host}`;
    await campaign.addContacts([`complained@${host}`, ...[1, 2, 3].map((n) => `delivered+${n}@${host}`)]);
    const id = await campaign.broadcast();
    await scene.settled();
    scene.clock.advance(5000);
    await scene.settled();
    const rates = 'metrics=delivered,complained,complaint_rate';
    for (const filter of [`broadcast_id=${id}`, `domain_id=${campaign.domain.id}`])
      expect((await campaign.read(`/emails/metrics?${rates}&${filter}`)).totals).toEqual({
        delivered: 4,
        complained: 1,
        complaint_rate: 25,
      });
    expect(await campaign.reported(id, 'recipients?type=complained')).toEqual([`complained@${host}`]);
  });
});
