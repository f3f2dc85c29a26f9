import {
  adviseFor,
  declareAction,
  declareDetail,
  declareFamily,
  declareList,
  declareReport,
  readIn,
  withRemaining,
} from './family.ts';
import type { AnswerOf, FieldsOf } from './family.ts';

const fields: FieldsOf<'listInboxes' | 'getInbox'> = {
  unread: { tone: ({ unread }) => (unread > 0 ? 'attention' : 'plain') },
  last_received: 'Last mail',
  from_name: 'Sends as',
  updated_at: 'Changed',
};

export const inboxes = withRemaining({
  summary: 'read and answer mail to your shared addresses',
  list: declareList('listInboxes', {
    fields,
    columns: ['id', 'name', 'email_address', 'unread', 'last_received'],
    wide: ['from_name', 'created_at'],
    asked: ['updated_at'],
  }),
  get: declareDetail('getInbox', {
    fields: {
      ...fields,
      receiving_address: { label: 'Forward mail to', kind: 'whole' },
      unread: 'Unread threads',
      drafts: { kind: 'text' },
      thread_by_subject: { label: 'By subject', either: ['yes', 'no'] },
    },
    columns: [
      'id',
      'name',
      'email_address',
      'from_name',
      'channel',
      'receiving_address',
      'unread',
      'drafts',
      'thread_by_subject',
      'last_received',
      'created_at',
      'updated_at',
      'domain_id',
      'signature',
    ],
    hint: adviseFor('See its threads with', 'listInboxThreads'),
  }),
  actions: [
    declareAction('createInbox', { hint: adviseFor('See its forwarding address with', 'getInbox') }),
    declareAction('updateInbox'),
    declareAction('deleteInbox', { destroys: { name: readIn('getInbox', (inbox) => inbox.email_address) } }),
    declareAction('listInboxLabels', {
      print: ({ data }) => data.map(({ id, name, color }) => `${id}\t${name}\t${color}`).join('\n'),
      describe: ({ data }) =>
        data.length === 0
          ? 'There are no labels yet.'
          : data.map(({ id, name, color }) => `${id}  ${color}  ${name}`).join('\n'),
    }),
    declareAction('createInboxLabel'),
    declareAction('updateInboxLabel'),
    declareAction('deleteInboxLabel'),
    declareAction('getInboxAgent', {
      describe: ({ tone, actions, instructions }) =>
        [
          `Tone          ${tone ?? 'not set'}`,
          `Actions       ${actions.length === 0 ? 'none' : actions.join(', ')}`,
          `Instructions  ${instructions ?? 'none'}`,
        ].join('\n'),
    }),
    declareAction('updateInboxAgent'),
  ],
  elsewhere: { listInboxChannels: true },
});

type Channel = AnswerOf<'listInboxChannels'>['data'][number];

export const inboxChannels = declareFamily({
  summary: 'list the inboxes that a credential has access to',
  noun: 'a channel',
  screens: { report: 'channels' },
  report: declareReport<'listInboxChannels', Channel>('listInboxChannels', {
    rows: ({ data }) => data,
    fields: { address: { kind: 'name' }, restricted: { either: ['yes', ''] } },
    columns: ['id', 'address', 'name', 'restricted'],
  }),
});
