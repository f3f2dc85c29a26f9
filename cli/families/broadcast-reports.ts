import { asked, listOf, type Family, type ItemOf, type Key } from './family.ts';

const BROADCAST: Key = { word: 'broadcast', says: 'the id of the broadcast' };
const ID = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e50';

type Recipient = ItemOf<'listBroadcastRecipients'>;

const TYPES = ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'unsubscribed', 'suppressed'];

export const broadcastRecipients = {
  command: 'broadcasts',
  summary: 'whom a broadcast went to and what came of it',
  noun: 'a recipient',
  list: listOf('listBroadcastRecipients', {
    verb: 'recipients',
    summary: 'list recipients by what came of it, newest first',
    example: `broadcasts recipients ${ID} --type bounced`,
    path: { broadcast_id: BROADCAST },
    filters: {
      type: { value: '<type>', says: 'what came of it', choices: TYPES, preset: 'sent' },
      email: { value: '<text>', says: 'only addresses that contain this' },
      bounce_type: {
        value: '<type>',
        says: 'with --type bounced: only bounces of this type',
        choices: ['permanent', 'transient', 'undetermined'],
      },
    },
    columns: [
      { name: 'email', label: 'Address', kind: 'name' },
      { name: 'count', label: 'Count', kind: 'number' },
      { name: 'machine_count', label: 'By machines', kind: 'number' },
      { name: 'bounce_type', label: 'Bounce', kind: 'state' },
      {
        name: 'clicked_links',
        label: 'Links',
        value: ({ clicked_links: links = [] }: Recipient) =>
          links.map(({ url, clicks }) => `${clicks}× ${url}`).join(', '),
      },
      { name: 'contact_id', label: 'Contact', kind: 'id' },
      ...asked<Recipient>({ name: 'id', label: 'Id', kind: 'id' }),
    ],
    empty: 'It came to this with nobody yet.',
  }),
} satisfies Family;

export const broadcastExclusions = {
  command: 'broadcasts',
  summary: 'who was left out of a broadcast',
  noun: 'an exclusion',
  list: listOf('listBroadcastExclusions', {
    verb: 'exclusions',
    summary: 'list who was left out and why, newest first',
    example: `broadcasts exclusions ${ID}`,
    path: { broadcast_id: BROADCAST },
    columns: [
      { name: 'email', label: 'Address', kind: 'name' },
      { name: 'reason', label: 'Reason', kind: 'state' },
      { name: 'contact_id', label: 'Contact', kind: 'id' },
      ...asked<ItemOf<'listBroadcastExclusions'>>({ name: 'id', label: 'Id', kind: 'id' }),
    ],
    empty: 'Nobody was left out.',
  }),
} satisfies Family;

export const broadcastLinks = {
  command: 'broadcasts',
  summary: 'which links of a broadcast were clicked',
  noun: 'a link',
  list: listOf('listBroadcastLinks', {
    verb: 'links',
    summary: 'list the links that were clicked, and how often',
    example: `broadcasts links ${ID}`,
    path: { broadcast_id: BROADCAST },
    columns: [
      { name: 'url', label: 'Link', kind: 'long' },
      { name: 'clicks', label: 'Clicks', kind: 'number' },
      { name: 'unique_clicks', label: 'Recipients', kind: 'number' },
      { name: 'machine_clicks', label: 'By machines', kind: 'number' },
      ...asked<ItemOf<'listBroadcastLinks'>>({ name: 'id', label: 'Id', kind: 'id' }),
    ],
    empty: 'No link was clicked yet.',
  }),
} satisfies Family;
