import { HtmlTokenizer, type ValuePlace } from '../html/index.ts';
import { decodeAttributeIfKnown, encodeAttribute } from '../html-references/index.ts';

/** The position of a link's target: the value of its `href` without the quotes. */
type LinkPlace = ValuePlace;

interface Scan {
  links: LinkPlace[];
  /** Before the last `</body>`, or else at the end of what a browser would show. */
  pixelAt: number;
  /** Number of characters read, so that a test can check that the work is linear. */
  read: number;
}

/** An element's start tag: its attributes by name in lower case, with their raw values. */
export interface StartTag {
  name: string;
  attributes: ReadonlyMap<string, string>;
}

const CDATA_START = '<![CDATA[';
const CDATA_END = ']]>';

/**
 * Finds the links of an HTML text. Links between `<![CDATA[` and `]]>` are left alone: a browser parses them outside of
 * SVG and MathML, but a mail program that takes the text for XML does not.
 */
export function scanHtml(html: string): Scan {
  const tokens = new HtmlTokenizer(html);
  const links: LinkPlace[] = [];
  let bodyEnd = -1;
  let cdataStart = 0;
  let cdataEnd = 0;
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    if (tokens.start < cdataEnd) continue;
    if (kind === 'start tag') {
      const link = findLink(tokens);
      if (link !== undefined) links.push(link);
    } else if (kind === 'end tag') {
      if (tokens.name === 'body') bodyEnd = tokens.start;
    } else if (kind === 'declaration' && html.startsWith(CDATA_START, tokens.start)) {
      cdataStart = tokens.start;
      cdataEnd = html.indexOf(CDATA_END, cdataStart);
      if (cdataEnd < 0) cdataEnd = html.length + 1;
    }
  }
  const { openAt } = tokens;
  const end = openAt < cdataEnd ? cdataStart : openAt;
  return { links, pixelAt: bodyEnd < 0 ? end : bodyEnd, read: tokens.charsRead };
}

/** Returns the position of the link's target if it is followed and not opted out. */
function findLink(tokens: HtmlTokenizer): LinkPlace | undefined {
  if (tokens.name !== 'a' && tokens.name !== 'area') return undefined;
  if (tokens.findAttribute('data-rasket-no-track') !== undefined) return undefined;
  return /^off$/i.test(tokens.readAttribute('clicktracking')) ? undefined : tokens.findAttribute('href');
}

export interface TrackOptions {
  /**
   * Returns the address to write for a target, undefined to keep it; without this function all links stay as they are.
   */
  link?: (target: string) => string | undefined;
  /** The address of the pixel; without it there is no pixel. */
  pixel?: string;
}

/** Many servers refuse a request line of more than 8 KB, and base64 adds a third. */
const TARGET_BYTES_MAX = 4096;
/** Each costs a MAC and some hundred bytes; any further links of a page stay as they are. */
export const LINKS_MAX = 5000;

/** A page is scanned in one go; a longer one, which no reader shows whole, is sent unchanged. */
export const HTML_CHARS_MAX = 2 * 1024 * 1024;

/** The positions of the web addresses that a page links to, and of its pixel; plain data. */
export interface Targets {
  links: { start: number; end: number; target: string }[];
  pixelAt: number;
}

/**
 * Finds the targets of links; other schemes are omitted. There may be more than are rewritten, because some stay as
 * they are.
 */
export function findTargets(html: string): Targets {
  const { links, pixelAt } = scanHtml(html);
  const found: Targets = { links: [], pixelAt };
  for (const { start, end } of links) {
    if (found.links.length >= 2 * LINKS_MAX) break;
    const target = readTarget(html.slice(start, end));
    if (target !== undefined) found.links.push({ start, end, target });
  }
  return found;
}

/** Changes only targets of links and inserts the pixel; every other byte stays. */
export function trackHtml(html: string, { link, pixel }: TrackOptions): string {
  if (html.length > HTML_CHARS_MAX) return html;
  const { links, pixelAt } = findTargets(html);
  const addresses: (string | undefined)[] = [];
  let written = 0;
  for (const { target } of link ? links : []) {
    if (written >= LINKS_MAX) break;
    const address = link?.(target);
    addresses.push(address);
    if (address !== undefined) written++;
  }
  return writeTargets(html, { links, pixelAt }, { addresses, ...(pixel !== undefined && { pixel }) });
}

/** Returns the text with these addresses as the targets of its links, up to the limit, and with its pixel. */
export function writeTargets(
  html: string,
  { links, pixelAt }: Targets,
  { addresses, pixel }: { addresses: readonly (string | undefined)[]; pixel?: string },
): string {
  const edits: { start: number; end: number; text: string }[] = [];
  for (const [at, { start, end }] of links.entries()) {
    if (edits.length >= LINKS_MAX) break;
    const address = addresses[at];
    if (address !== undefined) edits.push({ start, end, text: encodeAttribute(address) });
  }
  if (pixel !== undefined) edits.push({ start: pixelAt, end: pixelAt, text: pixelTag(pixel) });
  edits.sort((a, b) => a.start - b.start);
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, text } of edits) {
    parts.push(html.slice(at, start), text);
    at = end;
  }
  return parts.join('') + html.slice(at);
}

/** Hidden by its size, because some readers do not fetch images that are not displayed. */
const pixelTag = (url: string): string =>
  `<img src="${encodeAttribute(url)}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`;

/**
 * Returns the web address that a browser would open; undefined for everything that must be left alone: other schemes,
 * relative links, remains of a merge, and invalid addresses.
 */
function readTarget(value: string): string | undefined {
  // A character reference has at most about a dozen characters.
  if (value.length > TARGET_BYTES_MAX * 12) return undefined;
  const decoded = decodeAttributeIfKnown(value);
  // URL §4.4: browsers remove these first.
  const target = decoded === undefined ? undefined : withoutEdges(decoded).replace(/[\t\n\r]/g, '');
  if (target === undefined || !isWebAddress(target) || target.includes('{{')) return undefined;
  return Buffer.byteLength(target) > TARGET_BYTES_MAX ? undefined : target;
}

/** Reports whether the target is http or https and cannot end a header line. */
export function isWebAddress(target: string): boolean {
  return /^https?:\/\//i.test(target) && !/[\0-\x1f\x7f]/.test(target) && URL.canParse(target);
}

/**
 * Removes control characters and spaces at both ends. A pattern for those at the end would be quadratic in runs of
 * them.
 */
function withoutEdges(text: string): string {
  const isEdge = (at: number): boolean => text.charCodeAt(at) <= 0x20;
  let start = 0;
  let end = text.length;
  while (start < end && isEdge(start)) start++;
  while (end > start && isEdge(end - 1)) end--;
  return text.slice(start, end);
}

const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

/** Every start tag that a browser would see. */
export function listStartTags(html: string): StartTag[] {
  const tags: StartTag[] = [];
  const tokens = new HtmlTokenizer(html);
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    if (kind === 'start tag') tags.push({ name: tokens.name, attributes: readAttributes(tokens) });
  }
  return tags;
}

/** The first of several attributes of one name counts (HTML §13.2.5.33). */
function readAttributes(tokens: HtmlTokenizer): ReadonlyMap<string, string> {
  if (tokens.attributeCount === 0) return NO_ATTRIBUTES;
  const attributes = new Map<string, string>();
  for (let index = 0; index < tokens.attributeCount; index++) {
    const name = tokens.attributeName(index);
    const { start, end } = tokens.attributePlace(index);
    if (!attributes.has(name)) attributes.set(name, tokens.html.slice(start, end));
  }
  return attributes;
}
