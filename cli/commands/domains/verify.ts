import { CliFault } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { prepare, type Call } from '../run-action.ts';
import { printDomain } from './records.ts';

export async function verifyDomain(session: Session, call: Call): Promise<void> {
  const { client, terminal, isJson } = session;
  const [{ domain_id = '' }] = await prepare(session, call);
  const path = { domain_id };
  const checked = await client.call('verifyDomain', { path });
  const found = await client.call('getDomain', { path });
  if (isJson) terminal.printJson(checked);
  else printDomain(terminal, found, false);
  // The exit code reports that the domain is not verified yet, as it does for an email that is waited for.
  if (found.status !== 'verified') {
    throw new CliFault(
      `${found.name} is ${found.status}, not verified. A new record may take a while to appear; the server checks again within the hour.`,
    );
  }
}
