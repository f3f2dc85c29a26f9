import type { World } from '../../../platform/world/index.ts';
import {
  findSetup,
  fingerprintOf,
  forgetStrandedRecords,
  LEAVING,
  noteSetupFault,
  setupsAfter,
  wantedRecords,
  type SetupRow,
} from '../../dns/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { providerFor } from './choose-provider.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { prepare } from './prepare.ts';
import { ProviderFault } from './provider.ts';
import { publish } from './publish.ts';

const BATCH = 50;
const RETRY_MS = 60_000;
const RETRY_MS_MAX = 6 * 3_600_000;

/**
 * Publishes what the domains that were configured want by now, such as a new DKIM key, and removes what belongs to domains
 * that are gone or have become another team's. Only domains whose records changed are asked about.
 */
export async function publishConfigured(world: World): Promise<number> {
  let published = 0;
  // A server that does not answer is not waited for once more for each of its domains.
  const down = new Set<string>();
  let after: string | undefined;
  for (;;) {
    const setups = await setupsAfter(world.db, after, world.clock.now(), BATCH);
    for (const setup of setups) {
      if (down.has(setup.provider)) continue;
      const outcome = await oneAtATime(world, setup.domain_id, () => publishOne(world, setup));
      if (outcome === 'published') published++;
      if (outcome === 'unavailable') down.add(setup.provider);
    }
    after = setups.at(-1)?.domain_id;
    if (setups.length < BATCH) break;
  }
  await forgetStrandedRecords(world.db);
  return published;
}

async function publishOne(world: World, setup: SetupRow): Promise<'published' | 'unchanged' | ProviderFault['kind']> {
  const domain = { id: setup.domain_id, team_id: setup.team_id, name: setup.domain_name };
  const isRemoval = setup.fingerprint === LEAVING;
  const wanted = isRemoval ? [] : await wantedRecords(world, domain);
  if (wanted.length > 0 && fingerprintOf(wanted) === setup.fingerprint) return 'unchanged';
  // Somebody may have ended or finished it since the list was read.
  if ((await findSetup(world.db, domain.id))?.fingerprint !== setup.fingerprint) return 'unchanged';
  try {
    // A team that may not use the provider any more may still have taken out of it what was put there.
    const team = wanted.length > 0 ? await findTeam(world.db, domain.team_id) : undefined;
    const provider = providerFor(world, team?.slug, setup.provider);
    const ttlSeconds = world.config.dns_providers[setup.provider]?.ttl_seconds ?? 300;
    const prepared = await prepare(world, domain, provider, { zone: setup.zone, isRemoval, ttlSeconds });
    const [inTheWay] = prepared.plan.inTheWay;
    // What can be published is: a new key must not wait for a tracking host that is taken.
    await publish(world, prepared, inTheWay !== undefined ? 'held_up' : wanted.length === 0 ? 'ends' : 'goes_on');
    if (inTheWay !== undefined) throw new ProviderFault('refused', inTheWay, { nothingChanged: true });
    return 'published';
  } catch (error) {
    if (!(error instanceof ProviderFault)) throw error;
    const waitMs = Math.min(RETRY_MS * 2 ** Math.min(setup.failures, 10), RETRY_MS_MAX);
    await noteSetupFault(world.db, domain.id, error.message, world.clock.now() + waitMs);
    const about = { domainId: domain.id, provider: setup.provider, zone: setup.zone, why: error.message, waitMs };
    world.log.warn(about, 'dns records could not be published');
    return error.kind;
  }
}
