import {
  actionOf,
  asked,
  currentIn,
  detailOf,
  listOf,
  nameIn,
  type Family,
  type Field,
  type Flag,
  type ItemOf,
} from './family.ts';
import { ADDRESS, DRAFT, DRAFT_ID, EMAIL_ID, HEADERS, INBOX, MORE_OF_MAIL, TEXT, THREAD_ID } from './inbox-words.ts';

const ofDraft = { inbox: INBOX, draft_id: DRAFT } as const;
const named = `${ADDRESS} ${DRAFT_ID}`;

type Row = Omit<ItemOf<'listInboxDrafts'>, 'snippet'>;

const fields: readonly Field<Row>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'type', label: 'Kind', value: ({ type }) => (type === 'reply' ? 'answer' : 'new mail') },
  { name: 'to', label: 'To', kind: 'name' },
  { name: 'subject', label: 'Subject' },
  { name: 'updated_at', label: 'Changed', kind: 'time' },
];

const more: readonly Field<Row>[] = [
  { name: 'cc', label: 'Cc' },
  { name: 'bcc', label: 'Bcc' },
  { name: 'thread_id', label: 'Thread', kind: 'id' },
  { name: 'reply_to_email_id', label: 'Answers', kind: 'id' },
  {
    name: 'attachments',
    label: 'Attachments',
    value: ({ attachments }) => attachments.map(({ filename }) => filename),
  },
];

const content = {
  to: { value: '<address>', says: 'who gets it', isRepeatable: true, isClearable: true },
  subject: { value: '<text>', says: 'the subject', isClearable: true },
  text: { ...TEXT, isClearable: true },
  html: { ...MORE_OF_MAIL.html, isClearable: true },
  cc: { ...MORE_OF_MAIL.cc, isClearable: true },
  bcc: { ...MORE_OF_MAIL.bcc, isClearable: true },
  attachments: MORE_OF_MAIL.attachments,
} as const satisfies Readonly<Record<string, Flag>>;

export const inboxDrafts = {
  command: 'inbox',
  summary: 'mail of an inbox that is not sent yet',
  noun: 'a draft',
  list: listOf('listInboxDrafts', {
    verb: 'drafts',
    summary: 'list the drafts of an inbox, newest first',
    example: `inbox drafts ${ADDRESS}`,
    path: { inbox: INBOX },
    columns: [...fields, { name: 'snippet', label: 'Begins', shown: 'wide' }, ...asked(...more)],
    empty: 'There are no drafts.',
  }),
  get: detailOf('getInboxDraft', {
    verb: 'draft',
    summary: 'show a draft',
    example: `inbox draft ${named}`,
    path: ofDraft,
    fields: [
      ...fields,
      ...more,
      { name: 'email_id', label: 'Sent as', kind: 'id' },
      { name: 'created_at', label: 'Created', kind: 'time' },
      { name: 'text', label: 'Text', kind: 'body' },
      { name: 'html', label: 'HTML', kind: 'body' },
    ],
    hint: ({ email_id: sentAs }) =>
      sentAs === null ? undefined : { words: 'See what became of it with', command: ['explain', sentAs] },
  }),
  actions: [
    actionOf('createInboxDraft', {
      verb: 'write',
      key: 'w',
      summary: 'write a draft: new mail, or an answer',
      description:
        'Writes a draft. With --thread and --answers it answers an email of a thread; otherwise it is new mail, which begins a thread when it is sent.',
      example: `inbox write ${ADDRESS} --to ada@example.org --subject 'Your order' --text 'It is on its way.'`,
      path: { inbox: INBOX },
      flags: {
        ...content,
        thread_id: {
          flag: 'thread',
          value: '<thread>',
          says: `the id of the thread, such as ${THREAD_ID}`,
          isMore: true,
        },
        reply_to_email_id: {
          flag: 'answers',
          value: '<email>',
          says: `the id of its email, such as ${EMAIL_ID}`,
          isMore: true,
        },
      },
      done: 'Written',
    }),
    actionOf('updateInboxDraft', {
      verb: 'edit',
      key: 'u',
      summary: 'change a draft',
      description: 'Changes what is named. Where nothing is named, $EDITOR is opened on its text.',
      example: `inbox edit ${named} --text 'It is on its way.'`,
      path: ofDraft,
      flags: content,
      clears: ['to', 'cc', 'bcc', 'subject', 'text', 'html', 'attachments'],
      current: currentIn('getInboxDraft', ({ attachments: _, ...draft }) => draft),
      done: 'Changed',
    }),
    actionOf('sendInboxDraft', {
      verb: 'send',
      key: 's',
      summary: 'send a draft, once',
      example: `inbox send ${named}`,
      path: ofDraft,
      flags: { headers: HEADERS },
      done: 'Sent',
      hint: ({ id }) => ({ words: 'See what becomes of it with', command: ['explain', id] }),
    }),
    actionOf('deleteInboxDraft', {
      verb: 'discard',
      key: 'd',
      summary: 'delete a draft',
      example: `inbox discard ${named}`,
      path: ofDraft,
      done: 'Deleted',
      destroys: { says: 'delete the draft', name: nameIn('getInboxDraft', ({ subject, id }) => subject ?? id) },
    }),
  ],
} satisfies Family;
