import type { Log } from './log.ts';

/** Every line about mail that an operator can meet. */
export interface MailLog {
  accepted(mail: { emailId: string; teamId: string; recipients: number }): void;
  delivered(mail: { emailId: string; to: string[]; mx: string; reply: string; tls: string | null }): void;
  deferred(mail: { emailId: string; to: string[]; reason: string; detail: string; nextAttemptAt: string }): void;
  bounced(mail: { emailId: string; to: string[]; reason: string; detail: string }): void;
  /** Its server passed it on to the members of a list, and tells of each of them if of anybody. */
  expanded(mail: { emailId: string; to: string[] }): void;
  gaveUp(mail: { emailId: string; to: string[]; detail: string; attempts: number }): void;
  suppressed(mail: { emailId: string; to: string[] }): void;
  ambiguous(mail: { emailId: string; to: string[]; detail: string }): void;
  failed(mail: { emailId: string; to: string[]; reason: string }): void;
  /** It came in and a rule would have passed it on. */
  notForwarded(mail: { teamId: string; address: string; because: string }): void;
  loginRefused(login: { address: string; reason: string }): void;
  submissionRefused(mail: { address: string; teamId: string; reason: string }): void;
}

export function createMailLog(log: Log): MailLog {
  return {
    accepted: (mail) => log.info(mail, 'email accepted'),
    delivered: (mail) => log.info(mail, 'email delivered'),
    deferred: (mail) => log.info(mail, 'delivery deferred'),
    bounced: (mail) => log.info(mail, 'email bounced'),
    expanded: (mail) => log.info(mail, 'email expanded to a list'),
    gaveUp: (mail) => log.warn(mail, 'gave up delivery'),
    suppressed: (mail) => log.info(mail, 'recipient suppressed'),
    ambiguous: (mail) => log.warn(mail, 'delivery outcome unknown'),
    failed: (mail) => log.warn(mail, 'email failed'),
    notForwarded: (mail) => log.warn(mail, 'mail not forwarded'),
    loginRefused: (login) => log.info(login, 'smtp login refused'),
    submissionRefused: (mail) => log.info(mail, 'submission refused'),
  };
}
