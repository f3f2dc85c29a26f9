import { HtmlTokenizer, type TokenKind } from '../html/index.ts';
import { decodeAttribute, decodeText } from '../html-references/index.ts';

/**
 * Renders HTML as text for a terminal: its text in lines, links with their URL after them unless they lead to a place
 * in the same text, and a linked image as its alt text. HTML without any text becomes the alt texts of its images.
 * `<pre>` keeps its lines and their indentation, and each line of a `<blockquote>` begins with `>` for each level.
 * Comments, declarations (`<!doctype>`, `<?xml?>`, `<![if]>`), styles and
 * scripts are omitted; with `hasImages: false` images are, too.
 */
export function textOfHtml(html: string, { hasImages = true } = {}): string {
  const writer = new TextWriter(html, hasImages);
  writer.readAll();
  return writer.finish();
}

/**
 * Elements whose content no reader shows; without an end tag they go to the end. A head is not among them: whatever is text in
 * it belongs to the body (HTML §13.2.6.4.4).
 */
const HIDDEN = 'script style title template iframe noembed noframes'.split(' ');
const BLOCKS = 'p div tr table h1 h2 h3 h4 h5 h6 ul ol section header footer article'.split(' ');
/** The effect of an element on the text; elements not listed have none. */
const EFFECTS = new Map<string, 'hidden' | 'block' | 'line' | 'cell' | 'item' | 'link' | 'pre' | 'image' | 'quote'>([
  ...HIDDEN.map((name) => [name, 'hidden'] as const),
  ...BLOCKS.map((name) => [name, 'block'] as const),
  ['br', 'line'],
  ['hr', 'line'],
  ['td', 'cell'],
  ['th', 'cell'],
  ['li', 'item'],
  ['a', 'link'],
  ['pre', 'pre'],
  ['img', 'image'],
  ['blockquote', 'quote'],
]);
/** Deeper levels of quotes get no more marks. */
const QUOTE_MARKS_MAX = 30;
/** A longer text is not the caption of a link, but follows a link that was never closed. */
const LINK_CHARS_MAX = 500;

/** A row of zero-width characters, with which senders keep the body out of the preview next to the subject. */
const FILLER = /(?:(?:\u034F|[\u00AD\u200B-\u200F\uFEFF])[ \u00A0\u2007]*){3,}/g;

class TextWriter {
  readonly #tokens: HtmlTokenizer;
  readonly #hasImages: boolean;
  /** The element that is being omitted, and the depth of the SVG that it is in, which ends it too. */
  #hidden: string | undefined;
  #hiddenDepth = 0;
  readonly #lines: { text: string; depth: number }[] = [];
  #quoteDepth = 0;
  /** The text of the current line. */
  #line: string[] = [];
  #link: { address: string; words: string } | undefined;
  #isPreformatted = false;
  /** Start of the content of a `<pre>`. */
  #preStart = -1;
  /** The alt texts of images that are not links. */
  readonly #pictures: string[] = [];

  constructor(html: string, hasImages: boolean) {
    this.#tokens = new HtmlTokenizer(html);
    this.#hasImages = hasImages;
  }

  readAll(): void {
    const tokens = this.#tokens;
    let depth = 0;
    for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
      const outerDepth = Math.min(depth, tokens.foreignDepth);
      depth = tokens.foreignDepth;
      if (outerDepth < this.#hiddenDepth) this.#hidden = undefined;
      if (this.#hidden === undefined) this.#hiddenDepth = outerDepth;
      if (this.#hidden !== undefined) this.#readHidden(kind);
      else if (kind === 'text' || kind === 'cdata') this.#readText(tokens.text);
      else if (kind === 'start tag') this.#readStartTag(tokens.name);
      else if (kind === 'end tag') this.#readEndTag(tokens.name);
    }
  }

  finish(): string {
    this.#break(1);
    const start = this.#lines.findIndex(({ text }) => text !== '');
    const end = this.#lines.findLastIndex(({ text }) => text !== '');
    if (start === -1) return this.#pictures.join('\n');
    const lines = this.#lines.slice(start, end + 1);
    return lines
      .map(({ text, depth }, at) => markQuoted(text, text === '' ? depthOfBlank(lines, at) : depth))
      .join('\n');
  }

  #readHidden(kind: TokenKind): void {
    if (kind === 'end tag' && this.#tokens.name === this.#hidden) this.#hidden = undefined;
  }

  #readText(html: string): void {
    // HTML §13.2.6.4.7: a line break directly after the start tag is not content.
    this.#write(this.#preStart === this.#tokens.start ? html.replace(/^\r?\n/, '') : html);
  }

  #readStartTag(name: string): void {
    switch (EFFECTS.get(name)) {
      case 'hidden':
        if (!(this.#tokens.isSelfClosing && this.#tokens.isForeign)) this.#hidden = name;
        return;
      case 'link':
        return this.#beginLink();
      case 'pre':
        return this.#setPreformatted(true);
      case 'block':
        return this.#break(2);
      case 'quote':
        this.#break(2);
        this.#quoteDepth++;
        return;
      case 'line':
        return this.#break(1);
      case 'item':
        this.#break(1);
        this.#line.push('- ');
        return;
      case 'image':
        return this.#readImage();
      default:
    }
  }

  #readImage(): void {
    if (!this.#hasImages) return;
    const alt = decodeAttribute(this.#tokens.readAttribute('alt')).trim();
    if (this.#link) this.#write(alt);
    else if (alt !== '') this.#pictures.push(alt.replaceAll(/\s+/g, ' '));
  }

  #readEndTag(name: string): void {
    switch (EFFECTS.get(name)) {
      case 'link':
        return this.#endLink();
      case 'pre':
        return this.#setPreformatted(false);
      case 'block':
        return this.#break(2);
      case 'quote':
        this.#break(2);
        this.#quoteDepth = Math.max(0, this.#quoteDepth - 1);
        return;
      case 'cell':
        this.#line.push('  ');
        return;
      default:
    }
  }

  #setPreformatted(isPreformatted: boolean): void {
    this.#break(2);
    this.#isPreformatted = isPreformatted;
    if (isPreformatted) this.#preStart = this.#tokens.end;
  }

  #beginLink(): void {
    // A nested link is part of the outer one for a reader, unless the outer one was never closed.
    if (this.#link && this.#link.words.length <= LINK_CHARS_MAX) return;
    const address = decodeAttribute(this.#tokens.readAttribute('href')).trim();
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

  #write(html: string): void {
    if (this.#isPreformatted) return this.#writeLines(decodeText(html).split(/\r\n|\r|\n/));
    // The no-break space is treated separately from other white space, of which browsers collapse any amount into one
    // space.
    let text = decodeText(html)
      .replaceAll(/[^\S\u00A0]+/g, ' ')
      .replaceAll('\u00A0', ' ');
    if (text.startsWith(' ') && (this.#line.at(-1) ?? ' ').endsWith(' ')) text = text.slice(1);
    this.#append(text);
  }

  #writeLines(lines: readonly string[]): void {
    for (const [at, line] of lines.entries()) {
      if (at > 0) this.#push(this.#takeLine());
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
    if (line !== '') this.#push(line);
    if ((line === '' || lines > 1) && (this.#lines.at(-1)?.text ?? '') !== '') this.#push('');
  }

  #push(text: string): void {
    this.#lines.push({ text, depth: this.#quoteDepth });
  }

  #takeLine(): string {
    const text = this.#line.join('').replaceAll(FILLER, ' ').replaceAll('\u00AD', '');
    this.#line = [];
    return this.#isPreformatted ? text.trimEnd() : text.trim();
  }
}

/** Puts the marks of RFC 3676 §4.5 before a line. */
function markQuoted(text: string, depth: number): string {
  if (depth === 0) return text;
  const marks = '>'.repeat(Math.min(depth, QUOTE_MARKS_MAX));
  return text === '' || text.startsWith('>') ? `${marks}${text}` : `${marks} ${text}`;
}

/** Returns the depth of a blank line: that of the less deeply quoted of its neighbors. */
const depthOfBlank = (lines: readonly { depth: number }[], at: number): number =>
  Math.min(lines[at - 1]?.depth ?? 0, lines[at]?.depth ?? 0, lines[at + 1]?.depth ?? 0);

export interface Signer {
  domain: string;
  selector: string;
  algorithm: string;
}

/** Returns the claimed signers of a message, from the DKIM-Signature fields in its head. It verifies nothing. */
export function listSigners(message: Buffer): Signer[] {
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
