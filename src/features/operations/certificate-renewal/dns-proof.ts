import { createHash } from 'node:crypto';
import { pause } from '../../../platform/clock/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { AcmeFault } from '../../../protocol/acme/index.ts';
import { forgetChallenge, strayProofs, zoneProofsOf, type ChallengeRow } from '../certificates/index.ts';
import {
  missingProof,
  ProviderFault,
  putProof,
  removeProof,
  type ProofRecord,
} from '../../../mail/domain-dns/index.ts';

const POLL_MS = 1000;
const POLL_MS_MAX = 10_000;
/** What one look at the name servers of a zone may take. */
const LOOK_MS = 10_000;

type Proof = Pick<ChallengeRow, 'name' | 'key_authorization'>;

/** RFC 8555 §8.4: of a wildcard, the name below the asterisk is proven. */
const recordOf = ({ name, key_authorization: authorization }: Proof): ProofRecord => ({
  name: `_acme-challenge.${name.replace(/^\*\./, '')}`,
  value: createHash('sha256').update(authorization).digest('base64url'),
});

/**
 * Writes the proof into the zone, and comes back once every name server of the zone that answers shows it: an authority that
 * looks earlier may remember that there is none. Its challenge is stored before, so that it is removed whatever happens.
 * Answers false where the signal came first.
 */
export async function proveInZone(world: World, proof: Proof, signal: AbortSignal): Promise<boolean> {
  const { clock, config } = world;
  const record = recordOf(proof);
  await faultsOfZone(() => putProof(world, config.acme.dns_provider, record));
  const until = clock.now() + config.acme.dns_seconds * 1000;
  for (let waitMs = POLL_MS; ; waitMs = Math.min(2 * waitMs, POLL_MS_MAX)) {
    const missing = await missingProof(world, record, AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]));
    if (missing?.length === 0) return true;
    if (signal.aborted) return false;
    if (clock.now() >= until) throw new AcmeFault(notSeen(world, record, missing));
    await pause(clock, waitMs, signal);
  }
}

function notSeen({ config }: World, { name }: ProofRecord, missing: readonly string[] | undefined): string {
  const who =
    missing === undefined ? `no name server of its zone answers for ${name}` : `${missing.join(', ')} does not show it`;
  return `the TXT record of ${name} was written, and ${who} after ${config.acme.dns_seconds} seconds (acme.dns_seconds)`;
}

async function faultsOfZone<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProviderFault ? new AcmeFault(error.message) : error;
  }
}

/** Those of a certificate whose order has ended. */
export const removeProofsOf = async (world: World, certificateId: string): Promise<void> =>
  removeAll(world, await zoneProofsOf(world.db, certificateId));

/** Those that a process left behind, or that could not be removed: of orders that are no more, or too old for any. */
export const removeStrayProofs = async (world: World): Promise<void> =>
  removeAll(world, await strayProofs(world.db, world.clock.now()));

async function removeAll(world: World, rows: readonly ChallengeRow[]): Promise<void> {
  const { clock, config, db, log } = world;
  for (const row of rows) {
    const { name } = recordOf(row);
    try {
      await removeProof(world, config.acme.dns_provider, recordOf(row));
    } catch (error) {
      if (!(error instanceof ProviderFault)) throw error;
      const isGivenUp = clock.now() >= row.expires_at;
      const next = isGivenUp ? 'never: remove it by hand' : 'in a minute';
      log[isGivenUp ? 'error' : 'warn']({ name, reason: error.message, next }, 'a TXT record could not be removed');
      if (!isGivenUp) continue;
    }
    await forgetChallenge(db, row.token);
  }
}
