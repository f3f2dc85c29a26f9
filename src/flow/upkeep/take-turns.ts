import { nextTurn } from '../../platform/clock/index.ts';

/** Removes a batch of one team's; answers whether there is more. */
type RemoveBatch<Team> = (team: Team) => Promise<boolean>;

/**
 * Takes teams in turns, a batch of one after a batch of another, until none has more, `batchesMax` were taken or, after the
 * first, `isOver` says so. The next
 * round begins behind the team this one ended with, also if it ended with a failure: neither a long backlog nor a broken
 * batch of one team keeps the others waiting.
 */
export function createTurns(batchesMax: number) {
  // Forgotten with the process: then the walk begins with the first team again, and nothing is lost.
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

/** Those of the teams that `look` finds to have something to remove; it is one statement for hundreds of them. */
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
