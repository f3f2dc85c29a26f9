import { hashToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import {
  attachmentsOf,
  emailRowsByIds,
  isLargeBody,
  isWithheld,
  loadBodies,
  type AttachmentRow,
} from '../../mail/emails/index.ts';
import { mayShowContent } from '../../tenancy/usage/index.ts';
import { readInlineImages } from './read-inline-images.ts';
import { findLiveShare } from './shares.store.ts';

/** What a link shows. The recipients in bcc are no part of it: the other recipients do not see them either. */
export interface SharedEmail {
  id: string;
  from: string;
  to: string[];
  cc: string[];
  replyTo: string[];
  subject: string;
  lastEvent: string;
  createdAt: number;
  scheduledAt: number | null;
  attachments: AttachmentRow[];
  expiresAt: number;
  /** Its content is long to read and to show. */
  isLarge: boolean;
}

/** What never changes of an email, and is long to read. */
export interface SharedContent {
  html: string | null;
  text: string | null;
  /** The pictures the email brings along, as data URLs by content id. */
  images: ReadonlyMap<string, string>;
}

/** Pictures inside the email, as bytes; a page larger than this is of no use. */
const INLINE_IMAGE_BYTES_MAX = 8 * 1024 * 1024;

/** Undefined for a link that is unknown, expired or revoked, and for one whose email is gone. */
export async function readSharedEmail(store: Store, token: string): Promise<SharedEmail | undefined> {
  const { clock, db } = store;
  const share = await findLiveShare(db, hashToken(token), clock.now());
  if (!share) return undefined;
  const ids = [share.email_id];
  const [row] = await emailRowsByIds(db, ids);
  if (!row || isWithheld(store, row) || !(await mayShowContent(store, row.team_id))) return undefined;
  return {
    id: row.id,
    from: row.sender,
    to: listOf(row.to_list),
    cc: listOf(row.cc_list),
    replyTo: listOf(row.reply_to_list),
    subject: row.subject,
    lastEvent: row.last_event,
    createdAt: row.created_at,
    scheduledAt: row.scheduled_at,
    attachments: row.attachment_count > 0 ? await attachmentsOf(db, ids) : [],
    expiresAt: share.expires_at,
    isLarge: row.attachment_count > 0 || (await isLargeBody(db, row.id)),
  };
}

export async function readSharedContent(store: Store, email: SharedEmail): Promise<SharedContent> {
  const { html, text } = (await loadBodies(store, store.db, [email.id])).get(email.id) ?? { html: null, text: null };
  return { html, text, images: await readInlineImages(store, html ?? '', email, INLINE_IMAGE_BYTES_MAX) };
}

const listOf = (json: string | null): string[] => (json === null ? [] : (JSON.parse(json) as string[]));
