import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { World } from '../../platform/world/index.ts';
import { dkimPublicRecord } from '../../protocol/dkim/index.ts';
import type { DkimKeyRow } from './domains.store.ts';

const makeKeyPair = promisify(generateKeyPair);
const RSA_BITS = 2048;
const SEALED_FOR = 'dkim private key';

export interface NewDkimKey {
  row: DkimKeyRow;
  /** The text of the TXT record that publishes it. */
  record: string;
}

/** The selector is random, so that two teams can publish keys for one name side by side while it changes hands. */
export async function newDkimKey(world: World, domainId: string): Promise<NewDkimKey> {
  const { publicKey, privateKey } = await makeKeyPair('rsa', { modulusLength: RSA_BITS });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const row: DkimKeyRow = {
    id: world.ids.uuid(),
    domain_id: domainId,
    selector: `rk${world.ids.hex(4)}`,
    algorithm: 'rsa-sha256',
    private_key_sealed: world.secrets.seal(pem, SEALED_FOR),
    created_at: world.clock.now(),
  };
  return { row, record: dkimPublicRecord(publicKey) };
}

export const openDkimKey = (world: World, row: DkimKeyRow): KeyObject =>
  createPrivateKey(world.secrets.open(row.private_key_sealed, SEALED_FOR));
