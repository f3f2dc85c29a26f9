/**
 * When a deferred message is tried again. Pure arithmetic over the times and the randomness it is given:
 * it promises a spread of attempts and one last attempt at the end of the message's life, and never reads a clock.
 */
export { nextAttempt } from './next-attempt.ts';
export type { NextAttempt, RetryInput } from './next-attempt.ts';
