import type { World } from '../../platform/world/index.ts';
import { formatReturnPath, parseMailbox, type Mailbox } from '../../protocol/address/index.ts';
import { signDkim } from '../../protocol/dkim/index.ts';
import { composeMessage, serializeHeaders, type HeaderField } from '../../protocol/mime/index.ts';
import {
  ATTACHMENT_BLOB,
  attachmentsOf,
  emailRowsByIds,
  loadBodies,
  type AttachmentRow,
  type EmailBody,
  type EmailRow,
} from '../../resources/emails/index.ts';
import type { OutboundMessage } from '../deliver/index.ts';
import { trackedHtml } from '../track/index.ts';
import { createByteBudget } from './byte-budget.ts';
import { createSigningDomains, DomainRemoved, type SigningDomain } from './signing-domains.ts';

export interface Composer {
  /** Reads what a batch of deliveries needs in a few statements; messages are composed only when asked for. */
  open(deliveries: readonly BatchDelivery[]): Promise<Batch>;
}

interface BatchDelivery {
  id: string;
  email_id: string;
  domain_id: string;
}

export interface Batch {
  /** The envelope sender, one for each email; undefined when the email's domain is gone. */
  returnPath(emailId: string): string | undefined;
  /** The domain that DNS does not bear out at present, so that nothing of this email can be signed; undefined when all is well. */
  unverifiedDomain(emailId: string): string | undefined;
  message(delivery: BatchDelivery): Promise<OutboundMessage>;
  /** Once for each delivery of the batch, when it needs its message no more. */
  release(delivery: BatchDelivery): void;
}

const MEMORY_BYTES_MAX = 192 * 1024 * 1024;
/**
 * Small messages are kept for the other destinations of their email. A large one is made again for each: kept while
 * nobody sends it, it could wait for a connection that is held by somebody who waits for its memory.
 */
const KEPT_BYTES_MAX = 64 * 1024;
const BOUNCE_PREFIX = 'b';

export function createComposer(world: World): Composer {
  const signingDomains = createSigningDomains(world);
  const budget = createByteBudget(MEMORY_BYTES_MAX);
  const returnPathMac = (bytes: Buffer): Buffer => world.secrets.mac('return path', bytes);

  return {
    async open(deliveries) {
      const left = new Map<string, number>();
      for (const { email_id: id } of deliveries) left.set(id, (left.get(id) ?? 0) + 1);
      const [rows, domains] = await Promise.all([
        emailRowsByIds(world.db, [...left.keys()]),
        signingDomains([...new Set(deliveries.map((delivery) => delivery.domain_id))]),
      ]);
      const emails = new Map(rows.map((row) => [row.id, row]));
      const composed = new Map<string, Composed>();
      const domainOf = (emailId: string): SigningDomain | undefined =>
        domains.get(emails.get(emailId)?.domain_id ?? '');
      return {
        returnPath(emailId) {
          const domain = domainOf(emailId);
          if (!domain) return undefined;
          return formatReturnPath({
            prefix: BOUNCE_PREFIX,
            emailId,
            domain: domain.returnPathDomain,
            mac: returnPathMac,
          });
        },
        unverifiedDomain(emailId) {
          const domain = domainOf(emailId);
          return domain?.isUnverified ? domain.name : undefined;
        },
        async message({ id, email_id: emailId }) {
          const row = emails.get(emailId);
          const domain = domainOf(emailId);
          if (!row || !domain) throw new DomainRemoved(`the domain of email ${emailId} is gone`);
          let message = composed.get(emailId);
          if (!message) composed.set(emailId, (message = { made: makeMessage(row, domain), senders: new Set() }));
          message.senders.add(id);
          return (await message.made).message;
        },
        release({ id, email_id: emailId }) {
          left.set(emailId, (left.get(emailId) ?? 1) - 1);
          const message = composed.get(emailId);
          message?.senders.delete(id);
          message?.made.then(
            ({ bytes }) => {
              if (message.senders.size > 0 || composed.get(emailId) !== message) return;
              if (left.get(emailId) !== 0 && bytes <= KEPT_BYTES_MAX) return;
              composed.delete(emailId);
              budget.give(bytes);
            },
            () => undefined,
          );
        },
      };
    },
  };

  async function makeMessage(
    row: EmailRow,
    domain: SigningDomain,
  ): Promise<{ bytes: number; message: OutboundMessage }> {
    if (domain.fault !== undefined)
      throw new Error(`the keys of ${domain.name} cannot be used`, { cause: domain.fault });
    const attachments = row.attachment_count > 0 ? await attachmentsOf(world.db, [row.id]) : [];
    const body = tracked(world, row, domain, (await loadBodies(world, world.db, [row.id])).get(row.id));
    const bytes = estimateBytes(body, attachments);
    await budget.take(bytes);
    try {
      const contents = await Promise.all(attachments.map(({ id }) => world.blobs.get(ATTACHMENT_BLOB(row.id, id))));
      return { bytes, message: await signMessage(row, body, attachments, contents, domain) };
    } catch (error) {
      budget.give(bytes);
      throw error;
    }
  }
}

/** Only what is sent: what the caller gave stays as it was given. */
function tracked(world: World, row: EmailRow, domain: SigningDomain, body?: EmailBody): EmailBody | undefined {
  if (!domain.tracking || !body?.html) return body;
  return { ...body, html: trackedHtml(world, row.id, body.html, domain.tracking) };
}

interface Composed {
  made: Promise<{ bytes: number; message: OutboundMessage }>;
  /** The deliveries that are sending it now. */
  senders: Set<string>;
}

const HEAD_BYTES = 8 * 1024;

/** Base64 adds a third, and the content itself is held beside it while the message is made. */
function estimateBytes(body: EmailBody | undefined, attachments: AttachmentRow[]): number {
  const contents = attachments.reduce((sum, attachment) => sum + attachment.size, 0);
  return HEAD_BYTES + ((body?.html?.length ?? 0) + (body?.text?.length ?? 0) + contents) * 2.4;
}

async function signMessage(
  row: EmailRow,
  body: EmailBody | undefined,
  attachments: AttachmentRow[],
  contents: Buffer[],
  domain: SigningDomain,
): Promise<OutboundMessage> {
  const at = new Date(row.scheduled_at ?? row.created_at);
  const composed = composeMessage({
    from: readMailbox(row.sender),
    to: readMailboxes(row.to_list),
    cc: readMailboxes(row.cc_list),
    bcc: readMailboxes(row.bcc_list),
    replyTo: readMailboxes(row.reply_to_list),
    subject: row.subject,
    date: at,
    messageId: row.message_id,
    html: body?.html ?? undefined,
    text: body?.text ?? undefined,
    headers: row.headers === null ? [] : (JSON.parse(row.headers) as HeaderField[]),
    attachments: attachments.map((attachment, i) => ({
      filename: attachment.filename,
      contentType: attachment.content_type,
      contentId: attachment.content_id ?? undefined,
      content: contents[i] ?? Buffer.alloc(0),
    })),
    boundarySeed: row.id,
  });
  const signature = await signDkim({ headers: composed.headers, body: composed.body, keys: domain.keys, at });
  const head = Buffer.concat([Buffer.from(signature, 'latin1'), serializeHeaders(composed.headers), END_OF_HEADERS]);
  return {
    chunks: [head, composed.body],
    size: head.length + composed.body.length,
    needsSmtpUtf8: composed.needsSmtpUtf8,
  };
}

const END_OF_HEADERS = Buffer.from('\r\n');

const readMailboxes = (json: string | null): Mailbox[] =>
  json === null ? [] : (JSON.parse(json) as string[]).map(readMailbox);

function readMailbox(text: string): Mailbox {
  const parsed = parseMailbox(text);
  if (!parsed.ok) throw new Error(`an accepted email holds an address that cannot be read: ${parsed.fault}`);
  return parsed.mailbox;
}
