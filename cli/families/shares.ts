import { actionOf, withRest } from './family.ts';

export const shares = withRest({
  command: 'shares',
  summary: 'links that show one email to everybody who has them',
  noun: 'a link',
  actions: [
    actionOf('createShare', {
      tell: (share) => share.url,
      hint: () => ({ words: 'Everybody who has this link can read the email. It is not shown again.' }),
    }),
    actionOf('revokeShares', {
      tell: ({ revoked }) => (revoked === 1 ? '1 link revoked' : `${revoked} links revoked`),
    }),
  ],
});
