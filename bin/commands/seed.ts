import { closeNet, withNet } from '../../src/open-world.ts';
import { listTeams } from '../../src/tenancy/teams/index.ts';
import { OperatorFault } from '../explain.ts';
import { seed as fill } from '../seed/index.ts';
import { findDevelopmentData, readConfig, withStore, type DataOptions } from './open.ts';

export async function seed(options: DataOptions & { json?: boolean; tellWebhooks?: boolean }): Promise<void> {
  const isTold = options.tellWebhooks ?? false;
  const dataDir = findDevelopmentData(options, 'sample mail is added to no other folder');
  const config = readConfig({ ...options, data: dataDir }, { profile: 'development' });
  if (!options.json) await printFolder(options, dataDir);
  const isWatched = process.stderr.isTTY && !options.json;
  const made = await withStore(config, dataDir, async (store) => {
    const [team] = await listTeams(store.db);
    if (!team) throw new OperatorFault('there is no team yet; start the development server once with: npm start');
    const world = withNet(store);
    try {
      const progress = (done: number, of: number): void => {
        if (isWatched) process.stderr.write(`\r\u001B[KDay ${done} of ${of}${done === of ? '\n' : ''}`);
      };
      return await fill(world, { teamId: team.id, isTold, progress });
    } finally {
      closeNet(world);
    }
  });
  if (options.json) return console.log(JSON.stringify(made));
  const { emails, contacts, received } = made;
  if (emails + contacts + received === 0) return console.log('All sample data exists already; nothing was added.');
  console.log(`Added ${emails} emails from four weeks, ${contacts} contacts and ${received} received messages.`);
  console.log(
    'Also added: an endpoint with failed events, an inbox, an automation, and three broadcasts: one sent, one for tomorrow, one draft.',
  );
  if (!isTold)
    console.log('The webhooks and listeners of the team were not notified; use --tell-webhooks to notify them.');
  const { quoted } = await import('../../cli/client/index.ts');
  // After somebody has logged in to a server, commands that name no folder go to that server.
  const data = `--data ${quoted(options.data ?? dataDir)}`;
  console.log(`Look around with: rasket console ${data}, or rasket metrics ${data}`);
}

/** Names the folder, so that a person with several sees which one is filled. */
async function printFolder(options: DataOptions, dataDir: string): Promise<void> {
  const { openTerminal } = await import('../../cli/output/index.ts');
  const terminal = openTerminal({ out: process.stdout, err: process.stderr, env: process.env });
  const from = options.data === undefined ? (process.env.RASKET_DATA ? 'RASKET_DATA' : 'default') : '--data';
  terminal.hint(terminal.paint('dim', `On ${dataDir} (${from})`));
}
