import { readCreatedRange } from '../../platform/created-range.ts';
import type { QueryOf } from '../../contract/index.ts';
import { mustBeAlone, type Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { isAboveQuota, mustBeWithinQuota } from '../../tenancy/usage/index.ts';
import { loadBodies, type EmailBody } from './email-bodies.ts';
import { emailRowsEnding, findEmail, listEmailRows, type EmailRow } from './emails.store.ts';
import { listTaggedEmails, searchEmails } from './search-emails.ts';
import { canBeFound } from './search-text.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Store } from '../../platform/store.ts';

export async function getEmail(ctx: Ctx, id: string) {
  const row = await findEmail(ctx.store.db, ctx.teamId, id);
  if (!row) throw notFound('Email');
  await mustBeWithinQuota(ctx);
  const bodies = await loadBodies(ctx.store, ctx.store.db, [id]);
  return presentEmail(ctx.store, row, bodies.get(id));
}

export async function listEmails(ctx: Ctx, filter: QueryOf<'listEmails'>, page: Page) {
  const { rows, hasMore } = await loadRows(ctx, filter, page);
  const { kept, bodies } = (await isAboveQuota(ctx))
    ? { kept: rows, bodies: new Map<string, EmailBody>() }
    : await withBodies(ctx, rows, page);
  return {
    object: 'list' as const,
    has_more: hasMore || kept.length < rows.length,
    data: kept.map((row) => presentEmail(ctx.store, row, bodies.get(row.id))),
  };
}

async function loadRows({ store, teamId }: Ctx, filter: QueryOf<'listEmails'>, page: Page) {
  const range = readCreatedRange(filter);
  const { status, api_key_id: apiKeyId, search, tag, id_end: end } = filter;
  if (end !== undefined) {
    mustBeAlone(filter);
    return emailRowsEnding(store.db, teamId, end, page);
  }
  if (search !== undefined && !canBeFound(search)) return { rows: [], hasMore: false };
  const rowFilter = { status, apiKeyId, tag, ...range };
  if (search !== undefined) return searchEmails(store, teamId, { ...rowFilter, search }, page);
  if (tag !== undefined) return listTaggedEmails(store, teamId, { ...rowFilter, tag }, page);
  return listEmailRows(store.db, teamId, rowFilter, page);
}

/** A hundred bodies of 2 MB would be a page that no client can hold, and each megabyte blocks the process for milliseconds. */
const PAGE_CHARS_MAX = 4 * 1024 * 1024;

/** Keeps as many emails as their bodies allow, counted from the end of the page that adjoins the next one. */
async function withBodies(
  { store }: Ctx,
  rows: EmailRow[],
  page: Page,
): Promise<{ kept: EmailRow[]; bodies: Map<string, EmailBody> }> {
  const ids = rows.map((row) => row.id);
  if (page.before !== undefined) ids.reverse();
  const bodies = await loadBodies(store, store.db, ids, PAGE_CHARS_MAX);
  return { kept: rows.filter((row) => bodies.has(row.id)), bodies };
}

/**
 * Reports whether mail contains a token of a person, which no team may read. In the development profile each caller may
 * read all mail.
 */
export const isWithheld = ({ config }: Pick<Store, 'config'>, row: Pick<EmailRow, 'is_account_mail'>): boolean =>
  row.is_account_mail === 1 && config.profile !== 'development';

/** Presents sender, recipients and times of an email. */
export const presentEnvelope = (row: EmailRow) => ({
  from: row.sender,
  to: readList(row.to_list),
  cc: readList(row.cc_list),
  bcc: readList(row.bcc_list),
  created_at: isoTime(row.created_at),
  scheduled_at: row.scheduled_at === null ? null : isoTime(row.scheduled_at),
  last_event: row.last_event,
});

function presentEmail(store: Pick<Store, 'config'>, row: EmailRow, stored: EmailBody | undefined) {
  const isHidden = isWithheld(store, row);
  const body = isHidden ? undefined : stored;
  return {
    object: 'email' as const,
    id: row.id,
    from: row.sender,
    to: readList(row.to_list),
    cc: readList(row.cc_list),
    bcc: readList(row.bcc_list),
    reply_to: readList(row.reply_to_list),
    subject: row.subject,
    html: body?.html ?? null,
    text: body?.text ?? null,
    message_id: row.message_id,
    created_at: isoTime(row.created_at),
    last_event: row.last_event,
    scheduled_at: row.scheduled_at === null ? null : isoTime(row.scheduled_at),
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as { name: string; value: string }[]),
    topic_id: row.topic_id,
    ...(isHidden ? { content_withheld: 'account_mail' as const } : {}),
  };
}

const readList = (json: string | null): string[] => (json === null ? [] : (JSON.parse(json) as string[]));
