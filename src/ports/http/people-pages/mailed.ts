import { renderLink, renderLinks, renderStatus, type Field } from './elements.ts';
import type { Shown } from './page.ts';

export const newPasswordField: Field = {
  ...{ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password' },
  hint: 'At least 6 characters. A few words that only you would put together are better than signs.',
};

/** The same, whether or not there is an account: who asked learns it from the mailbox. */
export const mailedPage = (says: string): Shown => ({
  title: 'Look into your mailbox',
  content: `${renderStatus(says)}<p>If nothing comes within a few minutes, look among the junk mail, and whether the address was right.</p>${renderLinks(renderLink('/sign-in', 'Back to signing in'))}`,
});

export const deadLink = (...links: readonly string[]): Shown => ({
  title: 'This link does not work',
  content: `<p>It was used already, has expired, or was cut short on its way. Open it again from the mail that it came with, in this browser, or ask for a new one.</p>${renderLinks(...links)}`,
  status: 404,
});
