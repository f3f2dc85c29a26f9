// machines that open mail and follow its links --> what is recorded of them, beside people
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTracking } from '../../src/features/tracking/index.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { sceneFor, startWebhookReceiver } from '../rig/webhook-receiver.ts';
import { HOUR } from './mail.ts';
import { BROWSER, engagements, follow, readMail, sendHtml, trackingDomain } from './reader.ts';
import { hookAt } from './webhook-scene.ts';

const HTML = '<html><body><p>Hi</p><a href="https://example.com/?a=1&amp;b=ü">x</a></body></html>';

let scene: Scene;
let team: Team;
let domain: { id: string; name: string };
beforeAll(async () => {
  scene = await startScene({ config: { tracking: { scheme: 'http' } } });
  team = await scene.team();
  domain = await trackingDomain(scene, team);
});
afterAll(() => scene.close());

const send = (fields: Record<string, unknown> = {}) => sendHtml(scene, team, domain, { html: HTML, ...fields });
const loadState = async (id: string) => (await scene.account(team, id)).state;

/** Returns the recorded openings and clicks, each marked when a machine did it. */
const byWhom = async (id: string): Promise<string[]> =>
  (await engagements(scene, id)).map(({ type, data }) => `${type}${data?.['machine'] === true ? ' machine' : ''}`);

/** A mail with so many different links. */
const sendLinks = (count: number, fields: Record<string, unknown> = {}) => {
  const links = Array.from({ length: count }, (_, n) => `<a href="https://example.com/${n}">x</a>`);
  return send({ html: links.join(''), ...fields });
};

describe('a machine gets the same response, is marked as one and does not change the state:', () => {
  it.each<[string, { method?: string; headers?: Record<string, string | null> }]>([
    ['Apple Mail Privacy Protection', { headers: { 'user-agent': 'Mozilla/5.0' } }],
    ['a link scanner', { headers: { 'user-agent': 'Barracuda Sentinel (EE)' } }],
    ['a preview', { headers: { 'user-agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' } }],
    ['curl', { headers: { 'user-agent': 'curl/8.5.0' } }],
    ['a program without a name', { headers: { 'user-agent': null } }],
    ['a program with an empty name', { headers: { 'user-agent': '' } }],
    ['a browser that fetches ahead', { headers: { 'sec-purpose': 'prefetch' } }],
    ['HEAD', { method: 'HEAD' }],
  ])('%s', async (_who, how) => {
    const { id, links, pixel = '' } = await send();
    const click = await follow(scene.url, links[0] ?? '', how);
    expect([click.status, click.headers.location]).toEqual([302, 'https://example.com/?a=1&b=%C3%BC']);
    const opening = await follow(scene.url, pixel, how);
    expect([opening.status, opening.headers['content-length'], opening.body.length]).toEqual([
      200,
      '43',
      how.method === 'HEAD' ? 0 : 43,
    ]);
    expect(await byWhom(id)).toEqual(['email.clicked machine', 'email.opened machine']);
    expect(await loadState(id)).toBe('delivered');
    // A person who comes later is one.
    await follow(scene.url, pixel);
    expect(await byWhom(id)).toEqual(['email.clicked machine', 'email.opened machine', 'email.opened']);
    expect(await loadState(id)).toBe('opened');
  });

  it('Google’s image proxy, however, counts as a reader', async () => {
    const { id, pixel = '' } = await send();
    const agent = 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)';
    await follow(scene.url, pixel, { headers: { 'user-agent': agent } });
    expect(await byWhom(id)).toEqual(['email.opened']);
  });

  it('a person, however, who follows a link that the same program just requested by HEAD is counted', async () => {
    const { id, links } = await send();
    await follow(scene.url, links[0] ?? '', { method: 'HEAD' });
    await follow(scene.url, links[0] ?? '');
    expect((await byWhom(id)).sort()).toEqual(['email.clicked', 'email.clicked machine']);
  });

  it('anybody within two seconds of the delivery, however long that took', async () => {
    const body = { from: `a@${domain.name}`, to: 'tempfail-once@late.example', subject: 'Late', html: HTML };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body as { id: string };
    await scene.settled();
    expect(await loadState(id)).toBe('delivery_delayed');
    scene.clock.advance(HOUR);
    await scene.settled();
    expect(await loadState(id)).toBe('delivered');
    const { data } = scene.sink.messages.find((message) => message.data.includes(id)) ?? {};
    const early = { id, ...(await readMail(data ?? Buffer.alloc(0))) };
    scene.clock.advance(1999);
    await follow(scene.url, early.links[0] ?? '');
    await follow(scene.url, early.pixel ?? '');
    scene.clock.advance(1);
    await follow(scene.url, early.pixel ?? '', { headers: { 'user-agent': `${BROWSER} a person` } });
    expect(await byWhom(early.id)).toEqual(['email.clicked machine', 'email.opened machine', 'email.opened']);
  });

  it('webhooks and the list of events show machine: true, and omit it for a person', async () => {
    await using receiver = await startWebhookReceiver();
    await using told = await startScene(sceneFor(receiver, { config: { tracking: { scheme: 'http' } } }));
    receiver.publishIn(told.dns);
    const own = await told.team();
    await hookAt(told, own, receiver.url(), ['email.opened', 'email.clicked']);
    const { id, links, pixel = '' } = await sendHtml(told, own, await trackingDomain(told, own), { html: HTML });
    for (const how of [{ method: 'HEAD' }, {}]) {
      await follow(told.url, links[0] ?? '', how);
      await follow(told.url, pixel, how);
    }
    await engagements(told, id);
    await told.settled();
    const inWords = (type: string, machine: unknown): string => `${type} ${machine}`;
    const expected = ['email.clicked true', 'email.clicked undefined', 'email.opened true', 'email.opened undefined'];
    const sent = await receiver.until(4);
    expect(sent.map(({ payload }) => inWords(payload.type, payload.data['machine'])).sort()).toEqual(expected);
    const { data } = (await told.api('GET', `/emails/${id}/events`, { key: own.key })).body as {
      data: { type: string; data: Record<string, unknown> | null }[];
    };
    const readings = data.filter(({ type }) => type === 'email.clicked' || type === 'email.opened');
    expect(readings.map((event) => inWords(event.type, event.data?.['machine'])).sort()).toEqual(expected);
  });
});

describe('clicks on several links of one email', () => {
  const clickAll = async (links: readonly string[], apartMs: number): Promise<void> => {
    for (const link of links) {
      await follow(scene.url, link);
      scene.clock.advance(apartMs);
    }
  };

  it('on three within five seconds count as a machine’s, including the first two', async () => {
    const { id, links } = await sendLinks(3);
    await clickAll(links, 2500);
    expect(await byWhom(id)).toEqual(Array.from({ length: 3 }, () => 'email.clicked machine'));
    expect(await loadState(id)).toBe('delivered');
  });

  it('that are slower, or only two, count as a person’s', async () => {
    const slow = await sendLinks(3);
    await clickAll(slow.links, 2501);
    const two = await sendLinks(2);
    await clickAll(two.links, 0);
    expect(await byWhom(slow.id)).toEqual(Array.from({ length: 3 }, () => 'email.clicked'));
    expect(await byWhom(two.id)).toEqual(['email.clicked', 'email.clicked']);
    expect(await loadState(two.id)).toBe('clicked');
  });

  it('are reported once, when they are classified, and not before', async () => {
    const { id, links } = await sendLinks(3);
    await follow(scene.url, links[0] ?? '');
    await scene.app.tracking?.settled();
    const clicks = async () => (await scene.events(id)).filter(({ type }) => type === 'email.clicked').length;
    scene.clock.advance(6999);
    await scene.app.tracking?.settled();
    expect(await clicks()).toBe(0);
    scene.clock.advance(1);
    await scene.app.tracking?.settled();
    expect(await clicks()).toBe(1);
    // It stands, whatever comes.
    await clickAll(links, 0);
    expect(await byWhom(id)).toEqual(['email.clicked', ...Array.from({ length: 3 }, () => 'email.clicked machine')]);
  });

  it('are recorded by the next start when the process ended before they were classified', async () => {
    const { id, links } = await sendLinks(3);
    await clickAll(links.slice(0, 2), 0);
    await scene.restart();
    await follow(scene.url, links[2] ?? '');
    expect(await byWhom(id)).toEqual(Array.from({ length: 3 }, () => 'email.clicked machine'));
  });

  it('at several nodes are classified together, each once', async () => {
    const mails = [await sendLinks(3), await sendLinks(3), await sendLinks(3)];
    const runDirs = [1, 2].map(() => scratchFolder('rasket-test-'));
    const nodes = runDirs.map((dir) => createTracking(scene.app.world, dir));
    const links = [1, 2, 3].map((n) => `https://example.com/${n}`);
    for (const { id: emailId } of mails) {
      for (const [n, link] of links.entries()) {
        const click = { emailId, ipAddress: `192.0.2.${n}`, userAgent: BROWSER, link };
        await new Promise<void>((onNoted) => (nodes[n] ?? scene.app.tracking)?.note(click, onNoted));
      }
    }
    const settled = () =>
      Promise.all([...nodes, ...(scene.app.tracking ? [scene.app.tracking] : [])].map((node) => node.settled()));
    await settled();
    scene.clock.advance(7000);
    await settled();
    for (const { id } of mails) expect(await byWhom(id)).toEqual(links.map(() => 'email.clicked machine'));
    for (const [n, node] of nodes.entries()) {
      await node.close(0);
      rmSync(runDirs[n] ?? '', { recursive: true });
    }
  });

  it('count at once and as a person’s with tracking.burst_seconds = 0', async () => {
    await using hasty = await startScene({ config: { tracking: { scheme: 'http', burst_seconds: 0 } } });
    const own = await hasty.team();
    const html = [1, 2, 3].map((n) => `<a href="https://example.com/${n}">x</a>`).join('');
    const mail = await sendHtml(hasty, own, await trackingDomain(hasty, own), { html });
    for (const link of mail.links) await follow(hasty.url, link);
    await hasty.app.tracking?.settled();
    const seen = (await hasty.events(mail.id)).filter(({ type }) => type === 'email.clicked');
    expect(seen.map(({ data }) => data?.['machine'])).toEqual([undefined, undefined, undefined]);
  });
});
