import type { AnswerOf } from '../../client/index.ts';
import { invoices } from '../../families/index.ts';
import { CliFault, cleanLines, formatItem, shownFields, mustBeFree, save } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import type { Options } from '../run-action.ts';
import { pour } from '../save-download.ts';

/** Shows an invoice as fields, or in the form that a spreadsheet or a printer takes. */
export async function showInvoice(session: Session, item: object, options: Options): Promise<void> {
  const { client, terminal, process } = session;
  const {
    csv,
    print,
    output = '-',
    force,
  } = options as Readonly<{
    csv?: boolean;
    print?: boolean;
    output?: string;
    force?: boolean;
  }>;
  if (!csv && !print) {
    if (output !== '-') throw new CliFault('--output needs --csv or --print', 'usage');
    return terminal.print(formatItem(terminal, shownFields(invoices.get.fields), item));
  }
  if (output !== '-') await mustBeFree(process, output, force === true);
  const { id } = item as AnswerOf<'getInvoice'>;
  const content = await client.fetchFile(csv ? 'getInvoiceCsv' : 'getInvoicePage', {}, { invoice_id: id });
  if (output === '-') return pour(terminal.isTty ? shown(content) : content, process.stdout);
  await save(process, content, output, force === true);
  terminal.print(terminal.isTty ? `Saved  ${JSON.stringify(output)}` : output);
}

/** Cleans the content for a terminal, which a name must not control; files and pipes get it unchanged. */
async function* shown(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  yield Buffer.from(cleanLines(Buffer.concat(pieces).toString().replaceAll('\r\n', '\n')));
}
