import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countClicks } from '../../../src/features/campaigns/broadcast-recipients/links.store.ts';
import { countOutcomes } from '../../../src/features/campaigns/broadcast-recipients/outcomes.store.ts';
import { insertRecipients } from '../../../src/features/campaigns/broadcast-recipients/broadcast-recipients.store.ts';
import { forgetExpiredShares } from '../../../src/features/sharing/index.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDesk, said, type Desk } from '../broadcasts/drafting.ts';
import { framed, unframed } from './shared.ts';

const DAY_MS = 86_400_000;

describe('the page of a broadcast', () => {
  let scene: Scene;
  let desk: Desk;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http'] });
    desk = await openDesk(scene);
  });
  afterAll(() => scene.close());

  const share = async (id: string, body: object = {}, by: Desk = desk): Promise<string> => {
    const answer = await by.call('POST', `/broadcasts/${id}/share`, body);
    expect(answer.status, answer.text).toBe(200);
    return new URL(answer.body.url as string).pathname;
  };
  const open = async (path: string) => {
    const answer = await fetch(scene.url + path, { headers: { accept: 'text/html', 'user-agent': 'test' } });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, ours: unframed(text), frame: framed(text) };
  };

  it('the page of a broadcast opens without a key and shows sender, subject, audience, checklist and the email of a made-up contact', async () => {
    const id = await desk.make({ subject: 'Tick & <tock>', preview_text: 'In short' });
    const { status, headers, ours, frame } = await open(await share(id));
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(ours).toContain('<h1><bdi>Tick &amp; &lt;tock&gt;</bdi></h1>');
    for (const shown of ['In short', 'Readers', 'reader@example.com', '0 of 0 contacts', 'There is a body.']) {
      expect(ours).toContain(shown);
    }
    expect(ours).toContain(`news@${desk.domain.name}`);
    expect(frame).toContain('Hello Alex');
  });

  it('the page of a broadcast names the topic and has the email before the checks, of which those that passed are folded', async () => {
    const topic = { name: 'Tea & more', default_subscription: 'opt_in' };
    const { id: topicId } = (await desk.call('POST', '/topics', topic)).body;
    const { ours } = await open(await share(await desk.make({ topic_id: topicId })));
    expect(ours).toContain('<dt>Topic</dt><dd><bdi>Tea &amp; more</bdi></dd>');
    const places = [
      'id="preview"',
      'id="checklist"',
      'There is no preview text',
      'checks have passed',
      'There is a body.',
    ];
    const found = places.map((one) => ours.indexOf(one, ours.indexOf('<main')));
    expect(found, String(found)).toEqual(found.toSorted((a, b) => a - b));
    expect(found[0]).toBeGreaterThan(0);
    expect(ours).toMatch(/<summary>\d+ checks have passed<\/summary>/);
  });

  it('the page of a broadcast shows the email of each chosen contact and no other contact', async () => {
    const names = ['Ada', 'Grace'];
    const id = await desk.make();
    for (const first_name of [...names, 'Hidden'])
      await desk.call('POST', '/contacts', { email: `${first_name}@readers.example`, first_name });
    const path = await share(id, { contacts: names.map((name) => `${name}@readers.example`) });
    const first = await open(path);
    expect([first.frame, first.ours]).toEqual([
      expect.stringContaining('Hello Ada'),
      expect.stringContaining('Ada@readers.example'),
    ]);
    const second = await open(`${path}?contact=2`);
    expect(second.frame).toContain('Hello Grace');
    expect(second.ours).not.toContain('Hidden@readers.example');
    expect((await open(`${path}?contact=3`)).text).not.toContain('Hello');
    await desk.call('DELETE', '/contacts/Ada@readers.example');
    const gone = await open(path);
    expect(gone.ours).toContain('This contact was deleted');
    expect(gone.ours).not.toContain('Ada@readers.example');
  });

  it.each([
    ['at the width of a phone', '?width=phone', 'class="view phone light"'],
    ['at the width of a desktop', '', 'class="view desktop light"'],
    ['in dark colors', '?colors=dark', 'class="view desktop dark"'],
  ])('shows the email %s', async (_, query, shown) => {
    const { ours, frame } = await open((await share(await desk.make())) + query);
    expect(ours).toContain(shown);
    expect(frame).toContain(`:root{color-scheme:${query.includes('dark') ? 'dark' : 'light'}`);
  });

  it('the page of a broadcast shows the text part in place of the HTML', async () => {
    const { ours } = await open(`${await share(await desk.make())}?part=text`);
    expect(ours).toContain('<pre dir="auto">Hello Alex');
    expect(ours).not.toContain('<iframe');
  });

  it('the page of a broadcast refuses a choice that it does not offer, by its name', async () => {
    const path = await share(await desk.make());
    for (const [query, name] of [
      ['contact=0', 'contact'],
      ['contact=11', 'contact'],
      ['width=wide', 'width'],
      ['colors=sepia', 'colors'],
      ['part=attachment', 'part'],
      ['images=yes', 'images'],
      ['live=2', 'live'],
    ]) {
      const answer = await scene.api('GET', `${path}?${query}`);
      expect([answer.status, answer.body.message]).toEqual([422, expect.stringContaining(`${name} must be`)]);
    }
  });

  it('the page of a broadcast puts hostile HTML into a frame without scripts, forms and remote requests', async () => {
    const html =
      '<script>alert(1)</script><form action="/x"><input name="a"></form><img src="https://evil.example/i.png">';
    const { frame, text, headers } = await open(await share(await desk.make({ html })));
    expect(text).toContain('<iframe title="Content of the email" sandbox=""');
    expect(frame).not.toMatch(/<script|<form|<input/);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-robots-tag')).toContain('noindex');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('the page of a broadcast has unsubscribe links that lead nowhere', async () => {
    const { frame } = await open(await share(await desk.make()));
    expect(frame).toContain('Unsubscribe');
    expect(frame).not.toMatch(/<a[^>]*\shref=/);
  });

  it('the page of a broadcast changes with the draft, and is gone with it', async () => {
    const id = await desk.make();
    const path = await share(id);
    await desk.call('PATCH', `/broadcasts/${id}`, { subject: 'Another subject' });
    expect((await open(path)).ours).toContain('Another subject');
    await desk.call('DELETE', `/broadcasts/${id}`);
    expect((await open(path)).status).toBe(404);
  });

  it('the page of a broadcast is shown by links of its own team only', async () => {
    const other = await openDesk(scene);
    const id = await desk.make();
    const path = await share(id);
    for (const method of ['POST', 'DELETE'])
      expect(said(await other.call(method, `/broadcasts/${id}/share`))).toEqual([404, 'not_found']);
    expect((await open(path)).status).toBe(200);
    await desk.call('POST', '/contacts', { email: 'ours@readers.example' });
    const theirs = await other.make();
    const answer = await other.call('POST', `/broadcasts/${theirs}/share`, { contacts: ['ours@readers.example'] });
    expect(said(answer)).toEqual([404, 'not_found']);
  });

  it('the page of a broadcast has the same 404 for a link that is forged, changed, expired or revoked, as a page and as JSON', async () => {
    const id = await desk.make();
    const changed = await share(id);
    const last = changed.at(-1) === 'A' ? 'B' : 'A';
    const revoked = await share(id);
    expect((await desk.call('DELETE', `/broadcasts/${id}/share`)).body).toEqual({
      object: 'broadcast',
      id,
      revoked: 2,
    });
    const expired = await share(id, { expires_in: '1 minute' });
    const live = await share(id);
    scene.clock.advance(61_000);
    expect((await open(live)).status).toBe(200);
    const pages = [
      `/preview/rs_${'x'.repeat(32)}`,
      live.slice(0, -1) + (live.at(-1) === last ? 'C' : last),
      revoked,
      expired,
    ];
    const seen = new Set<string>();
    for (const path of pages) {
      const page = await open(path);
      expect(page.status).toBe(404);
      seen.add(page.text);
      expect(said(await scene.api('GET', path))).toEqual([404, 'not_found']);
    }
    expect(seen.size).toBe(1);
    await forgetExpiredShares(scene.app.world);
    const left = await scene.app.world.db.all('select 1 from page_shares where target_id = ?', [id]);
    expect(left).toHaveLength(1);
  });

  it('the page of a broadcast works for 7 days, or as long as its creator says, at most 30 days', async () => {
    const id = await desk.make();
    const lifetime = async (body: object) => {
      const { status, body: answer } = await desk.call('POST', `/broadcasts/${id}/share`, body);
      return status === 200 ? Date.parse(answer.expires_at) - scene.clock.now() : answer.message;
    };
    expect(await lifetime({})).toBe(7 * DAY_MS);
    expect(await lifetime({ expires_in: '30 days' })).toBe(30 * DAY_MS);
    expect(await lifetime({ expires_in: '31 days' })).toBe('expires_in must be at most 30 days; got "31 days"');
  });

  it('the page of a broadcast is made for contacts that exist, at most 10', async () => {
    const id = await desk.make();
    const create = (contacts: unknown) => desk.call('POST', `/broadcasts/${id}/share`, { contacts });
    expect(said(await create([randomUUID()]))).toEqual([404, 'not_found']);
    const many = Array.from({ length: 11 }, (_, n) => `r${n}@readers.example`);
    const answer = await create(many);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining('at most 10')]);
  });

  it('the page of a broadcast is neither in the log of requests nor in the audit log by its token', async () => {
    const path = await share(await desk.make());
    const token = path.split('/').at(-1) ?? '';
    await open(path);
    for (const table of ['request_logs', 'audit_log', 'page_shares']) {
      const rows = await scene.app.world.db.all(`select * from ${table}`);
      expect(JSON.stringify(rows)).not.toContain(token);
    }
    expect(scene.log.join('\n')).not.toContain(token);
  });

  describe('once it is being sent', () => {
    /** Creates a broadcast that is being sent to addresses, and counts outcomes of it. */
    async function sending(addresses: readonly string[], html?: string) {
      const id = await desk.make(html === undefined ? {} : { html });
      const { db, ids, clock } = scene.app.world;
      const emails = new Map(addresses.map((email) => [email, ids.uuid()]));
      const rows = addresses.map((email) => ({
        broadcast_id: id,
        email_key: email,
        id: ids.uuid(),
        contact_id: null,
        email,
        email_id: emails.get(email) ?? null,
        excluded: null,
      }));
      await db.tx((tx) => insertRecipients(tx, rows));
      await db.run("update broadcasts set status = 'sending', started_at = ?, total = ?, recipients = ? where id = ?", [
        clock.now(),
        addresses.length + 1,
        addresses.length,
        id,
      ]);
      const count = (type: string, among: readonly string[], more: object = {}) =>
        db.tx(async (tx) => {
          const outcomes = among.map((email) => ({ emailId: emails.get(email) ?? '', type, ...more }));
          await countOutcomes(tx, ids, outcomes);
          await countClicks(tx, () => ids.uuid(), outcomes);
        });
      return { id, path: await share(id), count };
    }

    const row = (page: string, name: string): string[] => {
      const found = page.split('<tr>').find((one) => one.includes(`>${name}<`)) ?? '';
      return [...found.matchAll(/<td>([^<]*)<\/td>/g)].map(([, text = '']) => text);
    };

    it('the page of a broadcast shows the recipients of each outcome with their shares', async () => {
      const all = ['a@x.example', 'b@x.example', 'c@x.example', 'd@x.example'];
      const { path, count } = await sending(all);
      await count('email.sent', all);
      await count('email.delivered', all.slice(0, 3));
      await count('email.bounced', all.slice(3), { bounce: 'permanent' });
      await count('email.opened', all.slice(0, 1));
      await count('email.unsubscribed', all.slice(1, 2));
      const { ours } = await open(path);
      expect(row(ours, 'Sent')).toEqual(['4', '100 %']);
      expect(row(ours, 'Delivered')).toEqual(['3', '75 %']);
      expect(row(ours, 'Opened')).toEqual(['1', '33.3 %']);
      expect(row(ours, 'Bounced')).toEqual(['1', '25 %']);
      expect(row(ours, 'Clicked'), 'the domain tracked no clicks').toEqual([]);
      expect(ours).toMatch(/<th scope="row">Clicked<\/th><td class="bar"><\/td><td colspan="2">not measured<\/td>/);
      expect(row(ours, 'Unsubscribed')).toEqual(['1', '33.3 %']);
      expect(ours).toContain('4 of 5 contacts');
      expect(ours).not.toContain('Checklist');
    });

    it('the page of a broadcast names the domains of 10 recipients and more, and no recipient', async () => {
      const many = Array.from({ length: 10 }, (_, n) => `many${n}@large.example`);
      const { path, count } = await sending([...many, 'ann@ann-alone.example']);
      await count('email.delivered', many);
      const { ours, text } = await open(path);
      const none = ['not measured', 'not measured'];
      expect(row(ours, '<bdi>large.example</bdi>'.slice(5, -6))).toEqual(['10', '10', ...none, '0', '0']);
      expect(row(ours, 'Others')).toEqual(['1', '0', ...none, '0', '0']);
      expect(text).not.toMatch(/ann-alone|many\d@/);
    });

    it('the page of a broadcast lists the links of the email by recipients, and those with values of a recipient without the values', async () => {
      const html =
        '<p><a href="https://shop.example/a?b=1&amp;c=ä">A</a> <a href="https://shop.example/u?e={{{EMAIL}}}">You</a></p>';
      const { path, count } = await sending(['a@x.example', 'b@x.example'], html);
      await count('email.clicked', ['a@x.example', 'b@x.example', 'a@x.example'], {
        link: 'https://shop.example/a?b=1&c=ä',
      });
      await count('email.clicked', ['b@x.example'], { link: 'https://shop.example/u?e=b@x.example' });
      const { ours } = await open(path);
      expect(row(ours, 'https://shop.example/a?b=1&amp;c=ä')).toEqual(['2', '3']);
      expect(row(ours, 'Links with values of a recipient')).toEqual(['', '', '1']);
      expect(ours).not.toContain('e=b@x.example');
    });

    it('the page of a broadcast loads itself again while it is being sent, unless its reader stops that, and not afterwards', async () => {
      const { id, path } = await sending(['a@x.example']);
      const refresh = '<meta http-equiv="refresh" content="30">';
      expect((await open(path)).ours).toContain(refresh);
      expect((await open(`${path}?live=0`)).ours).not.toContain(refresh);
      await scene.app.world.db.run("update broadcasts set status = 'sent' where id = ?", [id]);
      expect((await open(path)).ours).not.toContain(refresh);
    });
  });
});
