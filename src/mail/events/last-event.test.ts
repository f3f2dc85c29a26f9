import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldLastEvent, LAST_EVENTS, statesBefore } from './last-event.ts';

describe('the state of an email', () => {
  it('does not depend on the order in which its events arrive', () => {
    const someEvents = fc.array(fc.constantFrom(...LAST_EVENTS.map((state) => `email.${state}` as const)));
    fc.assert(
      fc.property(someEvents, fc.infiniteStream(fc.nat()), (events, order) => {
        const shuffled = [...events].sort(() => ((order.next().value as number) % 3) - 1);
        expect(foldLastEvent(shuffled)).toBe(foldLastEvent(events));
      }),
    );
  });

  it('starts as queued and never changes from a failure to a success', () => {
    expect(foldLastEvent([])).toBe('queued');
    expect(foldLastEvent(['email.bounced', 'email.delivered'])).toBe('bounced');
    expect(statesBefore('delivered')).toEqual(['queued', 'scheduled', 'sent', 'delivery_delayed']);
  });
});
