/**
 * Mail that is being written in an inbox: what is kept of it, what is answered of it, and its rules. What is fetched for it
 * and how it is sent is `features/inbox/composing`.
 */
export {
  recordDraftEvent,
  deleteDraft,
  getDraft,
  listDrafts,
  mustFindDraft,
  draftForEvent,
  addressesIn,
  EMPTY_DRAFT,
  mustFit,
  mustFitWith,
  readDraftContent,
  readDraftFiles,
  type DraftContent,
} from './inbox-drafts.ts';
