import type { RecordedEvent } from '../../events/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import { timeOfId } from '../../platform/ids/index.ts';
import type { EmailRow } from '../emails/index.ts';

/** What an endpoint is told besides the envelope, by type of event. */
const EXTRAS: Record<string, string> = {
  'email.bounced': 'bounce',
  'email.opened': 'open',
  'email.clicked': 'click',
  'email.failed': 'failed',
  'email.suppressed': 'suppressed',
  'email.delivery_delayed': 'delay',
};

const DOMAIN_KEYS = ['id', 'name', 'status', 'created_at', 'region', 'records'] as const;

/** An event that may have outlived everything that was known of it. */
export type PayloadEvent = Pick<RecordedEvent, 'type' | 'at'> & Partial<Pick<RecordedEvent, 'subjectId' | 'data'>>;

/**
 * The body of a webhook delivery: the same text for the same event, whoever renders it and when. Of an email whose
 * content is past retention it says what its event still knows.
 */
export function renderPayload(event: PayloadEvent, email: EmailRow | undefined): string {
  return JSON.stringify({ type: event.type, created_at: isoTime(event.at), data: dataOf(event, email) });
}

function dataOf({ type, subjectId, data = {} }: PayloadEvent, email: EmailRow | undefined): Record<string, unknown> {
  if (type.startsWith('domain.')) return Object.fromEntries(DOMAIN_KEYS.map((key) => [key, data[key]]));
  if (!type.startsWith('email.') || subjectId === undefined) return data;
  const { template_id: templateId = null, tags = null, headers = null } = email ?? {};
  const extra = EXTRAS[type];
  return {
    email_id: subjectId,
    from: email?.sender ?? '',
    to: data.to ?? (email ? readJson(email.to_list) : []),
    subject: email?.subject ?? '',
    message_id: email?.message_id ?? '',
    // The id of an email carries its time, also when nothing else of it is left.
    created_at: isoTime(email?.created_at ?? timeOfId(subjectId)),
    ...(templateId === null ? {} : { template_id: templateId }),
    ...(tags === null ? {} : { tags: tagsOf(tags) }),
    ...(headers === null ? {} : { headers: headersOf(headers) }),
    ...(extra === undefined ? {} : { [extra]: data[extra] }),
  };
}

const tagsOf = (json: string): Record<string, string> =>
  Object.fromEntries((readJson(json) as { name: string; value: string }[]).map(({ name, value }) => [name, value]));

const headersOf = (json: string): { name: string; value: string }[] =>
  (readJson(json) as [string, string][]).map(([name, value]) => ({ name, value }));

const readJson = (json: string): unknown => JSON.parse(json);
