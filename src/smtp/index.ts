/**
 * The SMTP ports: smtp-server with our doors behind it. Submission is for applications with an API key. A door only
 * translates the dialogue to verbs and their answers and refusals to replies; what may be sent is flow's to say. 250 is
 * said when what was taken is durable, never before.
 */
export type { Doors, SubmissionDoor, ReceivingDoor } from './door.ts';
export { createReceivingDoor } from './receiving.ts';
export { startSmtp, type SmtpListening, type SmtpPorts } from './start-smtp.ts';
export { createSubmission } from './submission.ts';
