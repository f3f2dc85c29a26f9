import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectRaw, type RawConnection } from '../../rig/raw-http.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const LARGEST_BYTES = 200_000;
/** 64 KiB of each body are free; a team may hold three of the largest in addition, and all together six. */
const HELD_BYTES = 190_000;
const PER_TEAM = 4;
const IN_ALL = 9;

describe('request bodies in memory', () => {
  let scene: Scene;
  let teams: Team[];
  const uploads: RawConnection[] = [];
  beforeAll(async () => {
    scene = await startScene({
      config: { http: { email_body_limit_bytes: LARGEST_BYTES, body_limit_bytes: 100_000 } },
    });
    teams = [await scene.team(), await scene.team(), await scene.team()];
  });
  afterEach(() => {
    for (const { socket } of uploads.splice(0)) socket.destroy();
  });
  afterAll(() => scene.close());

  async function upload(team: Team | undefined, bytes = HELD_BYTES, target = 'POST /emails'): Promise<RawConnection> {
    const connection = await connectRaw(scene.url);
    uploads.push(connection);
    const lines = [
      `${target} HTTP/1.1`,
      'Host: x',
      'User-Agent: by-hand/1',
      `Authorization: Bearer ${team?.key}`,
      'Content-Type: application/json',
      `Content-Length: ${LARGEST_BYTES}`,
    ];
    connection.write(`${lines.join('\r\n')}\r\n\r\n`);
    connection.write(Buffer.alloc(bytes, ' '));
    return connection;
  }

  /** The one beyond the limit is refused; which one that is depends on the order in which bytes arrive. */
  const oneRefused = (all: RawConnection[]) => Promise.race(all.map((connection) => connection.answer()));
  const refused = { status: 503, body: { name: 'service_unavailable', message: expect.stringContaining('try again') } };

  it('are limited per team, without affecting other teams or small bodies', async () => {
    const all: RawConnection[] = [];
    for (let i = 0; i <= PER_TEAM; i++) all.push(await upload(teams[0]));
    const answer = await oneRefused(all);
    expect(answer).toMatchObject(refused);
    expect(answer.headers).toHaveProperty('connection', 'close');
    expect(answer.headers).toMatchObject({ 'retry-after': '5' });
    const small = await upload(teams[0], 60_000);
    small.write(Buffer.alloc(LARGEST_BYTES - 60_000 - 2, ' '));
    const other = await upload(teams[1]);
    other.write(Buffer.alloc(LARGEST_BYTES - HELD_BYTES, ' '));
    // It was read to its end, and is not JSON.
    expect(await other.answer()).toMatchObject({ status: 400, body: { name: 'validation_error' } });
  });

  it('do not count while their bytes are not collected, however many requests there are', async () => {
    for (let i = 0; i < PER_TEAM; i++) await upload(teams[0]);
    for (let i = 0; i < 3; i++) {
      expect((await (await upload(teams[0], HELD_BYTES, 'GET /emails')).answer()).status).toBe(200);
      expect((await (await upload(teams[0], HELD_BYTES, 'POST /domains')).answer()).status).toBe(413);
    }
  });

  it('do not count when a refused body is read to its end for a proxy', async () => {
    const config = {
      http: {
        email_body_limit_bytes: LARGEST_BYTES,
        body_limit_bytes: 100_000,
        trusted_proxies: ['127.0.0.1/32'],
      },
    };
    await using behind = await startScene({ roles: ['http'], config });
    const team = await behind.team();
    const dropped = await connectRaw(behind.url);
    uploads.push(dropped);
    const lines = [
      'POST /emails HTTP/1.1',
      'Host: x',
      'User-Agent: by-hand/1',
      `Authorization: Bearer ${team.key}`,
      'Content-Type: application/json',
      'Content-Length: 10000000',
    ];
    dropped.write(`${lines.join('\r\n')}\r\n\r\n`);
    await new Promise<unknown>((done) => dropped.socket.write(Buffer.alloc(650_000, ' '), done));
    for (let i = 0; i < 20; i++) {
      const text = ' '.repeat(LARGEST_BYTES - 10_000);
      const { status } = await behind.api('POST', '/emails', { key: team.key, body: { text } });
      expect(status).toBe(422);
    }
    // A body without an end is cut off.
    dropped.write(Buffer.alloc(5 * LARGEST_BYTES, ' '));
    const answer = await dropped.answer();
    expect([answer.status, answer.headers['connection']]).toEqual([413, 'close']);
  });

  it('are limited in total, and release their share when they break off or are answered', async () => {
    const all: RawConnection[] = [];
    for (let i = 0; i < IN_ALL; i++) all.push(await upload(teams[i % 3]));
    all.push(await upload(teams[0]));
    expect(await oneRefused(all)).toMatchObject(refused);
    for (const { socket } of uploads.splice(0)) socket.destroy();
    for (let i = 0; i < 10; i++) {
      const { write, answer, socket } = await upload(teams[0]);
      write(Buffer.alloc(LARGEST_BYTES - HELD_BYTES, ' '));
      await vi.waitFor(async () => expect((await answer()).status).toBe(400));
      socket.destroy();
    }
  });
});
