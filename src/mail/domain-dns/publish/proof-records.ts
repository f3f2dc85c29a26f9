import type { World } from '../../../platform/world.ts';
import { providerFor } from './choose-provider.ts';
import { ProviderFault, type DnsProvider, type ZoneRecord } from './provider.ts';

/** A TXT record that proves, for as long as it is checked, that a name is ours. */
export interface ProofRecord {
  name: string;
  value: string;
}

/** Short, because resolvers should not cache a record that is removed again. */
const TTL_SECONDS = 60;
/** Another client may change the same name meanwhile. */
const TRIES = 3;

/**
 * Adds the record to those of its name through a provider of the operator, unless it is there already. Throws a
 * ProviderFault.
 */
export const putProof = (world: World, provider: string, proof: ProofRecord): Promise<void> =>
  change(world, provider, proof, (own, [other]) => ({
    deletes: [],
    // All records of a name and type have one TTL (RFC 2181 §5.2): another one would change that of the existing
    // records.
    creates: own.length > 0 ? [] : [{ ...proof, type: 'TXT', priority: null, ttl: other?.ttl ?? TTL_SECONDS }],
  }));

/** Removes this record and leaves all others. Throws a ProviderFault. */
export const removeProof = (world: World, provider: string, proof: ProofRecord): Promise<void> =>
  change(world, provider, proof, (own) => ({ deletes: own, creates: [] }));

type Wanted = (
  own: readonly ZoneRecord[],
  there: readonly ZoneRecord[],
) => Pick<Parameters<DnsProvider['apply']>[1], 'deletes' | 'creates'>;

async function change(world: World, providerName: string, { name, value }: ProofRecord, wanted: Wanted): Promise<void> {
  const provider = providerFor(world, undefined, providerName);
  const zone = await provider.findZone(name);
  const queries = [{ name, types: ['TXT', 'CNAME'] }];
  for (let tries = 1; ; tries++) {
    const seen = await provider.recordsAt(zone, queries);
    const there = seen.filter(({ type }) => type === 'TXT');
    const own = there.filter((record) => record.value === value);
    const { deletes, creates } = wanted(own, there);
    if (deletes.length + creates.length === 0) return;
    if (seen.some(({ type }) => type === 'CNAME')) {
      const say = `${name} is a CNAME in the zone ${zone}, so it cannot have a TXT record; remove the CNAME.`;
      throw new ProviderFault('refused', say, { nothingChanged: true });
    }
    try {
      return await provider.apply(zone, { deletes, creates, queries, seen });
    } catch (error) {
      if (!(error instanceof ProviderFault) || error.kind !== 'changed' || tries === TRIES) throw error;
    }
  }
}

/** Returns the name servers of its zone that do not show it yet; undefined if none of them responded. */
export async function missingProof(
  { inspector }: World,
  { name, value }: ProofRecord,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const zone = await inspector.inspect(signal).observe(name, 'TXT');
  // Servers that do not respond cannot be waited for: the authority then asks another one, as every client does.
  const answering = (zone?.servers ?? []).filter(({ state }) => state === 'answers');
  if (answering.length === 0) return undefined;
  return answering
    .filter(({ answer }) => answer?.kind !== 'found' || !answer.records.includes(value))
    .map(({ host }) => host);
}
