import { trackHtml } from './track-html.ts';
import type { World } from '../../platform/world.ts';
import { parseMailbox, type Mailbox } from '../../protocol/address/index.ts';
import { signDkim, type DkimMessage } from '../../protocol/dkim/index.ts';
import {
  serializeHeaders,
  formatListId,
  type Attachment,
  type HeaderField,
  type MessageInput,
} from '../../protocol/mime/index.ts';
import { makeText } from '../../platform/text-thread/index.ts';
import type { AttachmentRow, EmailBody, EmailRow } from '../emails/index.ts';
import type { SigningDomain } from './signing-domains.ts';
import { createHash } from 'node:crypto';
import type { Config } from '../../platform/config/index.ts';

type Sent = Pick<EmailRow, 'team_id' | 'broadcast_id' | 'automation_id' | 'run_depth' | 'topic_id'>;

/**
 * Lists the headers that large receivers use to distinguish streams of mail, without those in `written`, the lower-case
 * names of the headers that the sender wrote.
 */
export function listReceiverHeaders(
  { feedback_id: hasFeedbackId, list_id: hasListId }: Config['delivery'],
  row: Sent,
  domain: string,
  written: ReadonlySet<string>,
): HeaderField[] {
  const fields: HeaderField[] = [];
  if (hasFeedbackId && !written.has('feedback-id')) fields.push(['Feedback-ID', formatFeedbackId(row)]);
  const listId = row.topic_id === null ? undefined : formatListId(row.topic_id, domain);
  if (hasListId && listId !== undefined && !written.has('list-id')) fields.push(['List-Id', listId]);
  return fields;
}

/**
 * Formats the value by which Gmail counts complaints: campaign, stream and sender. It is the same for all recipients.
 * The sender id is permanent for a team, whatever host, key or domain it sends with.
 */
function formatFeedbackId({ team_id, broadcast_id, automation_id, run_depth }: Sent): string {
  const sender = formatSenderId(team_id);
  if (broadcast_id !== null) return `${broadcast_id}:broadcast:${sender}`;
  if (automation_id !== null) return `${automation_id}:automation:${sender}`;
  return `${run_depth === null ? 'transactional' : 'automation'}:${sender}`;
}

/** Gmail takes 5 to 15 characters. */
const SENDER_ID_CHARS = 12;

const formatSenderId = (teamId: string): string =>
  createHash('sha256').update(`feedback sender ${teamId}`).digest('hex').slice(0, SENDER_ID_CHARS);

/** Builds the input of an email's composition; the same each time as long as the domain's tracking is the same. */
export async function messageInput(
  world: World,
  row: EmailRow,
  parts: { domain: SigningDomain; body: SentBody | undefined; attachments: Attachment[] },
): Promise<MessageInput> {
  const { domain, body, attachments } = parts;
  return {
    from: readMailbox(row.sender),
    to: readMailboxes(row.to_list),
    cc: readMailboxes(row.cc_list),
    bcc: readMailboxes(row.bcc_list),
    replyTo: readMailboxes(row.reply_to_list),
    subject: row.subject,
    date: chooseDate(row),
    messageId: row.message_id,
    html: await buildHtml(world, row, domain, body),
    text: body?.text,
    headers: extraHeaders(world, row, domain),
    attachments,
    boundarySeed: row.id,
  };
}

/** Lists the headers that the sender or its stream added, then those for receivers that are not among them. */
function extraHeaders({ config }: World, row: EmailRow, domain: SigningDomain): HeaderField[] {
  const stored = row.headers === null ? [] : (JSON.parse(row.headers) as HeaderField[]);
  const written = new Set(stored.map(([name]) => name.toLowerCase()));
  const own = withoutRepeated(stored, 'feedback-id');
  return [...own, ...listReceiverHeaders(config.delivery, row, domain.name, written)];
}

/**
 * Keeps the last of repeated fields of a name that may occur once; JSON allows repetitions in different letter case. An
 * empty value means that the message is to have none.
 */
function withoutRepeated(fields: readonly HeaderField[], lower: string): HeaderField[] {
  const isMeant = ([name]: HeaderField): boolean => name.toLowerCase() === lower;
  const last = fields.findLast(isMeant);
  return fields.filter((field) => !isMeant(field) || (field === last && field[1].trim() !== ''));
}

/**
 * Returns the time of the first attempt, which the claim stores: Date and signature are the same at each further one. A
 * node of an earlier version stores none.
 */
export const chooseDate = (row: EmailRow): Date => new Date(row.first_attempt_at ?? row.scheduled_at ?? row.created_at);

export function toAttachment(row: AttachmentRow, content: Attachment['content']): Attachment {
  return {
    filename: row.filename,
    contentType: row.content_type,
    contentId: row.content_id ?? undefined,
    content,
  };
}

/**
 * Returns the HTML to send. Tracking changes only the message that is sent: the stored HTML stays as the caller gave
 * it.
 */
async function buildHtml(
  world: World,
  row: EmailRow,
  { tracking }: SigningDomain,
  body?: SentBody,
): Promise<string | undefined> {
  if (!body?.html) return body?.html ?? undefined;
  if (!tracking) return body.html;
  const { id: emailId, domain_id: domainId, team_id: teamId } = row;
  return trackHtml.call(world, { emailId, domainId, teamId }, body.html, tracking);
}

/** A body for sending; the text is absent if the message has none. */
interface SentBody {
  html: string | null;
  text: string | undefined;
}

/**
 * Returns a body with the text that accompanies its HTML: the given one, or one made from the HTML. An empty given text
 * and HTML that shows nothing result in no text.
 */
export async function withTextPart(
  { texts }: World,
  { team_id: teamId }: Pick<EmailRow, 'team_id'>,
  body: EmailBody | undefined,
): Promise<SentBody | undefined> {
  if (!body?.html) return body && { html: body.html, text: body.text ?? undefined };
  const { html } = body;
  const text = body.text ?? (await texts.run({ teamId, chars: html.length, task: makeText, isPatient: true }, html));
  return { html, text: text === '' ? undefined : text };
}

const readMailboxes = (json: string | null): Mailbox[] =>
  json === null ? [] : (JSON.parse(json) as string[]).map(readMailbox);

function readMailbox(text: string): Mailbox {
  const parsed = parseMailbox(text);
  if (!parsed.ok) throw new Error(`an accepted email has an address that cannot be parsed: ${parsed.fault}`);
  return parsed.mailbox;
}

const END_OF_HEADERS = Buffer.from('\r\n');

/** Signatures and headers, up to the body. */
export async function signedHead(message: DkimMessage): Promise<Buffer> {
  const signature = await signDkim(message);
  return Buffer.concat([Buffer.from(signature, 'latin1'), serializeHeaders(message.headers), END_OF_HEADERS]);
}
