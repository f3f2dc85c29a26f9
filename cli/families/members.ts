import { actionOf, currentAmong, listOf, nameAmong, type Family, type Key } from './family.ts';

export const ROLES = ['viewer', 'member', 'admin', 'owner'];

const MEMBER: Key = {
  word: 'member',
  says: 'the id in the list of members, or the address',
};

export const members = {
  command: 'members',
  summary: 'the people of your team, and their roles',
  noun: 'a person',
  list: listOf('listMembers', {
    summary: 'list the people of your team, newest first',
    description:
      'Shows who is in the team, and with which role. To change that, and to invite people, takes a person who is signed in: no key reaches those routes.',
    example: 'members list',
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
      verb: 'update',
      key: 'u',
      summary: 'give a person another role, or exempt them from single sign-on',
      description:
        'Owners give and take every role, admins every one but that of an owner; the last owner stays one. With a lower role, the sessions of the person in the team end. Only owners exempt.',
      example: 'members update ada@example.com --role admin',
      path: { member_id: MEMBER },
      flags: {
        role: { value: '<role>', says: 'viewer, member, admin or owner', choices: ROLES },
        sso_exempt: {
          says: 'let the person sign in with a password although the team enforces single sign-on',
          no: 'let the person sign in as all others do',
          isBoolean: true,
        },
      },
      current: currentAmong('listMembers'),
      tell: ({ email, role, sso_exempt: isExempt }) =>
        `${email} is ${role} now${isExempt ? ', and exempt from single sign-on' : ''}.`,
    }),
    actionOf('unlinkTeamMember', {
      verb: 'unlink',
      key: 'n',
      summary: 'forget whom the provider of single sign-on knows a person as',
      description:
        'For a person who has another identity at the provider than before. The next sign-in links anew; sessions that began through the provider end.',
      example: 'members unlink ada@example.com',
      path: { member_id: MEMBER },
      tell: ({ email }) => `The next sign-in of ${email} through the provider links anew.`,
    }),
    actionOf('removeTeamMember', {
      verb: 'remove',
      key: 'd',
      summary: 'remove a person from the team, or leave it',
      example: 'members remove ada@example.com',
      path: { member_id: MEMBER },
      done: 'Removed',
      destroys: {
        says: 'remove the person from the team at once; their sessions in it, and the invitations that they have sent, end',
        name: nameAmong('listMembers', ({ email }) => email),
      },
    }),
  ],
} satisfies Family;
