import { timingSafeEqual } from 'node:crypto';
import { isoTime } from '../../platform/clock/index.ts';
import type { Store } from '../../platform/store/index.ts';

/** Where a link leads, and until which second. */
export interface LinkTarget {
  emailId: string;
  attachmentId: string;
  expires: number;
}

const VALID_SECONDS = 15 * 60;

/** A fresh link; nothing of it is stored, so that what signs it also decides whether it is good. */
export function makeDownloadLink(
  store: Store,
  attachment: { id: string; email_id: string },
): { download_url: string; expires_at: string } {
  const expires = Math.floor(store.clock.now() / 1000) + VALID_SECONDS;
  const target = { emailId: attachment.email_id, attachmentId: attachment.id, expires };
  const path = `/emails/${target.emailId}/attachments/${target.attachmentId}/download`;
  const query = new URLSearchParams({ expires: String(expires), token: tokenOf(store, target) });
  return { download_url: `${store.origin()}${path}?${query}`, expires_at: isoTime(expires * 1000) };
}

export function isGoodLink(store: Store, target: LinkTarget, token: string): boolean {
  const [given, right] = [Buffer.from(token), Buffer.from(tokenOf(store, target))];
  const isOurs = given.length === right.length && timingSafeEqual(given, right);
  return isOurs && store.clock.now() < target.expires * 1000;
}

/** Neither an id nor a number holds a line break, so that no two targets are signed as one text. */
function tokenOf({ secrets }: Store, { emailId, attachmentId, expires }: LinkTarget): string {
  const text = [emailId, attachmentId, expires].join('\n');
  return secrets.mac('attachment link', Buffer.from(text)).toString('base64url');
}
