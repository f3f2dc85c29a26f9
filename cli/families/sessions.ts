import { actionOf, listOf, type Family, type ItemOf } from './family.ts';

/** What a person knows a session by. */
const programOf = (session: ItemOf<'listSessions'>): string | null => session.client_name ?? session.user_agent;

export const sessions = {
  command: 'sessions',
  summary: 'where you are signed in, in browsers and in programs',
  noun: 'a session',
  isPeoples: true,
  list: listOf('listSessions', {
    summary: 'list where you are signed in, newest first',
    example: 'sessions list',
    columns: [
      { name: 'id', label: 'Id', kind: 'id' },
      { name: 'is_current', label: 'This one', kind: 'whole', words: (one) => (one.is_current ? '*' : '') },
      { name: 'kind', label: 'Kind', kind: 'whole' },
      { name: 'client_name', label: 'Program', value: programOf },
      { name: 'team', label: 'Team', value: ({ team }) => team?.name },
      { name: 'role', label: 'Role', kind: 'whole' },
      { name: 'address', label: 'From', kind: 'whole' },
      { name: 'last_used_at', label: 'Last used', kind: 'time' },
      { name: 'created_at', label: 'Since', kind: 'time', shown: 'wide' },
      { name: 'expires_at', label: 'Until', kind: 'time', shown: 'wide' },
      { name: 'user_agent', label: 'User agent', shown: 'asked' },
    ],
    empty: 'You are signed in nowhere.',
  }),
  actions: [
    actionOf('endSession', {
      verb: 'end',
      key: 'e',
      summary: 'end one of your sessions, at once',
      example: 'sessions end 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2ea1',
      path: { session_id: { word: 'session', says: 'its id' } },
      done: 'Ended',
    }),
  ],
} satisfies Family;
