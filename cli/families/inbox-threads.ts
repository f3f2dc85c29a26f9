import type { AnswerOf } from '../client/index.ts';
import {
  actionOf,
  asked,
  currentIn,
  detailOf,
  furtherActions,
  listOf,
  wide,
  withRest,
  type Family,
  type Field,
  type ItemOf,
} from './family.ts';
import { labelsInWords, pausedInWords, stateOfThread, tellLabels, toneOfThread } from './inbox-words.ts';

type Row = ItemOf<'listInboxThreads'> | ItemOf<'searchInboxThreads'>;

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

export const inboxThreads = withRest({
  command: 'inbox',
  summary: 'list and manage the threads of an inbox',
  noun: 'a thread',
  list: listOf('listInboxThreads', { columns, empty: 'There is no mail here yet.' }),
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
    ...furtherActions('updateInboxThread'),
    actionOf('addInboxThreadLabels', { tell: tellLabels }),
    actionOf('setInboxThreadLabels', { tell: tellLabels }),
    actionOf('removeInboxThreadLabel', { tell: tellLabels }),
    actionOf('deleteInboxThread', { done: 'Deleted' }),
  ],
  elsewhere: { searchInboxThreads: true, listInboxThreadEmails: true, getInboxThreadEmail: true },
});

export const inboxSearch = {
  command: 'inbox',
  summary: 'search an inbox',
  noun: 'a thread',
  list: listOf('searchInboxThreads', {
    columns: [
      ...columns,
      ...asked<ItemOf<'searchInboxThreads'>>({ name: 'matched_email_id', label: 'Found in', kind: 'id' }),
    ],
    empty: 'Nothing was found.',
  }),
} satisfies Family;
