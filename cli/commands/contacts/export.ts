import { mustBeFree, pour, save } from '../save-download.ts';
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
  if (output === '-') return pour(content, process.stdout);
  await save(process, content, output, force);
  terminal.print(terminal.isTty ? `Saved  ${JSON.stringify(output)}` : output);
}
