import { timingSafeEqual } from 'node:crypto';

/**
 * `view` is a link that shows an email. `choice` is a link to unsubscribe and to choose topics, `confirmation` one that opts in to its topic. `sign_up`
 * confirms a sign-up with a form: the form takes the place of the topic, and the sign-up that of the contact.
 */
export type LinkKind = 'choice' | 'confirmation' | 'sign_up' | 'view';

export interface PreferenceLink {
  kind: LinkKind;
  teamId: string;
  contactId: string;
  /** The recipient's address, in the form by which contacts are found. */
  emailKey: string;
  /** The topic of the mail; null for a mail without a topic. */
  topicId: string | null;
  /** The mail that contains the link, if known. */
  emailId: string | null;
}

/** Two keyed hashes with separate keys: one computes the token's tag, the other encrypts the content after it. */
export interface LinkKeys {
  tag: (bytes: Buffer) => Buffer;
  cover: (bytes: Buffer) => Buffer;
}

const TAG_BYTES = 16;
const ID_BYTES = 16;
const KINDS: readonly LinkKind[] = ['choice', 'confirmation', 'sign_up', 'view'];
const HAS_TOPIC = 0x10;
const HAS_EMAIL = 0x20;
const KIND_BITS = 0x0f;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Returns a tag of the content, followed by the content encrypted with a stream derived from the tag: the same link
 * gives the same token.
 */
export function preferenceToken(link: PreferenceLink, keys: LinkKeys): string {
  const { kind, teamId, contactId, topicId, emailId, emailKey } = link;
  const flags = KINDS.indexOf(kind) | (topicId === null ? 0 : HAS_TOPIC) | (emailId === null ? 0 : HAS_EMAIL);
  const ids = [teamId, contactId, topicId, emailId].filter((id) => id !== null);
  const content = Buffer.concat([Buffer.of(flags), ...ids.map(idBytes), Buffer.from(emailKey)]);
  const tag = keys.tag(content).subarray(0, TAG_BYTES);
  return Buffer.concat([tag, covered(content, tag, keys)]).toString('base64url');
}

/** Accepts only what `preferenceToken` produced with the same keys, letter for letter. */
export function readPreferenceToken(token: string, keys: LinkKeys): PreferenceLink | undefined {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length < TAG_BYTES + 1 + 2 * ID_BYTES || bytes.toString('base64url') !== token) return undefined;
  const tag = bytes.subarray(0, TAG_BYTES);
  const content = covered(bytes.subarray(TAG_BYTES), tag, keys);
  if (!timingSafeEqual(tag, keys.tag(content).subarray(0, TAG_BYTES))) return undefined;
  const flags = content[0] ?? 0;
  let at = 1;
  const nextId = (): string => uuidAt(content, (at += ID_BYTES) - ID_BYTES);
  return {
    kind: KINDS[flags & KIND_BITS] ?? 'choice',
    teamId: nextId(),
    contactId: nextId(),
    topicId: flags & HAS_TOPIC ? nextId() : null,
    emailId: flags & HAS_EMAIL ? nextId() : null,
    emailKey: content.toString('utf8', at),
  };
}

/** Encrypts and decrypts: an address must not be readable in logs of proxies and histories of browsers. */
function covered(content: Buffer, tag: Buffer, { cover }: LinkKeys): Buffer {
  const out = Buffer.from(content);
  let stream: Buffer = Buffer.alloc(0);
  let from = 0;
  for (let i = 0; i < out.length; i++) {
    if (i - from >= stream.length) {
      from = i;
      stream = cover(Buffer.concat([tag, Buffer.of(i >> 8, i & 0xff)]));
    }
    out[i] = (out[i] ?? 0) ^ (stream[i - from] ?? 0);
  }
  return out;
}

function idBytes(id: string): Buffer {
  if (!UUID.test(id)) throw new Error(`a preference link was requested for ${id}, which is not a UUID`);
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

function uuidAt(bytes: Buffer, at: number): string {
  const hex = bytes.toString('hex', at, at + ID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
