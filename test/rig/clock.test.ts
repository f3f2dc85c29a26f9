import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createManualClock } from './clock.ts';

const delay = fc.nat({ max: 20 });
const step = fc.oneof(
  fc.record({ set: delay, andThen: fc.option(delay, { nil: undefined }) }),
  fc.record({ cancel: fc.nat() }),
  fc.record({ advance: delay }),
);

it('the manual clock fires due timers in order and on time, and no canceled ones', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const clock = createManualClock(1000);
      const fired: string[] = [];
      const expected: string[] = [];
      // The simple model searches all of them for the first one.
      let pending: { at: number; n: number; andThen: number | undefined }[] = [];
      const cancels: (() => void)[] = [];
      let now = 1000;
      const set = (ms: number, andThen?: number): void => {
        const n = cancels.length;
        pending.push({ at: now + ms, n, andThen });
        cancels.push(
          clock.timer(ms, () => {
            fired.push(`${n} at ${clock.now()}`);
            const due = pending.reduce((a, b) => (b.at < a.at ? b : a));
            expected.push(`${due.n} at ${due.at}`);
            pending = pending.filter((other) => other !== due);
            now = due.at;
            if (andThen !== undefined) set(andThen);
          }),
        );
      };
      for (const one of steps) {
        if ('set' in one) set(one.set, one.andThen);
        if ('cancel' in one && cancels.length > 0) {
          const n = one.cancel % cancels.length;
          cancels[n]?.();
          pending = pending.filter((timer) => timer.n !== n);
        }
        if ('advance' in one) {
          const until = now + one.advance;
          clock.advance(one.advance);
          now = until;
          expect(pending.filter(({ at }) => at <= until)).toEqual([]);
        }
      }
      expect(fired).toEqual(expected);
      expect(clock.now()).toBe(now);
    }),
  );
});
