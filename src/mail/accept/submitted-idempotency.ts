import { normalizeAddress } from '../../protocol/address/index.ts';
import type { Asked } from '../../protocol/dsn/index.ts';
import type { RawField } from '../../protocol/mime-read/index.ts';
import type { EmailDraft } from '../emails/index.ts';
import { hashRequest, type Idempotency } from './idempotency.ts';
import { unreadable } from './unreadable.ts';

export const KEY_HEADERS: ReadonlySet<string> = new Set(['rasket-idempotency-key', 'resend-idempotency-key']);
const KEY_CHARS_MAX = 256;

/**
 * Headers that do not count towards the request: libraries and servers write them anew at each try, or they describe
 * the encoding of parts whose contents count.
 */
const WRITTEN_ANEW: ReadonlySet<string> = new Set(['date', 'message-id', 'received', 'mime-version', 'dkim-signature']);
const ANEW_FAMILIES = ['content-', 'arc-'];
/** Headers that count by their parsed values. */
const READ: ReadonlySet<string> = new Set(['from', 'reply-to', 'subject']);

interface Said {
  fields: readonly RawField[];
  /** The headers that are sent on with the message. */
  kept: readonly RawField[];
  draft: EmailDraft;
  asked: Asked | undefined;
}

/**
 * Reads the idempotency key. A client with more recipients than one transaction takes rightly sends the same message
 * with the same key to the next ones, so the recipients are part of the key. Requests are the same if content, files,
 * tags, requested notices and headers are, as with POST /emails.
 */
export async function readIdempotency(
  { fields, kept, draft, asked }: Said,
  identifyFiles: () => Promise<(readonly string[])[]>,
): Promise<Idempotency | undefined> {
  const written = fields.filter(({ lower }) => KEY_HEADERS.has(lower)).map(({ value }) => value.trim());
  const [key] = written;
  if (key === undefined) return undefined;
  if (written.some((other) => other !== key)) throw unreadable('it has two idempotency keys that differ');
  if (key === '' || key.length > KEY_CHARS_MAX) {
    throw unreadable(`its idempotency key must be 1 to ${KEY_CHARS_MAX} characters long`);
  }
  const recipients = draft.recipients.map(({ address }) => normalizeAddress(address)).sort();
  const { from, replyTo } = draft.headerMailboxes;
  const { subject, html, text, tags } = draft;
  const said = { from, replyTo, subject, html, text, tags, headers: headersIn(kept), files: await identifyFiles() };
  return {
    key: `smtp ${hashRequest('recipients', { key, recipients })}`,
    requestHash: hashRequest('submit', { ...said, asked: asked ?? null }),
  };
}

/** Normalised: unfolded, and sorted by name. */
function headersIn(kept: readonly RawField[]): [name: string, value: string][] {
  return kept
    .filter(({ lower }) => !WRITTEN_ANEW.has(lower) && !READ.has(lower))
    .filter(({ lower }) => !ANEW_FAMILIES.some((family) => lower.startsWith(family)))
    .map(({ lower, value }): [string, string] => [lower, value.replaceAll(/\s+/g, ' ').trim()])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
