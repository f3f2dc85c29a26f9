import { formatReturnPath } from '../../protocol/address/index.ts';
import type { EmailRow } from '../../resources/emails/index.ts';
import type { OutboundMessage } from '../deliver/index.ts';
import {
  DomainRemoved,
  DomainUnverified,
  KeysChanged,
  type SigningDomain,
  type SigningDomains,
} from './signing-domains.ts';

export interface BatchDelivery {
  id: string;
  email_id: string;
  domain_id: string;
}

export interface Batch {
  /** The envelope sender, one for each email; undefined when the email's domain is gone. */
  returnPath(emailId: string): string | undefined;
  /** The domain that DNS does not bear out at present, so that nothing of this email can be signed; undefined when all is well. */
  unverifiedDomain(emailId: string): string | undefined;
  /** Signed as the domain signs now; throws DomainRemoved or DomainUnverified where it signs nothing any more. */
  message(delivery: BatchDelivery): Promise<OutboundMessage>;
  /**
   * Throws, with KeysChanged too, if the message that was handed out may not go out any more. There is nothing to wait
   * for while nothing has to be read again.
   */
  recheck(delivery: BatchDelivery): Promise<void> | undefined;
  /** Once for each delivery of the batch, when it needs its message no more. */
  release(delivery: BatchDelivery): void;
}

export interface Made {
  /** Of memory, to be given back. */
  bytes: number;
  message: OutboundMessage;
}

interface Composed {
  made: Promise<Made>;
  signedBy: string;
  /** How many deliveries are sending it now. */
  senders: number;
  isGiven: boolean;
}

export interface BatchOptions {
  deliveries: readonly BatchDelivery[];
  rows: readonly EmailRow[];
  domains: SigningDomains;
  returnPathMac(bytes: Buffer): Buffer;
  make(row: EmailRow, domain: SigningDomain): Promise<Made>;
  /** Gives back the memory of what was made. */
  give(bytes: number): void;
}

/**
 * Small messages are kept for the other destinations of their email. A large one is made again for each: kept while
 * nobody sends it, it could wait for a connection that is held by somebody who waits for its memory.
 */
const KEPT_BYTES_MAX = 64 * 1024;
const BOUNCE_PREFIX = 'b';

/** A batch may be under way for minutes: whoever asks for a message gets it signed as its domain signs by then. */
export function openBatch({ deliveries, rows, domains, returnPathMac, make, give }: BatchOptions): Batch {
  const left = new Map<string, number>();
  for (const { email_id: id } of deliveries) left.set(id, (left.get(id) ?? 0) + 1);
  const emails = new Map(rows.map((row) => [row.id, row]));
  /** What the next delivery of an email is given. */
  const composed = new Map<string, Composed>();
  /** What each delivery was given. */
  const sending = new Map<string, Composed>();

  return {
    returnPath(emailId) {
      const domain = domainOf(emailId);
      if (!domain) return undefined;
      return formatReturnPath({ prefix: BOUNCE_PREFIX, emailId, domain: domain.returnPathDomain, mac: returnPathMac });
    },
    unverifiedDomain(emailId) {
      const domain = domainOf(emailId);
      return domain?.isUnverified ? domain.name : undefined;
    },
    async message(delivery) {
      const { email_id: emailId } = delivery;
      for (;;) {
        if (!domains.isFresh()) await domains.refresh();
        const composition = hand(delivery, mustSign(emailId));
        const { message } = await composition.made;
        // Making it may have waited for memory, behind the messages of others.
        if (!domains.isFresh()) await domains.refresh();
        if (mustSign(emailId).domain.signedBy === composition.signedBy) return message;
      }
    },
    recheck(delivery) {
      if (domains.isFresh()) return mustStand(delivery);
      return domains.refresh().then(() => mustStand(delivery));
    },
    release({ id, email_id: emailId }) {
      left.set(emailId, (left.get(emailId) ?? 1) - 1);
      takeBack(id, emailId);
      const kept = composed.get(emailId);
      if (kept) giveUnlessNeeded(emailId, kept);
    },
  };

  function domainOf(emailId: string): SigningDomain | undefined {
    return domains.get(emails.get(emailId)?.domain_id ?? '');
  }

  function mustSign(emailId: string): { row: EmailRow; domain: SigningDomain } {
    const row = emails.get(emailId);
    const domain = domainOf(emailId);
    if (!row || !domain) throw new DomainRemoved(`the domain of email ${emailId} is gone`);
    if (domain.isUnverified) throw new DomainUnverified(domain.name);
    return { row, domain };
  }

  function hand({ id, email_id: emailId }: BatchDelivery, { row, domain }: ReturnType<typeof mustSign>): Composed {
    let composition = composed.get(emailId);
    if (composition?.signedBy !== domain.signedBy) {
      const before = composition;
      composition = { made: make(row, domain), signedBy: domain.signedBy, senders: 0, isGiven: false };
      composed.set(emailId, composition);
      if (before) giveUnlessNeeded(emailId, before);
    }
    if (sending.get(id) === composition) return composition;
    takeBack(id, emailId);
    composition.senders++;
    sending.set(id, composition);
    return composition;
  }

  function mustStand({ id, email_id: emailId }: BatchDelivery): undefined {
    const given = sending.get(id);
    if (mustSign(emailId).domain.signedBy === given?.signedBy || !given) return;
    throw new KeysChanged(`the keys of email ${emailId} have changed`);
  }

  function takeBack(deliveryId: string, emailId: string): void {
    const composition = sending.get(deliveryId);
    if (!composition) return;
    sending.delete(deliveryId);
    composition.senders--;
    if (composition !== composed.get(emailId)) giveUnlessNeeded(emailId, composition);
  }

  function giveUnlessNeeded(emailId: string, composition: Composed): void {
    composition.made.then(
      ({ bytes }) => {
        if (composition.senders > 0 || composition.isGiven) return;
        const isKept = composed.get(emailId) === composition;
        if (isKept && left.get(emailId) !== 0 && bytes <= KEPT_BYTES_MAX) return;
        if (isKept) composed.delete(emailId);
        composition.isGiven = true;
        give(bytes);
      },
      () => undefined,
    );
  }
}
