import { isSamePlain, sameNames, type PlainRecord } from '../../../protocol/dns/index.ts';
import type { RecordQuery, NewRecord, ZoneRecord } from './provider.ts';

export interface PlanInput {
  wanted: readonly PlainRecord[];
  /** Records that we published before and have not removed. */
  ours: readonly PlainRecord[];
  /** Everything the queries found in the zone. */
  seen: readonly ZoneRecord[];
  ttlSeconds: number;
}

export interface Change extends PlainRecord {
  action: 'create' | 'replace' | 'delete';
  ttl: number;
}

export interface Plan {
  changes: Change[];
  deletes: ZoneRecord[];
  creates: NewRecord[];
  /** One sentence for each foreign record that is in the way; nothing may be changed while there is any. */
  inTheWay: string[];
  /** Records that we remember publishing, but that are neither wanted nor in the zone any more. */
  forgotten: PlainRecord[];
}

/** Lists the queries to make: each name with the types that exist there, should exist there, or would be in the way. */
export function queriesFor(wanted: readonly PlainRecord[], ours: readonly PlainRecord[]): RecordQuery[] {
  const all = [...wanted, ...ours];
  const names = all.filter((record, i) => all.findIndex((other) => sameNames(other.name, record.name)) === i);
  return names.map(({ name }) => {
    const here = all.filter((record) => sameNames(record.name, name)).map((record) => record.type);
    const types = here.includes('CNAME') ? ['A', 'AAAA', 'TXT', 'MX', 'NS', 'CAA', ...here] : here;
    return { name, types: [...new Set(['CNAME', ...types])] };
  });
}

/**
 * Plans the changes after which the zone holds what is wanted and nothing else of ours. They never include records of
 * others.
 */
export function planChanges({ wanted, ours, seen, ttlSeconds }: PlanInput): Plan {
  const isOurs = (record: PlainRecord): boolean => ours.some((one) => isSamePlain(one, record));
  const isWanted = (record: PlainRecord): boolean => wanted.some((one) => isSamePlain(one, record));
  const isThere = (record: PlainRecord): boolean => seen.some((one) => isSamePlain(one, record));
  const deletes = seen.filter((record) => isOurs(record) && !isWanted(record));
  const others = seen.filter((record) => !isOurs(record));
  const creates: NewRecord[] = [];
  const inTheWay: string[] = [];
  for (const record of wanted) {
    const fit = isThere(record)
      ? checkRivals(
          record,
          others.filter((other) => !isSamePlain(other, record)),
        )
      : checkOthers(record, others);
    if (fit.kind === 'in_the_way') inTheWay.push(fit.say);
    else if (fit.kind === 'free' && !isThere(record))
      creates.push({ ...record, ttl: findSharedTtl(record, others) ?? ttlSeconds });
  }
  return {
    changes: pairChanges(deletes, creates),
    deletes,
    creates,
    inTheWay: [...new Set(inTheWay)],
    forgotten: ours.filter((record) => !isWanted(record) && !isThere(record)),
  };
}

/**
 * Returns the ttl of the others' records of this name and type: they share it (RFC 2181 §5.2), and ours must not change
 * it.
 */
const findSharedTtl = (record: PlainRecord, others: readonly ZoneRecord[]): number | undefined =>
  others.find((other) => sameNames(other.name, record.name) && other.type === record.type)?.ttl;

/** Presents a deletion and a creation at the same name and type as one replacement. */
function pairChanges(deletes: readonly ZoneRecord[], creates: readonly NewRecord[]): Change[] {
  const left = [...deletes];
  const made = creates.map((record): Change => {
    const at = left.findIndex((gone) => gone.type === record.type && sameNames(gone.name, record.name));
    if (at >= 0) left.splice(at, 1);
    return { ...record, action: at >= 0 ? 'replace' : 'create' };
  });
  const gone = left.map(({ name, type, value, priority, ttl }): Change => ({
    action: 'delete',
    name,
    type,
    value,
    priority,
    ttl,
  }));
  return [...made, ...gone];
}

type Compatibility =
  | { kind: 'free' }
  /** A foreign record serves as well; ours would only break it. */
  | { kind: 'served' }
  | { kind: 'in_the_way'; say: string };

/** Decides whether a record can be added to those of others, which stay as they are. */
function checkOthers(wanted: PlainRecord, others: readonly ZoneRecord[]): Compatibility {
  const here = others.filter((other) => sameNames(other.name, wanted.name));
  const alias = here.find((other) => other.type === 'CNAME');
  // An owner who points the name of a report record elsewhere has a policy there, which takes precedence over ours.
  if (alias && wanted.type === 'TXT' && isOwnersChoice(textKind(wanted.value))) return { kind: 'served' };
  // RFC 1034 §3.6.2: a CNAME excludes other records at its name.
  if (alias) return inTheWay(wanted, alias, 'no other record may exist at the name of a CNAME');
  const [first] = here;
  if (wanted.type === 'CNAME' && first) return inTheWay(wanted, first, 'a CNAME must be the only record at its name');
  const likes = here.filter((other) => other.type === wanted.type);
  if (wanted.type === 'MX') return checkMx(wanted, likes);
  return wanted.type === 'TXT' ? checkText(wanted, likes) : { kind: 'free' };
}

function checkMx(wanted: PlainRecord, others: readonly ZoneRecord[]): Compatibility {
  const [first] = others;
  if (!first) return { kind: 'free' };
  const isServed = others.every((other) => sameNames(other.value, wanted.value));
  return isServed ? { kind: 'served' } : inTheWay(wanted, first, 'mail would be delivered to both servers');
}

/**
 * Decides about a text record. A text of another kind does not matter; two records of one kind at one name make both
 * void.
 */
function checkText(wanted: PlainRecord, others: readonly ZoneRecord[]): Compatibility {
  const kind = textKind(wanted.value);
  const rival = others.find((other) => textKind(other.value) === kind);
  if (kind === 'other' || !rival) return { kind: 'free' };
  switch (kind) {
    case 'dmarc':
    case 'tlsrpt':
      // A policy of the team's own takes precedence over the one we recommend.
      return { kind: 'served' };
    case 'spf':
      if (others.filter((other) => textKind(other.value) === 'spf').length === 1 && includesTerms(rival, wanted)) {
        return { kind: 'served' };
      }
      return inTheWay(
        wanted,
        rival,
        `a name may have only one SPF record; add ${spfTerms(wanted.value).join(' ')} to it`,
      );
    case 'dkim':
      return inTheWay(wanted, rival, 'a selector may have only one key');
    case 'sts':
      return inTheWay(wanted, rival, 'a name may have only one MTA-STS record');
  }
}

const isOwnersChoice = (kind: TextKind): boolean => kind === 'dmarc' || kind === 'tlsrpt';

type TextKind = 'spf' | 'dmarc' | 'tlsrpt' | 'sts' | 'dkim' | 'other';

function textKind(text: string): TextKind {
  if (/^v=spf1(?: |$)/i.test(text)) return 'spf';
  if (/^v\s*=\s*DMARC1\s*(?:;|$)/i.test(text)) return 'dmarc';
  if (/^v=TLSRPTv1[ \t]*;/.test(text)) return 'tlsrpt';
  if (/^v=STSv1[ \t]*;/.test(text)) return 'sts';
  // RFC 6376 §3.6.1: the version is optional.
  return /^v\s*=\s*DKIM1\s*;/.test(text) || /(?:^|;)\s*p\s*=/.test(text) ? 'dkim' : 'other';
}

const includesTerms = (other: PlainRecord, wanted: PlainRecord): boolean =>
  spfTerms(wanted.value).every((term) => spfTerms(other.value).includes(term));

const spfTerms = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/\s+/)
    .slice(1)
    .filter((term) => term !== '' && !/^[-~?+]?all$/.test(term));

/**
 * Two SPF records of one name permit nothing (RFC 7208 §4.5), and two MTA-STS records are no policy (RFC 8461 §3.1), so
 * that a foreign one is in the way even if the wanted one exists already.
 */
function checkRivals(wanted: PlainRecord, others: readonly ZoneRecord[]): Compatibility {
  const kind = wanted.type === 'TXT' ? textKind(wanted.value) : 'other';
  if (kind !== 'spf' && kind !== 'sts') return { kind: 'free' };
  const rival = others.find(
    (other) => other.type === 'TXT' && sameNames(other.name, wanted.name) && textKind(other.value) === kind,
  );
  if (!rival) return { kind: 'free' };
  return kind === 'spf'
    ? inTheWay(wanted, rival, 'SPF fails for a name with two SPF records')
    : inTheWay(wanted, rival, 'a name may have only one MTA-STS record');
}

function inTheWay(wanted: PlainRecord, other: PlainRecord, why: string): Compatibility {
  const shown = other.value.length > 120 ? `${other.value.slice(0, 120)}…` : other.value;
  const say = `${other.name} has the ${other.type} record ${JSON.stringify(shown)}, which this service did not publish and which conflicts with ${article(wanted.type)} ${wanted.type} record: ${why}. Remove or change it, then try again.`;
  return { kind: 'in_the_way', say };
}

const article = (type: string): string => (type === 'MX' ? 'an' : 'a');
