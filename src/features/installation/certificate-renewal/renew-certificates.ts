import { repeat } from '../../../platform/clock.ts';
import type { World } from '../../../platform/world.ts';
import { AcmeFault, readRenewalWindow, renewalId, renewalTime, type Chain } from '../../../protocol/acme/index.ts';
import { asksForCertificates, keepWanted } from '../certificates/certificates.ts';
import {
  claimDue,
  noteFailure,
  noteIssued,
  putOff,
  releaseLease,
  removeChallenges,
  renewLease,
  certificatesAtRest,
  renewSooner,
  type CertificateRow,
} from '../certificates/certificates.store.ts';
import { valueWithHost } from '../../../mail/domains/index.ts';
import { createSendSwitch, readOwnHosts } from '../../../tenancy/instance/index.ts';
import { forgetAccount, openAccount, createAuthority, type Account, type Authority } from './certificate-authority.ts';
import {
  removeProofs,
  removeStrayProofs,
  completeOrder,
  held,
  NotYet,
  type OrderInProgress,
} from './complete-order.ts';
import { X509Certificate } from 'node:crypto';

const SOONEST_RENEWAL_MS = 60_000;

/** Returns the time that the authority suggests, or two thirds of the lifetime if it suggests none. */
async function askRenewalTime(world: World, authority: Authority, chain: Chain): Promise<number> {
  const usual = renewalTime(chain, world.random());
  const wanted = await suggested(world, authority, chain.leaf);
  // A suggestion in the past makes no sense for a certificate issued just now, and would order again each minute.
  if (wanted === undefined || wanted >= chain.endsAt || wanted <= world.clock.now()) return usual;
  return Math.max(world.clock.now() + SOONEST_RENEWAL_MS, wanted);
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
    world.log.warn({ reason: error.message }, 'an authority does not provide renewal information');
    return undefined;
  }
}

/**
 * Asks for new renewal times of waiting certificates: an authority that is about to revoke many wants them replaced at
 * once.
 */
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

const MINUTE_MS = 60_000;
const LEASE_MS = 2 * MINUTE_MS;
const RENEW_LEASE_MS = MINUTE_MS / 2;
/** Delay after the first failure; it doubles each time, up to half a day. */
const RETRY_MS = MINUTE_MS;
const RETRY_MS_MAX = 720 * MINUTE_MS;
/** Limit for one run, so that it ends; the next run starts in a minute. */
const AT_MOST = 20;

/**
 * Issues and renews due certificates, one after the other. Each is leased to one node while it is processed; the
 * current certificate stays in use until its successor exists, whatever fails. Returns how many were issued and how
 * many failed.
 */
export async function renewCertificates(
  world: World,
  stopping: AbortSignal = new AbortController().signal,
): Promise<{ issued: number; failed: number }> {
  const done = { issued: 0, failed: 0 };
  if (!asksForCertificates(world.config)) return done;
  // The names point to the original, and a copy would use up its limits at the authority.
  if ((await createSendSwitch(world)()).isRestored === true) return done;
  await removeStrayProofs(world);
  await keepWanted(world);
  const authority = createAuthority(world, world.config.acme.directory, stopping);
  for (let count = 0; count < AT_MOST && !stopping.aborted; count++) {
    const owner = world.ids.uuid();
    const row = await claimDue(world.db, buildLease(world, owner));
    if (!row) return done;
    const outcome = await renewLeased(world, { authority, row, owner, stopping });
    if (outcome !== undefined) done[outcome]++;
  }
  return done;
}

const buildLease = ({ clock }: World, owner: string) => ({ owner, now: clock.now(), until: clock.now() + LEASE_MS });

interface Leased {
  authority: Authority;
  row: CertificateRow;
  owner: string;
  stopping: AbortSignal;
}

async function renewLeased(world: World, leased: Leased): Promise<'issued' | 'failed' | undefined> {
  const { row, owner, stopping } = leased;
  const lost = new AbortController();
  const end = repeat(world.clock, RENEW_LEASE_MS, async () => {
    const keeps = await renewLease(world.db, row.id, buildLease(world, owner)).catch(() => true);
    if (!keeps) lost.abort();
  });
  try {
    return await renew(world, { ...leased, stopping: AbortSignal.any([stopping, lost.signal]) });
  } finally {
    end();
    await releaseLease(world.db, row.id, owner);
  }
}

async function renew(world: World, { authority, row, owner, stopping }: Leased) {
  const { clock, db, log } = world;
  let account: Account | undefined;
  try {
    await mustLeadHere(world, row);
    account = await openAccount(world, authority);
    const on: OrderInProgress = { world, authority, account, row, owner, signal: stopping };
    const { chain, sealedKey } = await completeOrder(on);
    const renewAt = await askRenewalTime(world, authority, chain);
    const { pem, startsAt, endsAt } = chain;
    const issued = { chain: pem, key: sealedKey, startsAt, endsAt, renewAt };
    // Other names are wanted by now, or another node holds the lease.
    if ((await noteIssued(db, held(on), issued)) === 0) return undefined;
    await removeChallenges(db, row.id);
    await removeProofs(world, row.id);
    log.info({ name: row.name, endsAt: new Date(endsAt).toISOString() }, 'a certificate was issued');
    return 'issued' as const;
  } catch (error) {
    if (error instanceof NotYet) {
      await putOff(db, { id: row.id, names: row.names, owner }, clock.now() + error.waitMs);
      return undefined;
    }
    if (!(error instanceof AcmeFault)) throw error;
    if (account && error.problem === 'accountDoesNotExist') await forgetAccount(world, account);
    const nextTryAt = clock.now() + Math.max(error.waitMs ?? 0, backOff(world, row.failures));
    await noteFailure(
      db,
      { id: row.id, names: row.names, owner },
      { error: error.message, now: clock.now(), nextTryAt },
    );
    const reason = error.message;
    log.warn({ name: row.name, reason, nextTryAt: new Date(nextTryAt).toISOString() }, 'a certificate was not issued');
    return 'failed' as const;
  }
}

/** Returns the delay with up to a quarter of jitter, so that many do not retry together. */
const backOff = ({ random }: World, failures: number): number =>
  Math.round(Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** Math.min(failures, 20)) * (1 + random() / 4));

/** Throws if a name of a customer, such as a tracking host, no longer points here; it is then not ordered. */
async function mustLeadHere(world: World, { kind, name }: CertificateRow): Promise<void> {
  if (kind === 'host') return;
  const { config, resolver } = world;
  const record = kind === 'mta_sts' ? ('MTA-STS' as const) : ('Tracking' as const);
  const { all } = await readOwnHosts(world, world.db);
  const wanted = [config.instance.host, ...all].map((host) => valueWithHost(config, { record, type: 'CNAME' }, host));
  const answer = await resolver.cname(name);
  if (answer.kind === 'failed') throw new AcmeFault(`where ${name} leads could not be looked up: ${answer.reason}`);
  if (answer.kind !== 'found' || !answer.records.some((target) => wanted.includes(target)))
    throw new AcmeFault(`${name} does not lead to ${wanted[0]} any more; nothing is asked for`);
}
