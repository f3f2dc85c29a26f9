import { existsSync } from 'node:fs';
import path from 'node:path';
import { closeNet, withNet } from '../../src/open-world.ts';
import { listTeams } from '../../src/resources/teams/index.ts';
import { OperatorFault } from '../explain.ts';
import { seed as fill } from '../seed/index.ts';
import {
  DEVELOPMENT_MARK,
  developmentFolder,
  mustBeInitialised,
  readConfig,
  withStore,
  type DataOptions,
} from './open.ts';

export async function seed(options: DataOptions & { json?: boolean }): Promise<void> {
  const dataDir = developmentFolder(options);
  mustBeInitialised(dataDir, options.data === undefined ? 'npm start' : `rasket dev --data ${options.data}`);
  if (!existsSync(path.join(dataDir, DEVELOPMENT_MARK))) {
    throw new OperatorFault(`${dataDir} is not a folder of the development profile; made-up mail goes to no other`);
  }
  const config = readConfig({ ...options, data: dataDir }, { profile: 'development' });
  const isWatched = process.stderr.isTTY && !options.json;
  const made = await withStore(config, dataDir, async (store) => {
    const [team] = await listTeams(store.db);
    if (!team) throw new OperatorFault('there is no team yet; start the development server once with: npm start');
    const world = withNet(store);
    try {
      return await fill(world, team.id, (done, of) => {
        if (isWatched) process.stderr.write(`\r\u001B[KDay ${done} of ${of}${done === of ? '\n' : ''}`);
      });
    } finally {
      closeNet(world);
    }
  });
  if (options.json) return console.log(JSON.stringify(made));
  const { emails, contacts, received } = made;
  if (emails + contacts + received === 0) return console.log('Everything is there already; nothing was added.');
  console.log(`Added ${emails} emails of four weeks, ${contacts} contacts and ${received} received messages.`);
  console.log('Look around with: rasket console, or rasket metrics');
}
