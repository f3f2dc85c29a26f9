import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endSlowUploads } from '../../../src/ports/http/slow-clients.ts';
import { buildForm } from '../../rig/forms.ts';
import { connectRaw, type RawConnection } from '../../rig/raw-http.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const STEP_MS = 10_000;
/** A little more than the minimum in that time. */
const STEP_BYTES = 90_000;
const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n\r\n`;

describe('a request body on a slow connection', () => {
  let scene: Scene;
  let team: Team;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
  });
  afterAll(() => scene.close());

  async function begin(path: string, ...headers: string[]): Promise<RawConnection> {
    const connection = await connectRaw(scene.url);
    const auth = `Authorization: Bearer ${team.key}`;
    connection.write(lines(`POST ${path} HTTP/1.1`, 'Host: x', 'User-Agent: slow/1', auth, ...headers));
    return connection;
  }

  async function step({ write }: RawConnection, bytes: string | Uint8Array): Promise<void> {
    write(bytes);
    // Once another request is answered, the bytes before it have been read. It queries the database as the upload did
    // before its body was read: on a busy machine the clock would otherwise advance while the upload is still being
    // authenticated, which does not count.
    expect((await scene.api('GET', '/emails?limit=1', { key: team.key })).status).toBe(200);
    scene.clock.advance(STEP_MS);
  }

  /** The upload takes three minutes. */
  const long = 18 * STEP_BYTES;
  const form = buildForm(`email,x\na@example.org,1\n,${'x'.repeat(1000)}\n${'\n'.repeat(long)}`);
  const email = { from: 'a@nowhere.example', to: 'b@example.org', subject: 'Long', text: 'x'.repeat(long) };

  it.each([
    ['a file', '/contacts/imports', form.headers['content-type'], form.body, 201],
    ['an email', '/emails', 'application/json', Buffer.from(JSON.stringify(email)), 403],
  ])('is read whole while it makes progress: %s', async (_, path, type, body, status) => {
    const upload = await begin(path, `Content-Type: ${type}`, `Content-Length: ${body.length}`);
    for (let at = 0; at < body.length; at += STEP_BYTES) await step(upload, body.subarray(at, at + STEP_BYTES));
    const answer = await upload.answer();
    expect(answer, answer.text).toMatchObject({ status });
    upload.socket.destroy();
  });

  it.each([
    ['an email that stops', '/emails', 'application/json', 0],
    ['an email that drips', '/emails', 'application/json', 100],
    ['a file that drips', '/contacts/imports', 'multipart/form-data; boundary=b1', 100],
    ['an email that was fast at first', '/emails', 'application/json', 0],
  ])('is refused after two minutes for %s', async (what, path, type, bytes) => {
    const upload = await begin(path, `Content-Type: ${type}`, 'Content-Length: 30000000');
    const head = '--b1\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail\n';
    await step(upload, type.startsWith('multipart') ? head : '{');
    if (what.includes('fast')) await step(upload, 'x'.repeat(8_000_000));
    for (let i = 0; i < 20; i++) await step(upload, 'x'.repeat(bytes));
    expect(await upload.answer()).toMatchObject({
      status: 400,
      body: { name: 'validation_error', message: 'The body arrives too slowly; send at least 8 KB a second.' },
    });
    expect(await upload.closed()).toBe('');
  });

  it('ends two minutes after it began if it was refused before, however fast it is sent', async () => {
    const upload = await begin('/nothing', 'Transfer-Encoding: chunked');
    expect((await upload.answer()).status).toBe(404);
    const chunk = `${STEP_BYTES.toString(16)}\r\n${'x'.repeat(STEP_BYTES)}\r\n`;
    for (let i = 0; i < 12; i++) await step(upload, chunk);
    expect(await upload.closed()).toBe('');
  });
});

it('the request timeout of Node, which ignores progress, does not apply', async () => {
  const servers: Server[] = [];
  const begun = async (prepare: (server: Server) => void): Promise<RawConnection> => {
    const server = createServer(
      { requestTimeout: 1, headersTimeout: 0, connectionsCheckingInterval: 1 },
      (request, response) => {
        request.resume().on('end', () => response.end('whole'));
      },
    );
    servers.push(server);
    prepare(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const upload = await connectRaw(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    upload.write(lines('POST / HTTP/1.1', 'Host: x', 'Connection: close', 'Content-Length: 2'));
    return upload;
  };
  const clock = { now: () => 0, steady: () => 0, timer: () => () => undefined };
  const watched = await begun((server) => endSlowUploads({ clock }, server));
  const cut = await begun(() => undefined);
  expect(await cut.closed()).toContain(' 408 ');
  watched.write('ab');
  expect(await watched.closed()).toContain('whole');
  for (const server of servers) await new Promise((closed) => void server.close(closed));
});
