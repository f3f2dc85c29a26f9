/**
 * Templates: stored messages with variables. Changes go to a draft; sends use the version that was published last, which never
 * changes again. Rendering inserts each value once, escaped in HTML. Nothing here sends mail or knows recipients.
 */
export { messageFaults, readList } from './template-content.ts';
export {
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  publishTemplate,
  getTemplate,
  listTemplates,
  updateTemplate,
} from './templates.ts';
export {
  findNamedContent,
  findPublishedContent,
  findPublishedTemplate,
  findPublishedVersion,
  findVersionContent,
  type PublishedContent,
  type PublishedTemplate,
  type PublishedVersion,
} from './published-versions.ts';
export { findTemplate } from './templates.store.ts';
export { resolveTemplate, textTasks, readValues, valueFaults } from './resolve-template.ts';
