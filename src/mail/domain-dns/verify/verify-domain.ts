import { eachLimit } from '../../../platform/limits/index.ts';
import { notFound, Refusal, refuse } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  findDomain,
  isOwnedElsewhere,
  mustWaitItsTurn,
  nameTaken,
  beginRotation,
  domainsToSweep,
  isRotationDue,
  noteChecked,
  saveChecks,
  isDnsAsked,
  mustBeAddable,
  readDomainName,
  registerDomain,
  findCheck,
  isVerifiedWithoutDns,
  presentDomain,
  presentWithdrawal,
  withdrawnUntil,
  forgetWithdrawals,
  recordStatusAfter,
  listedRecords,
  readCurrentRecords,
  changeDomain,
  planChange,
  recordsAdded,
  type DomainRow,
  type DomainStatus,
  type NewDomain,
  type DomainPatch,
} from '../../domains/index.ts';
import { checkRecords } from './check-records.ts';
import { findBimi } from './find-bimi.ts';
import { mayBeRepeated } from './explain-records.ts';

const BATCH = 50;
/**
 * Domains checked at a time. Each makes some ten queries: enough at one time to be quick, few enough for a resolver and
 * for other look-ups.
 */
const AT_A_TIME = 8;

/** Checks every domain that was not checked since the sweep began; checks without a result wait for the next sweep. */
export async function sweepDomains(world: World): Promise<number> {
  if (world.config.delivery.capture) return 0;
  const began = world.clock.now();
  let swept = 0;
  await forgetWithdrawals(world.db, began);
  for (;;) {
    const domains = await domainsToSweep(world.db, began, BATCH);
    let passed = 0;
    await eachLimit(domains, AT_A_TIME, async (domain) => {
      if (await sweepOne(world, domain)) passed++;
    });
    swept += passed;
    // A domain whose check cannot even be noted would be offered again at once.
    if (domains.length < BATCH || passed === 0) return swept;
  }
}

/** Checks a domain; returns whether it will not be offered again before the next sweep. */
async function sweepOne(world: World, domain: DomainRow): Promise<boolean> {
  try {
    try {
      await checkOne(world, domain);
    } catch (error) {
      // Another team has the name: the domain can be deleted, or the name claimed.
      if (!(error instanceof Refusal))
        world.log.error({ err: error, domainId: domain.id }, 'a domain could not be checked');
      await noteChecked(world.db, domain.id, world.clock.now());
    }
    return true;
  } catch (error) {
    world.log.error({ err: error, domainId: domain.id }, 'could not record that a domain was checked');
    return false;
  }
}

async function checkOne(world: World, domain: DomainRow): Promise<void> {
  if (domain.held_at === null && (await isOwnedElsewhere(world.db, domain.team_id, domain.name))) {
    return void (await noteChecked(world.db, domain.id, world.clock.now()));
  }
  await checkDomain(world, domain);
  if (await isRotationDue(world, domain)) await beginRotation(world, domain);
}

export async function createDomain(ctx: Ctx<World>, input: NewDomain) {
  if (input.capabilities?.receiving === 'enabled') {
    const { store: world, teamId } = ctx;
    const name = readDomainName(input.name);
    // DNS is queried last, so that a name the team may not have at all is reported first.
    await mustBeAddable(world, world.db, teamId, name);
    await mustFreeMx(world, name, false, CONFIRM_LATER);
  }
  const made = await registerDomain(ctx, input);
  return isDnsAsked(ctx.store) ? made : verifyAtOnce(ctx, made);
}

/** Verifies a domain in the development profile, in which no check of records queries DNS. */
async function verifyAtOnce(ctx: Ctx<World>, made: { id: string }) {
  const { store: world, teamId } = ctx;
  const domain = await findDomain(world.db, teamId, made.id);
  if (domain) await checkDomain(world, domain);
  return getDomain(ctx, made.id);
}

const CONFIRM_LATER =
  'register the domain without receiving; if you want to replace the MX, enable receiving afterwards with confirm_replace_mx.';

export async function updateDomain(ctx: Ctx<World>, id: string, input: DomainPatch) {
  const { store: world } = ctx;
  const planned = await planChange(ctx, id, input);
  if (!planned) return { object: 'domain' as const, id };
  const { change, before, after } = planned;
  if (change.receiving === 'enabled' && before.receiving !== 'enabled') {
    await mustFreeMx(world, before.name, input.confirm_replace_mx ?? false, CONFIRM);
  }
  const added = await recordsAdded(world, after);
  // Query before anything is locked; a domain that is not verified waits for its verification.
  const isAsked = after.checked_at !== null && added.length > 0;
  const checks = isAsked ? await checkRecords(world, after, added, { cache: false }) : [];
  const changed = await changeDomain(ctx, id, change, checks);
  return { object: 'domain' as const, id, ...presentWithdrawal(withdrawnUntil(changed, world.clock.now())) };
}

const CONFIRM = 'to receive it here instead, send confirm_replace_mx: true.';

/**
 * Returns the domain with the present DNS results of its records, from the resolver's short cache. Changes nothing:
 * only verification and sweep change the status of a domain.
 */
export async function getDomain(ctx: Ctx<World>, id: string) {
  const { store: world } = ctx;
  const domain = await findDomain(world.db, ctx.teamId, id);
  if (!domain) throw notFound('Domain');
  const records = listedRecords(await readCurrentRecords(world, id));
  // A look-up before anything is published makes resolvers cache that it does not exist: the first look-up is that of
  // verify.
  if (!isDnsAsked(world) || isVerifiedWithoutDns(world, domain) || domain.checked_at === null) {
    return presentDomain(world, domain, records);
  }
  const [checks, bimi] = await Promise.all([
    checkRecords(world, domain, records, { cache: true, diagnose: true }),
    findBimi(world, domain.name, { cache: true }),
  ]);
  return presentDomain(
    world,
    domain,
    records.map((record) => {
      const verdict = findCheck(checks, record)?.verdict ?? 'unknown';
      return { ...record, status: recordStatusAfter(domain, record, verdict) };
    }),
    { findCheck: (record) => findCheck(checks, record), bimi },
  );
}

/**
 * Refuses a name whose mail arrives elsewhere today, unless the caller confirms that it will no longer arrive there.
 */
async function mustFreeMx(world: World, name: string, confirmed: boolean, confirmBy: string): Promise<void> {
  // The development profile receives mail from this machine only, not by DNS.
  if (confirmed || world.config.delivery.capture) return;
  const answer = await world.resolver.mx(name, { cache: false });
  if (answer.kind === 'none') return;
  const { host } = world.config.instance;
  const ours = world.config.domains.receiving_mx.replaceAll('{host}', host).toLowerCase();
  const because =
    answer.kind === 'failed'
      ? `The MX of ${name} cannot be looked up (${answer.reason}), so mail may be delivered elsewhere`
      : await elsewhere(world, name, answer.records, ours);
  if (because) throw refuse('receiving_mx_in_use', { say: `${because}; ${confirmBy}` });
}

async function elsewhere(
  world: World,
  name: string,
  records: readonly { host: string }[],
  ours: string,
): Promise<string | undefined> {
  // RFC 7505: a null MX delivers nowhere.
  const others = records.map((mx) => mx.host).filter((host) => host !== '' && host !== ours);
  if (others.length === 0) return undefined;
  if (!(await mayBeRepeated(world, name, 'MX'))) return `Mail for ${name} is delivered to another server today`;
  const [first = ''] = others;
  const more = others.length === 1 ? '' : ` and ${others.length - 1} more`;
  return `Mail for ${name} is delivered to ${first.slice(0, 253)}${more} today`;
}

export async function verifyDomain(ctx: Ctx<World>, id: string): Promise<{ object: 'domain'; id: string }> {
  const { store: world, teamId } = ctx;
  const domain = await findDomain(world.db, teamId, id);
  if (!domain) throw notFound('Domain');
  if (await isOwnedElsewhere(world.db, teamId, domain.name)) throw nameTaken(domain.name);
  await mustWaitItsTurn(world, domain);
  // The BIMI record is looked up for the resolver's cache, which the next response shows.
  const [status] = await Promise.all([checkDomain(world, domain), findBimi(world, domain.name, { cache: false })]);
  if (status === undefined) throw notFound('Domain');
  return { object: 'domain', id };
}

/** Queries DNS for all records of a domain and saves the resulting state; undefined if the domain is gone. */
export async function checkDomain(world: World, domain: DomainRow): Promise<DomainStatus | undefined> {
  const records = await readCurrentRecords(world, domain.id);
  return saveChecks(world, domain, await checkRecords(world, domain, records, { cache: false }));
}
