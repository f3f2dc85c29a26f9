/** What all pages have in common: the document around their content, their colours, and the style of pages with forms. */
export { bdi, documentEnd, documentStart, renderDocument, formStyle, readingStyle, sourceOf } from './document.ts';
