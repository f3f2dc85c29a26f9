import { caaOf } from './caa-rules.ts';
import { isDmarc, tagOf } from './dmarc-rules.ts';
import { misplacements, parents } from './further-questions.ts';
import { judgeAnswer } from './judge.ts';
import { questionKey, type Answer, type AskedType, type Observations, type Wanted } from './observations.ts';
import { listed, shownTime, textOf } from './shown.ts';

/** Where a record is that is not where it should be. */
export function explainAbsence(wanted: Wanted, seen: Observations, answer: Answer): string {
  return (
    misplaced(wanted, seen) ??
    replaced(wanted, seen) ??
    inherited(wanted, seen) ??
    unregistered(wanted, seen, answer) ??
    unpublished(wanted, seen, answer)
  );
}

const answerTo = (seen: Observations, name: string, type: AskedType): Answer | undefined =>
  seen.further?.get(questionKey({ name, type }));

function misplaced(wanted: Wanted, seen: Observations): string | undefined {
  const zone = seen.zone?.name;
  if (zone === undefined) return undefined;
  const place = misplacements(wanted, zone).find(({ name }) => {
    const answer = answerTo(seen, name, wanted.type);
    // Somebody else's record of the same sort stands where it belongs.
    const isOwn = seen.siblings?.some((sibling) => sibling.wanted.name === name && sibling.wanted.type === wanted.type);
    return answer !== undefined && !isOwn && judgeAnswer(wanted, answer).verdict === 'right';
  });
  return place && `The ${wanted.type} record stands at ${place.name} instead of ${wanted.name}: ${place.how}.`;
}

/** A CNAME that a proxy or the DNS host answers itself, or that was entered as an address. */
function replaced(wanted: Wanted, seen: Observations): string | undefined {
  if (wanted.type !== 'CNAME') return undefined;
  const answer = answerTo(seen, wanted.name, 'A');
  if (answer?.kind !== 'found') return undefined;
  if (answer.records.some(isProxied)) {
    return `${wanted.name} answers with addresses of a proxy (${listed(answer.records, 2)}) instead of its CNAME record; switch the proxy off for this record ("DNS only").`;
  }
  return `${wanted.name} has an A record (${listed(answer.records, 2)}) where a CNAME record to ${wanted.value} is asked for; replace it.`;
}

/** Cloudflare's addresses, as it publishes them: the one large DNS host that proxies records by default. */
const isProxied = (address: string): boolean => {
  const [a = 0, b = 0, c = 0] = address.split('.').map(Number);
  return (
    (a === 104 && b >= 16 && b <= 27) ||
    (a === 172 && b >= 64 && b <= 71) ||
    (a === 188 && b === 114 && c >= 96 && c <= 111) ||
    (a === 162 && (b === 158 || b === 159)) ||
    (a === 141 && b === 101 && c >= 64 && c <= 127)
  );
};

/** RFC 7489 §6.6.3: without a record of its own, a domain has the policy of the one above. */
function inherited(wanted: Wanted, seen: Observations): string | undefined {
  if (wanted.record !== 'DMARC') return undefined;
  for (const parent of parents(wanted.domain)) {
    const answer = answerTo(seen, `_dmarc.${parent}`, 'TXT');
    const policy = answer?.kind === 'found' ? answer.records.map(textOf).find(isDmarc) : undefined;
    if (policy === undefined) continue;
    const p = tagOf(policy, 'sp') ?? tagOf(policy, 'p') ?? 'none';
    return `${wanted.domain} has no DMARC record of its own, so the policy of _dmarc.${parent} holds for it: p=${listed([p])}.`;
  }
  return undefined;
}

function unregistered(wanted: Wanted, seen: Observations, answer: Answer): string | undefined {
  const zone = seen.zone?.name;
  if (answer.kind !== 'none' || answer.why !== 'nxdomain' || zone === undefined) return undefined;
  if (zone.includes('.') || zone === wanted.domain) return undefined;
  const name = wanted.domain.split('.').slice(-2).join('.');
  return `${name} does not exist: the zone ${zone} does not know it, so it is not registered, or no name servers are set at its registrar.`;
}

function unpublished(wanted: Wanted, seen: Observations, answer: Answer): string {
  const servers = seen.zone?.servers.filter(({ state }) => state === 'answers').map(({ host }) => host) ?? [];
  const who = servers.length === 0 ? '' : ` on ${listed(servers)}`;
  const nothing = answer.kind === 'none' && answer.why === 'nodata' ? '; the name has other records' : '';
  if (wanted.record === 'TrackingCAA') {
    return `There is no CAA record at ${wanted.name}${who} that lets ${caaOf(wanted.value).value} issue certificates; publish the record shown.`;
  }
  const ttl = seen.resolver?.kind === 'none' ? seen.resolver.ttlSeconds : undefined;
  const memory =
    ttl === undefined ? '' : `, which our resolver may not notice before ${shownTime(seen.nowMs + ttl * 1000)}`;
  return `There is no such ${wanted.type} record at ${wanted.name}${who}${nothing}; publish the record shown${memory}.`;
}
