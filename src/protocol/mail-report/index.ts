/**
 * What comes back by mail: notices of servers that a message could not be delivered or is late (RFC 3464, and the common
 * ones from before), and complaints of recipients (RFC 5965). It promises to take nothing else for one: answers of people
 * and of their machines say nothing about an address.
 */
export {
  ANSWER_HEADERS,
  readReportedReply,
  isReturn,
  readReport,
  type MailReport,
  type ReportedRecipient,
} from './read-report.ts';
