import { declareFamily, declareList } from './family.ts';

export const broadcastRecipients = declareFamily({
  noun: 'a recipient',
  list: declareList('listBroadcastRecipients', {
    fields: {
      machine_count: 'By machines',
      bounce_type: { label: 'Bounce', kind: 'state' },
      clicked_links: {
        label: 'Links',
        value: ({ clicked_links: links = [] }) => links.map(({ url, clicks }) => `${clicks}× ${url}`).join(', '),
      },
    },
    columns: ['email', 'count', 'machine_count', 'bounce_type', 'clicked_links', 'contact_id'],
    asked: ['id'],
    empty: 'No recipient matches yet.',
  }),
});

export const broadcastExclusions = declareFamily({
  noun: 'an exclusion',
  list: declareList('listBroadcastExclusions', {
    fields: { reason: { kind: 'state' } },
    columns: ['email', 'reason', 'contact_id'],
    asked: ['id'],
    empty: 'Nobody was excluded.',
  }),
});

export const broadcastLinks = declareFamily({
  noun: 'a link',
  list: declareList('listBroadcastLinks', {
    fields: { url: 'Link', unique_clicks: 'Recipients', machine_clicks: 'By machines' },
    columns: ['url', 'clicks', 'unique_clicks', 'machine_clicks'],
    asked: ['id'],
    empty: 'No link was clicked yet.',
  }),
});

export const broadcastReviews = declareFamily({
  noun: 'a review',
  list: declareList('listBroadcastReviews', {
    fields: { decision: { kind: 'state' }, is_current: { label: 'Of this content', either: ['yes', 'no'] } },
    columns: ['created_at', 'decision', 'is_current', 'name', 'note'],
    asked: ['id'],
    empty: 'Nobody has reviewed it yet.',
  }),
});
