import type { LedTo, PageCtx, Visit, Shown } from './page.ts';
import { renderLink, renderLinks, renderStatus, type Field } from './elements.ts';

const SECONDS = 600;
const TOKEN = /^[\w-]{1,512}$/;

/** The purpose of a token, so that a page rejects tokens that were issued for another one. */
type TokenKind = 'challenge' | 'invitation' | 'reset' | 'verify';

const cookieFor = (kind: TokenKind): string => `rasket_page_${kind}`;

/** Keeps a token for the next page, out of the address bar and the history. */
export const keepToken = ({ browser }: PageCtx, kind: TokenKind, token: string, seconds = SECONDS): void =>
  browser.keep(cookieFor(kind), token, seconds);

export const keptToken = ({ browser }: PageCtx, kind: TokenKind): string | undefined => {
  const token = browser.cookie(cookieFor(kind));
  return token !== undefined && TOKEN.test(token) ? token : undefined;
};

export const forgetToken = ({ browser }: PageCtx, kind: TokenKind): void => browser.forget(cookieFor(kind));

/**
 * Takes the token of a mailed link out of the address: the browser keeps it for a few minutes and requests the page
 * again without it. A form contains the token itself, so that another tab does not affect it.
 */
export function takeToken(ctx: PageCtx, { query }: Visit, kind: TokenKind, path: string): LedTo | undefined {
  const token = query.get('token');
  if (token === undefined) return undefined;
  if (TOKEN.test(token)) keepToken(ctx, kind, token);
  else forgetToken(ctx, kind);
  return { to: path };
}

export const newPasswordField: Field = {
  name: 'password',
  label: 'New password',
  type: 'password',
  autocomplete: 'new-password',
  hint: 'At least 6 characters. A few words that only you would put together are better than signs.',
};

/** The same whether or not there is an account: only the mailbox shows it. */
export const mailedPage = (says: string): Shown => ({
  title: 'Look into your mailbox',
  content: `${renderStatus(says)}<p>If nothing comes within a few minutes, look among the junk mail, and whether the address was right.</p>${renderLinks(renderLink('/sign-in', 'Back to signing in'))}`,
});

export const deadLink = (...links: readonly string[]): Shown => ({
  title: 'This link does not work',
  content: `<p>It was used already, has expired, or was cut short on its way. Open it again from the mail that it came with, in this browser, or ask for a new one.</p>${renderLinks(...links)}`,
  status: 404,
});
