import { describe, expect, it } from 'vitest';
import {
  correctTimes,
  decideBreaker,
  describeFigures,
  isForgettable,
  type BreakerLimits,
  type BreakerStatus,
  type Figures,
} from './breakers.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = 1_800_000_000_000;
const LIMITS: BreakerLimits = {
  complaints: { slowPercent: 0.1, pausePercent: 0.3, floor: 200, badMin: 5 },
  bounces: { slowPercent: 5, pausePercent: 10, floor: 200, badMin: 20 },
  windowMs: 24 * HOUR,
  slowRate: 60,
  pauseMs: HOUR,
  probeRate: 10,
  probeRecipients: 100,
};

const figures = (accepted: number, { bounced = 0, complained = 0 }: Partial<Figures> = {}): Figures => ({
  accepted,
  bounced,
  complained,
});
const decide = (before: BreakerStatus | undefined, seen: Figures, now = NOW) =>
  decideBreaker(before, seen, { limits: LIMITS, now });
const status = (changes: Partial<BreakerStatus>): BreakerStatus => ({
  state: 'slow',
  cause: 'complaints',
  trips: 0,
  trippedAt: NOW,
  changedAt: NOW,
  untilAt: NOW + HOUR,
  rate: 60,
  bad: 5,
  of: 3000,
  ...changes,
});
const PAUSED = status({ state: 'paused', trips: 1, rate: null });
const PROBING = status({ state: 'probing', trips: 1, rate: 10 });

describe('a breaker that is closed', () => {
  it.each([
    ['1 complaint of 100', figures(100, { complained: 1 }), undefined],
    ['2 complaints of 1,000', figures(1000, { complained: 2 }), undefined],
    ['4 complaints of 1,000', figures(1000, { complained: 4 }), undefined],
    ['5 complaints of 199', figures(199, { complained: 5 }), undefined],
    ['5 complaints of 5,000, which is the limit', figures(5000, { complained: 5 }), undefined],
    ['5 complaints of 4,999', figures(4999, { complained: 5 }), 'slow'],
    ['5 complaints of 1,000', figures(1000, { complained: 5 }), 'paused'],
    ['19 bounces of 200', figures(181, { bounced: 19 }), undefined],
    ['20 bounces of 400, which is the limit', figures(380, { bounced: 20 }), undefined],
    ['20 bounces of 200', figures(180, { bounced: 20 }), 'slow'],
    ['21 bounces of 200', figures(179, { bounced: 21 }), 'paused'],
    ['few complaints and very many bounces', figures(4800, { bounced: 800, complained: 5 }), 'paused'],
  ])('decides about %s', (_, seen, state) => {
    expect(decide(undefined, seen)?.next.state).toBe(state);
  });

  it('limits mail at the rate of the settings, with the figures, for an hour at least', () => {
    expect(decide(undefined, figures(4000, { complained: 5 }))).toEqual({
      next: status({ of: 4000 }),
      countsAnew: false,
    });
  });

  it('names the cause whose share is beyond the higher limit', () => {
    const next = decide(undefined, figures(4800, { bounced: 800, complained: 5 }))?.next;
    expect(next).toMatchObject({ cause: 'bounces', bad: 800, of: 5600 });
  });
});

describe('a breaker that slows mail', () => {
  it('pauses it as soon as the share exceeds the higher limit', () => {
    const next = decide(status({}), figures(3000, { complained: 10 }), NOW + MINUTE)?.next;
    expect(next).toMatchObject({ state: 'paused', trips: 1, trippedAt: NOW, untilAt: NOW + MINUTE + HOUR, rate: null });
  });

  it('stays for an hour, and longer while the share is too high', () => {
    expect(decide(status({}), figures(9000, { complained: 5 }), NOW + HOUR - 1)).toBeUndefined();
    expect(decide(status({}), figures(4000, { complained: 6 }), NOW + HOUR)?.next).toMatchObject({
      state: 'slow',
      bad: 6,
      trippedAt: NOW,
      untilAt: NOW + 2 * HOUR,
    });
  });

  it('doubles the rate every five minutes after that, and ends', () => {
    let one = status({});
    const rates: (number | null)[] = [];
    for (let now = NOW + HOUR; one.state !== 'closed'; now += MINUTE) {
      one = decide(one, figures(9000, { complained: 5 }), now)?.next ?? one;
      if (one.changedAt === now) rates.push(one.rate);
    }
    expect(rates).toEqual([120, 240, 480, null]);
    expect(one.changedAt).toBe(NOW + HOUR + 15 * MINUTE);
  });
});

describe('a breaker that pauses mail', () => {
  it('tries a few messages after the pause, and counts only new outcomes', () => {
    expect(decide(PAUSED, figures(1000, { complained: 100 }), NOW + HOUR - 1)).toBeUndefined();
    expect(decide(PAUSED, figures(1000, { complained: 100 }), NOW + HOUR)).toMatchObject({
      next: { state: 'probing', rate: 10, untilAt: NOW + 2 * HOUR },
      countsAnew: true,
    });
  });

  it('pauses mail twice as long each time, and 24 hours at most', () => {
    const pauses = [1, 2, 3, 4, 5, 6].map((trips) => {
      const next = decide(status({ ...PROBING, trips }), figures(10, { complained: 5 }))?.next;
      return ((next?.untilAt ?? 0) - NOW) / HOUR;
    });
    expect(pauses).toEqual([2, 4, 8, 16, 24, 24]);
  });
});

describe('a breaker that probes', () => {
  it('waits for an hour and for enough recipients', () => {
    expect(decide(PROBING, figures(500), NOW + HOUR - 1)).toBeUndefined();
    expect(decide(PROBING, figures(99), NOW + HOUR)?.next).toMatchObject({ state: 'probing', changedAt: NOW });
    expect(decide(PROBING, figures(100), NOW + HOUR)?.next).toMatchObject({ state: 'recovering', rate: 20 });
  });

  it('recovers if nothing was sent within the window', () => {
    expect(decide(PROBING, figures(0), NOW + 24 * HOUR)?.next.state).toBe('recovering');
  });

  it('fails at its end with three complaints, and not with two', () => {
    expect(decide(PROBING, figures(500, { complained: 2 }), NOW + HOUR)?.next.state).toBe('recovering');
    expect(decide(PROBING, figures(500, { complained: 3 }), NOW + HOUR)?.next).toMatchObject({
      state: 'paused',
      trips: 2,
      untilAt: NOW + 3 * HOUR,
      bad: 3,
      of: 500,
    });
  });

  it('fails at once if as many recipients bounce as trip a breaker otherwise', () => {
    expect(decide(PROBING, figures(0, { bounced: 19 }), NOW + MINUTE)).toBeUndefined();
    expect(decide(PROBING, figures(0, { bounced: 20 }), NOW + MINUTE)?.next.state).toBe('paused');
  });
});

it('a breaker that recovers slows mail again if the share is too high again', () => {
  const recovering = status({ state: 'recovering', rate: 80, trips: 1 });
  expect(decide(recovering, figures(4000, { complained: 5 }))?.next).toMatchObject({ state: 'slow', trips: 1 });
});

it('a closed breaker is forgotten after seven days', () => {
  const closed = status({ state: 'closed' });
  const day = 24 * HOUR;
  expect(isForgettable(closed, { limits: LIMITS, now: NOW + 7 * day - 1 })).toBe(false);
  expect(isForgettable(closed, { limits: LIMITS, now: NOW + 7 * day })).toBe(true);
  expect(isForgettable(PAUSED, { limits: LIMITS, now: NOW + 7 * day })).toBe(false);
});

it('the times of a clock that was ahead are moved, and the clocks of nodes may differ a little', () => {
  expect(correctTimes(PAUSED, NOW - 5 * MINUTE)).toEqual(PAUSED);
  expect(correctTimes(PAUSED, NOW - 10 * HOUR)).toMatchObject({
    trippedAt: NOW - 10 * HOUR,
    changedAt: NOW - 10 * HOUR,
    untilAt: NOW - 9 * HOUR,
  });
});

it('the figures are described in words', () => {
  const words = { isOfTeam: false, windowHours: 24 };
  expect(describeFigures({ cause: 'complaints', bad: 12, of: 1900 }, words)).toBe(
    '12 of 1,900 recipients reported it as spam within 24 hours',
  );
  expect(describeFigures({ cause: 'bounces', bad: 21, of: 200 }, { ...words, isOfTeam: true })).toBe(
    '21 of 200 recipients of all domains of the team bounced within 24 hours',
  );
});
