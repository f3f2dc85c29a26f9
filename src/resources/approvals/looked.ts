import type { ApprovalContent } from '../../contract/index.ts';
import type { HeldFile, ProposedCall } from './proposed-call.ts';

export type Content = Omit<ApprovalContent, 'is_changed'>;

/** What a call names and does not hold itself, at one moment. */
export interface Looked {
  content: Content;
  /** Bytes of the content as JSON. */
  bytes: number;
  /** Of all that a person is shown and that must not be another thing when the call is made. */
  hash: string;
  /** The ids of what is shown, and of what decides who gets it. */
  ids: string[];
}

/** Reads what a person is shown of a call before they decide, for whoever asks. */
export type Look = (call: ProposedCall, files: readonly HeldFile[]) => Promise<Looked>;

/** A call that names more cannot wait: what is not shown cannot be approved. */
export const CONTENT_BYTES_MAX = 8 * 1024 * 1024;

/** Instead of an id: a file of contacts may be for any segment, and whatever changes of a contact may put it into a filtered one. */
export const ANY_CONTACTS = 'any contacts';
export const FILTERED = 'contacts of a filter';
/** Instead of an id: fallbacks, sender name and postal address, which every broadcast says until it is sent or scheduled. */
export const BROADCAST_TEXTS = 'texts of broadcasts';

/**
 * Whether a broadcast would reach more than a person could expect of what they were shown. Contacts sign up all the time, so
 * that a tenth more, and at least one, is no other audience.
 */
export const hasGrown = (before: number | null, now: number | undefined): boolean =>
  before !== null && now !== undefined && now > before + Math.ceil(before / 10);
