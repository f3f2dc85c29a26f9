import { expect, it } from 'vitest';
import { broadcasts, queue, segments, type Action, type Family } from './index.ts';

const told = ({ actions = [] }: Family, verb: string, answer: object): string | undefined =>
  (actions as readonly Action[]).find((action) => action.verb === verb)?.describe?.(answer as never);

it('a broadcast whose opens or clicks were not tracked says so in place of counts', () => {
  const counts = { sent: 3, delivered: 3, opened: 0, clicked: 0 };
  const field = broadcasts.get?.fields.find(({ name }) => name === 'counts');
  const say = (more: object) => field?.value?.({ counts, ...more } as never);
  expect(say({})).toBe('3 sent, 3 delivered');
  expect(say({ opens_measured: false })).toBe('3 sent, 3 delivered, opens not measured');
  expect(say({ opens_measured: false, clicks_measured: false })).toBe(
    '3 sent, 3 delivered, opens and clicks not measured',
  );
});

it('sentences group the digits of large numbers', () => {
  const counts = { contacts: 12_408, subscribed: 12_000, unsubscribed: 408 };
  expect(told(segments, 'metrics', counts)).toBe('Contacts      12,408\nSubscribed    12,000\nUnsubscribed  408');
  expect(told(segments, 'preview', counts)).toBe('12,408 contacts match; nothing was stored.');
  expect(told(queue, 'drop', { deliveries: 1500, left: 0 })).toBe('1,500 dropped.');
  expect(
    queue.report.describe?.({
      deliveries: 50_000,
      destination_count: 1200,
      holds: 0,
      sending: { is_on: true },
    } as never),
  ).toBe('50,000 waiting, for 1,200 destinations.');
});
