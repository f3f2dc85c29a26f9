/**
 * Where programs mark in HTML what they quote: Gmail, Thunderbird, Apple Mail, Outlook of three kinds, Yahoo, Proton, Zoho,
 * GMX, mail.ru, Yandex.
 */
const MARKS =
  /<(?:div|blockquote|hr|p|table|span)\b[^<>]{0,500}?(?:class\s{0,5}=\s{0,5}["']?[^"'<>]{0,200}?\b(?:gmail_quote|gmail_attr|moz-cite-prefix|yahoo_quoted|protonmail_quote|zmail_extra|tutanota_quote)\b|id\s{0,5}=\s{0,5}["']?(?:divRplyFwdMsg|appendonsend|mail-editor-reference-message-container|OLK_SRC_BODY_SECTION|reply-intro|yahoo_quoted|ms-outlook-mobile-body-separator-line)|name\s{0,5}=\s{0,5}["']?quote\b|type\s{0,5}=\s{0,5}["']?cite\b)/i;

/** HTML up to the first quote that is marked; where something is written behind it, its text goes with it. */
export function dropsQuoteOfHtml(html: string): string {
  const at = MARKS.exec(html)?.index ?? -1;
  return at < 0 ? html : html.slice(0, at);
}
