import type { World } from '../../../platform/world.ts';
import { providerFor } from './choose-provider.ts';
import { ProviderFault, type DnsProvider, type ZoneRecord } from './provider.ts';

/** A TXT record that shows, for as long as somebody looks, that a name is ours. */
export interface ProofRecord {
  name: string;
  value: string;
}

/** Short, because resolvers are not to keep what is taken away again. */
const TTL_SECONDS = 60;
/** Somebody else changes the same name meanwhile. */
const TRIES = 3;

/** Writes it beside what stands there, through a provider of the operator; once where it is there already. Throws a ProviderFault. */
export const putProof = (world: World, provider: string, proof: ProofRecord): Promise<void> =>
  change(world, provider, proof, (own, [other]) => ({
    deletes: [],
    // All records of a name and type have one TTL (RFC 2181 §5.2): another one would change that of those that stand there.
    creates: own.length > 0 ? [] : [{ ...proof, type: 'TXT', priority: null, ttl: other?.ttl ?? TTL_SECONDS }],
  }));

/** Takes this one away and leaves all others. Throws a ProviderFault. */
export const removeProof = (world: World, provider: string, proof: ProofRecord): Promise<void> =>
  change(world, provider, proof, (own) => ({ deletes: own, creates: [] }));

type Wanted = (
  own: readonly ZoneRecord[],
  there: readonly ZoneRecord[],
) => Pick<Parameters<DnsProvider['apply']>[1], 'deletes' | 'creates'>;

async function change(world: World, providerName: string, { name, value }: ProofRecord, wanted: Wanted): Promise<void> {
  const provider = providerFor(world, undefined, providerName);
  const zone = await provider.zoneOf(name);
  const queries = [{ name, types: ['TXT', 'CNAME'] }];
  for (let tries = 1; ; tries++) {
    const seen = await provider.recordsAt(zone, queries);
    const there = seen.filter(({ type }) => type === 'TXT');
    const own = there.filter((record) => record.value === value);
    const { deletes, creates } = wanted(own, there);
    if (deletes.length + creates.length === 0) return;
    if (seen.some(({ type }) => type === 'CNAME')) {
      const say = `${name} is a CNAME in the zone ${zone}, so no TXT record can stand there; remove it.`;
      throw new ProviderFault('refused', say, { nothingChanged: true });
    }
    try {
      return await provider.apply(zone, { deletes, creates, queries, seen });
    } catch (error) {
      if (!(error instanceof ProviderFault) || error.kind !== 'changed' || tries === TRIES) throw error;
    }
  }
}

/** The name servers of its zone that do not show it yet; undefined where none of them could be asked. */
export async function missingProof(
  { inspector }: World,
  { name, value }: ProofRecord,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const zone = await inspector.inspect(signal).observe(name, 'TXT');
  // Those that do not answer cannot be waited for: the authority asks another one then, as everybody does.
  const answering = (zone?.servers ?? []).filter(({ state }) => state === 'answers');
  if (answering.length === 0) return undefined;
  return answering
    .filter(({ answer }) => answer?.kind !== 'found' || !answer.records.includes(value))
    .map(({ host }) => host);
}
