import { appendFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from './free-port.ts';
import { NO_COUNTS } from './sink-options.ts';
import type { Sink, SinkMessage, SinkOptions } from './sink-options.ts';
import { SinkSession } from './sink-session.ts';
import type { Shared } from './sink-session.ts';
import { makeBadCertificate, makeCertificate } from './tls.ts';

export type { Sink, SinkAuth, SinkCounts, SinkMessage, SinkOptions, SinkTls } from './sink-options.ts';

/** Starts a mail server on loopback that accepts everything, except what it is asked to refuse by address, option or script. */
export async function startSink(options: SinkOptions = {}): Promise<Sink> {
  const sessions = new Set<SinkSession>();
  const seenOnce = new Set<string>();
  const gated: (() => void)[] = [];
  let isGateOpen = false;
  let watchers: { holds: () => boolean; done: () => void }[] = [];
  const certificate = options.certificate ?? (options.tls === 'bad-cert' ? makeBadCertificate() : makeCertificate());

  const sink: Sink = {
    port: 0,
    host: options.host ?? '127.0.0.1',
    certificate,
    messages: [],
    contentBytes: 0,
    counts: { ...NO_COUNTS },
    logins: [],
    commands: [],
    get open() {
      return sessions.size;
    },
    waitFor(wanted) {
      const holds = (): boolean => (typeof wanted === 'number' ? sink.counts.accepted >= wanted : wanted(sink));
      if (holds()) return Promise.resolve();
      return new Promise((done) => watchers.push({ holds, done }));
    },
    held: () => gated.length,
    openGate() {
      isGateOpen = true;
      for (const go of gated.splice(0)) go();
    },
    answerOne: () => gated.shift()?.(),
    readOn(contentBytes) {
      shared.contentAllowance = contentBytes;
      for (const session of [...sessions]) session.readOn(contentBytes);
    },
    dropConnections() {
      for (const session of [...sessions]) session.end();
    },
    async close() {
      for (const session of [...sessions]) session.destroy();
      await Promise.all(servers.map((server) => new Promise<void>((done) => server.close(() => done()))));
    },
  };
  const shared: Shared = {
    options,
    sink,
    contentAllowance: options.contentAllowance ?? Infinity,
    seenOnce,
    leave: (session) => {
      sessions.delete(session);
      shared.stir();
    },
    gate: (go) => (isGateOpen ? go() : void gated.push(go)),
    stir() {
      if (watchers.length === 0) return;
      const due = watchers.filter((watcher) => watcher.holds());
      watchers = watchers.filter((watcher) => !due.includes(watcher));
      for (const watcher of due) watcher.done();
    },
  };
  const take = (socket: Socket): void => {
    sink.counts.connections += 1;
    sessions.add(new SinkSession(socket, shared, sink.counts.connections));
    shared.stir();
  };
  const first = await listenAt(sink.host, options.port ?? (await freePort()), take);
  sink.port = (first.address() as AddressInfo).port;
  const servers = [first];
  for (const host of options.alsoAt ?? []) servers.push(await listenAt(host, sink.port, take));
  return sink;
}

async function listenAt(host: string, port: number, take: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ noDelay: true }, take);
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen(port, host, done);
  });
  return server;
}

/** Runs it as a process of its own: prints its address, and appends a line per accepted message when asked to. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      'count-only': { type: 'boolean', default: false },
      log: { type: 'string' },
    },
  });
  const { log } = values;
  const sink = await startSink({
    port: Number(values.port),
    keep: false,
    ...(log ? { onMessage: (message: SinkMessage) => appendFileSync(log, logLine(message)) } : {}),
  });
  process.stdout.write(`${JSON.stringify({ port: sink.port })}\n`);
  process.on('SIGTERM', () => {
    process.stdout.write(`${JSON.stringify(sink.counts)}\n`);
    process.exit(0);
  });
}

function logLine(message: SinkMessage): string {
  const messageId = /^message-id:\s*(\S+)/im.exec(message.data.toString('latin1'))?.[1] ?? '-';
  return message.rcptTo.map((address) => `${messageId} ${address}\n`).join('');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
