import type { World } from '../../platform/world/index.ts';
import { readAsked, wants, type NoticeAction, type NoticeRecipient, type Notify } from '../../protocol/dsn/index.ts';
import { replyText, type Reply } from '../../protocol/smtp-reply/index.ts';
import type { NoticeOrder } from '../accept/index.ts';
import type { DeliveryRow, Outcome } from '../queue/index.ts';
import type { Conclusion } from './conclude.ts';

const HOUR_MS = 3_600_000;

/** The delivery notices that the sender asked for (RFC 3461 §6), for the events of one attempt. */
export function noticesOf(
  world: World,
  row: DeliveryRow,
  outcomes: readonly Outcome[],
  { events }: Conclusion,
): NoticeOrder[] {
  const asked = readAsked(row.asked);
  if (!asked || asked.sender === '') return [];
  const orders = new Map<NoticeAction, NoticeRecipient[]>();
  for (const { type, data } of events) {
    const kind = NOTICE_KINDS[type];
    if (!kind) continue;
    for (const address of data?.to ?? []) {
      const outcome = outcomes.find((one) => one.address === address);
      // The next server supports DSN and sends the notice itself.
      if (outcome?.kind === 'delivered' && outcome.isNoticed) continue;
      if (!wants(asked, address, kind.what)) continue;
      orders.set(kind.action, [...(orders.get(kind.action) ?? []), recipientOf(address, kind, outcome)]);
    }
  }
  const retryUntil = new Date(row.accepted_at + world.config.delivery.give_up_hours * HOUR_MS);
  return [...orders].map(([action, recipients]) => ({
    ...{ emailId: row.email_id, teamId: row.team_id, asked, action, recipients },
    ...(action === 'delayed' ? { retryUntil } : {}),
  }));
}

interface NoticeKind {
  what: Notify;
  action: NoticeAction;
  /** The status without an enhanced code in the reply. */
  status: string;
}

const FAILED: NoticeKind = { what: 'FAILURE', action: 'failed', status: '5.0.0' };
const NOTICE_KINDS: Readonly<Record<string, NoticeKind>> = {
  'email.delivered': { what: 'SUCCESS', action: 'relayed', status: '2.0.0' },
  'email.delivery_delayed': { what: 'DELAY', action: 'delayed', status: '4.0.0' },
  'email.bounced': FAILED,
  'email.failed': FAILED,
  'email.suppressed': { ...FAILED, status: '5.7.1' },
};

function recipientOf(address: string, kind: NoticeKind, outcome: Outcome | undefined): NoticeRecipient {
  const reply = outcome && 'reply' in outcome ? outcome.reply : undefined;
  const remote = outcome && 'mx' in outcome ? outcome.mx : undefined;
  const detail = reply ? replyText(reply) : outcome && 'detail' in outcome ? outcome.detail : undefined;
  return {
    address,
    status: statusOf(kind, reply),
    ...(detail === undefined ? {} : { diagnostic: detail }),
    ...(remote === undefined ? {} : { remote: /^\S+/.exec(remote)?.[0] ?? remote }),
  };
}

/** The enhanced code of the reply with the class of the action: mail that was given up has failed, even if the last reply was 4xx. */
function statusOf({ status }: NoticeKind, reply: Reply | undefined): string {
  const said = reply?.enhanced ?? status;
  return said[0] === status[0] ? said : `${status[0]}${said.slice(1)}`;
}
