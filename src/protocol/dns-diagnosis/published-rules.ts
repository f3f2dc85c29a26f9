import type { Answer, Judgement, Observations, ServerObservation, Wanted, ZoneObservation } from './observations.ts';
import { judgeAnswer } from './judge.ts';
import { listed, shownTime } from './shown.ts';

/** Why a record that its zone's name servers have is not seen, or not by everybody. */
export function explainUnseen(
  wanted: Wanted,
  seen: Observations,
  judged: readonly { server: ServerObservation; judgement: Judgement }[],
): string {
  const has = judged.filter(({ judgement }) => judgement.verdict === 'right').map(({ server }) => server.host);
  const hasNot = judged.filter(({ judgement }) => judgement.verdict !== 'right').map(({ server }) => server.host);
  if (hasNot.length > 0) {
    return `The name servers disagree: ${listed(has)} has the ${wanted.type} record at ${wanted.name} as asked for, ${listed(hasNot)} has not; wait until it has reached all of them, or mend the transfer between them.`;
  }
  const { resolver = seen.checked } = seen;
  if (judgeAnswer(wanted, resolver, seen).verdict === 'right') return publishedByNow(wanted);
  switch (resolver.kind) {
    case 'failed':
      return unresolvable(wanted, seen, resolver.reason);
    case 'none':
      return `The ${wanted.type} record at ${wanted.name} is published as asked for, and our resolver remembers until ${until(seen, resolver.ttlSeconds)} that it did not exist; nothing is left to do but wait.`;
    case 'found':
      return `The ${wanted.type} record at ${wanted.name} is published as asked for, and our resolver remembers what stood there before until ${until(seen, resolver.ttlSeconds)}; nothing is left to do but wait.`;
  }
}

export const publishedByNow = ({ type, name }: Wanted): string =>
  `The ${type} record at ${name} is published as asked for by now; verify the domain to have it looked up again.`;

const until = (seen: Observations, ttlSeconds: number | undefined): string =>
  ttlSeconds === undefined ? 'a time it does not tell' : shownTime(seen.nowMs + ttlSeconds * 1000);

function unresolvable(wanted: Wanted, seen: Observations, reason: string): string {
  const isLateOnly = (state: ServerObservation['state']): boolean => state === 'silent' && reason !== 'servfail';
  const bad = seen.zone?.servers.filter(({ state }) => state !== 'answers' && !isLateOnly(state)) ?? [];
  if (bad.length > 0)
    return `${explainServers(bad, seen.zone?.name ?? wanted.domain)}, so our resolver finds nothing although the record stands on the others; take ${bad.length === 1 ? 'it' : 'them'} out or mend ${bad.length === 1 ? 'it' : 'them'}.`;
  if (reason === 'servfail') {
    return `The ${wanted.type} record at ${wanted.name} is published as asked for, but our resolver refuses what the zone says (SERVFAIL): its DNSSEC signatures may not fit the DS record at the registrar.`;
  }
  return `The ${wanted.type} record at ${wanted.name} is published as asked for, but our resolver gave no answer (${reason}); it is asked again with the next check.`;
}

/** Why no server answers for a zone. */
export function explainSilence(wanted: Wanted, seen: Observations): string {
  const { zone, resolver = seen.checked } = seen;
  if (!zone || zone.servers.length === 0) {
    if (resolver.kind === 'failed') {
      return `Our resolver gave no answer about ${wanted.name} (${resolver.reason}), so nothing is known of the record now; it is asked again with the next check.`;
    }
    return resolver.kind === 'none'
      ? `No ${wanted.type} record was found at ${wanted.name}.`
      : `What stands at ${wanted.name} is not what was asked for.`;
  }
  if (zone.servers.every(({ state }) => state === 'private')) {
    return `The name servers of ${zone.name} (${hostsOf(zone.servers)}) have addresses that are not public, so nobody outside can look ${wanted.name} up.`;
  }
  if (zone.servers.some(({ state }) => state === 'silent') && !isFailing(resolver)) {
    return explainLateness(wanted, seen, zone);
  }
  return `${explainServers(zone.servers, zone.name)}, so nobody can look ${wanted.name} up; mend ${zone.servers.length === 1 ? 'it' : 'them'} or change the delegation at the registrar.`;
}

const isFailing = (answer: Answer): boolean => answer.kind === 'failed' && answer.reason === 'servfail';

/** Who had no answer ready while we waited is dead only if our resolver, which waits longer, cannot reach anybody either. */
function explainLateness(wanted: Wanted, { checked, resolver = checked }: Observations, zone: ZoneObservation): string {
  const known = resolver.kind === 'failed' && resolver.reason === 'timeout' ? checked : resolver;
  const servers = explainServers(zone.servers, zone.name, LATE);
  if (known.kind === 'failed') {
    return `${servers}, and our resolver gave no answer about ${wanted.name} either (${known.reason}); ask again in a minute.`;
  }
  const inside = `and ${servers.charAt(0).toLowerCase()}${servers.slice(1)}`;
  return known.kind === 'none'
    ? `Our resolver finds no ${wanted.type} record at ${wanted.name}, ${inside}; publish the record shown, and if it is published, ask again in a minute.`
    : `What our resolver finds at ${wanted.name} is not what was asked for, ${inside}; ask again in a minute.`;
}

const hostsOf = (servers: readonly ServerObservation[]): string => listed(servers.map(({ host }) => host));

const FAULTS = {
  silent: ['does not answer', 'do not answer'],
  garbled: ['answers what nobody can read', 'answer what nobody can read'],
  failing: ['answers with a failure of its own (SERVFAIL)', 'answer with a failure of their own (SERVFAIL)'],
  lame: ['does not know the zone (lame delegation)', 'do not know the zone (lame delegation)'],
  nameless: ['has no address', 'have no address'],
  private: ['has an address that is not public', 'have addresses that are not public'],
} as const;

const LATE = { ...FAULTS, silent: ['did not answer in time', 'did not answer in time'] } as const;

function explainServers(
  servers: readonly ServerObservation[],
  zone: string,
  faults: typeof FAULTS | typeof LATE = FAULTS,
): string {
  const groups = (Object.keys(FAULTS) as (keyof typeof FAULTS)[])
    .map((state) => ({ state, hosts: servers.filter((server) => server.state === state) }))
    .filter(({ hosts }) => hosts.length > 0)
    .map(({ state, hosts }) => `${hostsOf(hosts)} ${faults[state][hosts.length === 1 ? 0 : 1]}`);
  const [first = 'none', ...more] = groups;
  return `Of the name servers of ${zone}, ${[first, ...more].join('; ')}`;
}
