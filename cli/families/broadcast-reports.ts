import { asked, declareList, type Family, type ItemOf } from './family.ts';

type Recipient = ItemOf<'listBroadcastRecipients'>;

export const broadcastRecipients = {
  command: 'broadcasts',
  summary: 'list the recipients of a broadcast and the results',
  noun: 'a recipient',
  list: declareList('listBroadcastRecipients', {
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
    empty: 'No recipient matches yet.',
  }),
} satisfies Family;

export const broadcastExclusions = {
  command: 'broadcasts',
  summary: 'list the contacts that were excluded from a broadcast',
  noun: 'an exclusion',
  list: declareList('listBroadcastExclusions', {
    columns: [
      { name: 'email', label: 'Address', kind: 'name' },
      { name: 'reason', label: 'Reason', kind: 'state' },
      { name: 'contact_id', label: 'Contact', kind: 'id' },
      ...asked<ItemOf<'listBroadcastExclusions'>>({ name: 'id', label: 'Id', kind: 'id' }),
    ],
    empty: 'Nobody was excluded.',
  }),
} satisfies Family;

export const broadcastLinks = {
  command: 'broadcasts',
  summary: 'list the links of a broadcast that were clicked',
  noun: 'a link',
  list: declareList('listBroadcastLinks', {
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
