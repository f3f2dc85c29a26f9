import { listCaught, readCaught, type CaughtRow } from '../../src/flow/mail/playground/index.ts';
import { readMessage, type MessagePart, type MessageReading } from '../../src/protocol/read-message/index.ts';
import { OperatorFault } from '../explain.ts';
import { signersOf, textOfHtml } from './message-text.ts';
import { developmentFolder, mustBeInitialised, readConfig, withStore, type DataOptions } from './open.ts';

export interface PlaygroundOptions extends DataOptions {
  raw?: boolean;
  json?: boolean;
  limit: number;
}

export async function playground(id: string | undefined, options: PlaygroundOptions): Promise<void> {
  const dataDir = developmentFolder(options);
  const config = readConfig({ ...options, data: dataDir }, { profile: 'development' });
  mustBeInitialised(dataDir, options.data === undefined ? 'npm start' : `rasket dev --data ${options.data}`);
  await withStore(config, dataDir, async ({ db, blobs }) => {
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
    else await show(caught.row, caught.message);
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
const cleanLines = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line) => line.split('\t').map(clean).join('\t'))
    .join('\n');

/** As it is read, not as it is written: the source is what `--raw` prints. */
async function show(row: CaughtRow, message: Buffer): Promise<void> {
  const read = await readMessage(message, LIMITS);
  const pairs: [string, string][] = [
    ['From', read.from],
    ['To', read.to.join(', ')],
    ['Cc', read.cc.join(', ')],
    ['Reply to', read.replyTo.join(', ')],
    ['Subject', read.subject],
    ['Caught', present(row).created_at],
    ['Envelope', `${row.mail_from} to ${present(row).recipients.join(', ')}`],
    ...signersOf(message).map((signer): [string, string] => ['Signed', `by ${signer}`]),
    ...(read.isRead ? read.parts : []).map((part): [string, string] => ['File', inWords(part)]),
  ];
  const shown = pairs.filter(([, value]) => value !== '');
  const width = Math.max(...shown.map(([label]) => label.length)) + 2;
  const head = shown.map(([label, value]) => label.padEnd(width) + clean(value)).join('\n');
  console.log(`${head}\n\n${cleanLines(bodyOf(read))}\n\nThe source: rasket playground ${row.id} --raw`);
}

const LIMITS = { depthMax: 100, headerBytesMax: 2 * 1024 * 1024, partsMax: 1000 };

function bodyOf(read: MessageReading): string {
  if (!read.isRead) return `(It cannot be read: ${read.because}.)`;
  const text = read.text?.trim() ?? '';
  if (text !== '') return text;
  return read.html === null ? '(It has no text.)' : textOfHtml(read.html);
}

const inWords = ({ filename, contentType, content }: MessagePart): string =>
  `${filename ?? 'without a name'} (${contentType}, ${content.byteLength} bytes)`;
