import { createHash } from 'node:crypto';
import type { Config } from '../../platform/config/index.ts';
import { formatListId, type HeaderField } from '../../protocol/mime/index.ts';
import type { EmailRow } from '../emails/index.ts';

type Sent = Pick<EmailRow, 'team_id' | 'broadcast_id' | 'automation_id' | 'run_depth' | 'topic_id'>;

/**
 * Lists the headers that large receivers use to tell streams of mail apart, without those in `written`, the lower-case
 * names of the headers that the sender wrote.
 */
export function listReceiverHeaders(
  { feedback_id: hasFeedbackId, list_id: hasListId }: Config['delivery'],
  row: Sent,
  domain: string,
  written: ReadonlySet<string>,
): HeaderField[] {
  const fields: HeaderField[] = [];
  if (hasFeedbackId && !written.has('feedback-id')) fields.push(['Feedback-ID', formatFeedbackId(row)]);
  const listId = row.topic_id === null ? undefined : formatListId(row.topic_id, domain);
  if (hasListId && listId !== undefined && !written.has('list-id')) fields.push(['List-Id', listId]);
  return fields;
}

/**
 * Formats the value that Gmail counts complaints by: campaign, stream and sender. It is the same for all recipients. The
 * sender is the team's for good, whatever host, key or domain it sends with.
 */
function formatFeedbackId({ team_id, broadcast_id, automation_id, run_depth }: Sent): string {
  const sender = formatSenderId(team_id);
  if (broadcast_id !== null) return `${broadcast_id}:broadcast:${sender}`;
  if (automation_id !== null) return `${automation_id}:automation:${sender}`;
  return `${run_depth === null ? 'transactional' : 'automation'}:${sender}`;
}

/** Gmail takes 5 to 15 characters. */
const SENDER_ID_CHARS = 12;

const formatSenderId = (teamId: string): string =>
  createHash('sha256').update(`feedback sender ${teamId}`).digest('hex').slice(0, SENDER_ID_CHARS);
