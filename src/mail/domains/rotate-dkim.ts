import { recordEvents } from '../events/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { insertKeys, keysOf } from './dkim-keys.store.ts';
import { newDkimKeys, RSA_BITS } from './dkim-key.ts';
import type { DkimKeyRow, DomainRow, RecordRow } from './domain-rows.ts';
import { findDomain, lockDomain } from './domains.store.ts';
import { carryOver, expectedRecords } from './expected-records.ts';
import { presentDomain, presentDomainEvent } from './present.ts';
import { recordsToCheck, saveRecords } from './records.store.ts';

/**
 * Begins to replace a domain's keys without a gap: the new ones are published beside the old, which sign on until the new
 * record is seen. Asked again while that is waited for, it answers the same keys.
 */
export async function rotateDkim(ctx: Ctx, id: string) {
  const { store, teamId } = ctx;
  const domain = await findDomain(store.db, teamId, id);
  if (!domain) throw notFound('Domain');
  const rotated = await beginRotation(store, domain);
  if (!rotated) throw notFound('Domain');
  return presentDomain(rotated.row, rotated.records);
}

/** Undefined when the domain is gone. */
export async function beginRotation(
  store: Store,
  asked: DomainRow,
): Promise<{ row: DomainRow; records: RecordRow[] } | undefined> {
  mustBeVerified(asked);
  const before = await keysOf(store.db, asked.id);
  const incoming = isUnderWay(before) ? [] : await incomingKeys(store, asked, before);
  return store.db.tx(async (tx) => {
    const row = await lockDomain(tx, asked.team_id, asked.id);
    if (!row) return undefined;
    mustBeVerified(row);
    const stored = await recordsToCheck(tx, row.id);
    const keys = await keysOf(tx, row.id);
    // Of two that ask at the same moment one begins, and both are answered with what it began.
    if (isUnderWay(keys) || incoming.length === 0) return { row, records: stored };
    await insertKeys(tx, incoming);
    const wanted = carryOver(expectedRecords(store, row, [...keys, ...incoming]), stored);
    // The development profile's domain is verified by decree, and so is what it publishes.
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

/** Whether the configuration asks for new keys by now. */
export async function isRotationDue(store: Store, domain: DomainRow): Promise<boolean> {
  const { rotate_days: days } = store.config.domains;
  if (days === 0 || domain.verified_at === null) return false;
  const keys = await keysOf(store.db, domain.id);
  if (isUnderWay(keys)) return false;
  const active = keys.find(isSigning);
  return active !== undefined && (active.status_at ?? active.created_at) + days * DAY_MS <= store.clock.now();
}

const isUnderWay = (keys: readonly DkimKeyRow[]): boolean => keys.some((key) => key.status === 'incoming');
const isSigning = (key: DkimKeyRow): boolean => key.status === 'active' && key.algorithm === 'rsa-sha256';

/** As long as the keys they follow: 1024 bits are chosen for a DNS host that takes no more. */
const incomingKeys = (store: Store, domain: DomainRow, before: readonly DkimKeyRow[]): Promise<DkimKeyRow[]> =>
  newDkimKeys(store, domain.id, { bits: before.find(isSigning)?.bits ?? RSA_BITS, status: 'incoming' });

function mustBeVerified(domain: DomainRow): void {
  if (domain.verified_at !== null) return;
  throw refuse('validation_error', {
    status: 422,
    say: `The domain ${domain.name} is not verified, so no key of it is in use; publish its records, or regenerate its keys.`,
  });
}
