import { declareAction, declareList, withRemaining } from './family.ts';

export const invitations = withRemaining({
  command: 'invitations',
  summary: 'invite people to your team',
  noun: 'an invitation',
  isPeoples: true,
  list: declareList('listInvitations', {
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
      { name: 'mail_error', label: 'Mail error', kind: 'long' },
    ],
    empty: 'Nobody is invited.',
  }),
  actions: [
    declareAction('createInvitation', { done: 'Invited' }),
    declareAction('revokeInvitation', { done: 'Withdrawn' }),
    declareAction('acceptInvitation', {
      describe: ({ team_name: name, role }) => `You are now in the team ${name}, as ${role}.`,
      hint: ({ team_id: id }) => ({ words: 'Switch to it with', command: ['switchTeam', id] }),
    }),
  ],
});
