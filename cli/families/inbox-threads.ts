import type { AnswerOf } from '../client/index.ts';
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
  type ItemOf,
} from './family.ts';
import {
  ADDRESS,
  INBOX,
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
    columns,
    empty: 'There is no mail here yet.',
  }),
  get: detailOf('getInboxThread', {
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
      tell: tellLabels,
    }),
    actionOf('setInboxThreadLabels', {
      tell: tellLabels,
    }),
    actionOf('removeInboxThreadLabel', {
      tell: tellLabels,
    }),
    actionOf('deleteInboxThread', {
      done: 'Deleted',
    }),
  ],
} satisfies Family;

export const inboxSearch = {
  command: 'inbox',
  summary: 'what is found in an inbox',
  noun: 'a thread',
  list: listOf('searchInboxThreads', {
    columns: [
      ...columns,
      ...asked<ItemOf<'searchInboxThreads'>>({ name: 'matched_email_id', label: 'Found in', kind: 'id' }),
    ],
    empty: 'Nothing is found.',
  }),
} satisfies Family;
