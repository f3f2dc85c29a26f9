import { declareAction, declareList, readAmong, withRemaining } from './family.ts';

export const members = withRemaining({
  summary: 'manage the people of your team and their roles',
  noun: 'a person',
  list: declareList('listMembers', {
    fields: {
      email: 'Email',
      role: { kind: 'state' },
      disabled: { label: 'State', kind: 'state', either: ['disabled', 'active'] },
      mfa_enabled: { label: 'Second factor', either: ['on', 'off'] },
      created_at: 'Since',
      sso_exempt: { label: 'SSO exempt', shown: 'asked' },
      user_id: { shown: 'wide' },
    },
    columns: ['id', 'email', 'name', 'role', 'disabled', 'mfa_enabled', 'created_at', 'sso_exempt', 'user_id'],
    empty: 'This team has no people; it is used with API keys only.',
  }),
  actions: [
    declareAction('updateTeamMember', {
      current: readAmong('listMembers', (member) => member),
      describe: ({ email, role, sso_exempt: isExempt }) =>
        `${email} is now ${role}${isExempt ? ', and exempt from single sign-on' : ''}.`,
    }),
    declareAction('unlinkTeamMember', {
      describe: ({ email }) => `The next sign-in of ${email} through the provider links the account again.`,
    }),
    // The list shows everything that a key may read.
    declareAction('removeTeamMember', {
      done: 'Removed',
      destroys: { name: readAmong('listMembers', ({ email }) => email) },
    }),
  ],
});
