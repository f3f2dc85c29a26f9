// Mail servers of the providers of the rehearsal `realistic`, in a process of their own: they do not slow down the program that is
// tested, and outlive it. argv has the number of readers and of customers.
import {
  checkProfile,
  decideFate,
  loadProfile,
  type Behaviour,
  type Profile,
  type SeenMessage,
  type SeenRefusal,
} from '../../src/features/rehearsal/index.ts';
import { startInternet, type PublishedRecord } from '../../src/features/rehearsal/start.ts';

export type FromReceivers =
  | { kind: 'started'; smtpPort: number; records: readonly PublishedRecord[]; readers: string[]; customers: string[] }
  | { kind: 'seen'; messages: SeenMessage[]; refusals: SeenRefusal[] }
  | { kind: 'limits'; limits: SeenLimits[] };

/** A limit of a receiver, and the most that the receiver saw; without a maximum there is no limit. */
export interface SeenLimit {
  max: number | undefined;
  seen: number;
}

export interface SeenLimits {
  receiver: string;
  /** The provider whose behavior the receiver has. */
  family: string;
  accepted: number;
  connections: SeenLimit;
  perConnection: SeenLimit;
  messagesPerMinute: SeenLimit;
  connectionsPerMinute: SeenLimit;
}

/** Receivers answer four times as fast as in the rehearsal. */
const FASTER = 4;
/** Limits that are on the program's list, for receivers of the rehearsal that have none or other ones. */
const LISTED: Record<string, Partial<Behaviour>> = {
  'microsoft-365': { messages_per_connection: { max: 50, reply: '421 4.3.2 Too many messages' } },
  mimecast: { messages_per_connection: { max: 100, reply: '421 4.7.0 Too many messages' } },
  laposte: { rates: [{ of: 'messages', max: 60, reply: '450 4.7.1 Too many messages' }] },
  'yahoo-japan': {
    delays: { greeting_ms: 100, dot_ms: 400 },
    connections: { max: 2, reply: '421 4.7.0 Too many connections' },
    messages_per_connection: { max: 20, reply: '421 4.7.0 Too many messages' },
    rates: [{ of: 'messages', max: 600, reply: '421 4.7.0 Too many messages' }],
  },
  'own-server': {
    connections: { max: 20, reply: '421 4.7.0 Too many connections' },
    messages_per_connection: { max: 100, reply: '421 4.7.0 Too many messages' },
  },
};

/**
 * Builds the mix of `realistic` with Yahoo! JAPAN. A receiver has the limits that the program knows of, and refuses what exceeds them.
 * It neither greylists nor reports anything later, and no mailbox is full, because the test would wait for the next attempt.
 */
function buildProfile(): Profile {
  const { domains, providers } = loadProfile('realistic');
  const japan = { name: 'yahoo.co.jp', provider: 'yahoo-japan', share: 8, hosts: ['mx1.mail.yahoo.co.jp'] };
  const all: Profile['providers'] = { ...providers, [japan.provider]: {} };
  for (const [name, provider] of Object.entries(all)) {
    const { greylist: _1, full: _2, bounce_later: _3, complain_later: _4, block: _5, ...kept } = provider;
    const rates = kept.rates?.filter(({ of }) => of === 'connections') ?? [];
    const behaviour = { ...kept, rates, ...LISTED[name] };
    const delays = Object.entries(behaviour.delays ?? {}).map(([what, ms]) => [what, (ms as number) / FASTER]);
    all[name] = { ...behaviour, delays: Object.fromEntries(delays) };
  }
  return checkProfile('large broadcast', {
    summary: 'the providers of many readers',
    domains: [...domains, japan],
    providers: all,
  });
}

const send = (message: FromReceivers): void => void process.send?.(message);

const [readerCount, customerCount] = process.argv.slice(2).map(Number) as [number, number];
const internet = await startInternet({ profile: buildProfile() });
const { seen, receivers, domains } = internet;

/** Customers have mailboxes at the same domains as the readers, in the same shares. */
function listCustomers(): string[] {
  const behaviours = new Map(domains.map(({ name, receiver }) => [name, receiver.behaviour]));
  return internet
    .recipients(2 * customerCount)
    .map((address) => address.replace('reader', 'customer'))
    .filter((address) => decideFate(behaviours.get(address.split('@')[1] ?? '') ?? {}, address) === 'arrives')
    .slice(0, customerCount);
}

let [messages, refusals] = [0, 0];
/** Reports what is new whenever a receiver has seen something. */
function report(): false {
  const news = { messages: seen.messages.slice(messages), refusals: seen.refusals.slice(refusals) };
  [messages, refusals] = [seen.messages.length, seen.refusals.length];
  if (news.messages.length + news.refusals.length > 0) send({ kind: 'seen', ...news });
  return false;
}
void seen.until(report);

function readLimits(): SeenLimits[] {
  return receivers.map(({ name, provider: family, behaviour }) => {
    const selection = { provider: name };
    const rate = (of: 'messages' | 'connections'): number | undefined =>
      behaviour.rates?.find((one) => one.of === of)?.max;
    const perConnection = seen.messagesPerConnection(selection);
    return {
      receiver: name,
      family,
      accepted: perConnection.reduce((sum, count) => sum + count, 0),
      connections: { max: behaviour.connections?.max, seen: seen.maxConnections(selection) },
      perConnection: {
        max: behaviour.messages_per_connection?.max,
        seen: perConnection.reduce((most, count) => Math.max(most, count), 0),
      },
      messagesPerMinute: { max: rate('messages'), seen: seen.maxAttemptsPerMinute(selection) },
      connectionsPerMinute: { max: rate('connections'), seen: seen.maxConnectionsPerMinute(selection) },
    };
  });
}

process.on('message', () => send({ kind: 'limits', limits: readLimits() }));
process.on('disconnect', () => process.exit(0));
send({
  kind: 'started',
  smtpPort: internet.smtpPort,
  records: internet.records,
  readers: internet.recipients(readerCount),
  customers: listCustomers(),
});
