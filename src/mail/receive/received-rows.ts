import { createHash } from 'node:crypto';
import type { ReceivedData } from '../events/index.ts';
import type { NewBlob } from '../../platform/blobs/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { MessageHead, MessagePart, MessageReading } from '../../protocol/read-message/index.ts';
import type { PlaceContents } from '../contents/index.ts';
import {
  RAW_BLOB,
  RECEIVED_ATTACHMENT_BLOB,
  readList,
  receivedBody,
  type Authentication,
  type DroppedReason,
  type NewReceivedEmail,
  type ReceivedAttachmentRow,
  type ReceivedEmailRow,
} from '../received-emails/index.ts';
import {
  boundedAuthentication,
  boundedHead,
  LIMITS_OF_DROPPED,
  LIMITS_OF_KEPT,
  type HeadLimits,
} from './bounded-head.ts';
import type { InboundMessage } from './inbound-message.ts';
import { withoutOwnClaims } from './own-claims.ts';

/** A message as one team stores it: rows, and the files that are written before the rows. */
export interface ReceivedRows {
  rows: NewReceivedEmail;
  files: NewBlob[];
}

export function receivedRows(
  world: World,
  message: InboundMessage,
  {
    teamId,
    receivedFor,
    reading,
    placeContents,
  }: { teamId: string; receivedFor: readonly string[]; reading: MessageReading; placeContents: PlaceContents },
): ReceivedRows {
  const id = world.ids.uuid();
  const isRead = reading.isRead && !message.hasVirus;
  const dropped: DroppedReason | null = message.hasVirus ? 'virus' : reading.isRead ? null : 'parse_failed';
  const parts = isRead ? reading.parts : [];
  const { host } = world.config.instance;
  const content = isRead ? { ...reading, headers: withoutOwnClaims(reading.headers, host) } : NO_CONTENT;
  const body = receivedBody(world, id, content);
  const limit = world.config.receiving.attachment_bytes;
  const attachments = parts.map((part, position) => attachmentRow(world, id, part, position, limit));
  const files = attachments.flatMap((row, i) => {
    return row.is_stored === 0
      ? []
      : [{ key: RECEIVED_ATTACHMENT_BLOB(id, row.id), content: parts[i]?.content ?? NOTHING }];
  });
  const raw = message.hasVirus ? [] : [{ key: RAW_BLOB(id), content: message.raw }];
  const besideTexts = [...raw, ...files].reduce((sum, { content }) => sum + content.length, 0);
  const limits = message.hasVirus ? LIMITS_OF_DROPPED : LIMITS_OF_KEPT;
  const head = {
    ...headRow(boundedHead(reading, limits)),
    received_for: JSON.stringify(receivedFor),
    authentication: authenticationText(message.authentication, limits),
  };
  const email = {
    ...head,
    id,
    team_id: teamId,
    dropped_reason: dropped,
    attachment_count: attachments.length,
    has_raw: raw.length,
    stored_bytes: message.hasVirus ? 0 : besideTexts + body.bytes + twice([head, attachments]),
    mail_from: message.mailFrom,
    client_address: message.client.address,
    client_name: message.client.name,
    fingerprint: reading.messageId === '' ? null : fingerprintOf(message, receivedFor),
    created_at: world.clock.now(),
    not_forwarded: message.notForwarded?.get(teamId) ?? null,
  };
  const placed = placeContents([...raw, ...body.contents, ...files]);
  return { rows: { email, body: body.row, attachments, contents: placed.rows }, files: placed.files };
}

/** The same message without its content: only that it came is kept. It is small and counts against no storage. */
export function droppedRows({ email, body }: NewReceivedEmail, reason: DroppedReason): NewReceivedEmail {
  const authentication = email.authentication === null ? null : (JSON.parse(email.authentication) as Authentication);
  return {
    email: {
      ...email,
      ...headRow(boundedHead(headOfRow(email), LIMITS_OF_DROPPED)),
      authentication: authenticationText(authentication, LIMITS_OF_DROPPED),
      dropped_reason: reason,
      attachment_count: 0,
      has_raw: 0,
      stored_bytes: 0,
    },
    body: { ...body, ...NO_CONTENT, html_in_blob: 0, text_in_blob: 0, headers_in_blob: 0 },
    attachments: [],
    contents: [],
  };
}

const NO_CONTENT = { html: null, text: null, headers: null };
const NOTHING = new Uint8Array(0);

function headRow(head: MessageHead) {
  const list = (addresses: readonly string[]): string => JSON.stringify(addresses);
  return {
    sender: head.from,
    to_list: list(head.to),
    cc_list: list(head.cc),
    bcc_list: list(head.bcc),
    reply_to_list: list(head.replyTo),
    subject: head.subject,
    message_id: head.messageId,
  };
}

function headOfRow(row: ReceivedEmailRow): MessageHead {
  return {
    from: row.sender,
    to: readList(row.to_list),
    cc: readList(row.cc_list),
    bcc: readList(row.bcc_list),
    replyTo: readList(row.reply_to_list),
    subject: row.subject,
    messageId: row.message_id,
  };
}

const authenticationText = (authentication: Authentication | null, limits: HeadLimits): string | null =>
  authentication === null ? null : JSON.stringify(boundedAuthentication(authentication, limits));

/** Counted twice, because the event has a copy. */
const twice = (rows: unknown): number => 2 * Buffer.byteLength(JSON.stringify(rows));

function attachmentRow(
  world: World,
  emailId: string,
  part: MessagePart,
  position: number,
  limit: number,
): ReceivedAttachmentRow {
  return {
    id: world.ids.prefixed('att_'),
    received_id: emailId,
    position,
    filename: part.filename,
    content_type: part.contentType,
    content_disposition: part.disposition,
    content_id: part.contentId ?? null,
    size: part.content.length,
    is_stored: part.content.length <= limit ? 1 : 0,
  };
}

/**
 * Recognises a message that a server sends again because our 250 was lost: the same bytes in the same envelope. Messages
 * without a Message-ID are never taken for repeats.
 */
function fingerprintOf({ mailFrom, raw }: InboundMessage, receivedFor: readonly string[]): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([mailFrom, [...receivedFor].sort()])).update('\n');
  return hash.update(raw).digest('base64url');
}

export function receivedData({ email, attachments }: NewReceivedEmail): ReceivedData {
  return {
    email_id: email.id,
    created_at: isoTime(email.created_at),
    from: email.sender,
    to: readList(email.to_list),
    cc: readList(email.cc_list),
    bcc: readList(email.bcc_list),
    received_for: readList(email.received_for),
    message_id: email.message_id,
    subject: email.subject,
    attachments: attachments.map((row) => ({
      id: row.id,
      filename: row.filename,
      content_type: row.content_type,
      content_disposition: row.content_disposition,
      ...(row.content_id === null ? {} : { content_id: row.content_id }),
    })),
    ...(email.dropped_reason === null ? {} : { dropped_reason: email.dropped_reason }),
    ...(email.not_forwarded === null ? {} : { not_forwarded_reason: email.not_forwarded }),
  };
}
