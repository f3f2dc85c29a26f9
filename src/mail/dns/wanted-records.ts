import { createHash } from 'node:crypto';
import type { Store } from '../../platform/store/index.ts';
import type { PlainRecord } from '../../protocol/dns/index.ts';
import { openProof } from '../domain-claims/index.ts';
import { isOwnedElsewhere, recordsOf } from '../domains/index.ts';

/**
 * What a domain has to publish now: nothing once it is gone or its name has become another team's, and while it claims
 * that name, the proof alone.
 */
export async function wantedRecords(
  store: Store,
  domain: { id: string; team_id: string; name: string },
): Promise<PlainRecord[]> {
  if (await isOwnedElsewhere(store.db, domain.team_id, domain.name)) {
    const proof = await openProof(store, domain);
    return proof ? [{ ...proof, type: 'TXT', priority: null }] : [];
  }
  const records = await recordsOf(store.db, domain.id);
  return records.map(({ name, type, value, priority }) => ({ name, type, value, priority }));
}

/** Changes whenever something has to be published or removed. */
export function fingerprintOf(records: readonly PlainRecord[]): string {
  const lines = records.map(({ name, type, value, priority }) => JSON.stringify([name, type, value, priority])).sort();
  return createHash('sha256').update(lines.join('\n')).digest('base64url');
}
