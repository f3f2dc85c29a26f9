import type { EmailStatus } from '../../src/contract/index.ts';
import type { AnswerOf } from '../client/index.ts';
import { diagnosisInWords } from './ai.ts';
import type { ItemOf } from './family.ts';
import {
  declareAction,
  asked,
  declareDetail,
  declareList,
  wide,
  withRemaining,
  type Family,
  type Field,
  type Key,
  type Tone,
} from './family.ts';

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

type Email = ItemOf<'listEmails'> | AnswerOf<'getEmail'>;

const id: Field<Email> = { name: 'id', label: 'Id', kind: 'id' };
const created: Field<Email> = { name: 'created_at', label: 'Created', kind: 'time' };
const state: Field<Email> = {
  name: 'last_event',
  label: 'State',
  filter: 'status',
  kind: 'state',
  tone: (email) => toneOfEmail(email.last_event),
};
/** Shows other recipients if a message has no To; marked, because they are not in that header. */
const to: Field<Email> = {
  name: 'to',
  label: 'To',
  kind: 'name',
  value: ({ to: written, cc: copied, bcc: hidden }) =>
    written.length > 0
      ? written
      : [...copied.map((address) => `${address} (cc)`), ...hidden.map((address) => `${address} (bcc)`)],
};
const subject: Field<Email> = { name: 'subject', label: 'Subject' };
const from: Field<Email> = { name: 'from', label: 'From', kind: 'name' };
const cc: Field<Email> = { name: 'cc', label: 'Cc', kind: 'name' };
const bcc: Field<Email> = { name: 'bcc', label: 'Bcc', kind: 'name' };
const replyTo: Field<Email> = { name: 'reply_to', label: 'Reply to', kind: 'name' };
const scheduled: Field<Email> = { name: 'scheduled_at', label: 'Scheduled', kind: 'time' };
const messageId: Field<Email> = { name: 'message_id', label: 'Message-ID', kind: 'whole' };
const tags: Field<Email> = {
  name: 'tags',
  label: 'Tags',
  value: (email) => email.tags.map((tag) => `${tag.name}=${tag.value}`),
};
const topic: Field<Email> = { name: 'topic_id', label: 'Topic', kind: 'id' };
const text: Field<Email> = { name: 'text', label: 'Text', kind: 'body' };
const html: Field<Email> = { name: 'html', label: 'HTML', kind: 'body' };

/** The reason why text and HTML are missing. */
const withheld: Field<Email> = { name: 'content_withheld', label: 'Withheld', kind: 'whole' };

const SCHEDULED = {
  when: ({ last_event: now }: Email): boolean => now === 'scheduled',
  says: 'only for an email that is still scheduled',
};

export const emails = withRemaining({
  command: 'emails',
  summary: 'list, reschedule and cancel sent emails',
  noun: 'an email',
  list: declareList('listEmails', {
    columns: [
      id,
      created,
      state,
      to,
      subject,
      ...wide(from, cc, bcc, replyTo, scheduled, messageId, tags, topic),
      ...asked(text, html, withheld),
    ],
  }),
  get: declareDetail('getEmail', {
    fields: [
      id,
      state,
      created,
      scheduled,
      from,
      to,
      cc,
      bcc,
      replyTo,
      subject,
      messageId,
      tags,
      topic,
      withheld,
      text,
      html,
    ],
    hint: ({ id: email, last_event }) =>
      ['plain', 'good'].includes(TONES[last_event])
        ? undefined
        : { words: 'See why, and what happens next, with', command: ['explain', email] },
  }),
  actions: [
    declareAction('sendEmail', {
      done: 'Accepted',
      hint: ({ id: email }) => ({ words: 'See what happened to it with', command: ['explain', email] }),
    }),
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

type Attempt = ItemOf<'listEmailAttempts'>;
type Event = ItemOf<'listEmailEvents'>;

const attemptResult: Field<Attempt> = {
  name: 'recipients',
  label: 'Result',
  value: (attempt) =>
    attempt.recipients.map(({ email, outcome, reply }) => [email, outcome, reply].filter(Boolean).join(' ')),
};
const attemptTls: Field<Attempt> = { name: 'tls', label: 'TLS', value: (attempt) => attempt.tls?.version ?? 'none' };
const attemptTranscript: Field<Attempt> = {
  name: 'transcript',
  label: 'Transcript',
  shown: 'asked',
  value: (attempt) => attempt.transcript,
};

export const emailEvents = {
  command: 'emails',
  summary: 'show what happened to an email',
  noun: 'an event',
  list: declareList('listEmailEvents', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'created_at', label: 'Created', kind: 'moment' },
      { name: 'type', label: 'Type', kind: 'whole' },
      {
        name: 'data',
        label: 'Data',
        kind: 'long',
        value: (event: Event) => (event.data ? JSON.stringify(event.data) : ''),
      },
      ...asked<Event>({ name: 'explanation', label: 'Explanation' }, { name: 'advice', label: 'Advice' }),
    ],
  }),
} satisfies Family;

export const emailAttempts = {
  command: 'emails',
  summary: 'list the attempts to deliver an email',
  noun: 'a try',
  list: declareList('listEmailAttempts', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'created_at', label: 'Tried', kind: 'moment' },
      { name: 'mx', label: 'Mail server', kind: 'whole', value: (attempt) => attempt.mx ?? attempt.destination },
      attemptTls,
      { name: 'duration_ms', label: 'Ms', kind: 'number' },
      attemptResult,
      { name: 'attempt', label: 'Try', kind: 'number', shown: 'wide' },
      { name: 'destination', label: 'Destination', shown: 'wide' },
      { name: 'address', label: 'Address', shown: 'wide' },
      { name: 'relay', label: 'Relay', shown: 'asked', value: (attempt) => attempt.relay },
      attemptTranscript,
    ],
    empty: 'There was no delivery attempt yet.',
  }),
} satisfies Family;
