import { resolveTemplate, type MergedTemplate, type ResolvedTemplate, type TemplateUse } from './template-hooks.ts';
import type { SendEmailRequest } from '../../contract/index.ts';
import { nextTurn } from '../../platform/clock.ts';
import { invalidFields, refuse } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import { readPinnedDomain, type Ctx } from '../../tenancy/access/index.ts';
import {
  findDomain,
  findDomainByName,
  listSendableDomains,
  makeSendingDomain,
  mayBeMade,
  maySend,
  type DomainRow,
} from '../domains/index.ts';
import { readEmail, type CompleteEmailInput, type EmailDraft, type SharedBody } from '../emails/index.ts';
import type { SubmittedMessage, Spooled, Passage } from './submitted-message.ts';
import { parseHeaderMailbox, formatMailbox, type Mailbox } from '../../protocol/address/index.ts';
import { mustBeWithinRecipients, mustBeAllowedBySandbox } from './sending-limits.ts';

/** A send that its team may make, before any of it is written. */
export interface Prepared {
  /** Given if the message itself contains it, as in unsubscribe links. */
  id?: string;
  draft: EmailDraft;
  domain: DomainRow;
  templateId: string | null;
  /** The contact that it is written for, by a broadcast or an automation. */
  contactId?: string | undefined;
  /** The message that a client composed, sent instead of one that we compose. */
  message?: SubmittedMessage | undefined;
  /** Names the template that html and text were rendered from, if its body can be shared. */
  merged?: MergedTemplate | undefined;
  /** A body that it shares with other emails, instead of the html and text of its draft. */
  shared?: SharedBody | undefined;
}

export type Prepare = (input: SendEmailRequest) => Promise<Prepared>;

/**
 * Returns, for one request, a function that reads a send, checks its sender and its recipients, and refuses by the
 * first rule it breaks. Work that the emails of a batch share is done once.
 */
export function createPrepare(world: World, domainFinderFor: (ctx: Ctx) => FindSendingDomain): (ctx: Ctx) => Prepare {
  return (ctx) => {
    const findDraftDomain = domainFinderFor(ctx);
    const rendered = new Map<string, Promise<ResolvedTemplate>>();
    /** Renders equal uses of a template once, however many emails of the request have them. */
    const render = (use: TemplateUse): Promise<ResolvedTemplate> => {
      const key = JSON.stringify(use);
      let found = rendered.get(key);
      if (!found) rendered.set(key, (found = resolveTemplate.call(world, ctx.teamId, use)));
      return found;
    };
    return async (input) => {
      const { templateId, merged, ...complete } = await withTemplate(input, render);
      // A batch of large emails must not block other requests until its last one is read.
      if ((complete.html?.length ?? 0) + (complete.text?.length ?? 0) > LARGE_CHARS) await nextTurn();
      const draft = readEmail(complete, world.clock.now());
      return { draft, domain: await findDraftDomain(draft), templateId, merged };
    };
  };

  /** Completes a send from its template, which supplies the bodies, and other fields that the send leaves out. */
  async function withTemplate(
    input: SendEmailRequest,
    render: (use: TemplateUse) => Promise<ResolvedTemplate>,
  ): Promise<CompleteEmailInput & { templateId: string | null; merged?: MergedTemplate | undefined }> {
    const { template, ...rest } = input;
    if (!template) return { ...rest, from: input.from ?? '', subject: input.subject ?? '', templateId: null };
    if ((input.html ?? input.text ?? null) !== null) {
      const message = 'template cannot be used with html or text; omit them, or omit template.';
      throw invalidFields([{ path: 'template', message }]);
    }
    const { templateId, html, text, merged, ...found } = await render({ ...template, subject: input.subject });
    const from = input.from ?? found.from;
    const { subject } = found;
    if (from === undefined) throw missing('from');
    if (subject === undefined) throw missing('subject');
    const replyTo = input.reply_to ?? found.replyTo ?? null;
    return { ...rest, from, subject, html, text, reply_to: replyTo, templateId, merged };
  }
}

const LARGE_CHARS = 64 * 1024;

const missing = (field: string) =>
  refuse('missing_required_field', {
    say: `Missing required field: ${field}. The template has no value for it, so the request has to.`,
  });

/** Finds the domain that a draft of one request is sent from; refuses if it may not send this, or to its recipients. */
export type FindSendingDomain = (draft: EmailDraft) => Promise<DomainRow>;

/** Creates the look-up of sending domains, which looks each domain up once for all emails of a request. */
export function createDomainFinders(world: World): (ctx: Ctx) => FindSendingDomain {
  const findSendingDomain = world.db.memo(['domains'], (key) => {
    const [teamId = '', name = ''] = key.split(' ');
    return findDomainByName(world.db, teamId, name);
  });
  return (ctx) => {
    const known = new Map<string, Promise<DomainRow | undefined>>();
    const find = (name: string): Promise<DomainRow | undefined> => {
      let found = known.get(name);
      if (!found) known.set(name, (found = findSendingDomain(`${ctx.teamId} ${name}`)));
      return found;
    };
    const findSender = async (name: string): Promise<DomainRow | undefined> => {
      const found = await find(name);
      if (readPinnedDomain(ctx.actor) !== null || !mayBeMade(world, found)) return found;
      const made = makeSendingDomain(world, ctx.teamId, { name, found });
      known.set(name, made);
      return made;
    };
    return async (draft) => {
      const domain = await mustBeSendableFrom(ctx, draft, await findSender(draft.from.domain));
      await mustBeAllowedBySandbox(ctx, { draft, domain, find });
      await mustBeWithinRecipients(ctx, draft, find);
      return domain;
    };
  };
}

/**
 * Refuses a domain from which the draft may not be sent. A verified domain does not verify its subdomains: the name
 * must be equal.
 */
async function mustBeSendableFrom(ctx: Ctx, draft: EmailDraft, domain: DomainRow | undefined): Promise<DomainRow> {
  const { db } = ctx.store;
  const name = draft.from.domain;
  const pinned = readPinnedDomain(ctx.actor);
  if (pinned !== null && pinned !== domain?.id) {
    const allowed = await findDomain(db, ctx.teamId, pinned);
    throw refuse('validation_error', {
      status: 403,
      say: allowed
        ? `This API key may only send from ${allowed.name}; the domain of from is ${name}.`
        : 'This API key is limited to a domain that has been deleted; use another key.',
    });
  }
  if (pinned !== null) mustSpeakFor(name, draft.headers);
  if (domain && maySend(domain)) return domain;
  if (domain?.sending === 'disabled') {
    throw refuse('validation_error', {
      status: 403,
      say: `Sending from the domain ${name} is disabled; enable its capability sending first.`,
    });
  }
  // With `development.any_sender` only the domain of another team is still missing here, and it cannot be created.
  if (!domain && mayBeMade(ctx.store, domain) && ctx.actor.kind !== 'oauth_grant') {
    throw refuse('validation_error', {
      status: 403,
      say: `The domain ${name} belongs to another team of this server; send from another domain.${await describeVerifiedDomains(ctx)}`,
    });
  }
  throw refuse('validation_error', {
    status: 403,
    say: `The domain ${name} is not verified for this team; ${describeNextStep(ctx, name, domain)}.${await describeVerifiedDomains(ctx)}`,
  });
}

/** Names the next command to run. An app that acts for a person does not learn which domains the team has created. */
function describeNextStep({ actor }: Ctx, name: string, domain: DomainRow | undefined): string {
  if (actor.kind === 'oauth_grant') return 'verify it before sending from it';
  return domain
    ? `verify it before sending from it: rasket domains verify ${name}`
    : `create it, publish its DNS records and verify it before sending from it: rasket domains create ${name}`;
}

const SHOWN_DOMAINS_MAX = 5;

/** Names the domains that the team may send from instead. An app that acts for a person learns none. */
async function describeVerifiedDomains({ store, teamId, actor }: Ctx): Promise<string> {
  if (actor.kind === 'oauth_grant') return '';
  const names = await listSendableDomains(store.db, teamId, SHOWN_DOMAINS_MAX + 1);
  if (names.length === 0) return ' This team has no verified domain yet.';
  const more = names.length > SHOWN_DOMAINS_MAX ? ', …' : '';
  return ` This team may send from ${names.slice(0, SHOWN_DOMAINS_MAX).join(', ')}${more}.`;
}

/** RFC 5322 §3.6.2, §3.6.6: fields other than From that name a sender, and that mail programs show in its place. */
const SENDER_HEADERS = new Set(['sender', 'resent-from', 'resent-sender']);

/** A key that is pinned to one domain must not name a sender of another. */
function mustSpeakFor(name: string, headers: EmailDraft['headers']): void {
  for (const [field, value] of headers) {
    if (!SENDER_HEADERS.has(field.toLowerCase())) continue;
    const parsed = parseHeaderMailbox(value);
    if (parsed.ok && parsed.mailbox.domain === name) continue;
    throw refuse('validation_error', {
      status: 403,
      say: `This API key may only send from ${name}; headers.${field} must be one address of that domain.`,
    });
  }
}

/** A received message that is forwarded unchanged, after headers that we add. */
export interface Forward extends Passage {
  /** The team's domain that it was received for. */
  domainId: string;
  spooled: Spooled;
  /** All headers, each with its line end. */
  head: string;
  /** The details that the team sees in its list of emails. */
  from: Mailbox;
  subject: string;
  messageId: string;
  tags: EmailDraft['tags'];
  recipients: readonly Mailbox[];
}

/**
 * Prepares a forward. Its author need not be of a domain of the team; the rules for recipients and for the domain are
 * those of a send.
 */
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
