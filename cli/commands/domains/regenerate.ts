import type { RegenerateDkimRequest } from '../../../src/contract/index.ts';
import type { Session } from '../declare.ts';
import { findDomainId } from './find-domain.ts';
import { printDomain } from './records.ts';

export interface RegenerateOptions {
  keyBits: number;
  zone?: boolean;
}

export async function regenerateDkim(session: Session, domain: string, options: RegenerateOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const path = { domain_id: await findDomainId(client, domain) };
  // Whatever number was given: the API says which are possible.
  const body = { key_bits: options.keyBits as RegenerateDkimRequest['key_bits'] };
  const changed = await client.call('regenerateDkim', { path, body });
  if (isJson) return terminal.printJson(changed);
  printDomain(terminal, changed, options.zone ?? false);
  terminal.hint(
    `\nNothing is sent from it until the new DKIM record is seen. Then run: rasket domains verify ${domain}`,
  );
}
