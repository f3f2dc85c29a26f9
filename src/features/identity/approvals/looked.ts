import type { ApprovalContent } from '../../../contract/index.ts';
import type { HeldFile, ProposedCall } from './proposed-call.ts';

export type Content = Omit<ApprovalContent, 'is_changed'>;

/** Content that a call names and does not contain, at one moment. */
export interface Looked {
  content: Content;
  /** Size of the content as JSON. */
  bytes: number;
  /** Covers everything that is shown and must be the same when the call is made. */
  hash: string;
  /** The ids of what is shown, and of what decides who gets it. */
  ids: string[];
}

/** Reads what a person sees of a call before the decision. */
export type Look = (call: ProposedCall, files: readonly HeldFile[]) => Promise<Looked>;

/** A call with more content cannot wait, because what is not shown cannot be approved. */
export const CONTENT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Used instead of an id: a file of contacts may be for any segment, and any change of a contact may add it to a
 * filtered segment.
 */
export const ANY_CONTACTS = 'any contacts';
export const FILTERED = 'contacts of a filter';
/**
 * Used instead of an id: fallbacks, sender name and postal address, which every broadcast contains until it is sent or
 * scheduled.
 */
export const BROADCAST_TEXTS = 'texts of broadcasts';

/**
 * Returns whether a broadcast would reach more contacts than the person was shown. Contacts sign up all the time, so a
 * growth by a tenth, rounded up, is accepted.
 */
export const hasGrown = (before: number | null, now: number | undefined): boolean =>
  before !== null && now !== undefined && now > before + Math.ceil(before / 10);
