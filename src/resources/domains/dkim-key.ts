import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { World } from '../../platform/world/index.ts';
import { dkimPublicRecord } from '../../protocol/dkim/index.ts';
import type { DkimKeyRow, KeyStatus } from './domain-rows.ts';

const makeKeyPair = promisify(generateKeyPair);
export const RSA_BITS = 2048;
const SEALED_FOR = 'dkim private key';

/** 1024 for DNS hosts that cannot hold the record of 2048; RFC 8301 §3.2 takes either. */
export type RsaBits = 1024 | 2048;

/**
 * The keys of a domain that are used together: RSA, which every receiver understands, and Ed25519 beside it where the
 * configuration says so. Selectors are random, so that two teams, or an old key and a new one, stand side by side.
 */
export async function newDkimKeys(
  world: World,
  domainId: string,
  options: { bits?: number; status?: KeyStatus } = {},
): Promise<DkimKeyRow[]> {
  const bits = options.bits ?? RSA_BITS;
  const at = world.clock.now();
  const rowOf = (algorithm: DkimKeyRow['algorithm'], privateKey: KeyObject): DkimKeyRow => ({
    id: world.ids.uuid(),
    domain_id: domainId,
    selector: `rk${world.ids.hex(4)}`,
    algorithm,
    bits: algorithm === 'rsa-sha256' ? bits : null,
    private_key_sealed: world.secrets.seal(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, SEALED_FOR),
    created_at: at,
    status: options.status ?? 'active',
    status_at: at,
  });
  const rsa = rowOf('rsa-sha256', (await makeKeyPair('rsa', { modulusLength: bits })).privateKey);
  if (!world.config.domains.ed25519) return [rsa];
  return [rsa, rowOf('ed25519-sha256', (await makeKeyPair('ed25519')).privateKey)];
}

export const openDkimKey = (world: World, row: DkimKeyRow): KeyObject =>
  createPrivateKey(world.secrets.open(row.private_key_sealed, SEALED_FOR));

/** The text of the TXT record that publishes a key. */
export const publishedKey = (world: World, row: DkimKeyRow): string =>
  dkimPublicRecord(createPublicKey(openDkimKey(world, row)));
