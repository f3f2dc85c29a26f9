import { describe, expect, it } from 'vitest';
import { createFairShare } from './fair-share.ts';

/** Claims as the queue does, until every destination is at its limit or nothing is free. */
function fill(countMax: number, destinations: string[], timesFree?: number): Record<string, number> {
  const share = createFairShare(countMax, timesFree);
  const held: Record<string, number> = {};
  for (let isFilling = true; isFilling;) {
    isFilling = false;
    for (const destination of destinations) {
      if (share.free === 0 || !share.fits(destination)) continue;
      share.enter(destination);
      held[destination] = (held[destination] ?? 0) + 1;
      isFilling = true;
    }
  }
  return { ...held, left: share.free };
}

describe('a fair share', () => {
  it('leaves half of it to everybody else when one destination is slow', () => {
    expect(fill(100, ['slow.example'])).toEqual({ 'slow.example': 50, left: 50 });
  });

  it('leaves a share to everybody else when several destinations are slow', () => {
    expect(fill(100, ['a.example', 'b.example', 'c.example'])).toEqual({
      'a.example': 25,
      'b.example': 25,
      'c.example': 25,
      left: 25,
    });
  });

  it('lets each have a multiple of what is left', () => {
    expect(fill(90, ['a.example'], 2)).toEqual({ 'a.example': 60, left: 30 });
    expect(fill(90, ['a.example', 'b.example'], 2)).toEqual({ 'a.example': 36, 'b.example': 36, left: 18 });
  });

  it('has a place for one even when there is only one', () => {
    expect(fill(1, ['a.example'])).toEqual({ 'a.example': 1, left: 0 });
  });

  it('is empty again when everybody has left', () => {
    const share = createFairShare(2);
    share.enter('a.example');
    expect(share.atLimit()).toEqual(['a.example']);
    share.leave('a.example');
    expect([share.used, share.free, share.atLimit()]).toEqual([0, 2, []]);
  });
});
