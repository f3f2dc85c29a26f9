/** Character references of HTML (`&amp;`, `&#8217;`): decodes them as browsers do, in text and in attributes. */
export { decodeAttribute, decodeAttributeIfKnown, decodeText, encodeAttribute } from './references.ts';
