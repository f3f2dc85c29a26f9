import { declareAction, declareList, withRemaining } from './family.ts';

export const invitations = withRemaining({
  summary: 'invite people to your team',
  isPeoples: true,
  list: declareList('listInvitations', {
    fields: {
      email: 'Email',
      role: { kind: 'whole' },
      status: { tone: ({ status, mail_error: fault }) => (status === 'expired' || fault !== null ? 'bad' : 'plain') },
      invited_by: { label: 'By', kind: 'name', shown: 'wide' },
      created_at: { shown: 'wide' },
      mail_error: { label: 'Mail error', kind: 'long' },
    },
    columns: ['id', 'email', 'role', 'status', 'expires_at', 'mailed_at', 'invited_by', 'created_at', 'mail_error'],
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
