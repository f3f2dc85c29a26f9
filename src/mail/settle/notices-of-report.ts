import { readAsked, wants } from '../../protocol/dsn/index.ts';
import type { ReportedRecipient } from '../../protocol/mail-report/index.ts';
import type { EmailRow } from '../emails/index.ts';
import type { NoticeOrder } from '../accept/index.ts';

const NOTICES = {
  delivered: { what: 'SUCCESS', status: '2.0.0' },
  relayed: { what: 'SUCCESS', status: '2.0.0' },
  expanded: { what: 'SUCCESS', status: '2.0.0' },
  delayed: { what: 'DELAY', status: '4.0.0' },
  failed: { what: 'FAILURE', status: '5.0.0' },
} as const;

/** Delivery notices of the next server come to our return path; this makes the notices that the original sender asked for. */
export function noticesOfReport(email: EmailRow, reported: ReportedRecipient, to: readonly string[]): NoticeOrder[] {
  const asked = readAsked(email.asked);
  const { action, diagnostic } = reported;
  const { what, status } = NOTICES[action];
  const recipients = to.flatMap((address) => {
    if (!asked || !wants(asked, address, what)) return [];
    return [{ address, status: reported.status ?? status, ...(diagnostic === '' ? {} : { diagnostic }) }];
  });
  if (!asked || recipients.length === 0) return [];
  return [{ emailId: email.id, teamId: email.team_id, asked, action, recipients }];
}
