import { actionOf, withRest } from './family.ts';

export const shares = withRest({
  command: 'shares',
  summary: 'manage links that show one email to anyone who has the link',
  noun: 'a link',
  actions: [
    actionOf('createShare', {
      tell: (share) => share.url,
      hint: () => ({ words: 'Anyone with this link can read the email. The link is not shown again.' }),
    }),
    actionOf('revokeShares', {
      tell: ({ revoked }) => (revoked === 1 ? '1 link revoked' : `${revoked} links revoked`),
    }),
  ],
});
