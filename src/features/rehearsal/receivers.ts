import { createHash } from 'node:crypto';
import type { Behaviour, DomainData, Profile, Some } from './behaviour.ts';

/** A mailbox provider, or one small mail server, with the addresses at which it listens. */
export interface Receiver {
  name: string;
  /** The provider in the profile whose behaviour it has. */
  provider: string;
  behaviour: Behaviour;
  hosts: Host[];
  domains: Set<string>;
}

export interface Host {
  name: string;
  address: string;
}

export interface RehearsedDomain {
  name: string;
  receiver: Receiver;
  hosts: Host[];
  data: DomainData;
  /** Its part of all recipients. */
  share: number;
}

const RECEIVERS_MAX = 2000;

/** Turns a profile into receivers with addresses in 127.64.0.0/10, which only this machine reaches. */
export function createReceivers(profile: Profile): { receivers: Receiver[]; domains: RehearsedDomain[] } {
  const receivers = new Map<string, Receiver>();
  const domains = new Map<string, RehearsedDomain>();
  const find = (name: string, provider: string): Receiver => {
    const known = receivers.get(name);
    if (known) return known;
    if (receivers.size === RECEIVERS_MAX) throw new Error(`a rehearsal has at most ${RECEIVERS_MAX} receivers`);
    const behaviour = { ...profile.providers[provider] };
    const made: Receiver = { name, provider, behaviour, hosts: [], domains: new Set() };
    receivers.set(name, made);
    return made;
  };
  for (const data of profile.domains) {
    const count = data.count ?? 1;
    for (let n = 1; n <= count; n += 1) {
      const named = (text: string): string => text.replaceAll('{n}', String(n)).toLowerCase();
      const name = named(data.name);
      const receiver = find(data.separate ? name : data.provider, data.provider);
      const order = [...receivers.keys()].indexOf(receiver.name);
      const addresses = profile.providers[data.provider]?.addresses ?? Infinity;
      const names = data.hosts ?? profile.providers[data.provider]?.hosts ?? [];
      const hosts = names.map((host) => keepHost(receiver, named(host), { order, addresses }));
      receiver.domains.add(name);
      domains.set(name, { name, receiver, hosts, data, share: data.share / count });
    }
  }
  return { receivers: [...receivers.values()], domains: [...domains.values()] };
}

function keepHost(receiver: Receiver, name: string, { order, addresses }: { order: number; addresses: number }): Host {
  const known = receiver.hosts.find((host) => host.name === name);
  if (known) return known;
  const place = receiver.hosts.length % Math.min(addresses, 250);
  const host = { name, address: `127.${64 + (order >> 8)}.${order & 0xff}.${place + 1}` };
  receiver.hosts.push(host);
  return host;
}

/** The fraction of the golden ratio: its multiples are spread evenly, so that any beginning has the shares of the whole. */
const STEP = (Math.sqrt(5) - 1) / 2;

/** Returns that many different addresses, spread over the domains by their shares; always the same ones. */
export function listRecipients(domains: readonly RehearsedDomain[], count: number): string[] {
  const total = domains.reduce((sum, { share }) => sum + share, 0);
  const numbers = new Map<string, number>();
  return Array.from({ length: count }, (_, at) => {
    let place = ((at + 1) * STEP) % 1;
    const domain = domains.find(({ share }) => (place -= share / total) < 0) ?? domains.at(-1);
    const name = domain?.name ?? '';
    const number = (numbers.get(name) ?? 0) + 1;
    numbers.set(name, number);
    return `reader${number}@${name}`;
  });
}

const FATES = [
  ['unknown', 'unknown'],
  ['full', 'full'],
  ['bounces', 'bounce_later'],
  ['complains', 'complain_later'],
] as const;

/** The fate of mail for an address: it is refused because the address is unknown or full, or it is reported later. */
export type Fate = (typeof FATES)[number][0] | 'arrives';

/** Decides about an address, always in the same way: by its local part if that is named, and otherwise by shares. */
export function decideFate(behaviour: Behaviour, address: string): Fate {
  const lower = address.toLowerCase();
  const named = FATES.find(([, key]) => isNamed(lower, behaviour[key]));
  if (named) return named[0];
  return FATES.find(([fate, key]) => isInShare(fate, lower, behaviour[key]))?.[0] ?? 'arrives';
}

function isNamed(address: string, some: Some | undefined): boolean {
  const local = address.slice(0, address.lastIndexOf('@'));
  const holds = (part: string): boolean => (part.endsWith('*') ? local.startsWith(part.slice(0, -1)) : local === part);
  return some?.local_parts?.some((part) => holds(part.toLowerCase())) === true;
}

/** `fate` makes the decisions about one address independent of each other. */
function isInShare(fate: Fate, address: string, some: Some | undefined): boolean {
  if (!some?.share) return false;
  return createHash('sha256').update(`${fate} ${address}`).digest().readUInt32BE(0) / 2 ** 32 < some.share;
}
