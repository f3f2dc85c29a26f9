import { stopwatch } from '../../../../platform/clock.ts';
import { readGreeting, mayConnect, type Greeting } from '../../../../platform/probe.ts';
import { buildFinding } from '../../../../platform/finding.ts';
import {
  listDirectSenders,
  isIPv6,
  isReachable,
  nothingSeen,
  skipped,
  findNoSendingReason,
  type Check,
  type OutsideCheck,
} from '../check.ts';

interface Tried {
  domain: string;
  greeting: Greeting | { kind: 'unknown'; why: string };
  /** Returns how long ago the greeting was complete; absent without one. */
  elapsedMs?: () => number;
}

const greeted = new WeakMap<OutsideCheck, Promise<Tried[]>>();

/** Greets the mail servers of the settings; the checks of one examination share the greetings. */
export function greetMailServers(examination: OutsideCheck): Promise<Tried[]> {
  const known = greeted.get(examination);
  if (known) return known;
  const { mail_servers: domains } = examination.world.config.doctor;
  const asked = Promise.all(domains.map((domain) => tryDomain(examination, domain)));
  greeted.set(examination, asked);
  return asked;
}

/**
 * Greets the mail servers of large domains. If none can be reached, that proves a block only if other connections
 * succeed: without a network, everything is blocked alike.
 */
export async function examinePort25(examination: OutsideCheck): ReturnType<Check> {
  const { world } = examination;
  const why = findNoSendingReason(world);
  if (why !== undefined) return skipped(why);
  if (listDirectSenders(world).every(({ isProxied }) => isProxied)) return skipped('All mail leaves through proxies');
  if (world.config.doctor.mail_servers.length === 0) return skipped('doctor.mail_servers is empty');
  const tried = await greetMailServers(examination);
  const seen = nothingSeen();
  const answering = tried.filter(({ greeting }) => greeting.kind === 'greeted' && greeting.line.startsWith('220'));
  if (answering.length > 0) {
    seen.says.push(`Mail servers answer: ${answering.map(({ domain }) => domain).join(', ')}`);
    return seen;
  }
  const asked = tried.filter(({ greeting }) => greeting.kind !== 'unknown');
  const isBlocked = asked.length > 0 && asked.every(({ greeting }) => greeting.kind === 'failed');
  if (isBlocked && (await leadsOut(examination))) {
    const places = asked.map(({ domain, greeting }) => `${domain}: ${inWords(greeting)}`).join(', ');
    const port = world.config.delivery.smtp_port;
    const summary = `No mail server can be reached at port ${port} (${places}), although other outgoing connections work.`;
    seen.findings.push(buildFinding('port25_blocked', { summary, subjects: asked.map(({ domain }) => domain) }));
    return seen;
  }
  const what = tried.map(({ domain, greeting }) => `${domain}: ${inWords(greeting)}`).join(', ');
  const rest = isBlocked ? '; no other outgoing connection works either' : '';
  seen.unknown.push({ says: `whether outgoing port ${world.config.delivery.smtp_port} is open (${what}${rest})` });
  return seen;
}

function inWords(greeting: Tried['greeting']): string {
  switch (greeting.kind) {
    case 'greeted':
      return `it greets with ${JSON.stringify(greeting.line)}`;
    case 'silent':
      return 'connected, but no greeting';
    case 'failed':
      return greeting.code;
    case 'unknown':
      return greeting.why;
  }
}

/** Number of servers per domain that are tried: the first address of each family of its best two. */
const HOSTS_MAX = 2;

async function tryDomain(examination: OutsideCheck, domain: string): Promise<Tried> {
  const found = await examination.ask(domain, 'MX');
  if (found.kind !== 'found') {
    const why = found.kind === 'failed' ? found.reason : 'no mail server in DNS';
    return { domain, greeting: { kind: 'unknown', why } };
  }
  const hosts = found.records
    .map((record) => record.split(' '))
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([, host = '']) => host)
    .slice(0, HOSTS_MAX);
  const addresses = (await Promise.all(hosts.map((host) => lookUpAddresses(examination, host)))).flat();
  if (addresses.length === 0) return { domain, greeting: { kind: 'unknown', why: 'its mail servers have no address' } };
  const greetings = await Promise.all(
    addresses.map(async (address) => {
      const greeting = await greet(examination, address);
      return { ...greeting, elapsedMs: stopwatch() };
    }),
  );
  const rank = (greeting: Greeting): number => ['greeted', 'silent', 'failed'].indexOf(greeting.kind);
  const [best] = greetings.toSorted((a, b) => rank(a) - rank(b));
  if (!best) return { domain, greeting: { kind: 'failed', code: 'unknown' } };
  const { elapsedMs, ...greeting } = best;
  return { domain, greeting, elapsedMs };
}

async function lookUpAddresses(examination: OutsideCheck, host: string): Promise<string[]> {
  const isAllowed = isReachable(examination);
  const answers = await Promise.all([examination.ask(host, 'A'), examination.ask(host, 'AAAA')]);
  return answers.flatMap((answer) => (answer.kind === 'found' ? answer.records.filter(isAllowed).slice(0, 1) : []));
}

/** Connects from the address of the first region or source that sends from this machine. */
function greet({ world, signal }: OutsideCheck, address: string): Promise<Greeting> {
  const sender = listDirectSenders(world).find(({ isProxied }) => !isProxied);
  const from = (isIPv6(address) ? sender?.v6 : sender?.v4) ?? '';
  const port = world.config.delivery.smtp_port;
  // Uses half of the time, so that other connections can be tried afterwards.
  const soon = AbortSignal.any([signal, AbortSignal.timeout((world.config.doctor.seconds * 1000) / 2)]);
  return readGreeting({ address, port, from: from === '' ? undefined : from }, soon);
}

/**
 * Reports whether any connection to another port can be made: to servers that the settings name anyway, or to the web
 * servers of those domains.
 */
async function leadsOut(examination: OutsideCheck): Promise<boolean> {
  const { clock_source: clock, mail_servers: domains } = examination.world.config.doctor;
  const named = [clock, examination.world.config.acme.directory].filter((url) => /^https?:/.test(url));
  const urls = [...named, ...domains.map((domain) => `https://${domain}/`)].map((url) => new URL(url));
  const tries = urls.map(async ({ hostname, port, protocol }) => {
    const host = hostname.replace(/^\[|\]$/g, '');
    const isAddress = host.includes(':') || /^[\d.]+$/.test(host);
    const addresses = isAddress ? [host] : await lookUpAddresses(examination, host);
    const number = port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port);
    const made = addresses.map((address) => mayConnect({ address, port: number }, examination.signal));
    // One connection that succeeds is enough: silent servers are not waited for.
    if (!(await anySucceeds(made))) throw new Error('no connection succeeded');
  });
  return Promise.any(tries).then(
    () => true,
    () => false,
  );
}

const anySucceeds = (tries: readonly Promise<boolean>[]): Promise<boolean> =>
  Promise.any(
    tries.map(async (one) => {
      if (!(await one)) throw new Error('the connection failed');
    }),
  ).then(
    () => true,
    () => false,
  );
