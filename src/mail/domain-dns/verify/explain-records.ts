import { createHash } from 'node:crypto';
import { createAddressGuard } from '../../../platform/network/index.ts';
import type { Inspection } from '../../../platform/resolver/index.ts';
import type { World } from '../../../platform/world.ts';
import {
  diagnose,
  furtherQuestions,
  compareAnswer,
  questionKey,
  shown,
  decodeText,
  type Answer,
  type Observations,
  type Wanted,
  type ZoneObservation,
  type Comparison,
  type SpfCost,
} from '../../../protocol/dns-diagnosis/index.ts';
import type { RecordCheck } from '../../domains/index.ts';
import { BoundedMap } from '../../../platform/limits/index.ts';

const KEPT_MS = 30_000;
const ENTRIES_MAX = 1000;

interface Entry {
  until: number;
  value: Promise<Explained[]>;
}

/** One cache for each instance, freed with it. */
const memories = new WeakMap<object, BoundedMap<string, Entry>>();

/** Returns how many explanations are cached for an instance. */
export const rememberedCount = (instance: object): number => memories.get(instance)?.size ?? 0;

/** Returns what was made for a key in the last half minute, or is being made. A failure is not cached. */
export function rememberShortly(
  instance: object,
  key: string,
  now: number,
  make: () => Promise<Explained[]>,
): Promise<Explained[]> {
  const memory = memories.get(instance) ?? new BoundedMap<string, Entry>(ENTRIES_MAX);
  memories.set(instance, memory);
  const kept = memory.get(key);
  if (kept && kept.until > now) return kept.value;
  // All are kept for the same time, so that the oldest come first.
  for (const [old, { until }] of memory) {
    if (until > now) break;
    memory.delete(old);
  }
  const value = make();
  memory.set(key, { until: now + KEPT_MS, value });
  value.catch(() => memory.delete(key));
  return value;
}

/**
 * Explains what is wrong with the records that are not as they should be: queries the zone's own name servers, and
 * other names at which the record may have been published. Takes `ms` at most, and runs once in half a minute for one
 * domain.
 */
export function explainRecords(
  world: World,
  domainId: string,
  records: readonly CheckedRecord[],
  ms: number,
): Promise<Explained[]> {
  const seen = JSON.stringify(records.map(({ wanted, judgement }) => [wanted.name, wanted.value, judgement]));
  const key = `${domainId} ${createHash('sha256').update(seen).digest('base64')}`;
  return rememberShortly(world.inspector, key, world.clock.now(), () => explainAll(world, records, ms));
}

/**
 * Reports whether the result of our resolver for a name may be shown to the team that asks: only if anybody can look it
 * up, and not through an alias to somebody else's name.
 */
export async function mayBeRepeated(world: World, name: string, type: 'MX'): Promise<boolean> {
  if (world.config.dns.diagnosis_ms === 0) return false;
  const done = new AbortController();
  const patience = AbortSignal.timeout(Math.ceil(world.config.dns.diagnosis_ms / 2));
  const inspection = world.inspector.inspect(AbortSignal.any([patience, done.signal]));
  try {
    const [zone, answer] = await Promise.all([inspection.observe(name, type), inspection.resolve(name, type)]);
    return zone !== undefined && isPublic(zone) && !leadsAway(answer, name);
  } finally {
    done.abort();
  }
}

async function explainAll(world: World, records: readonly CheckedRecord[], ms: number): Promise<Explained[]> {
  const patience = AbortSignal.timeout(Math.ceil(ms));
  const done = new AbortController();
  const inspection = world.inspector.inspect(AbortSignal.any([patience, done.signal]));
  const siblings = records.map(({ wanted, judgement }) => ({ wanted, isRight: judgement.verdict === 'right' }));
  try {
    return await Promise.all(
      records.map(async (record, at) => {
        const others = siblings.filter((_, i) => i !== at);
        return record.judgement.verdict === 'right'
          ? explainRight(world, record, others)
          : explainOne(world, inspection, record, others, patience);
      }),
    );
  } finally {
    // Release the results with the inspection, instead of at its timeout.
    done.abort();
  }
}

type Siblings = NonNullable<Observations['siblings']>;

/**
 * Queries no other name server: the team that published our value controls the zone, and what else is there is its own
 * business.
 */
function explainRight(world: World, { wanted, answer, spf }: CheckedRecord, siblings: Siblings): Explained {
  const { sentence } =
    wanted.type === 'CAA'
      ? { sentence: null }
      : diagnose(wanted, { nowMs: world.clock.now(), checked: answer, spf, siblings });
  return { diagnosis: sentence, found: { resolver: formatValues(answer), authoritative: [] } };
}

async function explainOne(
  world: World,
  inspection: Inspection,
  { wanted, answer: checked, spf }: CheckedRecord,
  siblings: Siblings,
  patience: AbortSignal,
): Promise<Explained> {
  const [zone, resolver] = await Promise.all([
    inspection.observe(wanted.name, wanted.type),
    inspection.resolve(wanted.name, wanted.type),
  ]);
  const nowMs = world.clock.now();
  const before: Observations = { nowMs, checked, zone, spf, siblings, ...(isStopped(resolver) ? {} : { resolver }) };
  const word = `x${world.ids.hex(6)}`;
  const said = zone && bestAnswer(zone, (answer) => compareAnswer(wanted, answer, before).verdict === 'right');
  const further = said && !said.isRight ? await askFurther(inspection, zone, wanted, said.answer, word) : undefined;
  const found = {
    resolver: zone && isPublic(zone) && !leadsAway(resolver, wanted.domain) ? formatValues(resolver) : [],
    authoritative: said ? formatValues(said.answer) : [],
  };
  if (patience.aborted) return { diagnosis: tooSlow(wanted.name, world.config.dns.diagnosis_ms), found };
  return { diagnosis: diagnose(wanted, { ...before, further }, word).sentence, found };
}

const tooSlow = (name: string, ms: number): string =>
  `DNS did not respond within ${ms / 1000} seconds, so it is not known what is wrong at ${name}; try again in a minute.`;

const isStopped = (answer: Answer): boolean => answer.kind === 'failed' && answer.reason === 'stopped';

function bestAnswer(zone: ZoneObservation, isRight: (answer: Answer) => boolean) {
  const answers = zone.servers.flatMap(({ answer }) => (answer ? [answer] : []));
  const right = answers.find(isRight);
  const answer = right ?? answers.find(({ kind }) => kind === 'found') ?? answers[0];
  return answer && { answer, isRight: right !== undefined };
}

async function askFurther(
  inspection: Inspection,
  zone: ZoneObservation,
  wanted: Wanted,
  answer: Answer,
  word: string,
): Promise<ReadonlyMap<string, Answer>> {
  const questions = furtherQuestions(wanted, zone.name, answer, word);
  const answers = await Promise.all(
    questions.map(async (question) => {
      const said = await inspection.ask(zone, question.name, question.type);
      return [questionKey(question), question.type === 'A' ? withoutPrivate(said) : said] as const;
    }),
  );
  return new Map(answers);
}

const isPublicAddress = createAddressGuard([]);

/** Hides addresses inside a private network, even if a zone publishes them. */
function withoutPrivate(answer: Answer): Answer {
  if (answer.kind !== 'found') return answer;
  const records = answer.records.map((address) => (isPublicAddress(address) ? address : 'a private address'));
  return { ...answer, records: [...new Set(records)] };
}

/** Reports whether a zone is public: what only a resolver inside a network knows is not disclosed. */
const isPublic = (zone: ZoneObservation): boolean =>
  zone.servers.some(({ state }) => state !== 'private' && state !== 'nameless');

/**
 * Reports whether an alias leads out of the domain: through one, anybody could have our resolver read a name of
 * somebody else.
 */
const leadsAway = (answer: Answer, domain: string): boolean =>
  answer.kind === 'found' && answer.aliases.some((alias) => alias !== domain && !alias.endsWith(`.${domain}`));

const VALUES_MAX = 5;
const VALUE_CHARS_MAX = 500;

const formatValues = (answer: Answer): string[] =>
  answer.kind === 'found'
    ? answer.records
        .slice(0, VALUES_MAX)
        .map((record) => shown(decodeText(record.slice(0, VALUE_CHARS_MAX * 4)), VALUE_CHARS_MAX))
    : [];

/** A record, and the result of the configured resolver for it. */
export interface CheckedRecord {
  wanted: Wanted;
  answer: Answer;
  judgement: Comparison;
  spf?: SpfCost;
}

type Explained = Pick<RecordCheck, 'diagnosis' | 'found'>;
