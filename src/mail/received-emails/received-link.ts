import { timingSafeEqual } from 'node:crypto';
import { isoTime } from '../../platform/clock/index.ts';
import type { Store } from '../../platform/store/index.ts';

/** Where a link leads, and until which second. */
export interface ReceivedLink {
  emailId: string;
  /** An attachment, or `raw` for the source of the whole. */
  file: string;
  expires: number;
}

const VALID_SECONDS = 15 * 60;

/** A fresh link; nothing of it is stored, so that what signs it also decides whether it is good. */
export function makeReceivedLink(
  store: Store,
  emailId: string,
  file: string,
): { download_url: string; expires_at: string } {
  const expires = Math.floor(store.clock.now() / 1000) + VALID_SECONDS;
  const below = file === 'raw' ? 'raw' : `attachments/${file}`;
  const query = new URLSearchParams({ expires: String(expires), token: tokenOf(store, { emailId, file, expires }) });
  return {
    download_url: `${store.origin()}/emails/receiving/${emailId}/${below}/download?${query}`,
    expires_at: isoTime(expires * 1000),
  };
}

export function isGoodReceivedLink(store: Store, link: ReceivedLink, token: string): boolean {
  const [given, right] = [Buffer.from(token), Buffer.from(tokenOf(store, link))];
  const isOurs = given.length === right.length && timingSafeEqual(given, right);
  return isOurs && store.clock.now() < link.expires * 1000;
}

/** No part holds a line break, so that no two links are signed as one text. */
function tokenOf({ secrets }: Store, { emailId, file, expires }: ReceivedLink): string {
  const text = [emailId, file, expires].join('\n');
  return secrets.mac('received mail link', Buffer.from(text)).toString('base64url');
}
