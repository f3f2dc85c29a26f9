import { decodeAttributeIfKnown, encodeAttribute } from '../html-references/index.ts';

/** Where the target of a link stands: the value of its `href` without the quotes. */
interface LinkPlace {
  start: number;
  end: number;
}

interface Scan {
  links: LinkPlace[];
  /** Before the last `</body>`, or else at the end of what a browser would show. */
  pixelAt: number;
  /** Characters that were looked at, so that a test can say that this grows with the length and no faster. */
  read: number;
}

/** An element's start tag: its attributes by their names in lower case, their values as they are written. */
export interface StartTag {
  name: string;
  attributes: ReadonlyMap<string, string>;
}

interface Tag {
  name: string;
  end: number;
  href: LinkPlace | undefined;
  isOptedOut: boolean;
  /** Kept where somebody looks at them. */
  attributes: Map<string, string> | undefined;
}

const newTag = (name: string, isLookedAt: boolean): Tag => ({
  name,
  end: 0,
  href: undefined,
  isOptedOut: false,
  attributes: isLookedAt ? new Map() : undefined,
});

/** The first of several attributes of one name counts (HTML §13.2.5.33). */
function note(tag: Tag, name: string, { html, start, end }: LinkPlace & { html: string }): void {
  if (tag.attributes && !tag.attributes.has(name)) tag.attributes.set(name, html.slice(start, end));
  if (tag.name !== 'a' && tag.name !== 'area') return;
  if (name === 'href') tag.href ??= { start, end };
  if (name === LONGEST_NAME) tag.isOptedOut = true;
  if (name === 'clicktracking' && /^off$/i.test(html.slice(start, end))) tag.isOptedOut = true;
}

/** HTML §13.2.5: white space is these five characters and no others. */
const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 9 || code === 13 || code === 12;
const SLASH = 47;
const EQUALS = 61;
const TAG_END = 62;
const isSpaceOrSlash = (code: number): boolean => code === SLASH || isSpace(code);
const isTagName = (code: number): boolean => code !== TAG_END && !isSpaceOrSlash(code);
const isAttributeName = (code: number): boolean => code !== EQUALS && isTagName(code);
const isUnquoted = (code: number): boolean => code !== TAG_END && !isSpace(code);
const LONGEST_NAME = 'data-rasket-no-track';
const COMMENT_END = /--!?>/g;

const endTagOf = (name: string): RegExp => new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi');
/** Elements whose content is text, whatever it looks like (HTML §13.2.6.4.4, .7). */
const TEXT_ELEMENTS = new Map(
  ['style', 'title', 'textarea', 'xmp', 'iframe', 'noembed', 'noframes'].map((name) => [name, endTagOf(name)]),
);
const SCRIPT_STEP = /<!--|-->|<(\/?)script(?=[\t\n\f\r />])/gi;

/**
 * Finds the links of an HTML text as a browser's tokenizer would (HTML §13.2.5), looking at each character a fixed number
 * of times however broken the text is: what is opened and never closed ends the scan, as it ends the page.
 */
export function scanHtml(html: string, visit?: (tag: StartTag) => void): Scan {
  const links: LinkPlace[] = [];
  let read = 0;
  let bodyEnd = -1;
  let at = 0;
  for (;;) {
    const open = find('<', at);
    if (open < 0) return { links, pixelAt: bodyEnd < 0 ? html.length : bodyEnd, read };
    const end = construct(open);
    if (end < 0) return { links, pixelAt: bodyEnd < 0 ? open : bodyEnd, read };
    at = end;
  }

  /** Where the construct that begins with this `<` ends; -1 when it never does. */
  function construct(open: number): number {
    const next = html.charAt(open + 1);
    if (/[a-z]/i.test(next)) return element(open);
    if (next === '!') return declaration(open);
    if (next === '?') return after('>', open);
    if (next !== '/') return open + 1;
    if (!/[a-z]/i.test(html.charAt(open + 2))) return after('>', open);
    const tag = readTag(open + 2);
    if (tag?.name === 'body') bodyEnd = open;
    return tag ? tag.end : -1;
  }

  function element(open: number): number {
    const tag = readTag(open + 1);
    if (!tag) return -1;
    if (tag.attributes) visit?.({ name: tag.name, attributes: tag.attributes });
    if (tag.href && !tag.isOptedOut) links.push(tag.href);
    if (tag.name === 'plaintext') return -1;
    if (tag.name === 'script') return scriptEnd(tag.end);
    const textEnd = TEXT_ELEMENTS.get(tag.name);
    return textEnd ? search(textEnd, tag.end).at : tag.end;
  }

  function declaration(open: number): number {
    if (html.startsWith('<!--', open)) {
      // "<!-->" and "<!--->" are whole comments.
      const short = /^-?>/.exec(html.slice(open + 4, open + 6));
      return short ? open + 4 + short[0].length : search(COMMENT_END, open + 4).end;
    }
    if (html.startsWith('<![CDATA[', open)) return after(']]>', open);
    return after('>', open);
  }

  /** Inside a comment, a script may hold another script with its end tag (HTML §13.2.5.26). */
  function scriptEnd(from: number): number {
    let isInComment = false;
    let isInScript = false;
    for (let at = from; ;) {
      const step = search(SCRIPT_STEP, at);
      if (step.at < 0) return -1;
      const isEndTag = step.match?.[1] === '/';
      if (isEndTag && !isInScript) return step.at;
      if (step.match?.[1] !== undefined) isInScript = isInComment && !isEndTag;
      else {
        isInComment = step.match?.[0] === '<!--';
        if (!isInComment) isInScript = false;
      }
      // The dashes of "<!--" may end the comment as well: "<!-->".
      at = isInComment && step.match?.[1] === undefined ? step.at + 2 : step.end;
    }
  }

  /** A tag from its name on; undefined when the text ends inside it, for then there is no tag. */
  function readTag(nameAt: number): Tag | undefined {
    let at = past(isTagName, nameAt);
    const tag: Tag = newTag(html.slice(nameAt, at).toLowerCase(), visit !== undefined);
    const isLink = tag.name === 'a' || tag.name === 'area';
    for (;;) {
      at = past(isSpaceOrSlash, at);
      if (at >= html.length) return undefined;
      if (html[at] === '>') return { ...tag, end: at + 1 };
      const nameFrom = at;
      at = past(isAttributeName, at + 1);
      // Longer names are none of these, and there may be a million attributes.
      const isKnown = (isLink || tag.attributes) && at - nameFrom <= LONGEST_NAME.length;
      const name = isKnown ? html.slice(nameFrom, at).toLowerCase() : '';
      const value = readValue(at);
      if (!value) return undefined;
      at = value.next;
      if (name !== '') note(tag, name, { html, start: value.start, end: value.end });
    }
  }

  /** What stands behind an attribute's name; `next` is where the next attribute may begin. */
  function readValue(from: number): { start: number; end: number; next: number } | undefined {
    const equals = past(isSpace, from);
    if (html[equals] !== '=') return { start: from, end: from, next: equals };
    const start = past(isSpace, equals + 1);
    const quote = html[start];
    if (quote === '"' || quote === "'") {
      const end = find(quote, start + 1);
      return end < 0 ? undefined : { start: start + 1, end, next: end + 1 };
    }
    const end = past(isUnquoted, start);
    return { start, end, next: end };
  }

  function find(text: string, from: number): number {
    const found = html.indexOf(text, from);
    read += (found < 0 ? html.length : found + text.length) - from;
    return found;
  }

  function after(text: string, from: number): number {
    const found = find(text, from);
    return found < 0 ? -1 : found + text.length;
  }

  function search(pattern: RegExp, from: number): { at: number; end: number; match: RegExpExecArray | null } {
    pattern.lastIndex = from;
    const match = pattern.exec(html);
    const end = match ? match.index + match[0].length : -1;
    read += (match ? end : html.length) - from;
    return { at: match ? match.index : -1, end, match };
  }

  function past(belongs: (code: number) => boolean, from: number): number {
    let at = from;
    while (at < html.length && belongs(html.charCodeAt(at))) at++;
    read += at - from;
    return at;
  }
}

export interface TrackOptions {
  /** The address to write for a target, undefined for one that stays; absent leaves all links as they are. */
  link?: (target: string) => string | undefined;
  /** The address of the pixel; absent writes none. */
  pixel?: string;
}

/** A request line of more than 8 KB is refused by many servers on the way, and base64 adds a third. */
const TARGET_BYTES_MAX = 4096;
/** Each costs a MAC and some hundred bytes; the links of a longer page stay as they are. */
export const LINKS_MAX = 5000;

/** A page is looked at in one go; one that no reader shows whole is not worth that, and goes out as it is. */
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

/** Only targets of links and the place of the pixel change; every other byte stays. */
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

/** Hidden by its size, for images that are not displayed are not fetched by every reader. */
const pixelTag = (url: string): string =>
  `<img src="${encodeAttribute(url)}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`;

/**
 * The web address that a browser would go to, or undefined for everything that is better left alone: other schemes,
 * relative links, what a merge has left over, what is no address at all.
 */
function readTarget(value: string): string | undefined {
  // No reference makes a character out of more than some dozen.
  if (value.length > TARGET_BYTES_MAX * 12) return undefined;
  const decoded = decodeAttributeIfKnown(value);
  // URL §4.4: browsers take these away before they look at anything else.
  const target = decoded === undefined ? undefined : withoutEdges(decoded).replace(/[\t\n\r]/g, '');
  if (target === undefined || !isWebAddress(target) || target.includes('{{')) return undefined;
  return Buffer.byteLength(target) > TARGET_BYTES_MAX ? undefined : target;
}

/** http or https, with nothing in it that could end a header line. */
export function isWebAddress(target: string): boolean {
  return /^https?:\/\//i.test(target) && !/[\0-\x1f\x7f]/.test(target) && URL.canParse(target);
}

/** Without the control characters and spaces at both ends; a pattern for those at the end would look at each run again and again. */
function withoutEdges(text: string): string {
  const isEdge = (at: number): boolean => text.charCodeAt(at) <= 0x20;
  let start = 0;
  let end = text.length;
  while (start < end && isEdge(start)) start++;
  while (end > start && isEdge(end - 1)) end--;
  return text.slice(start, end);
}

/** Every start tag that a browser would see. */
export function startTagsOf(html: string): StartTag[] {
  const tags: StartTag[] = [];
  scanHtml(html, (tag) => tags.push(tag));
  return tags;
}

/** Where something can be added that is to be seen behind everything else. */
export const endOfBody = (html: string): number => scanHtml(html).pixelAt;
