import { declareAction, withRemaining } from './family.ts';

export const shares = withRemaining({
  summary: 'manage links that show one email to anyone who has the link',
  noun: 'a link',
  actions: [
    declareAction('createShare', {
      describe: (share) => share.url,
      hint: () => ({ words: 'Anyone with this link can read the email. The link is not shown again.' }),
    }),
    declareAction('revokeShares', {
      describe: ({ revoked }) => (revoked === 1 ? '1 link revoked' : `${revoked} links revoked`),
    }),
  ],
});
