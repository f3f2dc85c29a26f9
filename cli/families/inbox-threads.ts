import type { AnswerOf } from '../client/index.ts';
import {
  declareAction,
  asked,
  currentIn,
  declareDetail,
  furtherActions,
  declareList,
  wide,
  withRemaining,
  type Family,
  type Field,
  type ItemOf,
} from './family.ts';
import { labelsInWords, pausedInWords, stateOfThread, describeLabels, toneOfThread } from './inbox-words.ts';

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

export const inboxThreads = withRemaining({
  command: 'inbox',
  summary: 'list and manage the threads of an inbox',
  noun: 'a thread',
  list: declareList('listInboxThreads', { columns, empty: 'There is no mail here yet.' }),
  get: declareDetail('getInboxThread', {
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
    declareAction('updateInboxThread', {
      current: currentIn('getInboxThread', ({ labels, ...thread }) => ({
        ...thread,
        labels: labels.map(({ id }) => id),
      })),
      done: 'Changed',
    }),
    ...furtherActions('updateInboxThread'),
    declareAction('addInboxThreadLabels', { describe: describeLabels }),
    declareAction('setInboxThreadLabels', { describe: describeLabels }),
    declareAction('removeInboxThreadLabel', { describe: describeLabels }),
    declareAction('deleteInboxThread', { done: 'Deleted' }),
  ],
  elsewhere: { searchInboxThreads: true, listInboxThreadEmails: true, getInboxThreadEmail: true },
});

export const inboxSearch = {
  command: 'inbox',
  summary: 'search an inbox',
  noun: 'a thread',
  list: declareList('searchInboxThreads', {
    columns: [
      ...columns,
      ...asked<ItemOf<'searchInboxThreads'>>({ name: 'matched_email_id', label: 'Found in', kind: 'id' }),
    ],
    empty: 'Nothing was found.',
  }),
} satisfies Family;
