import { declareAction, withRemaining } from './family.ts';

/** Shows the link to a page that was created. */
export const SHARED_PAGE = {
  describe: (share: { url: string }): string => share.url,
  hint: () => ({ words: 'Anyone with this link can open the page. The link is not shown again.' }),
};

/** Shows how many links were revoked. */
export const REVOKED = {
  describe: ({ revoked }: { revoked: number }): string =>
    revoked === 1 ? '1 link revoked' : `${revoked} links revoked`,
};

export const shares = withRemaining({
  summary: 'manage links that show one email to anyone who has the link',
  noun: 'a link',
  actions: [
    declareAction('createShare', {
      describe: (share) => share.url,
      hint: () => ({ words: 'Anyone with this link can read the email. The link is not shown again.' }),
    }),
    declareAction('revokeShares', REVOKED),
  ],
});
