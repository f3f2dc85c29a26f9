import type { AnswerOf } from '../client/index.ts';
import {
  actionOf,
  asked,
  currentIn,
  detailOf,
  listOf,
  nameIn,
  reportOf,
  wide,
  type Family,
  type Field,
  type Flag,
  type ItemOf,
} from './family.ts';
import { ADDRESS, INBOX, LABEL, LABEL_ID } from './inbox-words.ts';

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

const CHANNELS = ['open', 'restricted', 'personal'] as const;
const TONES = ['concise_professional', 'concise_casual', 'expanded_professional', 'expanded_casual'] as const;

const settings = {
  name: { value: '<name>', says: 'what you call it' },
  from_name: {
    value: '<name>',
    says: 'the name beside the address in what is sent from it',
    isClearable: true,
  },
  channel: {
    value: '<kind>',
    says: 'who finds it among the channels',
    choices: CHANNELS,
    isMore: true,
  },
  signature: {
    value: '<text>',
    says: 'the text that stands between an answer and what it quotes',
    fromFile: 'signature',
    hasLines: true,
    isClearable: true,
    isMore: true,
  },
  thread_by_subject: {
    says: 'mail that names no other mail falls into a thread by its sender and subject, within 14 days',
    no: 'it does not',
    isBoolean: true,
    isMore: true,
  },
} as const satisfies Readonly<Record<string, Flag>>;

const label = {
  name: { value: '<name>', says: 'what it says' },
  color: { value: '<#rrggbb>', says: 'its colour, such as #00A2C7' },
} as const satisfies Readonly<Record<string, Flag>>;

export const inboxes = {
  command: 'inbox',
  summary: 'read and answer what customers write to your addresses',
  noun: 'an inbox',
  list: listOf('listInboxes', {
    summary: 'list inboxes, newest first',
    example: 'inbox list',
    columns: [id, name, address, unread, received, ...wide(from, created), ...asked(updated)],
    empty: 'There are no inboxes yet.',
  }),
  get: detailOf('getInbox', {
    summary: 'show an inbox and its settings',
    example: `inbox get ${ADDRESS}`,
    path: { inbox: INBOX },
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
    actionOf('createInbox', {
      verb: 'create',
      key: 'c',
      summary: 'create an inbox: mail to its address falls into threads from now on',
      description:
        'Creates an inbox for an address on a domain that is verified for sending and receiving. *@example.com is the inbox of every address of the domain that has none of its own. With --forwarding mail arrives at another server, which forwards it to the address that is shown.',
      example: `inbox create ${ADDRESS} --name 'Customer support'`,
      flags: {
        email_address: { value: '<address>', says: 'its address, or *@ and a domain', isWord: true, isRequired: true },
        ...settings,
        forwarding: {
          says: 'mail to the address arrives at another server, which forwards it',
          isBoolean: true,
          isMore: true,
        },
      },
      done: 'Created',
      hint: ({ id: inboxId }) => ({ words: 'See where its mail is to go with', command: ['getInbox', inboxId] }),
    }),
    actionOf('updateInbox', {
      verb: 'update',
      key: 'u',
      summary: 'change the settings of an inbox',
      example: `inbox update ${ADDRESS} --from-name 'Ada from Support'`,
      path: { inbox: INBOX },
      flags: settings,
      clears: ['from_name', 'signature'],
      current: currentIn('getInbox'),
      done: 'Changed',
    }),
    actionOf('deleteInbox', {
      verb: 'delete',
      key: 'd',
      summary: 'delete an inbox with its threads, labels and drafts; the emails stay',
      example: `inbox delete ${ADDRESS}`,
      path: { inbox: INBOX },
      done: 'Deleted',
      destroys: {
        says: 'delete the inbox with its threads, labels, notes and drafts; the emails stay without it',
        name: nameIn('getInbox', (inbox) => inbox.email_address),
      },
    }),
    actionOf('listInboxLabels', {
      verb: 'labels',
      key: 'b',
      summary: 'list the labels of an inbox',
      example: `inbox labels ${ADDRESS}`,
      path: { inbox: INBOX },
      print: ({ data }) => data.map(({ id: labelId, name: said, color }) => `${labelId}\t${said}\t${color}`).join('\n'),
      tell: ({ data }) =>
        data.length === 0
          ? 'There are no labels yet.'
          : data.map(({ id: labelId, name: said, color }) => `${labelId}  ${color}  ${said}`).join('\n'),
    }),
    actionOf('createInboxLabel', {
      verb: 'create-label',
      key: 'n',
      summary: 'create a label in an inbox',
      example: `inbox create-label ${ADDRESS} Billing --color '#00A2C7'`,
      path: { inbox: INBOX },
      flags: { ...label, name: { ...label.name, isWord: true, isRequired: true } },
      done: 'Created',
    }),
    actionOf('updateInboxLabel', {
      verb: 'update-label',
      key: 'm',
      summary: 'change what a label says, or its colour',
      example: `inbox update-label ${ADDRESS} ${LABEL_ID} --name Invoices`,
      path: { inbox: INBOX, label_id: LABEL },
      flags: label,
      done: 'Changed',
    }),
    actionOf('deleteInboxLabel', {
      verb: 'delete-label',
      key: 'o',
      summary: 'delete a label, and take it off every thread',
      example: `inbox delete-label ${ADDRESS} ${LABEL_ID}`,
      path: { inbox: INBOX, label_id: LABEL },
      done: 'Deleted',
    }),
    actionOf('getInboxAgent', {
      verb: 'agent',
      key: 'i',
      summary: 'show how an assistant is to work in an inbox',
      description:
        'Shows how an assistant is to work in an inbox. It is kept for the programs that work there; this service takes none of the actions by itself.',
      example: `inbox agent ${ADDRESS}`,
      path: { inbox: INBOX },
      tell: ({ tone, actions, instructions }) =>
        [
          `Tone          ${tone ?? 'none said'}`,
          `Actions       ${actions.length === 0 ? 'none' : actions.join(', ')}`,
          `Instructions  ${instructions ?? 'none'}`,
        ].join('\n'),
    }),
    actionOf('updateInboxAgent', {
      verb: 'set-agent',
      key: 'a',
      summary: 'change how an assistant is to work in an inbox',
      example: `inbox set-agent ${ADDRESS} --tone concise_professional --action draft_reply`,
      path: { inbox: INBOX },
      flags: {
        tone: { value: '<tone>', says: 'how it writes', choices: TONES, isClearable: true },
        actions: {
          flag: 'action',
          value: '<action>',
          says: 'what it may do, in the place of all before',
          isRepeatable: true,
        },
        instructions: {
          value: '<text>',
          says: 'what it is to know',
          fromFile: 'instructions',
          hasLines: true,
          isClearable: true,
        },
      },
      clears: ['tone', 'instructions'],
      current: currentIn('getInboxAgent'),
      done: 'Changed',
    }),
  ],
} satisfies Family;

export const inboxChannels = {
  command: 'inbox',
  summary: 'the inboxes that a credential reaches',
  noun: 'a channel',
  screens: { report: 'channels' },
  report: reportOf('listInboxChannels', {
    verb: 'channels',
    summary: 'list the inboxes that the key in use reaches',
    example: 'inbox channels',
    rows: ({ data }) => data,
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'address', label: 'Address', kind: 'name' },
      { name: 'name', label: 'Name', kind: 'name' },
      {
        name: 'restricted',
        label: 'Restricted',
        value: ({ restricted: isRestricted }) => (isRestricted ? 'yes' : ''),
      },
    ],
  }),
} satisfies Family;
