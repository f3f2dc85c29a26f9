import type { ConfigureDomainDnsRequest, DnsChange } from '../../../contract/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findSetup, LEAVING, publishedFor } from '../../dns/index.ts';
import { hasLostName, openProof } from '../../domain-claims/index.ts';
import { findDomain, isOwnedElsewhere, type DomainRow } from '../../domains/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { chooseProvider, mayKnow } from './choose-provider.ts';
import { AT_ONCE_MAX, oneAtATime } from './one-at-a-time.ts';
import type { Change } from './plan-changes.ts';
import { prepare } from './prepare.ts';
import { ProviderFault } from './provider.ts';
import { publish } from './publish.ts';

/** Publishes what a domain wants, or says what that would change. */
export async function configureDomainDns(ctx: Ctx<World>, id: string, input: ConfigureDomainDnsRequest) {
  const done = await oneAtATime(ctx.store, id, () => configure(ctx, id, input).catch(refusalOf));
  if (done === 'busy') {
    throw refuse('resource_locked', { say: 'The records of this domain are being published already; try again then.' });
  }
  if (done === 'full') {
    const say = `The records of ${AT_ONCE_MAX} domains are being published already; try again in a moment.`;
    throw refuse('service_unavailable', { say });
  }
  return done;
}

async function configure({ store: world, teamId }: Ctx<World>, id: string, input: ConfigureDomainDnsRequest) {
  const { dry_run: isDryRun = false, remove: isRemoval = false, api_token: apiToken } = input;
  const domain = await findDomain(world.db, teamId, id);
  const team = await findTeam(world.db, teamId);
  if (!domain || !team) throw notFound('Domain');
  if (!isRemoval) await mustHaveName(world, domain);
  const published = await publishedFor(world.db, id);
  const setup = await findSetup(world.db, id);
  const before = setup?.provider ?? published.find((row) => mayKnow(world, team, row.provider))?.provider;
  const wish = { provider: input.provider, apiToken };
  const { provider, isOperators } = chooseProvider(world, team, domain.name, wish, before);
  mustBeTheSame(domain.name, provider.name, before, setup?.fingerprint === LEAVING);
  const ttlSeconds = world.config.dns_providers[provider.name]?.ttl_seconds ?? 300;
  const prepared = await prepare(world, domain, provider, { isRemoval, ttlSeconds });
  mustBeFree(prepared.plan.inTheWay);
  // Nothing is published by itself with a token that is not kept, unless it was before.
  const byItself = isOperators || setup ? (isRemoval ? 'ends' : 'begins') : 'apart';
  if (!isDryRun) await publish(world, prepared, byItself);
  return {
    object: 'dns_configuration' as const,
    domain_id: id,
    provider: provider.name,
    zone: prepared.zone,
    dry_run: isDryRun,
    changes: prepared.plan.changes.map(presentChange),
  };
}

/** An open claim of the name publishes its proof. */
async function mustHaveName(world: World, domain: DomainRow): Promise<void> {
  const { team_id: teamId, name } = domain;
  if ((await isOwnedElsewhere(world.db, teamId, name)) && !(await openProof(world, domain))) {
    const say = `The domain ${name} is verified by another team; claim it to move it to yours.`;
    throw refuse('resource_locked', { say, claimable: true });
  }
  if (await hasLostName(world.db, domain)) {
    const say = `The domain ${name} was moved to another team by a claim. To have it back, publish the records of its zone file by hand and verify it.`;
    throw refuse('resource_locked', { say });
  }
}

function presentChange({ action, name, type, value, ttl, priority }: Change): DnsChange {
  if (!isPublished(type)) throw new Error(`only records of ours are changed, and none of them is a ${type}`);
  return { action, name, type, value, ttl, ...(priority === null ? {} : { priority }) };
}

const PUBLISHED: readonly string[] = ['TXT', 'MX', 'CNAME', 'CAA'] satisfies DnsChange['type'][];
const isPublished = (type: string): type is DnsChange['type'] => PUBLISHED.includes(type);

function mustBeTheSame(domain: string, provider: string, before: string | undefined, isLeaving: boolean): void {
  if (before === undefined || before === provider) return;
  const say = isLeaving
    ? `A record of ${domain} that was published with the provider ${before} stays while another domain needs it; until that one publishes by itself or is removed, publish with ${before}.`
    : `The records of ${domain} were published with the provider ${before}; take them back with it first (remove), then publish them with ${provider}.`;
  throw refuse('validation_error', { status: 422, say });
}

function mustBeFree(inTheWay: readonly string[]): void {
  const [first, ...others] = inTheWay;
  if (first === undefined) return;
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  throw refuse('validation_error', {
    status: 422,
    say: first + more,
    errors: inTheWay.map((message) => ({ path: 'records', message })),
  });
}

function refusalOf(error: unknown): never {
  if (!(error instanceof ProviderFault)) throw error;
  const { kind, message: say, cause: because } = error;
  switch (kind) {
    case 'refused':
      throw refuse('validation_error', { status: 422, say, because });
    case 'changed':
      throw refuse('resource_locked', { say, because });
    case 'unavailable':
      throw refuse('service_unavailable', { say, because });
  }
}
