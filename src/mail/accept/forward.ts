import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Mailbox } from '../../protocol/address/index.ts';
import { formatMailbox } from '../../protocol/address/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findDomain, findDomainByName, type DomainRow } from '../domains/index.ts';
import type { EmailDraft } from '../emails/index.ts';
import type { Prepared } from './prepare.ts';
import { mustBeAllowedBySandbox } from './sandbox.ts';
import type { Spooled } from './spool-message.ts';
import type { Passage } from './submitted-message.ts';

/** A received message that is forwarded unchanged, behind headers of ours. */
export interface Forward extends Passage {
  /** The team's domain that it was received for. */
  domainId: string;
  spooled: Spooled;
  /** All headers, each with its line end. */
  head: string;
  /** What the team sees of it. */
  from: Mailbox;
  subject: string;
  messageId: string;
  tags: EmailDraft['tags'];
  recipients: readonly Mailbox[];
}

/** Its author need not be of a domain of the team; the rules for recipients and for the domain are those of a send. */
export async function prepareForward(world: World, ctx: Ctx, forward: Forward): Promise<Prepared> {
  const { domainId, spooled, head, from, subject, messageId, tags, recipients, mailFrom, chain } = forward;
  const domain = await findDomain(world.db, ctx.teamId, domainId);
  if (!domain || domain.sending === 'disabled') throw mayNotSend(domain);
  const to = recipients.map(({ address }) => address);
  const draft: EmailDraft = {
    headerMailboxes: { from: formatMailbox(from), to, cc: [], bcc: [], replyTo: [] },
    from,
    recipients: [...recipients],
    subject,
    html: null,
    text: null,
    headers: [],
    tags,
    attachments: [],
    scheduledAt: null,
    topicId: null,
  };
  const find = (name: string): Promise<DomainRow | undefined> => findDomainByName(world.db, ctx.teamId, name);
  await mustBeAllowedBySandbox(ctx, { draft, domain, find });
  const message = {
    // Not tracked: it is another author's message.
    spooled: { ...spooled, texts: [] },
    head,
    // Its files are attachments of the received email already.
    files: [],
    messageId,
    hasDate: true,
    needsSmtpUtf8: /[^\0-\x7f]/.test(head),
    forwarded: { mailFrom, chain },
  };
  return { draft, domain, templateId: null, message };
}

const mayNotSend = (domain: DomainRow | undefined) =>
  refuse('validation_error', {
    status: 403,
    say: domain
      ? `Sending from the domain ${domain.name} is disabled; enable its capability sending first.`
      : 'The domain that the message came to has been deleted.',
  });
