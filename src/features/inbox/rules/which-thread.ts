import {
  readSubject,
  messageIdsIn,
  readThreadIndex,
  threadOfReplyAddress,
} from '../../../protocol/reply-message/index.ts';
import { normalizeAddress, parseMailbox, type Mac } from '../../../protocol/address/index.ts';
import type { MessageReading } from '../../../protocol/read-message/index.ts';
import type { Authentication } from '../../../mail/received-emails/index.ts';

/** Days within which a mail that names no message of its thread may join it by its subject. */
export const BY_SUBJECT_DAYS = 14;
const BY_SUBJECT_MS = BY_SUBJECT_DAYS * 86_400_000;

/** A thread as the store knows it, with one key by which it was found. */
export interface ThreadCandidate {
  threadId: string;
  inboxId: string;
  /** One of `listIdsToFind`; null for the thread of a reply address and for one found by its subject. */
  key: string | null;
  /**
   * `sent`: an id of ours. `received`: the id of a message of the thread. `referenced`: messages of the thread name it,
   * but it never arrived.
   */
  keyKind: 'sent' | 'received' | 'referenced' | null;
  /** Subjects of the message that has the id, and of the thread: a reply may be to either. */
  subjects: readonly string[];
  /** Normalized addresses of everybody but the inbox. */
  participants: ReadonlySet<string>;
  /** Time of its newest message. */
  lastMessageAt: number;
}

export interface ThreadingRules {
  bySubject: boolean;
  now: number;
}

export type ThreadEvidence = 'in-reply-to' | 'references' | 'message-id' | 'reply-address' | 'thread-index' | 'subject';

/**
 * Reason that a message begins a thread. If ids led to threads and none was right, it describes the closest one:
 * `no-participant` means that the sender does not take part in that thread.
 */
export type NewThreadReason =
  | 'names-nothing'
  | 'names-nothing-known'
  | 'no-participant'
  | 'forged-sender'
  | 'changed-subject'
  | 'other-inbox';

export type ThreadChoice =
  | { kind: 'thread'; threadId: string; by: ThreadEvidence }
  | { kind: 'new'; because: NewThreadReason; insteadOf?: string };

/** Makes the key of a conversation, which cannot be an id because ids have no blank. */
const conversationKey = (conversation: string): string => `thread-index ${conversation}`;

/**
 * Returns the keys to look threads up by: the ids that the mail replies to or names, its own id (a copy, or a faster
 * reply, may be there already), and its Outlook conversation. At most 47.
 */
export function listIdsToFind(mail: IncomingMail): string[] {
  const { inReplyTo, references, messageId, conversation } = mail;
  return [
    ...new Set([
      ...inReplyTo,
      ...references,
      ...(messageId === undefined ? [] : [messageId]),
      ...(conversation === undefined ? [] : [conversationKey(conversation)]),
    ]),
  ];
}

/**
 * Returns the keys by which the thread of a mail is found later, with their kinds. Includes ids of messages that never
 * arrived: somebody in copy may reply before us, and two replies to the same mail of others belong together.
 */
export function idsToKeep(mail: IncomingMail): { key: string; kind: 'received' | 'referenced' }[] {
  const { messageId } = mail;
  return listIdsToFind(mail).map((key) => ({ key, kind: key === messageId ? 'received' : 'referenced' }));
}

/** Does the same for a message that the inbox sends, whose id is `messageId`. */
export const idsToKeepOfSent = (messageId: string, conversation: string | undefined) => [
  { key: messageId.replaceAll(/[<>\s]/g, ''), kind: 'sent' as const },
  ...(conversation === undefined ? [] : [{ key: conversationKey(conversation), kind: 'referenced' as const }]),
];

/**
 * Returns the key for finding a thread by subject, if the inbox does so; undefined if this mail may not be matched by
 * subject.
 */
export function chooseSubjectToFind(mail: IncomingMail): string | undefined {
  if (mail.isAutomatic || mail.isFromList) return undefined;
  const { baseWithNumbers, base, isReply, isForward } = readSubject(mail.subject);
  return isReply && !isForward && base !== '' ? baseWithNumbers : undefined;
}

/** Returns the subject in the form that a thread keeps for that look-up. */
export const subjectToKeep = (subject: string): string => readSubject(subject).baseWithNumbers;

/**
 * Returns the thread of this inbox that a received message belongs to. Naming the thread is not enough: its sender must
 * take part in it, or the recipients of one newsletter would read each other, and a guessed id would open a
 * conversation of others.
 */
export function whichThread(
  mail: IncomingMail,
  candidates: readonly ThreadCandidate[],
  rules: ThreadingRules,
): ThreadChoice {
  let nearest: ThreadChoice | undefined;
  for (const { candidate, by } of byEvidence(mail, candidates, rules)) {
    const because = objection(mail, candidate, by);
    if (because === undefined) return { kind: 'thread', threadId: candidate.threadId, by };
    nearest ??= { kind: 'new', because, insteadOf: candidate.threadId };
  }
  return nearest ?? { kind: 'new', because: namesSomething(mail) ? 'names-nothing-known' : 'names-nothing' };
}

const namesSomething = ({ inReplyTo, references, addressedThread, conversation }: IncomingMail): boolean =>
  inReplyTo.length + references.length > 0 || addressedThread !== undefined || conversation !== undefined;

/** Yields the candidates in the order of their credibility. */
function* byEvidence(
  mail: IncomingMail,
  candidates: readonly ThreadCandidate[],
  { bySubject, now }: ThreadingRules,
): Generator<{ candidate: ThreadCandidate; by: ThreadEvidence }> {
  const byKey = new Map<string, ThreadCandidate[]>();
  for (const candidate of candidates) {
    const among = candidate.key === null ? undefined : byKey.get(candidate.key);
    if (among) among.push(candidate);
    else if (candidate.key !== null) byKey.set(candidate.key, [candidate]);
  }
  const found = (keys: readonly string[], by: ThreadEvidence) =>
    keys.flatMap((key) => (byKey.get(key) ?? []).sort(byKindAndAge).map((candidate) => ({ candidate, by })));
  yield* found(mail.inReplyTo, 'in-reply-to');
  yield* found(mail.references.toReversed(), 'references');
  yield* found(mail.messageId === undefined ? [] : [mail.messageId], 'message-id');
  const { addressedThread, conversation } = mail;
  const addressed = candidates.find(({ threadId }) => threadId === addressedThread);
  if (addressed) yield { candidate: addressed, by: 'reply-address' };
  yield* found(conversation === undefined ? [] : [conversationKey(conversation)], 'thread-index');
  const subject = bySubject ? chooseSubjectToFind(mail) : undefined;
  if (subject === undefined) return;
  const sameSubject = candidates.filter(
    ({ subjects, lastMessageAt }) =>
      now - lastMessageAt <= BY_SUBJECT_MS && subjects.some((one) => subjectToKeep(one) === subject),
  );
  for (const candidate of sameSubject.sort(byKindAndAge)) yield { candidate, by: 'subject' };
}

const KINDS = ['sent', 'received', 'referenced', null];
/** Prefers a message itself to a mention of it; among equals, the thread that was written to last. */
const byKindAndAge = (a: ThreadCandidate, b: ThreadCandidate): number =>
  KINDS.indexOf(a.keyKind) - KINDS.indexOf(b.keyKind) || b.lastMessageAt - a.lastMessageAt;

function objection(
  mail: IncomingMail,
  { inboxId, participants, subjects, keyKind }: ThreadCandidate,
  by: ThreadEvidence,
): NewThreadReason | undefined {
  if (inboxId !== mail.inboxId) return 'other-inbox';
  if (mail.proof === 'forged') return 'forged-sender';
  if (!isParticipant(mail, participants)) return 'no-participant';
  return isReplyToUs(by, keyKind) || isSameMatter(mail, subjects) ? undefined : 'changed-subject';
}

/**
 * Reports whether a mail was sent to the reply address of the thread, or names a message that the inbox sent. That
 * outweighs a changed subject: filters and help desks of others add their marks and numbers to it.
 */
const isReplyToUs = (by: ThreadEvidence, keyKind: ThreadCandidate['keyKind']): boolean =>
  by === 'reply-address' || ((by === 'in-reply-to' || by === 'references') && keyKind === 'sent');

/**
 * Reports whether the sender takes part. An agent may reply from another program with the address of the inbox, but
 * only if that is authenticated.
 */
function isParticipant({ from, ownAddresses, proof }: IncomingMail, participants: ReadonlySet<string>): boolean {
  return ownAddresses.has(from) ? proof === 'proved' : participants.has(from);
}

/**
 * Compares subjects. A machine names its reply as it likes, and a subject that was omitted, or given to a mail without
 * one, changes nothing.
 */
function isSameMatter({ subject, isAutomatic }: IncomingMail, subjects: readonly string[]): boolean {
  if (isAutomatic) return true;
  const { base } = readSubject(subject);
  const bases = subjects.map((one) => readSubject(one).base);
  return base === '' || bases.every((one) => one === '') || bases.includes(base);
}

/** Beyond this number, visible recipients are no participants: a mail to so many is no conversation. */
const RECIPIENTS_OF_A_CONVERSATION = 30;
const IN_REPLY_TO_IDS = { first: 5, last: 5 };
/** The first references name the start of the conversation, the last ones the message that is replied to. */
const REFERENCED_IDS = { first: 5, last: 30 };
const MESSAGE_ID = { first: 1, last: 0 };

/** `forged`: DMARC of the From domain asks to reject or quarantine it. `unknown`: anybody may have written it. */
export type SenderProof = 'proved' | 'unknown' | 'forged';

/** Facts from a received message about its place in a conversation, for one inbox. Addresses are normalized. */
export interface IncomingMail {
  inboxId: string;
  /** Addresses of the inbox itself. */
  ownAddresses: ReadonlySet<string>;
  from: string;
  proof: SenderProof;
  /** Addresses of Reply-To, To and Cc without the inbox. */
  others: readonly string[];
  subject: string;
  messageId: string | undefined;
  inReplyTo: readonly string[];
  references: readonly string[];
  /** Conversation in Outlook's Thread-Index. */
  conversation: string | undefined;
  /** Thread of our reply address that it was sent to. */
  addressedThread: string | undefined;
  isAutomatic: boolean;
  isFromList: boolean;
}

export interface InboxOfMail {
  id: string;
  addresses: readonly string[];
  /** Envelope recipients at which it arrived. */
  receivedFor: readonly string[];
  authentication: Authentication | null;
  isAutomatic: boolean;
  now: number;
  /** Keys of the purpose `inbox reply address`, the current one first. */
  macs: readonly Mac[];
}

export function readIncomingMail(reading: MessageReading, inbox: InboxOfMail): IncomingMail {
  const headers = reading.isRead ? reading.headers : {};
  const ownAddresses = new Set(inbox.addresses.map(normalizeAddress));
  const named = [...reading.to, ...reading.cc];
  const isConversation = named.length <= RECIPIENTS_OF_A_CONVERSATION;
  const others = [...reading.replyTo, ...(isConversation ? named : [])]
    .map(normalizeMailbox)
    .filter((one) => one !== '');
  const tokens = [...inbox.receivedFor, ...named.slice(0, RECIPIENTS_OF_A_CONVERSATION).map(normalizeMailbox)];
  const parseThread = (address: string) =>
    threadOfReplyAddress(address, inbox.id, { now: inbox.now, macs: inbox.macs });
  return {
    inboxId: inbox.id,
    ownAddresses,
    from: normalizeMailbox(reading.from),
    proof: readSenderProof(inbox.authentication),
    others: [...new Set(others)].filter((address) => !ownAddresses.has(address) && parseThread(address) === undefined),
    subject: reading.subject,
    messageId: messageIdsIn(reading.messageId, MESSAGE_ID)[0],
    inReplyTo: messageIdsIn(headers['in-reply-to'] ?? '', IN_REPLY_TO_IDS),
    references: messageIdsIn(headers['references'] ?? '', REFERENCED_IDS),
    conversation: readThreadIndex(headers['thread-index'] ?? '')?.conversation,
    addressedThread: tokens.map(parseThread).find((threadId) => threadId !== undefined),
    isAutomatic: inbox.isAutomatic,
    isFromList: headers['list-id'] !== undefined || headers['list-post'] !== undefined,
  };
}

/** Returns the participants that a thread keeps of this message, without the inbox. */
export const listParticipants = ({ from, others, ownAddresses, proof }: IncomingMail): string[] =>
  [...new Set([from, ...others])].filter(
    (address) => address !== '' && !ownAddresses.has(address) && (address !== from || proof !== 'forged'),
  );

function normalizeMailbox(written: string): string {
  const parsed = parseMailbox(written, { allowSingleLabel: true });
  return parsed.ok ? normalizeAddress(parsed.mailbox.address) : '';
}

export function readSenderProof(authentication: Authentication | null): SenderProof {
  if (authentication === null) return 'unknown';
  const { result, policy } = authentication.dmarc;
  if (result === 'pass') return 'proved';
  return result === 'fail' && (policy === 'reject' || policy === 'quarantine') ? 'forged' : 'unknown';
}
