import { describe, expect, it } from 'vitest';
import { compare, computeRates, judge, type Outcomes } from './judge.ts';

const mail = (given: Partial<Outcomes>): Outcomes => ({
  accepted: 0,
  deferred: [],
  bounced: [],
  complained: 0,
  ...given,
});
const gone = (recipients: number) => [{ cause: 'recipient_unknown' as const, recipients }];

describe('the level of mail', () => {
  it('the level of mail is unknown below 20 attempts, and good within all limits', () => {
    expect(judge(mail({ accepted: 19 }))).toEqual({
      level: 'unknown',
      reason: 'Fewer than 20 recipients are too few to judge.',
    });
    expect(judge(mail({ accepted: 20, complained: 1, bounced: gone(1) }))).toEqual({
      level: 'good',
      reason: 'Bounces, complaints and refusals for lack of trust are within their limits.',
    });
  });

  it.each([
    {
      what: 'complaints above 0.3 %',
      of: mail({ accepted: 1000, complained: 4 }),
      level: 'bad',
      reason: '0.4 % of the accepted recipients complained; above 0.3 % providers block a sender.',
    },
    {
      what: 'complaints above 0.1 %',
      of: mail({ accepted: 2000, complained: 3 }),
      level: 'watch',
      reason: '0.15 % of the accepted recipients complained; above 0.1 % it needs attention.',
    },
    {
      what: 'bounces above 5 %',
      of: mail({ accepted: 190, bounced: gone(11) }),
      level: 'bad',
      reason: '5.47 % of the recipients bounced; above 5 % providers block a sender.',
    },
    {
      what: 'many bounces of few recipients',
      of: mail({ accepted: 17, bounced: gone(3) }),
      level: 'watch',
      reason: '15 % of the recipients bounced; above 10 % it needs attention.',
    },
    {
      what: 'refusals for lack of trust above 10 %',
      of: mail({
        accepted: 80,
        deferred: [{ cause: 'rate', recipients: 8 }],
        bounced: [{ cause: 'ip_reputation', recipients: 4 }],
      }),
      level: 'bad',
      reason:
        '13.04 % of the attempts were refused because the provider does not trust the source or the domain (ip_reputation, rate); above 10 % is bad.',
    },
    {
      what: 'more deferrals than anything else',
      of: mail({ accepted: 20, deferred: [{ cause: 'greylist', recipients: 30 }] }),
      level: 'watch',
      reason: '60 % of the attempts were deferred; above 50 % it needs attention.',
    },
  ])('names $what', ({ of, level, reason }) => {
    expect(judge(of)).toEqual({ level, reason });
  });

  it('the level of mail ignores one or two bad recipients whatever their share', () => {
    expect(judge(mail({ accepted: 18, bounced: gone(2) })).level).toBe('good');
  });
});

describe('the rates of mail', () => {
  it('the rates of bounces and deferrals are shares of the mail that ended, that of complaints is a share of the accepted mail, and no mail has no rates', () => {
    const deferred = [{ cause: 'greylist' as const, recipients: 6 }];
    expect(computeRates(mail({ accepted: 297, deferred, bounced: gone(3), complained: 1 }))).toEqual({
      deferred: 2,
      bounced: 1,
      complained: 0.34,
    });
    expect(computeRates(mail({ deferred }))).toEqual({ deferred: null, bounced: null, complained: null });
  });
});

describe('the comparison with the days before', () => {
  it('a comparison with the days before needs enough mail on both sides', () => {
    expect(compare(mail({ accepted: 20 }), mail({ accepted: 19 }))).toBeUndefined();
    expect(compare(mail({ accepted: 19 }), mail({ accepted: 20 }))).toBeUndefined();
    expect(compare(mail({ accepted: 20 }), mail({ accepted: 20 }))).toBe('same');
  });

  it('mail is worse than before when a rate rose clearly, also when another one fell, and better when one only fell', () => {
    const calm = mail({ accepted: 200, bounced: gone(1) });
    const bounces = mail({ accepted: 200, bounced: gone(6) });
    const deferrals = mail({ accepted: 200, deferred: [{ cause: 'greylist', recipients: 20 }] });
    expect(compare(bounces, calm)).toBe('worse');
    expect(compare(calm, bounces)).toBe('better');
    expect(compare(bounces, deferrals)).toBe('worse');
  });

  it('mail is the same as before if its rates changed little in points, or little against what they were', () => {
    const some = mail({ accepted: 1000, bounced: gone(10) });
    expect(compare(mail({ accepted: 1000, bounced: gone(13) }), some)).toBe('same');
    const many = mail({ accepted: 100, deferred: [{ cause: 'greylist', recipients: 100 }] });
    expect(compare(mail({ accepted: 100, deferred: [{ cause: 'greylist', recipients: 120 }] }), many)).toBe('same');
  });
});
