const ELEMENT = /<(?:img|source)[\t\n\f\r /]/i;
const ATTRIBUTE = /(?:background|srcset)[\t\n\f\r ]*=/i;
const STYLE = /(?:url|image-set)\(/i;
const ADDRESS = /https?:|\/\//i;

/** Whether it is worth offering to load remote images: a guess that would rather offer once too often. */
export const mayLoadImages = (html: string): boolean =>
  ADDRESS.test(html) && (ELEMENT.test(html) || ATTRIBUTE.test(html) || STYLE.test(html));
