import { createHash, generateKeyPairSync } from 'node:crypto';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { systemClock, type Clock } from '../../platform/clock.ts';
import { selfSignedCertificate } from '../../protocol/x509.ts';
import type { Behaviour, Profile } from './behaviour.ts';
import { createLateReports, type SendingServer } from './late-reports.ts';
import { holdSession, type Keys } from './mx-session.ts';
import { startNameServer, type NameServer, type PublishedRecord } from './name-server.ts';
import { checkBehaviour } from './read-profile.ts';
import { ReceiverState } from './receiver-state.ts';
import { createReceivers, listRecipients, type Host, type Receiver, type RehearsedDomain } from './receivers.ts';
import { Seen } from './seen.ts';

export interface InternetOptions {
  profile: Profile;
  /** Measures limits, delays and reports; the system clock by default. */
  clock?: Clock;
  /** Spreads late reports over their time; the middle by default. */
  random?: () => number;
  /** The port of all MX hosts; any free one by default. */
  smtpPort?: number;
  /** The port at which the sending server receives bounces and complaints. */
  back?: SendingServer;
  /** Keeps the content of each message. */
  keepContent?: boolean;
}

export interface Internet extends AsyncDisposable {
  profile: Profile;
  dns: NameServer;
  smtpPort: number;
  seen: Seen;
  receivers: readonly Receiver[];
  domains: readonly RehearsedDomain[];
  /** The records of the receivers, which the DNS server publishes. */
  records: readonly PublishedRecord[];
  /** The certificates of all hosts that have a good one, in PEM; a client that checks names has to trust them. */
  certificates: readonly string[];
  /** Returns that many different addresses, spread over the domains by their shares; always the same ones. */
  recipients(count: number): string[];
  /**
   * Changes how a provider, or all of a family of separate receivers, behaves from now on; undefined removes a part of
   * the behaviour.
   */
  change(provider: string, behaviour: { [Key in keyof Behaviour]: Behaviour[Key] | undefined }): void;
  /** Sets where late reports are sent. */
  reportTo(back: SendingServer): void;
  /** Resolves when no report is being sent. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
const TRIES = 10;

/**
 * Starts mail servers and a name server that behave as a profile says, on loopback addresses of this machine only. They
 * accept and forget all mail.
 */
export async function startInternet(options: InternetOptions): Promise<Internet> {
  const { profile, clock = systemClock, random = () => 0.5, keepContent = false } = options;
  const { receivers, domains } = createReceivers(profile);
  const seen = new Seen();
  const startedAt = clock.now();
  let back = options.back;
  const states = new Map(receivers.map((receiver) => [receiver.name, new ReceiverState(receiver, clock)]));
  const certificates = createCertificates(receivers);
  const reports = createLateReports({
    clock,
    random,
    seen,
    back: () => back,
    onComplaint: ({ name }, from) => states.get(name)?.complained(from),
  });
  const sockets = new Set<Socket>();
  const sessions = new Set<Promise<void>>();
  let number = 0;

  function take(receiver: Receiver, host: Host, socket: Socket): void {
    const state = states.get(receiver.name);
    if (!state) throw new Error(`no state of the receiver ${receiver.name}`);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    number += 1;
    const session = holdSession({
      socket,
      host,
      state,
      seen,
      clock,
      number,
      keepContent,
      certificate: () => certificates.get(receiver),
      onAccepted: (message, from, head) => reports.plan(receiver, message, { from, head }),
    }).finally(() => sessions.delete(session));
    sessions.add(session);
  }

  const listeners = receivers.flatMap((receiver) =>
    uniqueAddresses(receiver).map((host) => ({
      address: host.address,
      take: (socket: Socket): void => take(receiver, host, socket),
    })),
  );
  const { servers, port } = await listenAtAll(listeners, options.smtpPort ?? 0);
  const byName = new Map(domains.map((domain) => [domain.name, domain]));
  const dns = await startNameServer((name) => {
    const fault = byName.get(name)?.data.dns_fault;
    if (!fault) return undefined;
    const minute = (clock.now() - startedAt) / 60_000;
    return minute >= (fault.from_minute ?? 0) && minute < (fault.to_minute ?? Infinity) ? fault.answer : undefined;
  });
  const records = listRecords(receivers, domains);
  dns.publish(records);

  const internet: Internet = {
    profile,
    dns,
    smtpPort: port,
    seen,
    receivers,
    domains,
    records,
    certificates: certificates.all,
    recipients: (count) => listRecipients(domains, count),
    change(provider, behaviour) {
      checkBehaviour(provider, behaviour);
      const changed = receivers.filter((one) => one.name === provider || one.provider === provider);
      if (changed.length === 0) throw new Error(`the profile has no provider ${provider}`);
      for (const receiver of changed) Object.assign(receiver.behaviour, behaviour);
    },
    reportTo: (server) => void (back = server),
    settled: () => reports.settled(),
    async close() {
      reports.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all([dns.close(), ...servers.map((server) => new Promise((done) => server.close(done)))]);
      await Promise.all([reports.settled(), ...sessions]);
    },
    [Symbol.asyncDispose]: () => internet.close(),
  };
  return internet;
}

/** Several names may share an address; the first one speaks there. */
function uniqueAddresses({ hosts }: Receiver): Host[] {
  const byAddress = new Map<string, Host>();
  for (const host of hosts) if (!byAddress.has(host.address)) byAddress.set(host.address, host);
  return [...byAddress.values()];
}

function listRecords(receivers: readonly Receiver[], domains: readonly RehearsedDomain[]): PublishedRecord[] {
  const addresses = receivers.flatMap(({ hosts }) =>
    hosts.map(({ name, address }): PublishedRecord => ({ name, type: 'A', value: address })),
  );
  const exchangers = domains.flatMap(({ name, hosts }) => [
    ...hosts.map((host, at): PublishedRecord => ({ name, type: 'MX', value: host.name, priority: 10 * (at + 1) })),
    { name, type: 'TXT', value: 'v=spf1 mx ~all' } as const,
  ]);
  return [...addresses, ...exchangers];
}

interface Listener {
  address: string;
  take(socket: Socket): void;
}

/** Listens at all addresses on one port. A free port of one address may be in use at another: then the next is tried. */
async function listenAtAll(
  listeners: readonly Listener[],
  wanted: number,
): Promise<{ servers: Server[]; port: number }> {
  for (let tries = 1; ; tries += 1) {
    const servers: Server[] = [];
    let port = wanted;
    try {
      for (const { address, take } of listeners) {
        const server = createServer({ noDelay: true }, take);
        await new Promise<void>((done, fail) => server.once('error', fail).listen(port, address, () => done()));
        servers.push(server);
        ({ port } = server.address() as AddressInfo);
      }
      return { servers, port };
    } catch (error) {
      await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (wanted !== 0 || tries === TRIES || !isTaken) throw error;
    }
  }
}

/** Names in one certificate, well below what its encoding holds. */
const NAMES_MAX = 500;

/** Makes the certificates of the hosts: good ones, and bad ones when they are needed. */
function createCertificates(receivers: readonly Receiver[]): { all: string[]; get(receiver: Receiver): Keys } {
  // TLS compares with the clock of the machine.
  const now = systemClock.now();
  const soon = { from: now - DAY_MS, to: now + 30 * DAY_MS };
  const good = new Map<string, Keys>();
  const all: string[] = [];
  let group: Receiver[] = [];
  const listNames = (some: readonly Receiver[]): string[] => some.flatMap(({ hosts }) => hosts.map(({ name }) => name));
  for (const [at, receiver] of receivers.entries()) {
    group.push(receiver);
    const next = receivers[at + 1];
    if (next && listNames([...group, next]).length <= NAMES_MAX) continue;
    const keys = makeCertificate(listNames(group), soon);
    all.push(keys.cert);
    for (const { name } of group) good.set(name, keys);
    group = [];
  }
  let expired: Keys | undefined;
  let other: Keys | undefined;
  return {
    all,
    get({ name, hosts, behaviour }) {
      const past = { from: now - 60 * DAY_MS, to: now - DAY_MS };
      if (behaviour.tls === 'expired')
        return (expired ??= makeCertificate(
          hosts.map((host) => host.name),
          past,
        ));
      if (behaviour.tls === 'wrong-name') return (other ??= makeCertificate(['another-name.invalid'], soon));
      const keys = good.get(name);
      if (!keys) throw new Error(`no certificate of the receiver ${name}`);
      return keys;
    },
  };
}

function makeCertificate(names: readonly string[], { from, to }: { from: number; to: number }): Keys {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const publicKey = keys.publicKey.export({ type: 'spki', format: 'der' });
  const cert = selfSignedCertificate({
    names,
    notBefore: new Date(from),
    notAfter: new Date(to),
    serial: createHash('sha256').update(publicKey).digest().subarray(0, 15),
    ...keys,
  });
  return { key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert };
}
