import { normalizeAddress } from '../address/index.ts';

export type Notify = 'SUCCESS' | 'FAILURE' | 'DELAY';

export interface AskedOfRecipient {
  /** Of what the sender wants a notice; empty for NEVER, absent where nothing was said. */
  notify?: readonly Notify[];
  /** Whom the sender meant, with its type, as it is read: `rfc822;someone@example.org`. */
  original?: string;
}

/** What a client asked for beside whom a message goes to. */
export interface Asked {
  /** The sender of its envelope, to which notices go; empty where there may be none. */
  sender: string;
  /** How much of the message a notice of failure is to bring back. */
  ret?: 'FULL' | 'HDRS';
  /** The sender's own name for this transaction. */
  envelopeId?: string;
  /** Only over connections that are encrypted and verified, to servers that promise the same (RFC 8689). */
  requiresTls?: true;
  /** By normalized address. */
  recipients: Readonly<Record<string, AskedOfRecipient>>;
}

/** As it is stored. */
export const readAsked = (json: string | null): Asked | undefined =>
  json === null ? undefined : (JSON.parse(json) as Asked);

/** Whether a notice of this may be sent about the recipient: only where it was asked for, and never for a notice. */
export function wants({ sender, recipients }: Asked, address: string, what: Notify): boolean {
  return sender !== '' && (recipients[normalizeAddress(address)]?.notify?.includes(what) ?? false);
}

/** Whether any notice was asked for. */
export const hasNotices = ({ sender, recipients }: Asked): boolean =>
  sender !== '' && Object.values(recipients).some(({ notify = [] }) => notify.length > 0);
