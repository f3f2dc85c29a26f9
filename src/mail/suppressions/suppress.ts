import { recordEvents, type SuppressionData } from '../events/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import { findByKeys, insertSuppressions, type Origin, type SuppressionRow } from './suppressions.store.ts';

export interface NewSuppression {
  email: string;
  origin: Origin;
  sourceId: string | null;
}

/**
 * Suppresses addresses of one team inside the caller's transaction and records what is new. Answers a row for each
 * address asked for, in order, those that were suppressed before included.
 */
export async function suppress(
  store: Store,
  tx: Executor,
  teamId: string,
  additions: readonly NewSuppression[],
): Promise<SuppressionRow[]> {
  const now = store.clock.now();
  const fresh = additions.map((addition): SuppressionRow => {
    return {
      id: store.ids.prefixed('sup_'),
      team_id: teamId,
      email: addition.email,
      email_key: normalizeAddress(addition.email),
      origin: addition.origin,
      source_id: addition.sourceId,
      created_at: now,
    };
  });
  await insertSuppressions(tx, fresh);
  const keys = [...new Set(fresh.map((row) => row.email_key))];
  const rows = new Map((await findByKeys(tx, teamId, keys)).map((row) => [row.email_key, row]));
  const written = fresh.filter((row) => rows.get(row.email_key)?.id === row.id);
  await recordEvents(
    tx,
    store.ids,
    written.map((row) => ({ teamId, type: 'suppression.added', subjectId: row.id, data: eventData(row), at: now })),
  );
  return fresh.map((row) => rows.get(row.email_key) ?? row);
}

export function eventData(row: SuppressionRow): SuppressionData {
  return {
    id: row.id,
    email: row.email,
    origin: row.origin,
    source_id: row.source_id,
    created_at: isoTime(row.created_at),
  };
}
