import { recordEvents } from '../events/index.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import {
  insertKeys,
  listDkimKeys,
  findDomain,
  lockDomain,
  recordsToCheck,
  saveRecords,
  deleteKeys,
  saveState,
  claimAsk,
} from './domains.store.ts';
import { newDkimKeys, RSA_BITS, rebuildRecords, type RsaBits } from './domain-records.ts';
import type { DkimKeyRow, DomainRow, RecordRow } from './domain-rows.ts';
import { presentDomain, presentDomainEvent } from './present.ts';
import type { Executor } from '../../platform/db/index.ts';
import { isVerifiedWithoutDns, deriveDomainStatus } from './domain-state.ts';

/**
 * Starts replacing a domain's keys without a gap: the new ones are published along with the old, which sign until the
 * new record is seen. A repeated call during that wait returns the same keys.
 */
export async function rotateDkim(ctx: Ctx, id: string) {
  const { store, teamId } = ctx;
  const domain = await findDomain(store.db, teamId, id);
  if (!domain) throw notFound('Domain');
  const rotated = await beginRotation(store, domain);
  if (!rotated) throw notFound('Domain');
  return presentDomain(store, rotated.row, rotated.records);
}

/** Returns undefined if the domain is gone. */
export async function beginRotation(
  store: Store,
  asked: DomainRow,
): Promise<{ row: DomainRow; records: RecordRow[] } | undefined> {
  mustBeVerified(asked);
  const before = await listDkimKeys(store.db, asked.id);
  const incoming = isUnderWay(before) ? [] : await incomingKeys(store, asked, before);
  return store.db.tx(async (tx) => {
    const row = await lockDomain(tx, asked.team_id, asked.id);
    if (!row) return undefined;
    mustBeVerified(row);
    const stored = await recordsToCheck(tx, row.id);
    const keys = await listDkimKeys(tx, row.id);
    // Of two requests at the same moment, one starts the rotation and both return it.
    if (isUnderWay(keys) || incoming.length === 0) return { row, records: stored };
    await insertKeys(tx, incoming);
    const wanted = await rebuildRecords(store, tx, { domain: row, keys: [...keys, ...incoming], stored });
    // The domain of the development profile is verified without DNS, and so are its records.
    const isDecreed = store.config.delivery.capture;
    const records = isDecreed ? wanted.map((record) => ({ ...record, status: 'verified' as const })) : wanted;
    await saveRecords(tx, row.id, stored, records);
    const data = presentDomainEvent(row, records);
    const at = store.clock.now();
    await recordEvents(tx, store.ids, [{ teamId: row.team_id, type: 'domain.updated', subjectId: row.id, data, at }]);
    return { row, records };
  });
}

const DAY_MS = 86_400_000;

/** Reports whether the configuration requires new keys by now. */
export async function isRotationDue(store: Store, domain: DomainRow): Promise<boolean> {
  const { rotate_days: days } = store.config.domains;
  if (days === 0 || domain.verified_at === null) return false;
  const keys = await listDkimKeys(store.db, domain.id);
  if (isUnderWay(keys)) return false;
  const active = keys.find(isSigning);
  return active !== undefined && (active.status_at ?? active.created_at) + days * DAY_MS <= store.clock.now();
}

const isUnderWay = (keys: readonly DkimKeyRow[]): boolean => keys.some((key) => key.status === 'incoming');
const isSigning = (key: DkimKeyRow): boolean => key.status === 'active' && key.algorithm === 'rsa-sha256';

/** Makes new keys of the length of those they replace: 1024 bits are chosen for a DNS host that accepts no more. */
const incomingKeys = (store: Store, domain: DomainRow, before: readonly DkimKeyRow[]): Promise<DkimKeyRow[]> =>
  newDkimKeys(store, domain.id, { bits: before.find(isSigning)?.bits ?? RSA_BITS, status: 'incoming' });

function mustBeVerified(domain: DomainRow): void {
  if (domain.verified_at !== null) return;
  throw refuse('validation_error', {
    status: 422,
    say: `The domain ${domain.name} is not verified, so none of its keys is in use; publish its records, or regenerate its keys.`,
  });
}

/**
 * Replaces a key that may have leaked: every key of the domain goes out of use at once, and nothing is sent until the
 * new record is seen. A key that is merely old is rotated instead, without a gap.
 */
export async function regenerateDkim(ctx: Ctx, id: string, input: { key_bits: RsaBits }) {
  const { store, teamId } = ctx;
  const domain = await findDomain(store.db, teamId, id);
  if (!domain) throw notFound('Domain');
  await mustWaitItsTurn(store, domain);
  const keys = await newDkimKeys(store, id, { bits: input.key_bits });
  return store.db.tx(async (tx) => {
    const locked = await lockDomain(tx, teamId, id);
    if (!locked) throw notFound('Domain');
    const after = await replaceKeys(store, tx, locked, keys);
    const data = presentDomainEvent(after.row, after.records);
    const at = store.clock.now();
    await recordEvents(tx, store.ids, [{ teamId, type: 'domain.updated', subjectId: id, data, at }]);
    return presentDomain(store, after.row, after.records);
  });
}

/** Takes every key of a locked domain out of use. It may not be sent from until the record of the new one is seen. */
async function replaceKeys(
  store: Store,
  tx: Executor,
  domain: DomainRow,
  keys: readonly DkimKeyRow[],
): Promise<{ row: DomainRow; records: RecordRow[] }> {
  const now = store.clock.now();
  const staysVerified = isVerifiedWithoutDns(store, domain);
  const row: DomainRow = {
    ...domain,
    verified_at: staysVerified ? domain.verified_at : null,
    failing_since: null,
    // The record of the new key is being waited for, so nothing counts as lost.
    lost_at: null,
    first_checked_at: domain.checked_at === null ? null : now,
  };
  row.status = deriveDomainStatus(row);
  const stored = await recordsToCheck(tx, domain.id);
  const wanted = await rebuildRecords(store, tx, { domain: row, keys, stored });
  const records = staysVerified ? wanted.map((record) => ({ ...record, status: 'verified' as const })) : wanted;
  const old = await listDkimKeys(tx, domain.id);
  await deleteKeys(
    tx,
    old.map((key) => key.id),
  );
  await insertKeys(tx, keys);
  await saveState(tx, row);
  await saveRecords(tx, domain.id, stored, records);
  return { row, records };
}

/**
 * Allows one call a minute for each domain, shared by verification, which queries DNS, and new keys, which are costly
 * to make.
 */
export async function mustWaitItsTurn(store: Store, domain: DomainRow): Promise<void> {
  const now = store.clock.now();
  const { verify_seconds: seconds } = store.config.domains;
  if (await claimAsk(store.db, domain.team_id, domain.id, now, seconds * 1000)) return;
  const waitMs = Math.max(1, (domain.asked_at ?? now) + seconds * 1000 - now);
  throw refuse('rate_limit_exceeded', {
    say: `A domain can be verified or get a new key only once every ${seconds} seconds; try again later.`,
    retryAfterSeconds: Math.ceil(waitMs / 1000),
  });
}

export interface TurnedKeys {
  /** All keys after this step, oldest first. */
  keys: DkimKeyRow[];
  activated: DkimKeyRow[];
  retired: DkimKeyRow[];
  /** Retired for long enough: no message that they signed is on its way any more. */
  dropped: DkimKeyRow[];
}

/**
 * Takes a rotation one step further: once the incoming RSA key is seen in DNS the incoming keys sign, and the old ones
 * stay published until the mail that they signed has arrived.
 */
export function turnKeys(
  keys: readonly DkimKeyRow[],
  isSeen: (key: DkimKeyRow) => boolean,
  { now, retireMs }: { now: number; retireMs: number },
): TurnedKeys {
  const isDue = keys.some((key) => key.status === 'incoming' && key.algorithm === 'rsa-sha256' && isSeen(key));
  const activated = isDue ? keys.filter((key) => key.status === 'incoming') : [];
  const retired = isDue ? keys.filter((key) => key.status === 'active') : [];
  const dropped = keys.filter((key) => key.status === 'retiring' && (key.status_at ?? 0) + retireMs <= now);
  const after = keys
    .filter((key) => !dropped.includes(key))
    .map((key): DkimKeyRow => {
      if (activated.includes(key)) return { ...key, status: 'active', status_at: now };
      return retired.includes(key) ? { ...key, status: 'retiring', status_at: now } : key;
    });
  return { keys: after, activated, retired, dropped };
}
