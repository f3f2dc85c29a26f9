import type { UtmParameters } from '../../../protocol/utm.ts';
import type { PreviewBroadcastRequest } from '../../../contract/index.ts';
import { invalidFields, notFound, refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { contactNamed, sampleLinks } from '../../audience/index.ts';
import { findLinkOrigin, findSendingDomain, type DomainRow } from '../../../mail/domains/index.ts';
import { findSharedBody } from '../../../mail/shared-bodies/index.ts';
import { findVersionContent, type PublishedContent } from '../../templates/index.ts';
import { findBroadcast, type BroadcastRow } from './broadcasts.store.ts';
import {
  loadSurroundings,
  loadSource,
  composeStepBodies,
  countChars,
  previewMail,
  type Bodies,
  type Source,
  type StepStream,
} from './freeze-broadcast.ts';
import { CHARS_MAX, type MergedContact } from './merge-values.ts';

export interface RenderedMail extends Bodies {
  from: string;
  /** Address of the contact whose values are filled in. */
  to: string;
  subject: string;
  preview_text: string | null;
  /** Keys without any value. */
  missing: string[];
  domainName: string;
  domain: DomainRow | undefined;
}

/** Contact for a preview that names none: it has a name and no properties. */
const SAMPLE: MergedContact = {
  email: 'reader@example.com',
  first_name: 'Alex',
  last_name: 'Example',
  properties: null,
};

export async function previewBroadcast(ctx: Ctx, id: string, input: PreviewBroadcastRequest = {}) {
  const { contact_id: contactId, email } = input;
  if (contactId !== undefined && email !== undefined) {
    const message = 'email and contact_id cannot be used together; send only one of them.';
    throw invalidFields([{ path: 'email', message }]);
  }
  const row = await findBroadcast(ctx.store.db, ctx.teamId, id);
  if (!row) throw notFound('Broadcast');
  const { domain: _, domainName: __, ...mail } = await renderMail(ctx, row, contactId ?? email);
  return { object: 'broadcast_preview' as const, ...mail };
}

/** A reader who is no contact, so that each variable shows its default or its fallback. */
export const NO_CONTACT: MergedContact = { email: '', first_name: null, last_name: null, properties: null };

/** Renders the mail as readers who are no contacts see it: with defaults, fallbacks and sample links. */
export async function renderForAnybody(store: Store, row: BroadcastRow): Promise<RenderedMail> {
  const around = await loadSurroundings(store.db, row);
  const content = await loadContent(store, row);
  const unfilled = { ...content, sender: row.sender, subject: row.subject, around, given: {} };
  return fillIn({ store, teamId: row.team_id }, unfilled, NO_CONTACT);
}

/** Renders the mail that a contact, named by id or address, would get; only the unsubscribe links are samples. */
export async function renderMail(team: Ctx, row: BroadcastRow, contactName: string | undefined): Promise<RenderedMail> {
  const { db } = team.store;
  const contact = await findReader(team, contactName);
  const around = await loadSurroundings(db, row);
  const content = await loadContent(team.store, row);
  return fillIn(team, { ...content, sender: row.sender, subject: row.subject, around, given: {} }, contact);
}

/** The mail of a template or of a step of an automation, before the values of a contact are filled in. */
export interface StandaloneMail extends StepStream {
  /** The id of the template or of the automation. */
  id: string;
  sender: string;
  subject: string;
  source: Source;
  /** Values that a step gives, by variable; they come before those of the contact. */
  given: Readonly<Record<string, string>>;
  /** The `utm_` parameters for its links; true for those that are made from names. */
  utm?: true | UtmParameters | undefined;
  /** The name that the campaign among them is made from. */
  campaign?: string;
}

/** Renders a mail that is no broadcast as a contact would get it. */
export async function renderStandaloneMail(
  team: Ctx,
  mail: StandaloneMail,
  contactName: string | undefined,
): Promise<RenderedMail> {
  const { store, teamId } = team;
  const contact = await findReader(team, contactName);
  const around = await loadSurroundings(store.db, {
    id: mail.id,
    team_id: teamId,
    preview_text: null,
    name: mail.campaign ?? '',
    utm: mail.utm === undefined ? null : JSON.stringify(mail.utm === true ? {} : mail.utm),
  });
  const { bodies } = await store.texts.run({ teamId, chars: countChars(mail.source), task: composeStepBodies }, [
    mail.source,
    around,
    { stream: mail.stream, topicId: mail.topicId },
  ]);
  const { sender, subject, given, source } = mail;
  return fillIn(
    team,
    { sender, subject, given, around, bodies, source: undefined, template: source.template },
    contact,
  );
}

const findReader = async ({ store, teamId }: Ctx, name: string | undefined): Promise<MergedContact> =>
  name === undefined ? SAMPLE : contactNamed(store.db, teamId, name);

interface Unfilled extends Content {
  sender: string;
  subject: string;
  around: Awaited<ReturnType<typeof loadSurroundings>>;
  given: Readonly<Record<string, string>>;
}

async function fillIn(
  { store, teamId }: Pick<Ctx, 'store' | 'teamId'>,
  { sender, subject: written, around, given, ...content }: Unfilled,
  { email, first_name, last_name, properties }: MergedContact,
): Promise<RenderedMail> {
  const parsedFrom = parseMailbox(sender);
  const domainName = parsedFrom.ok ? parsedFrom.mailbox.domain : '';
  const domain = await findSendingDomain(store, teamId, domainName);
  const links = sampleLinks(domain ? await findLinkOrigin(store, domain.id) : store.origin());
  const mail = await store.texts.run(
    { teamId, chars: countChars(content.bodies ?? content.source), task: previewMail },
    {
      ...content,
      subject: written,
      around,
      contact: { email, first_name, last_name, properties },
      links: { ...given, ...links },
    },
  );
  if (mail === 'too large') throw tooLarge();
  const { subject, previewText, html, text, missing } = mail;
  return {
    from: sender,
    to: email,
    subject,
    preview_text: previewText === '' ? null : previewText,
    html,
    text,
    missing: missing.filter((key) => !Object.hasOwn(given, key)),
    domainName,
    domain,
  };
}

interface Content {
  /** Bodies that are fixed already; undefined if a send would fix them now. */
  bodies: Bodies | undefined;
  source: Source | undefined;
  template: PublishedContent | undefined;
}

async function loadContent({ db }: Store, row: BroadcastRow): Promise<Content> {
  const template = row.template_version_id === null ? undefined : await findVersionContent(db, row.template_version_id);
  if (row.body_id === null) {
    // The body of a broadcast is removed by age; the version of its template that was sent stays.
    const sent = template && { html: template.html, text: template.text, template };
    const source = sent ?? (await loadSource(db, row));
    return { bodies: undefined, source, template: source?.template };
  }
  const fixed = await findSharedBody(db, row.body_id);
  return { bodies: { html: fixed?.html ?? null, text: fixed?.text ?? null }, source: undefined, template };
}

const tooLarge = () =>
  refuse('validation_error', {
    status: 422,
    say: `With these values html and text would exceed the limit of ${CHARS_MAX} characters.`,
  });
