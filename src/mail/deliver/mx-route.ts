import type { AddressGuard } from '../../platform/network/index.ts';
import type { Lookup, MxRecord, Resolver, SecureLookup } from '../../platform/resolver/index.ts';
import type { Family, JobOutcome } from './delivery-job.ts';
import { ownBounce } from './delivery-job.ts';
import type { Relay } from './relay.ts';
import type { HostDemand, HostTls } from './tls-policy.ts';

export interface Target {
  host: string;
  address: string;
  port: number;
  /** One of our own names, which stands for this machine or another node. */
  isHome?: true;
  /** The demands that the policies of the recipient's domain make of the host. */
  demand?: HostDemand;
}

export type Route = { kind: 'route'; targets: Target[] } | JobOutcome;

export interface ExchangerOptions {
  /** Looks up the mail servers; a resolver that validates says whether DNSSEC proves them. */
  findMx: (domain: string) => Promise<Lookup<MxRecord[]> | SecureLookup<MxRecord[]>>;
  /** The resolver of dns.dnssec_resolver, if it is the one that is asked. */
  resolverName?: string | undefined;
  /** Our own names: mail sent to one of them would loop, unless we take the domain's mail. */
  ownHostNames: string[];
  /** Other names under which we are a mail exchanger; they may stand for addresses in our own network. */
  ownExchangers?: string[];
  /** Whether this installation takes the domain's mail itself, for one of its teams or for a return path. */
  takesMailFor: (domain: string) => Promise<boolean>;
}

export interface RoutePlanOptions extends Pick<ExchangerOptions, 'ownHostNames' | 'ownExchangers'> {
  resolver: Resolver;
  guard: AddressGuard;
  random: () => number;
  smtpPort: number;
  /** false leaves that family out, for an egress that has no source address in it. */
  families?: { v4: boolean; v6: boolean };
  /** The family whose addresses come first at each host; IPv4 unless given. */
  first?: Family;
  /** Says what the policies of the recipient's domain demand of a host. */
  judgeHost?: (host: string) => HostTls;
}

const HOSTS_MAX = 10;
const ADDRESSES_PER_HOST_MAX = 4;
const TARGETS_MAX = 20;

/** The mail servers of a domain, before their addresses are looked up. */
export interface Exchangers {
  kind: 'exchangers';
  /** The best come first; those of equal preference are shuffled for each connection. */
  records: MxRecord[];
  /** Name of the set: domains with the same mail servers have the same. */
  name: string;
  /** The set with the order in which its servers are tried; domains with another order have other routes. */
  order: string;
  /** We receive the mail of the domain ourselves: our own names may stand for private addresses. */
  isOurs: boolean;
  /** DNSSEC proves that these are the mail servers of the domain. */
  isSecure: boolean;
  /** The name that the domain is an alias of. */
  canonicalName?: string | undefined;
}

/** Returns the mail servers of a domain (RFC 5321 §5.1). */
export async function findExchangers(domain: string, options: ExchangerOptions): Promise<Exchangers | JobOutcome> {
  if (isLiteral(domain)) return toExchangers([{ host: domain, preference: 0 }]);
  const answer = await options.findMx(domain);
  if (answer.kind === 'failed') return lookUpFailure(`MX look-up of ${domain}`, answer.reason, options.resolverName);
  const secured = 'isSecure' in answer ? answer : { isSecure: false };
  if (answer.kind === 'none' && answer.why === 'nxdomain') {
    return ownBounce('no_such_domain', 550, '5.1.2', `The domain ${domain} does not exist`);
  }
  // RFC 5321 §5.1: without any MX record, the domain itself is its only exchanger. With one, its address never counts.
  if (answer.kind === 'none') {
    const itself = [{ host: domain, preference: 0 }];
    if (!options.ownHostNames.includes(domain)) return toExchangers(itself, secured);
    return findHome(domain, itself, options, () => loop(domain));
  }
  const named = answer.records.filter((mx) => mx.host !== '');
  const all = named.filter(({ host }) => HOST_NAME.test(host));
  if (named.length > 0 && all.length === 0)
    return ownBounce('no_route', 550, '5.4.4', `No mail exchanger of the domain ${domain} has a valid name`);
  if (all.length === 0) {
    return ownBounce('takes_no_mail', 556, '5.1.10', `The domain ${domain} does not accept mail (null MX)`);
  }
  const home = homeNames(options);
  if (!all.some((mx) => home.includes(mx.host))) return toExchangers(all, secured);
  return findHome(domain, all, options, () => {
    if (!all.some((mx) => options.ownHostNames.includes(mx.host))) return toExchangers(all, secured);
    const others = withoutOurselves(all, options.ownHostNames);
    return others.length === 0 ? loop(domain) : toExchangers(others, secured);
  });
}

const isLiteral = (domain: string): boolean => /^\[.*\]$/.test(domain);

/** Hosts that name a set of mail servers; no more are ever tried. */
const NAMED_HOSTS_MAX = 20;

function toExchangers(
  records: MxRecord[],
  { isOurs = false, isSecure = false, canonicalName }: Partial<Omit<Exchangers, 'kind'>> = {},
): Exchangers {
  const best = records
    .toSorted((a, b) => a.preference - b.preference || (a.host < b.host ? -1 : 1))
    .slice(0, NAMED_HOSTS_MAX);
  const hosts = [...new Set(best.map(({ host }) => host))].sort();
  // Only the order of preferences matters, not their numbers.
  const ranks = [...new Set(best.map(({ preference }) => preference))];
  const order = best.map(({ host, preference }) => `${ranks.indexOf(preference)} ${host}`).join(' ');
  return { kind: 'exchangers', records: best, name: hosts.join(' '), order, isOurs, isSecure, canonicalName };
}

/** A name that a mail server can have: others would be taken for several names, or for a provider. */
const HOST_NAME = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)+$/i;

/** Returns the exchangers if we are among them: all of them if we receive the domain's mail, `elsewhere` if not. */
async function findHome(
  domain: string,
  records: MxRecord[],
  options: ExchangerOptions,
  elsewhere: () => Exchangers | JobOutcome,
): Promise<Exchangers | JobOutcome> {
  let isOurs: boolean;
  try {
    isOurs = await options.takesMailFor(domain);
  } catch {
    // The next attempt asks again; the database's own error is only for the log.
    return {
      kind: 'deferred',
      reason: 'unreachable',
      detail: `it cannot be determined at present whether this server receives mail for ${domain}`,
    };
  }
  return isOurs ? toExchangers(records, { isOurs: true }) : elsewhere();
}

/** Returns the addresses of mail servers, best host first. */
export async function planRoute({ records, isOurs }: Exchangers, options: RoutePlanOptions): Promise<Route> {
  const [first] = records;
  if (first && isLiteral(first.host)) return literalRoute(first.host, options);
  const hosts = shuffleEqual(records, options.random).slice(0, HOSTS_MAX);
  // Behind NAT, our own name may stand for a private address.
  return resolveTargets(hosts, isOurs ? { ...options, unguarded: homeNames(options) } : options);
}

const homeNames = ({
  ownHostNames,
  ownExchangers = [],
}: Pick<ExchangerOptions, 'ownHostNames' | 'ownExchangers'>): string[] => [...ownHostNames, ...ownExchangers];

/** The route through a relay that the operator chose: its addresses are not guarded. */
export async function planRelay(
  { name, host, port }: Pick<Relay, 'name' | 'host' | 'port'>,
  options: Pick<RoutePlanOptions, 'resolver' | 'families' | 'first'>,
): Promise<Route> {
  const route = await resolveTargets([host], { ...options, guard: () => true, smtpPort: port });
  // A relay without an address is the operator's fault, and no recipient's.
  if (route.kind !== 'bounced') return route;
  return {
    kind: 'deferred',
    reason: 'relay_misconfigured',
    detail: `The relay ${name}: ${host} has no address in DNS`,
  };
}

function literalRoute(domain: string, options: RoutePlanOptions): Route {
  const address = domain.slice(1, -1).replace(/^ipv6:/i, '');
  if (!options.guard(address)) return blocked([domain], [address]);
  return { kind: 'route', targets: [{ host: domain, address, port: options.smtpPort }] };
}

function loop(domain: string): JobOutcome {
  const detail = `The best mail exchanger of ${domain} is this host: mail would loop`;
  return ownBounce('routing_loop', 554, '5.4.6', detail);
}

/** Sorts by preference; equal records are shuffled so that their load is shared (RFC 5321 §5.1). */
function shuffleEqual(records: MxRecord[], random: () => number): string[] {
  const lots = records.map((mx) => ({ mx, lot: random() }));
  lots.sort((a, b) => a.mx.preference - b.mx.preference || a.lot - b.lot);
  return [...new Set(lots.map(({ mx }) => mx.host))];
}

/** RFC 5321 §5.1: a host that finds itself among the exchangers drops itself and all that are not better. */
function withoutOurselves(records: MxRecord[], ownHostNames: string[]): MxRecord[] {
  const own = Math.min(...records.filter((mx) => ownHostNames.includes(mx.host)).map((mx) => mx.preference));
  return records.filter((mx) => mx.preference < own);
}

type TargetOptions = Pick<RoutePlanOptions, 'resolver' | 'guard' | 'smtpPort' | 'families' | 'first' | 'judgeHost'> & {
  /** Hosts that the operator has named, whose addresses are not guarded. */
  unguarded?: readonly string[];
};

async function resolveTargets(all: string[], options: TargetOptions): Promise<Route> {
  const rules = new Map(all.map((host) => [host, options.judgeHost?.(host)]));
  const hosts = all.filter((host) => rules.get(host)?.kind !== 'refused');
  if (hosts.length === 0) return forbidden([...rules.values()]);
  const answers = await Promise.all(hosts.map((host) => options.resolver.addresses(host)));
  const targets: Target[] = [];
  const refused: string[] = [];
  for (const [index, host] of hosts.entries()) {
    const answer = answers[index];
    if (answer?.kind !== 'found') continue;
    const v6 = options.families?.v6 === false ? [] : answer.records.v6;
    const v4 = options.families?.v4 === false ? [] : answer.records.v4;
    const addresses = options.first === 'v6' ? interleave(v6, v4) : interleave(v4, v6);
    const home = options.unguarded?.includes(host) ? { isHome: true as const } : undefined;
    const mayReach = home ? () => true : options.guard;
    refused.push(...addresses.filter((address) => !mayReach(address)));
    const open = addresses.filter(mayReach).slice(0, ADDRESSES_PER_HOST_MAX);
    const rule = rules.get(host);
    const demand = rule?.kind === 'demand' ? { demand: rule.demand } : undefined;
    targets.push(...open.map((address) => ({ host, address, port: options.smtpPort, ...home, ...demand })));
  }
  if (targets.length > 0) return { kind: 'route', targets: targets.slice(0, TARGETS_MAX) };
  for (const [index, host] of hosts.entries()) {
    const answer = answers[index];
    if (answer?.kind === 'failed') return lookUpFailure(`address look-up of ${host}`, answer.reason);
  }
  if (refused.length > 0) return blocked(hosts, refused);
  return ownBounce('no_route', 550, '5.4.4', `No mail exchanger of the domain has an address (${hosts.join(', ')})`);
}

/** No mail server may get the mail. It is tried again, because policies and records change. */
function forbidden(rules: readonly (HostTls | undefined)[]): JobOutcome {
  const details = rules.flatMap((rule) => (rule?.kind === 'refused' ? [rule.detail] : []));
  return { kind: 'deferred', reason: 'tls_policy_unmet', detail: details.join('; ') };
}

function interleave(first: string[], second: string[]): string[] {
  const addresses: string[] = [];
  for (let index = 0; index < Math.max(first.length, second.length); index += 1) {
    for (const address of [first[index], second[index]]) if (address !== undefined) addresses.push(address);
  }
  return addresses;
}

function blocked(hosts: string[], addresses: string[]): JobOutcome {
  const named = `${hosts.slice(0, 4).join(', ')}: ${addresses.slice(0, 4).join(', ')}`;
  return ownBounce(
    'blocked_address',
    550,
    '5.4.4',
    `The mail exchangers of the domain have only addresses that are not on the public internet (${named})`,
  );
}

type LookUpFault = Extract<Lookup<unknown>, { kind: 'failed' }>['reason'];

/** Faults of our own resolver. The other codes report faults of the domain's name servers. */
const OF_OUR_RESOLVER: ReadonlySet<LookUpFault> = new Set(['unreachable', 'timeout', 'refused']);

function lookUpFailure(what: string, fault: LookUpFault, resolverName?: string): JobOutcome {
  const asked = resolverName === undefined ? '' : ` (from ${resolverName}, the resolver of dns.dnssec_resolver)`;
  const reason = OF_OUR_RESOLVER.has(fault) ? 'resolver_failure' : 'dns_failure';
  return { kind: 'deferred', reason, detail: `${what}: ${fault}${asked}` };
}
