import type { AnswerOf } from '../client/index.ts';
import {
  declareAction,
  asked,
  declareDetail,
  declareList,
  nameIn,
  declareReport,
  wide,
  withRemaining,
  type Family,
  type Field,
  type ItemOf,
} from './family.ts';

type Inbox = ItemOf<'listInboxes'> | AnswerOf<'getInbox'>;

const id: Field<Inbox> = { name: 'id', label: 'Id', kind: 'id' };
const name: Field<Inbox> = { name: 'name', label: 'Name', kind: 'name' };
const address: Field<Inbox> = { name: 'email_address', label: 'Address', kind: 'name' };
const unread: Field<Inbox> = {
  name: 'unread',
  label: 'Unread',
  kind: 'number',
  tone: ({ unread: count }) => (count > 0 ? 'attention' : 'plain'),
};
const received: Field<Inbox> = { name: 'last_received', label: 'Last mail', kind: 'time' };
const from: Field<Inbox> = { name: 'from_name', label: 'Sends as' };
const created: Field<Inbox> = { name: 'created_at', label: 'Created', kind: 'time' };
const updated: Field<Inbox> = { name: 'updated_at', label: 'Changed', kind: 'time' };

export const inboxes = withRemaining({
  command: 'inbox',
  summary: 'read and answer mail to your shared addresses',
  noun: 'an inbox',
  list: declareList('listInboxes', {
    columns: [id, name, address, unread, received, ...wide(from, created), ...asked(updated)],
  }),
  get: declareDetail('getInbox', {
    fields: [
      id,
      name,
      address,
      from,
      { name: 'channel', label: 'Channel' },
      { name: 'receiving_address', label: 'Forward mail to', kind: 'whole' },
      { name: 'unread', label: 'Unread threads', kind: 'number' },
      { name: 'drafts', label: 'Drafts' },
      {
        name: 'thread_by_subject',
        label: 'By subject',
        value: ({ thread_by_subject: isBySubject }: AnswerOf<'getInbox'>) => (isBySubject ? 'yes' : 'no'),
      },
      received,
      created,
      updated,
      { name: 'domain_id', label: 'Domain', kind: 'id' },
      { name: 'signature', label: 'Signature', kind: 'body' },
    ],
    hint: ({ id: inboxId }) => ({ words: 'See its threads with', command: ['listInboxThreads', inboxId] }),
  }),
  actions: [
    declareAction('createInbox', {
      hint: ({ id: inboxId }) => ({
        words: 'See its forwarding address with',
        command: ['getInbox', inboxId],
      }),
    }),
    declareAction('updateInbox'),
    declareAction('deleteInbox', { destroys: { name: nameIn('getInbox', (inbox) => inbox.email_address) } }),
    declareAction('listInboxLabels', {
      print: ({ data }) => data.map(({ id: labelId, name: said, color }) => `${labelId}\t${said}\t${color}`).join('\n'),
      describe: ({ data }) =>
        data.length === 0
          ? 'There are no labels yet.'
          : data.map(({ id: labelId, name: said, color }) => `${labelId}  ${color}  ${said}`).join('\n'),
    }),
    declareAction('createInboxLabel', { done: 'Created' }),
    declareAction('updateInboxLabel', { done: 'Changed' }),
    declareAction('deleteInboxLabel', { done: 'Deleted' }),
    declareAction('getInboxAgent', {
      describe: ({ tone, actions, instructions }) =>
        [
          `Tone          ${tone ?? 'not set'}`,
          `Actions       ${actions.length === 0 ? 'none' : actions.join(', ')}`,
          `Instructions  ${instructions ?? 'none'}`,
        ].join('\n'),
    }),
    declareAction('updateInboxAgent', { done: 'Changed' }),
  ],
  elsewhere: { listInboxChannels: true },
});

export const inboxChannels = {
  command: 'inbox',
  summary: 'list the inboxes that a credential has access to',
  noun: 'a channel',
  screens: { report: 'channels' },
  report: declareReport('listInboxChannels', {
    rows: ({ data }) => data,
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'address', label: 'Address', kind: 'name' },
      { name: 'name', label: 'Name', kind: 'name' },
      { name: 'restricted', label: 'Restricted', value: ({ restricted: isRestricted }) => (isRestricted ? 'yes' : '') },
    ],
  }),
} satisfies Family;
