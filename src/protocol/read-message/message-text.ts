const ENTITIES: Record<string, string> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', ndash: '–', mdash: '—', hellip: '…' },
  ...{ laquo: '«', raquo: '»', copy: '©', reg: '®', euro: '€', middot: '·', bull: '•', zwnj: '', shy: '' },
};
const CODE_POINT_MAX = 0x10ffff;

/**
 * Renders HTML as text for a terminal: its text in lines, links with their URL after them, and a linked image as its
 * alt text. HTML that shows images alone is the alt texts of them. Comments, declarations (`<!doctype>`, `<?xml?>`, `<![if]>`), styles and scripts are omitted.
 */
export function textOfHtml(html: string): string {
  const writer = new TextWriter(html);
  writer.readAll();
  return writer.finish();
}

/** Elements whose content is no text; without an end tag they go to the end. */
const HIDDEN = new Set(['head', 'script', 'style', 'title', 'template']);
const BLOCKS = new Set(
  'p div tr table h1 h2 h3 h4 h5 h6 ul ol blockquote section header footer pre article'.split(' '),
);

/**
 * Matches a tag from its name on; quoted values may contain brackets. Each part is bounded by what follows it, and the
 * number of quoted values is limited, so that a text made of beginnings of tags takes linear time.
 */
const TAG = /<(\/?)([a-z][a-z0-9:-]*)([^<>"']*(?:(?:"[^"]*"|'[^']*')[^<>"']*){0,100})>/iy;
const ATTRIBUTES = {
  href: /(?:^|[\s"'/])href\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s<>]+))/i,
  alt: /(?:^|[\s"'/])alt\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s<>]+))/i,
};
const ATTRIBUTE_CHARS_MAX = 16 * 1024;
/** Longer text is not the caption of a link, but follows a link that was never closed. */
const LINK_CHARS_MAX = 500;

/** A row of characters without width, with which mail keeps its body out of the preview next to the subject. */
const FILLER = /(?:(?:\u034F|[\u00AD\u200B-\u200F\uFEFF])[ \u00A0\u2007]*){3,}/g;

class TextWriter {
  readonly #html: string;
  #at = 0;
  readonly #lines: string[] = [];
  /** The text of the current line. */
  #line: string[] = [];
  #link: { address: string; words: string } | undefined;
  /** The alt texts of images that are no links. */
  readonly #pictures: string[] = [];

  constructor(html: string) {
    this.#html = html;
  }

  readAll(): void {
    while (this.#at < this.#html.length) this.#step();
  }

  finish(): string {
    this.#break(1);
    const text = this.#lines
      .join('\n')
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim();
    return text === '' ? this.#pictures.join('\n') : text;
  }

  #step(): void {
    const html = this.#html;
    const at = this.#at;
    const next = html.indexOf('<', at);
    if (next !== at) {
      this.#at = next === -1 ? html.length : next;
      return this.#say(html.slice(at, this.#at));
    }
    if (html.startsWith('<!--', at)) return this.#skipTo('-->', at + 4);
    if (html[at + 1] === '!' || html[at + 1] === '?') return this.#skipTo('>', at + 2);
    TAG.lastIndex = at;
    const tag = TAG.exec(html);
    if (!tag) {
      this.#at = at + 1;
      return this.#say('<');
    }
    this.#at = TAG.lastIndex;
    this.#readTag((tag[2] ?? '').toLowerCase(), tag[1] === '/', tag[3] ?? '');
  }

  #readTag(name: string, isEnd: boolean, attributes: string): void {
    if (name === 'a') return isEnd ? this.#endLink() : this.#beginLink(attributes);
    if (BLOCKS.has(name)) return this.#break(2);
    if (name === 'td' || name === 'th') return isEnd ? void this.#line.push('  ') : undefined;
    if (isEnd) return;
    if (name === 'br' || name === 'hr') this.#break(1);
    else if (name === 'li') {
      this.#break(1);
      this.#line.push('- ');
    } else if (name === 'img') {
      const alt = attributeIn(attributes, 'alt').trim();
      if (this.#link) this.#say(alt);
      else if (alt !== '') this.#pictures.push(alt.replaceAll(/\s+/g, ' '));
    } else if (HIDDEN.has(name)) {
      const end = new RegExp(`</${name}\\s*>`, 'gi');
      end.lastIndex = this.#at;
      this.#at = end.exec(this.#html) ? end.lastIndex : this.#html.length;
    }
  }

  #beginLink(attributes: string): void {
    // A nested link is part of the outer one for a reader, unless the outer one was never closed.
    if (this.#link && this.#link.words.length <= LINK_CHARS_MAX) return;
    const address = attributeIn(attributes, 'href').trim();
    this.#link = address === '' ? undefined : { address, words: '' };
  }

  #endLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (!link || link.words.length > LINK_CHARS_MAX || link.words.trim() === link.address) return;
    for (let last = this.#line.pop(); last !== undefined; last = this.#line.pop()) {
      const kept = last.trimEnd();
      if (kept === '') continue;
      this.#line.push(kept);
      break;
    }
    this.#line.push(` (${link.address})`);
  }

  #say(html: string): void {
    let text = decoded(html.replaceAll(/\s+/g, ' '));
    if (text.startsWith(' ') && (this.#line.at(-1) ?? ' ').endsWith(' ')) text = text.slice(1);
    if (text === '') return;
    this.#line.push(text);
    if (this.#link && this.#link.words.length <= LINK_CHARS_MAX) this.#link.words += text;
  }

  #break(lines: number): void {
    this.#lines.push(this.#line.join('').replaceAll(FILLER, ' ').trim());
    this.#line = [];
    if (lines > 1) this.#lines.push('');
  }

  #skipTo(mark: string, from: number): void {
    const found = this.#html.indexOf(mark, from);
    this.#at = found === -1 ? this.#html.length : found + mark.length;
  }
}

function attributeIn(attributes: string, name: keyof typeof ATTRIBUTES): string {
  const found = ATTRIBUTES[name].exec(attributes.slice(0, ATTRIBUTE_CHARS_MAX));
  return decoded(found?.[1] ?? found?.[2] ?? found?.[3] ?? '');
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
