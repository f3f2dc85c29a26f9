import { nextTurn } from '../../../platform/clock/index.ts';

/** Removes a batch of one team's; answers whether there is more. */
type RemoveBatch<Team> = (team: Team) => Promise<boolean>;

/**
 * Runs one batch of each team after the other, round after round, until no team has more, `batchesMax` batches ran or, after
 * the first, `isOver` says so. The next call begins behind the team that this one ended with, also if it ended with a
 * failure: neither a long backlog nor a failing batch of one team keeps the others waiting.
 */
export function createRoundRobin(batchesMax: number) {
  // A new process begins with the first team again, and nothing is lost.
  let lastId = '';
  return async <Team extends { teamId: string }>(
    teams: readonly Team[],
    batch: RemoveBatch<Team>,
    isOver = (): boolean => false,
  ): Promise<void> => {
    const begin = Math.max(
      0,
      teams.findIndex(({ teamId }) => teamId > lastId),
    );
    const waiting = [...teams.slice(begin), ...teams.slice(0, begin)];
    for (let batches = 0; batches < batchesMax; batches++) {
      const team = waiting.shift();
      if (!team || (batches > 0 && isOver())) return;
      lastId = team.teamId;
      if (await batch(team)) waiting.push(team);
      await nextTurn();
    }
  };
}

const TEAMS_A_LOOK = 500;

/** The teams that have something to remove, as `look` finds them: one statement for hundreds of teams. */
export async function pickTeams<Team extends { teamId: string }>(
  teams: readonly Team[],
  look: (some: readonly Team[]) => Promise<string[]>,
): Promise<Team[]> {
  const found: Team[] = [];
  for (let from = 0; from < teams.length; from += TEAMS_A_LOOK) {
    const some = teams.slice(from, from + TEAMS_A_LOOK);
    const ids = new Set(await look(some));
    found.push(...some.filter((team) => ids.has(team.teamId)));
    await nextTurn();
  }
  return found;
}
