import { Refusal } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { parseAddress } from '../../protocol/address/index.ts';
import {
  insertRecipients,
  recipientsAmong,
  type ExclusionReason,
  type NewRecipientRow,
} from '../../resources/broadcast-recipients/index.ts';
import { mailFor, saveProgress, type BroadcastRow } from '../../resources/broadcasts/index.ts';
import { mayMail, membersPage, wayOutOf, type ContactRow } from '../../resources/contacts/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import { findDomainByName, type DomainRow } from '../../resources/domains/index.ts';
import { acceptWithin, logAccepted, mustBeAllowedBySandbox, type Prepared } from '../mail/accept/index.ts';
import type { Route } from './read-route.ts';

export const PAGE_MAX = 500;

/** It was canceled, or another process has it. */
export class TakenOver extends Error {}

interface Page {
  broadcast: BroadcastRow;
  route: Route;
  owner: string;
  /** The last contact of the page before. */
  cursor: string | undefined;
  limit: number;
}

interface PageSent {
  accepted: number;
  cursor: string | undefined;
  /** Nobody comes behind it. */
  isLast: boolean;
}

/**
 * Sends one page: its emails, its report and how far the broadcast has come are one transaction. Members come newest first, so
 * that a contact that is added meanwhile belongs to no page; one that is deleted and made again keeps its address, and the
 * broadcast has that already.
 */
export async function sendPage(world: World, { broadcast, route, owner, cursor, limit }: Page): Promise<PageSent> {
  const { id: broadcastId, team_id: teamId } = broadcast;
  const members = await membersPage(world.db, teamId, route.filter, { limit, after: cursor });
  const last = members.at(-1)?.id;
  if (last === undefined) return { accepted: 0, cursor, isLast: true };
  const ctx: Ctx = {
    store: world,
    teamId,
    actor: { kind: 'job', name: 'broadcasts' },
    requestId: world.ids.prefixed('req_'),
  };
  const drafted = members.map((member) => ({ member, send: draftFor(world, broadcast, route, member) }));
  const outside = await outsideSandbox(
    ctx,
    drafted.flatMap(({ send }) => send ?? []),
  );
  const emails = await world.db.tx(async (tx) => {
    const known = await recipientsAmong(
      tx,
      broadcastId,
      members.map((member) => member.email_key),
    );
    const contactIds = members.map((member) => member.id);
    const excluded = await mayMail(tx, teamId, { contactIds, topicId: broadcast.topic_id });
    const rows: NewRecipientRow[] = [];
    const sends: Prepared[] = [];
    for (const { member, send } of drafted) {
      if (known.has(member.email_key)) continue;
      const reason = excluded.get(member.id) ?? unsendable(send, outside);
      rows.push({
        broadcast_id: broadcastId,
        email_key: member.email_key,
        id: world.ids.uuid(),
        contact_id: member.id,
        email: member.email,
        email_id: reason === undefined ? (send?.id ?? null) : null,
        excluded: reason ?? null,
      });
      if (reason === undefined && send) sends.push(send);
    }
    const progress = { cursorId: last, recipients: sends.length, excluded: rows.length - sends.length };
    if (!(await saveProgress(tx, { id: broadcastId, owner, ...progress }))) throw new TakenOver();
    await insertRecipients(tx, rows);
    return acceptWithin(world, tx, ctx, sends, { kind: 'marketing', broadcastId });
  });
  logAccepted(world, emails);
  return { accepted: emails.length, cursor: last, isLast: members.length < limit };
}

const unsendable = (send: Prepared | undefined, outside: ReadonlySet<Prepared>): ExclusionReason | undefined =>
  send ? (outside.has(send) ? 'sandboxed' : undefined) : 'invalid_address';

/** The sends that a region in its sandbox keeps back, as it does with any other mail. */
async function outsideSandbox(ctx: Ctx, sends: readonly Prepared[]): Promise<Set<Prepared>> {
  const find = (name: string): Promise<DomainRow | undefined> => findDomainByName(ctx.store.db, ctx.teamId, name);
  const outside = new Set<Prepared>();
  for (const send of sends) {
    try {
      await mustBeAllowedBySandbox(ctx, { draft: send.draft, domain: send.domain, find });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      outside.add(send);
    }
  }
  return outside;
}

/** Undefined where no mail can be addressed to the contact. */
function draftFor(
  world: World,
  broadcast: BroadcastRow,
  route: Route,
  contact: ContactRow,
): (Prepared & { id: string }) | undefined {
  const parsed = parseAddress(contact.email);
  if (!parsed.ok) return undefined;
  const id = world.ids.uuid();
  const { variables, headers } = wayOutOf(world, route.origin, { contact, topicId: broadcast.topic_id, emailId: id });
  const { subject, values } = mailFor(route.mail, contact, variables);
  return {
    id,
    domain: route.domain,
    templateId: broadcast.template_id,
    shared: { bodyId: broadcast.body_id ?? '', values: JSON.stringify(values) },
    draft: {
      written: {
        from: broadcast.sender,
        to: [contact.email],
        cc: [],
        bcc: [],
        replyTo: JSON.parse(broadcast.reply_to_list) as string[],
      },
      from: route.from,
      recipients: [parsed.mailbox],
      subject,
      html: null,
      text: null,
      headers,
      tags: [],
      attachments: [],
      scheduledAt: null,
      topicId: broadcast.topic_id,
    },
  };
}
