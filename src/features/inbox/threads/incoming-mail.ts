import { normalizeAddress, parseMailbox, type Mac } from '../../../protocol/address/index.ts';
import type { MessageReading } from '../../../protocol/read-message/index.ts';
import { messageIdsIn, readThreadIndex, threadOfReplyAddress } from '../../../protocol/reply-message/index.ts';
import type { Authentication } from '../../../mail/received-emails/index.ts';

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
