/**
 * What is wrong with the content of a campaign before it goes out to many, told from its texts alone: no link is visited and
 * no picture fetched. Hostile HTML is read as a browser's tokenizer reads it, in time that grows with its length.
 */
export {
  checkContent,
  showsAddress,
  VARIABLES_MAX,
  type CheckedContent,
  type CheckName,
  type ContentCheck,
} from './check-content.ts';
