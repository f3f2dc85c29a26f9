import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

let begun = 0;

/** Counts the signatures that the thread pool is making. Nothing else tells how long the system lets a thread wait. */
export const countSignatures = (): number => begun;

const sign = crypto.sign as (...args: unknown[]) => unknown;
const countedSign = (...args: unknown[]): unknown => {
  const done = args.at(-1);
  if (typeof done !== 'function') return sign(...args);
  begun++;
  return sign(...args.slice(0, -1), (...results: unknown[]) => {
    begun--;
    (done as (...results: unknown[]) => void)(...results);
  });
};
crypto.sign = countedSign as typeof crypto.sign;
syncBuiltinESMExports();
