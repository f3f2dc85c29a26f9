import type { AnswerOf } from '../client/index.ts';
import { actionOf, asked, detailOf, listOf, type Family, type Field, type ItemOf, type Key } from './family.ts';
import { ADDRESS, EMAIL_ID, HEADERS, INBOX, MORE_OF_MAIL, TEXT, THREAD, THREAD_ID } from './inbox-words.ts';

const ofThread = { inbox: INBOX, thread_id: THREAD } as const;
const named = `${ADDRESS} ${THREAD_ID}`;

/** At the command line it need not be named. */
const EMAIL: Key = { word: 'email', says: 'the id of the email (default: the newest one received)', isOptional: true };
const ofEmail = { ...ofThread, inbox_email_id: EMAIL } as const;

type Email = ItemOf<'listInboxThreadEmails'> | AnswerOf<'getInboxThreadEmail'>;

const moreOfEmail: readonly Field<Email>[] = [
  { name: 'to', label: 'To' },
  { name: 'cc', label: 'Cc' },
  { name: 'bcc', label: 'Bcc' },
  { name: 'reply_to', label: 'Reply to' },
  { name: 'last_event', label: 'State', kind: 'state' },
  {
    name: 'verdict',
    label: 'Sender',
    kind: 'state',
    tone: ({ verdict }) => (verdict === 'suspicious' ? 'bad' : 'plain'),
  },
  { name: 'message_id', label: 'Message-ID', kind: 'long' },
  {
    name: 'attachments',
    label: 'Attachments',
    value: ({ attachments }) => attachments.map(({ id, filename }) => filename ?? id),
  },
  { name: 'read', label: 'Read' },
  { name: 'text', label: 'Text', kind: 'body' },
  { name: 'html', label: 'HTML', kind: 'body' },
];

const emailFields: readonly Field<Email>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'direction', label: 'Way', value: ({ direction }) => (direction === 'inbound' ? 'received' : 'sent') },
  { name: 'from', label: 'From', kind: 'name' },
  { name: 'subject', label: 'Subject' },
  { name: 'received_at', label: 'At', kind: 'time' },
];

export const inboxEmails = {
  command: 'inbox',
  summary: 'the emails of a thread',
  noun: 'an email',
  list: listOf('listInboxThreadEmails', {
    verb: 'emails',
    summary: 'list the emails of a thread, newest first',
    example: `inbox emails ${named}`,
    path: ofThread,
    columns: [...emailFields, ...asked(...moreOfEmail)],
    empty: 'There are no emails in it.',
  }),
  get: detailOf('getInboxThreadEmail', {
    verb: 'email',
    summary: 'show one email of a thread',
    example: `inbox email ${named} ${EMAIL_ID}`,
    path: { ...ofThread, inbox_email_id: { word: 'email', says: 'the id of the email' } },
    fields: [...emailFields, ...moreOfEmail],
  }),
  actions: [
    actionOf('replyToInboxEmail', {
      verb: 'reply',
      key: 'a',
      summary: 'answer an email from the inbox',
      description:
        'Answers the newest email received in the thread, or the one that is named. Without a text $EDITOR is opened; what stands above the line with the scissors is sent, and an empty text sends nothing. The service quotes the email by itself. A command that is repeated within 24 hours is not sent twice; to say the same again, give it an --idempotency-key of its own.',
      example: `inbox reply ${named} --text 'We have refunded it today.'`,
      path: ofEmail,
      isOnce: true,
      flags: {
        text: { ...TEXT, orElse: ['html'] },
        reply_all: { says: 'to its other recipients too', isBoolean: true },
        subject: { value: '<text>', says: 'another subject', isMore: true },
        ...MORE_OF_MAIL,
        headers: HEADERS,
      },
      done: 'Answered',
      hint: ({ id }) => ({ words: 'See what becomes of it with', command: ['explain', id] }),
    }),
    actionOf('forwardInboxEmail', {
      verb: 'forward',
      key: 'f',
      summary: 'forward an email with its attachments',
      description:
        'Forwards the newest email received in the thread, or the one that is named, with its attachments. With --edit $EDITOR is opened for the text above it; an empty text sends nothing then.',
      example: `inbox forward ${named} --to accounts@example.com --text 'Please refund it.'`,
      path: ofEmail,
      isOnce: true,
      flags: {
        to: { value: '<address>', says: 'who gets it', isRepeatable: true, isRequired: true },
        text: TEXT,
        subject: { value: '<text>', says: 'another subject', isMore: true },
        ...MORE_OF_MAIL,
        headers: HEADERS,
      },
      done: 'Forwarded',
      hint: ({ id }) => ({ words: 'See what becomes of it with', command: ['explain', id] }),
    }),
  ],
} satisfies Family;
