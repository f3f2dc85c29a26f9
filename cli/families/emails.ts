import type { EmailStatus } from '../../src/contract/index.ts';
import type { AnswerOf } from '../client/index.ts';
import { diagnosisInWords } from './ai.ts';
import type { ItemOf } from './family.ts';
import { idEnd } from './flag.ts';
import {
  actionOf,
  asked,
  currentIn,
  detailOf,
  listOf,
  wide,
  type Family,
  type Field,
  type Flag,
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

export const EMAIL: Key = { word: 'id', says: 'the id that sending answered' };

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
/** Of a message without a To, the other recipients; marked, because it does not stand there. */
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

/** Why there is neither. */
const withheld: Field<Email> = { name: 'content_withheld', label: 'Withheld', kind: 'whole' };

const SCHEDULED = {
  when: ({ last_event: now }: Email): boolean => now === 'scheduled',
  says: 'only an email that is still scheduled',
};

/** What may stand in the place of a plain text. */
const BODIES = ['html', 'template.id'] as const;

/** What most sends do without. */
const MORE_OF_SEND = {
  html: { value: '<html>', says: 'the HTML', fromFile: 'HTML', hasLines: true, isMore: true },
  'template.id': {
    flag: 'template',
    value: '<id>',
    says: 'a published template, by id or alias, instead of --text and --html',
    isMore: true,
  },
  'template.variables': {
    flag: 'variable',
    value: '<pair>',
    says: 'a variable of the template, KEY=value or KEY:=number',
    isRepeatable: true,
    syntax: 'variable',
    isMore: true,
  },
  cc: { value: '<address>', says: 'a recipient whom everybody sees', isRepeatable: true, isMore: true },
  bcc: { value: '<address>', says: 'a recipient whom nobody sees', isRepeatable: true, isMore: true },
  reply_to: { value: '<address>', says: 'where answers go', isRepeatable: true, isMore: true },
  headers: {
    flag: 'header',
    value: '<field>',
    says: "a further header, 'Name: value'",
    isRepeatable: true,
    syntax: 'header',
    isMore: true,
  },
  tags: {
    flag: 'tag',
    value: '<pair>',
    says: 'a tag, name=value, returned with every event',
    isRepeatable: true,
    syntax: 'tag',
    isMore: true,
  },
  attachments: {
    flag: 'attach',
    value: '<file>',
    says: "a file to attach, or an https URL for the server to fetch; 'logo.png;content_id=logo' shows it as cid:logo, and filename= and content_type= work alike",
    isRepeatable: true,
    isFile: true,
    syntax: 'attachment',
    isMore: true,
  },
  scheduled_at: { value: '<time>', says: 'when to send: an ISO 8601 time, 1 minute to 30 days from now', isMore: true },
} as const satisfies Readonly<Record<string, Flag>>;

export const emails = {
  command: 'emails',
  summary: 'read, move and cancel what was sent',
  noun: 'an email',
  list: listOf('listEmails', {
    summary: 'list sent emails, newest first',
    description: 'Lists sent emails, newest first. Filters narrow the list together.',
    example: 'emails list --status bounced --limit 50',
    filters: {
      status: {
        value: '<status>',
        says: 'only those whose furthest state is this one',
        choices: Object.keys(TONES),
      },
      api_key_id: { value: '<id>', says: 'only those sent with this key' },
      start_date: { value: '<time>', says: 'only those created at this ISO 8601 time or later' },
      end_date: { value: '<time>', says: 'only those created at this ISO 8601 time or earlier' },
      search: { value: '<text>', says: 'only those whose subject, sender or recipient contains this' },
      tag: { value: '<pair>', says: 'only those with this tag, name:value' },
      id_end: idEnd,
    },
    columns: [
      id,
      created,
      state,
      to,
      subject,
      ...wide(from, cc, bcc, replyTo, scheduled, messageId, tags, topic),
      ...asked(text, html, withheld),
    ],
    empty: 'There are no emails yet.',
  }),
  get: detailOf('getEmail', {
    summary: 'show one email and how far it has come',
    example: 'emails get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
    path: { email_id: EMAIL },
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
        : { words: 'Why, and what comes next', command: ['explain', email] },
  }),
  actions: [
    actionOf('sendEmail', {
      verb: 'send',
      key: 's',
      isBeside: true,
      summary: 'send an email',
      example: "send --from 'You <you@playground.test>' --to someone@example.com --subject Hello --text 'It works.'",
      flags: {
        from: {
          value: '<address>',
          says: 'the sender, on a verified domain: address or Name <address>; a template may supply it',
          isRequired: true,
          orElse: ['template.id'],
        },
        to: { value: '<address>', says: 'a recipient', isRepeatable: true, isRequired: true },
        subject: {
          value: '<text>',
          says: 'the subject; a template may supply it',
          isRequired: true,
          orElse: ['template.id'],
        },
        text: {
          value: '<text>',
          says: 'the plain text',
          fromFile: 'plain text',
          hasLines: true,
          isRequired: true,
          orElse: BODIES,
        },
        ...MORE_OF_SEND,
      },
      done: 'Accepted',
      hint: ({ id: email }) => ({ words: 'See what became of it with', command: ['explain', email] }),
    }),
    actionOf('sendBatch', {
      verb: 'batch',
      key: 'b',
      summary: 'send up to 100 emails at once',
      description:
        'Sends the emails of a JSON file: a list of at most 100 objects with the fields of POST /emails. One bad email refuses them all unless --permissive is given.',
      example: 'emails batch emails.json --idempotency-key digest-2026-11-20',
      flags: {
        file: {
          value: '<file>',
          says: 'the file',
          orStdin: true,
          isWord: true,
          isFile: true,
          isRequired: true,
        },
        permissive: { says: 'send the good ones and name the others', isBoolean: true },
      },
    }),
    actionOf('updateEmail', {
      verb: 'reschedule',
      key: 'e',
      summary: 'give a scheduled email another time',
      example: 'emails reschedule 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77 --scheduled-at 2030-01-01T08:00:00Z',
      path: { email_id: EMAIL },
      flags: {
        scheduled_at: {
          value: '<time>',
          says: 'when to send: an ISO 8601 time, 1 minute to 30 days from now',
          isRequired: true,
        },
      },
      current: currentIn('getEmail'),
      done: 'Moved',
      only: SCHEDULED,
    }),
    actionOf('cancelEmail', {
      verb: 'cancel',
      key: 'c',
      summary: 'take a scheduled email back before it is sent',
      example: 'emails cancel 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
      path: { email_id: EMAIL },
      done: 'Canceled',
      only: SCHEDULED,
    }),
    actionOf('diagnoseEmail', {
      verb: 'diagnose',
      key: 'w',
      summary: 'have it said in plain words what became of an email, and why',
      description:
        'Says in plain words what became of an email, the likely causes and what to do next. Where the operator of the server has chosen a model, it is told domains, states and times, and never an address, a subject or a body. The team has to have switched that on (team update --ai-assist); explain needs no model, and tells more.',
      example: 'emails diagnose 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
      path: { email_id: EMAIL },
      tell: diagnosisInWords,
    }),
  ],
} satisfies Family;

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
  summary: 'what happened to an email',
  noun: 'an event',
  list: listOf('listEmailEvents', {
    verb: 'events',
    summary: 'list what happened to an email, newest first',
    example: 'emails events 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
    path: { email_id: EMAIL },
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
    empty: 'There are no events yet.',
  }),
} satisfies Family;

export const emailAttempts = {
  command: 'emails',
  summary: 'the tries to deliver an email',
  noun: 'a try',
  list: listOf('listEmailAttempts', {
    verb: 'attempts',
    summary: 'list the tries to deliver an email, newest first',
    description:
      'Lists the tries to deliver an email, newest first. The command explain says the same in whole sentences, with what comes next.',
    example: 'emails attempts 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
    path: { email_id: EMAIL },
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
    empty: 'Nothing was tried yet.',
  }),
} satisfies Family;
