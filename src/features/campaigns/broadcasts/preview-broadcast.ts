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
import { loadSurroundings, loadSource, countChars, previewMail, type Bodies, type Source } from './freeze-broadcast.ts';
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

/** Renders the mail that a contact, named by id or address, would get; only the unsubscribe links are samples. */
export async function renderMail(
  { store, teamId }: Ctx,
  row: BroadcastRow,
  contactName: string | undefined,
): Promise<RenderedMail> {
  const { db } = store;
  const contact = contactName === undefined ? SAMPLE : await contactNamed(db, teamId, contactName);
  const parsedFrom = parseMailbox(row.sender);
  const domainName = parsedFrom.ok ? parsedFrom.mailbox.domain : '';
  const domain = await findSendingDomain(store, teamId, domainName);
  const links = sampleLinks(domain ? await findLinkOrigin(store, domain.id) : store.origin());
  const around = await loadSurroundings(db, row);
  const content = await loadContent(store, row);
  const { email, first_name, last_name, properties } = contact;
  const mail = await store.texts.run(
    { teamId, chars: countChars(content.bodies ?? content.source), task: previewMail },
    { ...content, subject: row.subject, around, contact: { email, first_name, last_name, properties }, links },
  );
  if (mail === 'too large') throw tooLarge();
  const { subject, previewText, html, text, missing } = mail;
  return {
    from: row.sender,
    to: email,
    subject,
    preview_text: previewText === '' ? null : previewText,
    html,
    text,
    missing,
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
  if (row.body_id === null) {
    const source = await loadSource(db, row);
    return { bodies: undefined, source, template: source?.template };
  }
  const fixed = await findSharedBody(db, row.body_id);
  const template = row.template_version_id === null ? undefined : await findVersionContent(db, row.template_version_id);
  return { bodies: { html: fixed?.html ?? null, text: fixed?.text ?? null }, source: undefined, template };
}

const tooLarge = () =>
  refuse('validation_error', {
    status: 422,
    say: `With these values html and text would exceed the limit of ${CHARS_MAX} characters.`,
  });
