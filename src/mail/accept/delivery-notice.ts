import { createHash } from 'node:crypto';
import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import { normalizeAddress, parseAddress } from '../../protocol/address/index.ts';
import { composeNotice, hasNotices, type Asked, type NoticeAction, type NoticeRecipient } from '../../protocol/dsn.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findDomain, findDomainByName, maySend } from '../domains/index.ts';
import { emailRowsByIds, findMessage, type EmailRow, type MessageRow } from '../emails/index.ts';
import { acceptWithin } from './accept-prepared.ts';
import { findAnswer, insertAnswers } from './idempotency.store.ts';
import { prepareOwnMessage } from './own-message.ts';
import type { Prepared } from './prepare.ts';

/** A delivery notice to the sender of an email. */
export interface NoticeOrder {
  emailId: string;
  teamId: string;
  asked: Asked;
  action: NoticeAction;
  recipients: readonly NoticeRecipient[];
  retryUntil?: Date;
}

/**
 * Rejects a notice address outside the verified domains of the team: otherwise any sender could have us send notices
 * with text of its choice to third parties.
 */
export async function mustBeNoticedAtHome(ctx: Ctx, asked: Asked): Promise<void> {
  if (!hasNotices(asked)) return;
  const parsed = parseAddress(asked.sender);
  const domain = parsed.ok ? await findDomainByName(ctx.store.db, ctx.teamId, parsed.mailbox.domain) : undefined;
  if (domain && maySend(domain)) return;
  throw refuse('validation_error', {
    status: 403,
    say: 'Delivery notices are only sent to a verified domain of the team; use such an address in MAIL FROM, or omit NOTIFY.',
  });
}

/** Writes each notice as a send, in the transaction that records the outcome it reports. */
export async function writeNotices(world: World, tx: Executor, orders: readonly NoticeOrder[]): Promise<void> {
  for (const given of orders) {
    const order = { ...given, recipients: await stillToReport(world, tx, given) };
    if (order.recipients.length === 0) continue;
    const [email] = await emailRowsByIds(tx, [order.emailId]);
    const domain = email && (await findDomain(tx, order.teamId, email.domain_id));
    const parsed = parseAddress(order.asked.sender);
    // The notice cannot be sent without the email or its domain.
    if (!email || !domain || !parsed.ok) continue;
    const message = await findMessage(tx, email.id);
    const prepared = prepareNotice(world, order, { email, domain, to: parsed.mailbox, message });
    const ctx: Ctx = {
      store: world,
      teamId: order.teamId,
      actor: { kind: 'job', name: 'delivery notice' },
      requestId: world.ids.uuid(),
    };
    await acceptWithin(world, tx, ctx, [prepared], { kind: 'notice' });
  }
}

const SUCCESSES: readonly NoticeAction[] = ['relayed', 'delivered', 'expanded'];
/** Longer than any server repeats a report whose 250 was lost. */
const REPORTED_MS = 7 * 24 * 3_600_000;

/**
 * Returns the recipients that are still to be reported. For failures and delays the events show what was reported; a
 * delivery has its event since the 250, whether or not its sender had a report, so each reported success is recorded
 * here.
 */
async function stillToReport(
  world: World,
  tx: Executor,
  { emailId, teamId, action, recipients }: NoticeOrder,
): Promise<NoticeRecipient[]> {
  if (!SUCCESSES.includes(action)) return [...recipients];
  const now = world.clock.now();
  const fresh: NoticeRecipient[] = [];
  for (const recipient of recipients) {
    const hash = createHash('sha256').update(normalizeAddress(recipient.address)).digest('base64url');
    const row = { team_id: teamId, key: `success of ${emailId} ${hash}`, request_hash: '', response: 'null' };
    if (await findAnswer(tx, teamId, row.key, now)) continue;
    await insertAnswers(tx, [{ ...row, expires_at: now + REPORTED_MS }], now);
    fresh.push(recipient);
  }
  return fresh;
}

interface About {
  email: EmailRow;
  domain: Prepared['domain'];
  to: Prepared['draft']['from'];
  message: MessageRow | undefined;
}

function prepareNotice(world: World, order: NoticeOrder, { email, domain, to, message }: About): Prepared {
  const { action, asked, recipients, retryUntil } = order;
  const from = `postmaster@${domain.name}`;
  const isWhole = action === 'failed' && asked.ret === 'FULL' && !asked.requiresTls;
  const composed = composeNotice({
    action,
    asked,
    recipients,
    from,
    ...(retryUntil ? { retryUntil } : {}),
    host: world.config.instance.host,
    id: world.ids.uuid(),
    at: new Date(world.clock.now()),
    arrivedAt: new Date(email.created_at),
    original: {
      subject: email.subject,
      head: Buffer.from(message?.head ?? ''),
      // A body over `storage.inline_bytes` is not in its row, and is more than a notice should return.
      ...(isWhole && message?.body ? { body: Buffer.from(message.body, 'latin1') } : {}),
    },
  });
  return prepareOwnMessage({
    domain,
    local: 'postmaster',
    name: 'Mail delivery',
    to,
    composed,
    tags: [
      { name: 'delivery_notice', value: action },
      { name: 'notice_of', value: email.id },
    ],
    // The null sender, so that nothing is ever returned for a notice. If the message required TLS, so does its
    // notice.
    forwarded: { mailFrom: '', chain: null },
    ...(asked.requiresTls ? { asked: { sender: '', requiresTls: true, recipients: {} } } : {}),
  });
}
