import { createHash } from 'node:crypto';
import type { Store } from '../../platform/store.ts';
import { CLASSES, toRecordData, zoneEntry, type PlainRecord } from '../../protocol/dns/index.ts';
import { openProof } from '../domain-claims/index.ts';
import { isOwnedElsewhere, listedRecords, readCurrentRecords, findDomain, recordsOfAbsent } from '../domains/index.ts';
import { LEAVING, publishedFor, setupsOfName, type PublishedRow } from './dns.store.ts';
import { notFound } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';

/** Short, so that caches soon drop a record that was published by mistake. */
const TTL_SECONDS = 300;

const KEYS: Record<string, string> = {
  incoming: ', incoming: signs once it is seen',
  retiring: ', retiring: signs nothing new, and mail under way still needs it',
};

/** Returns the records to publish as lines of a zone file, each with a comment that explains its purpose. */
export async function readZone(ctx: Ctx, id: string): Promise<string> {
  const { db } = ctx.store;
  const domain = await findDomain(db, ctx.teamId, id);
  if (!domain) throw notFound('Domain');
  const records = listedRecords(await readCurrentRecords(ctx.store, id));
  const lines = records.flatMap((record) => [
    `; ${record.record}${record.required === 1 ? '' : ', advised'}${KEYS[record.key_status ?? 'active'] ?? ''}`,
    zoneEntry({ name: record.name, class: CLASSES.IN, ttl: TTL_SECONDS, data: toRecordData(record) }),
  ]);
  return `${[`; What ${domain.name} has to publish.`, ...lines].join('\n')}\n`;
}

export interface Inheritance {
  rows: PublishedRow[];
  /** Domains that were set up before and need no records any more. */
  domainIds: string[];
}

/**
 * Finds records that were published with the same provider for copies of a name that are gone or now belong to another
 * team.
 */
export async function findInheritance(
  store: Store,
  domain: { id: string; name: string },
  provider: string,
): Promise<Inheritance> {
  const found: Inheritance = { rows: [], domainIds: [] };
  for (const setup of await setupsOfName(store.db, domain.name)) {
    if (setup.domain_id === domain.id || setup.provider !== provider) continue;
    const other = { id: setup.domain_id, team_id: setup.team_id, name: domain.name };
    if (setup.fingerprint !== LEAVING && (await wantedRecords(store, other)).length > 0) continue;
    found.domainIds.push(setup.domain_id);
    found.rows.push(...(await publishedFor(store.db, setup.domain_id)));
  }
  return found;
}

/**
 * Returns the records that a domain has to publish now: none once its name belongs to another team, only the proof while
 * it claims that name, and once it is gone only those that withdraw its MTA-STS policy.
 */
export async function wantedRecords(
  store: Store,
  domain: { id: string; team_id: string; name: string },
): Promise<PlainRecord[]> {
  if (await isOwnedElsewhere(store.db, domain.team_id, domain.name)) {
    const proof = await openProof(store, domain);
    return proof ? [{ ...proof, type: 'TXT', priority: null }] : [];
  }
  const records = [
    ...listedRecords(await readCurrentRecords(store, domain.id)),
    ...(await recordsOfAbsent(store, domain)),
  ];
  return records.map(({ name, type, value, priority = null }) => ({ name, type, value, priority }));
}

/** Changes whenever something has to be published or removed. */
export function computeFingerprint(records: readonly PlainRecord[]): string {
  const lines = records.map(({ name, type, value, priority }) => JSON.stringify([name, type, value, priority])).sort();
  return createHash('sha256').update(lines.join('\n')).digest('base64url');
}
