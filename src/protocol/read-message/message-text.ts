import { decodeAttribute, decodeText } from '../html-references/index.ts';

/**
 * Renders HTML as text for a terminal: its text in lines, links with their URL after them unless they lead to a place
 * in the same text, and a linked image as its alt text. HTML without any text becomes the alt texts of its images.
 * `<pre>` keeps its lines and their indentation. Comments, declarations (`<!doctype>`, `<?xml?>`, `<![if]>`), styles and
 * scripts are omitted.
 */
export function textOfHtml(html: string): string {
  const writer = new TextWriter(html);
  writer.readAll();
  return writer.finish();
}

/** Elements whose content is no text; without an end tag they go to the end. */
const HIDDEN = new Set(['head', 'script', 'style', 'title', 'template']);
const BLOCKS = new Set('p div tr table h1 h2 h3 h4 h5 h6 ul ol blockquote section header footer article'.split(' '));

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
  #isPreformatted = false;
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
    const start = this.#lines.findIndex((line) => line !== '');
    const end = this.#lines.findLastIndex((line) => line !== '');
    return start === -1 ? this.#pictures.join('\n') : this.#lines.slice(start, end + 1).join('\n');
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
    if (name === 'pre') return this.#setPreformatted(!isEnd);
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

  #setPreformatted(isPreformatted: boolean): void {
    this.#break(2);
    this.#isPreformatted = isPreformatted;
    // HTML §13.2.6.4.7: a line break directly after the start tag is no part of the content.
    if (isPreformatted) this.#at += /^\r?\n/.exec(this.#html.slice(this.#at, this.#at + 2))?.[0].length ?? 0;
  }

  #beginLink(attributes: string): void {
    // A nested link is part of the outer one for a reader, unless the outer one was never closed.
    if (this.#link && this.#link.words.length <= LINK_CHARS_MAX) return;
    const address = attributeIn(attributes, 'href').trim();
    this.#link = address === '' || address.startsWith('#') ? undefined : { address, words: '' };
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
    if (this.#isPreformatted) return this.#sayLines(decodeText(html).split(/\r\n|\r|\n/));
    // The no-break space is kept apart from other white space, which browsers show as one space however much there is.
    let text = decodeText(html)
      .replaceAll(/[^\S\u00A0]+/g, ' ')
      .replaceAll('\u00A0', ' ');
    if (text.startsWith(' ') && (this.#line.at(-1) ?? ' ').endsWith(' ')) text = text.slice(1);
    this.#append(text);
  }

  #sayLines(lines: readonly string[]): void {
    for (const [at, line] of lines.entries()) {
      if (at > 0) this.#lines.push(this.#takeLine());
      this.#append(line.replaceAll('\u00A0', ' '));
    }
  }

  #append(text: string): void {
    if (text === '') return;
    this.#line.push(text);
    if (this.#link && this.#link.words.length <= LINK_CHARS_MAX) this.#link.words += text;
  }

  /** Ends the current line. Empty lines between blocks never follow each other. */
  #break(lines: number): void {
    const line = this.#takeLine();
    if (line !== '') this.#lines.push(line);
    if ((line === '' || lines > 1) && (this.#lines.at(-1) ?? '') !== '') this.#lines.push('');
  }

  #takeLine(): string {
    const text = this.#line.join('').replaceAll(FILLER, ' ').replaceAll('\u00AD', '');
    this.#line = [];
    return this.#isPreformatted ? text.trimEnd() : text.trim();
  }

  #skipTo(mark: string, from: number): void {
    const found = this.#html.indexOf(mark, from);
    this.#at = found === -1 ? this.#html.length : found + mark.length;
  }
}

function attributeIn(attributes: string, name: keyof typeof ATTRIBUTES): string {
  const found = ATTRIBUTES[name].exec(attributes.slice(0, ATTRIBUTE_CHARS_MAX));
  return decodeAttribute(found?.[1] ?? found?.[2] ?? found?.[3] ?? '');
}

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
