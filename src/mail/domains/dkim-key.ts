import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { SealedColumn } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { dkimPublicRecord } from '../../protocol/dkim/index.ts';
import type { DkimKeyRow, KeyStatus } from './domain-rows.ts';

export const RSA_BITS = 2048;
const SEALED_FOR = 'dkim private key';

export const SEALED_DKIM_KEYS: SealedColumn = {
  table: 'dkim_keys',
  column: 'private_key_sealed',
  purpose: SEALED_FOR,
};

/** 1024 for DNS hosts that cannot hold the record of 2048; RFC 8301 §3.2 takes either. */
export type RsaBits = 1024 | 2048;

/**
 * The keys of a domain that are used together: RSA, which every receiver understands, and Ed25519 beside it where the
 * configuration says so. Selectors are random, so that two teams, or an old key and a new one, stand side by side.
 */
export async function newDkimKeys(
  store: Store,
  domainId: string,
  options: { bits?: number; status?: KeyStatus } = {},
): Promise<DkimKeyRow[]> {
  const bits = options.bits ?? RSA_BITS;
  const at = store.clock.now();
  const rowOf = (algorithm: DkimKeyRow['algorithm'], privateKey: KeyObject, id = store.ids.uuid()): DkimKeyRow => ({
    id,
    domain_id: domainId,
    selector: `rk${store.ids.hex(4)}`,
    algorithm,
    bits: algorithm === 'rsa-sha256' ? bits : null,
    private_key_sealed: store.secrets.seal(
      privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      SEALED_FOR,
      id,
    ),
    created_at: at,
    status: options.status ?? 'active',
    status_at: at,
  });
  const rsa = rowOf('rsa-sha256', await store.makeRsaKey(bits));
  if (!store.config.domains.ed25519) return [rsa];
  return [rsa, rowOf('ed25519-sha256', generateKeyPairSync('ed25519').privateKey)];
}

export const openDkimKey = (store: Store, row: DkimKeyRow): KeyObject =>
  createPrivateKey(store.secrets.open(row.private_key_sealed, SEALED_FOR, row.id));

/** The text of the TXT record that publishes a key. */
export const publishedKey = (store: Store, row: DkimKeyRow): string =>
  dkimPublicRecord(createPublicKey(openDkimKey(store, row)));
