import type { World } from '../../../platform/world/index.ts';
import { readAsked, wants, type NoticeAction, type NoticeRecipient, type Notify } from '../../../protocol/dsn/index.ts';
import { replyText, type Reply } from '../../../protocol/smtp-reply/index.ts';
import type { NoticeOrder } from '../accept/index.ts';
import type { DeliveryRow, Outcome } from '../queue/index.ts';
import type { Conclusion } from './conclude.ts';

const HOUR_MS = 3_600_000;

/** What the sender asked to be told (RFC 3461 §6), of a try that came to this. */
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
    const told = TOLD[type];
    if (!told) continue;
    for (const address of data?.to ?? []) {
      const outcome = outcomes.find((one) => one.address === address);
      // A server that was asked itself sends its own.
      if (outcome?.kind === 'delivered' && outcome.isNoticed) continue;
      if (!wants(asked, address, told.what)) continue;
      orders.set(told.action, [...(orders.get(told.action) ?? []), recipientOf(address, told, outcome)]);
    }
  }
  const retryUntil = new Date(row.accepted_at + world.config.delivery.give_up_hours * HOUR_MS);
  return [...orders].map(([action, recipients]) => ({
    ...{ emailId: row.email_id, teamId: row.team_id, asked, action, recipients },
    ...(action === 'delayed' ? { retryUntil } : {}),
  }));
}

interface Told {
  what: Notify;
  action: NoticeAction;
  /** Where nothing says more. */
  status: string;
}

const FAILED: Told = { what: 'FAILURE', action: 'failed', status: '5.0.0' };
const TOLD: Readonly<Record<string, Told>> = {
  'email.delivered': { what: 'SUCCESS', action: 'relayed', status: '2.0.0' },
  'email.delivery_delayed': { what: 'DELAY', action: 'delayed', status: '4.0.0' },
  'email.bounced': FAILED,
  'email.failed': FAILED,
  'email.suppressed': { ...FAILED, status: '5.7.1' },
};

function recipientOf(address: string, told: Told, outcome: Outcome | undefined): NoticeRecipient {
  const reply = outcome && 'reply' in outcome ? outcome.reply : undefined;
  const remote = outcome && 'mx' in outcome ? outcome.mx : undefined;
  const detail = reply ? replyText(reply) : outcome && 'detail' in outcome ? outcome.detail : undefined;
  return {
    address,
    status: statusOf(told, reply),
    ...(detail === undefined ? {} : { diagnostic: detail }),
    ...(remote === undefined ? {} : { remote: /^\S+/.exec(remote)?.[0] ?? remote }),
  };
}

/** Its class is that of the action: what was given up is over, though the last answer was for a time. */
function statusOf({ status }: Told, reply: Reply | undefined): string {
  const said = reply?.enhanced ?? status;
  return said[0] === status[0] ? said : `${status[0]}${said.slice(1)}`;
}
