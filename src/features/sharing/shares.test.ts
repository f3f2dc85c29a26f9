import { describe, expect, it } from 'vitest';
import { Refusal } from '../../platform/refusal.ts';
import { readExpiresIn, SHARE_MS_MAX } from './shares.ts';

const HOUR_MS = 3_600_000;

describe('expires_in', () => {
  it('means 48 hours when it is absent', () => {
    expect(readExpiresIn(undefined)).toBe(48 * HOUR_MS);
    expect(SHARE_MS_MAX).toBe(48 * HOUR_MS);
  });

  it.each([
    ['1s', 1000],
    ['30 seconds', 30_000],
    ['1 second', 1000],
    ['1 seconds', 1000],
    ['10m', 600_000],
    ['1 minute', 60_000],
    ['90 minutes', 1.5 * HOUR_MS],
    ['1h', HOUR_MS],
    ['2 hours', 2 * HOUR_MS],
    ['1 hour', HOUR_MS],
    ['1 day', 24 * HOUR_MS],
    ['2d', 48 * HOUR_MS],
    ['2 days', 48 * HOUR_MS],
    ['48h', 48 * HOUR_MS],
    ['48 hours', 48 * HOUR_MS],
    ['2880m', 48 * HOUR_MS],
    ['172800s', 48 * HOUR_MS],
    ['10   m', 600_000],
    ['10\tm', 600_000],
    [' 10m ', 600_000],
    ['2 Hours', 2 * HOUR_MS],
    ['1D', 24 * HOUR_MS],
    ['010m', 600_000],
  ])('reads %j', (text, ms) => expect(readExpiresIn(text)).toBe(ms));

  it.each([
    '',
    ' ',
    '0',
    '10',
    'm',
    'hours',
    '0s',
    '0 hours',
    '000m',
    '-1h',
    '+1h',
    '- 1h',
    '1.5h',
    '0.5 hours',
    '1,5h',
    '1e1h',
    '0x10m',
    '1_000s',
    '١h',
    '１h',
    'NaN h',
    'Infinity h',
    '1h30m',
    '1 h 30 m',
    '1 hour, 1 minute',
    'P1D',
    '1w',
    '1 week',
    '1 ms',
    '1000ms',
    '1 month',
    '1 min',
    '1 sec',
    '1 hr',
    '1 y',
    '1 hourss',
    '1 hours ago',
    'an hour',
    '49h',
    '49 hours',
    '3d',
    '3 days',
    '2881m',
    '172801s',
    '172801 seconds',
    '9007199254740993s',
    `${'9'.repeat(400)}d`,
    '1h\u0000',
    '1h\n2h',
    '1h;drop',
    '2026-11-21',
    'tomorrow',
  ])('refuses %.60s with its field and the limit', (text) => {
    const refusal = catchRefusal(() => readExpiresIn(text));
    expect(refusal).toMatchObject({ errorName: 'validation_error', status: 400 });
    expect(refusal.errors).toEqual([{ path: 'expires_in', message: refusal.message }]);
    expect(refusal.message).toContain('48 hours');
    expect(refusal.message.length).toBeLessThan(300);
  });
});

function catchRefusal(work: () => unknown): Refusal {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error;
  }
  throw new Error('nothing was refused');
}
