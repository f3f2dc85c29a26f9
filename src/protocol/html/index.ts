/**
 * Reading HTML: one tokenizer, which follows HTML §13.2.5 and knows where everything stands in the source. Whatever looks at
 * HTML here looks at its tokens: tracked links, merge variables, checks of content, generated text, and mail that is quoted.
 */
export { endOfBody, startOfBody } from './body-places.ts';
export { HtmlTokenizer, type Region, type TokenKind, type ValuePlace } from './tokenizer.ts';
