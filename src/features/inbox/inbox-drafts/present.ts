import { isoTime } from '../../../platform/clock/index.ts';
import { textOfHtml } from '../../../protocol/read-message/index.ts';
import { snippetOf, type DraftFileRow, type DraftRow } from '../inbox-rows/index.ts';
import { addressesIn } from './read-draft-input.ts';

/** What a snippet is made of: more of a long text is not read for it. */
const READ_CHARS_MAX = 20_000;

const presentFile = ({ id, filename, content_type, size }: DraftFileRow) => ({ id, filename, content_type, size });

const shared = (row: DraftRow) => ({
  id: row.id,
  type: row.reply_to_email_id === null ? ('standalone' as const) : ('reply' as const),
  to: row.to_list === null ? null : addressesIn(row.to_list),
  cc: addressesIn(row.cc_list),
  bcc: addressesIn(row.bcc_list),
  subject: row.subject,
  thread_id: row.thread_id,
  reply_to_email_id: row.reply_to_email_id,
  updated_at: isoTime(Number(row.updated_at)),
});

/** What an event says of a draft: all but its texts. */
export const draftForEvent = (row: DraftRow, files: readonly DraftFileRow[]) => ({
  object: 'inbox_draft' as const,
  ...shared(row),
  email_id: row.email_id,
  created_at: isoTime(Number(row.created_at)),
  attachments: files.map(presentFile),
});

export const presentDraft = (row: DraftRow, files: readonly DraftFileRow[]) => ({
  ...draftForEvent(row, files),
  html: row.html,
  text: row.text,
});

export function presentDraftItem(row: DraftRow, files: readonly DraftFileRow[]) {
  const text = row.text ?? textOfHtml(row.html?.slice(0, READ_CHARS_MAX) ?? '');
  const snippet = snippetOf(text);
  return { ...shared(row), snippet: snippet === '' ? null : snippet, attachments: files.map(presentFile) };
}
