/**
 * Logs: the requests of a team's programs and the responses, for as many days as the settings say. Secrets and files
 * are removed before anything is kept. Logs are written after the responses: a crash may lose the last moment, and no
 * request waits for a log entry or fails with it.
 */
export { createRequestLog, type RequestLog, getLog, listLogs } from './request-log.ts';
export { markerText, redactBody, redactPath, redactTokens } from './redact.ts';
export { deleteLogsBefore, teamsWithLogsBefore } from './logs.store.ts';
