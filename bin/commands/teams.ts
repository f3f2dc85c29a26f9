import { createTeam, listTeams } from '../../src/resources/teams/index.ts';
import { printTeam } from './init.ts';
import { dataFolder, readConfig, withWorld, type DataOptions } from './open.ts';

export async function createNamedTeam(name: string, options: DataOptions & { json?: boolean }): Promise<void> {
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  const made = await withWorld(config, dataDir, (world) => createTeam(world, { name }));
  printTeam({ ...made, dataDir, config }, options);
}

export async function printTeams(options: DataOptions & { json?: boolean }): Promise<void> {
  const teams = await withWorld(readConfig(options), dataFolder(options), (world) => listTeams(world.db));
  const rows = teams.map((team) => ({
    id: team.id,
    slug: team.slug,
    name: team.name,
    plan: team.plan_code,
    risk_state: team.risk_state,
    created_at: new Date(team.created_at).toISOString(),
  }));
  if (options.json) console.log(JSON.stringify(rows));
  else for (const row of rows) console.log([row.id, row.created_at.slice(0, 10), row.slug, row.name].join('\t'));
}
