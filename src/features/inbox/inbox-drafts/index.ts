/**
 * Mail that is being written in an inbox: what is kept of it, what is answered of it, and its rules. What is fetched for it
 * and how it is sent is flow/inbox.
 */
export { recordDraftEvent } from './draft-event.ts';
export { deleteDraft, getDraft, listDrafts, mustFindDraft } from './drafts.ts';
export { draftForEvent } from './present.ts';
export {
  addressesIn,
  EMPTY_DRAFT,
  mustFit,
  mustFitWith,
  readDraftContent,
  readDraftFiles,
  type DraftContent,
} from './read-draft-input.ts';
