import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../../src/platform/config/index.ts';
import { createInstanceKey, instanceKeyPath } from '../../src/platform/secrets/index.ts';
import { createTeam, listTeams } from '../../src/resources/teams/index.ts';
import { OperatorFault } from '../explain.ts';
import { dataFolder, readConfig, withWorld, type DataOptions } from './open.ts';

const FIRST_TEAM = 'My team';

export interface InitOptions extends DataOptions {
  team?: string;
  json?: boolean;
}

export async function init(options: InitOptions): Promise<void> {
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  makeDataFolder(dataDir);
  const made = await withWorld(config, dataDir, async (world) => {
    const teams = await listTeams(world.db);
    if (teams.length > 0 && options.team === undefined) {
      throw new OperatorFault(
        `${dataDir} has a team already; add another one with: rasket init --data ${dataDir} --team NAME`,
      );
    }
    return createTeam(world, { name: options.team ?? FIRST_TEAM });
  });
  printTeam({ ...made, dataDir, config }, options.json ?? false);
}

/** Safe to repeat: what is there already is kept, so an attempt that failed half-way can be made again. */
export function makeDataFolder(dataDir: string): void {
  if (
    !existsSync(instanceKeyPath(dataDir)) &&
    existsSync(dataDir) &&
    readdirSync(dataDir).some((name) => name !== 'run')
  ) {
    throw new OperatorFault(`${dataDir} has other files in it; choose an empty or a new folder with --data`);
  }
  mkdirSync(path.join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  if (!existsSync(instanceKeyPath(dataDir))) createInstanceKey(dataDir);
}

export function printTeam(
  made: { teamId: string; slug: string; apiKey: string; dataDir: string; config: Config },
  asJson: boolean,
): void {
  const { config } = made;
  const url = config.http.public_url === '' ? `http://${config.http.host}:${config.http.port}` : config.http.public_url;
  if (asJson) {
    const answer = { team_id: made.teamId, team: made.slug, api_key: made.apiKey, url, data: made.dataDir };
    console.log(JSON.stringify(answer));
    return;
  }
  console.log(`Team     ${made.slug} (${made.teamId})
API key  ${made.apiKey}
         This is the only time it is shown; keep it safe.
Data     ${made.dataDir}

Next: start the server with  rasket serve --data ${made.dataDir}
      and add a domain with  RASKET_API_KEY=… rasket domains create example.com`);
}
