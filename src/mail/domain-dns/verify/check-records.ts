import { isoTime, stopwatch } from '../../../platform/clock.ts';
import type { Lookup } from '../../../platform/resolver/index.ts';
import type { World } from '../../../platform/world.ts';
import { readOwnHosts, type OwnHosts } from '../../../tenancy/instance/index.ts';
import {
  countSpfLookups,
  isSpf,
  compareAnswer,
  parents,
  parseMx,
  permitsIssuer,
  type Answer,
  type Comparison,
  type SpfCost,
  type Wanted,
} from '../../../protocol/dns-diagnosis/index.ts';
import {
  isDnsAsked,
  isVerifiedWithoutDns,
  valueWithHost,
  type DomainRow,
  type RecordCheck,
  type RecordRow,
} from '../../domains/index.ts';
import { explainRecords, type CheckedRecord } from './explain-records.ts';

export interface CheckOptions {
  cache: boolean;
  /** Explains what is wrong with each record that is not as it should be, within `dns.diagnosis_ms` in all. */
  diagnose?: boolean;
}

/**
 * Queries DNS for records of a domain. Queries under way are shared, so two records of one name cost one query per
 * type. A TrackingCAA record is as it should be wherever its issuer is not forbidden, whether or not it is published.
 */
export async function checkRecords(
  world: World,
  domain: DomainRow,
  records: readonly RecordRow[],
  options: CheckOptions,
): Promise<RecordCheck[]> {
  if (!isDnsAsked(world) || isVerifiedWithoutDns(world, domain)) {
    return records.map((record) => ({ record, verdict: 'right', diagnosis: null, found: null }));
  }
  const budgetMs = world.config.dns.diagnosis_ms;
  // Half of the time for the queries of the check itself: if a resolver needs more, asking for the reason is not
  // worthwhile.
  const isExplained = options.diagnose === true && budgetMs > 0;
  // Records lead to further queries, an SPF record to twenty: what has no reply in time counts as unknown.
  const patience = AbortSignal.timeout(isExplained ? Math.ceil(budgetMs / 2) : world.config.dns.look_ms);
  const elapsedMs = stopwatch();
  const hurried = <T>(answer: Promise<Lookup<T>>): Promise<Lookup<T>> => inTime(answer, patience);
  const hosts = await readOwnHosts(world, world.db);
  const judged = await Promise.all(
    records.map(async (record) => {
      const wanted = { ...toWanted(record), domain: domain.name };
      return acceptOtherHost(world, hosts, await checkRecord(world, wanted, records, options, hurried));
    }),
  );
  const explained = isExplained ? await explainRecords(world, domain.id, judged, budgetMs - elapsedMs()) : undefined;
  return records.map((record, i) => {
    const namedHost = judged[i]?.namedHost;
    const advice = namedHost === undefined ? null : adviseNewHost(record, namedHost, hosts);
    return {
      record,
      verdict: judged[i]?.judgement.verdict ?? 'unknown',
      diagnosis: explained ? (advice ?? explained[i]?.diagnosis ?? null) : null,
      found: explained?.[i]?.found ?? null,
      ...(namedHost === undefined ? {} : { namedHost }),
    };
  });
}

interface HostedRecord extends CheckedRecord {
  /** The other host name of a change of the host, if the record in DNS contains it. */
  namedHost?: string;
}

/** Accepts a record with the other host name during the grace period of a change of the name. */
function acceptOtherHost({ config }: World, { other }: OwnHosts, checked: CheckedRecord): HostedRecord {
  const { wanted, answer, spf } = checked;
  if (
    other === undefined ||
    answer.kind !== 'found' ||
    wanted.value !== valueWithHost(config, wanted, config.instance.host)
  )
    return checked;
  const otherValue = valueWithHost(config, wanted, other);
  if (otherValue === undefined || otherValue === wanted.value) return checked;
  const compareWith = (value: string, without: string): Comparison =>
    compareAnswer({ ...wanted, value }, withoutMx(wanted, answer, without), { spf });
  const judgement = compareWith(wanted.value, otherValue);
  if (judgement.verdict === 'right') {
    const hasBoth = wanted.type === 'MX' && compareWith(otherValue, wanted.value).verdict === 'right';
    return { ...checked, judgement, ...(hasBoth ? { namedHost: other } : {}) };
  }
  if (compareWith(otherValue, wanted.value).verdict !== 'right') return checked;
  return { ...checked, judgement: { verdict: 'right', sentence: null }, namedHost: other };
}

/** Leaves out one host of an MX answer: whichever of our two names comes first, mail arrives here. */
function withoutMx({ type }: Wanted, answer: Answer, host: string): Answer {
  if (type !== 'MX' || answer.kind !== 'found') return answer;
  return { ...answer, records: answer.records.filter((record) => parseMx(record).host !== host.toLowerCase()) };
}

function adviseNewHost({ type, name, value, priority }: RecordRow, named: string, { endsAt }: OwnHosts): string {
  const until = isoTime(endsAt).slice(0, 10);
  const wanted = priority === null ? value : `${priority} ${value}`;
  return `The ${type} record at ${name} contains ${named}, the other host name of this server, which counts until ${until}; publish ${wanted} in its place before then.`;
}

const toWanted = ({ record, name, type, value, priority }: RecordRow) => ({ record, name, type, value, priority });

type Hurry = <T>(answer: Promise<Lookup<T>>) => Promise<Lookup<T>>;

async function checkRecord(
  world: World,
  wanted: Wanted,
  records: readonly RecordRow[],
  options: CheckOptions,
  hurried: Hurry,
): Promise<CheckedRecord> {
  if (wanted.type === 'CAA') return checkCaa(world, wanted, records, options, hurried);
  const answer = await answerTo(world, wanted, options, hurried);
  const spf =
    wanted.record === 'SPF' && wanted.type === 'TXT'
      ? await spfCost(world, wanted, answer, options, hurried)
      : undefined;
  return { wanted, answer, judgement: compareAnswer(wanted, answer, { spf }), ...(spf ? { spf } : {}) };
}

async function answerTo({ resolver }: World, wanted: Wanted, options: CheckOptions, hurried: Hurry): Promise<Answer> {
  switch (wanted.type) {
    case 'MX': {
      const mx = await hurried(resolver.mx(wanted.name, options));
      return toAnswer(mx, (records) => records.map(({ preference, host }) => `${preference} ${host || '.'}`));
    }
    case 'CNAME':
      return toAnswer(await hurried(resolver.cname(wanted.name, options)), (records) => records);
    case 'CAA': {
      const caa = await hurried(resolver.caa(wanted.name, options));
      return toAnswer(caa, (records) => records.map(({ flags, tag, value }) => `${flags} ${tag} "${value}"`));
    }
    case 'TXT':
      return toAnswer(await hurried(resolver.txt(wanted.name, options)), (records) => records);
  }
}

/** Returns a look-up as the diagnosis reads it. */
export function toAnswer<T>(lookup: Lookup<T>, toTexts: (records: T) => string[]): Answer {
  if (lookup.kind === 'failed') return lookup;
  if (lookup.kind === 'none') return { ...lookup, aliases: [] };
  return { kind: 'found', records: toTexts(lookup.records), aliases: [] };
}

/** RFC 8659 §3: the nearest name upwards that has CAA records decides, and a host that points here is its alias's first. */
async function checkCaa(
  world: World,
  wanted: Wanted,
  records: readonly RecordRow[],
  options: CheckOptions,
  hurried: Hurry,
): Promise<CheckedRecord> {
  const hosts = records.filter(({ type }) => type === 'CNAME').map(({ name }) => name);
  const issuer = /"([^";]*)/.exec(wanted.value)?.[1]?.trim() ?? '';
  for (const name of [...hosts, wanted.domain, ...parents(wanted.domain)]) {
    const there = { ...wanted, name };
    const answer = await answerTo(world, there, options, hurried);
    if (answer.kind === 'failed') return { wanted: there, answer, judgement: { verdict: 'unknown', sentence: null } };
    if (answer.kind === 'none') continue;
    if (permitsIssuer(answer.records, issuer)) break;
    // If the name is an alias, the records belong to its target.
    const alias = await hurried(world.resolver.cname(name, options));
    const owner = alias.kind === 'found' ? { ...there, name: alias.records[0] ?? name } : there;
    return { wanted: owner, answer, judgement: compareAnswer(owner, answer) };
  }
  return {
    wanted,
    answer: { kind: 'found', records: [], aliases: [] },
    judgement: { verdict: 'right', sentence: null },
  };
}

/** Twice what a record may need: enough to report that it needs too much. */
const INCLUDES_MAX = 20;

async function spfCost(
  { resolver }: World,
  { name }: Wanted,
  answer: Answer,
  options: CheckOptions,
  hurried: Hurry,
): Promise<SpfCost | undefined> {
  const record = answer.kind === 'found' ? answer.records.find(isSpf) : undefined;
  if (record === undefined) return undefined;
  const texts = new Map([[name, answer]]);
  for (;;) {
    const cost = countSpfLookups(record, texts);
    const next = cost.missing.slice(0, Math.max(0, INCLUDES_MAX + 1 - texts.size));
    if (next.length === 0) return cost;
    await Promise.all(
      next.map(async (include) => {
        texts.set(
          include,
          toAnswer(await hurried(resolver.txt(include, options)), (records) => records),
        );
      }),
    );
  }
}

/** Limits the wait for a look-up. The look-up itself goes on, and its result is cached for the next query. */
export function inTime<T>(answer: Promise<Lookup<T>>, patience: AbortSignal): Promise<Lookup<T>> {
  const late: Lookup<T> = { kind: 'failed', reason: 'timeout' };
  if (patience.aborted) return Promise.resolve(late);
  return new Promise((resolve, reject) => {
    const giveUp = (): void => resolve(late);
    patience.addEventListener('abort', giveUp, { once: true });
    answer.then(resolve, reject).finally(() => patience.removeEventListener('abort', giveUp));
  });
}
