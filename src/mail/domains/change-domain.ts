import { defineHook } from '../../platform/hook.ts';
import { recordEvents } from '../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { readOwnHosts } from '../../tenancy/instance/index.ts';
import { mustBeOfUse, deriveDomainStatus } from './domain-state.ts';
import {
  listDkimKeys,
  findDomain,
  lockDomain,
  saveSettings,
  saveState,
  recordsToCheck,
  saveRecords,
  readFormerSubdomains,
  deleteDomainRows,
  type DomainChange,
} from './domains.store.ts';
import { isSameRecord, type DomainRow, type RecordRow } from './domain-rows.ts';
import { rebuildRecords, expectedRecords, findCheck, returnPathClash, type RecordCheck } from './domain-records.ts';
import { mustFitDns, type DomainPatch } from './register-domain.ts';
import { presentDomainEvent, presentRemaining, presentWithdrawal } from './present.ts';
import { cachedUntilAfter, mustAllowEnforcing, mustAllowMode, stsRecords, withdrawnUntil } from './mta-sts.ts';
import { saveWithdrawal } from './mta-sts.store.ts';
import { stateAfter } from './save-checks.ts';

/** Mail with the old host is read for weeks; after three months hardly anybody opens it again. */
const FORMER_MS = 90 * 24 * 3_600_000;
/** A team that changes it more often than this does not depend on the old links. */
const FORMER_MAX = 20;

/** Returns the labels whose links go on working once the domain's tracking subdomain changes; undefined if it stays. */
function formerSubdomainsAfter(before: DomainRow, label: string | undefined, now: number): string | undefined {
  if (label === undefined || label === before.tracking_subdomain) return undefined;
  const others = readFormerSubdomains(before).filter(
    (former) => former.until > now && former.label !== label && former.label !== before.tracking_subdomain,
  );
  return JSON.stringify([{ label: before.tracking_subdomain, until: now + FORMER_MS }, ...others].slice(0, FORMER_MAX));
}

/** Deletes data of features that is useless without its domain. */
export const deleteOfDomain = defineHook<(tx: Executor, ctx: Ctx, domainId: string) => Promise<void>>('deleteOfDomain');

/**
 * Deletes a domain. Sent emails are kept; queued ones cannot be signed any more and fail when their turn comes. Its
 * MTA-STS policy is withdrawn.
 */
export async function deleteDomain(ctx: Ctx, id: string) {
  const { store, teamId } = ctx;
  const now = store.clock.now();
  const { until, remaining } = await store.db.tx(async (tx) => {
    const domain = await lockDomain(tx, teamId, id);
    if (!domain) throw notFound('Domain');
    const records = await recordsToCheck(tx, id);
    const after = await changeStsMode(store, tx, domain, { ...domain, mta_sts: 'off' }, records);
    const data = presentDomainEvent(domain, records);
    await deleteOfDomain.call(tx, ctx, id);
    await deleteDomainRows(tx, id);
    await recordEvents(tx, store.ids, [{ teamId, type: 'domain.deleted', subjectId: id, data, at: now }]);
    const wanted = stsRecords(store, after, await readOwnHosts(store, tx));
    return { until: withdrawnUntil(after, now), remaining: presentRemaining(wanted, records) };
  });
  return {
    object: 'domain' as const,
    id,
    deleted: true as const,
    ...presentWithdrawal(until),
    ...(until === undefined ? {} : { records: remaining }),
  };
}

/** A change that the present state of the domain permits, with the records that it adds. */
interface PlannedChange {
  change: DomainChange;
  before: DomainRow;
  after: DomainRow;
}

/** Returns undefined if nothing is to be changed. */
export async function planChange(ctx: Ctx, id: string, input: DomainPatch): Promise<PlannedChange | undefined> {
  const before = await findDomain(ctx.store.db, ctx.teamId, id);
  if (!before) throw notFound('Domain');
  const change = toChange(input);
  if (Object.keys(change).length === 0) return undefined;
  const after = withChange(before, change);
  mustBePossible(after, change);
  const records = await recordsToCheck(ctx.store.db, id);
  mustAllowChange(before, after, records);
  return {
    change,
    before,
    after: { ...after, sts_cached_until: computeCachedUntil(ctx.store, before, after, records) },
  };
}

/** Returns the records that a domain is about to require in addition. */
export async function recordsAdded(store: Store, domain: DomainRow): Promise<RecordRow[]> {
  const stored = await recordsToCheck(store.db, domain.id);
  const wanted = await expectedRecords(store, store.db, domain, await listDkimKeys(store.db, domain.id));
  const added = wanted.filter((record) => !stored.some((other) => isSameRecord(other, record)));
  mustFitDns(
    added.filter((record) => record.record === 'Tracking'),
    'tracking_subdomain',
  );
  return added;
}

/**
 * Makes a planned change, and returns the domain. `checks` holds the DNS results for the records that it adds, as far as
 * they were looked up.
 */
export async function changeDomain(
  ctx: Ctx,
  id: string,
  planned: DomainChange,
  checks: readonly RecordCheck[],
): Promise<DomainRow> {
  const { store, teamId } = ctx;
  return store.db.tx(async (tx) => {
    const locked = await lockDomain(tx, teamId, id);
    if (!locked) throw notFound('Domain');
    // Another request may have changed it meanwhile.
    const wished = withChange(locked, planned);
    mustBePossible(wished, planned);
    const stored = await recordsToCheck(tx, id);
    mustAllowChange(locked, wished, stored);
    const { sts_cached_until } = await changeStsMode(store, tx, locked, wished, stored);
    const change = { ...planned, mta_sts: wished.mta_sts };
    const former = formerSubdomainsAfter(locked, change.tracking_subdomain, store.clock.now());
    await saveSettings(
      tx,
      teamId,
      id,
      former === undefined ? change : { ...change, former_tracking_subdomains: former },
    );
    const after = await applyChange(store, tx, { ...locked, sts_cached_until }, change, checks);
    const data = presentDomainEvent(after.domain, after.records);
    const at = store.clock.now();
    await recordEvents(tx, store.ids, [{ teamId, type: 'domain.updated', subjectId: id, data, at }]);
    return after.domain;
  });
}

/** Adds the records that the settings require now to a domain, without querying DNS. */
export async function renewRecords(ctx: Ctx, domain: DomainRow): Promise<void> {
  if ((await recordsAdded(ctx.store, domain)).length > 0) await changeDomain(ctx, domain.id, {}, []);
}

function toChange(input: DomainPatch): DomainChange {
  const { capabilities = {} } = input;
  const change: DomainChange = {};
  if (input.open_tracking !== undefined) change.open_tracking = input.open_tracking ? 1 : 0;
  if (input.click_tracking !== undefined) change.click_tracking = input.click_tracking ? 1 : 0;
  if (input.tls !== undefined) change.tls = input.tls;
  if (input.tls_verify !== undefined) change.tls_verify = input.tls_verify ? 1 : 0;
  if (input.tracking_subdomain !== undefined) change.tracking_subdomain = input.tracking_subdomain.toLowerCase();
  if (input.mta_sts !== undefined) change.mta_sts = input.mta_sts;
  if (capabilities.sending !== undefined) change.sending = capabilities.sending;
  if (capabilities.receiving !== undefined) change.receiving = capabilities.receiving;
  return change;
}

/** Applies a change to a domain. Without receiving there is no policy, unless the change asks for one by mistake. */
function withChange(before: DomainRow, change: DomainChange): DomainRow {
  const after = { ...before, ...change };
  const ends = after.receiving !== 'enabled' && change.mta_sts === undefined;
  return ends ? { ...after, mta_sts: 'off' } : after;
}

function mustAllowChange(before: DomainRow, after: DomainRow, records: readonly RecordRow[]): void {
  mustAllowMode(after);
  if (after.mta_sts === 'enforce' && before.mta_sts !== 'enforce') mustAllowEnforcing(before.mta_sts, records);
}

const computeCachedUntil = (
  store: Store,
  before: DomainRow,
  after: DomainRow,
  records: readonly RecordRow[],
): number | null =>
  before.mta_sts === after.mta_sts ? before.sts_cached_until : cachedUntilAfter(store, before, records);

/** Records until when senders may apply the former policy, if the mode changes, and returns the resulting domain. */
async function changeStsMode(
  store: Store,
  tx: Executor,
  before: DomainRow,
  after: DomainRow,
  records: readonly RecordRow[],
): Promise<DomainRow> {
  const until = computeCachedUntil(store, before, after, records);
  if (until !== null && until !== before.sts_cached_until) await saveWithdrawal(tx, before.name, until);
  return { ...after, sts_cached_until: until };
}

function mustBePossible(after: DomainRow, change: DomainChange): void {
  mustBeOfUse(after, change.sending === 'disabled' ? 'sending' : 'receiving');
  const clash = returnPathClash(after);
  if (clash) throw clash;
}

/** Saves a change. A record that existed before keeps what is known of it. */
async function applyChange(
  store: Store,
  tx: Executor,
  locked: DomainRow,
  change: DomainChange,
  checks: readonly RecordCheck[],
): Promise<{ domain: DomainRow; records: RecordRow[] }> {
  const now = store.clock.now();
  const domain: DomainRow = { ...locked, ...change, ...receivingAnew(locked, change, now) };
  const stored = await recordsToCheck(tx, domain.id);
  const keys = await listDkimKeys(tx, domain.id);
  const records = await rebuildRecords(store, tx, { domain, keys, stored });
  // Another request may have changed the domain meanwhile: results for another name do not count.
  const judged = stateAfter(store, domain, records, (record) => findCheck(checks, record), now);
  // A check of some of its records is no check of the domain, so `checked_at` stays.
  const after: DomainRow = {
    ...judged.domain,
    checked_at: locked.checked_at,
    first_checked_at: locked.first_checked_at,
  };
  after.status = deriveDomainStatus(after);
  await saveState(tx, after);
  await saveRecords(tx, domain.id, stored, judged.records);
  return { domain: after, records: judged.records };
}

/** Resets what is known of receiving when it is switched on or off. */
function receivingAnew(locked: DomainRow, { receiving }: DomainChange, now: number): Partial<DomainRow> {
  if (receiving === undefined || receiving === locked.receiving) return {};
  return {
    receiving_since: receiving === 'enabled' ? now : null,
    receiving_verified_at: null,
    receiving_failing_since: null,
    receiving_lost_at: null,
  };
}
