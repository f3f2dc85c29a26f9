/**
 * Templates: stored messages with variables. What is written is a draft; sends use the version that was published last,
 * which never changes again. Rendering puts values in once, escaped in html. It sends nothing and knows no recipient.
 */
export { createTemplate } from './create-template.ts';
export { deleteTemplate } from './delete-template.ts';
export { duplicateTemplate } from './duplicate-template.ts';
export { publishTemplate } from './publish-template.ts';
export { getTemplate, listTemplates } from './read-templates.ts';
export { findPublishedVersion } from './find-published-version.ts';
export { resolveTemplate, type ResolvedTemplate, type TemplateUse } from './resolve-template.ts';
export { updateTemplate } from './update-template.ts';
