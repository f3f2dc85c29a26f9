import { listCaught, readCaught, type CaughtRow } from '../../src/flow/mail/playground/index.ts';
import { OperatorFault } from '../explain.ts';
import { developmentFolder, mustBeInitialised, readConfig, withWorld, type DataOptions } from './open.ts';

export interface PlaygroundOptions extends DataOptions {
  raw?: boolean;
  json?: boolean;
  limit: number;
}

export async function playground(id: string | undefined, options: PlaygroundOptions): Promise<void> {
  const dataDir = developmentFolder(options);
  const config = readConfig({ ...options, data: dataDir }, { profile: 'development' });
  mustBeInitialised(dataDir, options.data === undefined ? 'npm start' : `rasket dev --data ${options.data}`);
  await withWorld(config, dataDir, async ({ db, blobs }) => {
    if (id === undefined) return print(await listCaught(db, options.limit), options.json ?? false);
    const wanted = id === 'latest' ? (await listCaught(db, 1))[0]?.id : id;
    const caught = wanted === undefined ? undefined : await readCaught(db, blobs, wanted);
    if (!caught) {
      throw new OperatorFault(
        id === 'latest'
          ? 'nothing was caught yet; send an email to any address and look again'
          : `nothing caught has the id ${id}; list what there is with: rasket playground`,
      );
    }
    if (options.json) console.log(JSON.stringify({ ...present(caught.row), message: caught.message.toString('utf8') }));
    else if (options.raw) process.stdout.write(caught.message);
    else show(caught.row, caught.message);
  });
}

const present = (row: CaughtRow) => ({
  ...row,
  recipients: JSON.parse(row.recipients) as string[],
  created_at: new Date(row.created_at).toISOString(),
});

function print(rows: CaughtRow[], asJson: boolean): void {
  if (asJson) return console.log(JSON.stringify(rows.map(present)));
  if (rows.length === 0) return console.log('Nothing was caught yet. Send an email to any address and look again.');
  for (const row of rows.map(present)) {
    console.log(
      `${row.id}  ${row.created_at.slice(0, 19).replace('T', ' ')}  ${clean(row.recipients.join(', '))}  ${clean(row.subject)}`,
    );
  }
}

/** What a caller wrote must not steer the terminal. */
const clean = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '\uFFFD');

function show(row: CaughtRow, message: Buffer): void {
  const envelope = `Envelope from  ${clean(row.mail_from)}\nEnvelope to    ${clean(present(row).recipients.join(', '))}\n\n`;
  const lines = message.toString('utf8').split('\r\n');
  process.stdout.write(envelope + lines.map((line) => line.split('\t').map(clean).join('\t')).join('\n'));
}
