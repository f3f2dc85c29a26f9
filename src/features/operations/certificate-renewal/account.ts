import type { KeyObject } from 'node:crypto';
import type { World } from '../../../platform/world/index.ts';
import { AcmeFault, bindExternalAccount, readUrl } from '../../../protocol/acme/index.ts';
import { findAccount, insertAccount, newAccountKey, noteAccountUrl, openAccountKey } from '../certificates/index.ts';
import type { Authority } from './ask-authority.ts';

export interface Account {
  id: string;
  key: KeyObject;
  url: string;
}

/**
 * Our account at the authority of the settings. Its key is stored before the authority hears of it: a process that is
 * killed in between asks again with the same key, and is answered the same account (RFC 8555 §7.3.1).
 */
export async function openAccount(world: World, authority: Authority): Promise<Account> {
  const { clock, config, db, ids } = world;
  const { directory, contact } = config.acme;
  const id = ids.uuid();
  let row = await findAccount(db, directory);
  if (!row) {
    const made = { directory, id, private_key: newAccountKey(world, id), url: null, created_at: clock.now() };
    await insertAccount(db, made);
    row = (await findAccount(db, directory)) ?? made;
  }
  const key = openAccountKey(world, row.private_key, row.id);
  if (row.url !== null) return { id: row.id, key, url: row.url };
  const { newAccount, needsExternalAccount } = await authority.directory();
  const payload = {
    termsOfServiceAgreed: true,
    ...(contact === '' ? {} : { contact: [`mailto:${contact}`] }),
    ...binding(world, { key, url: newAccount, isNeeded: needsExternalAccount }),
  };
  const answer = await authority.ask({ what: 'a new account', url: newAccount, payload, key, account: undefined });
  const url = readUrl('the location of the new account', answer.location);
  await noteAccountUrl(db, row.id, url);
  return { id: row.id, key, url };
}

function binding(
  { config }: World,
  { key, url, isNeeded }: { key: KeyObject; url: string; isNeeded: boolean },
): object {
  const { eab_key_id: keyId, eab_hmac_key: hmacKey } = config.acme;
  if (keyId !== '') {
    const external = { keyId, hmacKey: Buffer.from(hmacKey, 'base64url') };
    return { externalAccountBinding: bindExternalAccount(key, url, external) };
  }
  if (!isNeeded) return {};
  throw new AcmeFault(
    'the authority takes only accounts that are bound to one it gave out before; set acme.eab_key_id and acme.eab_hmac_key to what it shows there',
  );
}

/** It knows the account no more: the next try asks for one with the same key. */
export const forgetAccount = (world: World, { id }: Account): Promise<number> => noteAccountUrl(world.db, id, null);
