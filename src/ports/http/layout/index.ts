/**
 * The common parts of all pages are the document around their content, their colors, and the style of pages with forms.
 */
export { bdi, documentEnd, documentStart, renderDocument, formStyle, readingStyle, hashStyle } from './document.ts';
