import type { NotReadyObject, ReadyCheck, ReadyObject } from '../../../src/contract/index.ts';
import { anotherProgram, ApiFault, type Client } from '../../client/index.ts';
import { readiness } from '../../families/system.ts';
import { columnsOfFindings, findingRows } from '../../families/findings.ts';
import {
  EXIT,
  formatFindings,
  formatTable,
  shownFields,
  tableColumns,
  type FindingText,
  type Terminal,
} from '../../output/index.ts';
import type { Session } from '../declare.ts';

export async function getReady({ client, terminal, isJson, fail, sayCommand }: Session): Promise<void> {
  const ready = await askReady(client);
  // Scripts wait until it can serve, whatever else is wrong.
  if (ready.failed.length > 0) fail(EXIT.server);
  if (isJson) return terminal.printJson(ready);
  const rows = findingRows(ready.findings ?? [], sayCommand);
  const findings = formatFindingRows(terminal, rows);
  terminal.print([formatChecks(terminal, ready.checks), ...(findings === undefined ? [] : [findings])].join('\n\n'));
}

/** Formats findings as paragraphs for a person, and as a table for a program; undefined if there are none. */
export function formatFindingRows(terminal: Terminal, rows: readonly FindingText[]): string | undefined {
  if (rows.length === 0) return undefined;
  if (terminal.isTty) return formatFindings(terminal, rows);
  return formatTable(terminal, rows, tableColumns(terminal, shownFields(columnsOfFindings(rows))));
}

/** Returns the state; a server that is not ready responds with an error that contains everything. */
export async function askReady(client: Client): Promise<ReadyObject | NotReadyObject> {
  try {
    const ready = await client.call('getReady', {});
    if (Array.isArray(ready.checks) && Array.isArray(ready.failed)) return ready;
    throw anotherProgram(client.url);
  } catch (error) {
    if (error instanceof ApiFault && 'checks' in error.body) return error.body as unknown as NotReadyObject;
    throw error;
  }
}

export const formatChecks = (terminal: Terminal, checks: readonly ReadyCheck[]): string =>
  formatTable(terminal, checks, tableColumns(terminal, readiness.columns));
