import {
  createSecureResolver,
  findReverseDns,
  isSameAddress,
  systemServers,
} from '../../../../platform/resolver/index.ts';
import { buildFinding, KNOWN } from '../../../../platform/finding.ts';
import {
  nothingSeen,
  skipped,
  findNoSendingReason,
  listDirectSenders,
  listed,
  type Check,
  type Examination,
  type Seen,
} from '../check.ts';
import { ABSENT_POINT, PRESENT_POINT, readListing, reversed } from '../../../../protocol/dnsbl.ts';
import { stopwatch } from '../../../../platform/clock.ts';

const REASON_CHARS_MAX = 200;

interface Listed {
  address: string;
  zone: string;
  says: string;
}

/**
 * Checks whether each list works before its result is believed: many refuse public resolvers, some ended and list every
 * address, and a resolver may invent answers. One working list that has the address is enough for a finding.
 */
export const checkDnsbl: Check = async (examination) => {
  const why = findNoSendingReason(examination.world);
  if (why !== undefined) return skipped(why);
  const { dnsbl_zones: zones } = examination.world.config.doctor;
  if (zones.length === 0) return skipped('doctor.dnsbl_zones is empty');
  const { addresses, unknown } = examination.own;
  const seen = nothingSeen();
  if (unknown !== undefined) seen.unknown.push({ says: unknown });
  const results = await Promise.all(zones.map((zone) => askZone(examination, zone, seen)));
  const found = results.flatMap(({ listed: entries }) => entries);
  seen.examined = [...new Set(results.flatMap(({ answered }) => answered))].sort();
  if (found.length > 0) {
    const summary = `${found.map(({ address, zone, says }) => `${address} is on ${zone}${says}`).join('; ')}.`;
    const subjects = found.map(formatSubject);
    const [first] = found;
    const words = `Find out what was sent and stop it, then ask for removal at ${first?.zone ?? 'the list'}. See the waiting mail`;
    const advice = { words, command: 'rasket queue' };
    seen.findings.push(buildFinding('address_listed', { summary, subjects, advice }));
  } else if (addresses.length > 0 && seen.unknown.length < zones.length * addresses.length) {
    seen.says.push(`${addresses.join(', ')}: not on any list that answers`);
  }
  return seen;
};

const formatSubject = ({ address, zone }: Pick<Listed, 'address' | 'zone'>): string => `${address} ${zone}`;

/** Asks a list about all addresses; returns those that it has, and those about which it answered. */
async function askZone(
  examination: Examination,
  zone: string,
  seen: Seen,
): Promise<{ listed: Listed[]; answered: string[] }> {
  const { addresses } = examination.own;
  const cannot = (address: string, says: string): void =>
    void seen.unknown.push({
      subject: formatSubject({ address, zone }),
      says: `whether ${address} is on ${zone}: ${says}`,
    });
  const fault = await faultOfZone(examination, zone);
  if (fault !== undefined) {
    for (const address of addresses) cannot(address, fault);
    return { listed: [], answered: [] };
  }
  const answered: string[] = [];
  const found = await Promise.all(
    addresses.map(async (address): Promise<Listed[]> => {
      const name = `${reversed(address)}.${zone}`;
      const answer = await examination.ask(name, 'A');
      if (answer.kind === 'none') {
        answered.push(address);
        return [];
      }
      if (answer.kind === 'failed') {
        cannot(address, answer.reason);
        return [];
      }
      const listing = readListing(answer.records);
      if (listing.kind === 'listed') {
        answered.push(address);
        return [{ address, zone, says: ` (${listing.codes.join(', ')}${await lookUpReason(examination, name)})` }];
      }
      cannot(
        address,
        listing.kind === 'refused' ? listing.why : `it answers ${listing.said}, which is not a valid answer of a list`,
      );
      return [];
    }),
  );
  return { listed: found.flat(), answered };
}

/** Tests a list by its two test entries (RFC 5782 §5). */
async function faultOfZone({ ask }: Examination, zone: string): Promise<string | undefined> {
  const [present, absent] = await Promise.all(
    [PRESENT_POINT, ABSENT_POINT].map((point) => ask(`${reversed(point)}.${zone}`, 'A')),
  );
  for (const answer of [present, absent]) {
    if (answer?.kind === 'failed') return `it does not answer (${answer.reason})`;
    const listing = answer?.kind === 'found' ? readListing(answer.records) : undefined;
    if (listing?.kind === 'refused') return listing.why;
    if (listing?.kind === 'odd')
      return `the resolver answers ${listing.said} for it, which is not a valid answer of a list`;
  }
  if (absent?.kind === 'found') return 'it lists every address';
  return present?.kind === 'found'
    ? undefined
    : 'it lacks its test entry: it was shut down, or does not answer this resolver';
}

/** Returns the explanation that the list publishes, usually a URL. */
async function lookUpReason({ ask }: Examination, name: string): Promise<string> {
  const answer = await ask(name, 'TXT');
  const text = answer.kind === 'found' ? (answer.records[0] ?? '') : '';
  const plain = text.replaceAll(/[^\x20-\x7e]/g, '').slice(0, REASON_CHARS_MAX);
  return plain === '' ? '' : `: ${plain}`;
}

/** Checks the resolver of all look-ups, and the one that validates DNSSEC for deliveries. */
export const checkResolver: Check = async (examination) => {
  if (examination.world.config.delivery.capture) return skipped('No mail leaves this machine (delivery.capture)');
  const [plain, secure] = await Promise.all([checkPlainResolver(examination), checkSecureResolver(examination)]);
  return {
    says: [...plain.says, ...secure.says],
    findings: [...plain.findings, ...secure.findings],
    unknown: [...plain.unknown, ...secure.unknown],
  };
};

/** Tests the resolver of dns.dnssec_resolver, which deliveries ask for the mail servers of all domains. */
async function checkSecureResolver({ world: { config, clock }, signal }: Examination): Promise<Seen> {
  const seen = nothingSeen();
  const { dnssec_resolver: server, timeout_ms: timeoutMs } = config.dns;
  if (server === '') return seen;
  const limitMs = (config.doctor.seconds * 1000) / 4;
  const resolver = createSecureResolver({
    server,
    timeoutMs: Math.min(timeoutMs, limitMs),
    tries: 1,
    now: () => clock.now(),
  });
  const close = (): void => resolver.close();
  signal.addEventListener('abort', close, { once: true });
  const result = await resolver.selfTest().finally(close);
  signal.removeEventListener('abort', close);
  const who = `The resolver of dns.dnssec_resolver (${server})`;
  if (result.kind === 'validates') seen.says.push(`${who} validates`);
  else if (result.kind === 'does_not_validate') seen.says.push(`${who} does not validate: ${result.detail}`);
  else if (result.kind === 'unanswered' && result.name === 'bogus') seen.says.push(`${who}: ${result.detail}`);
  else {
    const summary =
      result.kind === 'unanswered'
        ? `${who} does not answer: ${result.detail}. No mail can be delivered.`
        : `${who} rejects authentic answers: ${result.detail}. No mail to signed domains can be delivered.`;
    const { advice } = KNOWN.dnssec_resolver_failing;
    seen.findings.push(buildFinding('resolver_failing', { summary, subjects: [server], advice }));
  }
  return seen;
}

/** Asks for names that exist, measuring the time, and for one that cannot exist. */
async function checkPlainResolver(examination: Examination): Promise<Seen> {
  const { config, ids } = examination.world;
  const servers = config.dns.servers.length > 0 ? [...config.dns.servers] : systemServers();
  const who = `The resolver (${servers.join(', ') || 'none'})`;
  const names = [config.instance.host, ...config.doctor.mail_servers];
  const seen = nothingSeen();
  // RFC 6761 §6.4: nothing below .invalid exists.
  const [invented, ...answers] = await Promise.all([
    examination.ask(`rasket-${ids.uuid().slice(-12)}.invalid`, 'A'),
    ...names.map((name) => timed(examination, name)),
  ]);
  const times = answers.filter(({ isAnswer }) => isAnswer).map(({ ms }) => ms);
  if (times.length === 0) {
    const reasons = [...new Set(answers.map(({ reason }) => reason))].join(', ');
    const summary = `${who} does not answer (${reasons}): no mail can be delivered, and DNS cannot be checked.`;
    seen.findings.push(buildFinding('resolver_failing', { summary, subjects: servers }));
    return seen;
  }
  if (invented.kind === 'found') {
    const summary = `${who} answers ${invented.records[0] ?? ''} for a name that does not exist: mail to mistyped domains is sent there.`;
    seen.findings.push(buildFinding('resolver_failing', { summary, subjects: servers }));
  }
  const middle = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
  const took = `${Math.round(middle)} ms`;
  if (middle > config.doctor.resolver_ms) {
    const summary = `${who} takes ${took} to answer, and each delivery waits for several answers.`;
    seen.findings.push(buildFinding('resolver_slow', { summary, subjects: servers }));
  } else seen.says.push(`${who} answers in ${took}`);
  if (times.length < answers.length) {
    const silent = names.filter((_, at) => answers[at]?.isAnswer === false);
    seen.says.push(`No answer for: ${silent.join(', ')}`);
  }
  return seen;
}

async function timed({ ask }: Examination, name: string): Promise<{ isAnswer: boolean; ms: number; reason: string }> {
  const elapsedMs = stopwatch();
  const answer = await ask(name, 'MX');
  return { isAnswer: answer.kind !== 'failed', ms: elapsedMs(), reason: answer.kind === 'failed' ? answer.reason : '' };
}

/**
 * Checks that each EHLO name is in DNS; it should also resolve to an address that mail is sent from, and that of a source to
 * an address of this source.
 */
export const checkHelo: Check = async (examination) => {
  const { world } = examination;
  const why = findNoSendingReason(world);
  if (why !== undefined) return skipped(why);
  const said = new Map(
    listDirectSenders(world).map(({ source, heloName: name, v4, v6 }) => {
      const own = source === undefined ? undefined : [v4, v6].filter((address) => address !== '');
      return [`${name} ${own?.join(' ') ?? ''}`, { name, own }];
    }),
  );
  const seen = nothingSeen();
  const wrong: { name: string; says: string }[] = [];
  for (const [name, verdict] of await Promise.all(
    [...said.values()].map(async ({ name, own }) => [name, await checkName(examination, name, own)] as const),
  )) {
    if (verdict.kind === 'right') seen.says.push(verdict.says);
    else if (verdict.kind === 'unknown') seen.unknown.push({ subject: name, says: verdict.says });
    else wrong.push({ name, says: verdict.says });
  }
  if (wrong.length > 0) {
    const summary = `${wrong.map(({ says }) => says).join('; ')}.`;
    seen.findings.push(buildFinding('helo_name_wrong', { summary, subjects: wrong.map(({ name }) => name) }));
  }
  return seen;
};

/** Checks an EHLO name against the addresses of its source, or against all that mail is sent from. */
async function checkName({ ask, own, isResolverSane }: Examination, name: string, ofSource?: readonly string[]) {
  const mine = ofSource ?? own.addresses;
  const answers = await Promise.all([ask(name, 'A'), ask(name, 'AAAA')]);
  const addresses = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
  const failed = answers.find((answer) => answer.kind === 'failed');
  const unknown = (what: string) => ({ kind: 'unknown' as const, says: `where the EHLO name ${name} points: ${what}` });
  const leadsHere = mine.some((address) => addresses.some((one) => isSameAddress(one, address)));
  if (leadsHere) {
    const where = ofSource === undefined ? 'this machine' : listed(ofSource);
    return { kind: 'right' as const, says: `The EHLO name ${name} points to ${where}` };
  }
  if (failed?.kind === 'failed') return unknown(failed.reason);
  if (addresses.length === 0) {
    if (!(await isResolverSane())) return unknown('the resolver finds nothing at all');
    return { kind: 'wrong' as const, says: `The EHLO name ${name} has no address in DNS` };
  }
  if (ofSource?.length === 0) return unknown('the addresses of the proxy are unknown');
  if (ofSource === undefined && (own.addresses.length === 0 || own.unknown !== undefined))
    return unknown('the addresses of this machine are unknown');
  const there = `The EHLO name ${name} points to ${listed(addresses)}`;
  return { kind: 'wrong' as const, says: `${there}, but mail is sent from ${listed(mine)}` };
}

type Reverse =
  | { kind: 'confirmed'; name: string }
  | { kind: 'wrong'; says: string }
  | { kind: 'unknown'; says: string };

/** Checks that each address that mail is sent from has a name, and that one of its names resolves back to it. */
export const checkReverseDns: Check = async (examination) => {
  const why = findNoSendingReason(examination.world);
  if (why !== undefined) return skipped(why);
  const { addresses, unknown } = examination.own;
  const seen = nothingSeen();
  if (unknown !== undefined) seen.unknown.push({ says: unknown });
  const wrong: { address: string; says: string }[] = [];
  for (const [address, reverse] of await Promise.all(
    addresses.map(async (one) => [one, await checkAddress(examination, one)] as const),
  )) {
    if (reverse.kind === 'confirmed') seen.says.push(`${address} is ${reverse.name}, which resolves back to it`);
    else if (reverse.kind === 'unknown') seen.unknown.push({ subject: address, says: reverse.says });
    else wrong.push({ address, says: reverse.says });
  }
  if (wrong.length > 0) {
    const summary = `${wrong.map(({ says }) => says).join('; ')}.`;
    seen.findings.push(buildFinding('reverse_dns_wrong', { summary, subjects: wrong.map(({ address }) => address) }));
  }
  return seen;
};

async function checkAddress({ ask, isResolverSane }: Examination, address: string): Promise<Reverse> {
  const found = await findReverseDns(ask, address);
  switch (found.kind) {
    case 'confirmed':
      return found;
    case 'none':
      if (await isResolverSane()) return { kind: 'wrong', says: `${address} has no name in reverse DNS` };
      return { kind: 'unknown', says: `the name of ${address}: the resolver finds nothing at all` };
    case 'elsewhere':
      return {
        kind: 'wrong',
        says: `${address} is ${found.names.join(', ')} in reverse DNS, which does not resolve back to it`,
      };
    case 'unknown': {
      const what = found.names.length === 0 ? `the name of ${address}` : `where ${found.names.join(', ')} points`;
      return { kind: 'unknown', says: `${what}: ${found.reason}` };
    }
  }
}
