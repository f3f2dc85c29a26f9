import {
  readIn,
  declareAction,
  declareDetail,
  declareFamily,
  declareList,
  furtherActions,
  withRemaining,
} from './family.ts';
import type { Fields } from './family.ts';
import {
  answeringInWords,
  describeLabels,
  labelsInWords,
  pausedInWords,
  stateOfThread,
  toneOfThread,
  type Row,
  type Thread,
} from './inbox-words.ts';

const fields: Fields<Thread> = {
  folder: { label: 'State', kind: 'state', value: stateOfThread, tone: toneOfThread },
  labels: { value: labelsInWords },
  answering: { value: answeringInWords },
};

const rowFields: Fields<Row> = {
  ...fields,
  received_at: 'Last mail',
  email_count: 'Emails',
  to: { kind: 'text' },
  cc: { kind: 'text' },
  bcc: { kind: 'text' },
  has_attachment: 'Files',
  has_draft: 'Draft',
  direction: 'Last mail is',
};
const columns = ['id', 'from', 'subject', 'folder', 'received_at'] as const;
const wide = ['labels', 'email_count', 'assignee', 'answering', 'snoozed_until', 'snippet'] as const;
const asked = ['to', 'cc', 'bcc', 'read', 'has_attachment', 'has_draft', 'direction'] as const;

export const inboxThreads = withRemaining({
  list: declareList('listInboxThreads', {
    fields: rowFields,
    columns,
    wide,
    asked,
    empty: 'There is no mail here yet.',
  }),
  get: declareDetail('getInboxThread', {
    fields: { ...fields, answers_paused: { label: 'Programs', value: pausedInWords } },
    columns: ['id', 'subject', 'folder', 'labels', 'assignee', 'answering', 'snoozed_until', 'answers_paused', 'notes'],
    asked: ['read'],
  }),
  actions: [
    declareAction('updateInboxThread', {
      current: readIn('getInboxThread', ({ labels, ...thread }) => ({ ...thread, labels: labels.map(({ id }) => id) })),
    }),
    ...furtherActions('updateInboxThread'),
    declareAction('addInboxThreadLabels', { describe: describeLabels }),
    declareAction('setInboxThreadLabels', { describe: describeLabels }),
    declareAction('removeInboxThreadLabel', { describe: describeLabels }),
    declareAction('deleteInboxThread'),
  ],
  elsewhere: { searchInboxThreads: true, listInboxThreadEmails: true, getInboxThreadEmail: true },
});

export const inboxSearch = declareFamily({
  noun: 'a thread',
  list: declareList('searchInboxThreads', {
    fields: { ...rowFields, matched_email_id: 'Found in' },
    columns,
    wide,
    asked: [...asked, 'matched_email_id'],
    empty: 'Nothing was found.',
  }),
});
