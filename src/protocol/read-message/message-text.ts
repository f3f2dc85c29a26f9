const ENTITIES: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', ndash: '–', mdash: '—', hellip: '…' },
  ...{ laquo: '«', raquo: '»', copy: '©', reg: '®', euro: '€', middot: '·', bull: '•', zwnj: '', shy: '' },
};
const CODE_POINT_MAX = 0x10ffff;

/** HTML as somebody reads it at a terminal: its text in lines, links with their address behind them. */
export function textOfHtml(html: string): string {
  const text = html
    .replaceAll(/<!--[^]*?(?:-->|$)/g, '')
    .replaceAll(/<(head|style|script|title|template)\b[^]*?(?:<\/\1\s*>|$)/gi, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<a\b[^<>]*?\bhref\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s<>]+))[^<>]*>(.{0,500}?)<\/a\s*>/gi, linked)
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

function linked(_all: string, double?: string, single?: string, bare?: string, inside = ''): string {
  const address = (double ?? single ?? bare ?? '').trim();
  const text = inside.trim();
  return address === '' || decoded(text).trim() === decoded(address) ? text : `${text} (${address})`;
}

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
