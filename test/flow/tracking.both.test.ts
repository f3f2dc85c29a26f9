import { Resolver } from 'node:dns/promises';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clickToken } from '../../src/protocol/track-links/index.ts';
import { confirmationUrl } from '../../src/features/audience/contacts/preference-links.ts';
import { linksTo } from '../rig/preference-pages.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { BROWSER, engagements, follow, createMac, sendHtml, trackingDomain } from './reader.ts';

// The verifier has no types for this module.
const { dkimVerify } = createRequire(import.meta.url)('mailauth/lib/dkim/verify') as {
  dkimVerify: (
    message: Buffer,
    options: { resolver: (name: string, type: string) => Promise<string[][]> },
  ) => Promise<{ results: { status: { result: string } }[] }>;
};

const HTML = '<html><body><p>Hi &amp; hello</p><a href="https://example.com/?a=1&amp;b=ü">x</a></body></html>';
const TARGET = 'https://example.com/?a=1&b=ü';

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
const loadTypes = async (id: string) => (await engagements(scene, id)).map((event) => event.type);
const loadState = async (id: string) => (await scene.account(team, id)).state;

describe('an email of a tracking domain', () => {
  it('has its links and its pixel on the tracking host, and is otherwise unchanged', async () => {
    const mail = await send({ text: 'See https://example.com/ü' });
    const [link = ''] = mail.links;
    expect(link).toMatch(new RegExp(`^http://track\\.${domain.name.replaceAll('.', '\\.')}/c/[A-Za-z0-9_-]+$`));
    expect(mail.pixel).toMatch(
      new RegExp(`^http://track\\.${domain.name.replaceAll('.', '\\.')}/o/[A-Za-z0-9_-]+\\.gif$`),
    );
    expect(
      mail.html
        .trim()
        .replace(/<img [^>]*>/, '')
        .replace(link, 'https://example.com/?a=1&amp;b=ü'),
    ).toBe(HTML);
    expect(mail.text.trim()).toBe('See https://example.com/ü');
  });

  it('keeps its unsubscribe links, which work longer than tracked ones', async () => {
    const ada = { email: 'ada@example.org' };
    const { body } = await scene.api('POST', '/contacts', { key: team.key, body: ada });
    const to = { id: body.id, ...ada };
    const own = await linksTo(scene, team, to, { domainId: domain.id });
    const others = ['https://example.com/unsubscribe/me', `${own.unsubscribe}x`, TARGET];
    const all = [own.unsubscribe, `${own.preferences}/?utm_source=mail`, ...others];
    const mail = await send({ html: all.map((link) => `<a href="${link}">x</a>`).join('') });
    expect(mail.links.slice(0, 2)).toEqual(all.slice(0, 2));
    for (const link of mail.links.slice(2)) expect(link).toContain('/c/');
    expect(mail.links).toHaveLength(5);
  });

  it('an email that asks for consent is not tracked', async () => {
    const contact = { id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e78', team_id: team.id, email_key: 'new@example.org' };
    const topicId = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77';
    const confirm = confirmationUrl(scene.app.world, scene.url, { contact, topicId });
    const mail = await send({ html: `<a href="${confirm}">x</a><a href="${TARGET}">y</a>` });
    expect(mail.links).toEqual([confirm, TARGET]);
    expect(mail.pixel).toBeUndefined();
  });

  it('is signed as it is sent', async () => {
    const dns = new Resolver();
    dns.setServers([scene.dns.server]);
    const { data } = await send();
    const { results } = await dkimVerify(data, { resolver: (name) => dns.resolveTxt(name) });
    expect(results.map((result) => result.status.result)).toEqual(['pass', 'pass']);
  });

  it('is stored as the caller sent it', async () => {
    const { id } = await send();
    expect((await scene.api('GET', `/emails/${id}`, { key: team.key })).body.html).toBe(HTML);
  });

  it('is unchanged without HTML', async () => {
    const { html, text, data } = await send({ html: undefined, text: 'See https://example.com/' });
    expect([html, text.trim()]).toEqual(['', 'See https://example.com/']);
    // A signature may hold the path alone.
    expect(data.toString('latin1')).not.toMatch(/\/o\/[\w-]+\.gif/);
  });

  it('keeps links that opt out, and those that are no web addresses', async () => {
    const own = ['<a data-rasket-no-track href="https://a.test/">', '<a href="mailto:a@a.test">', '<a href="#x">'];
    const { html } = await send({ html: own.join('') });
    for (const link of own) expect(html).toContain(link);
  });

  it('is tracked also when it is too large for its row', async () => {
    const { links, pixel } = await send({ html: HTML + 'x'.repeat(100_000) });
    expect([links[0], pixel]).toEqual([expect.stringContaining('/c/'), expect.stringContaining('/o/')]);
  });
});

describe('an open', () => {
  it('gets an image that nobody may cache, and is recorded with its reader', async () => {
    const { id, pixel = '' } = await send();
    const { status, headers, body } = await follow(scene.url, pixel);
    expect([status, headers['content-type'], body.length]).toEqual([200, 'image/gif', 43]);
    expect(body.subarray(0, 6).toString()).toBe('GIF89a');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'content-length': '43',
    });
    expect(headers).not.toHaveProperty('set-cookie');
    const at = scene.clock.now();
    const timestamp = new Date(at).toISOString();
    expect(await engagements(scene, id)).toMatchObject([
      {
        type: 'email.opened',
        at,
        data: { open: { ipAddress: '127.0.0.1', timestamp, userAgent: BROWSER } },
      },
    ]);
    expect(await loadState(id)).toBe('opened');
  });
});

describe('a click', () => {
  it('is redirected to the target as a browser writes it, and recorded as the caller wrote it', async () => {
    const { id, links } = await send();
    const { status, headers, body } = await follow(scene.url, links[0] ?? '');
    expect([status, headers.location, body.length]).toEqual([302, 'https://example.com/?a=1&b=%C3%BC', 0]);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers).not.toHaveProperty('set-cookie');
    const timestamp = new Date(scene.clock.now()).toISOString();
    expect(await engagements(scene, id)).toMatchObject([
      {
        type: 'email.clicked',
        at: Date.parse(timestamp),
        data: {
          click: { ipAddress: '127.0.0.1', link: TARGET, timestamp, userAgent: BROWSER },
        },
      },
    ]);
    expect(await loadState(id)).toBe('clicked');
  });

  it('is redirected for any spelling of the host, and with parameters that mail programs add', async () => {
    const { id, links } = await send();
    const path = new URL(links[0] ?? '').pathname;
    const host = `TRACK.${domain.name}.:8443`;
    expect((await follow(scene.url, `http://${host}${path}?fbclid=x`)).status).toBe(302);
    expect(await loadTypes(id)).toEqual(['email.clicked']);
  });

  it('in an email to several people names none of them, because they got one message', async () => {
    const to = ['Ann <x@example.org>', 'y@example.org'];
    const { id, links } = await send({ to, cc: 'c@example.net', bcc: ['b@example.net', 'x@example.org'] });
    await follow(scene.url, links[0] ?? '');
    const [click, ...others] = await engagements(scene, id);
    expect([Object.keys(click?.data ?? {}), others]).toEqual([['click'], []]);
  });

  it('that is repeated within a second counts once, and a second later again', async () => {
    const { id, links, pixel = '' } = await send();
    const [link = ''] = links;
    await follow(scene.url, link);
    await follow(scene.url, link);
    await follow(scene.url, pixel);
    await follow(scene.url, pixel);
    scene.clock.advance(999);
    await follow(scene.url, link);
    scene.clock.advance(1);
    await follow(scene.url, link);
    await follow(scene.url, link, { headers: { 'user-agent': `${BROWSER} other` } });
    expect(await loadTypes(id)).toEqual(['email.clicked', 'email.opened', 'email.clicked', 'email.clicked']);
  });

  it('moves the state forward and never back', async () => {
    const { id, links, pixel = '' } = await send();
    await follow(scene.url, links[0] ?? '');
    await follow(scene.url, pixel);
    expect(await loadTypes(id)).toEqual(['email.clicked', 'email.opened']);
    expect(await loadState(id)).toBe('clicked');
  });

  it('on a removed email is redirected and not recorded', async () => {
    const gone = { emailId: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01', domainId: domain.id };
    const token = clickToken({ ...gone, target: TARGET }, createMac(scene, 'click of a domain'));
    const other = await send();
    expect((await follow(scene.url, `http://track.${domain.name}/c/${token}`)).status).toBe(302);
    await follow(scene.url, other.pixel ?? '');
    expect(await loadTypes(other.id)).toEqual(['email.opened']);
    const { db } = scene.app.world;
    const sql = `select count(*) as n from events where subject_id = ?`;
    expect(Number((await db.get<{ n: number }>(sql, ['019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01']))?.n)).toBe(0);
  });
});

describe('an address that is fetched without end', () => {
  it('is recorded a thousand times for each email, opens and clicks each, and logged once', async () => {
    const { id, links, pixel = '' } = await send();
    const other = await send();
    const { world } = scene.app;
    const rows = Array.from({ length: 997 }, () => [world.ids.uuid(), team.id, 'email.opened', id, scene.clock.now()]);
    await world.db.insertMany('events', ['id', 'team_id', 'type', 'subject_id', 'created_at'], rows);
    const openAs = (name: string) => follow(scene.url, pixel, { headers: { 'user-agent': `${BROWSER} ${name}` } });
    for (let n = 0; n < 5; n++) expect((await openAs(`${n}`)).status).toBe(200);
    const loadCount = async (type: string) => (await loadTypes(id)).filter((each) => each === type).length;
    expect(await loadCount('email.opened')).toBe(1000);
    expect((await openAs('later')).status).toBe(200);
    await follow(scene.url, links[0] ?? '');
    await follow(scene.url, other.pixel ?? '');
    expect([await loadCount('email.opened'), await loadCount('email.clicked')]).toEqual([1000, 1]);
    expect([await loadState(id), await loadTypes(other.id)]).toEqual(['clicked', ['email.opened']]);
    expect(scene.log.filter((line) => line.includes('further readings of this email'))).toHaveLength(1);
  });
});

describe('no open redirect', () => {
  it('is possible with a forged, altered or copied token, which is not recorded either', async () => {
    const { id, links, pixel = '' } = await send();
    const token = (links[0] ?? '').split('/c/')[1] ?? '';
    const openToken = (pixel.split('/o/')[1] ?? '').replace('.gif', '');
    const last = token.at(-1) === 'A' ? 'B' : 'A';
    const first = token.startsWith('A') ? 'B' : 'A';
    const evil = Buffer.concat([
      Buffer.from(token, 'base64url').subarray(0, 44),
      Buffer.from('https://evil.test/'),
    ]).toString('base64url');
    const paths = [
      `/c/${first}${token.slice(1)}`,
      `/c/${token.slice(0, -1)}${last}`,
      `/c/${token}A`,
      `/c/${token.slice(0, -4)}`,
      `/c/${evil}`,
      `/c/${openToken}`,
      `/c/${token}.gif`,
      `/o/${token}.gif`,
      `/o/${openToken}`,
      `/o/A${openToken}.gif`,
      '/c/https%3A%2F%2Fevil.test',
      '/c/aHR0cHM6Ly9ldmlsLnRlc3Qv',
      '/c/?url=https://evil.test',
      '/c/',
      '/c//evil.test',
      '/c/..//evil.test',
      '/c/%0d%0aLocation:%20https://evil.test',
      `/c/${token}%00`,
      `/c/${token}/`,
      `/c/${token}=`,
      `/C/${token}`,
      `//c/${token}`,
      `/c/${token}#x/../https://evil.test`,
    ];
    for (const path of paths) {
      const { status, headers } = await follow(scene.url, `http://track.${domain.name}${path}`);
      expect([path, status, headers.location]).toEqual([path, 404, undefined]);
      // Readers are told in words, not in JSON.
      const type = /^\/[co]\//.test(path) ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8';
      expect([path, headers['content-type']]).toEqual([path, type]);
    }
    expect(await loadTypes(id)).toEqual([]);
  });

  it('is possible with a link of another installation', async () => {
    const { id } = await send();
    const token = clickToken({ emailId: id, domainId: domain.id, target: 'https://evil.test/' }, () =>
      Buffer.alloc(32, 7),
    );
    expect((await follow(scene.url, `http://track.${domain.name}/c/${token}`)).status).toBe(404);
  });

  it('is possible with a genuine token for something other than a web address', async () => {
    const { id } = await send();
    for (const target of ['javascript:alert(1)', '//evil.test/', 'https://a.test/\r\nx: y']) {
      const token = clickToken({ emailId: id, domainId: domain.id, target }, createMac(scene, 'click of a domain'));
      const { status, headers } = await follow(scene.url, `http://track.${domain.name}/c/${token}`);
      expect([status, headers.location]).toEqual([404, undefined]);
    }
  });
});

describe('next to the API', () => {
  it('only GET and HEAD of a link are handled, and every other method is an unknown path', async () => {
    const { links } = await send();
    const path = new URL(links[0] ?? '').pathname;
    for (const method of ['POST', 'DELETE', 'OPTIONS']) {
      const answer = await scene.api(method, path, { key: team.key });
      expect([answer.status, answer.body.name]).toEqual([404, 'not_found']);
    }
  });

  it('readers use up nobody’s rate limit, and have none themselves', async () => {
    await using limited = await startScene({ config: { tracking: { scheme: 'http' } }, ratePerSecond: 20 });
    const own = await limited.team();
    limited.clock.advance(10_000);
    const target = await trackingDomain(limited, own);
    const mail = await sendHtml(limited, own, target, { html: HTML });
    const answers = await Promise.all(Array.from({ length: 50 }, () => follow(limited.url, mail.pixel ?? '')));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
    expect((await limited.api('GET', '/emails', { key: own.key })).status).toBe(200);
  });
});

describe('behind a trusted proxy', () => {
  it('the host is the one that the proxy sends, and other senders are not trusted', async () => {
    await using proxied = await startScene({
      config: { tracking: { scheme: 'http' }, http: { port: 0, trusted_proxies: ['127.0.0.0/8'] } },
    });
    const own = await proxied.team();
    const mail = await sendHtml(proxied, own, await trackingDomain(proxied, own), { html: HTML });
    const link = new URL(mail.links[0] ?? '');
    const inside = `http://inside.test${link.pathname}`;
    const forwarded = { headers: { 'x-forwarded-host': link.host } };
    expect((await follow(proxied.url, inside, forwarded)).status).toBe(302);
    expect((await follow(proxied.url, inside)).status).toBe(404);
    expect(
      (await follow(scene.url, `http://inside.test${new URL((await send()).links[0] ?? '').pathname}`, forwarded))
        .status,
    ).toBe(404);
    expect(proxied.log.filter((line) => line.includes('must forward the Host header'))).toHaveLength(1);
  });

  it('the address of the reader is the last one that no proxy has', async () => {
    await using proxied = await startScene({
      config: { tracking: { scheme: 'http' }, http: { port: 0, trusted_proxies: ['127.0.0.0/8', '10.0.0.0/8'] } },
    });
    const own = await proxied.team();
    const mail = await sendHtml(proxied, own, await trackingDomain(proxied, own), { html: HTML });
    const from = ['198.51.100.7, 203.0.113.9, 10.1.1.1', '203.0.113.5, garbage, 10.1.1.1', '', '::ffff:203.0.113.8'];
    for (const addresses of from) {
      await follow(proxied.url, mail.pixel ?? '', { headers: { 'x-forwarded-for': addresses } });
    }
    const seen = (await engagements(proxied, mail.id)).map(
      ({ data }) => (data!.open as { ipAddress: string }).ipAddress,
    );
    expect(seen).toEqual(['203.0.113.9', '10.1.1.1', '127.0.0.1', '203.0.113.8']);
  });
});
