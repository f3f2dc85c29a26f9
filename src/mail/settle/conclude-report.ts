import { isoTime } from '../../platform/clock/index.ts';
import { ofEmail } from '../../platform/log/index.ts';
import type { World } from '../../platform/world/index.ts';
import { classifyReply } from '../../platform/reply-rules/index.ts';
import { readReportedReply } from '../../protocol/mail-report/index.ts';
import { bounceOfReply } from '../../protocol/smtp-reply/index.ts';
import type { EmailRow } from '../emails/index.ts';
import { nothingFollows, type Conclusion } from './conclude.ts';

/** What a report says of recipients, hours or days after the connection to their mail server was over. */
export interface ReportedOutcome {
  kind: 'delivered' | 'delayed' | 'bounced' | 'complained';
  to: string[];
  status: string | undefined;
  diagnostic: string;
  /**
   * Whether it may suppress the address: where the return path was made for one recipient. Of several, each has seen it, and
   * could forge a report that has another one suppressed.
   */
  maySuppress: boolean;
}

/** Turns what a report says into events, suppressions and lines of the mail log. */
export function concludeReport(world: World, email: EmailRow, outcomes: readonly ReportedOutcome[]): Conclusion {
  const done = nothingFollows();
  for (const { kind, to, status, diagnostic: said, maySuppress } of outcomes) {
    const diagnostic = [status, said].filter((part) => part).join(' ');
    switch (kind) {
      case 'delivered':
        done.events.push({ type: 'email.delivered', data: { to } });
        break;
      case 'delayed': {
        const expires = email.created_at + world.config.delivery.give_up_hours * 3_600_000;
        const delayedRecipients = to.map((emailAddress) => ({ emailAddress, diagnosticCode: diagnostic }));
        const delay = { type: 'Undetermined', expirationTime: isoTime(expires), delayedRecipients };
        done.events.push({ type: 'email.delivery_delayed', data: { to, delay } });
        break;
      }
      case 'bounced': {
        const message = 'The recipient’s mail server took the message and could not deliver it; it said so by mail.';
        const reply = readReportedReply({ status, diagnostic: said });
        const { type, subType } = bounceOfReply(reply, classifyReply({ reply }).cause);
        const bounce = { type, subType, message, diagnosticCode: [diagnostic] };
        done.events.push({ type: 'email.bounced', data: { to, bounce } });
        done.logLines.push((log) =>
          log.bounced({ ...ofEmail(email.id, email.request_id), to, reason: 'returned', detail: diagnostic }),
        );
        if (maySuppress && bounce.type === 'Permanent') suppress(done, to, 'bounce');
        break;
      }
      case 'complained':
        done.events.push({ type: 'email.complained', data: { to } });
        if (maySuppress) suppress(done, to, 'complaint');
        break;
      default:
        kind satisfies never;
    }
  }
  return done;
}

function suppress(done: Conclusion, to: readonly string[], origin: 'bounce' | 'complaint'): void {
  done.suppress.push(...to.map((email) => ({ email, origin })));
}
