import type { QueryOf } from '../../contract/index.ts';
import { mustBeAlone, type Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { mustBeWithinQuota } from '../../tenancy/usage/index.ts';
import type { Authentication } from './authentication.ts';
import { withInlineImages } from './inline-images.ts';
import { presentReceived, readList } from './present.ts';
import {
  attachmentsOf,
  findReceived,
  findReceivedBody,
  listReceivedRows,
  receivedRowsEnding,
} from './received-emails.store.ts';
import { makeReceivedLink } from './received-link.ts';
import { loadReceivedContent } from './stored-content.ts';

export async function listReceivedEmails({ store, teamId }: Ctx, filter: QueryOf<'listReceivedEmails'>, page: Page) {
  const { search, id_end: end } = filter;
  if (end !== undefined) mustBeAlone(filter);
  const { rows, hasMore } =
    end === undefined
      ? await listReceivedRows(store.db, teamId, search, page)
      : await receivedRowsEnding(store.db, teamId, end, page);
  const withFiles = rows.filter((row) => row.attachment_count > 0).map((row) => row.id);
  const files = Map.groupBy(await attachmentsOf(store.db, withFiles), (file) => file.received_id);
  return {
    object: 'list' as const,
    has_more: hasMore,
    data: rows.map((row) => presentReceived(row, files.get(row.id) ?? [])),
  };
}

export async function getReceivedEmail(ctx: Ctx, id: string, htmlFormat: 'data_uri' | 'cid') {
  const { store, teamId } = ctx;
  const row = await findReceived(store.db, teamId, id);
  if (!row) throw notFound('Email');
  await mustBeWithinQuota(ctx);
  const [files, body] = await Promise.all([attachmentsOf(store.db, [id]), findReceivedBody(store.db, id)]);
  const content = body ? await loadReceivedContent(store, body) : { html: null, text: null, headers: null };
  const isEmbedded = htmlFormat === 'data_uri' && content.html !== null;
  return {
    object: 'email' as const,
    ...presentReceived(row, files),
    received_for: readList(row.received_for),
    html: isEmbedded ? await withInlineImages(store, content.html ?? '', files) : content.html,
    text: content.text,
    ...(row.dropped_reason === 'account_mail' ? { content_withheld: 'account_mail' as const } : {}),
    headers: content.headers ?? {},
    not_forwarded_reason: row.not_forwarded,
    authentication: row.authentication === null ? null : (JSON.parse(row.authentication) as Authentication),
    raw: row.has_raw === 1 ? makeReceivedLink(store, id, 'raw') : null,
  };
}
