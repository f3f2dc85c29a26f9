/**
 * The daily summary of reputation for operators: a mail about the day before, with how each provider took the mail of each
 * source, what changed, the open findings and the warm-ups. Each address gets one a day among all nodes, also if a process dies
 * between accepting it and recording that.
 */
export { createReputationSummary } from './send-summary.ts';
