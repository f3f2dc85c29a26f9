import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectRaw, type RawAnswer } from '../../rig/raw-http.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const AGENT = 'User-Agent: by-hand/1';

describe('malformed HTTP', () => {
  let scene: Scene;
  let team: Team;
  beforeAll(async () => {
    scene = await startScene({ config: { http: { email_body_limit_bytes: 200_000, body_limit_bytes: 100_000 } } });
    team = await scene.team();
  });
  afterAll(() => scene.close());

  const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n\r\n`;
  const auth = () => `Authorization: Bearer ${team.key}`;

  async function exchange(text: string): Promise<{ answer: RawAnswer; rest: Promise<string> }> {
    const connection = await connectRaw(scene.url);
    connection.write(text);
    return { answer: await connection.answer(), rest: connection.closed() };
  }

  it.each([
    ['a method that is none', lines('FOO /emails HTTP/1.1', 'Host: x', AGENT)],
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['a header without a colon', lines('GET /health HTTP/1.1', 'Host: x', AGENT, 'nonsense')],
    ['a control character in a header', lines('GET /health HTTP/1.1', 'Host: x', AGENT, 'X-A: a\u0001b')],
    ['a NUL in a header', lines('GET /health HTTP/1.1', 'Host: x', AGENT, 'X-A: a\0b')],
    ['a space in the path', lines('GET /a b HTTP/1.1', 'Host: x', AGENT)],
    ['an HTTP version that is none', lines('GET /health HTTP/9.9', 'Host: x', AGENT)],
    ['a length that is no number', lines('POST /emails HTTP/1.1', 'Host: x', AGENT, 'Content-Length: ten')],
    ['two lengths', lines('POST /emails HTTP/1.1', 'Host: x', AGENT, 'Content-Length: 1', 'Content-Length: 2')],
    [
      'a length and chunks, from which two servers could read two requests',
      lines('POST /emails HTTP/1.1', 'Host: x', AGENT, 'Content-Length: 4', 'Transfer-Encoding: chunked') + '0\r\n\r\n',
    ],
    ['a transfer coding that is none', lines('POST /emails HTTP/1.1', 'Host: x', AGENT, 'Transfer-Encoding: zip')],
    ['headers without end', lines('GET /health HTTP/1.1', 'Host: x', AGENT, `X-A: ${'a'.repeat(20_000)}`)],
    ['no Host', lines('GET /health HTTP/1.1', AGENT)],
  ])('such as %s returns 400 validation_error with every header, and the connection is closed', async (_, text) => {
    const { answer, rest } = await exchange(text);
    expect(answer).toMatchObject({ status: 400, body: { statusCode: 400, name: 'validation_error' } });
    expect(answer.headers['connection']).toBe('close');
    expect(await rest).toBe('');
  });

  it('with an absolute target that is not a URL returns 400 in our format, while a URL is read as its path', async () => {
    for (const target of ['http://[', 'http://[::1', 'https://', 'http:']) {
      const { answer } = await exchange(lines(`GET ${target} HTTP/1.1`, 'Host: x', AGENT, 'Connection: close'));
      expect([400, 404], target).toContain(answer.status);
      expect(answer.body, target).toMatchObject({ statusCode: answer.status, name: expect.any(String) });
    }
    const { answer } = await exchange(lines('GET http://[ HTTP/1.1', 'Host: x', AGENT, 'Connection: close'));
    expect(answer).toMatchObject({
      status: 400,
      body: { name: 'validation_error', message: 'The request target must be a path or a URL.' },
    });
  });

  it('with a body that is too large closes the connection, except for a trusted proxy, which sends all of it before reading', async () => {
    const size = 2_000_000;
    const head = (target: { key: string }) =>
      lines(
        `POST /emails HTTP/1.1`,
        'Host: x',
        AGENT,
        `Authorization: Bearer ${target.key}`,
        'Content-Type: application/json',
        `Content-Length: ${size}`,
      );
    const direct = await connectRaw(scene.url);
    direct.write(head(team));
    expect((await direct.answer()).headers['connection']).toBe('close');
    // The remainder is read for a while, for a client that sends all of it before it reads.
    scene.clock.advance(30_000);
    expect(await direct.closed()).toBe('');

    const config = {
      http: { email_body_limit_bytes: 200_000, body_limit_bytes: 100_000, trusted_proxies: ['127.0.0.1/32'] },
    };
    await using behind = await startScene({ roles: ['http'], config });
    const proxy = await connectRaw(behind.url);
    proxy.write(head(await behind.team()));
    proxy.write('x'.repeat(size));
    expect(await proxy.answer()).toMatchObject({ status: 413, body: { name: 'validation_error' } });

    // An endless body is answered after a minute.
    const slow = await connectRaw(behind.url);
    slow.write(head(await behind.team()));
    slow.write('x');
    const answered = slow.answer();
    await vi.waitFor(() => {
      behind.clock.advance(60_000);
      return Promise.race([answered, Promise.reject(new Error('not yet'))]);
    });
    expect(await answered).toMatchObject({ status: 413, body: { name: 'validation_error' } });
  });

  it('with an invalid chunk in the middle of a body is refused', async () => {
    const head = lines('POST /emails HTTP/1.1', 'Host: x', AGENT, auth(), 'Transfer-Encoding: chunked');
    const { answer, rest } = await exchange(`${head}zz\r\n`);
    expect(answer).toMatchObject({ status: 400, body: { name: 'validation_error' } });
    expect(await rest).toBe('');
  });

  it('with an expectation is served or ignored, never refused with a bare 417', async () => {
    for (const expectation of ['100-continue', 'the-moon']) {
      const { answer } = await exchange(
        lines('GET /health HTTP/1.1', 'Host: x', AGENT, `Expect: ${expectation}`, 'Connection: close'),
      );
      expect(answer.status).toBe(200);
    }
  });

  it('with an upgrade to an unsupported protocol is answered as a plain request', async () => {
    const { answer } = await exchange(
      lines('GET /health HTTP/1.1', 'Host: x', AGENT, 'Upgrade: websocket', 'Connection: upgrade'),
    );
    expect(answer.status).toBe(200);
  });

  it('with pipelined requests is answered one by one, in order', async () => {
    const connection = await connectRaw(scene.url);
    const get = (path: string) => lines(`GET ${path} HTTP/1.1`, 'Host: x', AGENT, auth());
    connection.write(get('/health') + get('/nothing') + get('/emails') + get('/emails/x') + get('/%zz'));
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) statuses.push((await connection.answer()).status);
    expect(statuses).toEqual([200, 404, 200, 422, 404]);
    connection.socket.destroy();
  });

  describe('a body over the limit', () => {
    const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${'a'.repeat(bytes)}\r\n`;
    const head = (path: string, ...more: string[]) =>
      lines(`POST ${path} HTTP/1.1`, 'Host: x', AGENT, auth(), 'Content-Type: application/json', ...more);

    it.each([
      ['/emails', 200_000],
      ['/domains', 100_000],
    ])('to %s is refused as soon as the limit is passed, although more is to come', async (path, limit) => {
      const connection = await connectRaw(scene.url);
      connection.write(head(path, 'Transfer-Encoding: chunked'));
      for (let sent = 0; sent <= limit; sent += 10_000) {
        connection.write(chunk(10_000));
        await new Promise((next) => setImmediate(next));
      }
      const answer = await connection.answer();
      expect(answer).toMatchObject({ status: 413, body: { name: 'validation_error' } });
      expect(answer.body.message).toContain(String(limit));
      expect(answer.headers['connection']).toBe('close');
      // The bytes after it are never parsed as another request.
      connection.write(chunk(10) + '0\r\n\r\n' + lines('GET /health HTTP/1.1', 'Host: x', AGENT));
      expect(await connection.closed()).toBe('');
    });

    it('is refused by its length before any of it is read', async () => {
      const connection = await connectRaw(scene.url);
      connection.write(head('/emails', 'Content-Length: 200001'));
      expect((await connection.answer()).status).toBe(413);
      connection.socket.end();
      expect(await connection.closed()).toBe('');
    });

    it('does not prevent a client that is still sending from reading the answer', async () => {
      const body = JSON.stringify({ subject: 'a'.repeat(20_000_000) });
      for (const path of ['/emails', '/domains']) {
        const answer = await scene.api('POST', path, { key: team.key, body });
        expect(answer).toMatchObject({ status: 413, body: { name: 'validation_error' } });
      }
    });

    it('begins one byte above the largest size, which is read whole', async () => {
      const frame = JSON.stringify({ name: '' }).length;
      for (const [over, status] of [
        [0, 400],
        [1, 413],
      ] as const) {
        const body = JSON.stringify({ name: 'a'.repeat(100_000 - frame + over) });
        const answer = await scene.api('POST', '/domains', { key: team.key, body });
        expect(answer.status).toBe(status);
        expect(answer.body.errors === undefined, 'only a body that was read has fields at fault').toBe(over === 1);
      }
    });
  });

  it('a client that disconnects in the middle of its body causes no error', async () => {
    const connection = await connectRaw(scene.url);
    connection.write(
      lines('POST /emails HTTP/1.1', 'Host: x', AGENT, auth(), 'Content-Type: application/json', 'Content-Length: 99'),
    );
    connection.write('{"from":');
    // Once another request is answered, the first one has begun.
    await scene.api('GET', '/emails', { key: team.key });
    connection.socket.destroy();
    await connection.closed();
    await scene.api('GET', '/emails', { key: team.key });
    // The PostgreSQL of the tests does not sync, which is reported at the start.
    const since = scene.log.filter((line) => !line.includes('PostgreSQL may lose accepted mail'));
    expect(since.filter((line) => /"level":"(?:error|warn)"/.test(line))).toEqual([]);
    expect(scene.log.join('\n')).not.toContain('storage is not available');
  });

  it('a chunked body without chunks is empty', async () => {
    const { body } = await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Chunked' } });
    const { answer } = await exchange(
      lines(`DELETE /api-keys/${body.id} HTTP/1.1`, 'Host: x', AGENT, auth(), 'Transfer-Encoding: chunked') +
        '0\r\n\r\n',
    );
    expect(answer).toMatchObject({ status: 200, body: { deleted: true } });
  });

  it('a body left unread by a refusal is not parsed as the next request', async () => {
    const smuggled = lines('GET /openapi.json HTTP/1.1', 'Host: x', AGENT);
    const connection = await connectRaw(scene.url);
    const length = `Content-Length: ${smuggled.length}`;
    connection.write(lines('POST /nothing HTTP/1.1', 'Host: x', AGENT, length) + smuggled);
    connection.write(lines('GET /health HTTP/1.1', 'Host: x', AGENT));
    expect((await connection.answer()).status).toBe(404);
    expect((await connection.answer()).body).toMatchObject({ status: 'ok' });
    connection.socket.destroy();
  });
});
