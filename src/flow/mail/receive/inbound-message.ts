import type { Authentication, NotForwarded } from '../../../resources/received-emails/index.ts';
import type { Route } from './route-recipient.ts';

/** What the door has taken: the envelope, and the content byte for byte without what SMTP adds to carry it. */
export interface Arrival {
  /** The envelope sender; empty for notices. */
  mailFrom: string;
  routes: readonly Exclude<Route, { kind: 'none' }>[];
  raw: Buffer;
  /** `protocol` as RFC 3848 names it. */
  client: { address: string; name: string; protocol?: string };
  /**
   * A notice that this process brings itself: one of ours, or one that was judged where it came in. Its server speaks for
   * nobody in its From, and is not asked to.
   */
  isOwnNotice?: boolean;
}

/** A message for at least one team. */
export interface InboundMessage extends Omit<Arrival, 'routes'> {
  /** The addresses that were accepted, by the team they belong to. */
  teams: ReadonlyMap<string, readonly string[]>;
  authentication: Authentication | null;
  /** Teams that only want to be told. */
  withoutContent?: ReadonlySet<string>;
  /** Teams whose rule would have passed it on, and why it stays. */
  notForwarded?: ReadonlyMap<string, NotForwarded>;
  /** A virus was found: that it came is kept, and nothing of it. */
  hasVirus?: boolean;
}
