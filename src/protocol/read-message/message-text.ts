const ENTITIES: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', ndash: '–', mdash: '—', hellip: '…' },
  ...{ laquo: '«', raquo: '»', copy: '©', reg: '®', euro: '€', middot: '·', bull: '•', zwnj: '', shy: '' },
};
const CODE_POINT_MAX = 0x10ffff;

/** HTML as somebody reads it at a terminal: its text in lines, links with their address behind them. */
export function textOfHtml(html: string): string {
  const visible = html
    .replaceAll(/<!--[^]*?(?:-->|$)/g, '')
    .replaceAll(/<(head|style|script|title|template)\b[^]*?(?:<\/\1\s*>|$)/gi, '')
    .replaceAll(/\s+/g, ' ');
  const text = withAddresses(visible)
    .replaceAll(/<li\b[^<>]*>/gi, '\n- ')
    .replaceAll(/<(?:br|hr)\b[^<>]*>/gi, '\n')
    .replaceAll(/<\/(?:t[dh])\s*>/gi, '  ')
    .replaceAll(/<\/?(?:p|div|tr|table|h[1-6]|ul|ol|blockquote|section|header|footer|pre|article)\b[^<>]*>/gi, '\n\n')
    .replaceAll(/<\/?[a-z][^<>]*>/gi, '');
  return decoded(text)
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

const HREF = /\bhref\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s<>]+))/i;
const LINK_CHARS_MAX = 500;

/** Tag by tag: one pattern for a whole link takes time by the square of a text that is made for it. */
function withAddresses(html: string): string {
  const parts: string[] = [];
  const closings = /<\/a\s*>/gi;
  let closing = closings.exec(html);
  let from = 0;
  for (const { 0: tag, index } of html.matchAll(/<a\b[^<>]*>/gi)) {
    const begin = index + tag.length;
    while (closing && closing.index < begin) closing = closings.exec(html);
    if (!closing) break;
    const href = index < from || closing.index - begin > LINK_CHARS_MAX ? null : HREF.exec(tag);
    if (!href) continue;
    const address = (href[1] ?? href[2] ?? href[3] ?? '').trim();
    parts.push(html.slice(from, index), linked(address, html.slice(begin, closing.index).trim()));
    from = closing.index + closing[0].length;
  }
  return parts.join('') + html.slice(from);
}

const linked = (address: string, text: string): string =>
  address === '' || decoded(text).trim() === decoded(address) ? text : `${text} (${address})`;

const decoded = (text: string): string =>
  text.replaceAll(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));/gi, (entity, hex, decimal, name) => {
    if (typeof name === 'string') return ENTITIES[name.toLowerCase()] ?? entity;
    const code = typeof hex === 'string' ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= CODE_POINT_MAX ? String.fromCodePoint(code) : '\uFFFD';
  });

export interface Signer {
  domain: string;
  selector: string;
  algorithm: string;
}

/** Who says to have signed a message, by the DKIM-Signature fields at its head. */
export function signersOf(message: Buffer): Signer[] {
  const end = message.indexOf('\r\n\r\n');
  const head = message
    .subarray(0, end === -1 ? undefined : end)
    .toString('latin1')
    .replaceAll(/\r\n[\t ]+/g, ' ');
  return head
    .split('\r\n')
    .filter((line) => /^dkim-signature:/i.test(line))
    .map((line) => {
      const tag = (name: string): string => new RegExp(`[:;]\\s*${name}=\\s*([^\\s;]+)`, 'i').exec(line)?.[1] ?? '?';
      return { domain: tag('d'), selector: tag('s'), algorithm: tag('a') };
    });
}
