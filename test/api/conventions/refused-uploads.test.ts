// A refusal of a large body reaches clients that send all of it before they read.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { connectRaw, type RawConnection } from '../../rig/raw-http.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const LARGEST_BYTES = 8_000_000;
/** Limit of what is read of a refused body. */
const READ_BYTES_MAX = 64 * 1024 * 1024;
const CONNECTIONS_MAX = 64;

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({
    config: { http: { email_body_limit_bytes: LARGEST_BYTES, body_limit_bytes: 100_000 } },
  });
  team = await scene.team();
});
afterAll(() => scene.close());

const head = (bytes: number, coding = 'identity'): string =>
  [
    'POST /emails HTTP/1.1',
    'Host: x',
    'User-Agent: by-hand/1',
    `Authorization: Bearer ${team.key}`,
    'Content-Type: application/json',
    `Content-Encoding: ${coding}`,
    `Content-Length: ${bytes}`,
    '',
    '',
  ].join('\r\n');

/** Resolves when the system has accepted every byte; rejects when the server has closed before. */
const writeAll = ({ socket }: RawConnection, bytes: number): Promise<void> =>
  new Promise((done, fail) => {
    socket.once('error', fail);
    socket.write(Buffer.alloc(bytes, ' '), (error) => (error ? fail(error) : done()));
  });

/** Sends the whole body before it reads, as Python's http.client does. */
async function sendWhole(bytes: number, coding?: string): Promise<RawConnection> {
  const connection = await connectRaw(scene.url);
  connection.socket.pause();
  connection.write(head(bytes, coding));
  await writeAll(connection, bytes);
  connection.socket.resume();
  return connection;
}

it.each([
  ['a body above the limit', 413, undefined],
  ['a compressed body', 415, 'gzip'],
])('the refusal of %s reaches a client that sends all of it before it reads', async (_title, status, coding) => {
  for (let i = 0; i < 5; i++) {
    const connection = await sendWhole(20_000_000, coding);
    const answer = await connection.answer();
    expect(answer.status).toBe(status);
    expect(answer.headers['connection']).toBe('close');
    expect(await connection.closed()).toBe('');
  }
});

it('the refusal of a body above the limit reaches fetch every time', async () => {
  const body = Buffer.alloc(45 * 1024 * 1024, ' ');
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) {
    const headers = {
      authorization: `Bearer ${team.key}`,
      'content-type': 'application/json',
      'user-agent': 'rasket-tests/1',
    };
    const answer = await fetch(`${scene.url}/emails`, { method: 'POST', headers, body });
    statuses.push(answer.status);
    expect(await answer.json()).toMatchObject({ name: 'validation_error' });
  }
  expect(statuses).toEqual(Array(5).fill(413));
});

it('the refusal for too many large bodies at once reaches each client that is refused', async () => {
  const statuses: number[] = [];
  const all = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const connection = await connectRaw(scene.url);
      connection.write(head(LARGEST_BYTES));
      connection.answer().then(
        ({ status }) => statuses.push(status),
        () => undefined,
      );
      // The last byte is missing, so that an accepted body stays in memory.
      await writeAll(connection, LARGEST_BYTES - 1);
      return connection;
    }),
  );
  await vi.waitFor(() => expect(statuses.length).toBeGreaterThan(0));
  expect(new Set(statuses)).toEqual(new Set([503]));
  for (const { socket } of all) socket.destroy();
});

it('a refused body is read up to a limit of bytes, and no request that follows it is processed', async () => {
  const connection = await connectRaw(scene.url);
  connection.write(head(2 * READ_BYTES_MAX));
  expect((await connection.answer()).status).toBe(413);
  await expect(writeAll(connection, 2 * READ_BYTES_MAX - 1)).rejects.toThrow(/EPIPE|ECONNRESET/);

  const next = await connectRaw(scene.url);
  const emails = ['GET /emails HTTP/1.1', 'Host: x', 'User-Agent: by-hand/1', `Authorization: Bearer ${team.key}`];
  next.write(head(LARGEST_BYTES + 1) + ' '.repeat(LARGEST_BYTES + 1) + `${emails.join('\r\n')}\r\n\r\n`);
  expect((await next.answer()).status).toBe(413);
  expect(await next.closed()).toBe('');
});

it('a client that stops in the middle of a refused body is disconnected after a while, or when it hangs up', async () => {
  const silent = await connectRaw(scene.url);
  silent.write(head(LARGEST_BYTES + 1));
  expect((await silent.answer()).status).toBe(413);
  scene.clock.advance(30_000);
  expect(await silent.closed()).toBe('');

  const gone = await connectRaw(scene.url);
  gone.write(head(LARGEST_BYTES + 1));
  expect((await gone.answer()).status).toBe(413);
  gone.socket.end();
  expect(await gone.closed()).toBe('');
});

it('the number of connections that drain a refused body is limited', async () => {
  const all: RawConnection[] = [];
  for (let i = 0; i < CONNECTIONS_MAX; i++) {
    const connection = await connectRaw(scene.url);
    all.push(connection);
    connection.write(head(LARGEST_BYTES + 1));
    expect((await connection.answer()).status).toBe(413);
  }
  const further = await connectRaw(scene.url);
  further.write(head(LARGEST_BYTES + 1));
  expect((await further.answer()).status).toBe(413);
  expect(await further.closed()).toBe('');
  expect(all.every(({ socket }) => !socket.destroyed && !socket.readableEnded)).toBe(true);
  for (const { socket } of all) socket.destroy();
});

it('a stop of the server does not wait until a refused body is drained', async () => {
  const stopping = await startScene({ roles: ['http'], config: { http: { email_body_limit_bytes: LARGEST_BYTES } } });
  const connection = await connectRaw(stopping.url);
  const lines = ['POST /emails HTTP/1.1', 'Host: x', 'User-Agent: by-hand/1', 'Content-Type: application/json'];
  connection.write(
    `${lines.join('\r\n')}\r\nAuthorization: Bearer ${(await stopping.team()).key}\r\nContent-Length: ${LARGEST_BYTES + 1}\r\n\r\n`,
  );
  expect((await connection.answer()).status).toBe(413);
  await stopping.close();
  expect(await connection.closed()).toBe('');
});
