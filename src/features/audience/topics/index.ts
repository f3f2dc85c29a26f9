/**
 * Topics: what a team writes about, and which of it a contact wants. It promises that a contact's own choice goes before the
 * topic's default, and that every choice leaves a consent record.
 */
export {
  createTopic,
  deleteTopic,
  getTopic,
  listTopics,
  updateTopic,
  readChoices,
  type Choice,
  CONFIRMATION_URL,
} from './topics.ts';
export {
  countConfirmationMail,
  removeOldConfirmationMails,
  uncountConfirmationMail,
  confirmationsOf,
  dueConfirmations,
  forgetConfirmations,
  noteConfirmationMailed,
  removeConfirmationsOf,
  writeConfirmations,
  type ConfirmationRow,
} from './confirmations.store.ts';
export {
  choicesOf,
  findTopic,
  liveTopics,
  listTopicRows,
  removeChoicesOf,
  writeChoices,
  type ChoiceRow,
  type TopicRow,
} from './topics.store.ts';
