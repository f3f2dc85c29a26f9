import type { RegenerateDkimRequest } from '../../../src/contract/index.ts';
import { regenerate } from '../../families/domains.ts';
import type { Session } from '../declare.ts';
import { prepare } from '../run-action.ts';
import { printDomain } from './records.ts';

export interface RegenerateOptions {
  keyBits: number;
  yes?: boolean;
  zone?: boolean;
}

export async function regenerateDkim(
  session: Session,
  words: readonly (string | undefined)[],
  options: RegenerateOptions,
): Promise<void> {
  const { client, terminal, isJson } = session;
  const { domain_id = '' } = await prepare(session, regenerate, words, { yes: options.yes });
  // Whatever number was given: the API says which are possible.
  const body = { key_bits: options.keyBits as RegenerateDkimRequest['key_bits'] };
  const changed = await client.call('regenerateDkim', { path: { domain_id }, body });
  if (isJson) return terminal.printJson(changed);
  printDomain(terminal, changed, options.zone ?? false);
  terminal.hint(
    `\nNothing is sent from it until the new DKIM record is seen. Then run: rasket domains verify ${changed.name}`,
  );
}
