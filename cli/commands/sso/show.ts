import { domainColumns, sso } from '../../families/sso.ts';
import type { AnswerOf } from '../../client/index.ts';
import { formatItem, formatTable, shownFields, tableColumns, type Terminal } from '../../output/index.ts';

/** Prints the connection, and what to publish in DNS for its domains. */
export function printSso(terminal: Terminal, connection: AnswerOf<'getSso'>): void {
  const item = formatItem(terminal, shownFields(sso.get.fields), connection);
  const { domains } = connection;
  if (domains.length === 0) return terminal.print(item);
  terminal.print(`${item}\n\n${formatTable(terminal, domains, tableColumns(terminal, domainColumns))}`);
}
