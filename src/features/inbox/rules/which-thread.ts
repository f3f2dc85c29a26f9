import {
  readSubject,
  messageIdsIn,
  readThreadIndex,
  threadOfReplyAddress,
} from '../../../protocol/reply-message/index.ts';
import { normalizeAddress, parseMailbox, type Mac } from '../../../protocol/address/index.ts';
import type { MessageReading } from '../../../protocol/read-message/index.ts';
import type { Authentication } from '../../../mail/received-emails/index.ts';

/** How long a mail that names no message of its thread may fall into it by its subject. */
export const BY_SUBJECT_DAYS = 14;
const BY_SUBJECT_MS = BY_SUBJECT_DAYS * 86_400_000;

/** A thread as the store knows it, with one key by which it was found. */
export interface ThreadCandidate {
  threadId: string;
  inboxId: string;
  /** One of `idsToLookUp`; null for the thread of a reply address and for what was found by its subject. */
  key: string | null;
  /** `sent`: an id of ours. `received`: of a message of the thread. `referenced`: messages of the thread name it, and it never came. */
  keyKind: 'sent' | 'received' | 'referenced' | null;
  /** Of the message that has the id, and of the thread: either may be answered. */
  subjects: readonly string[];
  /** Normalised addresses of everybody but the inbox. */
  participants: ReadonlySet<string>;
  /** Of its newest message. */
  lastMessageAt: number;
}

export interface ThreadingRules {
  bySubject: boolean;
  now: number;
}

export type ThreadEvidence = 'in-reply-to' | 'references' | 'message-id' | 'reply-address' | 'thread-index' | 'subject';

/**
 * Why a message begins a thread. Where ids led to threads and none was right, it says what was wrong with the closest one:
 * `no-participant`: who wrote it has no part in that thread.
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

/** Cannot be an id: ids have no blank. */
const conversationKey = (conversation: string): string => `thread-index ${conversation}`;

/**
 * The keys to look threads up by: those that mail answers or names, its own id (a copy of it may be there already, or an
 * answer that was faster), and its conversation in Outlook. At most 47.
 */
export function idsToLookUp(mail: IncomingMail): string[] {
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
 * The keys by which its thread is to be found later, and what each of them is. Also ids of messages that never came here:
 * somebody in copy may answer before us, and two answers to the same mail of others belong together.
 */
export function idsToKeep(mail: IncomingMail): { key: string; kind: 'received' | 'referenced' }[] {
  const { messageId } = mail;
  return idsToLookUp(mail).map((key) => ({ key, kind: key === messageId ? 'received' : 'referenced' }));
}

/** The same of a message that the inbox sends, whose id is `messageId`. */
export const idsToKeepOfSent = (messageId: string, conversation: string | undefined) => [
  { key: messageId.replaceAll(/[<>\s]/g, ''), kind: 'sent' as const },
  ...(conversation === undefined ? [] : [{ key: conversationKey(conversation), kind: 'referenced' as const }]),
];

/** What threads are found by where an inbox takes answers by their subject; undefined where this mail is none of them. */
export function subjectToLookUp(mail: IncomingMail): string | undefined {
  if (mail.isAutomatic || mail.isFromList) return undefined;
  const { baseWithNumbers, base, isReply, isForward } = readSubject(mail.subject);
  return isReply && !isForward && base !== '' ? baseWithNumbers : undefined;
}

/** In which form a thread keeps its subject for that look-up. */
export const subjectToKeep = (subject: string): string => readSubject(subject).baseWithNumbers;

/**
 * The thread of this inbox that a received message belongs to. To name it is not enough: its sender must have a part in the
 * thread, or the recipients of one newsletter would read each other, and a guessed id would open another's conversation.
 */
export function whichThread(
  mail: IncomingMail,
  candidates: readonly ThreadCandidate[],
  rules: ThreadingRules,
): ThreadChoice {
  let nearest: ThreadChoice | undefined;
  for (const { candidate, by } of byEvidence(mail, candidates, rules)) {
    const because = objection(mail, candidate);
    if (because === undefined) return { kind: 'thread', threadId: candidate.threadId, by };
    nearest ??= { kind: 'new', because, insteadOf: candidate.threadId };
  }
  return nearest ?? { kind: 'new', because: namesSomething(mail) ? 'names-nothing-known' : 'names-nothing' };
}

const namesSomething = ({ inReplyTo, references, addressedThread, conversation }: IncomingMail): boolean =>
  inReplyTo.length + references.length > 0 || addressedThread !== undefined || conversation !== undefined;

/** The candidates in the order in which they are believed. */
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
  const subject = bySubject ? subjectToLookUp(mail) : undefined;
  if (subject === undefined) return;
  const sameSubject = candidates.filter(
    ({ subjects, lastMessageAt }) =>
      now - lastMessageAt <= BY_SUBJECT_MS && subjects.some((one) => subjectToKeep(one) === subject),
  );
  for (const candidate of sameSubject.sort(byKindAndAge)) yield { candidate, by: 'subject' };
}

const KINDS = ['sent', 'received', 'referenced', null];
/** A message itself is better than its mention; of equals the one that was written to last. */
const byKindAndAge = (a: ThreadCandidate, b: ThreadCandidate): number =>
  KINDS.indexOf(a.keyKind) - KINDS.indexOf(b.keyKind) || b.lastMessageAt - a.lastMessageAt;

function objection(
  mail: IncomingMail,
  { inboxId, participants, subjects }: ThreadCandidate,
): NewThreadReason | undefined {
  if (inboxId !== mail.inboxId) return 'other-inbox';
  if (mail.proof === 'forged') return 'forged-sender';
  if (!isParticipant(mail, participants)) return 'no-participant';
  return isSameMatter(mail, subjects) ? undefined : 'changed-subject';
}

/** An agent may answer from another program with the address of the inbox: only where that is proved. */
function isParticipant({ from, ownAddresses, proof }: IncomingMail, participants: ReadonlySet<string>): boolean {
  return ownAddresses.has(from) ? proof === 'proved' : participants.has(from);
}

/** A machine names its answer as it likes, and a subject that was left out, or given to a mail without one, changes nothing. */
function isSameMatter({ subject, isAutomatic }: IncomingMail, subjects: readonly string[]): boolean {
  if (isAutomatic) return true;
  const { base } = readSubject(subject);
  const bases = subjects.map((one) => readSubject(one).base);
  return base === '' || bases.every((one) => one === '') || bases.includes(base);
}

/** Further visible recipients are no participants: a mail to so many is no conversation. */
const RECIPIENTS_OF_A_CONVERSATION = 30;
const IN_REPLY_TO_IDS = { first: 5, last: 5 };
/** The first ones are where the conversation began, the last ones what is answered. */
const REFERENCED_IDS = { first: 5, last: 30 };
const MESSAGE_ID = { first: 1, last: 0 };

/** `forged`: the domain in From has it refused or quarantined. `unknown`: anybody may have written it. */
export type SenderProof = 'proved' | 'unknown' | 'forged';

/** What a received message says of its place in a conversation, for one inbox. Addresses are normalised. */
export interface IncomingMail {
  inboxId: string;
  /** The addresses of the inbox itself. */
  ownAddresses: ReadonlySet<string>;
  from: string;
  proof: SenderProof;
  /** Reply-To, To and Cc without the inbox. */
  others: readonly string[];
  subject: string;
  messageId: string | undefined;
  inReplyTo: readonly string[];
  references: readonly string[];
  /** Of Outlook's Thread-Index. */
  conversation: string | undefined;
  /** The thread of a reply address of ours that it was sent to. */
  addressedThread: string | undefined;
  isAutomatic: boolean;
  isFromList: boolean;
}

export interface InboxOfMail {
  id: string;
  addresses: readonly string[];
  /** The addresses at which it came: of the envelope. */
  receivedFor: readonly string[];
  authentication: Authentication | null;
  isAutomatic: boolean;
  now: number;
  /** Of the purpose `inbox reply address`: the current key first. */
  macs: readonly Mac[];
}

export function readIncomingMail(reading: MessageReading, inbox: InboxOfMail): IncomingMail {
  const headers = reading.isRead ? reading.headers : {};
  const ownAddresses = new Set(inbox.addresses.map(normalizeAddress));
  const named = [...reading.to, ...reading.cc];
  const isConversation = named.length <= RECIPIENTS_OF_A_CONVERSATION;
  const others = [...reading.replyTo, ...(isConversation ? named : [])].map(addressOf).filter((one) => one !== '');
  const tokens = [...inbox.receivedFor, ...named.slice(0, RECIPIENTS_OF_A_CONVERSATION).map(addressOf)];
  const threadOf = (address: string) => threadOfReplyAddress(address, inbox.id, { now: inbox.now, macs: inbox.macs });
  return {
    inboxId: inbox.id,
    ownAddresses,
    from: addressOf(reading.from),
    proof: senderProofOf(inbox.authentication),
    others: [...new Set(others)].filter((address) => !ownAddresses.has(address) && threadOf(address) === undefined),
    subject: reading.subject,
    messageId: messageIdsIn(reading.messageId, MESSAGE_ID)[0],
    inReplyTo: messageIdsIn(headers['in-reply-to'] ?? '', IN_REPLY_TO_IDS),
    references: messageIdsIn(headers['references'] ?? '', REFERENCED_IDS),
    conversation: readThreadIndex(headers['thread-index'] ?? '')?.conversation,
    addressedThread: tokens.map(threadOf).find((threadId) => threadId !== undefined),
    isAutomatic: inbox.isAutomatic,
    isFromList: headers['list-id'] !== undefined || headers['list-post'] !== undefined,
  };
}

/** Who takes part by this message, beside the inbox: what a thread keeps of it. */
export const participantsOf = ({ from, others, ownAddresses, proof }: IncomingMail): string[] =>
  [...new Set([from, ...others])].filter(
    (address) => address !== '' && !ownAddresses.has(address) && (address !== from || proof !== 'forged'),
  );

function addressOf(written: string): string {
  const parsed = parseMailbox(written, { allowSingleLabel: true });
  return parsed.ok ? normalizeAddress(parsed.mailbox.address) : '';
}

export function senderProofOf(authentication: Authentication | null): SenderProof {
  if (authentication === null) return 'unknown';
  const { result, policy } = authentication.dmarc;
  if (result === 'pass') return 'proved';
  return result === 'fail' && (policy === 'reject' || policy === 'quarantine') ? 'forged' : 'unknown';
}
