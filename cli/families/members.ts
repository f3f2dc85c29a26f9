import { listOf, type Family } from './family.ts';

export const members = {
  command: 'members',
  summary: 'the people of your team, and their roles',
  noun: 'a person',
  list: listOf('listMembers', {
    summary: 'list the people of your team, newest first',
    description:
      'Shows who is in the team, and with which role. To invite people, to change their roles and to remove them takes a person who is signed in: no key reaches those routes.',
    example: 'members list',
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'email', label: 'Email', kind: 'name' },
      { name: 'name', label: 'Name', kind: 'name' },
      { name: 'role', label: 'Role', kind: 'state' },
      { name: 'mfa_enabled', label: 'Second factor', value: (member) => (member.mfa_enabled ? 'on' : 'off') },
      { name: 'created_at', label: 'Since', kind: 'time' },
      { name: 'sso_exempt', label: 'SSO exempt', shown: 'asked' },
      { name: 'user_id', label: 'User', kind: 'id', shown: 'wide' },
    ],
    empty: 'There are no people in this team; it is used with keys.',
  }),
} satisfies Family;
