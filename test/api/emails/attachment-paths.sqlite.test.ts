import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import PostalMime from 'postal-mime';
import {
  ALLOWED,
  PRIVATE_URLS,
  startDoorbell,
  startFileServer,
  type Doorbell,
  type FileServer,
} from '../../rig/file-server.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const LIMIT = 100_000;
const BLOCKED =
  'attachments.0.path could not be fetched: its name does not resolve, or the URL or a redirect does not lead to https on a public address.';

describe('an attachment with a path', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  let server: FileServer;
  let doorbell: Doorbell;
  let held: { path: string; response: ServerResponse }[] = [];
  beforeAll(async () => {
    server = await startFileServer((path, response) => {
      const [, verb = '', rest = ''] = /^\/(\w+)\/?(.*)$/.exec(path) ?? [];
      if (verb === 'bytes') return void response.end(Buffer.alloc(Number(rest), 'x'));
      if (verb === 'text') return void response.writeHead(200, { 'content-type': 'text/html' }).end(`File ${rest}`);
      if (verb === 'status') return void response.writeHead(Number(rest)).end();
      if (verb === 'to') {
        return void response.writeHead(302, { location: Buffer.from(rest, 'base64url').toString('latin1') }).end();
      }
      held.push({ path, response });
    });
    doorbell = await startDoorbell();
    scene = await startScene({
      trustedCa: [server.certificate.cert],
      config: {
        // Our own name server runs in this process, which may be busy.
        dns: { timeout_ms: 30_000 } as never,
        network: { http_allow_private: [`${ALLOWED}/32`] } as never,
        attachments: { limit_bytes: LIMIT, fetch_seconds: 10 },
      },
    });
    scene.dns.set('files.test', 'A', [ALLOWED]);
    scene.dns.set('other.test', 'A', [ALLOWED]);
    scene.dns.set('inside.test', 'A', ['127.0.0.1']);
    scene.dns.set('absent.test', 'ANY', 'NXDOMAIN');
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterEach(() => {
    server.visits.length = 0;
    for (const { response } of held) response.destroy();
    held = [];
  });
  afterAll(async () => {
    await scene.close();
    await Promise.all([server.close(), doorbell[Symbol.asyncDispose]()]);
  });

  const at = (path: string): string => `https://files.test:${server.port}${path}`;
  const draft = (attachments: unknown, fields: object = {}) => ({
    from: `a@${domain}`,
    to: 'x@example.org',
    subject: 'Files',
    text: 'See below.',
    attachments,
    ...fields,
  });
  const send = (attachments: unknown, fields: object = {}, headers: Record<string, string> = {}) =>
    scene.api('POST', '/emails', { key: team.key, body: draft(attachments, fields), headers });
  const sendPath = (path: string) => send([{ filename: 'a.bin', path }]);
  const inline = (bytes: number) => ({ filename: 'i.bin', content: Buffer.alloc(bytes).toString('base64') });
  const count = async (): Promise<unknown> =>
    (await scene.app.world.db.get<{ n: number }>('select count(*) as n from emails'))?.n;

  async function arrived(id: string) {
    await scene.settled();
    const message = scene.sink.messages.find(({ data }) => data.includes(id));
    if (!message) throw new Error(`nothing arrived for ${id}`);
    const { attachments } = await PostalMime.parse(message.data);
    return attachments.map(({ filename, mimeType, disposition, content }) => [
      filename,
      mimeType,
      disposition,
      Buffer.from(content as ArrayBuffer).toString(),
    ]);
  }

  it('is fetched when the email is accepted, and keeps its place among the others', async () => {
    const { status, body } = await send(
      [
        { filename: 'one.txt', content: 'T25l' },
        { filename: 'two.csv', path: at('/text/2') },
        { filename: 'three', path: at('/text/3'), content_type: 'image/png', content_id: 'logo' },
        { filename: 'four', path: `${at('/text/4')}#page=2` },
      ],
      { html: '<img src="cid:logo">' },
    );
    expect(body.message).toBeUndefined();
    expect(status).toBe(200);
    expect(server.visits.map(({ path }) => path).sort()).toEqual(['/text/2', '/text/3', '/text/4']);
    expect(server.visits[0]?.headers['user-agent']).toBe('rasket (+https://rasket.test/)');
    const expected = [
      ['one.txt', 'text/plain', 'attachment', 'One'],
      ['two.csv', 'text/csv', 'attachment', 'File 2'],
      ['three', 'image/png', 'inline', 'File 3'],
      ['four', 'application/octet-stream', 'attachment', 'File 4'],
    ];
    // The part that belongs to the HTML comes with it.
    expect((await arrived(body.id)).sort()).toEqual(expected.sort());
    const listed = await scene.api('GET', `/emails/${body.id}/attachments`, { key: team.key });
    expect(listed.body.data.map(({ filename, size }: { filename: string; size: number }) => [filename, size])).toEqual([
      ['one.txt', 3],
      ['two.csv', 6],
      ['three', 6],
      ['four', 6],
    ]);
    const link = new URL(listed.body.data[1].download_url);
    expect((await scene.api('GET', link.pathname + link.search)).text).toBe('File 2');
  });

  it('follows three redirects', async () => {
    const to = (path: string) => `/to/${Buffer.from(path).toString('base64url')}`;
    const { status, body } = await sendPath(at(to(to(to('/text/moved')))));
    expect(status).toBe(200);
    expect((await arrived(body.id))[0]?.[3]).toBe('File moved');
  });

  it('is fetched once, however often it is used', async () => {
    const many = Array.from({ length: 100 }, (_, i) => ({ filename: `${i}`, path: at('/bytes/1000') }));
    expect((await send(many)).status).toBe(200);
    expect(server.visits).toHaveLength(1);
    const batch = await scene.api('POST', '/emails/batch', {
      key: team.key,
      body: [1, 2, 3].map(() => draft([{ filename: 'a', path: at('/text/1') }])),
    });
    expect(batch.body.data).toHaveLength(3);
    expect(server.visits).toHaveLength(2);
    for (const { id } of batch.body.data) expect((await arrived(id))[0]?.[3]).toBe('File 1');
  });

  it('is fetched only once the rest of the email is valid, and not again for a repeated request', async () => {
    const file = [{ filename: 'a', path: at('/text/1') }];
    expect((await send(file, { to: 'nobody' })).status).toBe(400);
    expect((await send(file, { from: 'a@elsewhere.example' })).status).toBe(403);
    expect((await send([...file, { filename: 'b', content: '*' }])).status).toBe(422);
    expect(server.visits).toEqual([]);
    const one = await send(file, {}, { 'idempotency-key': 'k' });
    const again = await send(file, {}, { 'idempotency-key': 'k' });
    expect(again.body).toEqual(one.body);
    expect(server.visits).toHaveLength(1);
  });

  it('is fetched with at most five others at a time', async () => {
    const answer = send(Array.from({ length: 20 }, (_, i) => ({ filename: `${i}`, path: at(`/held/${i}`) })));
    for (let done = 0; done < 20;) {
      await vi.waitFor(() => expect(held.length).toBe(Math.min(6, 20 - done)));
      for (const { response } of held.splice(0)) {
        response.end('x');
        done++;
      }
    }
    expect((await answer).status).toBe(200);
  });

  describe('has limits:', () => {
    const tooLarge = (path: string) => ({
      status: 422,
      body: {
        name: 'invalid_attachment',
        errors: [
          {
            path,
            message: `${path} is too large: the attachments of one request may have at most ${LIMIT} bytes together.`,
          },
        ],
      },
    });

    it('the byte limit includes inline and fetched files, and one byte more is refused', async () => {
      const fetched = (bytes: number) => ({ filename: 'f.bin', path: at(`/bytes/${bytes}`) });
      expect((await send([inline(LIMIT)])).status).toBe(200);
      expect((await send([fetched(LIMIT)])).status).toBe(200);
      expect((await send([fetched(60_000), inline(40_000)])).status).toBe(200);
      expect(await send([inline(LIMIT + 1)])).toMatchObject(tooLarge('attachments.0.content'));
      expect(await send([inline(50_000), inline(50_001)])).toMatchObject(tooLarge('attachments.1.content'));
      expect(await send([fetched(LIMIT + 1)])).toMatchObject(tooLarge('attachments.0.path'));
      expect(await send([fetched(60_001), inline(40_000)])).toMatchObject(tooLarge('attachments.0.path'));
    });

    it('a file counts each time it is used', async () => {
      const twice = [1, 2].map(() => ({ filename: 'f.bin', path: at('/bytes/50001') }));
      expect(await send(twice)).toMatchObject(tooLarge('attachments.0.path'));
    });

    it('a batch may have as many bytes as one email', async () => {
      const body = [1, 2].map(() => draft([inline(50_001)]));
      const answer = await scene.api('POST', '/emails/batch', { key: team.key, body });
      expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_attachment' } });
    });

    it('files that have not arrived after ten seconds are refused, and their connections are closed', async () => {
      const before = await count();
      const answer = send([
        { filename: 'a', path: at('/text/1') },
        { filename: 'b', path: at('/silent/1') },
      ]);
      await vi.waitFor(() => expect(held).toHaveLength(1));
      scene.clock.advance(9_999);
      scene.clock.advance(1);
      const message = 'attachments.1.path could not be fetched: the files of a request must arrive within 10 seconds.';
      expect(await answer).toMatchObject({
        status: 422,
        body: { name: 'invalid_attachment', message, errors: [{ path: 'attachments.1.path', message }] },
      });
      await vi.waitFor(() => expect(server.open()).toBe(0));
      expect(await count()).toBe(before);
    });

    it('a path may have 2048 characters', async () => {
      const path = at('/text/'.padEnd(2048 - at('').length, 'a'));
      expect(path).toHaveLength(2048);
      expect((await sendPath(path)).status).toBe(200);
    });
  });

  describe('reports why it cannot be fetched:', () => {
    it.each([
      ['/status/404', 'its server responded with status 404 instead of 200.'],
      ['/status/500', 'its server responded with status 500 instead of 200.'],
      [`/to/${Buffer.from('/to/').toString('base64url')}`, 'it redirects more than 3 times.'],
    ])('an answer like that of %s', async (path, why) => {
      const message = `attachments.0.path could not be fetched: ${why}`;
      expect(await sendPath(at(path))).toMatchObject({
        status: 422,
        body: { name: 'invalid_attachment', message, errors: [{ path: 'attachments.0.path', message }] },
      });
    });

    it('a certificate that is not trusted', async () => {
      const { body } = await sendPath(`https://other.test:${server.port}/text/1`);
      expect(body.message).toBe(
        'attachments.0.path could not be fetched: no trusted TLS connection could be made with its server (ERR_TLS_CERT_ALTNAME_INVALID).',
      );
    });

    it('a server that is not there', async () => {
      const gone = await startFileServer(() => undefined);
      await gone.close();
      const { body } = await sendPath(`https://files.test:${gone.port}/`);
      expect(body.message).toBe('attachments.0.path could not be fetched: its server cannot be reached.');
    });
  });

  // The doorbell listens on every address of this machine: any connection would ring it.
  describe('reaches no private address', () => {
    it('by any URL, redirect or DNS answer, and always returns the same error', async () => {
      const before = await count();
      const urls = [
        ...PRIVATE_URLS,
        'https://inside.test:PORT/',
        'https://INSIDE.test.:PORT/',
        'https://absent.test:PORT/',
        'https://intranet:PORT/',
      ].map((url) => url.replace('PORT', String(doorbell.port)));
      const redirects = [
        ...urls.filter((url) => !url.startsWith('https:1')),
        `http://files.test:${server.port}/text/1`,
      ];
      const paths = [...urls, ...redirects.map((url) => at(`/to/${Buffer.from(url).toString('base64url')}`))];
      for (const path of paths) {
        const { status, body } = await sendPath(path);
        expect([path, status, body.name, body.message]).toEqual([path, 422, 'invalid_attachment', BLOCKED]);
      }
      expect(doorbell.rings()).toBe(0);
      expect(await count()).toBe(before);
    });

    it('while the log has the reason that the error does not give', async () => {
      scene.log.length = 0;
      const { text } = await sendPath(`https://inside.test:${doorbell.port}/`);
      expect(text).not.toContain('127.0.0.1');
      expect(scene.log.join('')).toContain('inside.test has the address 127.0.0.1');
    });
  });

  it('fails a strict batch as a whole, and only its own email in a permissive one', async () => {
    const before = await count();
    const body = [draft([{ filename: 'a', path: at('/text/1') }]), draft([{ filename: 'b', path: at('/status/404') }])];
    const strict = await scene.api('POST', '/emails/batch', { key: team.key, body });
    expect(strict).toMatchObject({ status: 422, body: { name: 'invalid_attachment' } });
    expect(await count()).toBe(before);
    const headers = { 'x-batch-validation': 'permissive' };
    const permissive = await scene.api('POST', '/emails/batch', { key: team.key, body, headers });
    expect(permissive.status).toBe(200);
    expect(permissive.body.data).toHaveLength(1);
    expect(permissive.body.errors).toEqual([{ index: 1, message: expect.stringContaining('status 404') as string }]);
  });
});
