import { declareAction, declareDetail, declareFamily, declareList, declareParts, withRemaining } from './family.ts';
import type { AnswerOf } from './family.ts';

type Me = AnswerOf<'getMe'>;

const hasMfa = ({ mfa_enabled_at: at }: Me): boolean => at !== null;

export const account = declareFamily({
  summary: 'show and change your own account',
  noun: 'an account',
  isPeoples: true,
  get: declareDetail('getMe', {
    fields: {
      email: { kind: 'whole' },
      name: { kind: 'text' },
      email_verified_at: 'Confirmed',
      current_team_id: {
        label: 'Current team',
        kind: 'text',
        words: ({ current_team_id: id, teams }) => teams.find((team) => team.id === id)?.name ?? 'no team',
      },
      mfa_enabled_at: {
        label: 'Second factor',
        kind: 'state',
        words: (me) => (hasMfa(me) ? 'on' : 'off'),
        tone: (me) => (hasMfa(me) ? 'good' : 'attention'),
      },
      teams: { kind: 'body' },
    },
    columns: ['email', 'name', 'email_verified_at', 'current_team_id', 'mfa_enabled_at', 'id'],
    asked: ['teams'],
    parts: declareParts({
      label: 'Teams',
      of: ({ teams }: Me) => teams,
      columns: ['name', 'slug', 'id'],
      copy: ({ id }) => id,
    }),
    hint: (me) =>
      hasMfa(me)
        ? { words: 'See where you are signed in with', command: ['listSessions'] }
        : { words: 'Turn on a second factor with', command: ['account mfa enable'] },
  }),
});

export const sessions = withRemaining({
  summary: 'list and end your sessions in browsers and programs',
  isPeoples: true,
  list: declareList('listSessions', {
    fields: {
      is_current: { label: 'This one', kind: 'whole', words: (one) => (one.is_current ? '*' : '') },
      kind: { kind: 'whole' },
      // The name by which a person recognises a session.
      client_name: { label: 'Program', value: ({ client_name: name, user_agent: agent }) => name ?? agent },
      team: { value: ({ team }) => team?.name },
      role: { kind: 'whole' },
      address: { label: 'From', kind: 'whole' },
      created_at: 'Since',
    },
    columns: ['id', 'is_current', 'kind', 'client_name', 'team', 'role', 'address', 'last_used_at'],
    wide: ['created_at', 'expires_at'],
    asked: ['user_agent'],
    empty: 'You have no sessions.',
  }),
  actions: [declareAction('endSession', { done: 'Ended' })],
});
