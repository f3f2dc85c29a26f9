import { notFound } from '../../platform/refusal/index.ts';
import { CLASSES, recordDataOf, zoneEntry } from '../../protocol/dns/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findDomain, recordsOf } from '../domains/index.ts';

/** Short, so that a mistake made by hand is soon forgotten. */
const TTL_SECONDS = 300;

const KEYS: Record<string, string> = {
  incoming: ', incoming: signs once it is seen',
  retiring: ', retiring: signs nothing new, and mail under way still needs it',
};

/** The records to publish as lines of a zone file, each with a comment that says what it is for. */
export async function readZone(ctx: Ctx, id: string): Promise<string> {
  const { db } = ctx.store;
  const domain = await findDomain(db, ctx.teamId, id);
  if (!domain) throw notFound('Domain');
  const records = await recordsOf(db, id);
  const lines = records.flatMap((record) => [
    `; ${record.record}${record.required === 1 ? '' : ', advised'}${KEYS[record.key_status ?? 'active'] ?? ''}`,
    zoneEntry({ name: record.name, class: CLASSES.IN, ttl: TTL_SECONDS, data: recordDataOf(record) }),
  ]);
  return `${[`; What ${domain.name} has to publish.`, ...lines].join('\n')}\n`;
}
