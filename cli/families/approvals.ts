import { escapeUnseen, escapeUnseenInLines } from '../../src/contract/index.ts';
import { declareAction, declareDetail, declareList, withRemaining } from './family.ts';
import type { AnswerOf, FieldsOf, ItemOf, Tone } from './family.ts';
import { capitalise } from './columns.ts';

type Summary = ItemOf<'listApprovals'>;
type Content = NonNullable<AnswerOf<'getApproval'>['content']>;
type Message = Content['messages'][number];

const ONLY = {
  when: ({ status }: Summary): boolean => status === 'pending',
  says: 'only for a request that is pending',
};

const fields: FieldsOf<'listApprovals' | 'getApproval'> = {
  summary: { label: 'What', kind: 'name' },
  about: { label: 'About', value: ({ about }) => aboutInWords(about) },
  status: { tone: ({ status }) => TONES[status] ?? 'plain' },
  created_at: 'Asked',
  decided_by: { label: 'By', value: ({ decided_by: by }) => by?.name ?? by?.kind },
};
/** Names the recipient with the number of the others, the subject, and the fields that change. */
function aboutInWords(about: Summary['about']): string {
  if (about === null) return '';
  const { to, recipients, subject, changes, object } = about;
  const count = recipients === null || recipients === 1 ? '' : ` (${recipients})`;
  return [
    to === null ? (subject === null ? escapeUnseen(object ?? '') : '') : `to ${escapeUnseen(to)}${count}`,
    subject === null ? '' : `“${escapeUnseen(subject)}”`,
    changes.length === 0 ? '' : `changes ${escapeUnseen(changes.join(', '))}`,
  ]
    .filter((part) => part !== '')
    .join(': ');
}

const TONES: Partial<Record<Summary['status'], Tone>> = { pending: 'attention', done: 'good', failed: 'bad' };

const lines = (rows: Readonly<Record<string, string>>): string[] =>
  Object.entries(rows).flatMap(([label, value]) => (value === '' ? [] : [`${label}: ${escapeUnseen(value)}`]));

/** Marks each line of a text of an app, so that none of them can be taken for a line of ours. */
const quote = (text: string): string =>
  escapeUnseenInLines(text)
    .split('\n')
    .map((line) => `| ${line}`)
    .join('\n');

function jsonOrText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return /[\r\n]/.test(text) ? `\n${quote(text)}` : escapeUnseen(text);
}

function messageText(message: Message): string {
  const { kind, name, fallbacks, attachments } = message;
  const files = attachments.map(
    ({ filename, size }) => `${filename ?? 'unnamed file'}${size === null ? '' : ` (${size} bytes)`}`,
  );
  const head = lines({
    [kind.replace('_', ' ').toUpperCase()]: name ?? ' ',
    From: message.from ?? '',
    To: message.to.join(', '),
    Recipients: message.recipients > 1 ? `${message.recipients}` : '',
    Cc: message.cc.join(', '),
    Bcc: message.bcc.join(', '),
    'Reply to': message.reply_to.join(', '),
    Subject: message.subjects.join(' / '),
    'Preview text': message.preview_text ?? '',
    Template: kind === 'template' ? '' : (message.template ?? ''),
    Alias: message.alias ?? '',
    Headers: message.headers.map(({ name: header, value }) => `${header}: ${value}`).join(' / '),
    Options: message.options.map(({ name: option, value }) => `${option}: ${value}`).join(' / '),
    'Fallback values': Object.entries(fallbacks)
      .map(([key, value]) => `${key}: ${value}`)
      .join(', '),
    Attachments: files.join(', '),
  });
  const bodies = [message.text, message.html]
    .filter((body) => body !== null && body !== '')
    .map((body) => quote(body ?? ''));
  return [head.join('\n').replace(':  ', ''), ...bodies].join('\n\n');
}

const joinNames = (named: readonly { name: string }[] = []): string => named.map(({ name }) => name).join(', ');

/** Formats everything that a person approves, as the page of the server does. */
function contentText({ objects, messages, sender, audience, automation, changes }: Content): string | null {
  const address = Object.values(sender?.postal_address ?? {}).filter((line) => typeof line === 'string');
  const before = audience?.subscribed_before ?? audience?.subscribed;
  const earlier = before === audience?.subscribed ? '' : ` (${before} when the app made the request)`;
  const named = objects.map(
    ({ field, id, name }) => `${capitalise(field.replace(/_id$/, ''))}: ${escapeUnseen(name)} (${escapeUnseen(id)})`,
  );
  const whom = lines({
    Segment: joinNames(audience?.segments),
    'Without segment': joinNames(audience?.exclude_segments),
    'Not to recipients of': joinNames(audience?.not_received_from),
    'Only to those who have not opened': audience?.received_but_not_opened?.name ?? '',
    Topic: audience?.topic_name ?? '',
    Contacts: audience
      ? `${audience.contacts} ${audience.contacts === 1 ? 'contact' : 'contacts'}, ${audience.subscribed} of them get it${earlier}`
      : '',
    'Over the limit of marketing mail now': audience?.over_marketing_cap
      ? `${audience.over_marketing_cap} of them, who do not get it`
      : '',
    'Sender identity': [...(sender ? [sender.name] : []), ...address].join(', '),
  });
  const changed = changes.map(
    ({ field, before: was, after }) =>
      `CHANGES ${escapeUnseen(field)}\nNow: ${jsonOrText(was)}\nAfter approval: ${jsonOrText(after)}`,
  );
  const does = automation
    ? [
        ...lines({
          AUTOMATION: automation.name ?? '',
          Status: automation.status ?? '',
          'Runs again': automation.reentry ?? '',
          'Ends on': automation.exit_on.join(', '),
        }),
        ...automation.steps.map((step) => `- ${escapeUnseen(step)}`),
      ]
    : [];
  const parts = [named.join('\n'), whom.join('\n'), ...messages.map(messageText), does.join('\n'), ...changed].filter(
    (part) => part !== '',
  );
  return parts.length === 0 ? null : parts.join('\n\n');
}

export const approvals = withRemaining({
  summary: 'approve or reject requests of apps',
  list: declareList('listApprovals', {
    fields: { ...fields, 'grant.id': { label: 'Grant', kind: 'text' } },
    columns: ['id', 'summary', 'about', 'grant.client_name', 'status', 'created_at'],
    given: ({ grant }: Summary) => ({ app: grant.client_name }),
    wide: ['expires_at', 'decided_at', 'decided_by', 'operation_id'],
    asked: ['grant.id'],
    empty: 'No app has requested anything.',
  }),
  get: declareDetail('getApproval', {
    fields: {
      ...fields,
      'content.is_changed': {
        label: 'Changed',
        value: ({ content }) => (content?.is_changed ? 'since the request; it cannot be approved' : null),
      },
      error: { value: ({ error }) => error?.message },
      result: { value: ({ result }) => (result === null ? null : JSON.stringify(result)) },
      files: {
        value: ({ files }) =>
          files.map(({ url, bytes, sha256 }) => `${url} (${bytes} bytes, SHA-256 ${sha256})`).join(', '),
      },
      content: { kind: 'body', value: ({ content }) => content && contentText(content) },
      call: { kind: 'body', value: ({ call }) => escapeUnseenInLines(JSON.stringify(call, null, 2)) },
    },
    columns: [
      'id',
      'summary',
      'about',
      'grant.client_name',
      'status',
      'created_at',
      'operation_id',
      'expires_at',
      'decided_at',
      'decided_by',
      'content.is_changed',
      'reason',
      'error',
      'result',
      'files',
      'content',
      'call',
    ],
  }),
  actions: [
    declareAction('approveCall', {
      only: ONLY,
      describe: ({ status, summary, error }) =>
        status === 'failed' ? `${summary}: failed, ${error?.message}` : `${summary}: ${status}.`,
    }),
    declareAction('rejectCall', { only: ONLY, describe: ({ summary }) => `${summary}: rejected.` }),
    declareAction('rejectCallsOfApp', {
      describe: ({ app, rejected }) => `${rejected} ${rejected === 1 ? 'request' : 'requests'} of ${app} rejected.`,
    }),
  ],
});
