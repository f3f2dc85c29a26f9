/**
 * Logs: what a team's programs asked and what they were answered, for as many days as the settings say. Secrets and
 * files are taken out before anything is kept. It is written behind the answers: a crash may lose the last moment, and
 * no request waits for it or fails with it.
 */
export { createRequestLog, type RequestLog, getLog, listLogs } from './request-log.ts';
export { markerText, redactBody, redactPath, redactTokens } from './redact.ts';
export { deleteLogsBefore, teamsWithLogsBefore } from './logs.store.ts';
