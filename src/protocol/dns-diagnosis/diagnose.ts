import { forbidsNothing, compareAnswer, parseCaa, parseMx } from './compare-records.ts';
import { findTag, isDmarc } from './policy-rules.ts';
import {
  questionKey,
  listed,
  shown,
  shownTime,
  decodeText,
  type Answer,
  type Comparison,
  type Observations,
  type Wanted,
  type AskedType,
  type ServerObservation,
  type ZoneObservation,
  type FurtherQuestion,
} from './observations.ts';

interface Misplacement {
  name: string;
  /** The end of a sentence: how the record got there, and what to do. */
  how: string;
}

const DNS_NAME_CHARS_MAX = 253;

/** Lists the names under which a record ends up if the panel or the person misunderstood its name. */
function misplacements(wanted: Wanted, zone: string): Misplacement[] {
  const { name, domain } = wanted;
  const isOwnName = name === domain;
  const label = isOwnName ? '' : name.slice(0, -domain.length - 1);
  const relative = name === zone ? '@' : name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name;
  const places: (Misplacement | false)[] = [
    { name: `${name}.${zone}`, how: `the DNS host appended ${zone} to the name; enter only ${relative} there` },
    { name: `${name}.${domain}`, how: `${domain} was appended to the name; enter only ${relative} there` },
    isOwnName && {
      name: `@.${zone}`,
      how: `this DNS host takes @ for a name; ${relative === '@' ? 'leave the name empty' : `enter ${relative} there`}`,
    },
    !isOwnName &&
      domain !== zone && {
        name: `${label}.${zone}`,
        how: `the name there must be ${relative}, because the zone is ${zone}`,
      },
    !isOwnName && { name: domain, how: `its name was left out; enter ${relative} as the name` },
    domain !== zone && { name: zone, how: `its name was left out; enter ${relative} as the name` },
    ...dkimPlaces(wanted, label, relative),
    wanted.record === 'DMARC' && { name: `dmarc.${domain}`, how: `its name lacks the underscore; enter ${relative}` },
  ];
  const seen = new Set([name]);
  return places.filter((place): place is Misplacement => {
    if (!place || seen.has(place.name) || isPolicyAbove(wanted, place.name) || place.name.length > DNS_NAME_CHARS_MAX)
      return false;
    seen.add(place.name);
    return true;
  });
}

/** A DMARC record at a parent domain is legitimate there. */
const isPolicyAbove = (wanted: Wanted, name: string): boolean =>
  wanted.record === 'DMARC' && parents(wanted.domain).some((parent) => name === `_dmarc.${parent}`);

function dkimPlaces(wanted: Wanted, label: string, relative: string): Misplacement[] {
  const [selector = '', marker] = label.split('.');
  if (wanted.record !== 'DKIM' || marker !== '_domainkey') return [];
  return [
    { name: `${selector}.domainkey.${wanted.domain}`, how: `its name lacks the underscore; enter ${relative}` },
    { name: `${selector}.${wanted.domain}`, how: `its name lacks _domainkey; enter ${relative}` },
    { name: `_domainkey.${wanted.domain}`, how: `its name lacks the selector; enter ${relative}` },
    { name: `default._domainkey.${wanted.domain}`, how: `that is the wrong selector; enter ${relative}` },
  ];
}

/** Returns a name that does not exist, so that only a wildcard record can match it. */
const probeName = (wanted: Wanted, word: string): string => `${word}.${wanted.name.split('.').slice(1).join('.')}`;

/**
 * Returns the queries to make in addition to the record itself once it is known to be wrong. Bounded: at most a dozen
 * questions, whatever the first answer was.
 */
export function furtherQuestions(wanted: Wanted, zone: string, answer: Answer, word: string): FurtherQuestion[] {
  const { type, name, domain } = wanted;
  const questions: FurtherQuestion[] = [{ name: probeName(wanted, word), type }];
  if (answer.kind !== 'found')
    questions.push(...misplacements(wanted, zone).map((place) => ({ name: place.name, type })));
  if (type === 'CNAME') questions.push({ name, type: 'A' });
  else questions.push({ name, type: 'CNAME' });
  if (type === 'MX' && answer.kind === 'found') {
    const hosts = answer.records
      .slice(0, 3)
      .map((record) => parseMx(record).host)
      .filter((host) => host.length > 1);
    questions.push(...hosts.map((host) => ({ name: host, type: 'CNAME' as const })));
  }
  if (wanted.record === 'DMARC')
    questions.push(...parents(domain).map((parent) => ({ name: `_dmarc.${parent}`, type })));
  const seen = new Set<string>();
  return questions
    .filter((question) => !seen.has(questionKey(question)) && seen.add(questionKey(question)))
    .slice(0, 14);
}

/** Returns the parents of a domain that contain a dot, at most three. */
export function parents(domain: string): string[] {
  const labels = domain.split('.');
  return labels
    .slice(1, -1)
    .map((_, at) => labels.slice(at + 1).join('.'))
    .slice(0, 3);
}

/** Explains why a record that its zone's name servers have is not visible, or not to everybody. */
function explainUnseen(
  wanted: Wanted,
  seen: Observations,
  judged: readonly { server: ServerObservation; judgement: Comparison }[],
): string {
  const has = judged.filter(({ judgement }) => judgement.verdict === 'right').map(({ server }) => server.host);
  const hasNot = judged.filter(({ judgement }) => judgement.verdict !== 'right').map(({ server }) => server.host);
  if (hasNot.length > 0) {
    return `The name servers disagree: ${listed(has)} has the ${wanted.type} record at ${wanted.name} as asked for, ${listed(hasNot)} has not; wait until it has reached all of them, or mend the transfer between them.`;
  }
  const { resolver = seen.checked } = seen;
  if (compareAnswer(wanted, resolver, seen).verdict === 'right') return publishedByNow(wanted);
  switch (resolver.kind) {
    case 'failed':
      return unresolvable(wanted, seen, resolver.reason);
    case 'none':
      return `The ${wanted.type} record at ${wanted.name} is published as asked for, and our resolver remembers until ${until(seen, resolver.ttlSeconds)} that it did not exist; nothing is left to do but wait.`;
    case 'found':
      return `The ${wanted.type} record at ${wanted.name} is published as asked for, and our resolver remembers what stood there before until ${until(seen, resolver.ttlSeconds)}; nothing is left to do but wait.`;
  }
}

const publishedByNow = ({ type, name }: Wanted): string =>
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

/** Explains why no name server of a zone responds. */
function explainSilence(wanted: Wanted, seen: Observations): string {
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
    return `The name servers of ${zone.name} (${formatHosts(zone.servers)}) have addresses that are not public, so nobody outside can look ${wanted.name} up.`;
  }
  if (zone.servers.some(({ state }) => state === 'silent') && !isFailing(resolver)) {
    return explainLateness(wanted, seen, zone);
  }
  return `${explainServers(zone.servers, zone.name)}, so nobody can look ${wanted.name} up; mend ${zone.servers.length === 1 ? 'it' : 'them'} or change the delegation at the registrar.`;
}

const isFailing = (answer: Answer): boolean => answer.kind === 'failed' && answer.reason === 'servfail';

/**
 * A server that did not respond while we waited counts as dead only if our resolver, which waits longer, cannot reach
 * any server either.
 */
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

const formatHosts = (servers: readonly ServerObservation[]): string => listed(servers.map(({ host }) => host));

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
    .map(({ state, hosts }) => `${formatHosts(hosts)} ${faults[state][hosts.length === 1 ? 0 : 1]}`);
  const [first = 'none', ...more] = groups;
  return `Of the name servers of ${zone}, ${[first, ...more].join('; ')}`;
}

/** Room for three long names. */
const SENTENCE_CHARS_MAX = 600;

/**
 * Describes the state of one record: the verdict is that of the check, and the sentence is the best explanation of all
 * observations. `word` is the label that the wildcard probe was sent with.
 */
export function diagnose(wanted: Wanted, seen: Observations, word = ''): Comparison {
  const checked = compareAnswer(wanted, seen.checked, seen);
  const sentence = checked.verdict === 'right' ? checked.sentence : explain(wanted, seen, word);
  return { verdict: checked.verdict, sentence: sentence === null ? null : shown(sentence, SENTENCE_CHARS_MAX) };
}

function explain(wanted: Wanted, seen: Observations, word: string): string {
  const judged = (seen.zone?.servers ?? []).flatMap((server) =>
    server.state === 'answers' && server.answer
      ? [{ server, answer: server.answer, judgement: compareAnswer(wanted, server.answer, seen) }]
      : [],
  );
  if (judged.some(({ judgement }) => judgement.verdict === 'right')) return explainUnseen(wanted, seen, judged);
  // A wrong answer of a name server matters more than a missing one.
  const said = judged.find(({ judgement }) => judgement.verdict === 'wrong') ?? judged[0];
  if (!said) return withoutAuthority(wanted, seen);
  if (wanted.type === 'CAA' && said.judgement.verdict === 'absent') return forbidsNothing(wanted);
  return (
    aliased(wanted, seen, said.answer, word) ??
    wildcard(wanted, seen, said.answer, word) ??
    (said.judgement.verdict === 'wrong' ? said.judgement.sentence : null) ??
    explainAbsence(wanted, seen, said.answer)
  );
}

/**
 * A resolver inside a network may know names that nobody outside does: its answer is only reported if the zone has a
 * name server that everybody can reach.
 */
function withoutAuthority(wanted: Wanted, seen: Observations): string {
  const isPublic = seen.zone?.servers.some(({ state }) => state !== 'private' && state !== 'nameless') ?? false;
  const { resolver = seen.checked } = seen;
  const judgement = compareAnswer(wanted, resolver, seen);
  if (isPublic && judgement.verdict === 'wrong' && judgement.sentence !== null && !hasAlias(resolver))
    return judgement.sentence;
  if (isPublic && judgement.verdict === 'right') return publishedByNow(wanted);
  return explainSilence(wanted, seen);
}

const hasAlias = (answer: Answer): boolean => answer.kind !== 'failed' && answer.aliases.length > 0;

/**
 * RFC 1034 §3.6.2: no other record can exist next to a CNAME. The records at its target are not quoted, because they
 * belong to somebody else.
 */
function aliased(wanted: Wanted, seen: Observations, answer: Answer, word: string): string | undefined {
  const further = seen.further?.get(questionKey({ name: wanted.name, type: 'CNAME' }));
  const own = answer.kind === 'failed' ? [] : answer.aliases;
  const target = own[0] ?? (further?.kind === 'found' && wanted.type !== 'CNAME' ? further.records[0] : undefined);
  if (target === undefined || wanted.type === 'CNAME') return undefined;
  const probe = probed(wanted, seen, word);
  const isWild = probe !== undefined && probe.kind !== 'failed' && probe.aliases[0] === target;
  if (isWild) {
    return `Nothing stands at ${wanted.name} itself: the wildcard ${toWildcard(wanted)} answers for it with an alias (CNAME) of ${shown(target, 100)}; publish the record shown, which goes before the wildcard.`;
  }
  return `${wanted.name} is an alias (CNAME) of ${shown(target, 100)}, and where a CNAME stands no ${wanted.type} record can (RFC 1034 §3.6.2); remove the CNAME record.`;
}

function wildcard(wanted: Wanted, seen: Observations, answer: Answer, word: string): string | undefined {
  const probe = probed(wanted, seen, word);
  if (answer.kind !== 'found' || probe?.kind !== 'found') return undefined;
  const sets = [answer, probe].map(({ records }) => [...records].sort().join('\n'));
  if (sets[0] !== sets[1]) return undefined;
  return `Nothing stands at ${wanted.name} itself: the wildcard ${toWildcard(wanted)} answers for it with ${listed(
    answer.records.map((record) => `"${shown(record, 40)}"`),
    2,
  )}; publish the record shown, which goes before the wildcard.`;
}

const toWildcard = (wanted: Wanted): string => `*.${wanted.name.split('.').slice(1).join('.')}`;

const probed = (wanted: Wanted, seen: Observations, word: string): Answer | undefined =>
  word === '' ? undefined : seen.further?.get(questionKey({ name: probeName(wanted, word), type: wanted.type }));

/** Explains where the missing record is instead. */
function explainAbsence(wanted: Wanted, seen: Observations, answer: Answer): string {
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
    // Another record of ours of the same type belongs at that name.
    const isOwn = seen.siblings?.some((sibling) => sibling.wanted.name === name && sibling.wanted.type === wanted.type);
    return answer !== undefined && !isOwn && compareAnswer(wanted, answer).verdict === 'right';
  });
  return place && `The ${wanted.type} record stands at ${place.name} instead of ${wanted.name}: ${place.how}.`;
}

/** Detects a CNAME that a proxy or the DNS host resolves itself, or that was entered as an address. */
function replaced(wanted: Wanted, seen: Observations): string | undefined {
  if (wanted.type !== 'CNAME') return undefined;
  const answer = answerTo(seen, wanted.name, 'A');
  if (answer?.kind !== 'found') return undefined;
  if (answer.records.some(isProxied)) {
    return `${wanted.name} answers with addresses of a proxy (${listed(answer.records, 2)}) instead of its CNAME record; switch the proxy off for this record ("DNS only").`;
  }
  return `${wanted.name} has an A record (${listed(answer.records, 2)}) where a CNAME record to ${wanted.value} is asked for; replace it.`;
}

/** Cloudflare's published addresses. It is the one large DNS host that proxies records by default. */
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

/** RFC 7489 §6.6.3: a domain without a record of its own inherits the policy of its parent. */
function inherited(wanted: Wanted, seen: Observations): string | undefined {
  if (wanted.record !== 'DMARC') return undefined;
  for (const parent of parents(wanted.domain)) {
    const answer = answerTo(seen, `_dmarc.${parent}`, 'TXT');
    const policy = answer?.kind === 'found' ? answer.records.map(decodeText).find(isDmarc) : undefined;
    if (policy === undefined) continue;
    const p = findTag(policy, 'sp') ?? findTag(policy, 'p') ?? 'none';
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
    return `There is no CAA record at ${wanted.name}${who} that lets ${parseCaa(wanted.value).value} issue certificates; publish the record shown.`;
  }
  const ttl = seen.resolver?.kind === 'none' ? seen.resolver.ttlSeconds : undefined;
  const memory =
    ttl === undefined ? '' : `, which our resolver may not notice before ${shownTime(seen.nowMs + ttl * 1000)}`;
  return `There is no such ${wanted.type} record at ${wanted.name}${who}${nothing}; publish the record shown${memory}.`;
}
