import { NEXT_CHARS_MAX } from '../next-chars.ts';

/**
 * Where a person goes on after signing in, as an address bar or a form brought it: a path of this service, or undefined for
 * everything that a browser may take for another host. The text is passed on as it is, so that what was checked is what the
 * browser gets.
 */
export function ownPath(text: string | undefined): string | undefined {
  if (text === undefined || text.length > NEXT_CHARS_MAX || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text))
    return undefined;
  const base = 'http://own.invalid';
  const url = URL.canParse(text, base) ? new URL(text, base) : undefined;
  // Dots are taken out of a path before it is used: `/.//host` must not end as `//host` in another place.
  return url?.origin === base && !url.pathname.startsWith('//') ? text : undefined;
}

/** The address of a page with `next` in it, where there is one. */
export const withNext = (path: string, next: string | undefined): string =>
  next === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}next=${encodeURIComponent(next)}`;
