import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world.ts';
import {
  insertAttempts,
  recordEmailEvents,
  type AttemptRow,
  type EmailEvent,
  type EventEmail,
} from '../emails/index.ts';
import { addReputationCounts, type ReputationCount } from '../reputation/index.ts';
import { addStreamCounts, type Stream, type StreamCount } from '../stream-rates/index.ts';
import { suppress, suppressionsAmong } from '../suppressions/index.ts';
import { writeNotices, type NoticeOrder } from '../accept/index.ts';
import { isSimulatorDomain } from '../../platform/config/index.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import type { Conclusion } from './conclude.ts';

/** The outcome of an email, and the stream whose rates it counts towards. */
interface StreamOutcome {
  email: { team_id: string };
  stream: Stream;
  conclusion: Conclusion;
  /** Reports whether an outcome of a recipient was counted already, by an earlier report. */
  isRepeated?: (kind: string, address: string) => boolean;
  /** The times at which mail was accepted that mail servers returned later, by recipient. */
  returned?: readonly number[];
}

type Happened = Conclusion['events'][number];

const COUNTED = {
  'email.delivered': 'delivered',
  'email.bounced': 'bounced',
  'email.complained': 'complained',
} as const;
type Rated = Extract<Happened, { type: keyof typeof COUNTED }>;

const isRated = (event: Happened): event is Rated => Object.hasOwn(COUNTED, event.type);

/** Additions of settlements to the rates of their streams, and the events that count towards no rate. */
interface StreamSums {
  counts: StreamCount[];
  excused: ReadonlySet<Happened>;
}

/**
 * Counts the recipients of these settlements for the rates of their streams, without writing anything. Does not count
 * recipients at the simulator, nor mail that no mail server has seen, nor bounces and complaints of addresses that were
 * suppressed already: several emails at once to one dead address mean no more than one. Must be called before the resulting suppressions are written.
 */
async function countStreams(
  { config }: Pick<World, 'config'>,
  tx: Executor,
  settlements: readonly StreamOutcome[],
): Promise<StreamSums> {
  const excused = new Set<Happened>();
  const counts = new Map<string, StreamCount>();
  const suppressed = await readSuppressed(tx, settlements);
  for (const { email, stream, conclusion, isRepeated } of settlements) {
    const { team_id: teamId } = email;
    for (const event of conclusion.events) {
      if (!isRated(event)) continue;
      if (conclusion.unseen.includes(event)) {
        excused.add(event);
        continue;
      }
      const isCounted = (address: string): boolean =>
        !isSimulatorDomain(config, domainIn(address)) &&
        isRepeated?.(COUNTED[event.type], address) !== true &&
        (event.type === 'email.delivered' || !suppressed.has(toKey(teamId, address)));
      const counted = event.data.to.filter(isCounted).length;
      if (counted === 0) {
        excused.add(event);
        continue;
      }
      const name = `${teamId} ${stream}`;
      const count = counts.get(name) ?? { teamId, stream, delivered: 0, bounced: 0, complained: 0 };
      count[COUNTED[event.type]] += counted;
      counts.set(name, count);
    }
    for (const { email: address } of conclusion.suppress) suppressed.add(toKey(teamId, address));
  }
  return { counts: [...counts.values()], excused };
}

/** Reads which of the addresses that bounced or complained are suppressed; most batches have none and need no query. */
async function readSuppressed(tx: Executor, settlements: readonly StreamOutcome[]): Promise<Set<string>> {
  const wanted = settlements.flatMap(({ email, conclusion }) =>
    conclusion.events
      .filter((event) => event.type === 'email.bounced' || event.type === 'email.complained')
      .flatMap((event) => event.data.to.map((address) => [email.team_id, normalizeAddress(address)] as const)),
  );
  if (wanted.length === 0) return new Set();
  const found = await suppressionsAmong(tx, wanted);
  return new Set(found.map(({ team_id: teamId, email_key: key }) => `${teamId} ${key}`));
}

const toKey = (teamId: string, address: string): string => `${teamId} ${normalizeAddress(address)}`;

const domainIn = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase();

/** Counts refusals and complaints for the metrics, once the counts that are stored were committed. */
export function measureReputation({ meter }: Pick<World, 'meter'>, counts: readonly ReputationCount[]): void {
  for (const { provider: name, outcome, cause, count } of counts) {
    const provider = name === '' ? 'other' : name;
    if (outcome === 'complained') meter.count('rasket_provider_complaints_total', { provider }, count);
    else if (outcome !== 'accepted')
      meter.count('rasket_provider_refusals_total', { provider, outcome, cause: cause === '' ? 'none' : cause }, count);
  }
}

/** The outcome of an email at one destination, and the rows that are written for it. */
export interface Settlement extends StreamOutcome {
  email: EventEmail;
  attempt?: AttemptRow | undefined;
  /** How the provider took it. */
  reputation?: readonly ReputationCount[];
  /** Delivery notices that the sender requested. */
  notices: NoticeOrder[];
}

/**
 * Records the consequences of outcomes, in the caller's transaction: states, events, attempts, notices and
 * suppressions. The results of a connection and of a report days later are both written here. The claim of a delivery
 * has to be ended before its outcomes are settled.
 */
export async function settleOutcomes(world: World, tx: Executor, settlements: readonly Settlement[]): Promise<void> {
  const at = world.clock.now();
  const { counts, excused } = await countStreams(world, tx, settlements);
  await recordEmailEvents(
    tx,
    world.ids,
    settlements.flatMap(({ email, conclusion }) =>
      conclusion.events.map((happening): EmailEvent => ({
        email,
        at,
        isExcused: excused.has(happening),
        ...happening,
      })),
    ),
  );
  // After the counts of the metrics: every transaction locks the rows of a team in this order.
  await addStreamCounts(tx, world.ids, at, counts);
  for (const { email, stream, returned = [] } of settlements) {
    for (const acceptedAt of returned.toSorted((a, b) => a - b)) {
      const less = { teamId: email.team_id, stream, delivered: -1, bounced: 0, complained: 0 };
      await addStreamCounts(tx, world.ids, Math.min(acceptedAt, at), [less]);
    }
  }
  await addReputationCounts(
    tx,
    world.ids,
    at,
    settlements.flatMap(({ reputation = [] }) => reputation),
  );
  const attempts = settlements.flatMap(({ attempt }) => attempt ?? []);
  if (attempts.length > 0) await insertAttempts(tx, attempts);
  await writeNotices(
    world,
    tx,
    settlements.flatMap(({ notices }) => notices),
  );
  for (const { email, conclusion } of settlements) {
    if (conclusion.suppress.length === 0) continue;
    const additions = conclusion.suppress.map((addition) => ({ ...addition, sourceId: email.id }));
    await suppress(world, tx, email.team_id, additions, { isBulk: email.is_bulk === 1 });
  }
}
