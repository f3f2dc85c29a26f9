import { recordEvents } from '../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { mustWaitItsTurn } from './once-a-minute.ts';
import { isVerifiedWithoutDns } from './capabilities.ts';
import { deleteKeys, insertKeys, keysOf } from './dkim-keys.store.ts';
import { newDkimKeys, type RsaBits } from './dkim-key.ts';
import type { DkimKeyRow, DomainRow, RecordRow } from './domain-rows.ts';
import { statusOf } from './domain-state.ts';
import { findDomain, lockDomain, saveState } from './domains.store.ts';
import { carryOver, expectedRecords } from './expected-records.ts';
import { presentDomain, presentDomainEvent } from './present.ts';
import { recordsToCheck, saveRecords } from './records.store.ts';

/**
 * For a key that may have got into wrong hands: every key of the domain goes out of use at once, and nothing is sent until
 * the new record is seen. A key that is merely old is rotated instead, without a gap.
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
    return presentDomain(after.row, after.records);
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
    // What is waited for now is the record of the new key.
    lost_at: null,
    first_checked_at: domain.checked_at === null ? null : now,
  };
  row.status = statusOf(row);
  const stored = await recordsToCheck(tx, domain.id);
  const wanted = carryOver(expectedRecords(store, row, keys), stored);
  const records = staysVerified ? wanted.map((record) => ({ ...record, status: 'verified' as const })) : wanted;
  const old = await keysOf(tx, domain.id);
  await deleteKeys(
    tx,
    old.map((key) => key.id),
  );
  await insertKeys(tx, keys);
  await saveState(tx, row);
  await saveRecords(tx, domain.id, stored, records);
  return { row, records };
}
