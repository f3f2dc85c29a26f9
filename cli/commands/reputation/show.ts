import { blocklistColumns, domainReputationInWords, NO_MAIL, reputationColumns } from '../../families/reputation.ts';
import { formatTable, tableColumns } from '../../output/index.ts';
import { prepare, type Call } from '../run-action.ts';
import type { Session } from '../session.ts';

/** Shows the entries, and what blocklists say of the sources, in tables. */
export async function showReputation(session: Session, call: Call): Promise<void> {
  const { client, terminal, isJson, advise } = session;
  const [, query] = await prepare(session, call);
  const { limit } = call.options as { limit?: number };
  const answer = await client.call('getReputation', { query: { ...query, limit } });
  if (isJson) return terminal.printJson(answer);
  const { start_date: start, end_date: end, group_by: groups, data, sources, has_more: hasMore } = answer;
  terminal.hint(start === end ? start : `${start} to ${end}`);
  if (data.length === 0) terminal.printText(NO_MAIL);
  else terminal.print(formatTable(terminal, data, tableColumns(terminal, reputationColumns(groups))));
  if (hasMore) terminal.hint('Entries with less mail are not shown; raise --limit to see them.');
  if (sources.length > 0)
    terminal.print(`\n${formatTable(terminal, sources, tableColumns(terminal, blocklistColumns()))}`);
  const isListed = sources.some(({ blocklists: { state } }) => state === 'listed');
  if (isListed) advise({ words: 'See what is wrong and how to fix it with', command: ['getOperatorFindings'] });
}

/** Shows how providers take the mail of a domain in a table. */
export async function showDomainReputation(session: Session, call: Call): Promise<void> {
  const { client, terminal, isJson } = session;
  const [{ domain_id = '' }, query] = await prepare(session, call);
  const answer = await client.call('getDomainReputation', { path: { domain_id }, query });
  if (isJson) return terminal.printJson(answer);
  terminal.printText(domainReputationInWords(answer));
  if (answer.data.length > 0)
    terminal.print(`\n${formatTable(terminal, answer.data, tableColumns(terminal, reputationColumns(['provider'])))}`);
}
