import { CredentialsFault } from './credentials-fault.ts';
import { routeOf, type AnswerOf, type OperationId } from './routes.ts';

interface WithPath {
  path?: Record<string, string>;
}

/** Moves the session to another team, which its path names. */
const MOVES: OperationId = 'switchTeam';

/**
 * Puts the team that the session works in into a path that wants it: a session reaches no other one, so that nobody types it. It
 * is asked for each time, because the session may have been switched from elsewhere.
 */
export function createTeamFill(
  askSession: (signal?: AbortSignal) => Promise<AnswerOf<'getSession'>>,
): <Call extends WithPath>(operation: OperationId, call: Call, signal?: AbortSignal) => Promise<Call> {
  return async (operation, call, signal) => {
    if (operation === MOVES || call.path?.['team_id'] !== undefined) return call;
    if (!routeOf(operation)[1].includes('{team_id}')) return call;
    const { current_team: team } = await askSession(signal);
    if (team) return { ...call, path: { ...call.path, team_id: team.id } };
    throw new CredentialsFault('This session works in no team.', {
      advice: { words: 'Make one, or work in one of yours, with', command: ['switchTeam', 'TEAM'] },
    });
  };
}
