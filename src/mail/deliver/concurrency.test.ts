import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Concurrency } from './concurrency.ts';

/** Ends a number of deliveries. */
function deliver(concurrency: Concurrency, count: number): void {
  for (let n = 0; n < count; n++) concurrency.succeeded();
}

describe('the number of connections that mail servers have shown to take', () => {
  it('begins with five, and grows by one with each delivery up to the limit', () => {
    const concurrency = new Concurrency(8);
    expect(concurrency.allowed).toBe(5);
    deliver(concurrency, 2);
    expect(concurrency.allowed).toBe(7);
    deliver(concurrency, 10);
    expect(concurrency.allowed).toBe(8);
  });

  it('is halved by a refusal, once for all deliveries that were under way', () => {
    const concurrency = new Concurrency(20);
    deliver(concurrency, 15);
    for (let n = 0; n < 19; n++) concurrency.refused();
    expect(concurrency.allowed).toBe(10);
  });

  it('grows by one with each round of deliveries after a refusal', () => {
    const concurrency = new Concurrency(20);
    deliver(concurrency, 15);
    concurrency.refused();
    deliver(concurrency, 10);
    expect(concurrency.allowed).toBe(10);
    deliver(concurrency, 1);
    expect(concurrency.allowed).toBe(11);
  });

  it('is at most the number of connections that there were when one more was refused', () => {
    const concurrency = new Concurrency(20);
    deliver(concurrency, 15);
    concurrency.refused(3);
    expect(concurrency.allowed).toBe(3);
  });

  it('begins with one connection after a suspension, and grows as fast as at first', () => {
    const concurrency = new Concurrency(20);
    concurrency.refused();
    concurrency.startSlowly();
    expect(concurrency.allowed).toBe(1);
    deliver(concurrency, 3);
    expect(concurrency.allowed).toBe(4);
  });

  it('is at least one and at most the limit after any order of events', () => {
    const event = fc.oneof(
      fc.constant((concurrency: Concurrency) => concurrency.succeeded()),
      fc.nat({ max: 30 }).map((others) => (concurrency: Concurrency) => concurrency.refused(others)),
      fc.constant((concurrency: Concurrency) => concurrency.startSlowly()),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.array(event), (max, events) => {
        const concurrency = new Concurrency(max);
        for (const happen of events) {
          happen(concurrency);
          expect(concurrency.allowed).toBeGreaterThanOrEqual(1);
          expect(concurrency.allowed).toBeLessThanOrEqual(max);
        }
      }),
    );
  });
});
