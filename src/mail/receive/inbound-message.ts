import type { Authentication, NotForwarded } from '../received-emails/index.ts';
import type { MessageContent } from './message-content.ts';
import type { Route } from './route-recipient.ts';

/** A message from the port: the envelope and the content. */
export interface Arrival {
  /** The envelope sender; empty for notices. */
  mailFrom: string;
  routes: readonly Exclude<Route, { kind: 'none' }>[];
  content: MessageContent;
  /** `protocol` as RFC 3848 names it. */
  client: { address: string; name: string; protocol?: string };
  /**
   * A notice that this process delivers to itself: one of ours, or one that was screened when it came in. Screening always
   * keeps it.
   */
  isOwnNotice?: boolean;
}

/** An arrival whose content is in memory. */
export interface LoadedArrival extends Omit<Arrival, 'content'> {
  raw: Buffer;
}

/** A message for at least one team. */
export interface InboundMessage extends Omit<LoadedArrival, 'routes'> {
  /** The addresses that were accepted, by the team they belong to. */
  teams: ReadonlyMap<string, readonly string[]>;
  authentication: Authentication | null;
  /** Teams that get an event and store no content. */
  withoutContent?: ReadonlySet<string>;
  /** Teams whose rule would forward it, and why it is not forwarded. */
  notForwarded?: ReadonlyMap<string, NotForwarded>;
  /** It may hold a token of a person, which no team reads: only that the message came is stored. */
  isAccountMail?: boolean;
  /** A virus was found: only that the message came is stored. */
  hasVirus?: boolean;
}
