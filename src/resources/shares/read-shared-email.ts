import { hashToken } from '../../platform/secrets/index.ts';
import type { World } from '../../platform/world/index.ts';
import { attachmentsOf, emailRowsByIds, loadBodies, type AttachmentRow } from '../emails/index.ts';
import { mayShowContent } from '../usage/index.ts';
import { findLiveShare } from './shares.store.ts';

/** What a link shows. The recipients in bcc are no part of it: the other recipients do not see them either. */
export interface SharedEmail {
  id: string;
  from: string;
  to: string[];
  cc: string[];
  replyTo: string[];
  subject: string;
  html: string | null;
  text: string | null;
  lastEvent: string;
  createdAt: number;
  scheduledAt: number | null;
  attachments: AttachmentRow[];
  expiresAt: number;
}

/** Undefined for a link that is unknown, expired or revoked, and for one whose email is gone. */
export async function readSharedEmail(world: World, token: string): Promise<SharedEmail | undefined> {
  const { clock, db } = world;
  const share = await findLiveShare(db, hashToken(token), clock.now());
  if (!share) return undefined;
  const ids = [share.email_id];
  const [row] = await emailRowsByIds(db, ids);
  if (!row || !(await mayShowContent(world, row.team_id))) return undefined;
  const body = (await loadBodies(world, db, ids)).get(row.id);
  return {
    id: row.id,
    from: row.sender,
    to: listOf(row.to_list),
    cc: listOf(row.cc_list),
    replyTo: listOf(row.reply_to_list),
    subject: row.subject,
    html: body?.html ?? null,
    text: body?.text ?? null,
    lastEvent: row.last_event,
    createdAt: row.created_at,
    scheduledAt: row.scheduled_at,
    attachments: row.attachment_count > 0 ? await attachmentsOf(db, ids) : [],
    expiresAt: share.expires_at,
  };
}

const listOf = (json: string | null): string[] => (json === null ? [] : (JSON.parse(json) as string[]));
