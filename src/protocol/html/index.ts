/**
 * Reads HTML with one tokenizer, which follows HTML §13.2.5 and knows the position of everything in the source. Every
 * use of HTML here reads its tokens: tracked links, merge variables, checks of content, generated text, and quoted
 * mail.
 */
export { endOfBody, startOfBody } from './body-places.ts';
export { VOID } from './open-elements.ts';
export { HtmlTokenizer, type Region, type TokenKind, type ValuePlace } from './tokenizer.ts';
