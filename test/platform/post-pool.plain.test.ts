import type { TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { createGuardedFetch, type PostAnswer, type PostPool } from '../../src/platform/fetch/index.ts';
import { createResolver } from '../../src/platform/resolver/index.ts';
import { startDns } from '../rig/dns.ts';
import { ALLOWED } from '../rig/file-server.ts';
import { startRawEndpoint, startResetting, type RawEndpoint } from '../rig/raw-endpoint.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';

interface Parts {
  endpoint: RawEndpoint;
  pool: PostPool;
  post(): Promise<PostAnswer>;
}

async function withPool(
  answer: (socket: TLSSocket, request: number) => void,
  work: (parts: Parts) => Promise<void>,
  closeMs = 60_000,
): Promise<void> {
  await using endpoint = await startRawEndpoint(answer);
  const dns = await startDns({ [endpoint.host]: { A: [ALLOWED] } }, { ttlSeconds: 0 });
  const resolver = createResolver({ servers: [dns.server], timeoutMs: 2000, tries: 1 });
  const ca = [endpoint.certificate.cert];
  const fetch = createGuardedFetch({ resolver, allowPrivate: [`${ALLOWED}/32`], userAgent: 'a test', ca });
  const pool = fetch.pool(new URL(`https://${endpoint.host}:${endpoint.port}/`), { connectionsMax: 4, closeMs });
  const request = { path: '/', headers: { 'content-type': 'application/json' }, body: '{}' };
  const post = (): Promise<PostAnswer> => pool.post(request, 8192).answer;
  try {
    await work({ endpoint, pool, post });
  } finally {
    await pool.cut();
    await dns.close();
  }
}

const writing =
  (...parts: (string | Buffer)[]) =>
  (socket: TLSSocket): void => {
    for (const part of parts) socket.write(part);
  };

/** Writes the same again and again, for as long as somebody takes it. */
const flooding =
  (bytes: string, before = '') =>
  (socket: TLSSocket): void => {
    const chunk = Buffer.from(bytes.repeat(Math.ceil(16_384 / bytes.length)));
    if (before !== '') socket.write(before);
    const pour = (): void => {
      while (!socket.destroyed && socket.write(chunk));
      if (!socket.destroyed) socket.once('drain', pour);
    };
    pour();
  };

describe('interim responses', () => {
  it.each([
    ['100', [CONTINUE, OK]],
    ['several of them', [CONTINUE + HINTS, HINTS + OK]],
    ['sixteen, the most that are waited through', [HINTS.repeat(16) + OK]],
    ['one of 8 KB', [`HTTP/1.1 103 Early Hints\r\nlink: ${'a'.repeat(8150)}\r\n`, `\r\n${OK}`]],
    ['blank lines', ['\r\n\r\n', `\r\n${OK}`]],
    ['one byte after the other', [...(CONTINUE + OK)]],
  ])('are skipped: %s', async (_what, parts) => {
    await withPool(
      (socket) => {
        const [...rest] = parts;
        const next = (): void => {
          const part = rest.shift();
          if (part !== undefined) socket.write(part, () => setImmediate(next));
        };
        next();
      },
      async ({ post, endpoint }) => {
        for (let i = 0; i < 3; i++) expect(await post()).toEqual({ kind: 'answered', status: 200, body: 'ok' });
        expect(endpoint.connections()).toBe(1);
      },
    );
  });

  it.each<[string, (socket: TLSSocket) => void, unknown]>([
    ['interim answers', flooding(HINTS), { kind: 'unreadable', wrong: 'interim' }],
    ['seventeen of them', writing(HINTS.repeat(17) + OK), { kind: 'unreadable', wrong: 'interim' }],
    ['100', flooding(CONTINUE), { kind: 'unreadable', wrong: 'interim' }],
    ['headers of one', flooding('a: b\r\n', 'HTTP/1.1 103 Hints\r\n'), { kind: 'unreadable', wrong: 'interim' }],
    ['blank lines', flooding('\r\n'), { kind: 'unreadable', wrong: 'endless' }],
    [
      'chunk extensions',
      flooding('a=b;', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;'),
      { kind: 'unreadable', wrong: 'endless' },
    ],
  ])('and framing without end are cut off: %s', async (_what, flood, fault) => {
    await withPool(flood, async ({ post, endpoint }) => {
      expect(await post()).toMatchObject({ kind: 'failed', fault });
      await endpoint.untilOpen(0);
    });
  });
});

describe('an invalid response', () => {
  it.each<[string, string, unknown]>([
    ['garbage', 'SSH-2.0-OpenSSH_9.6\r\n\r\n', { wrong: 'syntax', reason: 'Expected HTTP/, RTSP/ or ICE/' }],
    ['101', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', { wrong: 'upgrade' }],
    ['101 that names no protocol', 'HTTP/1.1 101 Switching\r\n\r\n', { wrong: 'upgrade' }],
    ['headers of 16 KB', `HTTP/1.1 200 OK\r\na: ${'b'.repeat(16_384)}\r\n\r\n`, { wrong: 'headers' }],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', { wrong: 'length' }],
    [
      'a chunk without a size',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
      { wrong: 'syntax', reason: 'Invalid character in chunk size' },
    ],
  ])('is reported with its fault: %s', async (_what, bytes, fault) => {
    await withPool(writing(bytes), async ({ post, endpoint }) => {
      expect(await post()).toMatchObject({ kind: 'failed', fault: { kind: 'unreadable', ...(fault as object) } });
      await endpoint.untilOpen(0);
    });
  });

  it.each([
    ['before it', ''],
    ['within a 1xx', 'HTTP/1.1 1'],
    ['within the headers', 'HTTP/1.1 200 OK\r\nx'],
    ['within the body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\na'],
    ['within a chunk', 'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\na'],
  ])('can be a connection that ends %s', async (_what, bytes) => {
    await withPool(
      (socket) => void socket.end(bytes),
      async ({ post }) => expect(await post()).toMatchObject({ kind: 'failed', fault: { kind: 'interrupted' } }),
    );
  });

  it('can be a reset right after the connection, which is not reported as a private address', async () => {
    await using resetting = await startResetting();
    await withPool(writing(OK), async ({ endpoint }) => {
      const dns = await startDns({ [endpoint.host]: { A: [ALLOWED] } });
      const resolver = createResolver({ servers: [dns.server], timeoutMs: 2000, tries: 1 });
      const fetch = createGuardedFetch({ resolver, allowPrivate: [`${ALLOWED}/32`], userAgent: 'a test' });
      const url = new URL(`https://${endpoint.host}:${resetting.port}/`);
      const pool = fetch.pool(url, { connectionsMax: 1, closeMs: 60_000 });
      const { signal } = new AbortController();
      for (let i = 0; i < 10; i++) {
        const { answer } = pool.post({ path: '/', headers: {}, body: '{}' }, 10);
        const faults = [
          await answer,
          await fetch.probe(url, signal),
          await fetch.get(url, { signal, mayTake: () => true }),
        ];
        for (const fault of faults) expect(fault).not.toMatchObject({ fault: { kind: 'blocked' } });
        for (const fault of faults) expect(fault).toMatchObject({ fault: { kind: /^(unreachable|tls)$/ } });
      }
      await pool.cut();
      await dns.close();
    });
  });
});

describe('the stored part of a body', () => {
  const bodied = (bytes: Buffer) => writing(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\n\r\n`, bytes);
  it.each<[string, Buffer, string]>([
    ['exactly 8 KB of text', Buffer.from('ä'.repeat(4096)), 'ä'.repeat(4096)],
    ['text, cut between characters', Buffer.from(`a${'😀'.repeat(3000)}`), `a${'😀'.repeat(2047)}`],
    ['what is no text, as a sign for each', Buffer.alloc(9000, 0xff), '\ufffd'.repeat(2730)],
    ['bytes that only continue', Buffer.alloc(9000, 0x80), '\ufffd'.repeat(2730)],
    ['8 KB of them', Buffer.alloc(8192, 0x80), '\ufffd'.repeat(2730)],
    ['NULs', Buffer.alloc(8192), '\ufffd'.repeat(2730)],
    ['half a character at the end', Buffer.from([0x61, 0xf0, 0x9f]), 'a\ufffd'],
  ])('is at most 8 KB in UTF-8: %s', async (_what, bytes, kept) => {
    await withPool(bodied(bytes), async ({ post }) => {
      const answer = await post();
      expect(answer).toEqual({ kind: 'answered', status: 200, body: kept });
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(8192);
    });
  });
});

describe('a body without end', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${'a'.repeat(bytes)}\r\n`;

  it('is dropped soon after the result is known, with its connection', async () => {
    await withPool(writing(HEAD + chunk(9000)), async ({ post, endpoint }) => {
      const answers = await Promise.all([post(), post(), post()]);
      for (const answer of answers) expect(answer).toMatchObject({ kind: 'answered', status: 200, isCut: true });
      expect(endpoint.connections()).toBe(3);
      await endpoint.untilOpen(0);
    });
  });

  it('that is a little longer and does end leaves the connection for the next request', async () => {
    await withPool(writing(HEAD + chunk(9000), chunk(20_000), '0\r\n\r\n'), async ({ post, endpoint }) => {
      for (let i = 0; i < 20; i++) {
        const answer = await post();
        expect(answer).toMatchObject({ kind: 'answered' });
        expect(answer).not.toHaveProperty('isCut');
      }
      expect(endpoint.connections()).toBeLessThanOrEqual(4);
    });
  });

  it('is cut off when the pool is closed and its time is over, with everything that waits for it', async () => {
    const closeMs = 50;
    await withPool(
      writing(`${HEAD}1\r\na\r\n`),
      async ({ post, pool, endpoint }) => {
        const answers = Array.from({ length: 20 }, post);
        await endpoint.untilOpen(4);
        await pool.close();
        for (const answer of answers) expect(await answer).toMatchObject({ kind: 'failed' });
        await endpoint.untilOpen(0);
      },
      closeMs,
    );
  });
});
