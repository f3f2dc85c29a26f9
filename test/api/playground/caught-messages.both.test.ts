import http from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { countCaptureWaits } from '../../../src/mail/capture/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
let team: Team;
let from: string;

async function start(profile: 'development' | 'production' = 'development', development = {}): Promise<void> {
  scene = await startScene({ profile, config: { delivery: { capture: true }, development } });
  team = await scene.team();
  from = `Ada <ada@${(await team.domain()).name}>`;
}
beforeEach(() => start());
afterEach(() => scene.close());

const send = async (body: Record<string, unknown>): Promise<string> => {
  const sent = await scene.api('POST', '/emails', { key: team.key, body: { from, to: 'b@example.org', ...body } });
  expect(sent.status, JSON.stringify(sent.body)).toBe(200);
  await scene.settled();
  return sent.body.id;
};

const read = (query = '') => scene.api('GET', `/playground/messages${query}`);
const listSubjects = (body: { data: { subject: string }[] }): string[] => body.data.map(({ subject }) => subject);

/** Sends a request under a host name of the caller's choice, which may be aborted. */
function ask(path: string, { host = new URL(scene.url).host, method = 'GET', key = '' } = {}) {
  const { promise, resolve } = Promise.withResolvers<{ status: number; body: string }>();
  const request = http.request(
    `${scene.url}${path}`,
    {
      method,
      headers: { host, 'user-agent': 'a program', ...(key === '' ? {} : { authorization: `Bearer ${key}` }) },
    },
    (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => (body += text));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
    },
  );
  request.on('error', () => resolve({ status: 0, body: '' })).end();
  return { answer: promise, breakOff: () => request.destroy() };
}

describe('GET /playground/messages', () => {
  it('returns a caught message with its headers, parts, source and what a receiver would find', async () => {
    const id = await send({
      subject: 'Your receipt',
      html: '<p>Paid</p><img src="cid:logo">',
      text: 'Paid',
      cc: 'c@example.org',
      bcc: 'd@example.org',
      headers: { 'X-Order': '12' },
      attachments: [
        { filename: 'a.txt', content: Buffer.from('hello').toString('base64') },
        {
          filename: 'l.png',
          content: Buffer.from('png').toString('base64'),
          content_type: 'image/png',
          content_id: 'logo',
        },
      ],
    });
    const { status, body } = await read();
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'list', has_more: false });
    const [message] = body.data;
    expect(message).toMatchObject({
      object: 'playground_message',
      email_id: id,
      envelope: { to: ['b@example.org', 'c@example.org', 'd@example.org'] },
      from,
      to: ['b@example.org'],
      cc: ['c@example.org'],
      subject: 'Your receipt',
      headers: { 'x-order': '12', subject: 'Your receipt' },
      attachments: [
        { filename: 'l.png', content_type: 'image/png', content_id: 'logo', content_disposition: 'inline' },
        { filename: 'a.txt', content_type: 'text/plain', size: 5, content: Buffer.from('hello').toString('base64') },
      ].map((file) => expect.objectContaining(file) as unknown),
      raw_encoding: 'utf-8',
      parse_error: null,
    });
    expect(message.html).toContain('<p>Paid</p>');
    expect(message.text.trim()).toBe('Paid');
    expect(message.raw).toMatch(/^[A-Z][^]*\r\nX-Order: 12\r\n[^]*\r\n\r\n/m);
    expect(Buffer.from(message.raw).length).toBe(message.size);
    expect(message.authentication).toMatchObject({
      spf: { result: 'pass' },
      dkim: expect.arrayContaining([expect.objectContaining({ result: 'pass' })]) as unknown,
      dmarc: { result: 'pass' },
    });
  });

  it('finds messages by recipient, subject and email, and pages like every list', async () => {
    await send({ subject: 'First', text: '1', to: 'Ada@Example.org' });
    const second = await send({ subject: 'Reset your PASSWORD', text: '2', to: ['x@example.org', 'y@example.net'] });
    await send({ subject: 'Third', text: '3', bcc: 'hidden@example.org' });
    expect(listSubjects((await read('?to=ada@example.ORG')).body)).toEqual(['First']);
    expect(listSubjects((await read('?to=a@example.org')).body)).toEqual([]);
    expect(listSubjects((await read('?to=hidden@example.org')).body)).toEqual(['Third']);
    expect(listSubjects((await read('?subject=password')).body)).toEqual([
      'Reset your PASSWORD',
      'Reset your PASSWORD',
    ]);
    expect((await read(`?email_id=${second}&to=y@example.net`)).body.data).toMatchObject([
      { email_id: second, envelope: { to: ['y@example.net'] } },
    ]);
    const all = (await read()).body;
    expect(listSubjects(all)[0]).toBe('Third');
    const newest = (await read('?limit=1')).body;
    expect(newest).toMatchObject({ has_more: true, data: [{ subject: 'Third' }] });
    const older = (await read(`?limit=3&after=${newest.data[0].id}`)).body;
    expect(older.data).toEqual(all.data.slice(1, 4));
    const newer = (await read(`?before=${all.data.at(-1).id}`)).body;
    expect(newer.data).toEqual(all.data.slice(0, -1));
    expect((await read(`?after=${newest.data[0].id}&before=${newest.data[0].id}`)).status).toBe(422);
  });

  it('returns the exact bytes of a source that is not UTF-8, with the encoding that gives them back', async () => {
    const id = scene.app.world.ids.uuid();
    const bytes = Buffer.from('From: a@example.org\r\nSubject: caf\xe9\r\n\r\nna\xefve\r\n', 'latin1');
    const at = scene.clock.now();
    await scene.app.world.blobs.put(`${id}/message.eml`, bytes);
    const columns = ['id', 'email_id', 'team_id', 'mail_from', 'recipients', 'subject', 'size', 'created_at'];
    const row = [id, id, team.id, '', '["b@example.org"]', '', bytes.length, at];
    await scene.app.world.db.insertMany('playground_messages', columns, [row]);
    const [message] = (await read()).body.data;
    expect(message.raw_encoding).toBe('latin1');
    expect(Buffer.from(message.raw, 'latin1')).toEqual(bytes);
  });
});

describe('GET /playground/messages with wait', () => {
  it('answers as soon as a matching message comes, and passes over others', async () => {
    await send({ subject: 'Before', text: '1', to: 'x@example.org' });
    const waiting = read('?to=ada@example.org&subject=welcome&wait=30s');
    await send({ subject: 'Other', text: '2', to: 'ada@example.org' });
    await send({ subject: 'Welcome', text: '3', to: 'ada@example.org' });
    expect(listSubjects((await waiting).body)).toEqual(['Welcome']);
  });

  it('answers at once when a matching message is there already', async () => {
    await send({ subject: 'Here', text: '1' });
    expect(listSubjects((await read('?subject=here&wait=60s')).body)).toEqual(['Here']);
  });

  it('waits for a message newer than before', async () => {
    await send({ subject: 'Same', text: '1' });
    const [{ id }] = (await read()).body.data;
    const waiting = read(`?subject=same&before=${id}&wait=30s`);
    const second = await send({ subject: 'Same', text: '2' });
    expect((await waiting).body.data).toMatchObject([{ email_id: second }]);
  });

  it('returns an empty list when the time is over', async () => {
    const waiting = ask('/playground/messages?to=nobody@example.org&wait=2s');
    await expect.poll(() => countCaptureWaits(scene.app.world.db)).toBe(1);
    scene.clock.advance(2_000);
    const { status, body } = await waiting.answer;
    expect({ status, body: JSON.parse(body) as unknown }).toEqual({
      status: 200,
      body: { object: 'list', has_more: false, data: [] },
    });
  });

  it('ends a wait when its caller disconnects or the server stops', async () => {
    const gone = ask('/playground/messages?to=nobody@example.org&wait=60s');
    await expect.poll(() => countCaptureWaits(scene.app.world.db)).toBe(1);
    gone.breakOff();
    await expect.poll(() => countCaptureWaits(scene.app.world.db)).toBe(0);
    const cut = ask('/playground/messages?to=nobody@example.org&wait=60s');
    await expect.poll(() => countCaptureWaits(scene.app.world.db)).toBe(1);
    const stopped = scene.app.close(60_000);
    expect(await cut.answer).toMatchObject({ status: 200, body: expect.stringContaining('"data":[]') as string });
    await stopped;
  });

  it.each([
    ['wait=5', /wait must be a number of seconds or milliseconds with its unit, such as 5s or 500ms/],
    ['wait=61s', /at most 60s/],
    ['to=', /to must be/],
    ['limit=0', /limit must be/],
    ['wait=1s&after=019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01', /wait is for new messages and after is for older ones/],
  ])('refuses %s and says what would be right', async (query, says) => {
    const { status, body } = await read(`?${query}`);
    expect({ status, message: body.message }).toEqual({ status: 422, message: expect.stringMatching(says) as string });
  });
});

describe('DELETE /playground/messages', () => {
  it('removes everything that was caught, with its source, and nothing else', async () => {
    const id = await send({ subject: 'One', text: '1' });
    await send({ subject: 'Two', text: '2' });
    expect(await scene.api('DELETE', '/playground/messages')).toMatchObject({
      status: 200,
      body: { object: 'playground', deleted: true, count: 2 },
    });
    expect((await read()).body.data).toEqual([]);
    const owners: string[] = [];
    for await (const owner of scene.app.world.blobs.owners(Number.MAX_SAFE_INTEGER)) owners.push(owner);
    expect(owners).toEqual([]);
    expect((await scene.api('GET', `/emails/${id}`, { key: team.key })).body).toMatchObject({
      last_event: 'delivered',
    });
    await send({ subject: 'Three', text: '3' });
    expect(listSubjects((await read()).body)).toEqual(['Three']);
    expect((await scene.api('DELETE', '/playground/messages')).body.count).toBe(1);
  });
});

it('the paths of the playground follow the conventions of all other paths', async () => {
  const wrong = await scene.api('PATCH', '/playground/messages');
  expect(wrong).toMatchObject({ status: 405, body: { name: 'method_not_allowed' } });
  expect(wrong.headers.get('allow')?.split(', ').sort()).toEqual(['DELETE', 'GET', 'HEAD']);
  for (const query of [
    'surprise=1',
    'to=a@example.org&to=b@example.org',
    'after=x',
    'before=1',
    'email_id=1',
    'limit=101',
  ]) {
    const { status, body } = await read(`?${query}`);
    expect({ query, status, message: body.message }).toMatchObject({
      status: 422,
      message: expect.stringContaining(query.split('=')[0] ?? '') as string,
    });
  }
  expect((await ask('/api/v1/playground/messages').answer).status).toBe(200);
});

describe('access to caught messages', () => {
  it.each(['GET', 'DELETE'])('by %s is allowed under names of this machine only, as for the pages', async (method) => {
    await send({ subject: 'Secret', text: '1' });
    expect(await ask('/playground/messages', { method, host: 'attacker.example' }).answer).toMatchObject({
      status: 404,
    });
    expect(await ask('/playground/messages', { method, host: 'attacker.example:3000' }).answer).toMatchObject({
      status: 404,
    });
    expect((await read()).body.data).toHaveLength(1);
    expect((await ask('/playground', { host: 'rasket:3000' }).answer).body).not.toContain('Secret');
    expect(await ask('/playground/messages', { method, host: 'localhost' }).answer).toMatchObject({ status: 200 });
  });

  it('with a key is allowed under names of this machine and of the configuration only', async () => {
    await scene.close();
    scene = await startScene({
      profile: 'development',
      config: { delivery: { capture: true }, instance: { host: 'mail.acme.test' } },
    });
    team = await scene.team();
    for (const [host, status] of [
      ['attacker.example', 403],
      ['attacker.example:3000', 403],
      ['127.0.0.1.attacker.example', 403],
      ['localhost:3000', 200],
      ['127.0.0.1', 200],
      ['[::1]:3000', 200],
      ['mail.acme.test', 200],
      ['MAIL.acme.test:443', 200],
    ] as const) {
      const answered = await ask('/emails', { host, key: team.key }).answer;
      expect([host, answered.status]).toEqual([host, status]);
    }
    const { body } = await ask('/emails', { host: 'attacker.example', key: team.key }).answer;
    expect(JSON.parse(body)).toMatchObject({
      name: 'validation_error',
      message: expect.stringMatching(/http\.public_url; .+ --any-host/) as string,
    });
    await scene.close();
    await start('development', { any_host: true });
    expect((await ask('/emails', { host: 'rasket:3000', key: team.key }).answer).status).toBe(200);
  });

  it('is allowed under any name with development.any_host', async () => {
    await scene.close();
    await start('development', { any_host: true });
    await send({ subject: 'Open', text: '1' });
    expect((await ask('/playground/messages', { host: 'rasket:3000' }).answer).body).toContain('Open');
    expect((await ask('/playground', { host: 'rasket:3000' }).answer).body).toContain('Open');
  });

  it.each(['GET', 'DELETE', 'POST'])(
    'by %s does not exist in the production profile, even if mail is captured',
    async (method) => {
      await scene.close();
      await start('production');
      await send({ subject: 'Private', text: '1' });
      const answer = await ask('/playground/messages', { method }).answer;
      expect({ ...answer, body: JSON.parse(answer.body) as unknown }).toMatchObject({
        status: 404,
        body: { name: 'not_found', message: (await scene.api('GET', '/nowhere')).body.message },
      });
    },
  );
});
