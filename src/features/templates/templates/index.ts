/**
 * Templates: stored messages with variables. Changes go to a draft; sends use the version that was published last, which never
 * changes again. Rendering inserts each value once, escaped in HTML. Nothing here sends mail or knows recipients.
 */
export { messageFaults, readList } from './content.ts';
export { createTemplate } from './create-template.ts';
export { deleteTemplate } from './delete-template.ts';
export { duplicateTemplate } from './duplicate-template.ts';
export { publishTemplate } from './publish-template.ts';
export { getTemplate, listTemplates } from './read-templates.ts';
export {
  findNamedContent,
  findPublishedContent,
  findPublishedTemplate,
  findPublishedVersion,
  findVersionContent,
  type PublishedContent,
  type PublishedTemplate,
} from './find-published-version.ts';
export { findTemplate } from './templates.store.ts';
export {
  resolveTemplate,
  textTasks,
  type MergedTemplate,
  type ResolvedTemplate,
  type TemplateUse,
} from './resolve-template.ts';
export { readValues, valueFaults } from './read-values.ts';
export type { PublishedVersion } from './published-versions.ts';
export { updateTemplate } from './update-template.ts';
