import type { AnswerOf } from '../client/index.ts';
import { declareAction, declareDetail, declareList, withRemaining, type ItemOf, type Tone } from './family.ts';

type Summary = ItemOf<'listApprovals'>;
type Content = NonNullable<AnswerOf<'getApproval'>['content']>;
type Message = Content['messages'][number];

const TONES: Partial<Record<Summary['status'], Tone>> = { pending: 'attention', done: 'good', failed: 'bad' };

const isPending = ({ status }: Summary): boolean => status === 'pending';
const ONLY = { when: isPending, says: 'only for a request that is pending' };

const columns = [
  { name: 'id' as const, label: 'Id', kind: 'id' as const },
  { name: 'summary' as const, label: 'What', kind: 'name' as const },
  { name: 'grant.client_name' as const, label: 'App', value: ({ grant }: Summary) => grant.client_name },
  {
    name: 'status' as const,
    label: 'Status',
    kind: 'state' as const,
    tone: ({ status }: Summary): Tone => TONES[status] ?? 'plain',
  },
  { name: 'created_at' as const, label: 'Asked', kind: 'time' as const },
];

const lines = (rows: Readonly<Record<string, string>>): string[] =>
  Object.entries(rows).flatMap(([label, value]) => (value === '' ? [] : [`${label}: ${value}`]));

const jsonOrText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null));

function messageText(message: Message): string {
  const { kind, name, fallbacks, attachments } = message;
  const files = attachments.map(
    ({ filename, size }) => `${filename ?? 'unnamed file'}${size === null ? '' : ` (${size} bytes)`}`,
  );
  const head = lines({
    [kind.replace('_', ' ').toUpperCase()]: name ?? ' ',
    From: message.from ?? '',
    To: message.to.join(', '),
    Cc: message.cc.join(', '),
    Bcc: message.bcc.join(', '),
    'Reply to': message.reply_to.join(', '),
    Subject: message.subjects.join(' / '),
    'Preview text': message.preview_text ?? '',
    Template: kind === 'template' ? '' : (message.template ?? ''),
    'Fallback values': Object.entries(fallbacks)
      .map(([key, value]) => `${key}: ${value}`)
      .join(', '),
    Attachments: files.join(', '),
  });
  const bodies = [message.text, message.html].filter((body) => body !== null && body !== '');
  return [head.join('\n').replace(':  ', ''), ...bodies].join('\n\n');
}

/** Formats everything that a person approves, as the page of the server does. */
function contentText({ messages, sender, audience, changes }: Content): string | null {
  const address = Object.values(sender?.postal_address ?? {}).filter((line) => typeof line === 'string');
  const before = audience?.subscribed_before ?? audience?.subscribed;
  const earlier = before === audience?.subscribed ? '' : ` (${before} when the app made the request)`;
  const whom = lines({
    Segment: audience?.segment_name ?? '',
    Topic: audience?.topic_name ?? '',
    Contacts: audience
      ? `${audience.contacts} ${audience.contacts === 1 ? 'contact' : 'contacts'}, ${audience.subscribed} subscribed${earlier}`
      : '',
    'Sender identity': [...(sender ? [sender.name] : []), ...address].join(', '),
  });
  const changed = changes.map(
    ({ field, before: was, after }) =>
      `CHANGES ${field}\nNow: ${jsonOrText(was)}\nAfter approval: ${jsonOrText(after)}`,
  );
  const parts = [whom.join('\n'), ...messages.map(messageText), ...changed].filter((part) => part !== '');
  return parts.length === 0 ? null : parts.join('\n\n');
}

export const approvals = withRemaining({
  command: 'approvals',
  summary: 'approve or reject requests of apps',
  noun: 'an approval',
  list: declareList('listApprovals', {
    columns: [
      ...columns,
      { name: 'expires_at', label: 'Until', kind: 'time', shown: 'wide' },
      { name: 'decided_at', label: 'Decided', kind: 'time', shown: 'wide' },
      { name: 'decided_by', label: 'By', shown: 'wide', value: ({ decided_by: by }) => by?.name ?? by?.kind },
      { name: 'operation_id', label: 'Operation', shown: 'wide' },
      { name: 'grant.id', label: 'Grant', shown: 'asked', value: ({ grant }) => grant.id },
    ],
    empty: 'No app has requested anything.',
  }),
  get: declareDetail('getApproval', {
    fields: [
      ...columns,
      { name: 'operation_id', label: 'Operation' },
      { name: 'expires_at', label: 'Until', kind: 'time' },
      { name: 'decided_at', label: 'Decided', kind: 'time' },
      { name: 'decided_by', label: 'By', value: ({ decided_by: by }) => by?.name ?? by?.kind },
      {
        name: 'content.is_changed',
        label: 'Changed',
        value: ({ content }) => (content?.is_changed ? 'since the request; it cannot be approved' : null),
      },
      { name: 'reason', label: 'Reason' },
      { name: 'error', label: 'Error', value: ({ error }) => error?.message },
      { name: 'result', label: 'Result', value: ({ result }) => (result === null ? null : JSON.stringify(result)) },
      {
        name: 'files',
        label: 'Files',
        value: ({ files }) =>
          files.map(({ url, bytes, sha256 }) => `${url} (${bytes} bytes, SHA-256 ${sha256})`).join(', '),
      },
      { name: 'content', label: 'Content', kind: 'body', value: ({ content }) => content && contentText(content) },
      { name: 'call', label: 'Call', kind: 'body', value: ({ call }) => JSON.stringify(call, null, 2) },
    ],
  }),
  actions: [
    declareAction('approveCall', {
      only: ONLY,
      describe: ({ status, summary, error }) =>
        status === 'failed' ? `${summary}: failed, ${error?.message}` : `${summary}: ${status}.`,
    }),
    declareAction('rejectCall', { only: ONLY, describe: ({ summary }) => `${summary}: rejected.` }),
  ],
});
