import { declareAction, currentAmong, declareList, nameAmong, withRemaining } from './family.ts';

export const ROLES = ['viewer', 'member', 'admin', 'owner'];

export const members = withRemaining({
  command: 'members',
  summary: 'manage the people of your team and their roles',
  noun: 'a person',
  list: declareList('listMembers', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'email', label: 'Email', kind: 'name' },
      { name: 'name', label: 'Name', kind: 'name' },
      { name: 'role', label: 'Role', kind: 'state' },
      { name: 'disabled', label: 'State', kind: 'state', value: (member) => (member.disabled ? 'disabled' : 'active') },
      { name: 'mfa_enabled', label: 'Second factor', value: (member) => (member.mfa_enabled ? 'on' : 'off') },
      { name: 'created_at', label: 'Since', kind: 'time' },
      { name: 'sso_exempt', label: 'SSO exempt', shown: 'asked' },
      { name: 'user_id', label: 'User', kind: 'id', shown: 'wide' },
    ],
    empty: 'This team has no people; it is used with API keys only.',
  }),
  actions: [
    declareAction('updateTeamMember', {
      current: currentAmong('listMembers'),
      describe: ({ email, role, sso_exempt: isExempt }) =>
        `${email} is now ${role}${isExempt ? ', and exempt from single sign-on' : ''}.`,
    }),
    declareAction('unlinkTeamMember', {
      describe: ({ email }) => `The next sign-in of ${email} through the provider links the account again.`,
    }),
    // The list shows everything that a key may read.
    declareAction('removeTeamMember', {
      done: 'Removed',
      destroys: { name: nameAmong('listMembers', ({ email }) => email) },
    }),
  ],
});
