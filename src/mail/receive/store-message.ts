import type { World } from '../../platform/world.ts';
import type { MessageReading, MessageHead, MessagePart } from '../../protocol/read-message/index.ts';
import { contentsPlacer, putFiles, rowsWorth, type PlaceContents } from '../contents/index.ts';
import {
  insertReceived,
  receivedBefore,
  RAW_BLOB,
  RECEIVED_ATTACHMENT_BLOB,
  readList,
  receivedBody,
  type DroppedReason,
  type NewReceivedEmail,
  type Authentication,
  type ReceivedAttachmentRow,
  type ReceivedEmailRow,
} from '../received-emails/index.ts';
import { loadPlan, loadStorageBytes, addStorage, countUsage, lockStorage } from '../../tenancy/usage/index.ts';
import { buildInboxContent, putIntoInboxes, type InboxContent, type StoredForInboxes } from './inbox-content.ts';
import { freeLargeMemory } from './message-content.ts';
import type { InboundMessage } from './inbound-message.ts';
import { recordEvents, type NewEvent, type ReceivedData } from '../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { createHash } from 'node:crypto';
import type { NewBlob } from '../../platform/blobs/index.ts';
import { isoTime } from '../../platform/clock.ts';
import { withoutOwnClaims } from './authenticate.ts';

/** Limits of the parts of a message's head that are stored in its row and its event; the source has all of it. */
interface HeadLimits {
  subjectChars: number;
  /** Limit for one mailbox, and for the Message-ID. */
  textChars: number;
  /** Limit for all lists of addresses together. */
  listChars: number;
  signatures: number;
}

const LIMITS_OF_KEPT: HeadLimits = {
  subjectChars: 998,
  textChars: 998,
  listChars: 16 * 1024,
  signatures: 20,
};
/** Limits for a message that counts against no storage. */
const LIMITS_OF_DROPPED: HeadLimits = { subjectChars: 200, textChars: 320, listChars: 1024, signatures: 3 };

export function boundedHead(head: MessageHead, limits: HeadLimits): MessageHead {
  let left = limits.listChars;
  const fitting = (list: readonly string[]): string[] => {
    const kept: string[] = [];
    for (const one of list) {
      const mailbox = boundedMailbox(one, limits.textChars);
      if (mailbox.length > left) break;
      left -= mailbox.length;
      if (mailbox !== '') kept.push(mailbox);
    }
    return kept;
  };
  const replyTo = fitting(head.replyTo);
  return {
    from: boundedMailbox(head.from, limits.textChars),
    replyTo,
    to: fitting(head.to),
    cc: fitting(head.cc),
    bcc: fitting(head.bcc),
    subject: cut(head.subject, limits.subjectChars),
    messageId: cut(head.messageId, limits.textChars),
  };
}

/** Limits the stored results: a message may have any number of signatures, with names of any length. */
function boundedAuthentication(authentication: Authentication, { signatures }: HeadLimits): Authentication {
  const { spf, dkim, dmarc } = authentication;
  return {
    ...authentication,
    spf: { ...spf, domain: nameOrNull(spf.domain) },
    dkim: dkim.slice(0, signatures).map((one) => ({
      ...one,
      domain: nameOrNull(one.domain),
      selector: nameOrNull(one.selector),
    })),
    dmarc: { ...dmarc, domain: nameOrNull(dmarc.domain) },
  };
}

const nameOrNull = (name: string | null): string | null => (name === null || name.length > 253 ? null : name);

/**
 * Shortens a mailbox. An address is never cut, because half of it would be another address: the name is left out first,
 * then the mailbox.
 */
function boundedMailbox(mailbox: string, charsMax: number): string {
  if (mailbox.length <= charsMax) return mailbox;
  const address = BEHIND_A_NAME.exec(mailbox)?.[1] ?? '';
  return address.length <= charsMax ? address : '';
}

/** A quoted local part may contain a < as well. */
const BEHIND_A_NAME = /^(?:"(?:[^"\\]|\\.)*"|[^"<]*) <(.+)>$/;

function cut(text: string, charsMax: number): string {
  const kept = text.slice(0, charsMax);
  return kept.isWellFormed() ? kept : kept.slice(0, -1);
}

/** A message as one team stores it: rows, and the files that are written before the rows. */
interface ReceivedRows {
  rows: NewReceivedEmail;
  files: NewBlob[];
}

function receivedRows(
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
    fingerprint: reading.messageId === '' ? null : computeFingerprint(message, receivedFor),
    created_at: world.clock.now(),
    not_forwarded: message.notForwarded?.get(teamId) ?? null,
  };
  const placed = placeContents([...raw, ...body.contents, ...files]);
  return { rows: { email, body: body.row, attachments, contents: placed.rows }, files: placed.files };
}

/**
 * Returns the same message without its content: only the fact that it arrived is kept. It is small and counts against
 * no storage.
 */
function droppedRows({ email, body }: NewReceivedEmail, reason: DroppedReason): NewReceivedEmail {
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

/** Returns the stored size of rows. The event contains a copy of them, so their size counts twice. */
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
 * Recognizes a message that a server sends again because our 250 was lost: the same bytes in the same envelope. Messages
 * without a Message-ID are never taken for repeats.
 */
function computeFingerprint({ mailFrom, raw }: InboundMessage, receivedFor: readonly string[]): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([mailFrom, [...receivedFor].sort()])).update('\n');
  return hash.update(raw).digest('base64url');
}

function receivedData({ email, attachments }: NewReceivedEmail): ReceivedData {
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

/** The id of a stored message for one of its teams. */
export interface Received {
  teamId: string;
  id: string;
}

/** Resolves when the message is stored for each of its teams, and synced. */
type StoreMessage = (message: InboundMessage, reading: MessageReading) => Promise<Received[]>;

export function createStoreMessage(world: World): StoreMessage {
  const write = createWriteReceived(world);

  /** Avoids writing files that the commit would drop. */
  async function mayFit({ email }: NewReceivedEmail): Promise<boolean> {
    const plan = await loadPlan(world, world.db, email.team_id);
    return (
      (await loadStorageBytes(world.db, email.team_id)) + email.stored_bytes <= plan.received_storage_mb * 1024 * 1024
    );
  }

  const withoutFiles = ({ rows }: ReceivedRows, reason: DroppedReason): ReceivedRows => ({
    rows: droppedRows(rows, rows.email.dropped_reason === 'virus' ? 'virus' : reason),
    files: [],
  });

  return async (message, reading) => {
    if (!reading.isRead) world.log.info({ because: reading.because }, 'a received message could not be read');
    const placeContents = contentsPlacer(world);
    const teams = [...message.teams].map(([teamId, receivedFor]) =>
      receivedRows(world, message, { teamId, receivedFor, reading, placeContents }),
    );
    const fitting: ReceivedRows[] = [];
    for (const team of teams) {
      if (message.isAccountMail) fitting.push(withoutFiles(team, 'account_mail'));
      else if (message.withoutContent?.has(team.rows.email.team_id)) fitting.push(withoutFiles(team, 'inbound_rule'));
      else fitting.push((await mayFit(team.rows)) ? team : withoutFiles(team, 'storage_quota'));
    }
    for (const { rows, files } of fitting) rows.contents.push(...(await putFiles(world, files)));
    // The caller still needs the source for forwards.
    const stored = fitting.flatMap(({ files }) => files.map(({ content }) => content));
    for (const content of stored) if (content !== message.raw) freeLargeMemory(content);
    // A commit whose result was lost may be complete, so a failure here removes no file: the orphan sweep does, if no
    // row needs it.
    const about = buildInboxContent(reading, message.mailFrom);
    const written = await write({ teams: fitting.map(({ rows }) => rows), about });
    for (const [i, { rows, files }] of fitting.entries()) {
      if (files.length > 0 && written[i]?.isKept !== true) await world.blobs.remove(rows.email.id);
    }
    return written.map(({ id }, i) => ({ teamId: fitting[i]?.rows.email.team_id ?? '', id }));
  };
}

/** The result of writing a message for one team. */
interface Written {
  id: string;
  /** True if its files are needed: not if it was dropped, and not if it is a repeat. */
  isKept: boolean;
}

/** Writes messages that arrived together, each with all its teams, in one shared commit. */
function createWriteReceived(world: World): (message: OfAllTeams) => Promise<Written[]> {
  return world.commits.lane<OfAllTeams, Written[]>(
    async (tx, messages) => writeAll(world, tx, messages),
    ({ teams }) => ({ weight: teams.reduce((sum, { contents }) => sum + 1 + rowsWorth(contents), 0) }),
  );
}

/** A message as each of its teams stores it. */
interface OfAllTeams {
  teams: NewReceivedEmail[];
  about: InboxContent;
}

async function writeAll(world: World, tx: Executor, messages: OfAllTeams[]): Promise<Written[][]> {
  const all = messages.flatMap(({ teams }) => teams);
  const aboutByTeam = new Map(messages.flatMap(({ teams, about }) => teams.map((one) => [one, about] as const)));
  const known = await receivedBefore(tx, all.flatMap(listFingerprints));
  const written = new Map<NewReceivedEmail, Written>();
  const news: NewReceivedEmail[] = [];
  for (const one of all) {
    const [key] = listFingerprints(one);
    const name = key && `${key.teamId} ${key.fingerprint}`;
    const before = name === undefined ? undefined : known.get(name);
    if (before !== undefined) {
      written.set(one, { id: before, isKept: false });
      continue;
    }
    if (name !== undefined) known.set(name, one.email.id);
    news.push(one);
  }
  const admitted: NewReceivedEmail[] = [];
  const stored: StoredForInboxes[] = [];
  const teams = Map.groupBy(news, ({ email }) => email.team_id);
  // Sorted, so that two nodes lock the same teams in the same order and cannot deadlock.
  for (const [teamId, theirs] of [...teams].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const [one, rows] of await admit(world, tx, teamId, theirs)) {
      admitted.push(rows);
      const about = aboutByTeam.get(one);
      if (about) stored.push({ rows, about });
      written.set(one, { id: rows.email.id, isKept: rows === one });
    }
  }
  await insertReceived(tx, admitted);
  await recordEvents(
    tx,
    world.ids,
    admitted.map((rows): NewEvent => {
      const { id, team_id: teamId, created_at: at } = rows.email;
      return { teamId, subjectId: id, at, type: 'email.received', data: receivedData(rows) };
    }),
  );
  await putIntoInboxes.call(world, tx, stored);
  return messages.map((message) => message.teams.map((one) => written.get(one) ?? { id: one.email.id, isKept: false }));
}

function listFingerprints({ email }: NewReceivedEmail): { teamId: string; fingerprint: string }[] {
  return email.fingerprint === null ? [] : [{ teamId: email.team_id, fingerprint: email.fingerprint }];
}

/**
 * Counts a team's messages against its plan, in the order in which they arrived; those beyond it lose their content.
 */
async function admit(
  world: World,
  tx: Executor,
  teamId: string,
  messages: readonly NewReceivedEmail[],
): Promise<Map<NewReceivedEmail, NewReceivedEmail>> {
  const plan = await loadPlan(world, tx, teamId);
  const at = world.clock.now();
  const { daily } = await countUsage(tx, { teamId, kind: 'received', at, count: messages.length });
  const held = await lockStorage(tx, teamId);
  const limit = plan.received_storage_mb * 1024 * 1024;
  const admitted = new Map<NewReceivedEmail, NewReceivedEmail>();
  let rank = daily - messages.length;
  let added = 0;
  for (const one of messages) {
    rank++;
    const isOverCap = plan.received_daily_cap !== null && rank > plan.received_daily_cap;
    const isFull = held + added + one.email.stored_bytes > limit;
    const reason = isOverCap ? 'daily_cap' : isFull ? 'storage_quota' : null;
    // A message that was dropped already keeps its reason.
    const isDropped = one.email.stored_bytes === 0 && one.email.dropped_reason !== null;
    const rows = reason === null || isDropped ? one : droppedRows(one, reason);
    added += rows.email.stored_bytes;
    admitted.set(one, rows);
  }
  if (added > 0) await addStorage(tx, teamId, added);
  return admitted;
}
