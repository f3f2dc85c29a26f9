import type { TestBroadcastRequest } from '../../../contract/index.ts';
import { invalidFields, notFound, type FieldFault } from '../../../platform/refusal.ts';
import { parseMailbox, type Mailbox } from '../../../protocol/address/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findBroadcast, type BroadcastRow } from '../broadcasts/broadcasts.store.ts';
import { inOtherStatus, mustBeTestable } from '../broadcasts/send-broadcast.ts';
import { renderMail } from '../broadcasts/preview-broadcast.ts';
import type { EmailDraft } from '../../../mail/emails/index.ts';
import type { Accept } from '../../../mail/accept/index.ts';
import { parseStoredMailbox } from './send-page.ts';

/** Sends a test of a draft or a scheduled broadcast. It is ordinary mail that no report counts. */
export async function testBroadcast(
  ctx: Ctx,
  accept: Pick<Accept, 'acceptDrafts'>,
  id: string,
  { to, contact_id: contactId }: TestBroadcastRequest,
) {
  const recipients = readRecipients(to);
  const row = await findBroadcast(ctx.store.db, ctx.teamId, id);
  if (!row) throw notFound('Broadcast');
  if (row.status !== 'draft' && row.status !== 'scheduled') {
    throw inOtherStatus(row, 'only a draft or a scheduled broadcast can be tested', 403);
  }
  const mail = await renderMail(ctx, row, contactId);
  mustBeTestable(mail.domain, mail.domainName, mail.html ?? mail.text ?? undefined);
  const ids = await accept.acceptDrafts(
    ctx,
    recipients.map(({ mailbox, written }) => draftFor(row, mail, { mailbox, written })),
  );
  return { object: 'broadcast_test' as const, ids };
}

interface Recipient {
  written: string;
  mailbox: Mailbox;
}

function readRecipients(to: string | string[]): Recipient[] {
  const faults: FieldFault[] = [];
  const recipients = [to].flat().flatMap((written, i) => {
    const path = Array.isArray(to) ? `to.${i}` : 'to';
    const parsed = parseMailbox(written);
    if (parsed.ok) return { written: written.trim(), mailbox: parsed.mailbox };
    faults.push({ path, message: `${path}: ${parsed.fault}` });
    return [];
  });
  if (faults.length > 0) throw invalidFields(faults);
  return recipients;
}

function draftFor(
  row: BroadcastRow,
  { subject, html, text }: Pick<EmailDraft, 'subject' | 'html' | 'text'>,
  { written, mailbox }: Recipient,
): EmailDraft {
  const replyTo = JSON.parse(row.reply_to_list) as string[];
  return {
    headerMailboxes: { from: row.sender, to: [written], cc: [], bcc: [], replyTo },
    from: parseStoredMailbox(row.sender),
    recipients: [mailbox],
    subject: `[Test] ${subject}`,
    html,
    text,
    headers: [],
    tags: [{ name: 'broadcast_test', value: row.id }],
    attachments: [],
    scheduledAt: null,
    topicId: null,
  };
}
