import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const MB = 1024 * 1024;
const DAY_MS = 24 * 3_600_000;

describe('the fields of POST /emails', () => {
  let scene: Scene;
  let team: Team;
  let domain: { id: string; name: string };
  beforeAll(async () => {
    // Nothing is delivered here: only acceptance and refusal matter.
    scene = await startScene({ roles: ['http'] });
    team = await scene.team();
    domain = await team.domain();
  });
  afterAll(() => scene.close());

  const send = (fields: Record<string, unknown>, key = team.key) => {
    const usual = { from: `a@${domain.name}`, to: 'x@example.org', subject: 'Hello', text: 'It works.' };
    const body = Object.fromEntries(Object.entries({ ...usual, ...fields }).filter(([, value]) => value !== undefined));
    return scene.api('POST', '/emails', { key, body });
  };
  const read = async (id: string) => (await scene.api('GET', `/emails/${id}`, { key: team.key })).body;
  const addresses = (count: number, at = 'example.org') => Array.from({ length: count }, (_, i) => `n${i}@${at}`);
  const refusedAt = (...paths: string[]) => ({
    status: 400,
    body: { name: 'validation_error', errors: paths.map((path) => ({ path, message: expect.any(String) as string })) },
  });

  describe('from', () => {
    it.each([
      ['an address', 'a@DOMAIN'],
      ['a name', 'Ann Example <a@DOMAIN>'],
      ['a quoted name', '"Example, Ann" <a@DOMAIN>'],
      ['a name beyond ASCII', 'Zoë 日本 <a@DOMAIN>'],
      ['a quoted local part', '"a b"@DOMAIN'],
      ['spaces around it', '  a@DOMAIN  '],
    ])('accepts %s and returns it unchanged', async (_, from) => {
      const written = from.replace('DOMAIN', domain.name);
      const sent = await send({ from: written });
      expect(sent.status).toBe(200);
      expect((await read(sent.body.id)).from).toBe(written.trim());
    });

    it('compares the domain in any letter case', async () => {
      expect((await send({ from: `a@${domain.name.toUpperCase()}` })).status).toBe(200);
    });

    it.each([
      '',
      ' ',
      'a',
      '@DOMAIN',
      'a@',
      'a@localhost',
      'a@[127.0.0.1]',
      'a@DOMAIN, b@DOMAIN',
      'a@DOMAIN b',
      '<a@DOMAIN',
      'a@DOMAIN>',
      'A <a@DOMAIN> B',
      'A <a@DOMAIN>, B <b@DOMAIN>',
      '<>',
      'a..b@DOMAIN',
      '.a@DOMAIN',
      `${'a'.repeat(65)}@DOMAIN`,
    ])('refuses %j with 400', async (from) => {
      expect(await send({ from: from.replaceAll('DOMAIN', domain.name) })).toMatchObject(refusedAt('from'));
    });

    it('refuses an unverified domain with 403 and rasket domains verify, and a foreign or unknown one with rasket domains create', async () => {
      const other = await (await scene.team()).domain();
      const { body: mine } = await scene.api('POST', '/domains', { key: team.key, body: { name: 'new.example.com' } });
      for (const name of [other.name, mine.name, 'nobody.example.com']) {
        const answer = await send({ from: `a@${name}` });
        expect(answer).toMatchObject({ status: 403, body: { statusCode: 403, name: 'validation_error' } });
        expect(answer.body.message).toBe(
          `The domain ${name} is not verified for this team; ` +
            (name === mine.name
              ? `verify it before sending from it: rasket domains verify ${name}. `
              : `create it, publish its DNS records and verify it before sending from it: rasket domains create ${name}. `) +
            `This team may send from ${domain.name}.`,
        );
        expect(answer.body).not.toHaveProperty('code');
        expect(answer.body).not.toHaveProperty('details');
      }
    });

    it('refuses a subdomain and a parent of a verified domain', async () => {
      for (const name of [`sub.${domain.name}`, 'example.com', `x${domain.name}`]) {
        expect(await send({ from: `a@${name}` })).toMatchObject({ status: 403, body: { name: 'validation_error' } });
      }
    });

    it('treats an internationalized domain as one in any spelling', async () => {
      const idn = await team.domain('bücher.example.com');
      expect(idn.name).toBe('bücher.example.com');
      for (const name of ['bücher.example.com', 'BÜCHER.example.com', 'xn--bcher-kva.example.com']) {
        const sent = await send({ from: `a@${name}` });
        expect(sent.status, name).toBe(200);
        expect((await read(sent.body.id)).message_id).toMatch(/@xn--bcher-kva\.example\.com>$/);
      }
    });

    it('refuses a deleted domain', async () => {
      const gone = await team.domain();
      await scene.api('DELETE', `/domains/${gone.id}`, { key: team.key });
      expect((await send({ from: `a@${gone.name}` })).status).toBe(403);
    });

    it.each(['Sender', 'resent-from', 'Resent-Sender'])(
      'lets a key pinned to a domain name no address of another one in %s',
      async (field) => {
        const pinned = await team.domain();
        const key = await team.sendingKey({ domain_id: pinned.id });
        const withHeader = (value: string, by = key) =>
          send({ from: `a@${pinned.name}`, headers: { [field]: value } }, by);
        for (const value of [
          `b@${domain.name}`,
          `Boss <b@sub.${pinned.name}>`,
          `a@${pinned.name}, b@${domain.name}`,
          `"a@${pinned.name}" <b@${domain.name}>`,
          `nobody`,
        ]) {
          const refused = await withHeader(value);
          expect(refused, value).toMatchObject({ status: 403, body: { name: 'validation_error' } });
          expect(refused.body.message).toContain(`headers.${field} must be one address of that domain`);
        }
        const batch = [
          {
            from: `a@${pinned.name}`,
            to: 'x@example.org',
            subject: 's',
            text: 't',
            headers: { [field]: `b@${domain.name}` },
          },
        ];
        expect((await scene.api('POST', '/emails/batch', { key, body: batch })).status).toBe(403);
        expect((await withHeader(`"Boss" <b@${pinned.name.toUpperCase()}>`)).status).toBe(200);
        expect((await withHeader(`b@${domain.name}`, team.key)).status).toBe(200);
      },
    );

    it('lets a key pinned to a domain use only that one, and none once it is gone', async () => {
      const pinned = await team.domain();
      const key = await team.sendingKey({ domain_id: pinned.id });
      expect((await send({ from: `a@${pinned.name}` }, key)).status).toBe(200);
      for (const name of [domain.name, `sub.${pinned.name}`, 'nobody.example.com']) {
        const refused = await send({ from: `a@${name}` }, key);
        expect(refused).toMatchObject({ status: 403, body: { name: 'validation_error' } });
        expect(refused.body.message).toContain(pinned.name);
      }
      await scene.api('DELETE', `/domains/${pinned.id}`, { key: team.key });
      expect((await send({ from: `a@${pinned.name}` }, key)).status).toBe(403);
      expect((await send({ from: `a@${domain.name}` }, key)).status).toBe(403);
      expect((await send({ from: `a@${domain.name}` }, await team.sendingKey())).status).toBe(200);
    });
  });

  describe('to, cc, bcc and reply_to', () => {
    it('accept one address or a list, and return a list', async () => {
      const sent = await send({
        to: 'X <x@example.org>',
        cc: 'c@example.org',
        bcc: ['b@example.org'],
        reply_to: 'r@d.org',
      });
      expect(await read(sent.body.id)).toMatchObject({
        to: ['X <x@example.org>'],
        cc: ['c@example.org'],
        bcc: ['b@example.org'],
        reply_to: ['r@d.org'],
      });
    });

    it.each([
      { to: addresses(50) },
      { to: addresses(48), cc: 'c@example.org', bcc: ['b@example.org'] },
      { to: 'x@example.org', cc: addresses(24), bcc: addresses(25, 'example.net') },
      { to: addresses(50), reply_to: addresses(50, 'example.net') },
    ])('accept fifty recipients in total', async (fields) => expect((await send(fields)).status).toBe(200));

    it.each([
      { to: addresses(51) },
      { to: addresses(50), cc: 'c@example.org' },
      { to: addresses(50), bcc: ['b@example.org'] },
      { to: addresses(17), cc: addresses(17), bcc: addresses(17) },
      { to: Array(51).fill('same@example.org') },
    ])('refuse fifty-one recipients with 400, even repeated ones', async (fields) => {
      const answer = await send(fields);
      expect(answer).toMatchObject(refusedAt('to'));
      expect(answer.body.message).toMatch(/at most 50.*got 51/);
    });

    it('require an address in to, while an empty cc, bcc or reply_to counts as absent', async () => {
      expect(await send({ to: [] })).toMatchObject(refusedAt('to'));
      expect((await send({ cc: [], bcc: [], reply_to: [] })).status).toBe(200);
    });

    it('report each invalid address with its position', async () => {
      const answer = await send({ to: ['x@example.org', 'bad', 'y@example.org', ''], cc: 'worse', reply_to: ['@'] });
      expect(answer).toMatchObject(refusedAt('to.1', 'to.3', 'cc', 'reply_to.0'));
    });
  });

  describe('subject', () => {
    it.each([
      ['nothing', ''],
      ['998 bytes', 'a'.repeat(998)],
      ['998 bytes in 499 characters', 'é'.repeat(499)],
      ['998 bytes, the last character of four', `ab${'😀'.repeat(249)}`],
    ])('accepts %s and returns it unchanged', async (_, subject) => {
      const sent = await send({ subject });
      expect(sent.status).toBe(200);
      expect((await read(sent.body.id)).subject).toBe(subject);
    });

    it.each([
      ['999 bytes', 'a'.repeat(999)],
      ['999 bytes in fewer characters', `a${'é'.repeat(499)}`],
      ['1000 bytes in 250 characters', '😀'.repeat(250)],
    ])('refuses %s with 400', async (_, subject) => {
      const answer = await send({ subject });
      expect(answer).toMatchObject(refusedAt('subject'));
      expect(answer.body.message).toMatch(/at most 998 bytes.*got (999|1000)/);
    });
  });

  describe('html and text', () => {
    it('are required, at least one of the two', async () => {
      const answer = await send({ text: undefined });
      expect(answer).toMatchObject({ status: 422, body: { name: 'missing_required_field' } });
      expect(answer.body.message).toMatch(/html.*text/);
      for (const fields of [{ text: undefined, html: '<p>x</p>' }, { text: '' }, { html: '', text: undefined }]) {
        expect((await send(fields)).status).toBe(200);
      }
    });

    const bodies: [string, { html?: string; text?: string | undefined }][] = [
      ['text alone', { text: 'a'.repeat(2 * MB) }],
      ['html alone', { html: 'é'.repeat(MB), text: undefined }],
      ['both', { html: 'a'.repeat(MB), text: 'b'.repeat(MB) }],
    ];
    it.each(bodies)('accept exactly 2 MB of %s and refuse one byte more with 400', async (_, fields) => {
      const sent = await send(fields);
      expect(sent.status).toBe(200);
      const email = await read(sent.body.id);
      expect(email.html === (fields.html ?? null), 'html is what was sent').toBe(true);
      expect(email.text === (fields.text ?? null), 'text is what was sent').toBe(true);
      const name = fields.html === undefined ? 'text' : 'html';
      const over = await send({ ...fields, [name]: `${fields[name]}a` });
      expect(over).toMatchObject(refusedAt(name));
      expect(over.body.message).toContain(String(2 * MB));
    });

    it.each([
      '',
      'a\r\nb\nc\rd',
      '日本語 😀',
      '\u0001\u007f\u2028',
      'x'.repeat(16_384),
      'é'.repeat(16_384),
      'x'.repeat(16_385),
    ])('return a body as it was sent (%.20j)', async (text) => {
      const { body } = await send({ text, html: `<p>${text}</p>` });
      expect(await read(body.id)).toMatchObject({ text, html: `<p>${text}</p>` });
    });
  });

  describe('scheduled_at', () => {
    const iso = (offsetMs: number) => new Date(scene.clock.now() + offsetMs).toISOString();

    it.each([
      ['1 minute', 60_000],
      ['30 days', 30 * DAY_MS],
      ['an hour', 3_600_000],
    ])('accepts a time %s from now, and the email waits', async (_, offsetMs) => {
      const at = iso(offsetMs);
      const sent = await send({ scheduled_at: at });
      expect(sent.status).toBe(200);
      expect(await read(sent.body.id)).toMatchObject({ scheduled_at: at, last_event: 'scheduled' });
    });

    it.each([
      ['1 minute less a millisecond', 59_999],
      ['30 days and a millisecond', 30 * DAY_MS + 1],
      ['now', 0],
      ['yesterday', -DAY_MS],
    ])('refuses a time %s from now with 400', async (_, offsetMs) => {
      const answer = await send({ scheduled_at: iso(offsetMs) });
      expect(answer).toMatchObject(refusedAt('scheduled_at'));
      expect(answer.body.message).toMatch(/between 1 minute and 30 days/);
    });

    it('understands an offset from UTC', async () => {
      const at = new Date(scene.clock.now() + 3 * 3_600_000);
      const local = new Date(at.getTime() + 2 * 3_600_000).toISOString().replace('Z', '');
      for (const offset of ['+02:00', '+0200']) {
        const { body } = await send({ scheduled_at: `${local}${offset}` });
        expect((await read(body.id)).scheduled_at).toBe(at.toISOString());
      }
    });

    it.each([
      'in 1 hour',
      'tomorrow',
      'next tuesday at 5pm',
      '',
      ' ',
      '1800000000',
      'Fri, 20 Nov 2026 10:00:00 GMT',
      'DAY',
      'DAYT10:00:00',
      'DAY 10:00:00Z',
      'DAYT25:00:00Z',
      'DAYT10:60:00Z',
      'DAYT10:00:00+25:00',
      'DAYT10:00:00Z tomorrow',
    ])('refuses %j, which is not an ISO 8601 time, with 400', async (text) => {
      const day = iso(2 * DAY_MS).slice(0, 10);
      expect(await send({ scheduled_at: text.replace('DAY', day) })).toMatchObject(refusedAt('scheduled_at'));
    });

    it('refuses a day that the calendar does not have with 400', async () => {
      const now = new Date(scene.clock.now());
      // The time moves to the end of a month that has no 31st.
      const next = Date.UTC(now.getUTCFullYear() + (now.getUTCMonth() >= 10 ? 1 : 0), 1, 20);
      scene.clock.advance(next - scene.clock.now());
      const year = new Date(next).getUTCFullYear();
      for (const day of ['02-30', '02-31']) {
        expect(await send({ scheduled_at: `${year}-${day}T10:00:00Z` })).toMatchObject(refusedAt('scheduled_at'));
      }
      expect((await send({ scheduled_at: `${year}-02-28T10:00:00Z` })).status).toBe(200);
    });
  });

  describe('tags', () => {
    const tags = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `n${i}`, value: `v${i}` }));

    it('accept fifty, returned in order, and refuse fifty-one with 400', async () => {
      const sent = await send({ tags: tags(50) });
      expect((await read(sent.body.id)).tags).toEqual(tags(50));
      expect(await send({ tags: tags(51) })).toMatchObject(refusedAt('tags'));
      expect((await read((await send({ tags: [] })).body.id)).tags).toEqual([]);
    });

    it('accept names and values of 1 to 256 letters, digits, underscores and hyphens', async () => {
      const long = 'aZ09_-'.padEnd(256, 'x');
      const sent = await send({ tags: [{ name: long, value: long }] });
      expect((await read(sent.body.id)).tags).toEqual([{ name: long, value: long }]);
      for (const bad of ['', 'x'.repeat(257), 'a b', 'é', 'a.b', 'a\n', 'a/b', 7, null]) {
        expect(await send({ tags: [{ name: bad, value: 'v' }] })).toMatchObject(refusedAt('tags.0.name'));
        expect(await send({ tags: [{ name: 'n', value: bad }] })).toMatchObject(refusedAt('tags.0.value'));
      }
    });

    it('accept objects with a name, a value and nothing else', async () => {
      const unknown = await send({ tags: [{ name: 'n', value: 'v', more: 1 }] });
      expect(unknown).toMatchObject(refusedAt('tags.0.more'));
      expect(await send({ tags: [{ name: 'n' }] })).toMatchObject({
        status: 422,
        body: { name: 'missing_required_field', message: 'Missing required field: tags.0.value.' },
      });
      expect(await send({ tags: ['n'] })).toMatchObject(refusedAt('tags.0'));
      expect(await send({ tags: { n: 'v' } })).toMatchObject(refusedAt('tags'));
    });
  });

  it('include topic_id, which may be null', async () => {
    expect((await read((await send({ topic_id: 'news' })).body.id)).topic_id).toBe('news');
    expect((await read((await send({ topic_id: null })).body.id)).topic_id).toBeNull();
  });

  it('are reported together when several are invalid', async () => {
    const answer = await send({ to: 'bad', subject: 'a\nb', headers: { To: 'x' }, scheduled_at: 'soon' });
    expect(answer).toMatchObject(refusedAt('to', 'subject', 'headers.To', 'scheduled_at'));
  });

  it('leave nothing behind when a request is refused', async () => {
    const other = await scene.team();
    await send({ to: 'bad' }, other.key);
    await send({ from: 'a@nobody.example.com' }, other.key);
    await send({ attachments: [{ filename: 'a', content: '!' }] }, other.key);
    expect((await scene.api('GET', '/emails', { key: other.key })).body.data).toEqual([]);
  });
});
