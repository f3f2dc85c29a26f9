import type { World } from '../../platform/world/index.ts';
import type { MessageReading } from '../../protocol/read-message/index.ts';
import { accountMailAmong } from '../emails/index.ts';

/** The Message-ID of what we compose begins with the id of its email. */
const EMAIL_ID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?=@)/gi;
/** The message itself, and the one that it answers or passes on. */
const NAMING = ['message-id', 'in-reply-to', 'references', 'resent-message-id', 'x-original-message-id'];
const SCANNED_MAX = 256 * 1024;
const IDS_MAX = 1000;

/**
 * Whether a message that came in is mail of this installation about an account, whichever node sent it, or names such mail as
 * what it answers or brings back: it may hold a token. Known by Message-ID, which relays keep; a sender who makes one up withholds
 * nothing but the own message. In the development profile all mail is the one reader's.
 */
export async function holdsAccountMail(world: World, raw: Buffer, reading: MessageReading): Promise<boolean> {
  if (world.config.profile === 'development') return false;
  const ids = new Set<string>();
  for (const text of naming(raw, reading)) {
    for (const [id] of text.matchAll(EMAIL_ID)) if (ids.size < IDS_MAX) ids.add(id.toLowerCase());
  }
  return (await accountMailAmong(world.db, [...ids])).size > 0;
}

function naming(raw: Buffer, reading: MessageReading): string[] {
  if (!reading.isRead) return [startOf(raw)];
  const { headers, parts, text, html } = reading;
  const returned = parts.filter(({ contentType }) => /^(?:message\/|text\/rfc822-headers)/i.test(contentType));
  const named = [...NAMING.map((name) => headers[name] ?? ''), ...returned.map(({ content }) => startOf(content))];
  // Some servers bring a message back within the text of their notice.
  return [...named, ...[text, html].map((body) => (body ?? '').slice(0, SCANNED_MAX))];
}

const startOf = (content: Uint8Array): string =>
  Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, SCANNED_MAX)).toString('latin1');
