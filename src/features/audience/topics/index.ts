/**
 * Topics: what a team writes about, and which of it a contact wants. It promises that a contact's own choice goes before the
 * topic's default, and that every choice leaves a consent record.
 */
export { createTopic } from './create-topic.ts';
export { deleteTopic } from './delete-topic.ts';
export { getTopic, listTopics } from './read-topics.ts';
export { updateTopic } from './update-topic.ts';
export { readChoices, type Choice } from './read-choices.ts';
export { CONFIRMATION_URL } from './confirmation.ts';
export {
  countConfirmationMail,
  removeOldConfirmationMails,
  uncountConfirmationMail,
} from './confirmation-mails.store.ts';
export {
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
