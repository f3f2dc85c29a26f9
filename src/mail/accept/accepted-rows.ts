import { findVersionContent } from './template-hooks.ts';
import { creationTime } from '../../platform/ids.ts';
import type { World } from '../../platform/world.ts';
import { normalizeAddress, type Mailbox } from '../../protocol/address/index.ts';
import type { Asked } from '../../protocol/dsn.ts';
import { readKeyId, type Ctx } from '../../tenancy/access/index.ts';
import type { BlobLink, NewBlob } from '../../platform/blobs/index.ts';
import { contentsPlacer, placeInFiles, type PlaceContents } from '../contents/index.ts';
import {
  bodyRow,
  buildBlobs,
  buildBlobLinks,
  buildSearchText,
  sharedBodyRow,
  sizeOfFile,
  type AttachmentRow,
  type NewEmailRows,
  type SharedBody,
} from '../emails/index.ts';
import { laneNumber, type DeliveryRow } from '../queue/index.ts';
import type { InSlices } from './loop-turns.ts';
import type { Prepared } from './prepare.ts';
import { isSpooled, messageContents, messageRow, type SubmittedFile } from './submitted-message.ts';
import type { SharedBodyRow } from '../shared-bodies/index.ts';

export interface AcceptedRows extends NewEmailRows {
  deliveries: DeliveryRow[];
  /** Number of addresses that the send names. */
  recipients: number;
  /** Files, which are written before the commit. */
  files: NewBlob[];
  /** Files of other owners that are its files too, linked before the commit. */
  links: BlobLink[];
  /** True if the blob store has files of it, including a body that was spooled there. */
  hasFiles: boolean;
}

/** The kind of an accepted email: the quota it counts towards, and what it belongs to. Both decide about its lane in the queue. */
export interface AcceptedAs {
  /** A notice reports to a sender what became of a message; it counts towards no quota. */
  kind: 'transactional' | 'marketing' | 'notice';
  broadcastId?: string;
  /** The pool that the broadcast chose. */
  pool?: string | undefined;
  /** The run of an automation that sends it. */
  run?: { depth: number; automation_id: string; batch: number };
  /** The choices of the contact that it is written for do not matter, because it is transactional. */
  ignoresChoices?: boolean;
  /** It contains a token of a person, which the team whose domain it is sent from may not see. */
  isAccountMail?: boolean;
}

/** Builds the rows of all sends that are written in one commit. */
export function rowsOfAll(
  world: World,
  ctx: Ctx,
  prepared: readonly Prepared[],
  { as, place = contentsPlacer(world) }: { as: AcceptedAs; place?: PlaceContents },
): AcceptedRows[] {
  return prepared.map((one) => buildRows(world, ctx, one, { as, place }));
}

/** Builds the rows like `rowsOfAll`, with turns for other requests in between. */
export async function rowsInSlices(
  world: World,
  ctx: Ctx,
  prepared: readonly Prepared[],
  { as, inSlices }: { as: AcceptedAs; inSlices: InSlices },
): Promise<AcceptedRows[]> {
  const place = contentsPlacer(world);
  const all: AcceptedRows[] = [];
  await inSlices(ctx.teamId, prepared, (one) => void all.push(buildRows(world, ctx, one, { as, place })), true);
  return all;
}

/** Nobody is to be notified about a notice, and a bounce to our return path carries no token. */
const HEADERS_ONLY: Asked = { sender: '', ret: 'HDRS', recipients: {} };

/** Adds that the sender wants the mail delivered whatever the TLS policies of the recipients say (RFC 8689 §5). */
function withTlsWish(
  asked: Asked | undefined,
  headers: Prepared['draft']['headers'],
  head: string | undefined,
): Asked | undefined {
  const isWished =
    headers.some(([name, value]) => /^tls-required$/i.test(name) && /^no$/i.test(value.trim())) ||
    (head !== undefined && /^tls-required:[ \t]*no[ \t]*\r?$/im.test(head));
  // RFC 8689 §4.1: REQUIRETLS in the envelope comes before the header.
  if (!isWished || asked?.requiresTls) return asked;
  return { sender: '', recipients: {}, ...asked, ignoresTlsPolicies: true };
}

/** Builds all rows and files of one send, before the commit so that the commit itself only inserts. */
function buildRows(
  world: World,
  ctx: Ctx,
  { id = world.ids.uuid(), draft, domain, templateId, contactId, message, shared }: Prepared,
  { as, place: placeContents }: { as: AcceptedAs; place: PlaceContents },
): AcceptedRows {
  const { headerMailboxes } = draft;
  const body = shared ? sharedBodyRow(id, shared) : bodyRow(world, id, draft);
  const sentAlong = rowsSentAlong(world, id, draft);
  const attachments = [...sentAlong, ...rowsInMessage(world, id, message?.files ?? [])];
  const createdAt = creationTime(id, world.clock);
  const asked = withTlsWish(as.isAccountMail ? HEADERS_ONLY : message?.asked, draft.headers, message?.head);
  const messageId = message?.messageId ?? `<${id}@${domain.name}>`;
  const email = {
    id,
    team_id: ctx.teamId,
    api_key_id: readKeyId(ctx.actor),
    domain_id: domain.id,
    sender: headerMailboxes.from,
    to_list: JSON.stringify(headerMailboxes.to),
    cc_list: jsonOrNull(headerMailboxes.cc),
    bcc_list: jsonOrNull(headerMailboxes.bcc),
    reply_to_list: jsonOrNull(headerMailboxes.replyTo),
    subject: draft.subject,
    message_id: bracketed(messageId),
    tags: jsonOrNull(draft.tags),
    headers: jsonOrNull(draft.headers),
    topic_id: draft.topicId,
    template_id: templateId,
    attachment_count: attachments.length,
    has_message: message ? 1 : 0,
    last_event: draft.scheduledAt === null ? 'queued' : 'scheduled',
    created_at: createdAt,
    scheduled_at: draft.scheduledAt,
    mail_from: message?.forwarded?.mailFrom ?? null,
    search_text: buildSearchText(draft.subject, [draft.from, ...draft.recipients]),
    asked: asked ? JSON.stringify(asked) : null,
    broadcast_id: as.broadcastId ?? null,
    automation_id: as.run?.automation_id ?? null,
    is_marketing: as.kind === 'marketing' ? 1 : 0,
    is_bulk: as.kind === 'marketing' || (as.run?.batch ?? 0) > 0 ? 1 : 0,
    run_depth: as.run?.depth ?? null,
    is_account_mail: as.isAccountMail ? 1 : 0,
    request_id: ctx.requestId,
    contact_id: contactId ?? null,
    first_attempt_at: null,
  } satisfies AcceptedRows['email'];
  const links = buildBlobLinks(id, draft, sentAlong);
  const isFileAlready = (message && isSpooled(message)) || links.length > 0;
  const beside = [...(message ? messageContents(world, id, message) : []), ...buildBlobs(body, draft, sentAlong)];
  const { rows: contents, files } = (isFileAlready ? placeInFiles : placeContents)(beside);
  return {
    email,
    body,
    attachments,
    contents,
    message: message && messageRow(world, message, { emailId: id, messageId, createdAt }),
    recipients: draft.recipients.length,
    deliveries: buildDeliveries(world, { draft, domain, as }, email),
    files,
    links,
    hasFiles: files.length > 0 || isFileAlready,
  };
}

/**
 * Returns the Message-ID in angle brackets: clients write it in other forms too, and a forwarded message may have none.
 * The message itself stays unchanged.
 */
function bracketed(messageId: string): string {
  const found = /<[^<>\s]+>/.exec(messageId)?.[0] ?? `<${messageId.replaceAll(/[<>\s]+/g, '')}>`;
  return found === '<>' ? '' : found;
}

function buildDeliveries(
  world: World,
  { draft, domain, as }: Pick<Prepared, 'draft' | 'domain'> & { as: AcceptedAs },
  email: AcceptedRows['email'],
): DeliveryRow[] {
  const dueAt = email.scheduled_at ?? world.clock.now();
  return byDestination(draft.recipients).map(([destination, recipients]) => ({
    id: world.ids.uuid(),
    email_id: email.id,
    team_id: email.team_id,
    domain_id: domain.id,
    destination,
    recipients: JSON.stringify(recipients),
    region: domain.region,
    tls: domain.tls,
    tls_verify: domain.tls_verify,
    attempt: 0,
    // The column holds the time at which the delivery is first due, despite its name.
    accepted_at: dueAt,
    due_at: dueAt,
    waits: email.scheduled_at === null ? 0 : 1,
    lease_owner: null,
    handed_off_at: null,
    asked: email.asked,
    lane: laneNumber(email.is_bulk === 1 ? 'bulk' : 'transactional'),
    is_marketing: email.is_marketing,
    broadcast_id: email.broadcast_id,
    // The queue checks the choices of the contact that a delivery names.
    contact_id: as.ignoresChoices ? null : email.contact_id,
    request_id: email.request_id,
    source: null,
    pool: as.pool ?? null,
  }));
}

/** Attachment rows of files that were sent with the texts. */
const rowsSentAlong = (world: World, emailId: string, { attachments }: Prepared['draft']): AttachmentRow[] =>
  attachments.map((attachment, position) => ({
    id: world.ids.prefixed('att_'),
    email_id: emailId,
    position,
    message_start: null,
    message_end: null,
    message_encoding: null,
    filename: attachment.filename,
    content_type: attachment.contentType,
    content_disposition: attachment.contentId === null ? 'attachment' : 'inline',
    content_id: attachment.contentId,
    size: sizeOfFile(attachment),
  }));

/** Attachment rows of files that stay within a client's message, from which they are read. */
const rowsInMessage = (world: World, emailId: string, files: readonly SubmittedFile[]): AttachmentRow[] =>
  files.map((file, position) => ({
    id: world.ids.prefixed('att_'),
    email_id: emailId,
    position,
    message_start: file.start,
    message_end: file.end,
    message_encoding: file.encoding,
    filename: file.filename,
    content_type: file.contentType,
    content_disposition: file.contentDisposition,
    content_id: file.contentId,
    size: file.size,
  }));

const jsonOrNull = (list: readonly unknown[]): string | null => (list.length === 0 ? null : JSON.stringify(list));

/** Groups the envelope by destination; each address occurs once. */
function byDestination(recipients: readonly Mailbox[]): [destination: string, addresses: string[]][] {
  const groups = new Map<string, Map<string, string>>();
  for (const { address, domain } of recipients) {
    let group = groups.get(domain);
    if (!group) groups.set(domain, (group = new Map()));
    const key = normalizeAddress(address);
    if (!group.has(key)) group.set(key, address);
  }
  return [...groups].map(([domain, group]) => [domain, [...group.values()]]);
}

/** A body that emails of one request share, before the ids of the emails are known. */
export type NewSharedBody = Omit<SharedBodyRow, 'first_email_id' | 'last_email_id'>;

/** Shared bodies are rows of one commit, during which the one thread does nothing else. */
const SHARED_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Makes the emails of one request that name the same large template share its body; each stores only its own values. An
 * email keeps its own body if no other names its template, if its values are too large for a row, and if the commit would
 * write too many bytes. Returns all emails in their order, and the bodies to write with them.
 */
export async function shareBodies(
  world: World,
  { teamId }: Ctx,
  prepared: readonly Prepared[],
): Promise<{ prepared: Prepared[]; bodies: NewSharedBody[] }> {
  const bodies: NewSharedBody[] = [];
  const shares = new Map<Prepared, SharedBody>();
  let left = SHARED_BYTES_MAX;
  for (const [versionId, emails] of groupByVersion(world, prepared)) {
    if (emails.length < 2) continue;
    const content = await findVersionContent.call(world.db, versionId);
    // The template may have been deleted since it was rendered.
    if (!content) continue;
    const { html, text } = content;
    const bytes = Buffer.byteLength(html) + Buffer.byteLength(text ?? '');
    if (bytes > left) continue;
    left -= bytes;
    const bodyId = world.ids.uuid();
    bodies.push({ id: bodyId, team_id: teamId, html, text, created_at: world.clock.now() });
    for (const { one, values } of emails) shares.set(one, { bodyId, values });
  }
  return { prepared: prepared.map((one) => ({ ...one, shared: shares.get(one) })), bodies };
}

/** Groups emails with values that fit into a row by the version of their template. */
function groupByVersion(
  { config }: World,
  prepared: readonly Prepared[],
): Map<string, { one: Prepared; values: string }[]> {
  const groups = new Map<string, { one: Prepared; values: string }[]>();
  for (const one of prepared) {
    if (!one.merged) continue;
    const { versionId, values } = one.merged;
    if (Buffer.byteLength(values) > config.storage.inline_bytes) continue;
    const group = groups.get(versionId);
    if (group) group.push({ one, values });
    else groups.set(versionId, [{ one, values }]);
  }
  return groups;
}

/** Completes the rows of shared bodies with the ids of the emails that share them. */
export const sharedBodyRows = (bodies: readonly NewSharedBody[], emails: readonly AcceptedRows[]): SharedBodyRow[] =>
  bodies.map((body) => {
    const ids = emails.filter((rows) => rows.body.shared_body_id === body.id).map(({ email }) => email.id);
    ids.sort();
    const first = ids[0];
    const last = ids.at(-1);
    if (first === undefined || last === undefined) throw new Error(`no email refers to the new shared body ${body.id}`);
    return { ...body, first_email_id: first, last_email_id: last };
  });
