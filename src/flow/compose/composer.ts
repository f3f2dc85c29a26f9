import type { World } from '../../platform/world/index.ts';
import { parseMailbox, type Mailbox } from '../../protocol/address/index.ts';
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
import { openBatch, type Batch, type BatchDelivery, type Made } from './batch.ts';
import { createByteBudget } from './byte-budget.ts';
import { createSigningDomains, type SigningDomain } from './signing-domains.ts';

export interface Composer {
  /** Reads what a batch of deliveries needs in a few statements; messages are composed only when asked for. */
  open(deliveries: readonly BatchDelivery[]): Promise<Batch>;
}

const MEMORY_BYTES_MAX = 192 * 1024 * 1024;

export function createComposer(world: World): Composer {
  const signingDomains = createSigningDomains(world);
  const budget = createByteBudget(MEMORY_BYTES_MAX);
  const returnPathMac = (bytes: Buffer): Buffer => world.secrets.mac('return path', bytes);

  return {
    async open(deliveries) {
      const [rows, domains] = await Promise.all([
        emailRowsByIds(world.db, [...new Set(deliveries.map((delivery) => delivery.email_id))]),
        signingDomains([...new Set(deliveries.map((delivery) => delivery.domain_id))]),
      ]);
      return openBatch({ deliveries, rows, domains, returnPathMac, make: makeMessage, give: budget.give });
    },
  };

  async function makeMessage(row: EmailRow, domain: SigningDomain): Promise<Made> {
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
