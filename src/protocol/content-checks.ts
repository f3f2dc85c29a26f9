import { escapeDefaults, findResources, findUnquoted, collectKeys, parseMerge, showsAny } from './merge.ts';
import { textOfHtml } from './read-message/index.ts';
import { listStartTags, isWebAddress, type StartTag } from './track-links/index.ts';
import { decodeAttribute } from './html-references/index.ts';

const SHOWN_MAX = 20;
const CHARS_MAX = 200;

/** Returns the first few distinct texts, each cut to a readable length, and the number of the others. */
function shownSome(texts: readonly string[]): string[] {
  const distinct = [...new Set(texts)];
  const shown = distinct
    .slice(0, distinct.length > SHOWN_MAX ? SHOWN_MAX - 1 : SHOWN_MAX)
    .map((text) => (text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text));
  return distinct.length > SHOWN_MAX ? [...shown, `… and ${distinct.length - shown.length} more`] : shown;
}

const MESSAGES_MAX = 3;
const RANK = { pass: 0, warn: 1, fail: 2 } as const;

/**
 * Combines the results of one check: the worst come first, and a few messages are shown with the number of the others.
 * Returns the first result if all have passed.
 */
export function combineChecks(first: ContentCheck, others: readonly ContentCheck[]): ContentCheck {
  const found = [first, ...others]
    .filter(({ status }) => status !== 'pass')
    .toSorted((a, b) => RANK[b.status] - RANK[a.status]);
  const [worst] = found;
  if (!worst) return first;
  const messages = [...new Set(found.map(({ message }) => message))];
  const more = messages.length - MESSAGES_MAX;
  const shown = messages.slice(0, MESSAGES_MAX).join(' ');
  return {
    name: worst.name,
    status: worst.status,
    message: more > 0 ? `${shown} (and ${more} more)` : shown,
    details: shownSome(found.flatMap(({ details }) => details)),
  };
}

/** The target of a link, as written and as a browser reads it. */
interface Link {
  written: string;
  address: string;
  /** The link begins with a merge variable, whose value is not known here. */
  isOpen: boolean;
}

/** Schemes that open a program other than a browser on purpose. */
const OTHER_PROGRAMS = /^(?:mailto|tel|sms):./i;

/** Every link must have a target that works in a mail program, where there is no base page. */
function checkLinks(tags: readonly StartTag[], { html, text }: Pick<CheckedContent, 'html' | 'text'>): ContentCheck {
  const found: ContentCheck[] = [];
  const unquoted = findUnquoted(html ?? '');
  if (unquoted.length > 0) {
    const message = 'An attribute with a merge variable has no quotes; add them, such as href="{{{url}}}".';
    found.push({ name: 'links', status: 'fail', message, details: unquoted });
  }
  const links = listLinks(tags);
  const broken = links.filter((link) => !link.isOpen && !runsCode(link.address) && !leadsSomewhere(link.address));
  if (broken.length > 0) {
    const message =
      'A link is empty, # or not a full web address; write the full address, such as https://example.com/page.';
    found.push({ name: 'links', status: 'fail', message, details: broken.map(({ written }) => written) });
  }
  const raw = findRawInUrls(text ?? '');
  if (raw.length > 0) {
    const message =
      'A merge variable in an address of the text is not percent-encoded, so a value such as a+b&c breaks the address; write {{{KEY|urlencode}}}.';
    found.push({ name: 'links', status: 'warn', message, details: raw });
  }
  const message = links.length === 0 ? 'There are no links.' : 'Every link is a full web address.';
  return combineChecks(passed('links', message), found);
}

/** A web address at the end of a text, in its path or after it. */
const OPEN_URL = /https?:\/\/[^\s<>"'/?#]+[/?#][^\s<>"']*$/i;
const URL_CHARS = 500;

/** Finds the addresses in a plain text with a variable that is not percent-encoded; in HTML, rendering does that. */
function findRawInUrls(text: string): string[] {
  const found: string[] = [];
  let before = '';
  for (const part of parseMerge(text)) {
    if (typeof part === 'string') {
      before = (before + part).slice(-URL_CHARS);
      continue;
    }
    const open = OPEN_URL.exec(before)?.[0];
    if (open !== undefined && part.encoding === undefined) found.push(`${open}{{{${part.key}}}}`);
    before += 'x';
  }
  return found;
}

const leadsSomewhere = (address: string): boolean => isWebAddress(address) || OTHER_PROGRAMS.test(address);

/** A link that runs code fails, and so does a merge variable that chooses what is loaded; plain http is only reported. */
function checkLinkTypes(tags: readonly StartTag[], images: readonly StartTag[], html: string): ContentCheck {
  const found: ContentCheck[] = [];
  const running = tags.flatMap(codeIn);
  if (running.length > 0) {
    const message = 'A link would run code; mail programs block it, and spam filters reject the email.';
    found.push({ name: 'link_types', status: 'fail', message, details: running });
  }
  const chosen = findResources(html);
  if (chosen.length > 0) {
    const message =
      'A merge variable is the address of a script, style sheet, frame, form or other resource; its value is left out, so write the address itself.';
    found.push({ name: 'link_types', status: 'fail', message, details: chosen });
  }
  const plain = listLinks(tags).filter(({ address }) => /^http:/i.test(address));
  if (plain.length > 0) {
    const message = 'A link begins with http://; use https:// if the site supports it.';
    found.push({ name: 'link_types', status: 'warn', message, details: plain.map(({ written }) => written) });
  }
  const loaded = images.map(({ attributes }) => attributes.get('src') ?? '');
  const plainImages = loaded.filter((source) => /^http:/i.test(readAddress(withDefaults(source))));
  if (plainImages.length > 0) {
    const message = 'A picture begins with http://; some mail programs load pictures from https:// only.';
    found.push({ name: 'link_types', status: 'warn', message, details: plainImages });
  }
  return combineChecks(passed('link_types', 'No link runs code, and none is plain http.'), found);
}

function listLinks(tags: readonly StartTag[]): Link[] {
  return tags.flatMap(({ name, attributes }) => {
    const written = name === 'a' || name === 'area' ? attributes.get('href') : undefined;
    return written === undefined ? [] : [readLink(written)];
  });
}

function readLink(written: string): Link {
  const address = readAddress(withDefaults(written));
  const [first] = parseMerge(written.trim());
  // A default is the target for a contact that has no value.
  const isOpen = typeof first === 'object' && (first.inlineDefault ?? '') === '';
  return { written, address, isOpen };
}

/** Attributes that a browser follows or loads. */
const FOLLOWED = ['href', 'xlink:href', 'action', 'formaction', 'src', 'data', 'background', 'poster', 'ping', 'to'];

function codeIn({ name, attributes }: StartTag): string[] {
  const isPicture = name === 'img' || name === 'image' || name === 'source';
  const found = FOLLOWED.flatMap((attribute) => {
    const written = attributes.get(attribute);
    if (written === undefined) return [];
    // An image embedded in the body is harmless: whatever it contains, it runs nothing.
    if (isPicture && /^data:image\//i.test(readAddress(withDefaults(written)))) return [];
    return runsCode(readAddress(withDefaults(written))) ? [written] : [];
  });
  const refresh = name === 'meta' ? attributes.get('content') : undefined;
  const target = refresh === undefined ? undefined : /url\s*=\s*["']?([^]*)$/i.exec(readAddress(refresh))?.[1];
  return target !== undefined && runsCode(readAddress(target)) ? [...found, refresh ?? ''] : found;
}

const runsCode = (address: string): boolean => /^(?:javascript|vbscript|livescript|mocha|data|jar):/i.test(address);

/** URL §4.4: browsers remove controls and spaces at both ends, and tabs and line breaks everywhere. */
function readAddress(value: string): string {
  const decoded = decodeAttribute(value);
  let start = 0;
  while (start < decoded.length && decoded.charCodeAt(start) <= 0x20) start++;
  let end = decoded.length;
  while (end > start && decoded.charCodeAt(end - 1) <= 0x20) end--;
  return decoded.slice(start, end).replaceAll(/[\t\n\r]/g, '');
}

export interface CheckedContent {
  subject: string;
  previewText: string | null;
  html: string | null;
  text: string | null;
  /** The postal address of the sender, which marketing mail must show; null if none is set yet. */
  address?: PostalLines | null;
  /** Merge variables that print the postal address. */
  addressKeys?: readonly string[];
  /**
   * Reports whether a merge variable without a default prints something: a contact field or property, or a link of
   * ours.
   */
  isKnown(key: string): boolean;
  /** Returns the size of an image that we serve; 0 for other images, which are never fetched. */
  countBytes?(source: string): number;
  /** Reports whether we served an image that no longer exists. */
  isGone?(source: string): boolean;
  /** Sources of such images elsewhere in the body: in a style or in a list of sources. */
  gone?: readonly string[];
}

interface PostalLines {
  line1: string;
  postal_code?: string | null;
  city: string;
}

/** Runs every check once, in the order of the contract. A check reports everything that it finds. */
export function checkContent(content: CheckedContent): ContentCheck[] {
  const tags = listStartTags(escapeDefaults(content.html ?? ''));
  const images = tags.filter(({ name }) => name === 'img');
  return [
    checkVariables(content),
    checkLinks(tags, content),
    checkLinkTypes(tags, images, content.html ?? ''),
    checkSubject(content.subject),
    checkPreviewText(content.previewText),
    checkAltText(images),
    checkImageWeight(images, content),
    checkTextAndImages(content, images.length),
    checkSize(content),
    checkUnsubscribe(content),
  ].map((check) => ({ ...check, details: shownSome(check.details) }));
}

/** Limit for one body, because each variable is looked up again for every recipient. */
export const VARIABLES_MAX = 10_000;

function checkVariables({ subject, previewText, html, text, isKnown }: CheckedContent): ContentCheck {
  const many = [html, text].map((body) => parseMerge(body ?? '').filter((part) => typeof part !== 'string').length);
  if (Math.max(...many) > VARIABLES_MAX) {
    const message = `The body contains ${Math.max(...many)} merge variables; at most ${VARIABLES_MAX} are allowed.`;
    return { name: 'variables', status: 'fail', message, details: [] };
  }
  const unknown = new Set<string>();
  for (const written of [subject, previewText, html, text]) {
    const bare = parseMerge(written ?? '').filter(
      (part) => typeof part !== 'string' && part.inlineDefault === undefined,
    );
    for (const key of collectKeys(bare)) if (!isKnown(key)) unknown.add(key);
  }
  const foreign = checkForeignVariables([subject, previewText, html, text]);
  if (unknown.size === 0) return foreign;
  const message =
    'A merge variable is not a field or property of a contact and has no default; write {{{KEY|default}}} or declare the property.';
  const details = [...unknown].map((key) => `{{{${key}}}}`);
  return combineChecks({ name: 'variables', status: 'fail', message, details }, [foreign]);
}

/** The variables of other services: `{{first_name}}`, `*|FNAME|*`, `%%first_name%%` and `%recipient.name%`. */
const FOREIGN =
  /(?<!\{)\{\{ *[A-Za-z_#/][\w .#/|:'"-]{0,60}\}\}(?!\})|\*\|[A-Z][A-Z0-9_:]{0,40}\|\*|%%[A-Za-z]\w{0,40}%%|%recipient\.\w{1,40}%/g;

function checkForeignVariables(texts: readonly (string | null)[]): ContentCheck {
  const foreign = texts.flatMap((text) => text?.match(FOREIGN) ?? []);
  if (foreign.length === 0) return passed('variables', 'Every merge variable has a value or a default.');
  const message =
    'A merge variable of another service stands in the text as it is written; write it as {{{KEY}}} or {{{KEY|default}}}.';
  return { name: 'variables', status: 'fail', message, details: foreign };
}

const SUBJECT_CHARS = 60;
/** The marks that mail programs of several languages put before the subject of a reply or of a forwarded message. */
const ANSWER = /^(?:re|fwd?|aw|wg|sv|vs|tr|rv|odp)\s*(?:\[\d+\])?\s*:/i;

function checkSubject(subject: string): ContentCheck {
  const written = subject.trim();
  if (written === '') return { name: 'subject', status: 'fail', message: 'There is no subject.', details: [] };
  const found: ContentCheck[] = [];
  const mark = ANSWER.exec(written)?.[0];
  if (mark !== undefined) {
    const message = `The subject begins with ${mark} as if the email were an answer; that misleads readers, and spam filters know it.`;
    found.push({ name: 'subject', status: 'warn', message, details: [] });
  }
  const chars = countChars(withDefaults(written));
  if (chars > SUBJECT_CHARS) {
    const message = `The subject has ${inWords(chars)}; many mail programs show no more than ${SUBJECT_CHARS}.`;
    found.push({ name: 'subject', status: 'warn', message, details: [] });
  }
  return combineChecks(passed('subject', `The subject has ${inWords(chars)}.`), found);
}

const PREVIEW_CHARS = 150;

function checkPreviewText(previewText: string | null): ContentCheck {
  const written = (previewText ?? '').trim();
  if (written === '') {
    const message = 'There is no preview text; mail programs show the beginning of the body after the subject.';
    return { name: 'preview_text', status: 'warn', message, details: [] };
  }
  const chars = countChars(withDefaults(written));
  if (chars <= PREVIEW_CHARS) return passed('preview_text', `The preview text has ${inWords(chars)}.`);
  const message = `The preview text has ${inWords(chars)}; mail programs show no more than ${PREVIEW_CHARS}.`;
  return { name: 'preview_text', status: 'warn', message, details: [] };
}

/** An empty `alt` says that the picture is decoration. */
function checkAltText(images: readonly StartTag[]): ContentCheck {
  const bare = images.filter(({ attributes }) => !attributes.has('alt'));
  if (bare.length === 0) return passed('alt_text', 'Every picture has an alt text.');
  return {
    name: 'alt_text',
    status: 'warn',
    message: `${bare.length === 1 ? 'A picture has' : `${bare.length} pictures have`} no alt text; readers who do not see pictures miss them.`,
    details: bare.map(({ attributes }) => attributes.get('src') ?? ''),
  };
}

const IMAGE_BYTES = 1024 * 1024;

/** Counts images that are embedded in the body or served by us; others are never fetched. */
function checkImageWeight(
  images: readonly StartTag[],
  { countBytes = () => 0, isGone = () => false, gone: elsewhere = [] }: CheckedContent,
): ContentCheck {
  const sources = images.map(({ attributes }) => (attributes.get('src') ?? '').trim());
  const gone = [...sources.filter((source) => isGone(source)), ...elsewhere];
  const found: ContentCheck[] = [];
  if (gone.length > 0) {
    const message = 'A picture was deleted from this service, or its address is truncated; readers see a gap.';
    found.push({ name: 'image_weight', status: 'fail', message, details: gone });
  }
  // A repeated image is loaded once.
  const served = [...new Set(sources)].reduce((sum, source) => sum + countBytes(source), 0);
  const bytes = sources.reduce((sum, source) => sum + embeddedBytes(source), served);
  const size = `${(bytes / IMAGE_BYTES).toFixed(1)} MB`;
  if (bytes > IMAGE_BYTES) {
    const message = `The pictures in the body have ${size}; an email with more than 1 MB opens slowly.`;
    found.push({ name: 'image_weight', status: 'warn', message, details: [] });
  }
  return combineChecks(passed('image_weight', 'The pictures in the body have at most 1 MB.'), found);
}

const BASE64_PART = 0.75;

function embeddedBytes(source: string): number {
  if (!/^\s*data:/i.test(source)) return 0;
  const comma = source.indexOf(',');
  const length = comma < 0 ? 0 : source.length - comma - 1;
  return /;\s*base64\s*$/i.test(source.slice(0, Math.max(0, Math.min(comma, 200)))) ? length * BASE64_PART : length;
}

/** Letters and digits expected for each image, up to `PICTURES_COUNTED` images. */
const LETTERS_A_PICTURE = 100;
const PICTURES_COUNTED = 5;

function checkTextAndImages({ html, text }: CheckedContent, images: number): ContentCheck {
  // The alt text of a linked image belongs to a text part, and is not text next to the image.
  const shown = html === null || html === '' ? (text ?? '') : textOfHtml(escapeDefaults(html), { hasImages: false });
  const letters = shown.replaceAll(/[^\p{L}\p{N}]+/gu, '').length;
  if (letters >= LETTERS_A_PICTURE * Math.min(images, PICTURES_COUNTED)) {
    return passed('text_and_images', 'There is enough text next to the pictures.');
  }
  const message = 'The email is mostly pictures; spam filters distrust it, and readers who see no pictures see little.';
  return { name: 'text_and_images', status: 'warn', message, details: [] };
}

const KB = 1024;
/** Gmail shows so much of the HTML, and the rest after a click; the unsubscribe link is usually in the rest. */
const CLIPPED_BYTES = 102 * KB;

function checkSize({ html }: CheckedContent): ContentCheck {
  const bytes = Buffer.byteLength(html ?? '');
  const size = `${Math.ceil(bytes / KB)} KB`;
  if (bytes <= CLIPPED_BYTES) return passed('size', html ? `The HTML has ${size}.` : 'There is no HTML.');
  const message = `The HTML has ${size}; Gmail shows the first 102 KB, and hides the rest with the unsubscribe link. Links that are tracked make it longer.`;
  return { name: 'size', status: 'warn', message, details: [] };
}

const WAYS_OUT = ['UNSUBSCRIBE_URL', 'PREFERENCES_URL'];

function checkUnsubscribe(content: CheckedContent): ContentCheck {
  const { html, text, address = null } = content;
  const isIn = {
    html: showsAny(parseMerge(html ?? ''), WAYS_OUT),
    text: [...collectKeys(parseMerge(text ?? ''))].some((key) => WAYS_OUT.includes(key.toUpperCase())),
  };
  if ([!html || isIn.html, !text || isIn.text].some((isDone) => !isDone)) {
    const message =
      'The body shows no {{{UNSUBSCRIBE_URL}}}; a footer with an unsubscribe link and the postal address is added.';
    return { name: 'unsubscribe', status: 'warn', message, details: [] };
  }
  if (!address || showsAddress(content, address)) return passed('unsubscribe', 'The body says how to unsubscribe.');
  const message =
    'The body does not show the postal address, which is added at its end; to choose the place, add {{{POSTAL_ADDRESS}}}.';
  return { name: 'unsubscribe', status: 'warn', message, details: [] };
}

/** Returns whether a body prints the postal address, by its variable or literally. */
export function showsAddress(
  { html, text, addressKeys = [] }: Pick<CheckedContent, 'html' | 'text' | 'addressKeys'>,
  { line1, postal_code: code, city }: PostalLines,
): boolean {
  const body = html ? html : (text ?? '');
  const merged = parseMerge(body);
  const isMerged = html
    ? showsAny(merged, addressKeys)
    : [...collectKeys(merged)].some((key) => addressKeys.includes(key.toUpperCase()));
  if (isMerged) return true;
  const shown = foldLetters(html ? textOfHtml(escapeDefaults(html)) : body);
  return [line1, code ? code : city].every((part) => shown.includes(foldLetters(part)));
}

/** Compares addresses by their letters and digits, because commas and line breaks vary. */
const foldLetters = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '');

const passed = (name: CheckName, message: string): ContentCheck => ({ name, status: 'pass', message, details: [] });

const countChars = (text: string): number => Array.from(text).length;
const inWords = (chars: number): string => (chars === 1 ? '1 character' : `${chars} characters`);

export type CheckName =
  | 'variables'
  | 'links'
  | 'link_types'
  | 'subject'
  | 'preview_text'
  | 'alt_text'
  | 'image_weight'
  | 'text_and_images'
  | 'size'
  | 'unsubscribe';

export interface ContentCheck {
  name: CheckName;
  status: 'pass' | 'warn' | 'fail';
  message: string;
  /** The items that the message refers to, such as links, as they are written. */
  details: string[];
}

/** Returns the text for a contact without any values, with the defaults that it contains. */
const withDefaults = (text: string): string =>
  parseMerge(text)
    .map((part) => (typeof part === 'string' ? part : (part.inlineDefault ?? '')))
    .join('');
