import { actionOf, listOf, nameAmong, type Family, type Key } from './family.ts';
import { ROLES } from './members.ts';

const INVITATION: Key = {
  word: 'invitation',
  says: 'its id, or the address that was invited',
};

export const invitations = {
  command: 'invitations',
  summary: 'mail that asks people into your team',
  noun: 'an invitation',
  isPeoples: true,
  list: listOf('listInvitations', {
    summary: 'list the open invitations of your team, newest first',
    example: 'invitations list',
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'email', label: 'Email', kind: 'name' },
      { name: 'role', label: 'Role', kind: 'whole' },
      {
        name: 'status',
        label: 'Status',
        kind: 'state',
        tone: ({ status, mail_error: fault }) => (status === 'expired' || fault !== null ? 'bad' : 'plain'),
      },
      { name: 'expires_at', label: 'Until', kind: 'time' },
      { name: 'mailed_at', label: 'Mailed', kind: 'time' },
      { name: 'invited_by', label: 'By', kind: 'name', shown: 'wide' },
      { name: 'created_at', label: 'Created', kind: 'time', shown: 'wide' },
      { name: 'mail_error', label: 'Why no mail', kind: 'long' },
    ],
    empty: 'Nobody is invited.',
  }),
  actions: [
    actionOf('createInvitation', {
      verb: 'create',
      key: 'c',
      summary: 'invite a person to your team',
      description:
        'Mails a token that works once, for seven days, to this address alone. An address that is invited already is invited anew once its invitation was withdrawn.',
      example: 'invitations create ada@example.com --role member',
      flags: {
        email: { value: '<address>', says: 'the address of the person', isWord: true, isRequired: true },
        role: { value: '<role>', says: 'viewer, member, admin or owner', choices: ROLES, isRequired: true },
      },
      done: 'Invited',
    }),
    actionOf('revokeInvitation', {
      verb: 'withdraw',
      key: 'w',
      summary: 'withdraw an invitation',
      example: 'invitations withdraw ada@example.com',
      path: { invitation_id: INVITATION },
      done: 'Withdrawn',
      destroys: {
        says: 'withdraw the invitation: the link in its mail stops working',
        name: nameAmong('listInvitations', ({ email }) => email),
      },
    }),
    actionOf('acceptInvitation', {
      verb: 'accept',
      key: 'a',
      summary: 'accept an invitation that came by mail',
      description: 'For the person who was invited. The session stays in the team that it works in.',
      example: 'invitations accept ri_0nLzR2bH8uYw3kQv6tXe9cJa1mSf4dPg',
      flags: { token: { value: '<token>', says: 'the token in the mail', isWord: true, isRequired: true } },
      tell: ({ team_name: name, role }) => `You are in the team ${name} now, as ${role}.`,
      hint: ({ team_id: id }) => ({ words: 'Work in it with', command: ['switchTeam', id] }),
    }),
  ],
} satisfies Family;
