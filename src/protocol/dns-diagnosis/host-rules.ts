import type { Judgement, Observations, Wanted } from './observations.ts';
import { questionKey } from './observations.ts';
import { listed, shown } from './shown.ts';

export const isIpAddress = (text: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(text) || /^[0-9a-f:]*:[0-9a-f:.]*$/i.test(text);

export const sameHost = (a: string, b: string): boolean => plainHost(a) === plainHost(b);
const plainHost = (host: string): string => host.toLowerCase().replace(/\.$/, '');

interface Mx {
  preference: number;
  host: string;
}

export const mxOf = (record: string): Mx => {
  const [, preference = '0', host = ''] = /^(\d{1,5})\s+(.*)$/s.exec(record) ?? ['', '0', record];
  return { preference: Number(preference), host: plainHost(host) };
};

export function judgeMx(wanted: Wanted, records: readonly string[], seen: Partial<Observations>): Judgement {
  const found = records.map(mxOf);
  const ours = found.find(({ host }) => sameHost(host, wanted.value));
  if (ours) return beside(wanted, found, ours);
  const hosts = found.map(({ host }) => host);
  if (hosts.every((host) => host === '')) {
    return wrong(
      `The MX record at ${wanted.name} is a null MX (RFC 7505), which says that ${wanted.name} takes no mail; it must name ${wanted.value}.`,
    );
  }
  const fault = longer(wanted, hosts, 'MX record', seen) ?? address(wanted, hosts) ?? alias(wanted, hosts, seen);
  return wrong(
    fault ??
      `The MX record at ${wanted.name} names ${listed(hosts)}; it must name ${wanted.value} with priority ${wanted.priority ?? 10}.`,
  );
}

export function judgeCname(wanted: Wanted, targets: readonly string[], seen: Partial<Observations>): Judgement {
  if (targets.some((target) => sameHost(target, wanted.value))) return { verdict: 'right', sentence: null };
  const fault =
    longer(wanted, targets, 'CNAME record', seen) ??
    (targets.some((target) => /^https?\b|[:/]/i.test(target))
      ? `The CNAME record at ${wanted.name} points to a web address, ${listed(targets)}; it takes only the host name ${wanted.value}.`
      : undefined);
  return wrong(
    fault ?? `The CNAME record at ${wanted.name} points to ${listed(targets)}; it must point to ${wanted.value}.`,
  );
}

const wrong = (sentence: string): Judgement => ({ verdict: 'wrong', sentence });

/** Mail goes to the lowest number first (RFC 5321 §5.1). */
function beside(wanted: Wanted, found: readonly Mx[], ours: Mx): Judgement {
  const before = found.filter(({ host, preference }) => !sameHost(host, ours.host) && preference <= ours.preference);
  if (before.length === 0) return { verdict: 'right', sentence: null };
  const what = wanted.record === 'Receiving' ? 'mail' : 'its bounces';
  const others = listed(before.map(({ host, preference }) => `${host} (${preference})`));
  const us = shown(ours.host);
  const place = before.every(({ preference }) => preference === ours.preference)
    ? `has the same priority as ${us} (${ours.preference}), so ${what} may go there`
    : `comes before ${us} (${ours.preference}), so ${what} will go there`;
  const sentence = `At ${wanted.name}, ${others} ${place}; give ${us} the lowest number.`;
  return { verdict: wanted.record === 'Receiving' ? 'wrong' : 'right', sentence };
}

/** A name without its final dot is taken as relative by many panels. */
function longer(
  wanted: Wanted,
  hosts: readonly string[],
  what: string,
  seen: Partial<Observations>,
): string | undefined {
  const suffixes = [seen.zone?.name, wanted.domain, wanted.name].filter((name) => name !== undefined);
  const host = hosts.find((candidate) => suffixes.some((suffix) => sameHost(candidate, `${wanted.value}.${suffix}`)));
  if (host === undefined) return undefined;
  return `The DNS host appended the zone's name to the target of the ${what} at ${wanted.name}, which is now ${shown(host, 100)}; enter ${wanted.value}. with a dot at its end.`;
}

function address(wanted: Wanted, hosts: readonly string[]): string | undefined {
  const host = hosts.find(isIpAddress);
  if (host === undefined) return undefined;
  return `The MX record at ${wanted.name} names the address ${shown(host)}; an MX record names a host (RFC 1035 §3.3.9): ${wanted.value}.`;
}

function alias(wanted: Wanted, hosts: readonly string[], seen: Partial<Observations>): string | undefined {
  const host = hosts.find((candidate) => {
    const answer = seen.further?.get(questionKey({ name: candidate, type: 'CNAME' }));
    return answer?.kind === 'found' && answer.records.some((target) => sameHost(target, wanted.value));
  });
  if (host === undefined) return undefined;
  return `The MX record at ${wanted.name} names ${shown(host)}, which is an alias (CNAME) of ${wanted.value}; an MX record must name the host itself (RFC 2181 §10.3).`;
}
