import type { ConfigureDomainDnsRequest, DnsConfiguration } from '../../../src/contract/index.ts';
import { columnsOfChanges } from '../../families/dns.ts';
import { clean, CliFault, formatTable, tableColumns, describeChange } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { prepare, type Call } from '../run-action.ts';
import { readLine, readSecret } from '../stdin.ts';

interface ConfigureOptions {
  withToken?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

/** Shows the change before it is made, and makes exactly that change or reports that it has become another. */
export async function configureDomain(session: Session, call: Call): Promise<void> {
  const { client, terminal } = session;
  const options: ConfigureOptions = call.options;
  const [{ domain_id = '' }, typed] = await prepare(session, call);
  const token = options.withToken ? { api_token: await readToken(session.process) } : {};
  const ask = (isDryRun: boolean): Promise<DnsConfiguration> => {
    const body = { ...typed, ...token, dry_run: isDryRun } as ConfigureDomainDnsRequest;
    return client.call('configureDomainDns', { path: { domain_id }, body });
  };
  if (options.dryRun) return show(session, await ask(true));
  if (!options.yes) {
    mustBeAskable(session);
    const planned = await ask(true);
    show(session, planned);
    if (!(await isAgreed(session, planned))) throw new CliFault('nothing was changed');
    const made = await ask(false);
    if (!isSame(planned, made)) return show(session, made);
    return terminal.hint(`\nDone: ${made.changes.length} changes in ${clean(made.zone)}.`);
  }
  show(session, await ask(false));
}

/** Checks before the server is called. */
function mustBeAskable({ terminal, process, isJson }: Session): void {
  if (process.stdin.isTTY && terminal.isTty && !isJson) return;
  throw new CliFault(
    'there is no terminal to ask for confirmation; give --yes to change the zone, or --dry-run to see the changes',
    'usage',
  );
}

const isSame = (a: DnsConfiguration, b: DnsConfiguration): boolean =>
  JSON.stringify(a.changes) === JSON.stringify(b.changes);

function show({ terminal, isJson }: Session, made: DnsConfiguration): void {
  const { changes, zone, provider, dry_run, ...rest } = made;
  if (isJson) return terminal.printJson({ ...rest, provider, zone, dry_run, changes });
  if (changes.length === 0) return terminal.hint(describeChange(made));
  terminal.print(formatTable(terminal, changes, tableColumns(terminal, columnsOfChanges())));
  terminal.hint(`\n${describeChange(made)}`);
}

async function isAgreed({ process }: Session, { changes, zone }: DnsConfiguration): Promise<boolean> {
  // Without a change there is nothing to confirm; the call itself may still be wanted, for later changes.
  if (changes.length === 0) return true;
  return /^y(es)?$/i.test((await readLine(process, `Change ${clean(zone)}? [y/N] `)).trim());
}

async function readToken(process: Session['process']): Promise<string> {
  const token = process.env.CLOUDFLARE_API_TOKEN ?? (await readSecret(process, 'Cloudflare API token: ')).trim();
  if (token === '') throw new CliFault('no token was given; set CLOUDFLARE_API_TOKEN or type the token', 'usage');
  return token;
}
