import { X509Certificate } from 'node:crypto';
import type { World } from '../../../platform/world/index.ts';
import { AcmeFault, readRenewalWindow, renewalId, renewalTime, type Chain } from '../../../protocol/acme/index.ts';
import { asksForCertificates, certificatesAtRest, renewSooner } from '../certificates/index.ts';
import { createAuthority, type Authority } from './ask-authority.ts';

const MINUTE_MS = 60_000;

/** What the authority says of it, where it says anything; else two thirds of its life. */
export async function renewalOf(world: World, authority: Authority, chain: Chain): Promise<number> {
  const usual = renewalTime(chain, world.random());
  const wanted = await suggested(world, authority, chain.leaf);
  // One that is over for what was issued just now makes no sense, and would order anew each minute.
  if (wanted === undefined || wanted >= chain.endsAt || wanted <= world.clock.now()) return usual;
  return Math.max(world.clock.now() + MINUTE_MS, wanted);
}

async function suggested(world: World, authority: Authority, leaf: X509Certificate): Promise<number | undefined> {
  try {
    const { renewalInfo } = await authority.directory();
    const id = renewalId(leaf);
    if (renewalInfo === undefined || id === undefined) return undefined;
    const answer = await authority.read('the renewal information', `${renewalInfo.replace(/\/$/, '')}/${id}`);
    return readRenewalWindow(answer, world.random());
  } catch (error) {
    if (!(error instanceof AcmeFault)) throw error;
    world.log.warn({ reason: error.message }, 'an authority does not say when to renew');
    return undefined;
  }
}

/** Asks again for those that wait: an authority that is about to revoke many wants them replaced at once. */
export async function askRenewalTimes(
  world: World,
  stopping: AbortSignal = new AbortController().signal,
): Promise<number> {
  if (!asksForCertificates(world.config)) return 0;
  const { clock, config, db } = world;
  const authority = createAuthority(world, config.acme.directory, stopping);
  let sooner = 0;
  for (const { id, chain, next_try_at: planned } of await certificatesAtRest(db, clock.now())) {
    if (stopping.aborted) break;
    const wanted = await suggested(world, authority, new X509Certificate(chain));
    if (wanted !== undefined && wanted < planned) sooner += await renewSooner(db, id, Math.max(clock.now(), wanted));
  }
  return sooner;
}
