/**
 * Logs: what a team's programs asked and what they were answered, for as many days as the settings say. Secrets and
 * files are taken out before anything is kept. It is written behind the answers: a crash may lose the last moment, and
 * no request waits for it or fails with it.
 */
export { createRequestLog, type RequestLog } from './request-log.ts';
export { markerText, redactBody } from './redact.ts';
export { redactPath, redactTokens } from './secret-texts.ts';
export { getLog, listLogs } from './read-logs.ts';
export { deleteLogsBefore, teamsWithLogsBefore } from './logs.store.ts';
