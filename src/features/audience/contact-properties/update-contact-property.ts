import type { UpdateContactPropertyRequest } from '../../../contract/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findProperty, setFallback } from './contact-properties.store.ts';
import { readFallback } from './read-fallback.ts';

export async function updateContactProperty({ store, teamId }: Ctx, id: string, input: UpdateContactPropertyRequest) {
  await store.db.tx(async (tx) => {
    const row = await findProperty(tx, teamId, id);
    if (!row) throw notFound('Contact property');
    if (input.fallback_value === undefined) return;
    await setFallback(tx, id, readFallback(row.type, input.fallback_value));
  });
  return { object: 'contact_property' as const, id };
}
