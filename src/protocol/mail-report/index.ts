/**
 * What comes back by mail: notices of servers that a message could not be delivered or is late (RFC 3464, and the common
 * ones from before), and complaints of recipients (RFC 5965). It promises to take nothing else for one: answers of people
 * and of their machines say nothing about an address.
 */
export { ANSWER_HEADERS } from './automatic-answer.ts';
export { readReportedReply } from './reported-reply.ts';
export { isReturn } from './is-return.ts';
export { readReport } from './read-report.ts';
export type { MailReport, ReportedRecipient } from './report.ts';
