import type { Redirect, PageCtx, Visit, Shown } from './page.ts';
import { renderLink, renderLinks, renderStatus, type Field } from './elements.ts';

const SECONDS = 600;
const TOKEN = /^[\w-]{1,512}$/;

/** The purpose of a token. A page rejects tokens that were issued for another purpose. */
type TokenKind = 'challenge' | 'invitation' | 'reset' | 'verify';

const cookieName = (kind: TokenKind): string => `rasket_page_${kind}`;

/** Keeps a token for the next page, out of the address bar and the history. */
export const keepToken = ({ browser }: PageCtx, kind: TokenKind, token: string, seconds = SECONDS): void =>
  browser.keep(cookieName(kind), token, seconds);

export const keptToken = ({ browser }: PageCtx, kind: TokenKind): string | undefined => {
  const token = browser.cookie(cookieName(kind));
  return token !== undefined && TOKEN.test(token) ? token : undefined;
};

export const forgetToken = ({ browser }: PageCtx, kind: TokenKind): void => browser.forget(cookieName(kind));

/**
 * Takes the token of a mailed link out of the address: the browser keeps it for a few minutes and requests the page
 * again without it. A form contains the token itself, so that another tab does not affect it.
 */
export function takeToken(ctx: PageCtx, { query }: Visit, kind: TokenKind, path: string): Redirect | undefined {
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
  hint: 'At least 6 characters. Several unrelated words are harder to guess than a short password with symbols.',
};

/** Returns the page that says that a mail is on its way. It is the same whether or not there is an account. */
export const mailedPage = (says: string): Shown => ({
  title: 'Check your email',
  content: `${renderStatus(says)}<p>If nothing arrives within a few minutes, check your spam folder, and check that you entered the right address.</p>${renderLinks(renderLink('/sign-in', 'Back to sign-in'))}`,
});

/** Returns the page for a mailed link whose token is unknown, used or expired. */
export const deadLink = (...links: readonly string[]): Shown => ({
  title: 'This link does not work',
  content: `<p>It was already used, has expired, or is incomplete. Open it again from the email, in this browser, or request a new one.</p>${renderLinks(...links)}`,
  status: 404,
});
