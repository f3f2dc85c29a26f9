import { formatReturnPath, returnPathPrefix, type ReturnPathInput } from '../../protocol/address/index.ts';
import { emailRowsByIds, type EmailRow } from '../emails/index.ts';
import type { OutboundMessage } from '../deliver/index.ts';
import { createMakeMessage, type Made, type MakeMessage } from './make-message.ts';
import {
  DomainRemoved,
  DomainUnverified,
  KeysChanged,
  createSigningDomains,
  type SigningDomain,
  type SigningDomains,
} from './signing-domains.ts';
import type { World } from '../../platform/world.ts';

interface BatchDelivery {
  id: string;
  email_id: string;
  domain_id: string;
}

export interface Batch {
  /** The envelope sender, one for each destination of an email; undefined when the email's domain is gone. */
  returnPath(emailId: string, destination: string): string | undefined;
  /** The name of the email's domain; undefined when it is gone. */
  sendingDomain(emailId: string): string | undefined;
  /** The email's domain if DNS does not verify it at present, so that the email cannot be signed; otherwise undefined. */
  unverifiedDomain(emailId: string): string | undefined;
  /**
   * Returns the message, signed with the domain's present keys; throws DomainRemoved or DomainUnverified if it can sign
   * no more.
   */
  message(delivery: BatchDelivery, signal: AbortSignal): Promise<OutboundMessage>;
  /**
   * Throws if the message that was handed out must not be sent any more; also KeysChanged. Returns undefined, with
   * nothing to await, while nothing has to be read again.
   */
  recheck(delivery: BatchDelivery): Promise<void> | undefined;
  /** Called once for each delivery of the batch, when it no longer needs its message. */
  release(delivery: BatchDelivery): void;
}

interface Composed {
  made: Promise<Made>;
  signedBy: string;
}

interface Email {
  row: EmailRow;
  /** Its unfinished deliveries. */
  pending: Set<string>;
  /** The messages composed of it, the latest last: more than one if its keys have changed meanwhile. */
  composed: Composed[];
}

/** The beginning of every return path. */
const BOUNCE_PREFIX = 'b';

interface BatchOptions {
  deliveries: readonly BatchDelivery[];
  rows: readonly EmailRow[];
  domains: SigningDomains;
  returnPathMac(bytes: Buffer): Buffer;
  make: MakeMessage;
}

/** Returns the sender of an email to a destination. A forwarded message has its own return path. */
function chooseSender(row: EmailRow | undefined, destination: string, path: Omit<ReturnPathInput, 'prefix'>): string {
  return row?.mail_from ?? formatReturnPath({ ...path, prefix: returnPathPrefix(BOUNCE_PREFIX, destination) });
}

function buildEmails(rows: readonly EmailRow[], deliveries: readonly BatchDelivery[]): Map<string, Email> {
  const deliveriesByEmail = Map.groupBy(deliveries, (delivery) => delivery.email_id);
  return new Map(
    rows.map((row) => {
      const pending = new Set(deliveriesByEmail.get(row.id)?.map(({ id }) => id));
      return [row.id, { row, pending, composed: [] }];
    }),
  );
}

/**
 * Opens a batch, which may be under way for minutes: each message is signed with the keys that its domain has when it
 * is requested.
 */
export function openBatch({ deliveries, rows, domains, returnPathMac, make }: BatchOptions): Batch {
  const emails = buildEmails(rows, deliveries);
  /** The keys that signed the message of each delivery. */
  const signedWith = new Map<string, string>();

  return {
    returnPath(emailId, destination) {
      const domain = findDomain(emailId)?.returnPathDomain;
      return domain && chooseSender(emails.get(emailId)?.row, destination, { emailId, domain, mac: returnPathMac });
    },
    sendingDomain: (emailId) => findDomain(emailId)?.name,
    unverifiedDomain(emailId) {
      const domain = findDomain(emailId);
      return domain?.isUnverified ? domain.name : undefined;
    },
    async message({ id, email_id: emailId }, signal) {
      for (;;) {
        if (!domains.isFresh()) await domains.refresh();
        const { made, signedBy } = compose(emailId, signal);
        signedWith.set(id, signedBy);
        const { message } = await made;
        // Composing may have waited for memory, and the keys may have changed.
        if (!domains.isFresh()) await domains.refresh();
        if (mustSign(emailId).domain.signedBy === signedBy) return message;
      }
    },
    recheck(delivery) {
      if (domains.isFresh()) return mustStand(delivery);
      return domains.refresh().then(() => mustStand(delivery));
    },
    release({ id, email_id: emailId }) {
      signedWith.delete(id);
      const email = emails.get(emailId);
      if (!email?.pending.delete(id) || email.pending.size > 0) return;
      for (const { made } of email.composed.splice(0)) {
        made.then(
          ({ release }) => release(),
          () => undefined,
        );
      }
    },
  };

  function findDomain(emailId: string): SigningDomain | undefined {
    return domains.get(emails.get(emailId)?.row.domain_id ?? '');
  }

  function mustSign(emailId: string): { email: Email; domain: SigningDomain } {
    const email = emails.get(emailId);
    const domain = findDomain(emailId);
    if (!email || !domain) throw new DomainRemoved(`the domain of email ${emailId} is gone`);
    if (domain.isUnverified) throw new DomainUnverified(domain.name);
    return { email, domain };
  }

  /** Composes an email once for all its deliveries, as long as the same keys sign it. */
  function compose(emailId: string, signal: AbortSignal): Composed {
    const { email, domain } = mustSign(emailId);
    const latest = email.composed.at(-1);
    if (latest?.signedBy === domain.signedBy) return latest;
    const version = { made: make(email.row, domain, signal), signedBy: domain.signedBy };
    email.composed.push(version);
    return version;
  }

  function mustStand({ id, email_id: emailId }: BatchDelivery): undefined {
    const { signedBy } = mustSign(emailId).domain;
    if ((signedWith.get(id) ?? signedBy) === signedBy) return;
    throw new KeysChanged(`the keys of email ${emailId} have changed`);
  }
}

export interface Composer {
  /** Reads the rows of a batch of deliveries in a few statements; messages are composed only on demand. */
  open(deliveries: readonly BatchDelivery[]): Promise<Batch>;
}

export function createComposer(world: World): Composer {
  const signingDomains = createSigningDomains(world);
  const make = createMakeMessage(world);
  const returnPathMac = (bytes: Buffer): Buffer => world.secrets.mac('return path', bytes);

  return {
    async open(deliveries) {
      const [rows, domains] = await Promise.all([
        emailRowsByIds(world.db, [...new Set(deliveries.map((delivery) => delivery.email_id))]),
        signingDomains([...new Set(deliveries.map((delivery) => delivery.domain_id))]),
      ]);
      return openBatch({ deliveries, rows, domains, returnPathMac, make });
    },
  };
}
