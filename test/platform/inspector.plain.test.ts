import { createSocket, type RemoteInfo } from 'node:dgram';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createInspector, type Inspection, type Inspector } from '../../src/platform/resolver/index.ts';
import { decodeMessage, encodeMessage, RCODES, type DnsMessage } from '../../src/protocol/dns/index.ts';
import { startDns, type DnsRig } from '../rig/dns.ts';
import { freePort } from '../rig/free-port.ts';

type Reply = (query: DnsMessage, bytes: Buffer) => (Buffer | 'from a stranger')[];

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A name server that says over UDP whatever the test wants. */
async function speak(reply: Reply): Promise<string> {
  const socket = createSocket('udp4');
  const stranger = createSocket('udp4');
  socket.on('message', (bytes: Buffer, from: RemoteInfo) => {
    const query = decodeMessage(bytes);
    for (const said of reply(query, bytes)) {
      if (said === 'from a stranger') stranger.send(answer(query, '6.6.6.6'), from.port, from.address);
      else socket.send(said, from.port, from.address);
    }
  });
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
  closers.push(
    () => new Promise<void>((done) => socket.close(() => done())),
    () => new Promise<void>((done) => stranger.close(() => done())),
  );
  return `127.0.0.1:${socket.address().port}`;
}

function answer(query: DnsMessage, address: string, change: Partial<DnsMessage> = {}): Buffer {
  const name = query.questions[0]?.name ?? '.';
  const record = { name, class: 1, ttl: 60, data: { type: 'A' as const, address } };
  return encodeMessage({ ...query, isAnswer: true, additionals: [], answers: [record], ...change });
}

interface Wishes {
  signal?: AbortSignal;
  /** Little where a server is silent; otherwise a busy machine is to be waited for. */
  timeoutMs?: number;
}

function inspect(
  servers: string[],
  { signal = new AbortController().signal, timeoutMs = 20_000 }: Wishes = {},
): Inspection {
  const inspector: Inspector = createInspector({ servers, authorityPort: 53, allowPrivate: [], timeoutMs, tries: 2 });
  closers.push(() => inspector.close());
  return inspector.inspect(signal);
}

const found = (address: string) => expect.objectContaining({ kind: 'found', records: [address] });

describe('a DNS query of the inspector', () => {
  it('accepts no response with another id, for another question, or from another sender', async () => {
    const server = await speak((query) => [
      'from a stranger',
      answer({ ...query, id: (query.id + 1) & 0xffff }, '6.6.6.6'),
      answer({ ...query, questions: [{ name: 'other.test', type: 1, class: 1 }] }, '6.6.6.6'),
      answer({ ...query, questions: [{ name: 'a.test', type: 16, class: 1 }] }, '6.6.6.6'),
      answer({ ...query, questions: [] }, '6.6.6.6'),
      // A question is no answer.
      answer(query, '6.6.6.6', { isAnswer: false }),
      Buffer.from([1]),
      answer(query, '192.0.2.1'),
    ]);
    expect(await inspect([server]).resolve('a.test', 'A')).toEqual(found('192.0.2.1'));
  });

  it('has a new id and a new port each time', async () => {
    const numbers = new Set<number>();
    const ports = new Set<number>();
    const socket = createSocket('udp4');
    socket.on('message', (bytes, from) => {
      numbers.add(bytes.readUInt16BE(0));
      ports.add(from.port);
      socket.send(answer(decodeMessage(bytes), '192.0.2.1'), from.port, from.address);
    });
    await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
    closers.push(() => new Promise<void>((done) => socket.close(() => done())));
    const inspection = inspect([`127.0.0.1:${socket.address().port}`]);
    await Promise.all(Array.from({ length: 40 }, (_, i) => inspection.resolve(`n${i}.test`, 'A')));
    expect(numbers.size).toBeGreaterThan(30);
    expect(ports.size).toBeGreaterThan(20);
  });

  it('is repeated without EDNS when the server does not support that', async () => {
    const server = await speak((query) =>
      query.additionals.length > 0
        ? [encodeMessage({ ...query, isAnswer: true, rcode: RCODES.FORMERR, additionals: [] })]
        : [answer(query, '192.0.2.2')],
    );
    expect(await inspect([server]).resolve('a.test', 'A')).toEqual(found('192.0.2.2'));
  });

  it('is repeated once when its response is lost, and then sent to the next server', async () => {
    let asked = 0;
    const lossy = await speak((query) => (++asked === 1 ? [] : [answer(query, '192.0.2.3')]));
    expect(await inspect([lossy], { timeoutMs: 1000 }).resolve('a.test', 'A')).toEqual(found('192.0.2.3'));
    const silent = await speak(() => []);
    const other = await speak((query) => [answer(query, '192.0.2.4')]);
    expect(await inspect([silent, other], { timeoutMs: 1000 }).resolve('a.test', 'A')).toEqual(found('192.0.2.4'));
  });

  it('to an address without a route fails, and the next server is queried', async () => {
    const server = await speak((query) => [answer(query, '192.0.2.5')]);
    // The kernel lets nobody connect to the broadcast address, as it does where an address family has no route.
    expect(await inspect(['255.255.255.255', server]).resolve('a.test', 'A')).toEqual(found('192.0.2.5'));
    expect(await inspect(['255.255.255.255']).resolve('a.test', 'A')).toMatchObject({ kind: 'failed' });
  });

  it.each([
    ['bytes that are no message', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 2), Buffer.alloc(10, 0xff)])],
    [
      'a name that points to itself',
      (bytes: Buffer) =>
        Buffer.concat([bytes.subarray(0, 2), Buffer.from([0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1])]),
    ],
    [
      'counts that promise what does not come',
      (bytes: Buffer) =>
        Buffer.concat([bytes.subarray(0, 2), Buffer.from([0x84, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0]), bytes.subarray(12)]),
    ],
  ])('with a response of %s ends as malformed', async (_, garble) => {
    const server = await speak((_query, bytes) => [garble(bytes)]);
    expect(await inspect([server]).resolve('a.test', 'A')).toEqual({ kind: 'failed', reason: 'malformed' });
  });

  it('does not wait for a valid response forever', async () => {
    const server = await speak((query) =>
      Array.from({ length: 40 }, () => answer({ ...query, questions: [] }, '6.6.6.6')),
    );
    expect(await inspect([server]).resolve('a.test', 'A')).toEqual({ kind: 'failed', reason: 'malformed' });
  });

  it('with a larger response over UDP than was allowed ends as malformed', async () => {
    const server = await speak((query) => [
      Buffer.concat([answer(query, '192.0.2.1'), Buffer.alloc(1300)]),
      answer(query, '192.0.2.1'),
    ]);
    expect(await inspect([server]).resolve('a.test', 'A')).toEqual({ kind: 'failed', reason: 'malformed' });
  });

  it('to a port without a listener ends as unreachable', async () => {
    const port = await freePort();
    expect(await inspect([`127.0.0.1:${port}`]).resolve('a.test', 'A')).toEqual({
      kind: 'failed',
      reason: 'unreachable',
    });
  });

  it('ends with its signal, and is not started after it', async () => {
    let asked = 0;
    const stop = new AbortController();
    const server = await speak(() => {
      asked++;
      stop.abort();
      return [];
    });
    const inspection = inspect([server], { signal: stop.signal });
    expect(await inspection.resolve('a.test', 'A')).toEqual({ kind: 'failed', reason: 'stopped' });
    expect(await inspection.resolve('b.test', 'A')).toEqual({ kind: 'failed', reason: 'stopped' });
    expect(asked).toBe(1);
  });

  it.each(['a'.repeat(64) + '.test', `${'abc.'.repeat(80)}test`, 'a..test'])(
    'for %s, which no message can contain, finds nothing',
    async (name) => {
      expect(await inspect(['127.0.0.1:1']).resolve(name, 'A')).toMatchObject({ kind: 'none' });
    },
  );
});

/** An answer to the question in these bytes, as they come over TCP, that says it has more records than it has bytes. */
function counting(bytes: Buffer): Buffer {
  const reply = answer(decodeMessage(bytes.subarray(2)), '192.0.2.9');
  reply.writeUInt16BE(0xffff, 6);
  return Buffer.concat([Buffer.from([reply.length >> 8, reply.length & 0xff]), reply]);
}

describe('a DNS response that is too long for UDP', () => {
  /** False where somebody else has the port. */
  const tcp = async (port: number, onData: (socket: Socket, bytes: Buffer) => void): Promise<boolean> => {
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('data', (bytes: Buffer) => onData(socket, bytes));
    });
    const isOurs = await new Promise<boolean>((done) => {
      server.once('error', () => done(false));
      server.listen(port, '127.0.0.1', () => done(true));
    });
    if (!isOurs) return false;
    closers.push(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((done) => server.close(() => done()));
    });
    expect((server.address() as AddressInfo).port).toBe(port);
    return true;
  };
  /** Answers over UDP that the answer is too long for it, and over TCP on the same port as it is told. */
  const truncating = async (onData: (socket: Socket, bytes: Buffer) => void): Promise<string> => {
    for (;;) {
      const server = await speak((query) => [
        encodeMessage({ ...query, isAnswer: true, truncated: true, additionals: [] }),
      ]);
      if (await tcp(readPort(server), onData)) return server;
    }
  };
  const readPort = (server: string) => Number(server.split(':')[1]);

  it('is read over TCP, even byte by byte', async () => {
    const server = await truncating((socket, bytes) => {
      const reply = answer(decodeMessage(bytes.subarray(2)), '192.0.2.5');
      socket.setNoDelay(true);
      for (const byte of [reply.length >> 8, reply.length & 0xff, ...reply]) socket.write(Buffer.from([byte]));
    });
    expect(await inspect([server]).resolve('a.test', 'A')).toEqual(found('192.0.2.5'));
  });

  it.each([
    ['never comes', () => undefined, 'timeout'],
    ['breaks off', (socket: Socket) => socket.end(Buffer.from([0, 50, 1, 2])), 'unreachable'],
    ['is to another question', (socket: Socket) => socket.write(Buffer.from([0, 2, 0, 0])), 'malformed'],
    ['promises 65,535 records', (socket: Socket, bytes: Buffer) => socket.write(counting(bytes)), 'malformed'],
  ] as const)('and that %s ends as failed', async (_, misbehave, reason) => {
    const server = await truncating((socket, bytes) => void misbehave(socket, bytes));
    const wishes = reason === 'timeout' ? { timeoutMs: 150 } : {};
    expect(await inspect([server], wishes).resolve('a.test', 'A')).toEqual({ kind: 'failed', reason });
  });

  it('is read as often as half a megabyte allows in one inspection, after which no server is queried', async () => {
    let asked = 0;
    const server = await truncating((socket, bytes) => {
      asked++;
      const large = { type: 'opaque' as const, number: 65_280, bytes: Buffer.alloc(60_000) };
      const query = decodeMessage(bytes.subarray(2));
      const name = query.questions[0]?.name ?? '.';
      const reply = answer(query, '', { answers: [{ name, class: 1, ttl: 60, data: large }] });
      socket.write(Buffer.concat([Buffer.from([reply.length >> 8, reply.length & 0xff]), reply]));
    });
    const inspection = inspect([server]);
    const kinds: string[] = [];
    for (let i = 0; i < 12; i++) kinds.push((await inspection.resolve(`n${i}.test`, 'A')).kind);
    expect(kinds).toEqual([...new Array<string>(8).fill('none'), ...new Array<string>(4).fill('failed')]);
    expect(asked).toBe(9);
  });
});

describe('the inspection of a zone', () => {
  let dns: DnsRig;
  beforeAll(async () => {
    dns = await startDns({
      'zone.test': { SOA: ['ns1.zone.test admin.zone.test 7 600'], NS: ['ns1.zone.test', 'ns2.zone.test'] },
      'ns1.zone.test': { A: ['127.0.0.1'] },
      'ns2.zone.test': { A: ['10.9.9.9'] },
      'www.zone.test': { A: ['192.0.2.80'] },
    });
  });
  afterAll(() => dns.close());
  const within = (allowPrivate: string[]): Inspection => {
    const inspector = createInspector({ servers: [dns.server], authorityPort: dns.port, allowPrivate });
    closers.push(() => inspector.close());
    return inspector.inspect(new AbortController().signal);
  };

  it('finds the zone of a name, and queries its public name servers', async () => {
    expect(await within(['127.0.0.1/32']).observe('deep.down.zone.test', 'TXT')).toEqual({
      name: 'zone.test',
      servers: [
        {
          host: 'ns1.zone.test',
          state: 'answers',
          answer: { kind: 'none', why: 'nxdomain', aliases: [], ttlSeconds: 60 },
        },
        { host: 'ns2.zone.test', state: 'private' },
      ],
    });
  });

  it('queries no name server in a private network', async () => {
    const before = dns.queries.length;
    const zone = await within([]).observe('www.zone.test', 'A');
    expect(zone?.servers.map(({ state }) => state)).toEqual(['private', 'private']);
    expect(dns.queries.slice(before).every(({ recursion }) => recursion)).toBe(true);
  });

  it('finds nothing for an unknown zone', async () => {
    expect(await within(['127.0.0.1/32']).observe('www.unknown.invalid', 'A')).toBeUndefined();
  });

  it('leaves out a name server whose address cannot be looked up in time', async () => {
    dns.set('late.test', 'SOA', ['ns1.late.test admin.late.test 7 600']);
    dns.set('late.test', 'NS', ['ns1.zone.test', 'ns1.late.test', 'gone.late.test']);
    dns.set('ns1.late.test', 'ANY', 'TIMEOUT');
    const zone = await within(['127.0.0.1/32']).observe('late.test', 'TXT');
    expect(zone?.servers.map(({ host, state }) => [host, state])).toEqual([
      ['ns1.zone.test', 'answers'],
      ['gone.late.test', 'nameless'],
    ]);
  });

  it('reports the response of each name server', async () => {
    dns.set('www.zone.test', 'TXT', 'SERVFAIL');
    const zone = await within(['127.0.0.1/32']).observe('www.zone.test', 'TXT');
    expect(zone?.servers[0]).toEqual({ host: 'ns1.zone.test', state: 'failing' });
  });

  it('shows as many records of a name as a response holds', async () => {
    const texts = Array.from({ length: 120 }, (_, i) => `proof-${i}`);
    dns.set('many.zone.test', 'TXT', texts);
    const zone = await within(['127.0.0.1/32']).observe('many.zone.test', 'TXT');
    expect(zone?.servers[0]?.answer).toMatchObject({ kind: 'found', records: texts });
  });

  it('sends each query once', async () => {
    const inspection = within(['127.0.0.1/32']);
    const before = dns.queries.length;
    await Promise.all(Array.from({ length: 5 }, () => inspection.observe('www.zone.test', 'A')));
    const asked = dns.queries.slice(before).map(({ name, type, recursion }) => `${name} ${type} ${recursion}`);
    expect(new Set(asked).size).toBe(asked.length);
  });
});
