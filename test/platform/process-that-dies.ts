import { lockDataFolder, openDb, type OpenDbOptions } from '../../src/platform/db/index.ts';

/**
 * A process of its own: `hold <folder>` holds a data folder, `write <options>` stands in the middle of a transaction.
 * Either says so on standard output and then waits to be killed.
 */
const [task, input = ''] = process.argv.slice(2);
if (task === 'hold') {
  lockDataFolder(input);
  console.log('ready');
} else {
  const db = await openDb(JSON.parse(input) as OpenDbOptions);
  await db.run("insert into notes (word) values ('committed')");
  await db.tx(async (tx) => {
    await tx.run("insert into notes (word) values ('half')");
    await tx.run("update notes set word = 'changed' where word = 'before'");
    console.log('ready');
    await new Promise(() => undefined);
  });
}
// The lock alone keeps no process up.
process.stdin.resume();
