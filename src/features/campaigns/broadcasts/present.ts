import { isoTime } from '../../../platform/clock/index.ts';
import type { BroadcastCounts, LinkClicks, RecipientRow, RecipientType } from '../broadcast-recipients/index.ts';
import type { BroadcastRow, ListedBroadcast } from './broadcasts.store.ts';

export function presentBroadcastItem(row: ListedBroadcast) {
  return {
    id: row.id,
    name: row.name,
    segment_id: row.segment_id,
    audience_id: row.segment_id,
    topic_id: row.topic_id,
    status: row.status,
    created_at: isoTime(row.created_at),
    // Absent until they are set, never null.
    ...(row.scheduled_at !== null && { scheduled_at: isoTime(row.scheduled_at) }),
    ...(row.sent_at !== null && { sent_at: isoTime(row.sent_at) }),
    recipients: row.recipients,
    excluded: row.excluded,
    total: row.total,
    held:
      row.held_reason === null || row.held_since === null || row.status === 'canceled'
        ? null
        : { reason: row.held_reason, since: isoTime(row.held_since), detail: row.held_detail },
  };
}

export function presentBroadcast(row: BroadcastRow, counts: BroadcastCounts = NOTHING_CAME) {
  return {
    object: 'broadcast' as const,
    ...presentBroadcastItem(row),
    from: row.sender,
    subject: row.subject,
    reply_to: JSON.parse(row.reply_to_list) as string[],
    preview_text: row.preview_text,
    html: row.html,
    text: row.text,
    template_id: row.template_id,
    rate_per_minute: row.rate_per_minute,
    local_time: row.local_time === 1,
    waiting_reason: row.waiting_reason,
    next_at:
      ['local_hour', 'ab_test'].includes(row.waiting_reason ?? '') && row.next_at !== null
        ? isoTime(row.next_at)
        : null,
    failed_reason: row.failed_reason,
    counts,
  };
}

const NOTHING_CAME: BroadcastCounts = {
  ...{ sent: 0, delivered: 0, opened: 0, clicked: 0, bounced: 0, complained: 0, unsubscribed: 0, suppressed: 0 },
};

/** Null once its contact was erased. */
export const emailIn = ({ email }: Pick<RecipientRow, 'email'>): string | null => (email === '' ? null : email);

interface Shown {
  type: RecipientType;
  /** Contacts that were not deleted since. */
  live: ReadonlySet<string>;
  clicks: readonly LinkClicks[];
}

/** Each type shows what it counts. */
export function presentRecipient(row: RecipientRow, { type, live, clicks }: Shown) {
  return {
    id: row.id,
    contact_id: row.contact_id !== null && live.has(row.contact_id) ? row.contact_id : null,
    email: emailIn(row),
    ...(type === 'opened' && { count: row.opened, machine_count: row.machine_opened }),
    ...(type === 'clicked' && {
      count: row.clicked,
      machine_count: row.machine_clicked,
      clicked_links: clicks.map((one) => ({ url: one.url, clicks: one.clicks })),
    }),
    ...(type === 'bounced' && row.bounced !== null && { bounce_type: row.bounced }),
  };
}
