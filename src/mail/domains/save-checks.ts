import { recordEvents } from '../events/index.ts';
import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import type { Verdict } from '../../protocol/dns-diagnosis/index.ts';
import {
  deleteKeys,
  listDkimKeys,
  setKeyStatus,
  lockDomain,
  saveState,
  listedRecords,
  recordsToCheck,
  saveRecords,
} from './domains.store.ts';
import { isSameRecord, type DomainRow, type DomainStatus, type RecordRow } from './domain-rows.ts';
import {
  lostAtAfter,
  ownedSinceAfter,
  isForReceiving,
  isForSending,
  readReceivingState,
  recordStatusAfter,
  readSendingState,
  nextState,
  deriveDomainStatus,
} from './domain-state.ts';
import { rebuildRecords, findCheck, type RecordCheck } from './domain-records.ts';
import { presentDomainEvent } from './present.ts';
import { turnKeys, type TurnedKeys } from './dkim-rotation.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Saves the results of a check of DNS, and records the event if they changed anything of note. The domain may have been
 * changed or deleted during the look-ups: its present state counts, and the result is undefined if it is gone.
 */
export async function saveChecks(
  store: Store,
  asked: Pick<DomainRow, 'id' | 'team_id' | 'name'>,
  checks: readonly RecordCheck[],
): Promise<DomainStatus | undefined> {
  try {
    return await store.db.tx((tx) => decide(store, tx, asked, checks));
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw nameTaken(asked.name);
  }
}

async function decide(
  store: Store,
  tx: Executor,
  asked: Pick<DomainRow, 'id' | 'team_id'>,
  checks: readonly RecordCheck[],
): Promise<DomainStatus | undefined> {
  const now = store.clock.now();
  const domain = await lockDomain(tx, asked.team_id, asked.id);
  if (!domain) return undefined;
  const stored = await recordsToCheck(tx, domain.id);
  const find = (record: RecordRow): RecordCheck | undefined => findCheck(checks, record);
  const turned = turnKeys(
    await listDkimKeys(tx, domain.id),
    (key) =>
      stored.some(
        (record) =>
          record.record === 'DKIM' &&
          record.name === `${key.selector}._domainkey.${domain.name}` &&
          find(record)?.verdict === 'right',
      ),
    { now, retireMs: store.config.domains.retire_days * DAY_MS },
  );
  const records = await rebuildRecords(store, tx, { domain, keys: turned.keys, stored });
  const after = stateAfter(store, domain, records, find, now);
  await saveTurn(tx, turned, now);
  await saveState(tx, after.domain);
  await saveRecords(tx, domain.id, stored, after.records);
  if (isOfNote(domain, after.domain, listedRecords(stored), listedRecords(after.records))) {
    const data = presentDomainEvent(after.domain, after.records);
    await recordEvents(tx, store.ids, [
      { teamId: domain.team_id, type: 'domain.updated', subjectId: domain.id, data, at: now },
    ]);
  }
  return after.domain.status;
}

export const nameTaken = (name: string) =>
  refuse('resource_locked', {
    say: `The domain ${name} is verified by another team; claim it to move it to yours.`,
    claimable: true,
  });

/**
 * Returns the domain and its records after a check of DNS. A record that was not checked leaves its capability as it
 * is.
 */
export function stateAfter(
  store: Store,
  domain: DomainRow,
  records: readonly RecordRow[],
  find: (record: RecordRow) => RecordCheck | undefined,
  now: number,
): { domain: DomainRow; records: RecordRow[] } {
  const patience = { graceMs: store.config.domains.grace_hours * HOUR_MS };
  const verdicts = (isFor: (record: RecordRow) => boolean): Verdict[] =>
    records.filter(isFor).map((record) => find(record)?.verdict ?? 'unknown');
  // A domain without a key of its own, such as one that changed hands, cannot have a correct record.
  const isSigned = records.some((record) => record.record === 'DKIM' && isForSending(record));
  const forSending: Verdict[] = isSigned ? verdicts(isForSending) : ['absent'];
  const sending = nextState(readSendingState(domain), forSending, now, patience);
  const receiving =
    domain.receiving === 'enabled'
      ? nextState(readReceivingState(domain), verdicts(isForReceiving), now, patience)
      : readReceivingState(domain);
  const after: DomainRow = {
    ...domain,
    checked_at: now,
    first_checked_at: sending.waitingSince,
    verified_at: sending.verifiedAt,
    held_at: ownedSinceAfter(domain, sending, now),
    failing_since: sending.failingSince,
    receiving_since: receiving.waitingSince,
    receiving_verified_at: receiving.verifiedAt,
    receiving_failing_since: receiving.failingSince,
    lost_at: lostAtAfter(readSendingState(domain), sending, domain.lost_at, now),
    receiving_lost_at: lostAtAfter(readReceivingState(domain), receiving, domain.receiving_lost_at, now),
  };
  after.status = deriveDomainStatus(after);
  return { domain: after, records: records.map((record) => recordAfter(after, record, find(record))) };
}

function recordAfter(domain: DomainRow, record: RecordRow, check: RecordCheck | undefined): RecordRow {
  if (check === undefined) return record;
  const { verdict } = check;
  const isForbidden = record.record === 'TrackingCAA' && (verdict === 'absent' || verdict === 'wrong');
  // Once needed, the record stays required: without it, it would be needed again.
  const required = isForbidden ? 1 : record.required;
  const named = verdict === 'unknown' ? record.named_host : (check.namedHost ?? null);
  return {
    ...record,
    required,
    named_host: named,
    status: recordStatusAfter(domain, { ...record, required }, verdict),
  };
}

async function saveTurn(tx: Executor, { activated, retired, dropped }: TurnedKeys, now: number): Promise<void> {
  const ids = (keys: readonly { id: string }[]): string[] => keys.map((key) => key.id);
  await setKeyStatus(tx, ids(activated), 'active', now);
  await setKeyStatus(tx, ids(retired), 'retiring', now);
  await deleteKeys(tx, ids(dropped));
}

/**
 * Reports whether a change is worth an event: a repeated check is not; a new status is, new records to publish, or a
 * new fault.
 */
function isOfNote(
  before: DomainRow,
  after: DomainRow,
  recordsBefore: readonly RecordRow[],
  recordsAfter: readonly RecordRow[],
): boolean {
  if (before.status !== after.status) return true;
  if ((before.failing_since === null) !== (after.failing_since === null)) return true;
  if ((before.receiving_failing_since === null) !== (after.receiving_failing_since === null)) return true;
  if (recordsBefore.length !== recordsAfter.length) return true;
  return recordsAfter.some((record, i) => {
    const old = recordsBefore[i];
    return !old || !isSameRecord(old, record) || old.key_status !== record.key_status;
  });
}
