/**
 * Circuit breakers: they judge how receivers take the mail of each sending domain and team, slow it down and pause it if too many
 * recipients complain or too much of it bounces, and try it again after a while. Their limits are throttles; delivery knows
 * nothing else of them.
 */
export { isMarketingPaused, listBreakers, type Breaker } from './breakers.store.ts';
export { evaluateBreakers } from './evaluate.ts';
export { describeBreaker, getBreakers, measureBreakers, releaseBreaker } from './breakers-admin.ts';
