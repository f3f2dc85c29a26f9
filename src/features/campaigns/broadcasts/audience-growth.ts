/**
 * Returns whether a broadcast would reach more contacts than the person was shown. Contacts sign up all the time, so a
 * growth by a tenth, rounded up, is accepted.
 */
export const hasGrown = (before: number | null, now: number | undefined): boolean =>
  before !== null && now !== undefined && now > before + Math.ceil(before / 10);
