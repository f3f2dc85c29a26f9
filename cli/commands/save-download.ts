import type { LinkedFile } from '../client/index.ts';
import { CliFault, harmlessName, mustBeFree, save, type CommandProcess } from '../output/index.ts';
import type { Session } from './declare.ts';

export interface DownloadOptions {
  output?: string;
  force?: boolean;
}

/** A file that the API links to; `found` is what `--json` prints of it. */
interface Downloadable extends LinkedFile {
  found: object;
  url: string;
  filename: string;
}

export async function saveDownload(
  { client, terminal, process, isJson }: Session,
  { found, url, filename, ...linked }: Downloadable,
  { output, force = false }: DownloadOptions,
): Promise<void> {
  if (output === '-') {
    // Text of untrusted senders must not control the terminal, and a file must remain unchanged.
    if (process.stdout.isTTY)
      throw new CliFault(
        'the file would be printed to the terminal unchanged; use --output FILE, or --output - | less',
        'usage',
      );
    return pour(await client.download(linked, url), process.stdout);
  }
  const file = output ?? harmlessName(filename);
  await mustBeFree(process, file, force);
  await save(process, await client.download(linked, url), file, force);
  if (isJson) return terminal.printJson(found);
  terminal.print(terminal.isTty ? `Saved  ${JSON.stringify(file)}` : file);
}

/** Writes to standard output, as fast as it is read. */
export async function pour(content: AsyncIterable<Uint8Array>, out: CommandProcess['stdout']): Promise<void> {
  for await (const chunk of content) {
    if (!out.write(chunk)) await new Promise<void>((resolve) => out.once('drain', resolve));
  }
}
