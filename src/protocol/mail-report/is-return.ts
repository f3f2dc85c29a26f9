import type { MessageReading } from '../read-message/index.ts';
import { ANSWER_HEADERS } from './automatic-answer.ts';
import { readReport } from './read-report.ts';

/**
 * Whether a message without a sender is what comes back for mail: a notice, a report, or the answer of a machine
 * (RFC 3834), which all go to the sender of the envelope. Its words can be anybody's; its form keeps out what is none.
 */
export function isReturn(reading: MessageReading): boolean {
  if (!reading.isRead) return false;
  const { headers } = reading;
  const submitted = (headers['auto-submitted'] ?? 'no').trim().toLowerCase();
  if (submitted !== '' && !submitted.startsWith('no')) return true;
  if (/^\s*multipart\/report\b/i.test(headers['content-type'] ?? '')) return true;
  if (ANSWER_HEADERS.some((name) => name !== 'list-id' && headers[name] !== undefined)) return true;
  return readReport(reading, '').kind !== 'none';
}
