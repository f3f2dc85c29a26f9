import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createUnreadAnswers } from '../../../src/ports/http/slow-clients.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { sendOne, share } from '../shares/shared.ts';

/** More than the socket buffers of both ends hold, so that most of the page stays in this process. */
const IMAGE_BYTES = 8_000_000;

describe('a response that is not read', () => {
  let scene: Scene;
  let team: Team;
  let path: string;
  const sockets: Socket[] = [];
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    const content = Buffer.alloc(IMAGE_BYTES).toString('base64');
    const { id } = await sendOne(scene, team, {
      html: `<img src="cid:a">${'"'.repeat(2_000_000)}`,
      attachments: [{ filename: 'a.png', content, content_id: 'a' }],
    });
    path = await share(scene, team, id);
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  afterAll(() => scene.close());

  /** Requests the page and reads only its length. */
  async function ask(): Promise<{ socket: Socket; length: number; seen: () => number }> {
    const { hostname, port } = new URL(scene.url);
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.on('error', () => undefined);
    let seen = 0;
    let head = '';
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nUser-Agent: unread/1\r\nConnection: close\r\n\r\n`);
    await new Promise<void>((begun) => {
      socket.on('data', (bytes: Buffer) => {
        if (seen === 0) {
          head = bytes.toString('latin1').split('\r\n\r\n', 1)[0] ?? '';
          seen -= head.length + 4;
          socket.pause();
          begun();
        }
        seen += bytes.length;
      });
    });
    return { socket, length: Number(/content-length: (\d+)/i.exec(head)?.[1]), seen: () => seen };
  }

  const turns = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await new Promise<void>((next) => setImmediate(next));
  };
  const closed = (socket: Socket): Promise<void> =>
    new Promise((done) => void socket.once('close', () => done()).resume());

  it('is dropped once its reader has taken nothing for half a minute', async () => {
    const { socket, length, seen } = await ask();
    expect(length).toBeGreaterThan(22_000_000);
    for (let i = 0; i < 3; i++) {
      await turns();
      scene.clock.advance(15_000);
    }
    await closed(socket);
    expect(seen()).toBeLessThan(length);
  });

  it('is sent to the end to a slow reader that makes progress', async () => {
    const { socket, length, seen } = await ask();
    const enough = async (bytes: number): Promise<void> => {
      socket.resume();
      await vi.waitFor(() => expect(seen()).toBeGreaterThan(bytes), { interval: 1 });
      socket.pause();
      await turns();
    };
    for (const bytes of [4_000_000, 8_000_000, 12_000_000, 15_000_000]) {
      await enough(bytes);
      scene.clock.advance(15_000);
    }
    await closed(socket);
    expect(seen()).toBe(length);
  });

  it('is not assumed of a client that waits for an answer or is idle', async () => {
    const { hostname, port } = new URL(scene.url);
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    const request = 'GET /health HTTP/1.1\r\nHost: x\r\nUser-Agent: unread/1\r\n';
    const answered = (): Promise<unknown> => new Promise((done) => void socket.once('data', done));
    socket.write(request.slice(0, 10));
    await turns();
    scene.clock.advance(60_000);
    socket.write(`${request.slice(10)}\r\n`);
    await answered();
    scene.clock.advance(60_000);
    socket.write(`${request}\r\n`);
    expect(String(await answered())).toContain(' 200 ');
  });
});

describe('responses that wait for their readers', () => {
  let server: Server;
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((done) => void server.close(done));
  });

  it('share a limit of bytes: a reader that takes nothing is dropped, and if all read, the next response is refused', async () => {
    const bytes = Buffer.alloc(20_000_000);
    let now = 0;
    const world = { clock: { now: () => now, timer: () => () => undefined } } as never;
    server = createServer((_request, response) => {
      try {
        unread.admit(response, bytes.length);
        response.end(bytes);
      } catch (error) {
        response.statusCode = (error as { status: number }).status;
        response.end();
      }
    });
    const unread = createUnreadAnswers(world, server, 30_000_000);
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    const open = async (): Promise<{ status: number; socket: Socket }> => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      const first = await new Promise<Buffer>((done) => void socket.once('data', done));
      socket.pause();
      return { status: Number(first.toString('latin1').slice(9, 12)), socket };
    };
    const first = await open();
    expect(first.status).toBe(200);
    const second = await open();
    expect(second.status).toBe(503);
    now += 3000;
    const third = await open();
    expect(third.status).toBe(200);
    const cut = new Promise<void>((done) => void first.socket.once('close', () => done()));
    first.socket.resume();
    await cut;
    for (const { socket } of [first, second, third]) socket.destroy();
  });
});
