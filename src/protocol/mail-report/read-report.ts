import type { MessagePart, MessageReading } from '../read-message/index.ts';
import { isAutomaticAnswer } from './automatic-answer.ts';
import { addressIn, fieldGroups, fieldsIn, type Fields } from './fields.ts';
import type { MailReport, ReportedRecipient } from './report.ts';
import { readNotice, reasonInText } from './unstructured-notice.ts';

type Read = Extract<MessageReading, { isRead: true }>;

export function readReport(reading: MessageReading, mailFrom: string): MailReport {
  if (!reading.isRead) return { kind: 'none', because: 'it cannot be read' };
  const feedback = partOf(reading, 'message/feedback-report');
  if (feedback) return readComplaint(reading, feedback);
  const status = partOf(reading, 'message/delivery-status') ?? partOf(reading, 'message/global-delivery-status');
  const report = status && readStatus(reading, status);
  if (report) return report;
  // A machine that answers for a person names reasons and codes as well, so that it is looked for first.
  if (isAutomaticAnswer(reading)) return { kind: 'none', because: 'it answers by itself' };
  return readNotice(reading, mailFrom);
}

const partOf = ({ parts }: Read, type: string): MessagePart | undefined =>
  parts.find(({ contentType }) => contentType === type);

/** RFC 3464: one group about the message, then one for each recipient. Undefined where no group says what happened. */
function readStatus(reading: Read, { content }: MessagePart): MailReport | undefined {
  const groups = fieldGroups(content).filter((group) => group.has('action') || group.has('final-recipient'));
  const recipients = groups.map(recipientOf).filter((one) => one !== undefined);
  if (recipients.length > 0) return { kind: 'delivery', recipients: recipients.map(withReason(reading, recipients)) };
  if (!groups.some((group) => group.has('action'))) return undefined;
  return { kind: 'none', because: 'it says nothing that ends or delays a delivery' };
}

function recipientOf(group: Fields): ReportedRecipient | undefined {
  const status = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(group.get('status') ?? '')?.[1];
  const action = actionOf(group.get('action'), status);
  if (!action) return undefined;
  const addresses = [addressIn(group.get('original-recipient')), addressIn(group.get('final-recipient'))];
  return {
    action,
    addresses: addresses.filter((address) => address !== undefined),
    status,
    // Messaging Server says it behind the status: `5.4.4 (Illegal host/domain name found)`.
    diagnostic: (group.get('diagnostic-code') ?? inParentheses(group.get('status') ?? '')).slice(0, 1000),
  };
}

/** From the first to the last; a pattern would begin anew at each. */
const inParentheses = (text: string): string =>
  text.includes('(') ? text.slice(text.indexOf('(') + 1, Math.max(0, text.lastIndexOf(')'))) : '';

/** OpenSMTPD, Domino and others give a general status and no diagnosis; the reason stands in the text for people. */
const withReason =
  (reading: Read, all: readonly ReportedRecipient[]) =>
  (one: ReportedRecipient): ReportedRecipient => {
    const isGeneral = one.status === undefined || /^5\.(?:0\.0|[345]\.\d+)$/.test(one.status);
    const isSilent = !/\p{L}{2}/u.test(one.diagnostic.replace(/^[\w-]+;/, ''));
    if (one.action !== 'failed' || !isGeneral || !isSilent) return one;
    return { ...one, diagnostic: reasonInText(reading, one.addresses, all.length === 1) || one.diagnostic };
  };

/** Where the status contradicts the action, nothing is said. */
function actionOf(text: string | undefined, status: string | undefined): ReportedRecipient['action'] | undefined {
  const action = /^[a-z]+/.exec((text ?? '').trim().toLowerCase())?.[0];
  const level = status?.[0];
  if (action === 'failed' || action === 'failure') return level === '2' ? undefined : 'failed';
  if (action === 'delayed') return level === '2' ? undefined : 'delayed';
  const isSuccess = action === 'delivered' || action === 'relayed' || action === 'expanded';
  return isSuccess && (level === undefined || level === '2') ? action : undefined;
}

/** RFC 5965, and RFC 6650: only abuse is a complaint; the others tell of forgeries, mistakes and viruses. */
function readComplaint(reading: Read, { content }: MessagePart): MailReport {
  const [fields = new Map<string, string>()] = fieldGroups(content);
  const type = (fields.get('feedback-type') ?? '').toLowerCase();
  if (type !== 'abuse') return { kind: 'none', because: `it is feedback of the type ${type.slice(0, 40) || 'none'}` };
  const original = originalHeaders(reading);
  const senders = [fields.get('original-mail-from'), original?.get('return-path')].map(addressIn);
  const addresses = [fields.get('original-rcpt-to'), fields.get('removal-recipient')].map(addressIn);
  return {
    kind: 'complaint',
    addresses: addresses.filter((address) => address !== undefined),
    envelopeSenders: senders.filter((address) => address !== undefined),
  };
}

function originalHeaders(reading: Read): Fields | undefined {
  const part = partOf(reading, 'message/rfc822') ?? partOf(reading, 'text/rfc822-headers');
  if (!part) return undefined;
  const top = Buffer.from(part.content)
    .toString('utf8', 0, 64 * 1024)
    .replaceAll('\r\n', '\n');
  return fieldsIn(top.split('\n\n', 1)[0] ?? '');
}
