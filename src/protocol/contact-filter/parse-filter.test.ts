import { expect, it } from 'vitest';
import { parseFilter, type Declared, type DeclaredSegment } from './index.ts';

const DAY = 86_400_000;
const NOW = 10_000 * DAY;
const BROADCAST = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e31';
const idOf = (number: number): string => `019a9c1e-7d52-7c3a-9a54-${String(number).padStart(12, '0')}`;
const segment = (number: number, filter: unknown): DeclaredSegment => ({
  id: idOf(number),
  name: `S${number}`,
  filter,
  lostProperties: new Set(),
  hasMembers: false,
});

const declare = (...segments: DeclaredSegment[]): Declared => ({
  properties: [{ id: 'p', key: 'plan', type: 'string', slot: 1 }],
  topics: [],
  broadcasts: new Set([BROADCAST]),
  events: new Map([['paid', 'e']]),
  segments: new Map(segments.map((one) => [one.id, one])),
  now: NOW,
});
const listFaults = (input: unknown, declared = declare()): string[] =>
  parseFilter(input, declared).faults.map(({ message }) => message);

it.each<[object, object]>([
  [{ engagement: 'opened' }, { kind: 'engaged', what: 'opened', since: null }],
  [
    { engagement: 'sent', within_days: 3650 },
    { kind: 'engaged', what: 'sent', since: NOW - 3650 * DAY },
  ],
  [
    { engagement: 'inactive', within_days: 1 },
    { kind: 'inactive', since: NOW - DAY },
  ],
  [
    { engagement: 'delivered', broadcast: BROADCAST.toUpperCase() },
    { kind: 'recipient', broadcastId: BROADCAST, what: 'delivered', linkHash: null },
  ],
  [{ event: 'paid' }, { kind: 'event', eventId: 'e', since: null }],
  [
    { field: 'created_at', op: 'gt', value: 'now-7d' },
    { kind: 'created', op: 'gt', ms: NOW - 7 * DAY },
  ],
])('the filter %j is parsed with times that count from now', (input, filter) => {
  expect(parseFilter(input, declare())).toMatchObject({ filter, faults: [] });
});

it.each<[object, string]>([
  [{ engagement: 'read' }, 'filter has the engagement "read"; it takes sent, delivered, opened, clicked, inactive.'],
  [
    { engagement: 'opened', days: 3 },
    'filter has "days"; a condition on engagement is {engagement, broadcast, link, within_days}.',
  ],
  [
    { engagement: 'opened', within_days: 0 },
    'filter has within_days 0; it takes a whole number of days from 1 to 3650.',
  ],
  [
    { engagement: 'opened', within_days: 3651 },
    'filter has within_days 3651; it takes a whole number of days from 1 to 3650.',
  ],
  [
    { engagement: 'opened', within_days: '7' },
    'filter has within_days "7"; it takes a whole number of days from 1 to 3650.',
  ],
  [{ event: 'paid', within_days: 1.5 }, 'filter has within_days 1.5; it takes a whole number of days from 1 to 3650.'],
  [{ engagement: 'inactive' }, 'filter must have within_days, the days without an open or click.'],
  [
    { engagement: 'inactive', within_days: 9, broadcast: BROADCAST },
    'filter has a broadcast or link; inactive is about all mail.',
  ],
  [
    { engagement: 'opened', broadcast: BROADCAST, within_days: 7 },
    'filter has within_days next to a broadcast; the report of a broadcast has no times, omit one.',
  ],
  [{ engagement: 'opened', link: 'https://example.com/' }, 'filter has a link; only clicked takes one, not opened.'],
  [{ engagement: 'clicked', link: '' }, 'filter has an invalid link; it takes an address of 1 to 4096 characters.'],
  [
    { engagement: 'clicked', broadcast: idOf(1) },
    `filter refers to the broadcast "${idOf(1)}", which this team does not have.`,
  ],
  [{ event: 'lost' }, 'filter refers to the event "lost", which this team does not have.'],
  [{ event: 'paid', op: 'eq' }, 'filter has "op"; a condition on an event is {event, within_days}.'],
  [{ segment: idOf(1) }, `filter refers to the segment "${idOf(1)}", which this team does not have.`],
  [{ segment: idOf(1), op: 'in' }, 'filter has "op"; a condition on a segment is {segment}.'],
  [
    { field: 'created_at', op: 'gt', value: 'now-0d' },
    'filter has an invalid value: created_at with gt takes now-1d to now-3650d.',
  ],
  [
    { field: 'created_at', op: 'gt', value: 'now-3651d' },
    'filter has an invalid value: created_at with gt takes now-1d to now-3650d.',
  ],
])('the filter %j is refused with the reason', (input, message) => {
  expect(listFaults(input)).toEqual([message]);
});

it('a filter may have ten conditions on engagement and events', () => {
  const conditions = Array.from({ length: 11 }, (_, i) => (i % 2 === 0 ? { engagement: 'sent' } : { event: 'paid' }));
  expect(listFaults({ all: conditions.slice(1) })).toEqual([]);
  expect(listFaults({ all: conditions })).toEqual([
    'filter has 11 conditions on engagement and events; at most 10 are allowed.',
  ]);
});

it('a cycle of segments is refused with their names', () => {
  const declared = declare(
    segment(1, { not: [{ segment: idOf(2) }] }),
    segment(2, { any: [{ segment: idOf(1) }, { event: 'paid' }] }),
  );
  expect(listFaults({ all: [{ segment: idOf(1) }] }, declared)).toEqual([
    'filter.all.0 leads to a cycle of segments: "S1", which names "S2", which names "S1"; a segment cannot contain itself.',
  ]);
});

it('segments may name each other five levels deep', () => {
  const chain = [1, 2, 3, 4, 5].map((number) => segment(number, { segment: idOf(number + 1) }));
  const declared = declare(...chain, segment(6, null));
  expect(listFaults({ segment: idOf(2) }, declared)).toEqual([]);
  expect(listFaults({ segment: idOf(1) }, declared)).toEqual([
    `filter names segments too deep: ${['"S1"', '"S2"', '"S3"', '"S4"', '"S5"', '"S6"'].join(', which names ')}; at most 5 may name each other.`,
  ]);
});

it('a filter may have a hundred conditions together with the segments that it names', () => {
  const plan = { field: 'properties.plan', op: 'eq', value: 'x' };
  const inner = segment(1, { any: Array.from({ length: 20 }, () => plan) });
  const many = (count: number) => ({ any: Array.from({ length: count }, () => ({ segment: inner.id })) });
  expect(listFaults(many(4), declare(inner))).toEqual([]);
  expect(listFaults(many(5), declare(inner))).toEqual([
    'filter has more than 100 conditions together with the segments that it names; at most 100 are allowed.',
  ]);
});

it('a segment that names something deleted is unknown, so that its negation matches nobody', () => {
  const broken = segment(1, { any: [{ field: 'properties.gone', op: 'eq', value: 'x' }] });
  const declared = declare(broken);
  expect(parseFilter({ not: [{ segment: broken.id }] }, declared)).toMatchObject({
    filter: { kind: 'never' },
    faults: [],
    hasUnknown: true,
  });
  const lost = { ...segment(1, { field: 'properties.plan', op: 'exists' }), lostProperties: new Set(['plan']) };
  expect(parseFilter({ segment: lost.id }, declare(lost)).filter).toEqual({ kind: 'never' });
});
