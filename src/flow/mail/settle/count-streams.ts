import { isSimulatorDomain } from '../../../platform/config/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { normalizeAddress } from '../../../protocol/address/index.ts';
import { addStreamCounts, type StreamCount } from '../../../resources/stream-rates/index.ts';
import { suppressionsAmong } from '../../../resources/suppressions/index.ts';
import type { Conclusion } from './conclude.ts';
import type { Settlement } from './settle-outcomes.ts';

type Happened = Conclusion['events'][number];

const COUNTED = {
  'email.delivered': 'delivered',
  'email.bounced': 'bounced',
  'email.complained': 'complained',
} as const;
type Rated = Extract<Happened, { type: keyof typeof COUNTED }>;

const isRated = (event: Happened): event is Rated => Object.hasOwn(COUNTED, event.type);

/**
 * Counts the recipients of these settlements for the rates of their streams, and returns the events that count towards no
 * rate. Not counted are recipients at the simulator, and bounces and complaints of addresses that were suppressed already:
 * whoever sends much at once to one dead address has one bad address. It has to be called before the suppressions that
 * follow are written.
 */
export async function countStreams(
  world: World,
  tx: Executor,
  settlements: readonly Settlement[],
): Promise<ReadonlySet<Happened>> {
  const excused = new Set<Happened>();
  const counts = new Map<string, StreamCount>();
  const suppressed = await readSuppressed(tx, settlements);
  for (const { email, stream, conclusion } of settlements) {
    const { team_id: teamId } = email;
    for (const event of conclusion.events) {
      if (!isRated(event)) continue;
      const isCounted = (address: string): boolean =>
        !isSimulatorDomain(world.config, domainIn(address)) &&
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
  await addStreamCounts(tx, world.ids, world.clock.now(), [...counts.values()]);
  return excused;
}

/** Reads which of the addresses that bounced or complained are suppressed; most batches have none and ask nothing. */
async function readSuppressed(tx: Executor, settlements: readonly Settlement[]): Promise<Set<string>> {
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
