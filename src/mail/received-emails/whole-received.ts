import type { Store } from '../../platform/store/index.ts';
import {
  attachmentsOf,
  findReceived,
  findReceivedBody,
  type ReceivedAttachmentRow,
  type ReceivedEmailRow,
} from './received-emails.store.ts';
import { loadReceivedContent, type ReceivedContent } from './stored-content.ts';

export interface WholeReceived {
  row: ReceivedEmailRow;
  files: ReceivedAttachmentRow[];
  content: ReceivedContent;
}

/** An email with all that is kept of it, for what is written in answer to it. */
export async function findWholeReceived(store: Store, teamId: string, id: string): Promise<WholeReceived | undefined> {
  const row = await findReceived(store.db, teamId, id);
  if (!row) return undefined;
  const [files, body] = await Promise.all([attachmentsOf(store.db, [id]), findReceivedBody(store.db, id)]);
  return { row, files, content: body ? await loadReceivedContent(store, body) : NOTHING };
}

const NOTHING: ReceivedContent = { html: null, text: null, headers: null };
