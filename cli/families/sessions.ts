import type { AnswerOf } from '../client/index.ts';
import {
  declareAction,
  declareDetail,
  declareList,
  declareParts,
  withRemaining,
  type Family,
  type ItemOf,
} from './family.ts';

type Me = AnswerOf<'getMe'>;

const hasMfa = ({ mfa_enabled_at: at }: Me): boolean => at !== null;

export const account = {
  command: 'account',
  summary: 'show and change your own account',
  noun: 'an account',
  isPeoples: true,
  get: declareDetail('getMe', {
    fields: [
      { name: 'email', label: 'Address', kind: 'whole' },
      { name: 'name', label: 'Name' },
      { name: 'email_verified_at', label: 'Confirmed', kind: 'time' },
      {
        name: 'current_team_id',
        label: 'Works in',
        words: ({ current_team_id: id, teams }) => teams.find((team) => team.id === id)?.name ?? 'no team',
      },
      {
        name: 'mfa_enabled_at',
        label: 'Second factor',
        kind: 'state',
        words: (me) => (hasMfa(me) ? 'on' : 'off'),
        tone: (me) => (hasMfa(me) ? 'good' : 'attention'),
      },
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'teams', label: 'Teams', kind: 'body', shown: 'asked' },
    ],
    parts: declareParts({
      label: 'Teams',
      of: ({ teams }: Me) => teams,
      columns: [
        { name: 'name', label: 'Name', kind: 'name' },
        { name: 'slug', label: 'Slug', kind: 'whole' },
        { name: 'id', label: 'Id', kind: 'id' },
      ],
      copy: ({ id }) => id,
    }),
    hint: (me) =>
      hasMfa(me)
        ? { words: 'See where you are signed in with', command: ['listSessions'] }
        : { words: 'Turn on a second factor with', command: ['account mfa enable'] },
  }),
} satisfies Family;

/** Returns the name by which a person recognizes a session. */
const toProgramName = (session: ItemOf<'listSessions'>): string | null => session.client_name ?? session.user_agent;

export const sessions = withRemaining({
  command: 'sessions',
  summary: 'list and end your sessions in browsers and programs',
  noun: 'a session',
  isPeoples: true,
  list: declareList('listSessions', {
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'is_current', label: 'This one', kind: 'whole', words: (one) => (one.is_current ? '*' : '') },
      { name: 'kind', label: 'Kind', kind: 'whole' },
      { name: 'client_name', label: 'Program', value: toProgramName },
      { name: 'team', label: 'Team', value: ({ team }) => team?.name },
      { name: 'role', label: 'Role', kind: 'whole' },
      { name: 'address', label: 'From', kind: 'whole' },
      { name: 'last_used_at', label: 'Last used', kind: 'time' },
      { name: 'created_at', label: 'Since', kind: 'time', shown: 'wide' },
      { name: 'expires_at', label: 'Until', kind: 'time', shown: 'wide' },
      { name: 'user_agent', label: 'User agent', shown: 'asked' },
    ],
    empty: 'You have no sessions.',
  }),
  actions: [declareAction('endSession', { done: 'Ended' })],
});
