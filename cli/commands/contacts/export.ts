import { lstat } from 'node:fs/promises';
import { CliFault } from '../../output/index.ts';
import { pour, save } from '../save-download.ts';
import type { Session } from '../declare.ts';

export interface ExportOptions {
  segmentId?: string;
  ndjson?: boolean;
  output?: string;
  force?: boolean;
}

export async function exportContacts({ client, terminal }: Session, options: ExportOptions): Promise<void> {
  const { segmentId, ndjson = false, output = '-', force = false } = options;
  const query = { format: ndjson ? 'ndjson' : 'csv', segment_id: segmentId };
  if (output !== '-' && !force && (await lstat(output).catch(() => undefined))) {
    throw new CliFault(`${output} is there already; choose another name with --output, or replace it with --force`);
  }
  const content = await client.fetchFile('exportContacts', query);
  if (output === '-') return pour(content);
  await save(content, output, force);
  terminal.print(terminal.isTty ? `Saved  ${JSON.stringify(output)}` : output);
}
