import { expect, it } from 'vitest';
import { createMessageRate } from '../../platform/limits/index.ts';
import type { Login } from './handler.ts';
import { createLoginLimits } from './logins.ts';

const clock = { now: () => 0, steady: () => 0, timer: () => () => undefined };

it('when more logins than the maximum are remembered, the least recent are dropped one by one, and never one that keeps asking', () => {
  const max = { connections: 1, connectionsPerKey: 1, messagesPerMinutePerKey: 2, messagesPerMinutePerTeam: 1e9 };
  const limits = createLoginLimits(clock, max);
  const takes = (keyId: string): boolean => {
    try {
      limits.take({ teamId: 'team', actor: { kind: 'smtp_credential', keyId } } as Login);
      return true;
    } catch {
      return false;
    }
  };
  for (const key of ['quiet', 'asking']) expect([takes(key), takes(key), takes(key)]).toEqual([true, true, false]);
  for (let n = 0; n < 20_000; n++) {
    takes(`key ${n}`);
    if (n % 100 === 0 && takes('asking')) throw new Error(`forgotten after ${n} others`);
  }
  expect([takes('asking'), takes('quiet')]).toEqual([false, true]);
  // The last ten thousand are still remembered.
  expect([takes('key 19999'), takes('key 19999')]).toEqual([true, false]);
  expect([takes('key 15000'), takes('key 15000')]).toEqual([true, false]);
});

it('when more callers than the maximum are counted, the least recent are dropped, and never one that keeps calling', () => {
  const isWithin = createMessageRate(clock, 2);
  const call = (caller: string): boolean[] => [isWithin(caller), isWithin(caller), isWithin(caller)];
  expect([call('quiet'), call('calling')]).toEqual([
    [true, true, false],
    [true, true, false],
  ]);
  for (let n = 0; n < 200_000; n++) {
    isWithin(`caller ${n}`);
    if (n % 1000 === 0 && isWithin('calling')) throw new Error(`forgotten after ${n} others`);
  }
  expect([isWithin('calling'), isWithin('quiet')]).toEqual([false, true]);
  expect([isWithin('caller 150000'), isWithin('caller 150000')]).toEqual([true, false]);
});
