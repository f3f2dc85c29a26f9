import { hashToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';

/** A prefix of its own lets scanners of logs and repositories recognise what they found. */
const PREFIX = 'ri_';
const PURPOSE = 'invitation';

/** Made anew from the id when the mail is written, so that it is kept nowhere but in that mail; the hash tells it. */
export const invitationToken = ({ secrets }: Store, id: string): string =>
  PREFIX + secrets.mac(PURPOSE, Buffer.from(id)).toString('base64url');

/** Also of one that was made before the instance key was replaced. */
export function tokenOf(
  store: Store,
  { id, token_hash: hash }: { id: string; token_hash: string },
): string | undefined {
  const older = store.secrets.otherMacs(PURPOSE).map((mac) => PREFIX + mac(Buffer.from(id)).toString('base64url'));
  return [invitationToken(store, id), ...older].find((token) => hashToken(token) === hash);
}
