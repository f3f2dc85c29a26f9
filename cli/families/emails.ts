import type { EmailStatus } from '../../src/contract/index.ts';
import { diagnosisInWords } from './ai.ts';
import { adviseFor, declareAction, declareDetail, declareFamily, declareList, withRemaining } from './family.ts';
import type { Fields, ItemIn, Key, Tone } from './family.ts';

const TONES: Record<EmailStatus, Tone> = {
  queued: 'plain',
  scheduled: 'plain',
  sent: 'plain',
  delivered: 'good',
  opened: 'good',
  clicked: 'good',
  delivery_delayed: 'attention',
  complained: 'attention',
  bounced: 'bad',
  failed: 'bad',
  suppressed: 'bad',
  canceled: 'bad',
};

export const toneOfEmail = (state: EmailStatus): Tone => TONES[state];

export const EMAIL: Key = { word: 'id', says: 'the id that was returned when the email was sent' };

type Email = ItemIn<'listEmails' | 'getEmail'>;

const fields: Fields<Email> = {
  last_event: { filter: 'status', tone: (email) => toneOfEmail(email.last_event) },
  // Other recipients, if a message has no To; marked, because they are not in that header.
  to: {
    value: ({ to: written, cc: copied, bcc: hidden }) =>
      written.length > 0
        ? written
        : [...copied.map((address) => `${address} (cc)`), ...hidden.map((address) => `${address} (bcc)`)],
  },
  tags: { value: (email) => email.tags.map((tag) => `${tag.name}=${tag.value}`) },
};

const SCHEDULED = {
  when: ({ last_event: now }: Email): boolean => now === 'scheduled',
  says: 'only for an email that is still scheduled',
};

export const emails = withRemaining({
  summary: 'list, reschedule and cancel sent emails',
  list: declareList('listEmails', {
    fields,
    columns: ['id', 'created_at', 'last_event', 'to', 'subject'],
    wide: ['from', 'cc', 'bcc', 'reply_to', 'scheduled_at', 'message_id', 'tags', 'topic_id'],
    asked: ['text', 'html', 'content_withheld'],
  }),
  get: declareDetail('getEmail', {
    fields,
    columns: [
      'id',
      'last_event',
      'created_at',
      'scheduled_at',
      'from',
      'to',
      'cc',
      'bcc',
      'reply_to',
      'subject',
      'message_id',
      'tags',
      'topic_id',
      // The reason why text and HTML are missing.
      'content_withheld',
      'text',
      'html',
    ],
    hint: ({ id: email, last_event }) =>
      ['plain', 'good'].includes(TONES[last_event])
        ? undefined
        : { words: 'See why, and what happens next, with', command: ['explain', email] },
  }),
  actions: [
    declareAction('sendEmail', { done: 'Accepted', hint: adviseFor('See what happened to it with', 'explain') }),
    declareAction('sendBatch', {
      flags: {
        file: { value: '<file>', says: 'the file', orStdin: true, isWord: true, isFile: true, isRequired: true },
        permissive: { says: 'send the valid emails and list the others', isBoolean: true },
      },
    }),
    declareAction('updateEmail', { done: 'Moved', only: SCHEDULED }),
    declareAction('cancelEmail', { done: 'Canceled', only: SCHEDULED }),
    declareAction('diagnoseEmail', { describe: diagnosisInWords }),
  ],
  elsewhere: { listEmailEvents: true, listEmailAttempts: true },
});

export const emailEvents = declareFamily({
  noun: 'an event',
  list: declareList('listEmailEvents', {
    fields: {
      created_at: { kind: 'moment' },
      type: { kind: 'whole' },
      data: { kind: 'long', value: ({ data }) => (data ? JSON.stringify(data) : '') },
    },
    columns: ['id', 'created_at', 'type', 'data'],
  }),
});

export const emailAttempts = declareFamily({
  noun: 'a try',
  list: declareList('listEmailAttempts', {
    fields: {
      created_at: { label: 'Tried', kind: 'moment' },
      mx: { label: 'Mail server', kind: 'whole', value: ({ mx, destination }) => mx ?? destination },
      tls: { value: (attempt) => attempt.tls?.version ?? 'none' },
      recipients: {
        label: 'Result',
        value: (attempt) =>
          attempt.recipients.map(({ email, outcome, reply }) => [email, outcome, reply].filter(Boolean).join(' ')),
      },
      attempt: 'Try',
      destination: { kind: 'text' },
      source: { kind: 'text' },
      provider: { kind: 'text' },
      address: { kind: 'text' },
    },
    columns: ['id', 'created_at', 'mx', 'tls', 'duration_ms', 'recipients'],
    wide: ['attempt', 'destination', 'source', 'provider', 'address'],
    empty: 'There was no delivery attempt yet.',
  }),
});
