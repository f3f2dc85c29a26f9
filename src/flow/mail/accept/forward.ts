import { refuse } from '../../../platform/refusal/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Mailbox } from '../../../protocol/address/index.ts';
import { formatMailbox } from '../../../protocol/address/index.ts';
import type { Ctx } from '../../../resources/access/index.ts';
import { findDomain, findDomainByName, type DomainRow } from '../../../resources/domains/index.ts';
import type { EmailDraft } from '../../../resources/emails/index.ts';
import type { Prepared } from './prepare.ts';
import { mustBeAllowedBySandbox } from './sandbox.ts';
import type { Spooled } from './spool-message.ts';
import type { Passage } from './submitted-message.ts';

/** A message that came in and goes on as it is, with a head of ours before it. */
export interface Forward extends Passage {
  /** The domain of the team that it goes through. */
  domainId: string;
  spooled: Spooled;
  /** All headers, each with its line end. */
  head: string;
  /** What the team is shown of it. */
  from: Mailbox;
  subject: string;
  messageId: string;
  tags: EmailDraft['tags'];
  recipients: readonly Mailbox[];
}

/** Whoever wrote it need not be of a domain of the team; where it may go to, and whether it may go, is as for a send. */
export async function prepareForward(world: World, ctx: Ctx, forward: Forward): Promise<Prepared> {
  const { domainId, spooled, head, from, subject, messageId, tags, recipients, mailFrom, chain } = forward;
  const domain = await findDomain(world.db, ctx.teamId, domainId);
  if (!domain || domain.sending === 'disabled') throw mayNotSend(domain);
  const to = recipients.map(({ address }) => address);
  const draft: EmailDraft = {
    written: { from: formatMailbox(from), to, cc: [], bcc: [], replyTo: [] },
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
    // Nothing of it is tracked: it is somebody else's.
    spooled: { ...spooled, texts: [] },
    head,
    // They are those of the received email.
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
