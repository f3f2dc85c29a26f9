import { expect, it } from 'vitest';
import { broadcastRecipients, broadcasts, logs } from '../cli/families/index.ts';
import { readFilter, writeFilter } from './read-filter.ts';

it('a filter that the API requires is the default, and gives way to a typed one', () => {
  const { filters } = broadcastRecipients.list;
  expect(readFilter(filters, '', 0)).toEqual({ query: { type: 'sent' }, text: '' });
  expect(readFilter(filters, 'email=@example.org', 0).query).toEqual({ type: 'sent', email: '@example.org' });
  expect(readFilter(filters, 'type=bounced bounce-type=permanent', 0).query).toEqual({
    type: 'bounced',
    bounce_type: 'permanent',
  });
  expect(writeFilter(filters, readFilter(filters, '', 0))).toBe('type=sent');
  expect(readFilter(broadcasts.list.filters, '', 0)).toEqual({ query: {}, text: '' });
});

it('a relative time is shown as it was typed', () => {
  const { filters } = logs.list;
  const read = readFilter(filters, 'since=2h status=500', Date.parse('2030-01-01T10:00:00Z'));
  expect(read.query.start_date).toBe('2030-01-01T08:00:00.000Z');
  expect(writeFilter(filters, read)).toBe('since=2h status=500');
  expect(readFilter(filters, writeFilter(filters, read), Date.parse('2030-01-01T10:00:00Z'))).toEqual(read);
});
