import type { AnswerOf } from '../client/index.ts';
import {
  actionOf,
  asked,
  currentIn,
  detailOf,
  listOf,
  nameIn,
  wide,
  type Family,
  type Field,
  type Flag,
  type ItemOf,
} from './family.ts';
import { idEnd } from './flag.ts';
import {
  ADDRESS,
  FOLDERS,
  INBOX,
  LABEL,
  LABEL_ID,
  labelsInWords,
  pausedInWords,
  stateOfThread,
  tellLabels,
  THREAD,
  THREAD_ID,
  toneOfThread,
  type Thread,
} from './inbox-words.ts';

type Row = ItemOf<'listInboxThreads'> | ItemOf<'searchInboxThreads'>;

const ofThread = { inbox: INBOX, thread_id: THREAD } as const;
const named = `${ADDRESS} ${THREAD_ID}`;

const columns: readonly Field<Row>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'from', label: 'From', kind: 'name' },
  { name: 'subject', label: 'Subject' },
  { name: 'folder', label: 'State', kind: 'state', value: stateOfThread, tone: toneOfThread },
  { name: 'received_at', label: 'Last mail', kind: 'time' },
  ...wide<Row>(
    { name: 'labels', label: 'Labels', value: labelsInWords },
    { name: 'email_count', label: 'Emails', kind: 'number' },
    { name: 'assignee', label: 'Assignee', kind: 'name' },
    { name: 'snoozed_until', label: 'Snoozed until', kind: 'time' },
    { name: 'snippet', label: 'Begins' },
  ),
  ...asked<Row>(
    { name: 'to', label: 'To' },
    { name: 'cc', label: 'Cc' },
    { name: 'bcc', label: 'Bcc' },
    { name: 'read', label: 'Read' },
    { name: 'has_attachment', label: 'Files' },
    { name: 'has_draft', label: 'Draft' },
    { name: 'direction', label: 'Last mail is' },
  ),
];

const filters = {
  folders: { value: '<folders>', says: `only those in these, with commas between: ${FOLDERS.join(', ')}` },
  labels: { value: '<labels>', says: 'only those with one of these labels, their ids with commas between' },
  read: { says: 'only those that were read', no: 'only those that were not read', isBoolean: true },
} as const satisfies Readonly<Record<string, Flag>>;

const setIn = (declared: {
  verb: string;
  key: string;
  summary: string;
  done: string;
  sets?: object;
  flags?: Readonly<Record<string, Flag>>;
  words?: string;
  only?: { when: (thread: Thread) => boolean; says: string };
}) => {
  const { words = '', ...rest } = declared;
  return actionOf('updateInboxThread', {
    ...rest,
    example: `inbox ${declared.verb} ${named}${words}`,
    path: ofThread,
  } as never);
};

export const inboxThreads = {
  command: 'inbox',
  summary: 'the conversations of an inbox',
  noun: 'a thread',
  list: listOf('listInboxThreads', {
    verb: 'threads',
    summary: 'list the threads of an inbox, the last mail first',
    example: `inbox threads ${ADDRESS} --folders inbox --no-read`,
    path: { inbox: INBOX },
    filters: { ...filters, snoozed: { says: 'only those that are snoozed', isBoolean: true }, id_end: idEnd },
    columns,
    empty: 'There is no mail here yet.',
  }),
  get: detailOf('getInboxThread', {
    verb: 'thread',
    summary: 'show what is known of a thread, without its emails',
    example: `inbox thread ${named}`,
    path: ofThread,
    fields: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'subject', label: 'Subject' },
      { name: 'folder', label: 'State', kind: 'state', value: stateOfThread, tone: toneOfThread },
      { name: 'labels', label: 'Labels', value: labelsInWords },
      { name: 'assignee', label: 'Assignee', kind: 'name' },
      { name: 'snoozed_until', label: 'Snoozed until', kind: 'time' },
      { name: 'answers_paused', label: 'Programs', value: pausedInWords },
      { name: 'notes', label: 'Notes', kind: 'body' },
      ...asked<AnswerOf<'getInboxThread'>>({ name: 'read', label: 'Read' }),
    ],
  }),
  actions: [
    actionOf('updateInboxThread', {
      verb: 'change',
      key: 'c',
      summary: 'change several things of a thread at once',
      example: `inbox change ${named} --folder archive --read`,
      path: ofThread,
      flags: {
        folder: { value: '<folder>', says: 'where it goes', choices: FOLDERS.filter((one) => one !== 'sent') },
        read: { says: 'it was read', no: 'it was not read', isBoolean: true },
        labels: {
          flag: 'label',
          value: '<label>',
          says: 'the id of a label, in the place of all before',
          isRepeatable: true,
        },
        assignee: { value: '<address>', says: 'the member of the team who answers it', isClearable: true },
        snoozed_until: {
          flag: 'snooze',
          value: '<time>',
          says: 'when it comes back: 2h, 3d, 1w, or an ISO 8601 time',
          syntax: 'time ahead',
          isClearable: true,
        },
        notes: {
          value: '<text>',
          says: 'what the team notes of it for itself',
          fromFile: 'notes',
          hasLines: true,
          isClearable: true,
        },
      },
      clears: ['assignee', 'snoozed_until', 'notes'],
      current: currentIn('getInboxThread', ({ labels, ...thread }) => ({
        ...thread,
        labels: labels.map(({ id }) => id),
      })),
      done: 'Changed',
    }),
    setIn({
      verb: 'archive',
      key: 'e',
      summary: 'archive a thread: it is done with',
      sets: { folder: 'archive' },
      done: 'Archived',
    }),
    setIn({
      verb: 'reopen',
      key: 'i',
      summary: 'move a thread back into the folder inbox',
      sets: { folder: 'inbox' },
      done: 'Reopened',
    }),
    setIn({
      verb: 'spam',
      key: 'p',
      summary: 'move a thread to spam',
      sets: { folder: 'spam' },
      done: 'Moved to spam',
    }),
    setIn({
      verb: 'trash',
      key: 't',
      summary: 'move a thread to the trash, where it is deleted after 30 days',
      sets: { folder: 'trash' },
      done: 'Moved to the trash',
    }),
    setIn({ verb: 'unread', key: 'u', summary: 'mark a thread as unread', sets: { read: false }, done: 'Unread' }),
    setIn({ verb: 'mark-read', key: 'f', summary: 'mark a thread as read', sets: { read: true }, done: 'Read' }),
    setIn({
      verb: 'snooze',
      key: 's',
      summary: 'put a thread away until a time',
      words: ' 2d',
      flags: {
        snoozed_until: {
          flag: 'until',
          value: '<time>',
          says: '2h, 3d, 1w, or an ISO 8601 time',
          isWord: true,
          isRequired: true,
          syntax: 'time ahead',
        },
      },
      done: 'Snoozed',
    }),
    setIn({
      verb: 'wake',
      key: 'w',
      summary: 'bring a snoozed thread back now',
      sets: { snoozed_until: null },
      done: 'Awake',
    }),
    setIn({
      verb: 'assign',
      key: 'a',
      summary: 'say which member of the team answers a thread',
      words: ' grace@example.com',
      flags: { assignee: { value: '<address>', says: 'the address of the member', isWord: true, isRequired: true } },
      done: 'Assigned',
    }),
    setIn({
      verb: 'unassign',
      key: 'z',
      summary: 'let nobody in particular answer a thread',
      sets: { assignee: null },
      done: 'Unassigned',
    }),
    setIn({
      verb: 'note',
      key: 'n',
      summary: 'note something of a thread for the team, in the place of the note before',
      words: " 'Asked accounting on Monday.'",
      flags: { notes: { value: '<text>', says: 'the note', isWord: true, isRequired: true, hasLines: true } },
      done: 'Noted',
    }),
    actionOf('addInboxThreadLabels', {
      verb: 'label',
      key: 'b',
      summary: 'put labels on a thread',
      example: `inbox label ${named} Billing`,
      path: ofThread,
      flags: {
        labels: {
          value: '<label>',
          says: 'the name of a label, or its id',
          isWord: true,
          isVariadic: true,
          isRequired: true,
        },
      },
      tell: tellLabels,
    }),
    actionOf('setInboxThreadLabels', {
      verb: 'set-labels',
      key: 'v',
      summary: 'replace the labels of a thread; without one all are taken off',
      example: `inbox set-labels ${named} --label Billing`,
      path: ofThread,
      flags: {
        labels: { flag: 'label', value: '<label>', says: 'the name of a label, or its id', isRepeatable: true },
      },
      tell: tellLabels,
    }),
    actionOf('removeInboxThreadLabel', {
      verb: 'unlabel',
      key: 'B',
      summary: 'take a label off a thread',
      example: `inbox unlabel ${named} ${LABEL_ID}`,
      path: { ...ofThread, label_id: LABEL },
      tell: tellLabels,
    }),
    actionOf('deleteInboxThread', {
      verb: 'delete-thread',
      key: 'd',
      summary: 'delete a thread for good; its emails stay without it',
      example: `inbox delete-thread ${named}`,
      path: ofThread,
      done: 'Deleted',
      destroys: {
        says: 'delete the thread with its notes and drafts; its emails stay without it',
        name: nameIn('getInboxThread', ({ subject, id }) => subject ?? id),
      },
    }),
  ],
} satisfies Family;

export const inboxSearch = {
  command: 'inbox',
  summary: 'what is found in an inbox',
  noun: 'a thread',
  list: listOf('searchInboxThreads', {
    verb: 'search',
    summary: 'search the threads of an inbox by what stands in their emails',
    example: `inbox search ${ADDRESS} --query refund`,
    path: { inbox: INBOX },
    filters: {
      query: { value: '<text>', says: 'what stands in the subject, an address or the text' },
      from: { value: '<addresses>', says: 'who sent it: addresses or parts of them, with commas between' },
      to: { value: '<addresses>', says: 'who it went to' },
      cc: { value: '<addresses>', says: 'who had a copy' },
      bcc: { value: '<addresses>', says: 'who had a copy that nobody sees' },
      has_attachment: { says: 'only with an attachment', no: 'only without attachments', isBoolean: true },
      ...filters,
      start_date: { value: '<time>', says: 'not older than this ISO 8601 time' },
      end_date: { value: '<time>', says: 'not younger than this ISO 8601 time' },
    },
    columns: [
      ...columns,
      ...asked<ItemOf<'searchInboxThreads'>>({ name: 'matched_email_id', label: 'Found in', kind: 'id' }),
    ],
    empty: 'Nothing is found.',
  }),
} satisfies Family;
