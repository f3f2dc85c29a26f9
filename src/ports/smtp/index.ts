/**
 * The SMTP ports: smtp-server with our listeners, one for submission by applications with an API key, one for receiving
 * from the world. A listener only translates the dialogue to verbs, and their results and refusals to replies;
 * `mail/accept` decides what may be sent. A 250 is given only when what it accepts is durable.
 */
export type { SmtpHandlers, SubmissionHandler, ReceivingHandler } from './handler.ts';
export { createReceivingHandler } from './receiving.ts';
export { startSmtp, type SmtpListening, type SmtpPorts } from './start-smtp.ts';
export { createSubmission } from './submission.ts';
