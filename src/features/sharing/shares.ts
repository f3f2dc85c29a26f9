import type { BodyOf } from '../../contract/index.ts';
import { notFound, refuse, invalidFields } from '../../platform/refusal.ts';
import { hashToken, newToken } from '../../platform/secrets/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import {
  findEmail,
  isWithheld,
  listEmailAttachments,
  emailRowsByIds,
  isLargeBody,
  loadBodies,
  openAttachment,
  type AttachmentRow,
  type EmailRow,
} from '../../mail/emails/index.ts';
import { mustBeWithinQuota, mayShowContent } from '../../tenancy/usage/index.ts';
import { insertShare, findLiveShare, removeEmailShares, deleteExpiredShares } from './shares.store.ts';
import { deleteExpiredPageShares } from './page-shares.store.ts';
import type { Store } from '../../platform/store.ts';
import { findContactsByIds, withSampleLinks } from '../audience/index.ts';
import type { PreferenceLink } from '../../protocol/preference-links.ts';
import { contentIdsIn, imageDataUrl } from '../../protocol/safe-html/index.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const HOURS_MAX = 48;
export const SHARE_MS_MAX = HOURS_MAX * HOUR_MS;

/** A link works at most so long, and so long if its creator does not say. */
export interface Lifetime {
  defaultMs: number;
  maxMs: number;
  /** The maximum in words. */
  max: string;
}

const EMAIL_LIFETIME: Lifetime = { defaultMs: SHARE_MS_MAX, maxMs: SHARE_MS_MAX, max: `${HOURS_MAX} hours` };
/** A review takes days, and its readers come back for the report. */
export const PAGE_LIFETIME: Lifetime = { defaultMs: 7 * DAY_MS, maxMs: 30 * DAY_MS, max: '30 days' };

const UNIT_MS: Record<string, number> = { s: SECOND_MS, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

const FORM = /^\s*(\d+)\s*(s|seconds?|m|minutes?|h|hours?|d|days?)\s*$/i;
const SHOWN_CHARS_MAX = 60;

/** Returns the lifetime of a link in milliseconds. */
export function readExpiresIn(text: string | undefined, { defaultMs, maxMs, max }: Lifetime = EMAIL_LIFETIME): number {
  if (text === undefined) return defaultMs;
  const [, count, unit] = FORM.exec(text) ?? [];
  if (count === undefined || unit === undefined) {
    throw refused(
      `must be a whole number and a unit (s, m, h, d, or seconds, minutes, hours, days), such as 30 minutes, and at most ${max}; got ${shown(text)}`,
    );
  }
  const ms = Number(count) * (UNIT_MS[unit.charAt(0).toLowerCase()] ?? 0);
  if (ms === 0) throw refused(`must be more than 0 and at most ${max}; got ${shown(text)}`);
  if (ms > maxMs) throw refused(`must be at most ${max}; got ${shown(text)}`);
  return ms;
}

const shown = (text: string): string =>
  text.length > SHOWN_CHARS_MAX
    ? `${JSON.stringify(text.slice(0, SHOWN_CHARS_MAX))}… (${text.length} characters)`
    : JSON.stringify(text);

const refused = (rule: string) => invalidFields([{ path: 'expires_in', message: `expires_in ${rule}` }]);

/** A distinctive prefix lets scanners of logs and repositories recognize a token. */
export const PREFIX = 'rs_';

export async function createShare(ctx: Ctx, emailId: string, input: BodyOf<'createShare'>) {
  const { clock, db, origin } = ctx.store;
  const lifeMs = readExpiresIn(input.expires_in);
  const token = newToken(PREFIX);
  const now = clock.now();
  await db.tx(async (tx) => {
    const email = await findEmail(tx, ctx.teamId, emailId);
    if (!email) throw notFound('Email');
    if (isWithheld(ctx.store, email)) throw withheld();
    await mustBeWithinQuota(ctx, tx);
    const row = { token_hash: hashToken(token), email_id: emailId, created_at: now, expires_at: now + lifeMs };
    await insertShare(tx, row);
  });
  return { object: 'email' as const, id: emailId, url: `${origin()}/share/${token}` };
}

const withheld = () =>
  refuse('invalid_permission', {
    say: 'This email contains a personal link of its recipient, so it cannot be shared.',
  });

/** Returns the inline images of an email as data URLs by content id; at most `bytesMax` in total. */
async function readInlineImages(
  store: Store,
  html: string,
  email: { id: string; attachments: readonly AttachmentRow[] },
  bytesMax: number,
): Promise<Map<string, string>> {
  const images = new Map<string, string>();
  const wanted = contentIdsIn(html);
  let left = bytesMax;
  for (const attachment of wanted.size > 0 ? email.attachments : []) {
    const { content_id: contentId, content_type: type, size } = attachment;
    const key = contentId?.replace(/^<|>$/g, '');
    const isReadable = key !== undefined && wanted.has(key) && imageDataUrl(type, NOTHING) !== undefined;
    if (!isReadable || size > left) continue;
    left -= size;
    const content = await openAttachment(store, attachment);
    const url = content && imageDataUrl(type, Buffer.concat((await content.toArray()) as Buffer[]));
    if (url !== undefined) images.set(key, url);
  }
  return images;
}

const NOTHING = Buffer.alloc(0);

/** Email as a link shows it. The bcc recipients are omitted: the other recipients do not see them either. */
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
  /** Its content takes long to read and to show. */
  isLarge: boolean;
}

/** Parts of an email that never change and take long to read. */
export interface SharedContent {
  html: string | null;
  text: string | null;
  /** Inline images of the email, as data URLs by content id. */
  images: ReadonlyMap<string, string>;
}

/** Total bytes of inline images; a larger page is of no use. */
const INLINE_IMAGE_BYTES_MAX = 8 * 1024 * 1024;

/** Reads the email of a link; undefined if the link is unknown, expired or revoked, or its email is gone. */
export async function readSharedEmail(store: Store, token: string): Promise<SharedEmail | undefined> {
  const { clock, db } = store;
  const share = await findLiveShare(db, hashToken(token), clock.now());
  if (!share) return undefined;
  const [row] = await emailRowsByIds(db, [share.email_id]);
  if (!row || isWithheld(store, row) || !(await mayShowContent(store, row.team_id))) return undefined;
  return { ...(await presentShown(store, row)), expiresAt: share.expires_at };
}

/** Email as its recipient sees it in a browser. */
export type ViewedEmail = Omit<SharedEmail, 'expiresAt'>;

/**
 * Reads the email of a link in the mail to a contact; undefined if the email or the contact was deleted, or if the team
 * is suspended or above its quota.
 */
export async function readViewedEmail(store: Store, link: PreferenceLink): Promise<ViewedEmail | undefined> {
  if (link.kind !== 'view' || link.emailId === null) return undefined;
  const { db } = store;
  const [row] = await emailRowsByIds(db, [link.emailId]);
  if (!row || row.team_id !== link.teamId || row.contact_id !== link.contactId) return undefined;
  const [contact] = await findContactsByIds(db, link.teamId, [link.contactId]);
  if (!contact || isWithheld(store, row) || !(await mayShowContent(store, row.team_id))) return undefined;
  return presentShown(store, row);
}

async function presentShown({ db }: Store, row: EmailRow): Promise<ViewedEmail> {
  return {
    id: row.id,
    from: row.sender,
    to: parseList(row.to_list),
    cc: parseList(row.cc_list),
    replyTo: parseList(row.reply_to_list),
    subject: row.subject,
    lastEvent: row.last_event,
    createdAt: row.created_at,
    scheduledAt: row.scheduled_at,
    attachments: row.attachment_count > 0 ? await listEmailAttachments(db, [row.id]) : [],
    isLarge: row.attachment_count > 0 || (await isLargeBody(db, row.id)),
  };
}

/** Reads the content of an email for the reader of a link that the team made, without the recipient's own links. */
export async function readSharedContent(store: Store, email: SharedEmail): Promise<SharedContent> {
  const { html, text, images } = await readViewedContent(store, email);
  return {
    html: html === null ? null : withSampleLinks(store, html),
    text: text === null ? null : withSampleLinks(store, text),
    images,
  };
}

/** Reads the content of an email for its recipient. */
export async function readViewedContent(store: Store, email: ViewedEmail): Promise<SharedContent> {
  const { html, text } = (await loadBodies(store, store.db, [email.id])).get(email.id) ?? { html: null, text: null };
  return { html, text, images: await readInlineImages(store, html ?? '', email, INLINE_IMAGE_BYTES_MAX) };
}

const parseList = (json: string | null): string[] => (json === null ? [] : (JSON.parse(json) as string[]));

/** Deletes expired links, which show nothing any more; returns how many. */
export async function forgetExpiredShares({ db, clock }: Store): Promise<number> {
  const now = clock.now();
  return (await deleteExpiredShares(db, now)) + (await deleteExpiredPageShares(db, now));
}

export async function revokeShares(ctx: Ctx, emailId: string) {
  const { clock, db } = ctx.store;
  const removed = await db.tx(async (tx) => {
    if (!(await findEmail(tx, ctx.teamId, emailId))) throw notFound('Email');
    return removeEmailShares(tx, [emailId]);
  });
  const now = clock.now();
  const revoked = removed.filter((share) => share.expires_at > now).length;
  return { object: 'email' as const, id: emailId, revoked };
}
