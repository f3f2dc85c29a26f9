import { actionOf, currentAmong, listOf, nameAmong, withRest } from './family.ts';

export const ROLES = ['viewer', 'member', 'admin', 'owner'];

export const members = withRest({
  command: 'members',
  summary: 'the people of your team, and their roles',
  noun: 'a person',
  list: listOf('listMembers', {
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
    empty: 'There are no people in this team; it is used with keys.',
  }),
  actions: [
    actionOf('updateTeamMember', {
      current: currentAmong('listMembers'),
      tell: ({ email, role, sso_exempt: isExempt }) =>
        `${email} is ${role} now${isExempt ? ', and exempt from single sign-on' : ''}.`,
    }),
    actionOf('unlinkTeamMember', {
      tell: ({ email }) => `The next sign-in of ${email} through the provider links anew.`,
    }),
    // The list shows everything that a key may read.
    actionOf('removeTeamMember', {
      done: 'Removed',
      destroys: { name: nameAmong('listMembers', ({ email }) => email) },
    }),
  ],
});
