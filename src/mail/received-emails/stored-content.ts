import type { NewBlob } from '../../platform/blobs/index.ts';
import type { Store } from '../../platform/store.ts';
import { readContent } from '../contents/index.ts';
import {
  receivedBodiesByIds,
  listAttachmentRows,
  findReceived,
  findReceivedBody,
  type ReceivedBodyRow,
  type ReceivedAttachmentRow,
  type ReceivedEmailRow,
} from './received-emails.store.ts';

export interface WholeReceived {
  row: ReceivedEmailRow;
  files: ReceivedAttachmentRow[];
  content: ReceivedContent;
}

/** Reads an email with everything stored for it, as needed for a reply to it. */
export async function findWholeReceived(store: Store, teamId: string, id: string): Promise<WholeReceived | undefined> {
  const row = await findReceived(store.db, teamId, id);
  if (!row) return undefined;
  const [files, body] = await Promise.all([listAttachmentRows(store.db, [id]), findReceivedBody(store.db, id)]);
  return { row, files, content: body ? await loadReceivedContent(store, body) : NOTHING };
}

const NOTHING: ReceivedContent = { html: null, text: null, headers: null };

export interface ReceivedContent {
  html: string | null;
  text: string | null;
  headers: Record<string, string> | null;
}

export const RAW_BLOB = (id: string): string => `${id}/raw.eml`;
export const RECEIVED_ATTACHMENT_BLOB = (id: string, attachmentId: string): string => `${id}/${attachmentId}`;
const BODY_BLOB = (id: string, name: 'html' | 'text' | 'headers'): string => `${id}/${name}`;

/** Builds the row of a body. A text larger than the setting is not in the row, which records for each where it is. */
export function receivedBody(
  store: Store,
  id: string,
  { html, text, headers }: ReceivedContent,
): { row: ReceivedBodyRow; contents: NewBlob[]; bytes: number } {
  const contents: NewBlob[] = [];
  let bytes = 0;
  const place = (name: 'html' | 'text' | 'headers', value: string | null): string | null => {
    if (value === null) return null;
    const content = Buffer.from(value);
    bytes += content.length;
    if (content.length <= store.config.storage.inline_bytes) return value;
    contents.push({ key: BODY_BLOB(id, name), content });
    return null;
  };
  const placed = {
    html: place('html', html),
    text: place('text', text),
    headers: place('headers', headers === null ? null : JSON.stringify(headers)),
  };
  const isInBlob = (name: 'html' | 'text' | 'headers'): number =>
    contents.some(({ key }) => key === BODY_BLOB(id, name)) ? 1 : 0;
  const row = {
    received_id: id,
    ...placed,
    html_in_blob: isInBlob('html'),
    text_in_blob: isInBlob('text'),
    headers_in_blob: isInBlob('headers'),
  };
  return { row, contents, bytes };
}

export async function loadReceivedContent(store: Store, row: ReceivedBodyRow): Promise<ReceivedContent> {
  const read = async (name: 'html' | 'text' | 'headers', isInBlob: number): Promise<string | null> =>
    isInBlob ? (await readContent(store, BODY_BLOB(row.received_id, name))).toString('utf8') : row[name];
  const headers = await read('headers', row.headers_in_blob);
  return {
    html: await read('html', row.html_in_blob),
    text: await read('text', row.text_in_blob),
    headers: headers === null ? null : (JSON.parse(headers) as Record<string, string>),
  };
}

/**
 * Loads the texts of many emails, in the order of the ids, until `charsMax` is exceeded: the remaining ones are left
 * out, but never the first.
 */
export async function loadReceivedBodies(
  store: Store,
  ids: readonly string[],
  charsMax: number,
): Promise<Map<string, Pick<ReceivedContent, 'html' | 'text'>>> {
  const bodies = new Map<string, Pick<ReceivedContent, 'html' | 'text'>>();
  const rows = new Map((await receivedBodiesByIds(store.db, ids)).map((row) => [row.received_id, row]));
  let chars = 0;
  for (const id of ids) {
    const row = rows.get(id);
    if (!row) continue;
    const { html, text } = await loadReceivedContent(store, { ...row, headers: null, headers_in_blob: 0 });
    chars += (html?.length ?? 0) + (text?.length ?? 0);
    if (chars > charsMax && bodies.size > 0) break;
    bodies.set(id, { html, text });
  }
  return bodies;
}
