import { hideVariables } from './merge.ts';
import { scanHtml } from './track-links/index.ts';

/** The parameters that analytics programs read from a link. */
export const UTM_NAMES = ['source', 'medium', 'campaign', 'term', 'content'] as const;
export type UtmParameters = Partial<Record<(typeof UTM_NAMES)[number], string>>;

/** Makes a short value of a name: its letters and digits in lower case, with hyphens between them. */
export const makeUtmValue = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .slice(0, 100)
    .replaceAll(/^-|-$/g, '');

interface Edit {
  at: number;
  text: string;
}

/** A `#` that begins a fragment, and no character reference of HTML. */
const FRAGMENT_IN_HTML = /(?<!&)#|#(?![0-9xX])/;

/**
 * Finds where the parameters go into an address, before its fragment; undefined if it has them all. Variables in the
 * address are hidden, so that nothing in them is taken for a part of it.
 */
function findEdit(address: string, parameters: UtmParameters, isHtml: boolean): Edit | undefined {
  const fragment = address.search(isHtml ? FRAGMENT_IN_HTML : /#/);
  const before = (fragment < 0 ? address : address.slice(0, fragment)).trimEnd();
  const and = isHtml ? '&amp;' : '&';
  const added = UTM_NAMES.flatMap((name) => {
    const value = parameters[name];
    const isThere = new RegExp(`[?&;]utm_${name}=`, 'i').test(before);
    return value === undefined || isThere ? [] : [`utm_${name}=${encodeURIComponent(value).replaceAll("'", '%27')}`];
  });
  if (added.length === 0) return undefined;
  const first = before.includes('?') ? (/(?:[?&]|&amp;)$/.test(before) ? '' : and) : '?';
  return { at: before.length, text: first + added.join(and) };
}

function insert(text: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { at, text: added } of edits) {
    parts.push(text.slice(from, at), added);
    from = at;
  }
  return parts.join('') + text.slice(from);
}

/**
 * Adds the parameters to the web links of HTML with merge variables. Links whose address begins with a variable, such as
 * that to unsubscribe, and links that are not tracked stay as they are.
 */
export function tagHtmlLinks(html: string, parameters: UtmParameters): string {
  const hidden = hideVariables(html);
  const edits = scanHtml(hidden).links.flatMap(({ start, end }) => {
    const address = hidden.slice(start, end);
    const edit = /^\s*https?:\/\//i.test(address) ? findEdit(address, parameters, true) : undefined;
    return edit ? [{ ...edit, at: start + edit.at }] : [];
  });
  return insert(html, edits);
}

/** Adds the parameters to the web addresses of a plain text with merge variables. */
export function tagTextLinks(text: string, parameters: UtmParameters): string {
  const hidden = hideVariables(text);
  const edits = [...hidden.matchAll(/https?:\/\/[^\s<>"]+/gi)].flatMap(({ 0: found, index }) => {
    const edit = findEdit(found.replace(/[.,;:!?)\]}'*_]+$/, ''), parameters, false);
    return edit ? [{ ...edit, at: index + edit.at }] : [];
  });
  return insert(text, edits);
}

/** Returns an address without its `utm_` parameters; every other byte stays as it is. */
export function removeUtm(address: string): string {
  if (!/[?&]utm_/i.test(address)) return address;
  const end = address.indexOf('#');
  const fragment = end < 0 ? '' : address.slice(end);
  const before = end < 0 ? address : address.slice(0, end);
  const query = before.indexOf('?');
  if (query < 0) return address;
  const kept = before
    .slice(query + 1)
    .split('&')
    .filter((part) => !/^utm_/i.test(part));
  return before.slice(0, query) + (kept.length === 0 ? '' : `?${kept.join('&')}`) + fragment;
}
