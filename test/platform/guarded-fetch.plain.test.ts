import net, { type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createGuardedFetch, type FetchAnswer, type FetchLimits } from '../../src/platform/fetch/index.ts';
import { createResolver, type Resolver } from '../../src/platform/resolver/index.ts';
import { readHttpsUrl } from '../../src/protocol/https-url.ts';
import { startDns, type DnsRig } from '../rig/dns.ts';
import { makeBadCertificate } from '../rig/tls.ts';
import {
  ALLOWED,
  PRIVATE_URLS,
  startDoorbell,
  startFileServer,
  type Doorbell,
  type FileServer,
} from '../rig/file-server.ts';

const FILE = Buffer.from('a file of 21 bytes ok');
const blocked = { kind: 'failed', fault: { kind: 'blocked' } };

describe('the guarded fetch', () => {
  let dns: DnsRig;
  let resolver: Resolver;
  let server: FileServer;
  let doorbell: Doorbell;
  beforeAll(async () => {
    dns = await startDns({ 'files.test': { A: [ALLOWED] }, 'other.test': { A: [ALLOWED] } }, { ttlSeconds: 0 });
    resolver = createResolver({ servers: [dns.server], timeoutMs: 2000, tries: 1 });
    doorbell = await startDoorbell();
    server = await startFileServer((path, response, socket) => {
      const [, verb = '', rest = ''] = /^\/(\w+)(?:\/(.*))?$/s.exec(path.split('?', 1)[0] ?? '') ?? [];
      const to = Buffer.from(rest, 'base64url').toString();
      switch (verb) {
        case 'file':
          return void response.end(FILE);
        case 'status':
          return void response.writeHead(Number(rest)).end(FILE);
        case 'to':
          return void response
            .writeHead(302, { location: Buffer.from(to).toString('latin1'), 'set-cookie': 'a=b' })
            .end('moved');
        case 'with':
          return void response.writeHead(Number(rest.split('-')[0]), { location: '/file' }).end();
        case 'long':
          return void response.writeHead(302, { location: `/${'a'.repeat(2100)}` }).end();
        case 'hops':
          if (rest === '0') return void response.end(FILE);
          return void response.writeHead(307, { location: `/hops/${Number(rest) - 1}` }).end();
        case 'gzip':
          return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(FILE));
        case 'identity':
          return void response.writeHead(200, { 'content-encoding': 'Identity' }).end(FILE);
        case 'chunked':
          response.write(FILE.subarray(0, 10));
          return void response.end(FILE.subarray(10));
        case 'endless': {
          const pour = (): void =>
            void (response.write(Buffer.alloc(65_536)) ? setImmediate(pour) : response.once('drain', pour));
          return pour();
        }
        case 'drip':
          return void response.write('x');
        case 'short':
          response.writeHead(200, { 'content-length': 1000 });
          return void response.write('x', () => socket.destroy());
        case 'cut':
          return void response.write('x', () => socket.destroy());
        case 'garbage':
          return void socket.end('hello\r\n\r\n');
        case 'headers':
          return void response.writeHead(200, { 'x-long': 'x'.repeat(60_000) }).end(FILE);
        case 'upgrade':
          return void socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
        case 'hints':
          response.writeEarlyHints({ link: '</style.css>; rel=preload' });
          return void response.end(FILE);
        default:
          // `/silence` is never answered.
          return undefined;
      }
    });
  });
  afterAll(async () => {
    resolver.close();
    await Promise.all([server.close(), doorbell[Symbol.asyncDispose](), dns.close()]);
  });

  const guarded = (options: { ca?: string[]; using?: Pick<Resolver, 'addresses'>; allow?: string[] } = {}) =>
    createGuardedFetch({
      resolver: options.using ?? resolver,
      allowPrivate: options.allow ?? [`${ALLOWED}/32`],
      userAgent: 'rasket-tests',
      ca: options.ca ?? [server.certificate.cert],
    });
  const everything: FetchLimits = { signal: new AbortController().signal, mayTake: () => true };
  const at = (path: string): string => `https://files.test:${server.port}${path}`;
  const get = (url: string, limits: Partial<FetchLimits> = {}): Promise<FetchAnswer> => {
    const read = readHttpsUrl(url);
    if (typeof read === 'string') throw new Error(`${url} ${read}`);
    return guarded().get(read, { ...everything, ...limits });
  };
  const upTo = (max: number): { mayTake: (bytes: number) => boolean } => {
    let taken = 0;
    return { mayTake: (bytes) => (taken += bytes) <= max };
  };
  const redirectTo = (location: string): string => at(`/to/${Buffer.from(location).toString('base64url')}`);

  describe('of a file', () => {
    it.each(['/file', '/chunked', '/identity', '/hops/1', '/hops/3', '/hints'])('downloads %s', async (path) => {
      expect(await get(at(path))).toEqual({ kind: 'fetched', content: FILE });
    });

    it.each([301, 302, 303, 307, 308])('follows a redirect with %i', async (status) => {
      expect(await get(at(`/with/${status}-`))).toEqual({ kind: 'fetched', content: FILE });
    });

    it('sends only required headers, and takes nothing from one response to the next request', async () => {
      server.visits.length = 0;
      await get(redirectTo('/file?x=1#part'));
      const headers = {
        accept: '*/*',
        'accept-encoding': 'identity',
        host: `files.test:${server.port}`,
        'user-agent': 'rasket-tests',
        connection: 'close',
      };
      expect(server.visits).toEqual([
        { method: 'GET', path: expect.stringMatching(/^\/to/) as string, headers },
        { method: 'GET', path: '/file?x=1', headers },
      ]);
    });

    it('leaves no connection open', async () => {
      await Promise.all(['/file', '/hops/2', '/status/404', '/gzip', '/short'].map((path) => get(at(path))));
      await vi.waitFor(() => expect(server.open()).toBe(0));
    });
  });

  describe('with a fault:', () => {
    it.each([
      ['/hops/4', { kind: 'too_many_redirects', max: 3 }],
      ['/status/201', { kind: 'status', status: 201 }],
      ['/status/204', { kind: 'status', status: 204 }],
      ['/status/206', { kind: 'status', status: 206 }],
      ['/status/301', { kind: 'status', status: 301 }],
      ['/status/304', { kind: 'status', status: 304 }],
      ['/status/404', { kind: 'status', status: 404 }],
      ['/status/500', { kind: 'status', status: 500 }],
      ['/gzip', { kind: 'encoded', encoding: 'gzip' }],
      ['/short', { kind: 'interrupted' }],
      ['/cut', { kind: 'interrupted' }],
      ['/garbage', { kind: 'interrupted' }],
      ['/headers', { kind: 'interrupted' }],
      ['/upgrade', { kind: 'interrupted' }],
    ])('fails for %s with the right reason', async (path, fault) => {
      expect(await get(at(path))).toMatchObject({ kind: 'failed', fault });
    });

    it('reports a missing server as unreachable', async () => {
      const closed = await startFileServer(() => undefined);
      await closed.close();
      expect(await get(`https://files.test:${closed.port}/`)).toMatchObject({ fault: { kind: 'unreachable' } });
    });

    it.each(['SERVFAIL', 'REFUSED'] as const)('takes the DNS response %s for no result', async (fault) => {
      dns.set('broken.test', 'ANY', fault);
      expect(await get('https://broken.test/')).toMatchObject({ fault: { kind: 'unreachable' } });
    });
  });

  describe('with limits', () => {
    it.each(['/file', '/chunked'])('downloads %s with exactly the maximum of bytes, and not one more', async (path) => {
      expect(await get(at(path), upTo(FILE.length))).toMatchObject({ kind: 'fetched' });
      expect(await get(at(path), upTo(FILE.length - 1))).toMatchObject({ fault: { kind: 'too_large' } });
    });

    it('breaks off an endless body', async () => {
      expect(await get(at('/endless'), upTo(1_000_000))).toMatchObject({ fault: { kind: 'too_large' } });
      await vi.waitFor(() => expect(server.open()).toBe(0));
    });

    it('refuses a Content-Length that is too large without reading', async () => {
      const asked: number[] = [];
      const mayTake = (bytes: number): boolean => asked.push(bytes) < 0;
      expect(await get(at('/file'), { mayTake })).toMatchObject({ fault: { kind: 'too_large' } });
      expect(asked).toEqual([FILE.length]);
    });

    it.each(['/silence', '/drip'])('ends %s and its connection when the time is over', async (path) => {
      const stop = new AbortController();
      const answer = get(at(path), { signal: stop.signal });
      await vi.waitFor(() => expect(server.visits.at(-1)?.path).toBe(path));
      stop.abort();
      expect(await answer).toMatchObject({ fault: { kind: 'timeout' } });
      await vi.waitFor(() => expect(server.open()).toBe(0));
    });

    it('reports a handshake that does not end as a timeout', async () => {
      const mute = net.createServer((socket) => void socket.on('error', () => undefined));
      await new Promise<void>((resolve) => mute.listen(0, ALLOWED, resolve));
      const connected = new Promise<net.Socket>((resolve) => mute.once('connection', resolve));
      const stop = new AbortController();
      const { port } = mute.address() as AddressInfo;
      const answer = get(`https://files.test:${port}/`, { signal: stop.signal });
      const socket = await connected;
      stop.abort();
      expect(await answer).toMatchObject({ fault: { kind: 'timeout' } });
      socket.destroy();
      mute.close();
    });

    it('reports a lookup without a response as a timeout, and also a fetch that was aborted before it started', async () => {
      const letGo = dns.hold();
      const stop = new AbortController();
      const answer = get('https://slow.test/', { signal: stop.signal });
      stop.abort();
      expect(await answer).toMatchObject({ fault: { kind: 'timeout' } });
      letGo();
      server.visits.length = 0;
      expect(await get(at('/file'), { signal: stop.signal })).toMatchObject({ fault: { kind: 'timeout' } });
    });
  });

  describe('over TLS', () => {
    it('does not trust a certificate for another name', async () => {
      const answer = await get(`https://other.test:${server.port}/file`);
      expect(answer).toMatchObject({ fault: { kind: 'tls', code: 'ERR_TLS_CERT_ALTNAME_INVALID' } });
    });

    it('does not trust a certificate without a trusted authority', async () => {
      const answer = await guarded({ ca: [] }).get(new URL(at('/file')), everything);
      expect(answer).toMatchObject({ fault: { kind: 'tls', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
    });

    it('does not trust an expired certificate', async () => {
      const certificate = makeBadCertificate();
      await using old = await startFileServer((_, response) => void response.end(), { certificate });
      const answer = await guarded({ ca: [certificate.cert] }).get(
        new URL(`https://files.test:${old.port}/`),
        everything,
      );
      expect(answer).toMatchObject({ fault: { kind: 'tls', code: 'CERT_HAS_EXPIRED' } });
      expect(old.visits).toEqual([]);
    });

    it('does not work with a server without TLS', async () => {
      const plain = net.createServer(
        (socket) =>
          void socket
            .on('error', () => undefined)
            .resume()
            .end('HTTP/1.1 200 OK\r\n\r\n'),
      );
      await new Promise<void>((resolve) => plain.listen(0, ALLOWED, resolve));
      const { port } = plain.address() as AddressInfo;
      expect(await get(`https://files.test:${port}/`)).toMatchObject({ fault: { kind: 'tls' } });
      plain.close();
    });
  });

  // The doorbell listens on every address of this machine: whatever got through would ring it.
  describe('reaches no private address by', () => {
    const within = (url: string): string => url.replace('PORT', String(doorbell.port));

    it.each(PRIVATE_URLS)('the URL %s', async (url) => {
      expect(await get(within(url))).toMatchObject(blocked);
      expect(doorbell.rings()).toBe(0);
    });

    it('a redirect to a URL that is too long', async () => {
      expect(await get(at('/long'))).toMatchObject(blocked);
    });

    // Without slashes the address is a path of the server that redirects.
    const elsewhere = PRIVATE_URLS.filter((url) => /^https:[\\/]{2}/.test(url));
    it.each(elsewhere)('a redirect to %s', async (url) => {
      expect(await get(redirectTo(within(url)))).toMatchObject(blocked);
      expect(doorbell.rings()).toBe(0);
    });

    it.each([
      'http://files.test:PORT/',
      'http://127.0.0.1:PORT/',
      '//127.0.0.1:PORT/',
      '\\\\127.0.0.1:PORT\\',
      'https://user:secret@files.test/',
      'ftp://127.0.0.1:PORT/',
      'file:///etc/passwd',
      'data:text/plain,x',
      'gopher://127.0.0.1:PORT/',
      'https://',
    ])('a redirect to %.60s', async (location) => {
      expect(await get(redirectTo(within(location)))).toMatchObject(blocked);
      expect(doorbell.rings()).toBe(0);
    });

    it.each([
      ['A 127.0.0.1', { A: ['127.0.0.1'] }],
      ['A of all loopbacks but the allowed one', { A: ['127.0.0.1', '127.0.0.3', '127.1.1.1'] }],
      ['A 0.0.0.0', { A: ['0.0.0.0'] }],
      ['A of the metadata server', { A: ['169.254.169.254'] }],
      ['A of a private network', { A: ['10.0.0.1', '192.168.1.1'] }],
      ['AAAA ::1', { AAAA: ['::1'] }],
      ['AAAA of mapped loopback', { AAAA: ['::ffff:7f00:1'] }],
      ['AAAA of loopback behind NAT64', { AAAA: ['64:ff9b::7f00:1'] }],
      ['AAAA of loopback behind 6to4', { AAAA: ['2002:7f00:1::'] }],
      ['AAAA unique local', { AAAA: ['fd00::1'] }],
      ['both families', { A: ['127.0.0.1'], AAAA: ['::1'] }],
      ['a CNAME to a name inside', { CNAME: ['inside.test'] }],
      ['no records', { A: [] }],
      ['no such name', { ANY: 'NXDOMAIN' as const }],
    ])('a name with %s', async (_, records) => {
      dns.set('inside.test', 'A', ['127.0.0.1']);
      const name = `n${Math.random().toString(36).slice(2)}.test`;
      for (const [type, values] of Object.entries(records)) dns.set(name, type as 'A', values);
      expect(await get(`https://${name}:${doorbell.port}/`)).toMatchObject(blocked);
      expect(await get(redirectTo(`https://${name}:${doorbell.port}/`))).toMatchObject(blocked);
      expect(doorbell.rings()).toBe(0);
    });

    it('a name with public and private addresses, of which only the public ones are tried', async () => {
      dns.set('mixed.test', 'A', ['127.0.0.1', ALLOWED, '127.0.0.3']);
      dns.set('mixed.test', 'AAAA', ['::1']);
      // Nobody listens on this port but the doorbell, which the allowed address leads to as well.
      await get(`https://mixed.test:${server.port}/file`);
      expect(server.visits.length + server.open()).toBeGreaterThan(0);
      expect(doorbell.rings()).toBe(0);
    });

    it('a name that changes its address after the check, because the checked address is used', async () => {
      const answers = [[ALLOWED], ['127.0.0.1'], ['127.0.0.1']];
      let asked = 0;
      const turning: Pick<Resolver, 'addresses'> = {
        addresses: async () => ({ kind: 'found', records: { v4: answers[asked++] ?? [], v6: [] } }),
      };
      expect(await guarded({ using: turning }).get(new URL(at('/file')), everything)).toMatchObject({
        kind: 'fetched',
      });
      expect(asked).toBe(1);
      // The second hop asks again, and is checked again.
      asked = 0;
      const answer = await guarded({ using: turning }).get(
        new URL(redirectTo(`https://files.test:${doorbell.port}/`)),
        everything,
      );
      expect(answer).toMatchObject(blocked);
      expect(asked).toBe(2);
      expect(doorbell.rings()).toBe(0);
    });

    it('a URL that the operator did not allow, even next to an allowed one', async () => {
      const strict = guarded({ allow: [] });
      expect(await strict.get(new URL(at('/file')), everything)).toMatchObject(blocked);
      expect(await guarded({ allow: ['127.0.0.0/8'] }).get(new URL(at('/file')), everything)).toMatchObject({
        kind: 'fetched',
      });
    });
  });
});
