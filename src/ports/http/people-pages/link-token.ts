import type { LedTo, PageCtx, Visit } from './page.ts';

const SECONDS = 600;
const TOKEN = /^[\w-]{1,512}$/;

/** Of what the token is, so that a page takes none that was meant for another. */
export type TokenKind = 'challenge' | 'invitation' | 'reset' | 'verify';

const cookieFor = (kind: TokenKind): string => `rasket_page_${kind}`;

/** For the next page, and out of sight of the address bar and of the history. */
export const keepToken = ({ browser }: PageCtx, kind: TokenKind, token: string, seconds = SECONDS): void =>
  browser.keep(cookieFor(kind), token, seconds);

export const keptToken = ({ browser }: PageCtx, kind: TokenKind): string | undefined => {
  const token = browser.cookie(cookieFor(kind));
  return token !== undefined && TOKEN.test(token) ? token : undefined;
};

export const forgetToken = ({ browser }: PageCtx, kind: TokenKind): void => browser.forget(cookieFor(kind));

/**
 * Takes the token of a link in a mail out of the address: the browser keeps it for a few minutes and asks for the page again
 * without it. A form carries it itself, so that another tab changes nothing about it.
 */
export function takeToken(ctx: PageCtx, { query }: Visit, kind: TokenKind, path: string): LedTo | undefined {
  const token = query.get('token');
  if (token === undefined) return undefined;
  if (TOKEN.test(token)) keepToken(ctx, kind, token);
  else forgetToken(ctx, kind);
  return { to: path };
}
