import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MESSAGE, receiveMail, type Arriving } from '../../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook } from '../../rig/webhooks.ts';

describe('a received email', () => {
  let scene: Scene;
  let team: Team;
  beforeAll(async () => {
    scene = await startScene({ config: { receiving: { attachment_bytes: 1000 } } });
    team = await scene.team();
  });
  afterAll(() => scene.close());

  const get = (path: string, key = team.key) => scene.api('GET', `/emails/receiving${path}`, { key });
  const receive = (arriving: Arriving = {}) => receiveMail(scene, team, arriving);
  const lines = (...all: string[]): string => all.join('\r\n');
  let count = 0;
  const fresh = (): string => MESSAGE.replace('<question@', `<question-${++count}@`);

  it('is returned with its texts, headers, parts and source', async () => {
    const id = await receive({ raw: fresh(), to: ['support@one.example', 'sales@one.example'] });
    const { status, body } = await get(`/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({
      object: 'email',
      id,
      to: ['Support <support@example.com>'],
      cc: [],
      bcc: [],
      reply_to: [],
      from: 'Someone <someone@example.org>',
      subject: 'A question',
      message_id: `<question-${count}@example.org>`,
      envelope: { from: 'someone@example.org', to: ['support@one.example', 'sales@one.example'] },
      received_for: ['support@one.example', 'sales@one.example'],
      html: null,
      text: 'Does it work?\n',
      headers: expect.objectContaining({ subject: 'A question', from: 'Someone <someone@example.org>' }) as object,
      dropped_reason: null,
      not_forwarded_reason: null,
      created_at: new Date(scene.clock.now()).toISOString(),
      attachments: [
        {
          id: expect.stringMatching(/^att_/) as string,
          filename: 'dot.png',
          content_type: 'image/png',
          content_disposition: 'attachment',
          size: 4,
        },
      ],
      authentication: expect.objectContaining({ verdict: 'unauthenticated', spam: null }) as object,
      raw: { download_url: expect.any(String) as string, expires_at: expect.any(String) as string },
    });
  });

  it('is listed newest first, page by page, without bodies', async () => {
    const own = await scene.team();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      scene.clock.advance(1);
      ids.unshift(await receiveMail(scene, own, { raw: fresh() }));
    }
    const first = (await get('?limit=2', own.key)).body;
    expect(first.data.map((one: { id: string }) => one.id)).toEqual(ids.slice(0, 2));
    expect(first.has_more).toBe(true);
    const whole = ['html', 'text', 'headers', 'received_for'];
    expect(Object.keys(first.data[0]).filter((name) => whole.includes(name))).toEqual([]);
    expect(first.data[0].envelope).toEqual({ from: 'someone@example.org', to: ['support@example.com'] });
    const next = (await get(`?limit=10&after=${ids[1]}`, own.key)).body;
    expect(next.data.map((one: { id: string }) => one.id)).toEqual(ids.slice(2));
    expect(next.has_more).toBe(false);
    const back = (await get(`?limit=1&before=${ids[2]}`, own.key)).body;
    expect(back.data.map((one: { id: string }) => one.id)).toEqual([ids[1]]);
    expect((await scene.api('GET', '/emails', { key: own.key })).body.data).toEqual([]);
  });

  it('has empty fields if the sender wrote nothing', async () => {
    const id = await receive({ raw: '\r\nno headers at all' });
    const { body } = await get(`/${id}`);
    expect(body).toMatchObject({ from: '', to: [], subject: '', message_id: '', headers: {}, dropped_reason: null });
  });

  it('has addresses that mail can be sent to, whatever their names contain', async () => {
    const from = '"Boss <boss@bank.example>" <evil@example.org>';
    const to = ['"A, B" <h@example.com>', 'Ünder <u@example.com>'];
    const raw = lines(`From: ${from}`, `To: ${to.join(', ')}`, 'Reply-To: "r: s"@example.org', '', 'x');
    const { body } = await get(`/${await receive({ raw })}`);
    expect(body).toMatchObject({ from, to, reply_to: ['"r: s"@example.org'] });
    const domain = await team.domain();
    const answer = {
      from: `a@${domain.name}`,
      to: [body.from, ...body.to, ...body.reply_to],
      subject: 'Re',
      text: 'x',
    };
    expect(await scene.api('POST', '/emails', { key: team.key, body: answer })).toMatchObject({ status: 200 });
  });

  it('keeps texts and headers that are too large for a row', async () => {
    const text = 'large '.repeat(10_000);
    const raw = lines(`X-Long: ${'x'.repeat(40_000)}`, 'Content-Type: text/html', '', text);
    const { body } = await get(`/${await receive({ raw })}`);
    expect(body.html.trim()).toBe(text.trim());
    expect(body.headers['x-long']).toHaveLength(40_000);
  });

  it('shows images inline, or the addresses that the sender wrote', async () => {
    const raw = lines(
      'Content-Type: multipart/related; boundary=b',
      '',
      '--b',
      'Content-Type: text/html',
      '',
      '<img src="cid:dot"><img src="cid:none">',
      '--b',
      'Content-Type: image/png',
      'Content-ID: <dot>',
      'Content-Transfer-Encoding: base64',
      '',
      'iVBORw==',
      '--b--',
    );
    const id = await receive({ raw });
    expect((await get(`/${id}?html_format=cid`)).body.html).toContain('<img src="cid:dot"><img src="cid:none">');
    const shown = '<img src="data:image/png;base64,iVBORw=="><img src="cid:none">';
    expect((await get(`/${id}?html_format=data_uri`)).body.html).toContain(shown);
    const { body } = await get(`/${id}`);
    expect(body.html).toContain(shown);
    expect(body.attachments[0]).toMatchObject({ filename: null, content_id: 'dot' });
    expect((await get(`/${id}?html_format=none`)).status).toBe(422);
  });

  it('lists attachments with download links, and those not stored without one', async () => {
    const part = (name: string, content: string) => [
      '--b',
      `Content-Disposition: attachment; filename=${name}`,
      '',
      content,
    ];
    const raw = lines(
      'Content-Type: multipart/mixed; boundary=b',
      '',
      ...part('a.txt', 'first'),
      ...part('b.bin', 'y'.repeat(1001)),
      ...part('c.txt', 'third'),
      '--b--',
    );
    const id = await receive({ raw });
    const { data } = (await get(`/${id}/attachments`)).body;
    expect(data.map((one: { filename: string }) => one.filename)).toEqual(['a.txt', 'b.bin', 'c.txt']);
    expect(data[1].size).toBeGreaterThanOrEqual(1001);
    expect('download_url' in data[1] || 'expires_at' in data[1]).toBe(false);
    const file = await fetch(data[0].download_url, { headers: { 'user-agent': 'somebody' } });
    expect((await file.text()).trim()).toBe('first');
    const one = (await get(`/${id}/attachments/${data[2].id}`)).body;
    expect(one).toMatchObject({ object: 'attachment', filename: 'c.txt' });
    const page = (await get(`/${id}/attachments?limit=1&after=${data[0].id}`)).body;
    expect([page.has_more, page.data[0].id]).toEqual([true, data[1].id]);
    expect((await get(`/${id}/attachments/att_0`)).status).toBe(404);
  });

  it('leaves no content after its deletion, while endpoints still get its event without content', async () => {
    const own = await scene.team();
    const webhook = await plantWebhook(scene, own, { events: ['email.received'] });
    const told = await receiveMail(scene, own, { raw: fresh() });
    const untold = await receiveMail(scene, own, { raw: fresh() });
    const path = `/webhooks/${webhook}/events`;
    const { data: events } = (await scene.api('GET', path, { key: own.key })).body;
    const fetchPayload = async (n: number) =>
      (await scene.api('GET', `${path}/${events[n].id}`, { key: own.key })).body.payload;
    expect((await fetchPayload(1)).data.subject).toBe('A question');
    for (const id of [told, untold]) {
      expect((await scene.api('DELETE', `/emails/receiving/${id}`, { key: own.key })).status).toBe(200);
      expect(await scene.events(id)).toEqual([]);
    }
    for (const n of [0, 1]) {
      expect(await fetchPayload(n)).toEqual({
        type: 'email.received',
        created_at: expect.any(String) as string,
        data: {},
      });
    }
  });

  it('causes an event with all of its metadata', async () => {
    const own = await scene.team();
    await plantWebhook(scene, own, { events: ['email.received'] });
    const id = await receiveMail(scene, own, { raw: fresh(), to: ['support@one.example'] });
    const [event] = await scene.events(id);
    expect(event?.type).toBe('email.received');
    const { body } = await scene.api('GET', '/webhooks', { key: own.key });
    const events = (await scene.api('GET', `/webhooks/${body.data[0].id}/events`, { key: own.key })).body.data;
    const { payload } = (
      await scene.api('GET', `/webhooks/${body.data[0].id}/events/${events[0].id}`, { key: own.key })
    ).body;
    expect(payload).toEqual({
      type: 'email.received',
      created_at: new Date(scene.clock.now()).toISOString(),
      data: {
        email_id: id,
        created_at: new Date(scene.clock.now()).toISOString(),
        from: 'Someone <someone@example.org>',
        to: ['Support <support@example.com>'],
        cc: [],
        bcc: [],
        received_for: ['support@one.example'],
        message_id: `<question-${count}@example.org>`,
        subject: 'A question',
        attachments: [
          {
            id: expect.stringMatching(/^att_/) as string,
            filename: 'dot.png',
            content_type: 'image/png',
            content_disposition: 'attachment',
          },
        ],
      },
    });
  });

  it('is stored once when its server repeats it, and each time if it has no Message-ID', async () => {
    const own = await scene.team();
    const raw = fresh();
    const first = await receiveMail(scene, own, { raw });
    const second = await receiveMail(scene, own, { raw });
    expect(second).toBe(first);
    const bare = raw.replace(/Message-ID.*\r\n/, '');
    expect(await receiveMail(scene, own, { raw: bare })).not.toBe(await receiveMail(scene, own, { raw: bare }));
    const { body } = await get('', own.key);
    expect(body.data).toHaveLength(3);
    // Another envelope makes it a different message.
    expect(await receiveMail(scene, own, { raw, to: ['other@example.com'] })).not.toBe(first);
  });

  it('cannot be read with a sending key', async () => {
    const id = await receive({ raw: fresh() });
    const key = await team.sendingKey();
    for (const path of ['', `/${id}`, `/${id}/attachments`]) {
      expect(await get(path, key)).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
    }
    expect((await scene.api('DELETE', `/emails/receiving/${id}`, { key })).status).toBe(401);
  });

  it('that cannot be parsed is kept as it came', async () => {
    const nested = Array.from(
      { length: 300 },
      (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}`,
    );
    const raw = lines('From: a@example.org', 'Subject: =?utf-8?q?deep_=E2=98=83?=', ...nested, '');
    const id = await receive({ raw });
    const { body } = await get(`/${id}`);
    expect(body).toMatchObject({
      dropped_reason: 'parse_failed',
      from: 'a@example.org',
      subject: 'deep ☃',
      html: null,
      text: null,
      attachments: [],
    });
    const source = await fetch(body.raw.download_url, { headers: { 'user-agent': 'somebody' } });
    expect(Buffer.from(await source.arrayBuffer()).equals(Buffer.from(raw))).toBe(true);
  });
});
