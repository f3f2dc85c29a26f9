import { actionOf, type Family, type Key } from './family.ts';

const EMAIL: Key = { word: 'email-id', says: 'the email' };

export const shares = {
  command: 'shares',
  summary: 'links that show one email to everybody who has them',
  noun: 'a link',
  actions: [
    actionOf('createShare', {
      verb: 'create',
      key: 'a',
      summary: 'make a link to a read-only page of an email',
      description:
        'Prints a link that opens a read-only page of the email without a sign-in. It cannot be shown again.',
      example: 'shares create 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77 --expires-in "2 hours"',
      path: { email_id: EMAIL },
      flags: {
        expires_in: {
          value: '<time>',
          says: 'how long it works, such as 10m or "1 day" (default and most: 48 hours)',
        },
      },
      tell: (share) => share.url,
      hint: () => ({ words: 'Everybody who has this link can read the email. It is not shown again.' }),
    }),
    actionOf('revokeShares', {
      verb: 'revoke',
      key: 'v',
      summary: 'stop every link to an email',
      example: 'shares revoke 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
      path: { email_id: EMAIL },
      tell: ({ revoked }) => (revoked === 1 ? '1 link revoked' : `${revoked} links revoked`),
    }),
  ],
} satisfies Family;
