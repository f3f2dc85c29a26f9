import type { ConfigureDomainDnsRequest, DnsChange } from '../../../contract/index.ts';
import { notFound, refuse } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  findSetup,
  LEAVING,
  publishedFor,
  computeFingerprint,
  forgetStrandedRecords,
  noteSetupFault,
  setupsAfter,
  wantedRecords,
  addPublished,
  beginSetup,
  endSetup,
  forgetPublished,
  lockSetups,
  saveSetup,
  yieldPublished,
  findHeirs,
  findInheritance,
  type SetupRow,
  type PublishedRow,
  type Inheritance,
} from '../../dns/index.ts';
import { hasLostName, openProof } from '../../domain-claims/index.ts';
import { findDomain, isOwnedElsewhere, type DomainRow } from '../../domains/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { chooseProvider, mayKnow, providerFor } from './choose-provider.ts';
import { queriesFor, planChanges, type Change, type Plan } from './plan-changes.ts';
import { ProviderFault, type DnsProvider, type RecordQuery, type ZoneRecord } from './provider.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { isSamePlain, type PlainRecord } from '../../../protocol/dns/index.ts';

/**
 * Keyed by an object of which each node has one: the store of a request may be another, which adds an entry to the
 * audit log.
 */
const underWay = new WeakMap<World['commits'], Set<string>>();
/** Each may wait for an unresponsive provider, and holds a socket for every query. */
const AT_ONCE_MAX = 16;

/** Runs `work` unless the same domain is being worked on ('busy'), or too many are ('full'). */
async function oneAtATime<T>(world: World, domainId: string, work: () => Promise<T>): Promise<T | 'busy' | 'full'> {
  const ids = underWay.get(world.commits) ?? new Set();
  underWay.set(world.commits, ids);
  if (ids.has(domainId)) return 'busy';
  if (ids.size >= AT_ONCE_MAX) return 'full';
  ids.add(domainId);
  try {
    return await work();
  } finally {
    ids.delete(domainId);
  }
}

/**
 * Effect of a change on automatic publishing: a caller starts it ('begins') or ends it ('ends'); the job continues it
 * ('goes_on'), or continues it but is blocked by a foreign record ('held_up'); what a caller's own token publishes is
 * independent of it ('apart').
 */
type Afterwards = 'begins' | 'ends' | 'goes_on' | 'held_up' | 'apart';

/** Longer than any provider takes; until then no other process continues what was begun. */
const BEGUN_MS = 10 * 60_000;

/**
 * Makes the prepared change. Before that, it records what is to be published and that a job has to see to it: neither a
 * crash nor a removal of the domain in between may leave records in the zone that are not known to be ours.
 */
async function publish(world: World, prepared: Prepared, afterwards: Afterwards): Promise<void> {
  const { provider, zone, plan, queries, seen, domain } = prepared;
  const { deletes, creates, changes } = plan;
  // Includes what is recorded already: that may be another node's entry, which that node deletes again if it comes too
  // late.
  const intended = creates.map((record): PublishedRow => ({
    id: world.ids.uuid(),
    domain_id: domain.id,
    provider: provider.name,
    zone,
    name: record.name,
    type: record.type,
    value: record.value,
    priority: record.priority,
    created_at: world.clock.now(),
  }));
  const isFirst = await world.db.tx(async (tx) => {
    await addPublished(tx, intended);
    if (afterwards !== 'begins') return false;
    const isNone = (await findSetup(tx, domain.id)) === undefined;
    const retryAt = world.clock.now() + BEGUN_MS;
    await beginSetup(tx, { ...buildSetup(world, prepared), fingerprint: '', retry_at: retryAt });
    return isNone;
  });
  if (changes.length > 0) {
    try {
      await provider.apply(zone, { deletes, creates, queries, seen });
    } catch (error) {
      if (error instanceof ProviderFault && error.nothingChanged) {
        await world.db.tx((tx) => giveUp(tx, prepared, intended, { isFirst, begins: afterwards === 'begins' }));
      }
      throw error;
    }
  }
  await world.db.tx((tx) => saveOutcome(world, tx, prepared, intended, afterwards));
  if (changes.length > 0) {
    const shown = changes.map(({ action, name, type }) => `${action} ${type} ${name}`);
    world.log.info({ domainId: domain.id, provider: provider.name, zone, changes: shown }, 'dns records were changed');
  }
}

/**
 * Deletes the entries of what was not published, and ends a setup that came to nothing unless another node goes on with
 * it.
 */
async function giveUp(
  tx: Executor,
  { domain, ours }: Prepared,
  intended: readonly PublishedRow[],
  { isFirst, begins }: { isFirst: boolean; begins: boolean },
): Promise<void> {
  const setup = (await lockSetups(tx, [domain.id])).get(domain.id);
  await forgetPublished(tx, toIds(intended));
  if (!begins || setup?.fingerprint !== '') return;
  const before = isFirst ? toIds(ours) : [];
  const others = (await publishedFor(tx, domain.id)).filter(({ id }) => !before.includes(id));
  if (others.length === 0) await endSetup(tx, domain.id);
}

/** Records which domain owns each record in the zone now, and whether the job publishes for it. */
async function saveOutcome(
  world: World,
  tx: Executor,
  prepared: Prepared,
  intended: readonly PublishedRow[],
  afterwards: Afterwards,
): Promise<void> {
  const { domain, plan, ours, heirlooms, inheritance, provider, zone } = prepared;
  const heirs = Map.groupBy(heirlooms, (heirloom) => heirloom.heirId);
  const heirIds = [...heirs.keys()].filter((id) => id !== undefined);
  const setups = await lockSetups(tx, [domain.id, ...heirIds, ...(inheritance?.domainIds ?? [])]);
  const setup = setups.get(domain.id);
  const isGoingOn = setup !== undefined && setup.fingerprint !== LEAVING;
  // A concurrent check that read the zone before the record was there has deleted its entry: add it again.
  await addPublished(tx, intended);
  // Delete the former entries of created records, which are recorded anew.
  const over = [...plan.deletes, ...plan.forgotten, ...plan.creates];
  const gone = ours.filter((row) => over.some((record) => isSamePlain(record, row)));
  await forgetPublished(tx, toIds(gone));
  // If there were no setup, the records that it inherits would never be removed.
  if (inheritance && (isGoingOn || afterwards === 'begins')) {
    await yieldPublished(tx, toIds(inheritance.rows), domain.id);
    for (const left of inheritance.domainIds) await endSetup(tx, left);
  }
  for (const heirId of heirIds) {
    const heir = setups.get(heirId);
    // It may have removed its records meanwhile.
    if (heir?.provider !== provider.name || heir.zone !== zone || heir.fingerprint === LEAVING) continue;
    await yieldPublished(tx, toIds((heirs.get(heirId) ?? []).map(({ row }) => row)), heirId);
  }
  const next = buildSetup(world, prepared);
  if (afterwards === 'begins') {
    // If another process has removed records meanwhile, the job compares once more.
    await saveSetup(tx, isGoingOn ? next : { ...next, fingerprint: '' });
  } else if (afterwards === 'goes_on' && isGoingOn) {
    await saveSetup(tx, next);
  } else if (afterwards === 'ends' || (afterwards !== 'apart' && !isGoingOn)) {
    const left = (await publishedFor(tx, domain.id)).some((row) => row.provider === provider.name && row.zone === zone);
    const leaving = { ...next, fingerprint: LEAVING, retry_at: setup?.retry_at ?? null };
    if (!left) await endSetup(tx, domain.id);
    else if (setup?.fingerprint !== LEAVING) await saveSetup(tx, leaving);
  }
}

const toIds = (rows: readonly PublishedRow[]): string[] => rows.map((row) => row.id);

const buildSetup = (world: World, { domain, provider, zone, fingerprint }: Prepared) => ({
  domain_id: domain.id,
  team_id: domain.team_id,
  domain_name: domain.name,
  provider: provider.name,
  zone,
  fingerprint,
  failures: 0,
  fault: null,
  retry_at: null,
  created_at: world.clock.now(),
});

/** Publishes what a domain wants, or with `dry_run` shows what that would change. */
export async function configureDomainDns(ctx: Ctx<World>, id: string, input: ConfigureDomainDnsRequest) {
  const done = await oneAtATime(ctx.store, id, () => configure(ctx, id, input).catch(throwRefusal));
  if (done === 'busy') {
    throw refuse('resource_locked', {
      say: 'The records of this domain are already being published; try again when that is done.',
    });
  }
  if (done === 'full') {
    const say = `The records of ${AT_ONCE_MAX} domains are already being published; try again in a moment.`;
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
  // Nothing is published automatically with a token that is not kept, unless it was before.
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

/** Refuses a domain whose name belongs to another team, unless an open claim has a proof to publish. */
async function mustHaveName(world: World, domain: DomainRow): Promise<void> {
  const { team_id: teamId, name } = domain;
  if ((await isOwnedElsewhere(world.db, teamId, name)) && !(await openProof(world, domain))) {
    const say = `The domain ${name} is verified by another team; claim it to move it to yours.`;
    throw refuse('resource_locked', { say, claimable: true });
  }
  if (await hasLostName(world.db, domain)) {
    const say = `The domain ${name} was moved to another team by a claim. To get it back, publish the records of its zone file by hand and verify it.`;
    throw refuse('resource_locked', { say });
  }
}

function presentChange({ action, name, type, value, ttl, priority }: Change): DnsChange {
  if (!isPublished(type)) throw new Error(`a DNS change is for a ${type} record, which is never published`);
  return { action, name, type, value, ttl, ...(priority === null ? {} : { priority }) };
}

const PUBLISHED: readonly string[] = ['TXT', 'MX', 'CNAME', 'CAA'] satisfies DnsChange['type'][];
const isPublished = (type: string): type is DnsChange['type'] => PUBLISHED.includes(type);

function mustBeTheSame(domain: string, provider: string, before: string | undefined, isLeaving: boolean): void {
  if (before === undefined || before === provider) return;
  const say = isLeaving
    ? `A record of ${domain} that was published with the provider ${before} is still needed by another domain; publish with ${before} until that domain publishes its own records or is removed.`
    : `The records of ${domain} were published with the provider ${before}; remove them with it first (remove), then publish them with ${provider}.`;
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

function throwRefusal(error: unknown): never {
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

const BATCH = 50;
const RETRY_MS = 60_000;
const RETRY_MS_MAX = 6 * 3_600_000;

/**
 * Publishes the records that configured domains want by now, such as a new DKIM key, and removes those of domains that
 * are gone or belong to another team now. Queries the provider only for domains whose records changed.
 */
export async function publishConfigured(world: World): Promise<number> {
  let published = 0;
  // Do not wait for an unresponsive provider again for each of its domains.
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
  if (wanted.length > 0 && computeFingerprint(wanted) === setup.fingerprint) return 'unchanged';
  // Another process may have ended or finished it since the list was read.
  if ((await findSetup(world.db, domain.id))?.fingerprint !== setup.fingerprint) return 'unchanged';
  try {
    // A team that may not use the provider any more may still remove the records that were published there.
    const team = wanted.length > 0 ? await findTeam(world.db, domain.team_id) : undefined;
    const provider = providerFor(world, team?.slug, setup.provider);
    const ttlSeconds = world.config.dns_providers[setup.provider]?.ttl_seconds ?? 300;
    const prepared = await prepare(world, domain, provider, { zone: setup.zone, isRemoval, ttlSeconds });
    const [inTheWay] = prepared.plan.inTheWay;
    // Publish what can be published: a new key must not wait for a tracking host that is taken.
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

interface SetupDomain {
  id: string;
  team_id: string;
  name: string;
}

interface Heirloom {
  row: PublishedRow;
  /**
   * The domain that publishes there automatically; without one, the record stays in place, and this domain must remove
   * it.
   */
  heirId: string | undefined;
}

interface Prepared {
  domain: SetupDomain;
  provider: DnsProvider;
  zone: string;
  plan: Plan;
  queries: RecordQuery[];
  seen: ZoneRecord[];
  ours: PublishedRow[];
  /** Our records that this domain does not want any more, but another does. */
  heirlooms: Heirloom[];
  /** Records of copies of the name that are gone or belong to another team; this domain removes them from now on. */
  inheritance: Inheritance | undefined;
  fingerprint: string;
}

/** Reads the zone and compares; it changes nothing there. */
async function prepare(
  world: World,
  domain: SetupDomain,
  provider: DnsProvider,
  options: { zone?: string; isRemoval: boolean; ttlSeconds: number },
): Promise<Prepared> {
  const zone = options.zone ?? (await provider.findZone(domain.name));
  const wanted = options.isRemoval ? [] : await wantedRecords(world, domain);
  const isHere = (row: PublishedRow): boolean => row.provider === provider.name && row.zone === zone;
  const inheritance = wanted.length === 0 ? undefined : await findInheritance(world, domain, provider.name);
  const rows = [...(await publishedFor(world.db, domain.id)), ...(inheritance?.rows ?? [])].filter(isHere);
  const heirlooms = await heirloomsAmong(world, domain, rows, wanted);
  const ours = rows.filter((row) => !heirlooms.some((heirloom) => heirloom.row === row));
  const queries = queriesFor(wanted, ours);
  const seen = queries.length === 0 ? [] : await provider.recordsAt(zone, queries);
  const plan = planChanges({ wanted, ours, seen, ttlSeconds: options.ttlSeconds });
  return {
    domain,
    provider,
    zone,
    plan,
    queries,
    seen,
    ours,
    heirlooms,
    inheritance,
    fingerprint: computeFingerprint(wanted),
  };
}

/**
 * Finds records that other domains need too: the MX record of a return path may also be that of a receiving domain of
 * its name. A record is removed with the last of them.
 */
async function heirloomsAmong(
  world: World,
  domain: SetupDomain,
  rows: readonly PublishedRow[],
  wanted: readonly PlainRecord[],
): Promise<Heirloom[]> {
  const left = rows.filter((row) => !wanted.some((record) => isSamePlain(record, row)));
  if (left.length === 0) return [];
  // The records that a domain wants are at its name or below.
  const names = [...new Set(left.flatMap((row) => namesAbove(row.name)))];
  const heirs = await Promise.all(
    (await findHeirs(world.db, names, domain.id)).map(async (heir) => ({
      ...heir,
      wants: await wantedRecords(world, heir),
    })),
  );
  return left.flatMap((row) => {
    const wanting = heirs.filter(({ wants }) => wants.some((record) => isSamePlain(record, row)));
    const heir = wanting.find(({ provider, zone }) => provider === row.provider && zone === row.zone);
    return wanting.length > 0 ? [{ row, heirId: heir?.id }] : [];
  });
}

/** Lists the name itself and every name above it. */
function namesAbove(name: string): string[] {
  const labels = name.toLowerCase().split('.');
  return labels.map((_, i) => labels.slice(i).join('.'));
}
