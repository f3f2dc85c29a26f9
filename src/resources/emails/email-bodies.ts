import type { NewBlob } from '../../platform/blobs/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { bodyRowsByIds, type BodyRow } from './emails.store.ts';
import type { EmailDraft } from './read-email-input.ts';

export interface EmailBody {
  html: string | null;
  text: string | null;
}

const HTML_BLOB = 'html';
const TEXT_BLOB = 'text';
export const ATTACHMENT_BLOB = (emailId: string, attachmentId: string): string => `${emailId}/${attachmentId}`;

/** Bodies larger than the setting go to the blob store; the row says where each one is. */
export function bodyRow(world: World, emailId: string, body: EmailBody): BodyRow {
  const isLarge = (text: string | null): boolean =>
    text !== null && Buffer.byteLength(text) > world.config.storage.inline_bytes;
  return {
    email_id: emailId,
    html: isLarge(body.html) ? null : body.html,
    text: isLarge(body.text) ? null : body.text,
    html_in_blob: isLarge(body.html) ? 1 : 0,
    text_in_blob: isLarge(body.text) ? 1 : 0,
  };
}

/** Everything of an email that does not fit into a row, to be written before the row. */
export function blobsOf(row: BodyRow, draft: EmailDraft, attachments: readonly { id: string }[]): NewBlob[] {
  const id = row.email_id;
  const files = draft.attachments.map(({ content }, i) => ({
    key: ATTACHMENT_BLOB(id, attachments[i]?.id ?? ''),
    content,
  }));
  if (row.html_in_blob) files.push({ key: `${id}/${HTML_BLOB}`, content: Buffer.from(draft.html ?? '') });
  if (row.text_in_blob) files.push({ key: `${id}/${TEXT_BLOB}`, content: Buffer.from(draft.text ?? '') });
  return files;
}

/**
 * The bodies of many emails in one statement; blobs are read one after the other, in the order of the ids, until
 * `charsMax` is passed: the rest is left out, but never the first.
 */
export async function loadBodies(
  world: World,
  db: Executor,
  emailIds: readonly string[],
  charsMax = Number.POSITIVE_INFINITY,
): Promise<Map<string, EmailBody>> {
  const bodies = new Map<string, EmailBody>();
  if (emailIds.length === 0) return bodies;
  const rows = new Map((await bodyRowsByIds(db, emailIds)).map((row) => [row.email_id, row]));
  let chars = 0;
  for (const id of emailIds) {
    const row = rows.get(id);
    if (!row) continue;
    const html = row.html_in_blob ? await readText(world, id, HTML_BLOB) : row.html;
    const text = row.text_in_blob ? await readText(world, id, TEXT_BLOB) : row.text;
    chars += (html?.length ?? 0) + (text?.length ?? 0);
    if (chars > charsMax && bodies.size > 0) break;
    bodies.set(id, { html, text });
  }
  return bodies;
}

const readText = async (world: World, emailId: string, name: string): Promise<string> =>
  (await world.blobs.get(`${emailId}/${name}`)).toString('utf8');
