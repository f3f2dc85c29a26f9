import { isoTime } from '../../platform/clock/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { EmailBody } from './email-bodies.ts';
import type { EmailRow } from './emails.store.ts';

/**
 * Returns whether mail contains a token of a person, which no team may read. In the development profile each caller may
 * read all mail.
 */
export const isWithheld = ({ config }: Pick<Store, 'config'>, row: Pick<EmailRow, 'is_account_mail'>): boolean =>
  row.is_account_mail === 1 && config.profile !== 'development';

/** Who wrote to whom, and when. */
export const presentEnvelope = (row: EmailRow) => ({
  from: row.sender,
  to: readList(row.to_list),
  cc: readList(row.cc_list),
  bcc: readList(row.bcc_list),
  created_at: isoTime(row.created_at),
  scheduled_at: row.scheduled_at === null ? null : isoTime(row.scheduled_at),
  last_event: row.last_event,
});

export function presentEmail(store: Pick<Store, 'config'>, row: EmailRow, stored: EmailBody | undefined) {
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
