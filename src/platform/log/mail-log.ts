import type { Meter } from '../meter/index.ts';
import type { Tracer } from '../trace/index.ts';
import type { Log } from './log.ts';

/** Fields of every line about an email. `requestId` is omitted for mail accepted before request ids were stored. */
export interface OfEmail {
  emailId: string;
  requestId?: string;
}

/** Returns these fields for the row of an email or of a delivery. */
export const emailLogFields = (emailId: string, requestId: string | null): OfEmail =>
  requestId === null ? { emailId } : { emailId, requestId };

/** All lines about mail that an operator may see. */
export interface MailLog {
  /** `requestId` is the id that the response has as `x-request-id`, or the id of the SMTP session. */
  accepted(mail: { emailId: string; teamId: string; recipients: number; requestId: string }): void;
  delivered(mail: OfEmail & { to: string[]; mx: string; reply: string; tls: string | null }): void;
  deferred(mail: OfEmail & { to: string[]; reason: string; detail: string; nextAttemptAt: string }): void;
  bounced(mail: OfEmail & { to: string[]; reason: string; detail: string }): void;
  /** The server passed the mail on to the members of a list; it may report on each of them, or on nobody. */
  expanded(mail: OfEmail & { to: string[] }): void;
  gaveUp(mail: OfEmail & { to: string[]; detail: string; attempts: number }): void;
  suppressed(mail: OfEmail & { to: string[] }): void;
  ambiguous(mail: OfEmail & { to: string[]; detail: string }): void;
  failed(mail: OfEmail & { to: string[]; reason: string }): void;
  /** The mail was received, and a rule would have forwarded it. */
  notForwarded(mail: { teamId: string; address: string; because: string }): void;
  loginRefused(login: { address: string; reason: string }): void;
  submissionRefused(mail: { address: string; teamId: string; reason: string }): void;
}

/** Creates the mail log, which also counts each line, and traces accepted mail. */
export function createMailLog(log: Log, meter: Meter, tracer: Tracer): MailLog {
  const ended =
    (outcome: string, level: 'info' | 'warn', phrase: string) =>
    (mail: { to: string[] }): void => {
      for (const [domain, recipients] of byDomain(mail.to))
        meter.count('rasket_deliveries_total', { outcome, domain: meter.domainLabel(domain, recipients) }, recipients);
      log[level](mail, phrase);
    };
  return {
    accepted(mail) {
      meter.count('rasket_emails_accepted_total');
      meter.count('rasket_recipients_accepted_total', {}, mail.recipients);
      tracer.accepted({ id: mail.emailId, teamId: mail.teamId, recipients: mail.recipients });
      log.info(mail, 'email accepted');
    },
    delivered: ended('delivered', 'info', 'email delivered'),
    deferred: ended('deferred', 'info', 'delivery deferred'),
    bounced: ended('bounced', 'info', 'email bounced'),
    expanded: ended('expanded', 'info', 'email expanded to a list'),
    gaveUp: ended('expired', 'warn', 'gave up delivery'),
    suppressed: ended('suppressed', 'info', 'recipient suppressed'),
    ambiguous: ended('ambiguous', 'warn', 'delivery outcome unknown'),
    failed: ended('failed', 'warn', 'email failed'),
    notForwarded: (mail) => log.warn(mail, 'mail not forwarded'),
    loginRefused(login) {
      meter.count('rasket_smtp_logins_refused_total');
      log.info(login, 'smtp login refused');
    },
    submissionRefused(mail) {
      meter.count('rasket_submissions_refused_total');
      log.info(mail, 'submission refused');
    },
  };
}

function byDomain(addresses: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const address of addresses) {
    const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
    counts.set(domain, (counts.get(domain) ?? 0) + 1);
  }
  return counts;
}
