import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ALLOWED, startFileServer, type FileServer } from '../../rig/file-server.ts';
import { connectRaw, type RawConnection } from '../../rig/raw-http.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const AT_ONCE = 2;
const WAITING_MAX = 20;

describe('a send that waits for remote attachments', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  let server: FileServer;
  let held: ServerResponse[] = [];
  const connections: RawConnection[] = [];
  beforeAll(async () => {
    server = await startFileServer((_path, response) => void held.push(response));
    scene = await startScene({
      trustedCa: [server.certificate.cert],
      config: {
        dns: { timeout_ms: 30_000 } as never,
        network: { http_allow_private: [`${ALLOWED}/32`] } as never,
      },
    });
    scene.dns.set('files.test', 'A', [ALLOWED]);
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterEach(async () => {
    for (const { socket } of connections.splice(0)) socket.destroy();
    await vi.waitFor(() => expect(server.open()).toBe(0));
    held = [];
    server.visits.length = 0;
  });
  afterAll(async () => {
    await scene.close();
    await server.close();
  });

  const draft = (fields: object = {}) => ({
    from: `a@${domain}`,
    to: 'x@example.org',
    subject: 'Files',
    text: 'See below.',
    attachments: [{ filename: 'a', path: `https://files.test:${server.port}/a` }],
    ...fields,
  });

  async function begin(target: string, body: unknown, headers: string[] = []): Promise<RawConnection> {
    const connection = await connectRaw(scene.url);
    connections.push(connection);
    const text = JSON.stringify(body);
    const lines = [
      `POST ${target} HTTP/1.1`,
      'Host: x',
      'User-Agent: abandoned/1',
      `Authorization: Bearer ${team.key}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(text)}`,
      ...headers,
    ];
    connection.write(`${lines.join('\r\n')}\r\n\r\n${text}`);
    return connection;
  }
  const fetching = (count: number) => vi.waitFor(() => expect(held).toHaveLength(count));
  const count = async (): Promise<unknown> =>
    (await scene.app.world.db.get<{ n: number }>('select count(*) as n from emails'))?.n;

  it.each([
    ['one email', '/emails', () => draft(), []],
    ['a batch', '/emails/batch', () => [draft()], []],
    ['a permissive batch', '/emails/batch', () => [draft(), draft()], ['X-Batch-Validation: permissive']],
  ])('is aborted when its caller disconnects, and leaves nothing behind: %s', async (_, target, body, headers) => {
    const before = await count();
    const key = `Idempotency-Key: ${target}-${headers.length}`;
    const connection = await begin(target, body(), [...headers, key]);
    await fetching(1);
    connection.socket.destroy();
    await vi.waitFor(() => expect(server.open()).toBe(0));
    const again = await begin('/emails', draft({ attachments: [] }), [key]);
    expect((await again.answer()).status).toBe(200);
    expect(Number(await count()) - Number(before)).toBe(1);
  });

  it('leaves the queue when its caller disconnects, while the others continue and are sent', async () => {
    for (let i = 0; i < AT_ONCE; i++) await begin('/emails', draft());
    await fetching(AT_ONCE);
    const abandoned = await begin('/emails', draft({ subject: 'abandoned' }));
    const waiting = await begin('/emails', draft({ subject: 'waiting' }));
    // A whole send takes longer than the way into the line.
    for (let i = 0; i < 2; i++)
      expect((await (await begin('/emails', draft({ attachments: [] }))).answer()).status).toBe(200);
    const before = await broken();
    abandoned.socket.destroy();
    await vi.waitFor(async () => expect(await broken()).toBe(before + 1));
    for (const response of held.splice(0)) response.end('file');
    await fetching(1);
    held[0]?.end('file');
    expect((await waiting.answer()).status).toBe(200);
    expect(server.visits).toHaveLength(AT_ONCE + 1);
  });

  it('waits in a bounded queue, beyond which a send is told when to try again', async () => {
    for (let i = 0; i < AT_ONCE; i++) await begin('/emails', draft());
    await fetching(AT_ONCE);
    // Which of them finds the queue full is open; the others are not answered.
    const line = await Promise.all(Array.from({ length: WAITING_MAX + 1 }, () => begin('/emails', draft())));
    const answer = await Promise.race(line.map((connection) => connection.answer()));
    expect(answer.status).toBe(429);
    expect(answer.body).toMatchObject({ name: 'rate_limit_exceeded', message: expect.stringContaining('20 more') });
    expect(answer.headers).toHaveProperty('retry-after', '5');
    expect((await (await begin('/emails', draft({ attachments: [] }))).answer()).status).toBe(200);
  });

  /** Returns how many requests of the log ended with their connection. */
  async function broken(): Promise<number> {
    await scene.api('GET', '/logs', { key: team.key });
    const rows = await scene.app.world.db.all<{ response_body: string }>('select response_body from request_logs');
    return rows.filter(({ response_body: body }) => body?.includes('connection ended')).length;
  }
});
