import type { Session } from '../declare.ts';
import { describeTeam } from './describe-team.ts';

export async function getTeam({ client, terminal, isJson }: Session): Promise<void> {
  const team = await client.call('getTeam', {});
  if (isJson) return terminal.printJson(team);
  terminal.print(describeTeam(terminal, team));
}
