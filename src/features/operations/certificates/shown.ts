import type { Store } from '../../../platform/store/index.ts';
import { certificateById } from './certificates.store.ts';
import { openCertificateKey } from './keys.ts';

/** What is shown under some names; in PEM. */
export interface ShownCertificate {
  cert: string;
  key: string;
  startsAt: number;
  endsAt: number;
}

export async function readShown(ctx: Pick<Store, 'db' | 'secrets'>, id: string): Promise<ShownCertificate | undefined> {
  const row = await certificateById(ctx.db, id);
  if (!row || row.chain === null || row.private_key === null) return undefined;
  const key = openCertificateKey(ctx, row.private_key, row.id);
  return { cert: row.chain, key, startsAt: row.starts_at ?? 0, endsAt: row.ends_at ?? 0 };
}
