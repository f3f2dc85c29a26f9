import { isSimulatorDomain } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import type { Stream, StreamCount } from '../stream-rates/index.ts';
import { suppressionsAmong } from '../suppressions/index.ts';
import type { Conclusion } from './conclude.ts';

/** What became of an email, and the stream whose rates it counts towards. */
export interface StreamOutcome {
  email: { team_id: string };
  stream: Stream;
  conclusion: Conclusion;
}

type Happened = Conclusion['events'][number];

const COUNTED = {
  'email.delivered': 'delivered',
  'email.bounced': 'bounced',
  'email.complained': 'complained',
} as const;
type Rated = Extract<Happened, { type: keyof typeof COUNTED }>;

const isRated = (event: Happened): event is Rated => Object.hasOwn(COUNTED, event.type);

/** What settlements add to the rates of their streams, and the events that count towards no rate. */
export interface StreamSums {
  counts: StreamCount[];
  excused: ReadonlySet<Happened>;
}

/**
 * Counts the recipients of these settlements for the rates of their streams, without writing anything. Not counted are
 * recipients at the simulator, and bounces and complaints of addresses that were suppressed already: several emails at
 * once to one dead address say no more than one. It has to be called before the suppressions that follow are written.
 */
export async function countStreams(
  { config }: Pick<World, 'config'>,
  tx: Executor,
  settlements: readonly StreamOutcome[],
): Promise<StreamSums> {
  const excused = new Set<Happened>();
  const counts = new Map<string, StreamCount>();
  const suppressed = await readSuppressed(tx, settlements);
  for (const { email, stream, conclusion } of settlements) {
    const { team_id: teamId } = email;
    for (const event of conclusion.events) {
      if (!isRated(event)) continue;
      const isCounted = (address: string): boolean =>
        !isSimulatorDomain(config, domainIn(address)) &&
        (event.type === 'email.delivered' || !suppressed.has(keyOf(teamId, address)));
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
    for (const { email: address } of conclusion.suppress) suppressed.add(keyOf(teamId, address));
  }
  return { counts: [...counts.values()], excused };
}

/** Reads which of the addresses that bounced or complained are suppressed; most batches have none and ask nothing. */
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

const keyOf = (teamId: string, address: string): string => `${teamId} ${normalizeAddress(address)}`;

const domainIn = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase();
