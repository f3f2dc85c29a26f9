/**
 * Pure rules of an inbox's conversations: to which thread a received message belongs, with what evidence. The rows are read
 * and written by the families that have them; the work is bounded whatever a stranger writes.
 */
export {
  answerLoopOf,
  LOOP_WINDOW_MS,
  type AnswerLoop,
  type Passed,
  whyNoAutomaticAnswer,
  type AutomaticAnswerAsk,
  type AutomaticAnswerCounts,
  type NoAutomaticAnswer,
} from './automatic-answers.ts';
export {
  participantsOf,
  readIncomingMail,
  senderProofOf,
  type InboxOfMail,
  type IncomingMail,
  type SenderProof,
  BY_SUBJECT_DAYS,
  idsToKeep,
  idsToKeepOfSent,
  idsToLookUp,
  subjectToKeep,
  subjectToLookUp,
  whichThread,
  type NewThreadReason,
  type ThreadCandidate,
  type ThreadChoice,
  type ThreadEvidence,
  type ThreadingRules,
} from './which-thread.ts';
