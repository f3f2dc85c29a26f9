import { cleanJson, cleanLines, mustBeFree, save } from '../../output/index.ts';
import { pour } from '../save-download.ts';
import type { Session } from '../declare.ts';

export interface ExportOptions {
  segmentId?: string;
  ndjson?: boolean;
  output?: string;
  force?: boolean;
}

export async function exportContacts({ client, terminal, process }: Session, options: ExportOptions): Promise<void> {
  const { segmentId, ndjson = false, output = '-', force = false } = options;
  const query = { format: ndjson ? 'ndjson' : 'csv', segment_id: segmentId };
  if (output !== '-') await mustBeFree(process, output, force);
  const content = await client.fetchFile('exportContacts', query);
  const showLine = ndjson ? (line: string): string => cleanJson(JSON.parse(line)) : cleanLines;
  if (output === '-') return pour(terminal.isTty ? shown(content, showLine) : content, process.stdout);
  await save(process, content, output, force);
  terminal.print(terminal.isTty ? `Saved  ${JSON.stringify(output)}` : output);
}

export interface PersonOptions {
  bodies?: boolean;
  output?: string;
  force?: boolean;
}

/** Exports what the team has about a person, to a file that only the account of this command can read. */
export async function exportPerson(
  { client, terminal, process }: Session,
  email: string,
  { bodies = false, output = '-', force = false }: PersonOptions,
): Promise<void> {
  if (output !== '-') await mustBeFree(process, output, force);
  const content = await client.fetchFile('exportPerson', {}, {}, { email, with_bodies: bodies });
  if (output === '-') return pour(terminal.isTty ? shown(content, cleanLines) : content, process.stdout);
  await save(process, content, output, force, PRIVATE);
  terminal.print(terminal.isTty ? `Saved  ${JSON.stringify(output)}` : output);
}

const PRIVATE = 0o600;

/**
 * Cleans the content for a terminal, which text of untrusted senders must not control; files and pipes get it
 * unchanged.
 */
async function* shown(content: AsyncIterable<Uint8Array>, show: (line: string) => string): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of content) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (lines.length > 0) yield Buffer.from(lines.map((line) => `${show(line.replace(/\r$/, ''))}\n`).join(''));
  }
  if (rest !== '') yield Buffer.from(`${show(rest)}\n`);
}
